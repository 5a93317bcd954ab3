"""Side effects of a function: the operations of its body that change state.

They run in every call, whichever results are used. Used by ``functions`` alone.
"""

from __future__ import annotations

from actorsession.graph.function import CONSTRUCTS, FunctionBody, nodes_inside
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import is_registered, lookup
from actorsession.ops import raw
from actorsession.ops.flow.constructs import as_value

__all__ = ["is_stateful", "with_effects"]

# These ops only read state: they need not run if their results are not used.
_LOOKS = frozenset({
    "ReadVariableOp", "VarHandleOp", "VarIsInitializedOp", "RandomStandardNormal", "RandomUniform",
    "RandomUniformInt", "TruncatedNormal",
})  # fmt: skip


def with_effects(body: FunctionBody, results: list[Tensor], graph: Graph) -> list[Tensor]:
    """Return the results, available only after every operation that changes state has run."""
    needed = set(body.needed(results))
    forgotten = [op for op in body.operations if op not in needed and _changes_state(op)]
    if not forgotten:
        return results or [as_value(True, graph)]
    with graph.control_dependencies(forgotten):
        if not results:
            return [raw.Identity(as_value(True, graph))]
        return [raw.Identity(result) for result in results]


def _changes_state(op: Operation) -> bool:
    types = [op.type, *[inner.op for inner, _ in nodes_inside(op.plain)]]
    return any(_has_state(name) for name in types if name not in _LOOKS)


def is_stateful(op: Operation) -> bool:
    """Return whether an operation, or anything inside it, has state or effects."""
    return any(map(_has_state, [op.type, *[n.op for n, _ in nodes_inside(op.plain)]]))


def _has_state(op_type: str) -> bool:
    return op_type not in CONSTRUCTS and is_registered(op_type) and lookup(op_type).stateful
