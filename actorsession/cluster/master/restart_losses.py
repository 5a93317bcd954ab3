"""The cost of a restart: the variables of a session that are lost, and those restored from a snapshot.

Master sessions use it for errors and for the answer to ``reattach``; imports the graph and the members.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.cluster.master.device_discovery import error_of_all
from actorsession.cluster.master.env import Changes
from actorsession.cluster.master.membership import Membership
from actorsession.cluster.master.session_graph import SessionGraph
from actorsession.errors import WorkerRestartedError, from_exception
from actorsession.graph.device import device_task
from actorsession.graph.kept_state import named
from actorsession.graph.node import NodeDef
from actorsession.messages.session import SessionReattached
from actorsession.messages.worker import AskVariables
from actorsession.runtime.resources import place_of

__all__ = ["RestartLosses", "restart_losses"]


def restart_losses(variables: Iterable[NodeDef], restored: Mapping[str, Any] | None) -> tuple[list[str], list[str]]:
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


class RestartLosses:
    """The variables of one session that were lost with their tasks.

    Args:
        graph: the graph of the session.
        membership: its tasks.
    """

    def __init__(self, graph: SessionGraph, membership: Membership) -> None:
        self._graph = graph
        self._members, self._cluster = membership.members, membership.cluster
        self._lost: dict[str, None] = {}  # those that have had no value since
        self._restarted: dict[str, None] = {}  # the tasks of which no client was told

    def note(self, changes: Changes) -> None:
        """Keep what was lost until a client is told: the call that has found it may be given up before."""
        if changes.restarted:
            self._restarted.update(dict.fromkeys(changes.restarted))
            variables = self._graph.variables()
            self._lost.update({node.name: None for node, device in variables if device_task(device) in self._restarted})

    async def reattached(self, changes: Changes, anew: bool, deadline: Deadline) -> SessionReattached:
        """Return the answer to a client that has continued with the current tasks.

        Args:
            changes: the changes of the tasks, which were noted.
            anew: whether the client has created its session anew, so that this task counts as restarted. A
                client that lost its session knows whether this process is another one; others hear it here.
            deadline: the deadline of the call.
        """
        here = [self._cluster.task] if anew else []
        restarted = list(self._restarted)
        restored = [
            name
            for task in dict.fromkeys([*restarted, *here])
            for name in restart_losses(self._graph.variables_of(task), self._members.restored(task))[0]
        ]
        touched = [(node, device) for node, device in self._graph.variables() if anew or node.name in self._lost]
        # Kept until they have a value, so that a client that fails to restore them can try again.
        self._lost.update({node.name: None for node, _ in touched})
        lost = dict.fromkeys(await self._without_value(touched, deadline))
        for node, _ in touched:
            if node.name not in lost:
                self._lost.pop(node.name, None)
        for task in restarted:
            self._restarted.pop(task, None)
        return SessionReattached(
            added=list(changes.added),
            removed=list(changes.removed),
            restarted=restarted,
            lost=list(lost),
            restored=[name for name in restored if name not in lost],
        )

    async def _without_value(self, variables: Sequence[tuple[NodeDef, str]], deadline: Deadline) -> list[str]:
        """Return the names of the variables that have no value at their tasks."""
        by_task: dict[str, list[tuple[NodeDef, str]]] = {}
        for node, device in variables:
            by_task.setdefault(device_task(device), []).append((node, device))
        there = {task: held for task, held in by_task.items() if task in self._members.workers}
        asks = [
            self._members.workers[task].ask(
                AskVariables(
                    session_handle=self._cluster.handle, variables=[[device, *place_of(node)] for node, device in held]
                ),
                deadline,
            )
            for task, held in there.items()
        ]
        answers: list[Any] = await asyncio.gather(*asks, return_exceptions=True)
        errors = {t: from_exception(a) for t, a in zip(there, answers, strict=True) if isinstance(a, Exception)}
        if error := error_of_all(errors, self._cluster.wanted()):
            raise error
        valued = {
            node.name
            for held, answer in zip(there.values(), answers, strict=True)
            for (node, _), has_one in zip(held, answer.valued, strict=True)
            if has_one
        }
        return [node.name for node, _ in variables if node.name not in valued]

    async def explained(self, error: WorkerRestartedError) -> WorkerRestartedError:
        """Return the error, extended with the variables lost with the worker and those that were restored."""
        task = error.task or ""
        restored = await self._members.ask_restored(task)
        back, lost = restart_losses(self._graph.variables_of(task), restored)
        words = [f"Variables lost: {named(lost)}"]
        if restored is not None:
            path = restored.get("path")  # which earlier versions do not send
            words.append(
                f"back from the snapshot after {restored.get('steps')} steps: {named(back)}"
                + (f" (from {path})" if path else "")
            )
        return WorkerRestartedError(f"{error.message}. {'; '.join(words)}", task=task)
