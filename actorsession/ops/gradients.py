"""Symbolic differentiation: the graph that computes gradients of a graph.

Owns ``gradients``. It walks backwards from ``ys`` and asks each op on a path to ``xs`` for its
gradient (see ``OpDef.gradient``); what ops do is known to their own files only.

Building order is a topological order, so one pass over the operations from the last to the first
meets each of them when all contributions to its outputs are there: no recursion, and no counting. A
tensor is *connected* if a change of some ``x`` changes it differentiably; nothing else is visited.
The gradient of a variable is that of all its reads, gathered at its handle.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterable, Sequence
from typing import Any

from actorsession.graph.dtypes import DType
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE
from actorsession.ops import control, fills
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.indexed_slices import IndexedSlices, SparseGradient, add_slices, to_dense
from actorsession.ops.variables import Variable

__all__ = ["UnconnectedGradients", "gradients"]

# Ops whose gradient only passes on what it gets, so that slices need not be made dense for them.
_PASSES_SLICES = frozenset({"ReadVariableOp", "Identity"})


class UnconnectedGradients(enum.Enum):
    """What stands for the gradient of an ``x`` on which no ``y`` depends."""

    NONE = "none"
    ZERO = "zero"


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """Builds the derivatives of ``sum(ys)`` with respect to each ``x``.

    Args:
        ys: a tensor or a list of tensors.
        xs: a tensor or variable, or a list of them.
        grad_ys: what the gradient of each ``y`` starts from, of its dtype and shape; ones if left
            out.
        name: name scope of the new operations.
        colocate_gradients_with_ops: whether each new operation is placed where the one is that it
            belongs to.
        gate_gradients: whether the gradients of one operation become usable all at once.
        aggregation_method: accepted for TensorFlow's sake.
        stop_gradients: tensors that are taken as constant: nothing flows through them.
        unconnected_gradients: ``"none"`` or ``"zero"``: what is given for an ``x`` on which no
            ``y`` depends. Paths through integers, comparisons and ``stop_gradient`` do not count.

    Returns:
        For each ``x`` a tensor of its dtype and shape, ``IndexedSlices`` where only some rows were
        looked up, or ``None``.

    Raises:
        LookupError: if an operation on a path has no gradient.
        ValueError: for another number of ``grad_ys`` than of ``ys``, a ``grad_y`` of impossible
            shape, or tensors of different graphs.
        TypeError: for a ``grad_y`` of another dtype than its ``y``, complex ``ys`` without
            ``grad_ys``, or ``xs`` that are no tensors.
    """
    unconnected = UnconnectedGradients(
        getattr(unconnected_gradients, "value", unconnected_gradients)
    )
    targets = [convert_to_tensor(y) for y in _as_list(ys)]
    sources = _as_list(xs)
    points = [_point(x) for x in sources]
    stops = frozenset(_point(t) for t in _as_list(stop_gradients))
    graph = _one_graph([*targets, *points, *stops])
    with graph.as_default(), graph.name_scope(name):
        starts = _start_gradients(
            graph, targets, _as_list(grad_ys), grad_ys is None, colocate_gradients_with_ops
        )
        connected, path = _connect(targets, points, stops)
        backward = _Backward(graph, connected, stops, colocate_gradients_with_ops, gate_gradients)
        for target, start in zip(targets, starts, strict=True):
            if target in connected:
                backward.add(target, start)
        for op in reversed(path):
            backward.through(op)
        found = [backward.total(point) for point in points]
        if unconnected is UnconnectedGradients.ZERO:
            return [_zeros(x) if g is None else g for x, g in zip(sources, found, strict=True)]
        return list(found)


# -- what was asked ------------------------------------------------------------------------------


def _as_list(values: Any) -> list[Any]:
    if values is None:
        return []
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _point(x: Any) -> Tensor:
    """Where the gradient of ``x`` gathers: a variable's is that of its handle."""
    if isinstance(x, Variable):
        return x.handle
    if isinstance(x, Tensor):
        return x
    raise TypeError(
        "gradients are taken with respect to tensors and variables, "
        f"got {type(x).__name__}: {x!r:.100}"
    )


def _one_graph(tensors: Sequence[Tensor]) -> Graph:
    if not tensors:
        raise ValueError("gradients needs at least one y or x")
    graph = tensors[0].graph
    for tensor in tensors:
        if tensor.graph is not graph:
            raise ValueError(f"{tensor!r} and {tensors[0]!r} belong to different graphs")
    return graph


def _start_gradients(
    graph: Graph, ys: Sequence[Tensor], given: Sequence[Any], absent: bool, colocate: bool
) -> list[SparseGradient]:
    if not absent and len(given) != len(ys):
        raise ValueError(f"got {len(given)} grad_ys for {len(ys)} ys; one is needed for each")
    starts = []
    for index, y in enumerate(ys):
        grad = None if absent else given[index]
        with _beside(graph, y.op if colocate else None):
            starts.append(_ones(y, index) if grad is None else _given_gradient(y, grad, index))
    return starts


def _ones(y: Tensor, index: int) -> Tensor:
    if y.dtype.is_complex:
        raise TypeError(f"y {y!r} is complex: its grad_ys must be given")
    if not y.dtype.is_numeric:
        raise TypeError(f"y {y!r} has dtype {y.dtype.name}, which has no gradient")
    return fills.ones_like(y, name=f"grad_ys_{index}")


