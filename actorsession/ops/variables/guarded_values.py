"""Initial values that do not fail because a variable in them has no value yet.

``guarded`` returns an initial value in which each reference variable is replaced by its value or, while it
has none, by its own initial value, as TensorFlow does for reference variables: one call of all initializers
then initialises variables that are computed from others, in whatever order they run.
"""

from __future__ import annotations

from typing import Any

from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.graph_keys import GraphKeys

__all__ = ["guarded"]

# What is behind them asks for a value only if there is one.
_SAFE = frozenset({"If", "IsVariableInitialized", "ReadVariableOp", "VarIsInitializedOp"})


def guarded(value: Tensor, name: str) -> Tensor:
    """Return an initial value that does not need other variables to have values.

    Args:
        value: the initial value.
        name: the name of the variable that gets it, for the names of operations that are built anew.

    Returns:
        The value; the argument itself if no reference variable is in it, or if it has a cycle.
    """
    order = _producers_first(value.op)
    if order is None or not any(_is_variable(op) for op in order):
        return value
    replaced: dict[Tensor, Tensor] = {}
    known = {
        v.op: v
        for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
        for v in value.graph.get_collection(key)
        if hasattr(v, "initialized_value")
    }
    for op in order:
        if _is_variable(op) and op in known:
            replaced[op.outputs[0]] = known[op].initialized_value()
        elif not _is_variable(op) and op.type not in _SAFE:
            inputs = [replaced.get(t, t) for t in op.inputs]
            if inputs != list(op.inputs):
                replaced.update(zip(op.outputs, _again(op, inputs, name), strict=True))
    return replaced.get(value, value)


def _is_variable(op: Operation) -> bool:
    return op.op_def.makes_reference


def _again(op: Operation, inputs: list[Tensor], name: str) -> tuple[Tensor, ...]:
    """Return the outputs of an operation that is built again with other inputs."""
    attrs: dict[str, Any] = dict(op.attrs)
    with op.graph.name_scope(None):
        return op.graph.create_op(op.op_def.name, inputs, attrs, f"{op.name}_{name}").outputs


def _producers_first(last: Operation) -> list[Operation] | None:
    """Return what an operation computes its value from, in order; ``None`` if there is a cycle."""
    order: list[Operation] = []
    done: dict[Operation, bool] = {}
    stack = [last]
    while stack:
        op = stack[-1]
        if op not in done:
            done[op] = False
            before = [] if op.type in _SAFE or _is_variable(op) else [t.op for t in op.inputs]
            if any(done.get(producer) is False for producer in before):
                return None
            stack.extend(producer for producer in before if producer not in done)
        else:
            stack.pop()
            if not done[op]:
                done[op] = True
                order.append(op)
    return order
