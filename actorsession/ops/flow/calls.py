"""Calls of functions: the op types, how calls are built, and their gradient.

A call has the body of its function as its attribute ``f``, and the function's name in the graph's library as
``_function``. The plan compiler inlines the body in place of the call. ``PartitionedCall`` and
``StatefulPartitionedCall`` are TensorFlow 2's types of a call. ``RemoteCall`` runs on a given device.
``SymbolicGradient`` calls the gradient of a function, which computes the function again. Used by
``functions`` and ``functional``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from actorsession.errors import InternalError
from actorsession.graph.dtypes import resource
from actorsession.graph.function import (
    ARGUMENT,
    CALL,
    CALLS,
    CONSTRUCTS,
    REMOTE_CALL,
    STATEFUL_CALL,
    SYMBOLIC_GRADIENT,
    FunctionDef,
)
from actorsession.graph.function_library import LibraryFunction
from actorsession.graph.graph import Graph
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext, lookup
from actorsession.ops import raw
from actorsession.ops.arrays import fills
from actorsession.ops.derivatives.gradients import gradients
from actorsession.ops.flow.constructs import ConstructBuilder
from actorsession.ops.indexed_slices import to_dense
from actorsession.ops.rows import op

__all__ = ["call", "gradient_call", "instantiate", "specialised"]


# -- the ops -------------------------------------------------------------------------------------


def _infer_call(ctx: InferContext) -> list[TensorSpec]:
    function: FunctionDef = ctx.attrs["f"]
    return list(function.output_specs())


def _compiled(ctx: KernelContext) -> Kernel:
    raise InternalError(f"{ctx.name!r} has no kernel: a {ctx.op} is compiled with its function")


# -- calling -------------------------------------------------------------------------------------


def call(
    op_type: str,
    function: LibraryFunction,
    leading: Sequence[Tensor],
    arguments: Sequence[Tensor],
    graph: Graph,
    name: str | None = None,
) -> Operation:
    """Add a call of a function.

    Args:
        op_type: one of ``CALLS``.
        function: the function.
        leading: inputs of the call before those of the function.
        arguments: inputs of the function, of its dtypes.
        graph: the graph.
        name: wanted name; the function's if left out.

    Raises:
        ValueError: if the function cannot take arguments of these shapes.
    """
    inputs = [*arguments, *function.captures]
    body = specialised(function.definition, [t.spec for t in inputs], function.name)
    attrs: dict[str, Any] = {"f": body, "_function": function.name}
    if function.groups:
        attrs["_class"] = function.groups
    with graph.control_dependencies(function.before):
        return graph.create_op(op_type, [*leading, *inputs], attrs, name or function.name)


_Known = dict[tuple[int, tuple[TensorSpec, ...]], FunctionDef]


def specialised(
    function: FunctionDef, inputs: Sequence[TensorSpec], name: str = "the function", known: _Known | None = None
) -> FunctionDef:
    """Return a function specialised to the static types of its arguments.

    Args:
        function: the function.
        inputs: static types of its inputs and captures.
        name: name of the function in messages.
        known: what has been specialised, by the function's identity and the types: functions that each call
            the one before twice would else take time by the power of two.

    Raises:
        ValueError: if the function cannot take such inputs.
    """
    if tuple(inputs) == function.arguments:
        return function
    known = {} if known is None else known
    if (cached := known.get((id(function), tuple(inputs)))) is not None:
        return cached
    try:
        merged = tuple(map(_merged, function.arguments, inputs))
        nodes = tuple(_inferred(function.nodes, merged, known))
    except ValueError as exc:
        raise ValueError(f"{name!r} cannot take arguments of these shapes: {exc}") from exc
    own = len(function.inputs)
    specialized = replace(function, inputs=merged[:own], captures=merged[own:], nodes=nodes)
    return known.setdefault((id(function), tuple(inputs)), specialized)


def _merged(known: TensorSpec, more: TensorSpec) -> TensorSpec:
    return TensorSpec(known.dtype, known.shape.merge_with(more.shape))


def _inferred(nodes: Iterable[NodeDef], arguments: Sequence[TensorSpec], known: _Known) -> Iterator[NodeDef]:
    """Yield the nodes with output types that are inferred again from the arguments' types."""
    specs = {(ARGUMENT, k): spec for k, spec in enumerate(arguments)}
    constants: dict[tuple[str, int], Array] = {}
    for node in nodes:
        inputs = tuple([specs[ref] for ref in node.inputs])
        if node.op in CALLS:
            body = specialised(node.attrs["f"], inputs[CALLS[node.op] :], node.name, known)
            node = replace(node, attrs={**node.attrs, "f": body}, outputs=body.output_specs())
        elif node.op not in CONSTRUCTS:
            values = tuple([constants.get(ref) for ref in node.inputs])
            context = InferContext(node.op, inputs, node.attrs, values)
            definition = lookup(node.op)
            inferred = definition.infer(context)
            node = replace(node, outputs=tuple(map(_merged, node.outputs, inferred)))
            value = None if definition.static_value is None else definition.static_value(context)
            if value is not None:
                constants[node.name, 0] = value
        for k, spec in enumerate(node.outputs):
            specs[node.name, k] = spec
        yield node


