"""The continuation of a remote session whose master was lost and is started again.

A session ends with the process of its master. Where the master has said that something starts lost tasks
again (``restart_wait`` of ``Server``), the client waits for the new process and creates the session there
with the same graph. If the graph keeps state on a task whose process is another by then, the session goes on
only after ``reattach``: a step that went on as if nothing had happened would be wrong. Owned by a
``RemoteSession``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from actorsession.actors.deadline import Deadline
from actorsession.config import CONNECT_TIMEOUT, ConfigProto
from actorsession.errors import WorkerRestartedError
from actorsession.graph.device import device_task
from actorsession.graph.graph import Graph
from actorsession.graph.kept_state import VARIABLES, holds_state, named

if TYPE_CHECKING:
    from actorsession.session.remote.remote_session import RemoteSession

__all__ = ["MasterRestart"]


class MasterRestart:
    """What one session knows about the processes of its tasks, and what it has lost with them.

    Args:
        session: the session.
        graph: its graph.
        config: its settings.

    Attributes:
        wait: seconds for which the session waits for its master; 0 if nothing starts it again.
        lost: the tasks on which the session has lost state, until ``reattach``.
        replaced: whether the session replaces one that was lost, and ``reattach`` has not reported yet what
            was lost with that one.
    """

    def __init__(self, session: RemoteSession, graph: Graph, config: ConfigProto) -> None:
        self._session = session
        self._graph = graph
        # Whether the state of the session ends with its master.
        self._private = config.isolate_session_state or config.cluster_def is not None
        self._incarnations: Mapping[str, int] = {}
        # Those of the lost session, until it is known what was lost with it.
        self._before: Mapping[str, int] | None = None
        self._resuming = asyncio.Lock()
        self.wait = 0.0
        self.lost: tuple[str, ...] = ()
        self.replaced = False

    async def begin(self, wait: float) -> None:
        """Note the processes of all tasks, because a session was created or has gone on after a loss."""
        self.wait = wait
        if wait:
            self._incarnations = await self._ask_incarnations()

    def settle(self) -> None:
        """Forget what was lost, because ``reattach`` has reported it."""
        self._before, self.lost, self.replaced = None, (), False

    @property
    def is_due(self) -> bool:
        """Whether ``resume`` must be called before the next request."""
        return bool(self.wait) and (self.in_doubt or self._session.lost_master)

    @property
    def in_doubt(self) -> bool:
        """Whether the session has lost state, or may have."""
        return bool(self.lost) or self._before is not None

    async def resume(self) -> None:
        """Continue at the new process of the master.

        Raises:
            WorkerRestartedError: if the session has lost state, until ``reattach``.
            UnavailableError: if the master does not answer in time.
        """
        async with self._resuming:  # of several runs, one does it
            if self._session.lost_master:
                if self._before is None:
                    self._before = self._incarnations
                await self._session.connect_anew(self.wait)
            if self._before is not None:
                lost = await self._find_losses(self._before)
                self._before, self.lost = None, tuple(sorted({*self.lost, *lost}))
            if self.lost:
                raise self._error()

    async def _find_losses(self, before: Mapping[str, int]) -> set[str]:
        """Return the tasks on which the graph keeps state, and whose processes are others than before."""
        now = self._incarnations
        kept = [op.name for op in self._graph.get_operations() if holds_state(op.plain)]
        if not kept:
            return set()
        placed = (await self._session.ask_placement()).devices
        tasks = {device_task(placed[name]) for name in kept if name in placed}
        return {task for task in tasks if self._private or before.get(task) != now.get(task)}

    def _error(self) -> WorkerRestartedError:
        variables = [op.name for op in self._graph.get_operations() if op.type in VARIABLES]
        return WorkerRestartedError(
            f"the master was started again, and the session has lost what it kept on {named(self.lost)}; "
            "session.reattach() goes on without, and says which variables have a value. Variables of the "
            f"graph: {named(variables)}",
            task=self.lost[0],
        )

    async def _ask_incarnations(self) -> dict[str, int]:
        devices = await self._session.ask_devices(Deadline.after(CONNECT_TIMEOUT))
        return {device_task(device.name): device.incarnation for device in devices}
