"""Where the other tasks of a cluster are, as far as one of them knows.

The server's resolver is asked again before each dial. The addresses that the masters of sessions give are
kept apart from those of our own cluster. Owned by a worker cache.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field

from actorsession.actors.deadline import Deadline
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import OpError
from actorsession.records import dataclass

__all__ = ["ASK", "TaskAddresses"]

_log = logging.getLogger("actorsession.cluster")
# Limit on the tasks whose addresses masters of sessions may give: more than any cluster has.
_REPORTED = 4096

ASK = CONNECT_TIMEOUT / 3
"""Seconds to learn addresses; a third of the limit of a dial, so that the dial still has time."""


@dataclass(slots=True, eq=False)
class TaskAddresses:
    """The addresses of tasks.

    Attributes:
        task: the task that knows them.
        known: the address of each task in our own cluster.
    """

    task: str
    _resolve: Callable[[Deadline], Awaitable[None]] | None  # updates them from the resolver
    known: dict[str, str] = field(default_factory=dict, init=False)
    _reported: dict[str, str] = field(default_factory=dict, init=False)  # by masters of sessions

    def __contains__(self, task: str) -> bool:
        return task in self.known or task in self._reported

    def learn(self, addresses: Mapping[str, str]) -> None:
        """Store the addresses of tasks, replacing known ones."""
        self.known.update(addresses)
        for task in addresses:
            self._reported.pop(task, None)

    def learn_from_session(self, addresses: Mapping[str, str]) -> None:
        """Store the addresses of tasks as given by the master of a session.

        Such an address is tried first, because a master may be informed of a move earlier. But the address
        given by our own cluster is kept: otherwise any client that opens a session could cut us off from the
        other tasks.
        """
        self._reported.update(addresses)
        while len(self._reported) > _REPORTED:
            del self._reported[next(iter(self._reported))]

    def forget(self, task: str) -> None:
        """Remove a task that has left the cluster."""
        self.known.pop(task, None)
        self._reported.pop(task, None)

    def candidates(self, task: str) -> list[str]:
        """Return the addresses at which a task may be, in the order in which they are tried."""
        addresses = (self._reported.get(task), self.known.get(task))
        return list(dict.fromkeys(address for address in addresses if address))

    async def refresh(self, deadline: Deadline) -> str:
        """Update the addresses from the resolver, if there is one.

        If that fails, the last known addresses may still be tried, because a peer that answers introduces
        itself with its task.

        Returns:
            Text to append to an error about an address that does not answer; "" on success.
        """
        if self._resolve is None:
            return ""
        try:
            await self._resolve(Deadline.after(ASK).earliest(deadline))
        except OpError as error:
            _log.warning("%s: where tasks are could not be asked: %s", self.task, error.message)
            return f"; that address may be old: {error.message}"
        return ""
