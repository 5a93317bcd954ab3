"""The op types ``While`` and ``If``, and the builder of their nodes.

The functions of these functional control flow operations are attributes of the node (see ``graph/function``);
the plan compiler turns them into Python's ``while`` and ``if``. Used by ``control_flow``, ``calls`` and
``functions``, and by the gradients of loops and branches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorsession.errors import InternalError
from actorsession.graph.dtypes import bool_, resource
from actorsession.graph.extension import ExtensionPoint
from actorsession.graph.function import (
    BRANCHES,
    FUNCTIONALIZE,
    LOOPS,
    MAX_LOOPS,
    MAX_NESTING,
    FunctionBody,
    FunctionDef,
)
from actorsession.graph.graph import Graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.scopes import scope_of
from actorsession.ops import raw
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.flow.extensions import Construct, common_shape
from actorsession.ops.rows import op
from actorsession.plan.control_flow.functionalize import functionalize_function

__all__ = ["GRADIENTS", "ConstructBuilder", "as_predicate", "as_value", "check_no_resource"]


# -- the ops -------------------------------------------------------------------------------------


def _infer_while(ctx: InferContext) -> list[TensorSpec]:
    body: FunctionDef = ctx.attrs["body"]
    return list(body.inputs)


def _infer_if(ctx: InferContext) -> list[TensorSpec]:
    branches: list[FunctionDef] = [ctx.attrs["then_branch"], ctx.attrs["else_branch"]]
    pairs = zip(*[branch.output_specs() for branch in branches], strict=True)
    return [TensorSpec(a.dtype, common_shape(a.shape, b.shape)) for a, b in pairs]


def _compiled(ctx: KernelContext) -> Kernel:
    raise InternalError(f"{ctx.name!r} has no kernel: a {ctx.op} is compiled with its functions")


# By operation type. ``control_flow`` fills it, because the gradients build such nodes themselves.
GRADIENTS: ExtensionPoint[Callable[..., Sequence[Any]]] = ExtensionPoint(
    "gradients of functional control flow", "actorsession.ops"
)


def _gradient(op: Operation, *grads: Tensor | None) -> Sequence[Any]:
    return GRADIENTS.get(op.type)(op, *grads)


# A loop that runs no iteration returns its inputs.
for _type in sorted(LOOPS):
    op(_type, infer=_infer_while, kernel=_compiled, grad=_gradient, aliases=True)
for _type in sorted(BRANCHES):
    op(_type, infer=_infer_if, kernel=_compiled, grad=_gradient, aliases=True)
FUNCTIONALIZE.fill("nodes", functionalize_function)


# -- values --------------------------------------------------------------------------------------


def as_predicate(value: Any, graph: Graph, what: str) -> Tensor:
    """Return a value as a bool scalar.

    Raises:
        TypeError: for another dtype.
        ValueError: for ``None``, or a shape that cannot be a scalar's.
    """
    if value is None:
        raise ValueError(f"{what} is a bool scalar, got None")
    predicate = convert_to_tensor(value, graph=graph)
    if predicate.dtype is not bool_:
        raise TypeError(f"{what} is a bool scalar, got {predicate.dtype.name}: {predicate!r}")
    if predicate.shape.rank not in (None, 0):
        raise ValueError(f"{what} is a bool scalar, got one of shape {predicate.shape}: {predicate!r}")
    return predicate


def as_value(leaf: Any, graph: Graph) -> Tensor:
    """Return a function's result as a tensor; an operation becomes ``True``, available once it has run."""
    if leaf is None:
        raise ValueError("None is no value that a loop body or branch can return")
    if isinstance(leaf, Operation):
        done = constant(True, graph=graph)
        with graph.control_dependencies([leaf]):
            return raw.Identity(done)
    return convert_to_tensor(leaf, graph=graph)


def check_no_resource(tensor: Tensor, what: str) -> None:
    """Raise TypeError for a resource handle, which cannot be passed from iteration to iteration."""
    if tensor.dtype is resource:
        raise TypeError(f"{what} a resource handle, {tensor!r}: read the variable instead")


# -- nodes ---------------------------------------------------------------------------------------


class ConstructBuilder:
    """Builder of a functional control flow operation: its functions, and finally its node.

    It is a context manager: when the block fails, the graph forgets what its functions have built.

    Args:
        graph: the graph.
        scope: name scope of the operation.
        is_loop: whether the operation is a loop.

    Raises:
        ValueError: if the operation is nested deeper than can be compiled.
    """

    def __init__(self, graph: Graph, scope: str, *, is_loop: bool) -> None:
        self.graph = graph
        self.scope = scope
        self.is_loop = is_loop
        self._bodies: list[FunctionBody] = []
        outer, depth, loops = scope_of(graph).body, 1, int(is_loop)
        while outer is not None:
            depth, loops, outer = depth + 1, loops + outer.is_loop, outer.outer
        if loops > MAX_LOOPS or depth > MAX_NESTING:
            raise ValueError(
                f"{scope!r} would be inside {loops - is_loop} loops, {depth - 1} loops and conds "
                f"altogether; at most {MAX_LOOPS} and {MAX_NESTING} can be inside each other"
            )

    def __enter__(self) -> ConstructBuilder:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            for body in self._bodies:
                self.graph.nodes.remove_body(body)

    def function(self) -> FunctionBody:
        """Return a new function of the operation, whose body is still to be built."""
        body = FunctionBody(self.graph, self.scope.rstrip("/"), is_loop=self.is_loop)
        self._bodies.append(body)
        return body

    def construct(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        keys: Sequence[str],
        bodies: Sequence[FunctionBody],
        results: Sequence[Sequence[Tensor]],
        more: Mapping[str, Any] | None = None,
    ) -> Operation:
        """Add the node, which is named after the scope, with further attributes if there are some."""
        both = list(zip(bodies, results, strict=True))
        captures = list(dict.fromkeys([t for b, out in both for t in b.captured(out)]))
        before = list(dict.fromkeys([op for b, out in both for op in b.waits_for(out)]))
        tied = {group for b, out in both for group in b.tied_to(out)}
        functions = [b.define(out, captures) for b, out in both]
        attrs: dict[str, Any] = {**(more or {}), **dict(zip(keys, functions, strict=True))}
        if tied:
            attrs["_class"] = tuple(sorted(tied))
        with self.graph.control_dependencies(before):
            op = self.graph.create_op(op_type, [*inputs, *captures], attrs, self.scope)
        self.graph.constructs[op] = Construct(op, keys, bodies, results, len(inputs))
        return op
