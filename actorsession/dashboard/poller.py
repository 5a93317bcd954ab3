"""Asks the tasks of a cluster how they are, once per interval, over one kept link to each.

``ClusterPoller`` belongs to a ``DashboardServer``, whose answers read its ``tasks`` and ``history``, and which
asks single tasks through it. It asks only while somebody looks: each answer to a page is made inside ``looked_at``, and
without one for some intervals it rests, with its links closed, unless it is to keep the history.

Invariants: a task has at most one question about its state under way, so that one which is silent neither
delays the others nor collects questions. The size of what is kept is bounded by the number of tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import Children
from actorsession.cluster.admin.admin_client import TaskLink
from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.cluster.server.task_rates import TaskRates, rates_between
from actorsession.dashboard.history import History, Sample
from actorsession.errors import NotFoundError, OpError, UnavailableError, from_exception
from actorsession.graph.device import DeviceAttributes
from actorsession.messages.server import SERVER, ClusterView, GetCluster
from actorsession.messages.worker import WORKER, GetStatus, WorkerStatus
from actorsession.records import dataclass
from actorsession.rpc.clock_offset import ClockOffset

if TYPE_CHECKING:
    from actorsession.cluster import SecurityConfig

__all__ = ["GONE", "SILENT", "UP", "ClusterPoller", "TaskState"]

_log = logging.getLogger("actorsession.dashboard")

UP, SILENT, GONE = "up", "silent", "gone"
"""The states of a task: it answers, it does not although it may live, nobody is at its address."""

INTERVAL = 2.0
"""Seconds between two rounds."""

# Seconds for one task to answer, and after which one that had answered before counts as silent.
_PATIENCE = 5.0
_SLOW = 1.0
# Intervals without a page after which nothing is asked any more.
_REST = 10
_KEPT = 3600.0


@dataclass(slots=True, eq=False)
class TaskState:
    """What is known of one task.

    Attributes:
        task: its name.
        link: the link to it.
        state: ``up``, ``silent`` or ``gone``.
        fault: why it is not ``up``.
        statistics: its last counters; ``None`` before the first.
        devices: its devices.
        heard: when it gave these, by the loop's clock.
        is_new: whether they are not in the history yet.
        clock: how far its clock is from that of this process.
        sample: its rates between the last two answers.
        whole_rate: steps per second of its masters between these; the sample counts parts of others as well.
    """

    task: str
    link: TaskLink
    state: str = SILENT
    fault: str = "it was not asked yet"
    statistics: ServerStatistics | None = None
    devices: Sequence[DeviceAttributes] = ()
    heard: float = -math.inf
    sample: Sample = field(default_factory=lambda: Sample(*[math.nan] * len(Sample._fields)))
    whole_rate: float = math.nan
    is_new: bool = False
    clock: ClockOffset = field(default_factory=ClockOffset)
    asked: float | None = None

    def learn(self, status: WorkerStatus, now: float, sent: float) -> None:
        """Take in an answer.

        Args:
            status: the answer.
            now: the time by the loop's clock.
            sent: wall-clock seconds at the question.
        """
        statistics = ServerStatistics.from_wire(status.statistics)
        if statistics.clock:
            self.clock.learn(sent, statistics.clock, statistics.clock, time.time())
        done = None if self.statistics is None else rates_between(self.statistics, statistics)
        self.sample = _sample(self.statistics, statistics, done)
        self.whole_rate = math.nan if done is None else done.whole
        self.devices = tuple(map(DeviceAttributes.from_wire, status.devices))
        self.statistics, self.heard = statistics, now
        self.state, self.fault, self.is_new = UP, "", True

    @property
    def offset(self) -> float:
        """The seconds to add to its times; 0 for a clock that may be right, such as that of this host."""
        offset, error = self.clock.at(time.time())
        return offset if abs(offset) > error else 0.0

    def fail(self, error: OpError) -> None:
        """Take in that there is none."""
        self.state = GONE if isinstance(error, UnavailableError) else SILENT
        self.fault = error.message


def _sample(before: ServerStatistics | None, now: ServerStatistics, done: TaskRates | None) -> Sample:
    """Return what a task did between two answers, of which the earlier one may be missing."""
    if before is None or done is None:
        return Sample(math.nan, math.nan, math.nan, math.nan, now.memory, math.nan, math.nan)
    return Sample(
        rate=done.steps,
        p50=done.p50 or math.nan,
        p99=done.p99 or math.nan,
        cpu=done.cpu,
        memory=now.memory,
        errors=done.errors / (now.uptime - before.uptime),
        bytes=done.sent + done.received,
    )


class ClusterPoller:
    """The state of all tasks of a cluster.

    Args:
        address: where one of the tasks listens.
        token: the shared secret; by default the environment variable ``ACTORSESSION_TOKEN``.
        security: TLS files, for ``tls://``; by default those of the environment.
        interval: seconds between two rounds, above 0.
        keep_history: whether to go on asking while nobody looks.

    Attributes:
        tasks: the state of each task, by name.
        cluster_id: the id of the cluster.
        history: the rates of the last hour.
        rounds: how many rounds have ended.
        interval: seconds between two rounds.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        security: SecurityConfig | None = None,
        interval: float = INTERVAL,
        keep_history: bool = False,
    ) -> None:
        self.interval = interval
        self._address, self._token, self._security = address, token, security
        self._seed = TaskLink(address, token=token, security=security)
        self._keep_history = keep_history
        self.tasks: dict[str, TaskState] = {}
        self.cluster_id = ""
        self.history = History(max(2, round(_KEPT / interval)))
        self.rounds = 0
        self._children = Children("dashboard poller")
        self._wanted = asyncio.Event()
        self._wanted_at = -math.inf
        self._lookers = 0
        self._asking = 0
        self._looking: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()  # once each task has answered or failed since the poller began or rested

    # -- rounds --------------------------------------------------------------------------------

    async def start(self) -> None:
        """Ask the first task for its cluster, then begin.

        Raises:
            OpError: if it does not answer.
        """
        await self._follow_cluster(Deadline.after(_PATIENCE))
        _ = self._children.start(self._run(), name="rounds")

    async def aclose(self) -> None:
        """End the rounds and close all links."""
        await self._children.stop()
        await self._drop(list(self.tasks.values()))
        await self._seed.aclose()

    @contextlib.contextmanager
    def looked_at(self) -> Iterator[None]:
        """Go on asking inside the block, and for some intervals afterwards: somebody looks."""
        loop = asyncio.get_running_loop()
        self._lookers += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._lookers -= 1
            self._wanted_at = loop.time()

    @property
    def resting(self) -> bool:
        """Whether nothing is asked."""
        return not self._wanted.is_set()

    async def wait_for_round(self, seconds: float) -> None:
        """Wait until every task has answered or failed once, at most for some seconds."""
        if not self._settled.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._settled.wait()
            self._settled.set()  # nobody waits again for a task that is silent

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        if self._keep_history:
            self._wanted.set()
        while True:
            await self._wanted.wait()
            begun = loop.time()
            try:
                await self._round()
            except OpError as error:  # no task says who is there
                _log.debug("a round has failed: %s", error)
            # A large cluster takes longer: half of the time is left to those who look.
            took = loop.time() - begun
            await asyncio.sleep(max(self.interval - took, took))
            is_unseen = not self._lookers and loop.time() > self._wanted_at + _REST * self.interval
            if is_unseen and not self._keep_history:
                await self._rest()

    async def _rest(self) -> None:
        """Ask no more, and close the links; what was known is old by the time that somebody looks again."""
        self._wanted.clear()
        self._settled.clear()
        for state in list(self.tasks.values()):
            await state.link.aclose()
        self.tasks = {task: TaskState(task, state.link) for task, state in self.tasks.items()}
        await self._seed.aclose()

    async def _round(self) -> None:
        """Ask who is there, then all of them; wait for those that answer soon."""
        if self._looking is None or self._looking.done():
            self._looking = self._children.start(self._look_for_tasks(), name="tasks of the cluster")
        loop = asyncio.get_running_loop()
        asking = []
        for state in self.tasks.values():
            if state.asked is None:
                state.asked = loop.time()
                self._asking += 1
                asking.append(self._children.start(self._ask_state(state), name=f"ask {state.task}"))
        if asking:
            await asyncio.wait(asking, timeout=self.interval / 2)
        now, wall = loop.time(), time.time()
        for state in self.tasks.values():
            if state.asked is not None and now - state.asked >= max(self.interval, _SLOW) and state.state == UP:
                state.state, state.fault = SILENT, f"it has not answered for {now - state.asked:.1f} s"
        new = [state for state in self.tasks.values() if state.is_new]
        self.history.add(wall, {state.task: state.sample for state in new})
        for state in new:
            state.is_new = False
        self.rounds += 1

    async def _ask_state(self, state: TaskState) -> None:
        try:
            await state.link.connect(Deadline.after(_PATIENCE))  # which would count as a part of the round trip
            sent = time.time()
            status = await state.link.ask(WORKER, GetStatus(), Deadline.after(_PATIENCE))
            state.learn(status, asyncio.get_running_loop().time(), sent)
        except (OpError, ValueError) as error:
            state.fail(from_exception(error))
        finally:
            state.asked = None
            self._asking -= 1
            if not self._asking:
                self._settled.set()

    async def _look_for_tasks(self) -> None:
        with contextlib.suppress(OpError, ValueError):
            await self._follow_cluster(Deadline.after(_PATIENCE))

    async def _follow_cluster(self, deadline: Deadline) -> None:
        """Ask the first task that answers which tasks there are.

        Raises:
            OpError: if none answers.
        """
        others = [state.link for state in self.tasks.values() if state.state == UP]
        fault: OpError | None = None
        for link in [self._seed, *others[:2]]:
            try:
                view: ClusterView = await link.ask(SERVER, GetCluster(), deadline.within(_PATIENCE / 2))
            except OpError as error:
                fault = fault or error
            else:
                address = {view.task: self._address} if link is self._seed else {}
                await self._learn_tasks(view, {**view.tasks, **address})
                return
        assert fault is not None
        raise fault

    async def _learn_tasks(self, view: ClusterView, addresses: Mapping[str, str]) -> None:
        self.cluster_id = view.cluster_id
        for task, address in sorted(addresses.items()):
            known = self.tasks.get(task)
            if known is None or known.link.address not in (address, self._address):
                link = TaskLink(address, task, view.cluster_id, token=self._token, security=self._security)
                if known is not None:
                    await self._drop([known])
                self.tasks[task] = TaskState(task, link)
        await self._drop([state for task, state in self.tasks.items() if task not in addresses])

    async def _drop(self, states: Iterable[TaskState]) -> None:
        """Forget tasks that have left the cluster, and close the links to them."""
        for state in states:
            self.tasks.pop(state.task, None)
            await state.link.aclose()

    # -- single questions ----------------------------------------------------------------------

    def find(self, task: str) -> TaskState:
        """Return the state of a task.

        Raises:
            NotFoundError: if the cluster has no such task.
        """
        state = self.tasks.get(task)
        if state is None:
            raise NotFoundError(f"the cluster has no task {task!r:.200}")
        return state

    async def ask(self, task: str, target: str, message: Any, seconds: float = _PATIENCE) -> Any:
        """Ask one task.

        Raises:
            NotFoundError: if the cluster has no such task.
            OpError: if it does not answer, or with an error.
        """
        return await self.find(task).link.ask(target, message, Deadline.after(seconds))

    async def ask_all(
        self, target: str, message: Any, seconds: float, tasks: Iterable[str] | None = None
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Ask the tasks that are up, at once.

        Args:
            target: the actor that is asked.
            message: the request.
            seconds: for all answers together.
            tasks: the tasks; all that are up if left out.

        Returns:
            The answers by task, and why the others have not answered.
        """
        chosen = [s.task for s in self.tasks.values() if s.state == UP] if tasks is None else list(tasks)
        faults = {s.task: s.fault for s in self.tasks.values() if s.state != UP and tasks is None}
        answers: dict[str, Any] = {}
        deadline = Deadline.after(seconds)

        async def one(task: str) -> None:
            try:
                answers[task] = await self.find(task).link.ask(target, message, deadline)
            except (OpError, ValueError) as error:
                faults[task] = from_exception(error).message

        async with asyncio.TaskGroup() as group:
            for task in chosen:
                group.create_task(one(task), name=f"ask {task}")
        return answers, faults
