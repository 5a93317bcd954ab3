"""The MasterSession: the session of one client at its master.

An actor that belongs to its master. It answers what the client asks: its ``SessionPlans`` extend a graph with
the nodes of the client's and register it at tasks, its ``SessionSteps`` run steps.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from actorsession.actors.actor import Actor, answers
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import Deadline
from actorsession.cluster.last_steps import collect_steps
from actorsession.cluster.master.device_discovery import RETRY, too_few_answer
from actorsession.cluster.master.session_cluster import SessionCluster
from actorsession.cluster.master.session_plans import SessionPlans
from actorsession.cluster.master.session_steps import SessionSteps
from actorsession.cluster.master.step_observer import StepObserver
from actorsession.cluster.server.statistics import OpenSession
from actorsession.cluster.wait_graphs import collect_wait_graphs
from actorsession.durations import checked_milliseconds, in_seconds
from actorsession.errors import InvalidArgumentError, OpError, error_from_wire
from actorsession.messages.done import Done
from actorsession.messages.session import (
    AskSessionSteps,
    AskSessionWhy,
    DeviceList,
    ExplainStep,
    ExtendSession,
    FindPlacement,
    LastSteps,
    ListDevices,
    PartialRunDrop,
    PlacementFound,
    PrepareStep,
    ReattachSession,
    SessionExtended,
    SessionReattached,
    SessionWhy,
    StepExplained,
    StepValues,
    TakeStepValues,
    TasksPresent,
    WaitForTasks,
)
from actorsession.metrics import session_tally
from actorsession.runtime.admission import Admission
from actorsession.runtime.device_filters import DeviceFilters
from actorsession.runtime.planning import Planning

__all__ = ["MasterSession"]

# The most seconds between two looks at whether tasks that a client waits for answer.
_LOOK = 0.5
# Seconds in which a client that reads at all says that it has received an answer.
_CONFIRMED = 1.0


class MasterSession(Actor):
    """One session of one client.

    Args:
        cluster: the cluster of the session, with its handle and its settings.
        admission: the admission of the steps of all sessions of the master; the session gets a share of it.
        planning: runs large pieces of planning in a worker thread; owned by the session from now on.
        client: the client's id for its session; see ``CreateSession``.
        address: the address of the client.

    Attributes:
        handle: the name of the session.
        client: the client's id for its session.
        plans: the plans of the session, over the tasks that it has.
        steps: the steps of the session.
    """

    def __init__(
        self, cluster: SessionCluster, admission: Admission, planning: Planning, client: str = "", address: str = ""
    ) -> None:
        self.handle, self.client, self._address = cluster.handle, client, address
        super().__init__(f"master session {self.handle}")
        self._cluster, self._planning = cluster, planning
        self._tally = session_tally("master", self)
        observer = StepObserver(self.handle, cluster.config, cluster.env.stats_publisher_factory)
        self.plans = SessionPlans(cluster, planning, observer, self.children, self._tally)
        self.steps = SessionSteps(self.plans, admission, observer, self.children, self._tally)

    def limited(self, deadline: Deadline) -> Deadline:
        """Return the deadline of a call, within the session's ``operation_timeout_in_ms``.

        The client keeps its own limit. Here that of the server acts, where the client has none.
        """
        limit = self._cluster.config.operation_timeout
        return deadline if limit is None else deadline.within(limit)

    @property
    def closed(self) -> bool:
        """Whether the session was closed, or is being closed."""
        return self.steps.over is not None

    def idle_for(self, now: float) -> float:
        """Return the seconds since the last request; 0 while a step is in flight or a partial run is open."""
        busy = self.steps.busy or self.statistics().in_flight
        return 0.0 if busy else now - self.steps.last_used

    def session_statistics(self) -> OpenSession:
        """Return the counters of the session, with its client's name for it and the client's address."""
        metadata = self._cluster.config.experimental.session_metadata
        inflight = self.steps.admission.statistics()
        return OpenSession(
            session_handle=self.handle,
            name="" if metadata is None else metadata.name,
            client=self._address,
            steps=inflight.in_flight,
            waiting=inflight.waiting,
            runs=self._tally.runs,
            partial_runs=len(self.steps.partials),
            nodes=len(self.plans.shown().nodes),
        )

    # -- graph and devices ---------------------------------------------------------------------

    @answers(ExtendSession, once=True, keep_answer=True)
    def on_extend(self, message: ExtendSession, call: CallContext) -> SessionExtended | Awaitable[SessionExtended]:
        """Extend the graph with nodes that the client added; see ``SessionPlans.extend``."""
        return self.plans.extend(message, self.limited(call.deadline))

    @answers(ListDevices)
    def on_list_devices(self, message: ListDevices, call: CallContext) -> DeviceList | Awaitable[DeviceList]:
        """Ask new and absent tasks, then return the session's devices, the client device first."""
        membership = self.plans.membership
        later = membership.missing or membership.changed
        return self._list_later(self.limited(call.deadline)) if later else self._list()

    async def _list_later(self, deadline: Deadline) -> DeviceList:
        await self.plans.follow(deadline)
        await self.plans.membership.retry_absent(deadline)
        return self._list()

    def _list(self) -> DeviceList:
        devices = self.plans.members.devices
        ordered = sorted(devices.devices, key=lambda d: d.name != devices.client_device)
        return DeviceList(devices=[d.to_wire() for d in ordered])

    @answers(FindPlacement)
    async def on_find_placement(self, message: FindPlacement, call: CallContext) -> PlacementFound:
        """Return the device of each node that is placed, with the reason."""
        return await self.plans.placement(call.deadline)

    @answers(ExplainStep)
    async def on_explain(self, message: ExplainStep, call: CallContext) -> StepExplained:
        """Return what a step would do; see ``SessionPlans.explain``."""
        return await self.plans.explain(message, self.limited(call.deadline))

    @answers(WaitForTasks)
    async def on_wait_for_tasks(self, message: WaitForTasks, call: CallContext) -> TasksPresent:
        """Wait until enough tasks of the cluster answer; those that join meanwhile count."""
        chosen, attempts = DeviceFilters([message.tasks]), dict[str, str]()
        deadline, pause = call.deadline.within(in_seconds(_checked(message))), RETRY
        while True:
            await self._cluster.links.refresh_addresses(deadline)
            await self.plans.follow(deadline)
            present, absent = await self.plans.membership.present(chosen, deadline)
            needed = message.count or len(present) + len(absent)
            if present and len(present) >= needed:
                return TasksPresent(tasks=present)
            if not needed:
                raise InvalidArgumentError(
                    f"the session uses no task {message.tasks!r}; give a count to wait for tasks that join"
                )
            if deadline.expired:
                # That the last attempts were cut short is less informative than the errors before them.
                absent = {task: attempts.get(task, words) for task, words in absent.items()}
                raise too_few_answer(message.tasks, needed, present, absent)
            attempts.update(absent)
            await asyncio.sleep(min(pause, deadline.time_left or 0.0))
            pause = min(2 * pause, _LOOK)

    @answers(ReattachSession, once=True)
    async def on_reattach(self, message: ReattachSession, call: CallContext) -> SessionReattached:
        """Continue with the current tasks of the cluster; tasks that have restarted begin without state."""
        return await self.plans.reattach(message, self.limited(call.deadline))

    # -- steps ---------------------------------------------------------------------------------

    @answers(PrepareStep)
    async def on_prepare_step(self, message: PrepareStep, call: CallContext) -> Done:
        """Plan a step and register its graphs, so that its first run begins at once."""
        await self.steps.prepare(message, self.limited(call.deadline))
        return Done()

    @answers(PartialRunDrop, completes=True)
    def on_partial_run_drop(self, message: PartialRunDrop, call: CallContext) -> Done:
        """Cancel a partial run."""
        error = error_from_wire(message.error)
        self.steps.partials.abort(message.partial_run_handle, error)
        return Done()

    @answers(TakeStepValues)
    async def on_take_step_values(self, message: TakeStepValues, call: CallContext) -> StepValues:
        """Take what was watched in a debugged step, or in a partial run so far."""
        return await self.steps.debug_runs.take(message)

    @answers(AskSessionWhy, direct=True)
    def on_why(self, message: AskSessionWhy, call: CallContext) -> asyncio.Future[SessionWhy]:
        """Collect from all tasks what the session's steps wait for.

        Direct, because the mailbox may be full of requests that hang.
        """
        return self.answer_later(message, call, self._why(message))

    async def _why(self, message: AskSessionWhy) -> SessionWhy:
        asks = {task: worker.ask for task, worker in self.steps.workers.items()}
        graphs = await collect_wait_graphs(asks, self.handle, Deadline.after(in_seconds(_checked(message))))
        return SessionWhy(waits=[w.to_wire() for w in graphs.waits], silent=graphs.silent)

    @answers(AskSessionSteps, direct=True)
    def on_ask_steps(self, message: AskSessionSteps, call: CallContext) -> asyncio.Future[LastSteps]:
        """Collect from all tasks what they remember of the session's last steps."""
        return self.answer_later(message, call, self._last_steps(message))

    async def _last_steps(self, message: AskSessionSteps) -> LastSteps:
        steps, limit = self.steps, Deadline.after(in_seconds(_checked(message)))
        others = {task: worker for task, worker in steps.workers.items() if task != self._cluster.task}
        count, slower = message.count, message.slower_than
        records = await collect_steps(steps.step_log, self.handle, count, slower, others, limit)
        return LastSteps(steps=[record.to_wire() for record in records])

    async def close(self, why: OpError, *, by_client: bool = False) -> None:
        """End all steps with an error and drop the session at its workers; bounded in time, idempotent.

        Args:
            why: the error.
            by_client: whether the client has asked for it, which then takes no more answers.
        """
        if self.closed:
            return
        self._planning.close(why)
        self.steps.fail(why)
        await self.stop(why)
        if not by_client:
            await self.steps.deliveries.wait_settled(_CONFIRMED)
        self.steps.close(why)
        await self.plans.membership.leave()


def _checked(message: AskSessionSteps | AskSessionWhy | WaitForTasks) -> int:
    """Return the limit of a request in milliseconds.

    Raises:
        InvalidArgumentError: if it is out of range.
    """
    return checked_milliseconds("timeout_in_ms", message.timeout_in_ms)
