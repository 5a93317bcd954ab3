"""What a restart has cost: which variables of a session are gone, and which came back from a snapshot.

Pure; master sessions use it for errors and for the answer to ``reattach``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from actorsession.graph.node import NodeDef
from actorsession.runtime.resources import DEFAULT_CONTAINER

__all__ = ["VARIABLE", "losses", "named", "place_of"]

VARIABLE = "VarHandleOp"
"""The operation type of a variable."""

# Names that an error holds; a model may have thousands of variables.
_NAMED = 20


def losses(
    variables: Iterable[NodeDef], restored: Mapping[str, Any] | None
) -> tuple[list[str], list[str]]:
    """Tells variables that came back from those that are lost.

    Args:
        variables: the session's, on a task that has restarted.
        restored: the snapshot that the task came back with, in wire form.

    Returns:
        The names of those that came back, and of those that did not.
    """
    there = {(str(c), str(n)) for c, n in (restored or {}).get("variables", ())}
    back: list[str] = []
    lost: list[str] = []
    for node in variables:
        (back if place_of(node) in there else lost).append(node.name)
    return back, lost


def place_of(variable: NodeDef) -> tuple[str, str]:
    """The container of a variable, and what it is called there."""
    container = variable.attrs.get("container") or DEFAULT_CONTAINER
    return container, variable.attrs.get("shared_name") or variable.name


def named(names: Sequence[str]) -> str:
    """Some names in words."""
    more = len(names) - _NAMED
    return (", ".join(names[:_NAMED]) or "none") + (f" and {more} more" if more > 0 else "")
