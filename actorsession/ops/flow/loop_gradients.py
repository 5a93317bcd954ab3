"""Gradients of loops.

The gradient of a ``While`` is a loop with as many iterations, from the last to the first. The values that its
body reads of the forward body are further outputs of the forward loop (see ``extensions``): each is the list
of the values of a tensor, to which each forward iteration appends, and from which each backward iteration
takes the last. Nothing is computed twice, so the body may contain state, random numbers and the user's Python
functions. Values that are equal in all iterations and available outside are read from outside instead.

Called by ``gradients`` through the op registry. The backward loop is an ordinary loop, so it has a gradient
as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from actorsession.graph.dtypes import int32
from actorsession.graph.function import WHILE, brought_in
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.arrays.joining import concat
from actorsession.ops.build import constant, make_one
from actorsession.ops.derivatives.backward import (
    carries_gradient,
    gradients_within,
    is_wanted,
    note_change,
    sum_gradients,
)
from actorsession.ops.derivatives.registry import gradient_of
from actorsession.ops.derivatives.values import (
    as_known,
    gradient_shape,
    gradient_spec,
    made_again,
    once_each,
    parts_of,
    refuse_handle,
    zeros_for,
)
from actorsession.ops.elements.arithmetic import add, subtract
from actorsession.ops.elements.comparison import greater
from actorsession.ops.flow.constructs import ConstructBuilder
from actorsession.ops.indexed_slices import IndexedSlices, SparseGradient, to_dense
from actorsession.ops.lists.nodes import empty_tensor_list, tensor_list_pop_back, tensor_list_push_back
from actorsession.ops.lists.parts import tensor_list_concat

__all__ = ["while_gradient"]

Grads = Sequence["SparseGradient | None"]

# Operations so cheap that their results for values from outside are recomputed instead of saved.
_CHEAP = frozenset({"Identity", "Shape", "Size", "Rank", "Reshape", "ExpandDims", "Squeeze"})


def while_gradient(op: Operation, *grads: Tensor | None) -> Grads:
    """Return the gradient of a ``While``."""
    return _Loop(op, grads).build()


class _Loop:
    """The gradient of a loop under construction.

    Args:
        op: the loop.
        grads: the gradients of its results.
    """

    def __init__(self, op: Operation, grads: Sequence[Tensor | None]) -> None:
        self.op = op
        self.graph = op.graph
        self.parts = parts_of(op)
        self.forward = self.parts.bodies[1]
        self.parameters = list(self.forward.parameters)
        self.values = list(self.parts.results[1])
        self.given = self.parts.first
        captured = dict.fromkeys(op.inputs[self.given :])
        self.captures = [t for t in captured if carries_gradient(t.dtype) and is_wanted(t)]
        self.active = self._active(grads)
        self.grads = grads
        self.known: dict[Tensor, Tensor] = {}
        # Variables that keep their initial value in every iteration.
        self.unchanging = {t: op.inputs[k] for k, t in enumerate(self.parameters[: self.given]) if self.values[k] is t}
        self.first: list[Tensor] = []
        self.results: list[Tensor] = []

    # -- active variables ----------------------------------------------------------------------

    def _active(self, grads: Sequence[Tensor | None]) -> list[int]:
        """Return the loop variables between inputs that need a gradient and results that have one."""
        made_of = [self._sources_of(value) for value in self.values]
        place = {t: k for k, t in enumerate(self.parameters)}
        reached = {k for k, g in enumerate(grads) if g is not None and k < len(self.values)}
        while True:
            more = {place[t] for k in reached for t in made_of[k] if t in place} - reached
            if not more:
                break
            reached |= more
        ends = set(self.captures)
        moving = {k for k in range(self.given) if is_wanted(self.op.inputs[k])}
        moving |= {k for k, sources in enumerate(made_of) if sources & ends}
        while True:
            moved = {self.parameters[k] for k in moving}
            more = {k for k, sources in enumerate(made_of) if sources & moved} - moving
            if not more:
                break
            moving |= more
        self.captures = [t for t in self.captures if any(t in made_of[k] for k in reached)]
        return sorted(k for k in reached & moving if carries_gradient(self.parameters[k].dtype))

    def _sources_of(self, value: Tensor) -> set[Tensor]:
        """Return the parameters and captured tensors that a value depends on differentiably."""
        own, reached, waiting = set(self.forward.operations), {value}, [value]
        while waiting:
            tensor = waiting.pop()
            if tensor.op in own and gradient_of(tensor.op) is not NOT_DIFFERENTIABLE:
                more = {t for t in tensor.op.inputs if carries_gradient(t.dtype)} - reached
                reached |= more
                waiting.extend(more)
        ends = set(self.parameters) | set(self.captures)
        return reached & ends

    # -- the backward loop ---------------------------------------------------------------------

    def build(self) -> Grads:
        """Build the loop, and return the gradients of the inputs."""
        if not self.active:
            return [None] * len(self.op.inputs)
        graph = self.graph
        with (
            graph.name_scope(self.op.name.rpartition("/")[2]) as scope,
            ConstructBuilder(graph, scope, is_loop=True) as builder,
        ):
            note_change(self.parts)
            self.test, self.turn = builder.function(), builder.function()
            self.turn.mirrors, self.turn.bring = self.forward, self._bring
            left = self._variable(self.parts.count(lambda n: add(n, 1)), scalar_shape)
            with self.test.building():
                goes_on = greater(self.test.parameters[0], 0)
            with self.turn.building():
                self.results[0] = subtract(left, 1)
            places, finish = self._back()
            with self.turn.building():
                results = [brought_in(graph, t) for t in self.results]
            keys, bodies = ("cond", "body"), [self.test, self.turn]
            loop = builder.construct(WHILE, self.first, keys, bodies, [[goes_on], results])
        back: dict[Tensor, SparseGradient | None] = {
            t: finish[t]([loop.outputs[p] for p in place]) for t, place in places.items()
        }
        firsts: list[SparseGradient | None] = [None] * self.given
        for at, k in enumerate(self.active):
            if k < self.given:
                firsts[k] = loop.outputs[1 + at]
        return [*firsts, *once_each(self.op.inputs[self.given :], back)]

    def _variable(self, first: Tensor, known: TensorShape) -> Tensor:
        """Add a variable to the loop, and return its tensor in the body; its next value is set later."""
        attrs = {"dtype": first.dtype, "shape": known}
        for body in (self.test, self.turn):
            with body.building():
                body.parameters.append(make_one("Placeholder", (), attrs, "grad", self.graph))
        self.first.append(first)
        self.results.append(self.turn.parameters[-1])
        return self.turn.parameters[-1]

    def _back(self) -> tuple[dict[Tensor, tuple[int, ...]], dict[Tensor, _Finish]]:
        """Build the body; return where the gradient of each captured tensor accumulates and its reader."""
        starts = []
        for k in self.active:
            grad = self.grads[k] if k < len(self.grads) else None
            first = zeros_like(self.op.outputs[k]) if grad is None else grad
            starts.append(self._variable(first, self.parameters[k].shape))
        ys = [self.values[k] for k in self.active]
        xs = [self.parameters[k] for k in self.active] + self.captures
        with self.turn.building():
            inner = gradients_within(self.forward, ys, xs, starts)
            for at, k in enumerate(self.active):
                each = inner[at]
                self.results[1 + at] = zeros_for(self.parameters[k]) if each is None else to_dense(each)
        places: dict[Tensor, tuple[int, ...]] = {}
        finish: dict[Tensor, _Finish] = {}
        for tensor, each in zip(self.captures, inner[len(self.active) :], strict=True):
            if each is not None:
                start = len(self.results)
                finish[tensor] = self._gather(tensor, each)
                places[tensor] = tuple(range(start, len(self.results)))
        return places, finish

    def _gather(self, tensor: Tensor, gradient: SparseGradient) -> _Finish:
        """Sum the gradients of the iterations for a captured tensor, and return how to read the sum."""
        if isinstance(gradient, IndexedSlices):
            return self._gather_slices(tensor, gradient)
        total = self._variable(zeros_for(tensor), gradient_spec(tensor).shape)
        with self.turn.building():
            total = sum_gradients([total, gradient])  # type: ignore[assignment]
        self.results[-1] = total
        return lambda outputs: outputs[0]

    def _gather_slices(self, tensor: Tensor, gradient: IndexedSlices) -> _Finish:
        for part in (gradient.values, gradient.indices):
            items = self._variable(empty_tensor_list(None, part.dtype), scalar_shape)
            with self.turn.building():
                self.results[-1] = tensor_list_push_back(items, part)

        def finish(outputs: Sequence[Tensor]) -> SparseGradient:
            whole = gradient_shape(tensor)
            minus = constant([-1], int32, graph=self.graph)
            values, _ = tensor_list_concat(outputs[0], gradient.dtype, concat([minus, whole[1:]], 0))
            indices, _ = tensor_list_concat(outputs[1], gradient.indices.dtype, [None])
            return IndexedSlices(values, indices, whole)

        return finish

    # -- values of the forward loop ------------------------------------------------------------

    def _bring(self, tensor: Tensor) -> Tensor:
        """Return the tensor in the backward body for a tensor of the forward body."""
        if tensor not in self.known:
            outside = self._outside(tensor)
            self.known[tensor] = self._saved(tensor) if outside is None else outside
        return self.known[tensor]

    def _outside(self, tensor: Tensor) -> Tensor | None:
        """Return that tensor if its value is equal in all iterations and available outside, else ``None``."""
        if not self._is_outside(tensor):
            return None
        with self.turn.building():
            if tensor in self.unchanging:
                return as_known(self.unchanging[tensor], tensor.shape)
            return made_again(tensor)

    def _is_outside(self, tensor: Tensor) -> bool:
        op = tensor.op
        if tensor in self.unchanging or self.graph.nodes.bodies.get(op) is not self.forward:
            return True
        if op.control_inputs or (op.type != "Const" and op.type not in _CHEAP):
            return False
        return all(self._is_outside(t) for t in op.inputs)

    def _saved(self, tensor: Tensor) -> Tensor:
        refuse_handle(tensor)
        note_change(self.parts)
        saved = self.parts.save_each(tensor, tensor_list_push_back)
        items = self._variable(saved, scalar_shape)
        with self.turn.building():
            rest, value = tensor_list_pop_back(items, tensor.dtype, element_shape=tensor.shape)
        self.results[-1] = rest
        return value


_Finish = Callable[[Sequence[Tensor]], SparseGradient]
