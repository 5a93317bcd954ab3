"""The remote session: the client's side of a session that a master runs.

Its parts have the state: ``SessionConnection`` the session at the master, ``SessionRecovery`` what was lost
with a former one, ``SentGraph`` what the master has of the graph, ``RemoteSteps`` the runs under way,
``RemotePartialRuns`` those in several calls, ``RemoteDebugger`` the debugged ones. The session makes them and
passes calls on; what it asks the master itself changes nothing there.

Made by the session factory, used by the session API.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.config import ConfigProto, RunMetadata, RunOptions, StepStats
from actorsession.config.limits import check_run_size
from actorsession.config.remote_settings import refuse_local_settings
from actorsession.config.step_record import StepRecord
from actorsession.durations import in_seconds
from actorsession.errors import CancelledError, InvalidArgumentError, OpError
from actorsession.graph.device import DeviceAttributes
from actorsession.graph.graph import Graph
from actorsession.messages.session import (
    AskSessionSteps,
    AskSessionWhy,
    ExplainStep,
    LastSteps,
    SessionWhy,
    StepExplained,
)
from actorsession.metrics import session_tally
from actorsession.plan.cost_model import check_cost_model_settings
from actorsession.plan.place import Placed
from actorsession.plan.signature import RunSignature
from actorsession.progress import shown_while
from actorsession.runtime import hang_report
from actorsession.runtime.debug.dump import DumpStore
from actorsession.runtime.device_filters import DeviceFilters
from actorsession.runtime.hang_report import HangReport
from actorsession.runtime.session_names import check_version
from actorsession.runtime.wait_graph import TaskWaits
from actorsession.session.partial.remote_partial_runs import RemotePartialRuns
from actorsession.session.reattach import Reattached
from actorsession.session.remote.remote_debugger import RemoteDebugger
from actorsession.session.remote.remote_run import ANSWER_MARGIN, RemotePlan
from actorsession.session.remote.remote_steps import RemoteSteps
from actorsession.session.remote.session_connection import SessionConnection
from actorsession.session.session_interface import SESSION_CLOSED, SessionInterface
from actorsession.session.statistics import SessionStatistics
from actorsession.session.value_delivery import ValueDelivery

if TYPE_CHECKING:
    from actorsession.plan.explain.explain import Feeds
    from actorsession.plan.explain.explanation import Explanation

__all__ = ["RemotePlan", "RemoteSession"]

T = TypeVar("T")
# Seconds for the workers to answer what they remember of steps; those that are late leave their parts out.
_PARTS_WITHIN = 2.0


class RemoteSession(SessionInterface[RemotePlan]):
    """The client of a session that a master runs.

    Args:
        graph: it may grow.
        target: address of the master, or several, of which the first that answers is taken.
        config: settings; sent to the master.

    Attributes:
        connection: its session at the master.
        steps: its runs.

    Raises:
        InvalidArgumentError: for a malformed target, settings that only local sessions support, a negative
            version of the session, a malformed device filter, or an environment that sets only some of the
            three TLS variables.
    """

    def __init__(self, graph: Graph, target: str, config: ConfigProto) -> None:
        refuse_local_settings(config)
        check_cost_model_settings(config)
        check_version(config.experimental.session_metadata)
        DeviceFilters(config.device_filters)  # the master reads them; this finds malformed ones here
        self.connection = SessionConnection(graph, target, config)
        self.steps = RemoteSteps(self.connection, config, session_tally("remote", self))
        self._debugger = RemoteDebugger(self.connection, self.steps)
        idle_limit = in_seconds(config.partial_run_idle_limit_in_ms)
        self.partial_runs: RemotePartialRuns = RemotePartialRuns(
            self.connection, self.steps, self._debugger, idle_limit
        )

    @property
    def debug_store(self) -> DumpStore:
        """The results of debugged runs."""
        return self._debugger.store

    async def connect(self) -> None:
        """Reach the master and create the session there; see ``SessionConnection.connect``."""
        await self.connection.connect()

    async def reattach(self) -> Reattached:
        """Continue with the tasks that are present now; see ``SessionRecovery.reattach``."""
        return await self.connection.recovery.reattach()

    # -- running -------------------------------------------------------------------------------

    async def prepare(self, signature: RunSignature) -> RemotePlan:
        """Return the plan of a signature once everything that it names was sent to the master."""
        check_run_size(signature.size)
        await self.connection.send_graph()
        return RemotePlan(signature.sorted())

    async def warm_up(self, signature: RunSignature, *, partial: bool) -> None:
        """Make the master plan a step and register its partitions.

        Args:
            signature: feeds, fetches and targets of the step.
            partial: whether it is the step of partial runs.

        Raises:
            OpError: if it cannot be planned, or a task refuses its partitions or cannot be reached.
        """
        await self.prepare(signature)
        await self.steps.prepare(signature, None, partial=partial)

    def run(
        self,
        plan: RemotePlan,
        feeds: Sequence[Any],
        limit: float | None,
        options: RunOptions | None = None,
        metadata: RunMetadata | None = None,
        delivery: ValueDelivery | None = None,
    ) -> Coroutine[Any, Any, Sequence[Any]]:
        """Run a step; wait first while the limit of runs under way is reached.

        Cancelling the call aborts the step on every worker.

        Args:
            plan: a result of ``prepare``.
            feeds: values in the plan's order.
            limit: seconds; ``None`` for the default.
            options: of this run.
            metadata: filled with what ``options`` request.
            delivery: notified of what the step has taken, if the values go to a caller in another thread.

        Returns:
            The fetched values in the plan's order; arrays are the caller's own.

        Raises:
            UnavailableError: if the master, or a task that the step needs, is lost.
            DeadlineExceededError: if the step took too long.
            OpError: the step's first error.
        """
        if options is not None and options.is_plain:
            options = None
        if options is None or not options.debug_options.active:
            return self.steps.run(plan, feeds, limit, options, metadata, delivery)

        def step(key: str, debug_run: list[Any], held: ValueDelivery) -> Awaitable[Sequence[Any]]:
            return self.steps.run(plan, feeds, limit, options, metadata, held, key, debug_run)

        return self._debugger.run(plan.signature, options.debug_options, delivery, step)

    def run_in_thread(
        self, plan: RemotePlan, feeds: Sequence[Any], limit: float | None, call: Callable[[Callable[[], object]], None]
    ) -> Sequence[Any] | None:
        """Run a step for a thread that waits; see ``SessionInterface.run_in_thread``."""
        return self.steps.run_in_thread(plan, feeds, limit, call)

    async def offload(self, work: Callable[[], T]) -> T:
        """Do work on large values in a thread of the session."""
        return await self.steps.offload(work)

    def timelines(self) -> list[StepStats]:
        """Return the last few steps that the master traced for ``timeline_step``, oldest first."""
        return self.steps.timelines()

    # -- what the master knows -----------------------------------------------------------------

    async def devices(self) -> list[DeviceAttributes]:
        """Return the devices that the session may use, the client device first."""
        await self.connection.be_connected(bare=True)
        return await self.connection.devices()

    async def find_placement(self) -> dict[str, Placed]:
        """Return where the master has placed the nodes of the graph, with the reasons."""
        await self.connection.send_graph()
        placed = await self.connection.placement()
        return {n: Placed(d, placed.reasons.get(n, "")) for n, d in placed.devices.items()}

    async def explain(self, signature: RunSignature, feeds: Feeds) -> Explanation:
        """Return what a step would do, which the master knows; see ``AsyncSession.explain``."""
        from actorsession.plan.explain.explain import without_plan
        from actorsession.plan.explain.explanation import Explanation

        connection = self.connection
        try:
            await connection.send_graph()
        except InvalidArgumentError as error:  # the graph has a fault, so no step of it has a plan
            return without_plan(signature, feeds, error)
        message = ExplainStep(
            session_handle=connection.handle,
            feeds=list(feeds),
            types=[[spec.dtype, spec.shape] for spec in feeds.values() if spec is not None],
            fetches=list(signature.fetches),
            targets=list(signature.targets),
        )
        answer = await connection.ask(message, Deadline.after(connection.limit), StepExplained)
        return Explanation.from_json(answer.explanation)

    async def wait_for(self, tasks: str, count: int | None, limit: float) -> list[str]:
        """Wait until tasks of the cluster answer; see ``AsyncSession.wait_for``."""
        deadline, connection = Deadline.after(limit), self.connection
        await connection.be_connected(deadline)
        with shown_while(f"waiting for {tasks}"):
            return await connection.wait_for(tasks, count or 0, deadline)

    async def last_steps(self, count: int, slower_than: float) -> list[StepRecord]:
        """See ``AsyncSession.last_steps``; none before the session has reached its master."""
        connection = self.connection
        if not (connection.handle and connection.master.reached):
            return []
        message = AskSessionSteps(
            session_handle=connection.handle,
            count=count,
            slower_than=slower_than,
            timeout_in_ms=int(_PARTS_WITHIN * 1000),
        )
        answer = await connection.ask(message, Deadline.after(_PARTS_WITHIN + ANSWER_MARGIN), LastSteps)
        return [StepRecord.from_wire(step) for step in answer.steps]

    async def why(self, within: float) -> HangReport:
        """Return what the session's steps wait for on all tasks, with the tasks that do not answer.

        Args:
            within: seconds to wait for answers.
        """
        connection, waiting = self.connection, self.steps.waiting
        if not (connection.handle and connection.master.reached):
            silent = {connection.target: "there is no session yet"} if connection.is_connecting else {}
            return hang_report.explain([], silent, waiting=waiting)
        message = AskSessionWhy(session_handle=connection.handle, timeout_in_ms=max(1, int(within * 1000)))
        try:
            answer = await connection.ask(message, Deadline.after(within + ANSWER_MARGIN), SessionWhy)
            waits = [TaskWaits.from_wire(said) for said in answer.waits]
        except OpError as error:
            return hang_report.explain([], {connection.target: error.message}, waiting=waiting)
        return hang_report.explain(waits, answer.silent, waiting=waiting)

    def statistics(self) -> SessionStatistics:
        """Return the counters of the session."""
        link = self.connection.master.link
        return SessionStatistics(
            steps=self.steps.under_way,
            waiting=self.steps.waiting,
            partial_runs=len(self.partial_runs),
            link=link.statistics() if link is not None else None,
        )

    # -- end -----------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the session at the master, if the master still answers, and the connection.

        Takes at most a few seconds and may be called again. Runs under way end with ``CancelledError``.
        """
        self._end()
        await self.connection.close()

    async def abandon(self) -> None:
        """Do the same when the loop of the session has ended, and with it whatever ran there."""
        with contextlib.suppress(RuntimeError):  # a closed loop calls nothing
            self._end()
        await self.connection.abandon()

    def _end(self) -> None:
        self.connection.end()
        self.steps.close()
        self._debugger.close(CancelledError(SESSION_CLOSED))
