"""Outputs that gradients add to loops and branches after those were built.

Owns ``Construct``, one for each node of a graph that has functions and was built here. ``constructs`` makes
them; ``branch_gradients`` and ``loop_gradients`` use them to read values from inside.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence

from actorsession.graph.dtypes import int32, variant
from actorsession.graph.function import ARGUMENT, LOOPS, FunctionBody, FunctionDef
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.scopes import entered
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops.build import make_one

__all__ = ["Construct", "common_shape", "flush_constructs", "rebuilt"]


def common_shape(first: TensorShape, second: TensorShape) -> TensorShape:
    """Return the static shape of a value that has one of two shapes."""
    if first.sizes is None or second.sizes is None or len(first.sizes) != len(second.sizes):
        return TensorShape(None)
    return TensorShape([a if a == b else None for a, b in zip(first.sizes, second.sizes, strict=True)])


class Construct:
    """The components of a loop or branch, kept so that gradients can be computed through it.

    Gradients need values from inside. A construct returns them as further outputs. Such an output begins
    empty, or is empty where the branch that computes the value is not taken; see ``save_from_branch`` and
    ``save_each``. A run that does not read these outputs does not compute them. The node changes in
    ``flush``, after all outputs have been added.

    Args:
        op: the node.
        keys: the attributes that hold its functions.
        bodies: the functions.
        results: the results of each function.
        first: how many inputs come before those that the functions capture.

    Attributes:
        saved: the output for each saved value from inside.
    """

    def __init__(
        self,
        op: Operation,
        keys: Sequence[str],
        bodies: Sequence[FunctionBody],
        results: Sequence[Sequence[Tensor]],
        first: int,
    ) -> None:
        self.op = op
        self.keys = tuple(keys)
        self.bodies = tuple(bodies)
        self.results = [list(values) for values in results]
        self.first = first
        self.saved: dict[Tensor, Tensor] = {}
        self._added: list[Tensor] = []
        self._counted: Tensor | None = None
        for body in bodies:
            body.owner = self

    # -- further outputs -----------------------------------------------------------------------

    def inside(self, body: FunctionBody) -> contextlib.AbstractContextManager[object]:
        """Return a context that builds operations into a function of the construct after it was built."""
        changes = {"body": body, "devices": (), "control": (), "colocation": (), "name": self.op.name}
        return entered(self.op.graph, **changes)

    def _output(self, spec: TensorSpec) -> Tensor:
        output = Tensor(self.op, len(self.op.outputs) + len(self._added), spec)
        self._added.append(output)
        return output

    def save_from_branch(self, tensor: Tensor, branch: int, nothing: Callable[[], Tensor]) -> Tensor:
        """Return the output with a value from a branch; it is added if missing.

        Args:
            tensor: the value.
            branch: index of the function that computes it.
            nothing: builds the value that the other branch returns instead.
        """
        if tensor not in self.saved:
            other = 1 - branch
            with self.inside(self.bodies[other]):
                empty = nothing()
            self.results[branch].append(tensor)
            self.results[other].append(empty)
            shape = common_shape(tensor.shape, empty.shape)
            self.saved[tensor] = self._output(TensorSpec(tensor.dtype, shape))
        return self.saved[tensor]

    def save_each(self, tensor: Tensor, push: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """Return the output with the list of all values of a tensor in a loop's body; it is added if missing.

        Args:
            tensor: the tensor.
            push: builds the list with one more item.
        """
        if tensor not in self.saved:
            spec = TensorSpec(variant, scalar_shape)
            self.saved[tensor] = self._variable(spec, lambda items: push(items, tensor))
        return self.saved[tensor]

    def count(self, add_one: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the output with the number of iterations of a loop; it is added if missing."""
        if self._counted is None:
            self._counted = self._variable(TensorSpec(int32, scalar_shape), add_one)
        return self._counted

    def _variable(self, spec: TensorSpec, following: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the output of a new loop variable, which begins empty."""
        attrs = {"dtype": spec.dtype, "shape": spec.shape}
        for body in self.bodies:
            with self.inside(body):
                body.parameters.append(make_one("Placeholder", (), attrs, "saved", self.op.graph))
        body = self.bodies[-1]
        with self.inside(body):
            self.results[-1].append(following(body.parameters[-1]))
        return self._output(spec)

    def flush(self) -> None:
        """Update the node with the outputs that were added."""
        op = self.op
        both = list(zip(self.bodies, self.results, strict=True))
        before = op.inputs[self.first :]
        captures = list(dict.fromkeys([*before, *[t for b, out in both for t in b.captured(out)]]))
        functions = [b.define(out, captures) for b, out in both]
        attrs = {**op.attrs, **dict(zip(self.keys, functions, strict=True))}
        inputs = [*op.inputs[: self.first], *captures]
        op.graph.changes.extend(op, inputs, attrs, [*op.outputs, *self._added])
        self._added.clear()


def flush_constructs(changed: Iterable[Construct]) -> None:
    """Update the nodes of changed constructs, and those of the constructs around them."""
    waiting = list(dict.fromkeys(changed))
    for construct in waiting:
        body = construct.op.graph.nodes.bodies.get(construct.op)
        if body is not None and body.owner is not None and body.owner not in waiting:
            waiting.append(body.owner)
    for construct in sorted(waiting, key=_depth, reverse=True):
        construct.flush()


def _depth(construct: Construct) -> int:
    depth, body = 0, construct.op.graph.nodes.bodies.get(construct.op)
    while body is not None:
        depth, body = depth + 1, body.outer
    return depth


def rebuilt(op: Operation, keys: Sequence[str]) -> Construct:
    """Return the construct of a node with functions that was not built here, rebuilt from its functions.

    Args:
        op: the node.
        keys: the attributes that hold its functions.
    """
    graph, functions = op.graph, [op.attrs[key] for key in keys]
    first = len(op.inputs) - len(functions[-1].captures)
    bodies = []
    for _ in functions:
        body = FunctionBody(graph, op.name, is_loop=op.type in LOOPS)
        body.outer = graph.nodes.bodies.get(op)
        bodies.append(body)
    construct = Construct(op, keys, bodies, [[] for _ in bodies], first)
    for body, function, out in zip(bodies, functions, construct.results, strict=True):
        with construct.inside(body):
            for spec in function.inputs:
                attrs = {"dtype": spec.dtype, "shape": spec.shape}
                body.parameters.append(make_one("Placeholder", (), attrs, "again", graph))
            out.extend(_built(function, [*body.parameters, *op.inputs[first:]], op))
    return construct


def _built(function: FunctionDef, arguments: Sequence[Tensor], op: Operation) -> list[Tensor]:
    """Build the nodes of a function in the current scopes, and return its results."""
    graph = op.graph
    values: dict[tuple[str, int], Tensor] = {(ARGUMENT, k): t for k, t in enumerate(arguments)}
    operations: dict[str, Operation] = {}
    for node in function.nodes:
        before = [operations[name] for name in node.control_inputs]
        name = node.name.rpartition("/")[2]
        with graph.device(node.device or None), graph.control_dependencies(before):
            inner = graph.create_op(node.op, [values[r] for r in node.inputs], node.attrs, name)
        operations[node.name] = inner
        for tensor, spec in zip(inner.outputs, node.outputs, strict=True):
            tensor.set_shape(spec.shape)
            values[node.name, tensor.value_index] = tensor
    return [values[ref] for ref in function.outputs]