def instantiate(function: FunctionDef, arguments: Sequence[Tensor], graph: Graph) -> list[Tensor]:
    """Build the nodes of a function again, in the current scopes.

    Args:
        function: the function.
        arguments: tensors for its inputs and captures.
        graph: the graph.

    Returns:
        The results of the function.
    """
    values = {(ARGUMENT, k): tensor for k, tensor in enumerate(arguments)}
    ops: dict[str, Operation] = {}
    for node in function.nodes:
        op = _built(node, [values[ref] for ref in node.inputs], ops, graph)
        ops[node.name] = op
        values.update({(node.name, k): tensor for k, tensor in enumerate(op.outputs)})
    return [values[ref] for ref in function.outputs]


def _built(node: NodeDef, inputs: Sequence[Tensor], ops: Mapping[str, Operation], graph: Graph) -> Operation:
    name = node.name.rsplit("/", 1)[-1]
    before = [ops[producer] for producer in node.control_inputs]
    where = graph.device(node.device) if node.device else contextlib.nullcontext()
    with graph.control_dependencies(before), where:
        return graph.create_op(node.op, inputs, node.attrs, name)


# -- gradients -----------------------------------------------------------------------------------


def _gradient(op: Operation, *grads: Tensor | None) -> Sequence[Tensor | None]:
    leading = CALLS[op.op_def.name]
    known = op.graph.library.get(op.attrs.get("_function", ""))
    if known is None or known.gradient is None or op.op_def.name == SYMBOLIC_GRADIENT:
        with op.graph.device(op.device if op.op_def.name == REMOTE_CALL else ""):
            back = gradient_call(op.attrs["f"], op.inputs[leading:], grads, op.graph)
        return [*[None] * leading, *back]
    dense = [
        fills.zeros_like(output) if grad is None and output.dtype.kind in "fc" else grad
        for output, grad in zip(op.outputs, grads, strict=True)
    ]
    answer = known.gradient(op, *dense)
    answers = list(answer) if isinstance(answer, (list, tuple)) else [answer]
    # Inputs without an answer of the user's function are the captures of the body.
    return [*[None] * leading, *answers, *[None] * (len(op.inputs) - leading - len(answers))]


def gradient_call(
    function: FunctionDef,
    inputs: Sequence[Tensor],
    grads: Sequence[Tensor | None],
    graph: Graph,
    name: str = SYMBOLIC_GRADIENT,
) -> list[Tensor | None]:
    """Build a call of the gradient of a function; the gradient computes the function again.

    Args:
        function: the function.
        inputs: tensors for its inputs and captures.
        grads: the gradients of its results; ``None`` for those that nothing depends on.
        graph: the graph.
        name: wanted name of the call.

    Returns:
        The gradient of each input; ``None`` where no result depends on it.
    """
    with graph.as_default(), graph.name_scope(name) as scope, ConstructBuilder(graph, scope, is_loop=False) as builder:
        body = builder.function()
        with body.building():
            inner = _gradients_inside(function, inputs, grads, graph)
        results = [g for g in inner if g is not None]
        if not results:
            graph.nodes.remove_body(body)
            return list(inner)
        op = builder.construct(SYMBOLIC_GRADIENT, [], ("f",), [body], [results])
    outputs = iter(op.outputs)
    return [None if g is None else next(outputs) for g in inner]


def _gradients_inside(
    function: FunctionDef, inputs: Sequence[Tensor], grads: Sequence[Tensor | None], graph: Graph
) -> list[Tensor | None]:
    # A value that is passed twice has a separate gradient for each argument. A handle cannot be copied: the
    # first argument that passes it gets the whole gradient.
    points = [t if t.dtype is resource else raw.Identity(t) for t in inputs]
    ys = instantiate(function, points, graph)
    paired = [(y, g) for y, g in zip(ys, grads, strict=True) if g is not None]
    if not paired:
        return [None] * len(points)
    inner = gradients([y for y, _ in paired], points, [g for _, g in paired], stop_gradients=points)
    seen: set[Tensor] = set()
    back: list[Tensor | None] = []
    for point, grad in zip(points, inner, strict=True):
        back.append(None if grad is None or point in seen else to_dense(grad))
        seen.add(point)
    return back


for _type in (CALL, STATEFUL_CALL, REMOTE_CALL, SYMBOLIC_GRADIENT):
    # A function may return one of its arguments.
    op(_type, infer=_infer_call, kernel=_compiled, grad=_gradient, aliases=True)