def _given_gradient(y: Tensor, grad: Any, index: int) -> SparseGradient:
    if not isinstance(grad, IndexedSlices):
        grad = convert_to_tensor(grad, y.dtype, name=f"grad_ys_{index}", graph=y.graph)
    if grad.dtype is not y.dtype:
        raise TypeError(f"grad_ys[{index}] has dtype {grad.dtype.name}; {y!r} needs {y.dtype.name}")
    if not grad.shape.is_compatible_with(y.shape):
        raise ValueError(f"grad_ys[{index}] has shape {grad.shape}; {y!r} needs {y.shape}")
    started: SparseGradient = grad
    return started


def _zeros(x: Tensor | Variable) -> Tensor:
    return fills.zeros_like(x.value() if isinstance(x, Variable) else x)


def _beside(graph: Graph, op: Operation | None) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext() if op is None else graph.colocate_with(op)


# -- which operations matter ---------------------------------------------------------------------


def _carries_gradient(dtype: DType) -> bool:
    # Handles carry that of the value behind them.
    return dtype.kind in "fcr"


def _connect(
    ys: Sequence[Tensor], xs: Iterable[Tensor], stops: frozenset[Tensor]
) -> tuple[set[Tensor], list[Operation]]:
    """Finds what lies between ``xs`` and ``ys``.

    Returns:
        The tensors that depend on some ``x``, and the operations that pass gradients to them, in
        building order.
    """
    connected = {x for x in xs if _carries_gradient(x.dtype)}
    path = []
    for op in _upstream(ys):
        if op.op_def.gradient is NOT_DIFFERENTIABLE or connected.isdisjoint(op.inputs):
            continue
        reached = [t for t in op.outputs if _carries_gradient(t.dtype) and t not in stops]
        if reached:
            connected.update(reached)
            path.append(op)
    return connected, path


def _upstream(ys: Sequence[Tensor]) -> list[Operation]:
    """All operations that ``ys`` take data from, in building order."""
    found = {y.op for y in ys}
    waiting = list(found)
    while waiting:
        for tensor in waiting.pop().inputs:
            if tensor.op not in found:
                found.add(tensor.op)
                waiting.append(tensor.op)
    return sorted(found, key=lambda op: op.number)


# -- the way back --------------------------------------------------------------------------------


class _Backward:
    """Gradients on their way back: contributions per tensor until its operation is passed."""

    def __init__(
        self,
        graph: Graph,
        connected: set[Tensor],
        stops: frozenset[Tensor],
        colocate: bool,
        gate: bool,
    ) -> None:
        self._graph = graph
        self._connected = connected
        self._stops = stops
        self._colocate = colocate
        self._gate = gate
        self._parts: dict[Tensor, list[SparseGradient]] = {}

    def add(self, tensor: Tensor, grad: SparseGradient) -> None:
        """Notes a contribution to the gradient of ``tensor``."""
        self._parts.setdefault(tensor, []).append(grad)

    def total(self, tensor: Tensor) -> SparseGradient | None:
        """The sum of all contributions so far, built once."""
        parts = self._parts.get(tensor)
        if not parts:
            return None
        if len(parts) > 1:
            with _beside(self._graph, tensor.op if self._colocate else None):
                parts[:] = [_sum(parts)]
        return parts[0]

    def through(self, op: Operation) -> None:
        """Passes the gradients of an operation's outputs on to its inputs.

        Raises:
            LookupError: if there are any and the operation has no gradient.
        """
        grads = [None if t in self._stops else self.total(t) for t in op.outputs]
        if all(g is None for g in grads):
            return
        if op.op_def.gradient is None:
            raise LookupError(
                f"no gradient is defined for operation {op.name!r} (op type {op.type}), built at "
                f"{op.source or 'an unknown line'}; stop_gradient takes it as constant"
            )
        with (
            _beside(self._graph, op if self._colocate else None),
            self._graph.name_scope(f"{op.name}_grad"),
        ):
            back = self._ask(op, grads)
        for tensor, grad in zip(op.inputs, back, strict=True):
            if grad is not None and tensor in self._connected:
                self.add(tensor, grad)

    def _ask(
        self, op: Operation, grads: Sequence[SparseGradient | None]
    ) -> Sequence[SparseGradient | None]:
        assert op.op_def.gradient is not None
        try:
            if op.type not in _PASSES_SLICES:
                grads = [None if g is None else to_dense(g) for g in grads]
            back: Sequence[Any] = op.op_def.gradient(op, *grads)
            _check_answer(op, back)
            gated = self._gate and sum(g is not None for g in back) > 1
            return control.tuple_(back) if gated else back
        except Exception as exc:
            exc.add_note(
                f"while building the gradient of operation {op.name!r} (op type {op.type}), "
                f"built at {op.source or 'an unknown line'}"
            )
            raise


def _sum(parts: Sequence[SparseGradient]) -> SparseGradient:
    slices = [p for p in parts if isinstance(p, IndexedSlices)]
    if len(slices) == len(parts):
        return add_slices(slices)
    return make_one("AddN", [to_dense(p) for p in parts])


def _check_answer(op: Operation, back: Sequence[SparseGradient | None]) -> None:
    if len(back) != len(op.inputs):
        raise ValueError(
            f"the gradient of {op.type} gave {len(back)} values for {len(op.inputs)} inputs"
        )
    for index, (tensor, grad) in enumerate(zip(op.inputs, back, strict=True)):
        if grad is None or tensor.dtype.kind == "r":
            continue
        if grad.dtype is not tensor.dtype:
            raise TypeError(
                f"the gradient of {op.type} gave {grad.dtype.name} for input {index}, {tensor!r}"
            )
        if not grad.shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"the gradient of {op.type} gave shape {grad.shape} for input {index}, {tensor!r}"
            )
        if isinstance(grad, Tensor) and grad.shape.dims != tensor.shape.dims:
            grad.set_shape(tensor.shape)
