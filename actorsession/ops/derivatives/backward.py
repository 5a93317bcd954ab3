"""Backpropagation through a graph: from the gradients of some tensors to those of others.

Owns the traversal, which calls the gradient function of each op on a path to ``xs``; those functions are in
the op files. Called by ``gradients``, and by the gradients of loops and branches for their bodies.

Building order is a topological order, so one pass over the operations from the last to the first reaches each
of them when all contributions to its outputs are available, without recursion or counting. A tensor is
*connected* if it depends differentiably on some ``x``; nothing else is visited.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from actorsession.graph.dtypes import DType, as_dtype, variant
from actorsession.graph.function import FunctionBody
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Gradient
from actorsession.ops import raw
from actorsession.ops.derivatives.registry import gradient_of, takes_slices
from actorsession.ops.flow import control
from actorsession.ops.flow.extensions import Construct, flush_constructs
from actorsession.ops.flow.stand_ins import add_stand_ins, sources
from actorsession.ops.indexed_slices import IndexedSlices, SparseGradient, add_slices, to_dense
from actorsession.ops.lists.sums import add_lists

__all__ = [
    "Backward",
    "beside",
    "carries_gradient",
    "connect",
    "extending",
    "gradient_source",
    "gradients_within",
    "is_wanted",
    "note_change",
    "sum_gradients",
]

# Ops whose gradient only forwards its input, so that slices need not be made dense for them.
_PASSES_SLICES = frozenset({"ReadVariableOp", "Identity"})


def beside(graph: Graph, op: Operation | None) -> contextlib.AbstractContextManager[None]:
    """Return a context that colocates new operations with one, except inside a loop or branch."""
    if op is None or op in graph.nodes.bodies:
        return contextlib.nullcontext()
    return graph.colocate_with(op)


# -- connected operations ------------------------------------------------------------------------


def carries_gradient(dtype: DType) -> bool:
    """Return whether tensors of a dtype have gradients."""
    # The gradient of a handle is that of the variable, the gradient of a list is that of its elements.
    return dtype.kind in "fcrv"


def connect(
    ys: Sequence[Tensor], xs: Iterable[Tensor], stops: frozenset[Tensor], within: Collection[Operation] | None = None
) -> tuple[set[Tensor], list[Operation]]:
    """Return the tensors and operations between ``xs`` and ``ys``.

    Returns:
        The tensors that depend on some ``x``, and the operations that pass gradients to them, in building
        order.
    """
    xs = list(xs)
    connected = {x for x in xs if carries_gradient(x.dtype)}
    path = []
    upstream = _upstream(ys, within)
    if within is None and upstream and add_stand_ins(upstream, connected):
        upstream = _upstream(ys, within)
    for op in upstream:
        if gradient_of(op) is NOT_DIFFERENTIABLE or connected.isdisjoint(sources(op)):
            continue
        reached = [t for t in op.outputs if carries_gradient(t.dtype) and t not in stops]
        if reached:
            connected.update(reached)
            path.append(op)
    return connected, path


def _upstream(ys: Sequence[Tensor], within: Collection[Operation] | None) -> list[Operation]:
    """Return the operations (among ``within``, if given) that ``ys`` depend on by data, in building order."""
    upstream = {y.op for y in ys if within is None or y.op in within}
    waiting = list(upstream)
    while waiting:
        for tensor in sources(waiting.pop()):
            if tensor.op not in upstream and (within is None or tensor.op in within):
                upstream.add(tensor.op)
                waiting.append(tensor.op)
    order = sorted(upstream, key=lambda op: op.number)
    stand_ins = order[0].graph.stand_ins if order else {}
    return order if stand_ins.keys().isdisjoint(upstream) else _in_order(order, upstream)


def _in_order(order: Sequence[Operation], among: Collection[Operation]) -> list[Operation]:
    """Return operations in topological order: stand-ins for loops were built after the loops' readers."""
    done: dict[Operation, bool] = {}  # False while its sources are being visited
    sorted_ops: list[Operation] = []
    for root in order:
        stack = [root]
        while stack:
            op = stack[-1]
            waiting = [t.op for t in sources(op) if t.op in among and t.op not in done]
            if waiting and op not in done:
                done[op] = False
                stack.extend(waiting)
            elif not done.get(stack.pop()):
                done[op] = True
                sorted_ops.append(op)
    return sorted_ops


# -- traversal -----------------------------------------------------------------------------------


