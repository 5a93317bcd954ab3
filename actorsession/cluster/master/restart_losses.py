"""The cost of a restart: the variables of a session that are lost, and those restored from a snapshot.

Pure; master sessions use it for errors and for the answer to ``reattach``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from actorsession.graph.node import NodeDef
from actorsession.runtime.resources import DEFAULT_CONTAINER

__all__ = ["place_of", "restart_losses"]


def restart_losses(
    variables: Iterable[NodeDef], restored: Mapping[str, Any] | None
) -> tuple[list[str], list[str]]:
    """Separate variables that were restored from those that are lost.

    Args:
        variables: the session's variables on a task that has restarted.
        restored: the snapshot that the task was restored from, in wire form.

    Returns:
        The names of those that were restored, and of those that were not.
    """
    there = {(str(c), str(n)) for c, n in (restored or {}).get("variables", ())}
    back: list[str] = []
    lost: list[str] = []
    for node in variables:
        (back if place_of(node) in there else lost).append(node.name)
    return back, lost


def place_of(variable: NodeDef) -> tuple[str, str]:
    """Return the container of a variable and its name there."""
    container = variable.attrs.get("container") or DEFAULT_CONTAINER
    return container, variable.attrs.get("shared_name") or variable.name
