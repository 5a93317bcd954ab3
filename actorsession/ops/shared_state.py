"""Nodes that make the state behind a handle: queues, barriers, staging areas, accumulators.

State without a shared name belongs to the session whose node made it. State with a shared name belongs to the
device, under its container, and every node that refers to it must have the same attributes. It outlives all
plans; clearing its container only empties it. Variables have a separate mechanism (``variables.state``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from actorsession.graph.dtypes import DType, as_dtype, resource
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext, lookup
from actorsession.graph.scopes import scope_of
from actorsession.ops.build import make_one
from actorsession.ops.rows import Shapes, op, scalar

__all__ = ["check_handle_of", "dtypes_of", "make_handle", "register_state"]

# Attributes that say where some state is found, or that are compared together.
_OWN = frozenset({"container", "shared_name", "seed", "seed2"})
# What messages call attributes.
_SAID = {"component_types": "component types", "shapes": "component shapes"}


def register_state(
    op_type: str, kind: str, label: str, make: Callable[[str, Mapping[str, Any]], Any], shapes: Shapes = scalar
) -> None:
    """Register the operation type of a node that makes some state.

    All nodes that share the state must agree on their attributes.

    Args:
        op_type: operation type.
        kind: the kind of state; a shared name may be used once for each kind.
        label: description of the state in messages, before its name.
        make: a function of the name in messages and the node's attributes that returns the state.
        shapes: the shape rule of the handle.
    """

    def kernel(ctx: KernelContext) -> Kernel:
        name = ctx.attrs["shared_name"] or ctx.name

        def new() -> Any:
            return make(f"{label} {name!r}", ctx.attrs)

        if ctx.attrs["shared_name"]:
            keys = [key for key in lookup(op_type).attrs if key not in _OWN]
            said = [f"{_SAID.get(key, key)} {_text(ctx.attrs[key])}" for key in keys]
            if "seed2" in ctx.attrs:
                said.append(f"random seeds ({ctx.attrs['seed']}, {ctx.attrs['seed2']})")
            spec = f"a {label} of {', '.join(said)}"
            state = ctx.resources.lookup_or_create(ctx.attrs["container"], name, kind, new, spec)
        else:
            state = ctx.state(new)
        return lambda: state

    op(op_type, shapes, kernel=kernel, grad=NOT_DIFFERENTIABLE, aliases=True, once=True)


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_text(v) for v in value)}]"
    return value.name if isinstance(value, DType) else str(value)


def check_handle_of(ctx: InferContext, what: str) -> None:
    """Check that the first input of a node is a handle.

    Raises:
        TypeError: if it is not; the error names the expected state.
    """
    dtype = ctx.inputs[0].dtype
    if dtype is not resource:
        raise TypeError(f"{ctx.op} takes the handle of {what} as input 0, got a {dtype.name} tensor")


def make_handle(op_type: str, name: str, shared_name: str | None, attrs: Mapping[str, Any]) -> Tensor:
    """Add the node that makes some state to the default graph."""
    graph = get_default_graph()
    common = {"container": scope_of(graph).container, "shared_name": shared_name or ""}
    return make_one(op_type, (), {**common, **attrs}, name, graph)


def dtypes_of(types: Any) -> list[DType]:
    """Return the dtypes of a list, or of a single dtype."""
    return [as_dtype(t) for t in (types if isinstance(types, (list, tuple)) else [types])]