class Backward:
    """The state of one traversal: contributions per tensor until its operation is passed."""

    def __init__(
        self, graph: Graph, connected: set[Tensor], stops: frozenset[Tensor], colocate: bool, gate: bool
    ) -> None:
        self._graph = graph
        self.connected = connected
        self.stops = stops
        self.colocate = colocate
        self.gate = gate
        self._parts: dict[Tensor, list[SparseGradient]] = {}

    def run(
        self, ys: Sequence[Tensor], starts: Sequence[SparseGradient], path: Sequence[Operation], xs: Sequence[Tensor]
    ) -> list[SparseGradient | None]:
        """Traverse from ``ys`` backwards, and return the gradient of each ``x``."""
        for y, start in zip(ys, starts, strict=True):
            if y in self.connected:
                self.add(y, start)
        for op in reversed(path):
            self.through(op)
        return [self.total(x) for x in xs]

    def add(self, tensor: Tensor, grad: SparseGradient) -> None:
        """Add a contribution to the gradient of ``tensor``."""
        self._parts.setdefault(tensor, []).append(grad)

    def total(self, tensor: Tensor) -> SparseGradient | None:
        """Return the sum of all contributions so far, built once."""
        parts = self._parts.get(tensor)
        if not parts:
            return None
        if len(parts) > 1:
            with beside(self._graph, tensor.op if self.colocate else None):
                parts[:] = [sum_gradients(parts)]
        return parts[0]

    def through(self, op: Operation) -> None:
        """Pass the gradients of an operation's outputs to its inputs.

        Raises:
            LookupError: if there are any and the operation has no gradient.
        """
        grads = [None if t in self.stops else self.total(t) for t in op.outputs]
        if all(g is None for g in grads):
            return
        if op in self._graph.stand_ins:
            (stand_in,) = sources(op)
            (grad,) = grads
            if grad is not None and stand_in in self.connected:
                self.add(stand_in, grad)
            return
        gradient = gradient_of(op)
        if gradient is None:
            raise LookupError(
                f"no gradient is defined for operation {op.name!r} (op type {op.type}), built at "
                f"{op.source or 'an unknown line'}; stop_gradient takes it as constant"
            )
        with (
            beside(self._graph, op if self.colocate else None),
            self._graph.standing_for(op),
            self._graph.name_scope(f"{op.name}_grad"),
        ):
            back = self._ask(op, gradient, grads)
        for tensor, grad in zip(op.inputs, back, strict=True):
            if grad is not None and tensor in self.connected:
                self.add(tensor, grad)

    def _ask(
        self, op: Operation, gradient: Gradient, grads: Sequence[SparseGradient | None]
    ) -> Sequence[SparseGradient | None]:
        try:
            if op.type not in _PASSES_SLICES and not takes_slices(gradient):
                grads = [None if g is None else to_dense(g) for g in grads]
            token = _ASKED.set(self)
            try:
                back: Sequence[Any] = gradient(op, *grads)
            finally:
                _ASKED.reset(token)
            _check_answer(op, back)
            gated = self.gate and sum(g is not None for g in back) > 1
            return control.tuple_(back) if gated else back
        except Exception as exc:
            exc.add_note(
                f"while building the gradient of operation {op.name!r} (op type {op.type}), "
                f"built at {op.source or 'an unknown line'}"
            )
            raise


def sum_gradients(parts: Sequence[SparseGradient]) -> SparseGradient:
    """Return the sum of contributions to one gradient, as slices if all of them are slices."""
    slices = [p for p in parts if isinstance(p, IndexedSlices)]
    if len(slices) == len(parts):
        return add_slices(slices)
    dense = [to_dense(p) for p in parts]
    if dense[0].dtype is variant:
        return add_lists(dense)
    return raw.AddN(dense)


def _check_answer(op: Operation, back: Sequence[SparseGradient | None]) -> None:
    if len(back) != len(op.inputs):
        raise ValueError(f"the gradient of {op.type} gave {len(back)} values for {len(op.inputs)} inputs")
    for index, (tensor, grad) in enumerate(zip(op.inputs, back, strict=True)):
        if grad is None or tensor.dtype.kind == "r":
            continue
        if grad.dtype is not as_dtype(tensor.dtype):
            raise TypeError(f"the gradient of {op.type} gave {grad.dtype.name} for input {index}, {tensor!r}")
        if not grad.shape.is_compatible_with(tensor.shape):
            raise ValueError(f"the gradient of {op.type} gave shape {grad.shape} for input {index}, {tensor!r}")
        if isinstance(grad, Tensor) and grad.shape.sizes != tensor.shape.sizes:
            grad.set_shape(tensor.shape)


# -- inside loops and branches ---------------------------------------------------------------------


def gradients_within(
    body: FunctionBody, ys: Sequence[Tensor], xs: Sequence[Tensor], grad_ys: Sequence[Tensor]
) -> list[SparseGradient | None]:
    """Return the gradients of the results of a loop body or branch, built in the current scope.

    Args:
        body: the body; the traversal does not go beyond its operations.
        ys: the results.
        xs: parameters and captured tensors of the body.
        grad_ys: the gradient of each result.

    Returns:
        The gradient of each ``x``; ``None`` where no result depends on it.
    """
    asked = _ASKED.get()
    connected, path = connect(ys, xs, asked.stops, frozenset(body.operations))
    backward = Backward(body.graph, connected, asked.stops, asked.colocate, asked.gate)
    return backward.run(ys, grad_ys, path, xs)


def is_wanted(tensor: Tensor) -> bool:
    """Return whether the gradient of an input is needed by the traversal in progress."""
    return tensor in _ASKED.get().connected


def note_change(construct: Construct) -> None:
    """Record that the traversal in progress added outputs to a loop or branch."""
    _CHANGED.get().append(construct)


# State of the traversal in progress, for the gradients of loops and branches.
_ASKED: ContextVar[Backward] = ContextVar("actorsession_gradients_asked")
_CHANGED: ContextVar[list[Construct]] = ContextVar("actorsession_constructs_changed")


_SOURCE: ContextVar[str] = ContextVar("actorsession_gradients_source", default="")


def gradient_source() -> str:
    """Return the name that distinguishes the current call of ``gradients`` from all others."""
    return _SOURCE.get()


@contextlib.contextmanager
def extending(graph: Graph, source: str = "") -> Iterator[None]:
    """Enter a block in which gradients may extend loops and branches; their nodes change when it ends.

    Args:
        graph: the graph.
        source: the result of ``gradient_source`` in the block.
    """
    changed: list[Construct] = []
    with graph.growing():
        token, named = _CHANGED.set(changed), _SOURCE.set(source)
        try:
            yield
        finally:
            _CHANGED.reset(token)
            _SOURCE.reset(named)
            flush_constructs(changed)
