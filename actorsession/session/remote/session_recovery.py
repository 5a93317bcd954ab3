"""The recovery of a remote session after the loss of its master, or of other tasks.

A session ends with the process of its master. Where the master has said that something starts lost tasks
again (``restart_wait`` of ``Server``), the client waits for the new process and creates the session there
with the same graph. If the graph keeps state on a task whose process is another by then, the session goes on
only after ``reattach``: a step that went on as if nothing had happened would be wrong. Owned by a
``SessionConnection``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from actorsession.actors.deadline import Deadline
from actorsession.config import CONNECT_TIMEOUT, ConfigProto
from actorsession.errors import AbortedError, DeadlineExceededError, OpError, UnavailableError, WorkerRestartedError
from actorsession.graph.device import device_task
from actorsession.graph.graph import Graph
from actorsession.graph.kept_state import VARIABLES, holds_state, named
from actorsession.messages.session import ReattachSession, SessionReattached
from actorsession.rpc.exit_reports import is_given_up
from actorsession.session.reattach import Reattached
from actorsession.session.remote.master_connection import RETRY

if TYPE_CHECKING:
    from actorsession.session.remote.session_connection import SessionConnection

__all__ = ["SessionRecovery"]


class SessionRecovery:
    """What one session knows about the processes of its tasks, and what it has lost with them.

    Args:
        connection: of the session.
        graph: its graph.
        config: its settings.

    Attributes:
        failure: why the session is not at its master any more, once ``reattach`` has failed: all calls say so.
        wait: seconds for which the session waits for its master; 0 if nothing starts it again.
    """

    __slots__ = (
        "_before",
        "_connection",
        "_failed",
        "_graph",
        "_incarnations",
        "_loss",
        "_lost",
        "_private",
        "_replaced",
        "_resuming",
        "failure",
        "wait",
    )

    def __init__(self, connection: SessionConnection, graph: Graph, config: ConfigProto) -> None:
        self._connection = connection
        self._graph = graph
        # Whether the state of the session ends with its master.
        self._private = config.isolate_session_state or config.cluster_def is not None
        self._incarnations: Mapping[str, int] = {}
        # Those of the lost session, until it is known what was lost with it.
        self._before: Mapping[str, int] | None = None
        # The tasks on which the session has lost state, until ``reattach``.
        self._lost: tuple[str, ...] = ()
        # Whether the session replaces one that was lost, and ``reattach`` has not reported yet what was lost.
        self._replaced = False
        self.failure: OpError | None = None
        self._loss: OpError | None = None  # what had happened before ``reattach`` was called
        self._resuming = asyncio.Lock()
        self._failed: OpError | None = None  # the last error of ``resume``
        self.wait = 0.0

    async def begin(self, wait: float) -> None:
        """Note the processes of all tasks, because a session was created or has gone on after a loss."""
        if wait:
            await self._note_incarnations()
        self.wait = wait  # last: a session whose creation was cancelled before has lost nothing

    async def _note_incarnations(self) -> None:
        devices = await self._connection.devices()
        self._incarnations = {device_task(device.name): device.incarnation for device in devices}

    @property
    def is_due(self) -> bool:
        """Whether ``resume`` must be called before the next request."""
        return bool(self.wait) and (self._in_doubt or self._connection.lost_master)

    @property
    def _in_doubt(self) -> bool:
        """Whether the session has lost state, or may have."""
        return bool(self._lost) or self._before is not None

    async def resume(self) -> None:
        """Continue at the new process of the master.

        Raises:
            WorkerRestartedError: if the session has lost state, until ``reattach``.
            UnavailableError: if the master does not answer in time, or a task that may have lost state does not.
        """
        before = self._failed
        async with self._resuming:  # of several runs, one does it
            failed = self._failed
            if failed is not None and failed is not before and self.is_due:
                # While this one has waited. If it tried again, the last of many would wait many times as long.
                raise type(failed)(failed.message, task=failed.task)
            try:
                await self._go_on()
            except OpError as error:
                self._failed = type(error)(error.message, task=error.task)  # without the frames of a traceback
                raise

    async def _go_on(self) -> None:
        if self._connection.lost_master:
            if self._before is None:
                self._before = self._incarnations
            await self._connect_anew(self.wait)
        if self._before is not None:
            lost = await self._find_losses(self._before)
            self._before, self._lost = None, tuple(sorted({*self._lost, *lost}))
        if self._lost:
            raise self._error()

    async def _connect_anew(self, limit: float = CONNECT_TIMEOUT) -> None:
        """Create a new session at the master for the same graph; errors say how the former one was lost, too."""
        connection = self._connection
        handle = connection.handle
        self._loss = self._loss or connection.master.loss
        await connection.forget(handle, self._loss)
        try:
            await connection.connect(limit, anew=True)
        except OpError as error:
            if self._loss is not None and not connection.closed:
                error.message += f"; the session had been lost before: {self._loss.message}"
            raise
        self._loss = None

    async def _find_losses(self, before: Mapping[str, int]) -> set[str]:
        """Return the tasks on which the graph keeps state, and whose processes are others than before.

        Raises:
            UnavailableError: if one of them does not answer, so that nobody knows.
        """
        kept = [op.name for op in self._graph.get_operations() if holds_state(op.plain)]
        if not kept:
            return set()
        placed = (await self._connection.placement()).devices
        tasks = {device_task(placed[name]) for name in kept if name in placed}
        if self._private:
            return tasks
        if absent := self._absent_of(tasks):
            await self._wait_for(absent)
        if absent := self._absent_of(tasks):
            raise UnavailableError(
                f"the link to the master was lost, and {named(absent)} cannot be reached from there now, so that it is "
                "not known whether the session has kept its state; the next run asks again",
                task=absent[0],
            )
        return {task for task in tasks if before.get(task) != self._incarnations.get(task)}

    async def _wait_for(self, tasks: Sequence[str]) -> None:
        """Give tasks that the master does not reach the time in which lost ones are started again."""
        limit = Deadline.after(self.wait)
        with contextlib.suppress(DeadlineExceededError):  # who is absent then is known below
            for task in tasks:
                await self._connection.wait_for(task, 1, limit)
        await self._note_incarnations()

    def _absent_of(self, tasks: Collection[str]) -> Sequence[str]:
        """Return the tasks that have not answered the master, which have no incarnation."""
        return sorted(task for task in tasks if not self._incarnations.get(task, 1))

    def _error(self) -> WorkerRestartedError:
        variables = [op.name for op in self._graph.get_operations() if op.type in VARIABLES]
        return WorkerRestartedError(
            f"the master was started again, and the session has lost what it kept on {named(self._lost)}; "
            "session.reattach() goes on without, and says which variables have a value. Variables of the "
            f"graph: {named(variables)}",
            task=self._lost[0],
        )

    # -- reattach ------------------------------------------------------------------------------

    async def reattach(self) -> Reattached:
        """Continue with the tasks that are present now; connect again if the master was lost.

        Raises:
            UnavailableError: if the master cannot be reached.
            DeadlineExceededError: if tasks that the graph uses do not answer; it names all of them.
        """
        connection = self._connection
        connection.check_open()
        deadline = Deadline.after(connection.limit)
        loss = self._loss
        while connection.handle and connection.master.reached:
            try:
                report = await self._ask(deadline, anew=self._in_doubt or self._replaced)
                lost = self._lost
                await self.begin(self.wait)
                self._settle()
                return replace(report, restarted=tuple(dict.fromkeys((*report.restarted, *lost))))
            except (UnavailableError, WorkerRestartedError) as error:
                answered = connection.over_link or isinstance(error, WorkerRestartedError)
                if answered and not connection.lost_master:  # another task was lost; runs go on
                    if deadline.expired:
                        raise
                    await asyncio.sleep(RETRY)
                    continue
                loss = error
            except AbortedError as error:
                loss = error  # the master has dropped the session
            break
        return await self._replace(deadline, loss)

    async def _replace(self, deadline: Deadline, loss: OpError | None) -> Reattached:
        """Create a new session at the master for the same graph, in place of one that was lost."""
        master = self._connection.master
        before = master.link.peer if master.link is not None else None
        self._replaced = True
        self._loss = self.failure = loss
        try:
            await self._connect_anew()
        except OpError as error:
            if loss is not None:
                again = "" if is_given_up(master.address) else ", and may be tried again"
                words = f"reattach() has failed{again}: {error.message}"
                self.failure = UnavailableError(words, task=loss.task)
            raise
        self.failure = None
        report = await self._ask(deadline, anew=True)
        self._settle()
        now = master.link.peer if master.link is not None else None
        if before is not None and now is not None and before.incarnation != now.incarnation:
            return replace(report, restarted=(now.task,))
        return replace(report, restored=())  # those of a master that was not restarted are old news

    async def _ask(self, deadline: Deadline, *, anew: bool) -> Reattached:
        connection = self._connection
        message = ReattachSession(session_handle=connection.handle, anew=anew, request_id=connection.request_id())
        report = await connection.ask(message, deadline, SessionReattached)
        return Reattached(
            tuple(report.added),
            tuple(report.removed),
            tuple(report.restarted),
            tuple(report.lost),
            tuple(report.restored),
        )

    def _settle(self) -> None:
        """Forget what was lost, because ``reattach`` has reported it."""
        self._before, self._lost, self._replaced = None, (), False
