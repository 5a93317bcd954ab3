"""The process of one task that an engine has placed, as its cluster sees it.

Watches the task over a connection to its server, which is the same for all engines: while the connection
lasts the task is asked to serve on (``KeepServer``), and when it is lost, the engine is asked what has become
of the task. One that may serve and be out of reach, such as on a machine that is too busy to accept a
connection in time, is tried again before it counts as lost. Owned by an ``EngineCluster``; has the interface
of ``TaskProcess``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.actors.ownership import Owner
from actorsession.actors.supervision import Children, outcome
from actorsession.cluster.admin.admin_client import ToldTasks, keep_server, send_cluster
from actorsession.engines.launcher import Launcher, Placement, TaskFate, TaskOrder
from actorsession.errors import FailedPreconditionError, OpError, UnavailableError
from actorsession.rpc.exit_reports import LAST_LINES
from actorsession.rpc.security import forget_token, remember_token

__all__ = ["EngineProcess"]

_log = logging.getLogger("actorsession.cluster")
# Seconds before a lost connection to a task is tried again.
_RETRY = 0.1
# Seconds that a task may be out of reach whose end the engine does not know of; no longer than it is kept.
_OUT_OF_REACH = 30.0
# Seconds for an engine to report the end of a task, and its last lines.
_REPORT = 15.0
# Seconds that errors of sessions wait for the cluster to notice that a task is lost, and for that report.
_NOTICE, _LAST_WORDS = 0.5, 3.0
# Of the time to come up, the part after which the engine's own error counts: it says what is missing.
_ENGINES_PART = 0.9


class EngineProcess:
    """The process of one task on an engine.

    Args:
        launcher: places the task.
        order: what the task needs.
        timeout: seconds for the task to come up.
    """

    def __init__(self, launcher: Launcher, order: TaskOrder, timeout: float) -> None:
        self.job, self.index, self.task = order.job, order.index, order.task
        self.address = self.sequel = self.lost = ""
        self._launcher = launcher
        self._order = order
        self._timeout = timeout
        self._owner = Owner("process")
        self._children = Children(f"process of {self.task}")
        self._placing: asyncio.Task[Placement] | None = None
        self._placed: Placement | None = None
        self._unreachable = False  # and the engine is asked why
        self._fate: TaskFate | None = None
        self._lines: Sequence[str] = ()
        self._ended = asyncio.Event()

    def start(self, cluster: Mapping[str, Any]) -> None:
        """Let the engine place the task, with the addresses that are known."""
        self._owner.check()
        order = replace(self._order, cluster=cluster)
        deadline = Deadline.after(self._timeout * _ENGINES_PART)
        self._placing = self._children.start(
            self._launcher.place(order, deadline), name=f"placing of {self.task}", awaited=True
        )

    async def announced(self) -> None:
        """Wait until the task listens.

        Raises:
            OpError: if it does not come up.
        """
        self._owner.check()
        if self._placing is None:
            raise FailedPreconditionError(f"the process of {self.task} was not started")
        ended = UnavailableError("its cluster has ended it while it was started", task=self.task)
        self._placed = await outcome(self._placing, ended)
        self.address = self._placed.address
        remember_token(self.address, self._order.token)
        _ = self._children.start(self._watch(self._placed), name=f"watch of {self.task}")

    async def tell_cluster(self, now: Callable[[], ToldTasks]) -> ToldTasks:
        """Send the task the addresses of all tasks; see ``TaskProcess.tell_cluster``.

        Raises:
            OpError: if it does not answer.
        """
        self._owner.check()
        return await send_cluster(
            self.address,
            now,
            deadline=Deadline.after(self._timeout),
            token=self._order.token,
            security=self._order.security,
        )

    async def _watch(self, placed: Placement) -> None:
        """Keep the task serving until its engine says that it has ended, or it stays out of reach."""
        order = self._order
        limit: Deadline | None = None  # since the task was reached last
        while True:
            with contextlib.suppress(OpError):
                await keep_server(
                    placed.address,
                    order.keep,
                    task=self.task,
                    cluster_id=order.cluster_id,
                    token=order.token,
                    security=order.security,
                )
                limit = None  # it was reached; the connection is lost
                await asyncio.sleep(_RETRY)
                continue
            limit = limit or Deadline.after(min(order.keep, _OUT_OF_REACH))
            self._unreachable = True
            fate = await self._asked(placed)
            if fate.ended or limit.expired:
                break
            self._unreachable = False
            _log.info("%s is tried again: %s", self.task, fate.how)
            await asyncio.sleep(_RETRY)
        with contextlib.suppress(OpError):
            self._lines = await Deadline.after(_REPORT).wait(placed.log(), what="its last lines")
        self._end_with(fate)

    async def _asked(self, placed: Placement) -> TaskFate:
        """Return what the engine says of a task that cannot be reached."""
        with contextlib.suppress(OpError):
            return await Deadline.after(_REPORT).wait(placed.fate(), what=f"the end of {self.task}")
        how = f"{self._launcher.engine} did not say why in {_REPORT:g} s"
        return TaskFate(clean=False, how=how, ended=False)

    def _end_with(self, fate: TaskFate) -> None:
        if self._fate is None:
            self._fate = fate
        self._ended.set()

    async def stop(self, grace: float) -> None:
        """End the task; may be called twice. In a forked child it does nothing."""
        if self._owner.is_forked:
            return
        if self._owner.loop_has_ended:
            self.kill_now()
            return
        self._owner.check()
        placing = self._placing
        if placing is not None and not placing.done():
            placing.cancel()
            await asyncio.wait({placing})
        if (placed := self._found_place()) is not None:
            await self._children.stop(1.0)
            self.lost = await placed.end(grace) or self.lost
        await self._children.stop(1.0)
        self._end_with(TaskFate(clean=True, how="ended by its cluster"))
        forget_token([self.address])

    def _found_place(self) -> Placement | None:
        """Return where the engine has placed the task, also if nobody waited for that any longer."""
        placing = self._placing
        is_placed = placing is not None and placing.done() and not placing.cancelled() and not placing.exception()
        return placing.result() if placing is not None and is_placed else None

    def kill_now(self) -> None:
        """End the task without waiting for anything; in a forked child do nothing."""
        if not self._owner.is_forked and (placed := self._found_place()) is not None:
            placed.end_now()

    async def wait_ended(self) -> int:
        """Wait for the end of the task, and return its exit code.

        Raises:
            RuntimeError: in a forked child, or on another loop than that of the cluster.
        """
        self._owner.check()
        await self._ended.wait()
        return self.exit_code or 0

    async def last_words(self) -> str:
        """Return a sentence on the end of the task; "" if it is alive. May be awaited on any loop.

        A session may notice the end before the cluster does, so this waits for that.
        """
        notice, report = Deadline.after(_NOTICE), Deadline.after(_LAST_WORDS)
        while self.alive:
            if report.expired or (notice.expired and not self._unreachable):
                return ""
            await asyncio.sleep(0.005)
        return f"{self.task} (on {self.node}) has ended: {self.fate}"

    async def log(self) -> Sequence[str]:
        """Return the last lines of the task's log."""
        self._owner.check()
        if self._placed is not None and self.alive:
            self._lines = await self._placed.log()
        return self._lines

    @property
    def alive(self) -> bool:
        """Whether the task has come up and its engine has not reported its end."""
        return self._placed is not None and not self._ended.is_set()

    @property
    def exit_code(self) -> int | None:
        """0 if the task was asked to end, 1 if it ended otherwise, ``None`` while it runs."""
        return None if self._fate is None else int(not self._fate.clean)

    @property
    def fate(self) -> str:
        """How the task ended, in the engine's words, and its sequel."""
        if self._fate is None:
            return "it runs" if self.alive else "it is not up"
        how, mark, lines = self._fate.how.partition(LAST_LINES)
        return (f"{how}; {self.sequel}" if self.sequel else how) + mark + lines

    @property
    def node(self) -> str:
        """Where the task runs, in the engine's words; "" if it is not placed."""
        return "" if self._placed is None else self._placed.node
