"""The choice of the operations of a restore that run after a loss: only those that write lost variables.

Determines which variables an operation writes: those whose handles it takes, itself or through its
transitive inputs. A group is split, so that of ``global_variables_initializer()`` only the initialisers of
lost variables run. Pure functions; ``reattach`` of the session API calls them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from typing import Any

from actorsession.errors import FailedPreconditionError
from actorsession.graph.dtypes import resource
from actorsession.graph.function import CONSTRUCTS, nodes_inside
from actorsession.graph.graph import Graph
from actorsession.graph.kept_state import VARIABLES
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import is_registered, lookup
from actorsession.plan.fetched_reads import VARIABLE_READS
from actorsession.plan.references import HANDLE_OF
from actorsession.session.fetches import map_fetches

__all__ = ["call_restore", "parts_to_run"]

# Names listed in an error; a model may have thousands of variables.
_NAMED = 20


def call_restore(restore: Callable[..., Any], session: object, lost: Collection[str]) -> Any:
    """Call a function that restores state: with the session, and with the lost names if it takes them.

    Args:
        restore: the function. A second parameter with a default is not passed.
        session: the session to restore.
        lost: names of the lost variables.
    """
    try:
        parameters = list(inspect.signature(restore).parameters.values())
    except ValueError:  # a builtin, say
        parameters = []
    positional = [
        p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    takes_both = len(positional) > 1 or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return restore(session, lost) if takes_both else restore(session)


def parts_to_run(graph: Graph, fetches: Any, lost: Collection[str]) -> list[Operation]:
    """Return the operations of a restore that must run.

    Args:
        graph: the session's graph.
        fetches: operations, tensors or names, perhaps in a structure.
        lost: names of the variables that are lost.

    Returns:
        Operations that write nothing but lost variables, and those that write no variable at all.

    Raises:
        FailedPreconditionError: for an operation that would overwrite a variable that is not lost, and
            cannot be split.
        TypeError: for something that cannot be fetched.
        ValueError: for a name that is not in the graph.
    """
    plan = map_fetches(graph, fetches)
    asked = dict.fromkeys([*plan.targets, *[tensor.op for tensor in plan.tensors]])
    parts: dict[Operation, None] = {}
    for op in asked:
        parts.update(dict.fromkeys(_parts(op, frozenset(lost))))
    return list(parts)


def _parts(asked: Operation, lost: frozenset[str]) -> Iterator[Operation]:
    """Yield the operations to run in place of one; without recursion, because chains may be long."""
    waiting, seen = [asked], {asked}
    while waiting:
        op = waiting.pop()
        written = _written_to_run(op)
        if written <= lost:
            if written or op is asked or _has_effects(op):
                yield op
        elif not _changes_state(op):
            # It only groups or computes, and its value is not needed.
            before = [needed for needed in _before(op) if needed not in seen]
            seen.update(before)
            waiting += before
        elif written & lost:
            raise _cannot_be_split(op, written & lost, written - lost)


def _cannot_be_split(op: Operation, lost: frozenset[str], healthy: frozenset[str]) -> FailedPreconditionError:
    return FailedPreconditionError(
        f"restore: {op.name!r} writes {_named(lost)}, lost, but running it also writes {_named(healthy)}, "
        "which has its value and would lose it. Give the initializers of the lost variables alone, or a "
        "function of the session and the names of the variables that are lost",
        node=op.name,
    )


def _named(names: Collection[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(sorted(names)[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _before(op: Operation) -> list[Operation]:
    return [*[tensor.op for tensor in op.inputs], *op.control_inputs]


def _needed(op: Operation) -> Iterator[Operation]:
    """Yield an operation and everything that runs before it."""
    waiting, seen = [op], {op}
    while waiting:
        current = waiting.pop()
        yield current
        before = [p for p in _before(current) if p not in seen]
        seen.update(before)
        waiting += before


def _written_to_run(op: Operation) -> frozenset[str]:
    """Return the variables that running an operation writes."""
    return frozenset([name for needed in _needed(op) for name in _own_writes(needed)])


def _own_writes(op: Operation) -> frozenset[str]:
    """Return the variables that an operation itself writes."""
    handles = _handles(op)
    if op.op_def.name in CONSTRUCTS:
        inner = [node for node, takes_handle in nodes_inside(op.plain) if takes_handle]
        if not any(_writes(node.op) for node in inner):
            return frozenset()
    elif not handles or not _writes(op.op_def.name):
        return frozenset()
    return frozenset([name for tensor in handles for name in _variables(tensor)])


def _handles(op: Operation) -> list[Tensor]:
    """Return the inputs that are handles of variables, or references to them."""
    count = op.op_def.references
    return [t for i, t in enumerate(op.inputs) if i < count or t.dtype is resource or op.type == HANDLE_OF]


def _writes(op_type: str) -> bool:
    """Return whether ops of a registered type may change what their handles refer to."""
    if op_type in VARIABLE_READS or op_type in CONSTRUCTS or not is_registered(op_type):
        return False
    return lookup(op_type).stateful


def _changes_state(op: Operation) -> bool:
    """Return whether an operation itself has side effects."""
    return bool(_own_writes(op)) or (bool(op.inputs) and _writes(op.op_def.name))


def _has_effects(op: Operation) -> bool:
    """Return whether an operation or any of its transitive inputs has side effects."""
    return any(map(_changes_state, _needed(op)))


def _variables(handle: Tensor) -> Iterator[str]:
    """Yield the variables that a handle may refer to; it may have passed through branches."""
    waiting, seen = [handle.op], {handle.op}
    while waiting:
        op = waiting.pop()
        if op.type in VARIABLES:
            yield op.name
        before = [t.op for t in _handles(op) if t.op not in seen]
        seen.update(before)
        waiting += before
