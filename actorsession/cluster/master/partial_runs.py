"""The partial runs of one session at its master: their client graphs, and the answers to their calls.

Their client graphs are kept apart from those of ordinary runs, because their feeds and fetches are
transferred differently. Owned by a ``MasterSession``, the actor that holds the runs: it forwards the requests
of clients. Imports client graphs, the step of a partial run, and the manager that direct sessions use too.

Invariant: A run holds its client graph until it is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from actorsession.actors.deadline import NEVER, Deadline
from actorsession.actors.supervision import Children
from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.client_graphs import ClientGraphs
from actorsession.cluster.master.debug_runs import DebugRuns
from actorsession.cluster.master.master_step import MasterStep
from actorsession.cluster.master.partial_step import (
    MasterPartialStep,
    MasterRun,
    PartialStepParts,
    confirm,
)
from actorsession.cluster.master.session_members import SessionMembers
from actorsession.cluster.master.step_parts import PartsOwner, bind_parts
from actorsession.cluster.master.unconfirmed_values import UnconfirmedValues
from actorsession.config import ConfigProto
from actorsession.errors import CancelledError
from actorsession.messages.session import PartialRun, StepDone
from actorsession.plan.partial import check_signature
from actorsession.plan.signature import RunSignature
from actorsession.rpc.local_calls import programs_are_used
from actorsession.runtime.partial.driver import PartialRunDriver
from actorsession.runtime.partial.manager import PartialRunMgr, wait_for_answer
from actorsession.runtime.partial.run_state import Call
from actorsession.runtime.planning import Planning

__all__ = ["MasterPartialRuns"]


class MasterPartialRuns:
    """The partial runs of one session.

    Args:
        session: the session.
        members: its tasks.
        build: builds the client graph of a signature; raises if the signature is invalid.
        config: the session's settings.
        children: the session's children, which own the steps of the runs.
        deliveries: the answers of the session that the client has not confirmed.
        debug_runs: the debugged steps of the session.
        planning: the planning of the session.
        size: returns the number of nodes that a build has to process.

    Attributes:
        runs: the open runs.
        graphs: the client graphs of partial runs.
    """

    def __init__(
        self,
        session: PartsOwner,
        members: SessionMembers,
        build: Callable[[RunSignature], ClientGraph],
        config: ConfigProto,
        children: Children,
        deliveries: UnconfirmedValues,
        debug_runs: DebugRuns,
        planning: Planning | None = None,
        size: Callable[[], int] = lambda: 0,
    ) -> None:
        idle_limit = config.partial_run_idle_limit_in_ms / 1000
        self.runs: PartialRunMgr[MasterRun] = PartialRunMgr(idle_limit, session.handle)
        self.graphs = ClientGraphs(
            session.handle, members.workers, build, config.plan_cache_size, children,
            members.renew, members.bring_in, planning, size,
        )  # fmt: skip
        self._session = session
        self._uses_programs = programs_are_used()
        self._members = members
        self._children = children
        self._deliveries = deliveries
        self._debug_runs = debug_runs

    def open_now(self, signature: RunSignature) -> str | None:
        """Start a run by step frames and return its handle; ``None`` if ``open`` has to be called.

        That is the case before the first run of a signature has bound its graph.
        """
        graph = self.graphs.ready(signature)
        if graph is None or graph.bound is None:
            return None
        self.graphs.hold(graph)
        return self._begin(graph, None).state.handle

    async def open(
        self, signature: RunSignature, deadline: Deadline, debug_run: list[Any] | None = None
    ) -> str:
        """Start a run and return its handle.

        Args:
            signature: all feeds, fetches and targets of the run.
            deadline: the deadline of the registration.
            debug_run: see ``PartialRunSetup``.

        Raises:
            InvalidArgumentError: if the signature is not valid for a partial run, or does not fit the graph.
            OpError: if a worker refused its partitions or could not be reached.
        """
        graph = self.graphs.ready(signature)
        if graph is None:
            check_signature(signature)
            graph = await self.graphs.acquire(signature, deadline)
        else:
            self.graphs.hold(graph)
        run = self._begin(graph, debug_run)
        try:
            # After two iterations of the event loop, ``RunGraph`` is queued for every task; the client's next
            # requests come after it. Step frames are sent at once.
            for _ in range(0 if graph.bound else 2):
                await asyncio.sleep(0)
        except BaseException:
            run.abort(CancelledError("the setup was cancelled, and nobody knows the handle"))
            raise
        handle = run.state.handle
        if graph.survey is not None:
            self._debug_runs.add(handle, run.step.step_id, graph, lambda: handle not in self.runs)
        return handle

    def _begin(self, graph: ClientGraph, debug_run: list[Any] | None) -> MasterRun:
        """Start a run of a client graph, which is held for it."""
        try:
            run = self._new_run(graph, debug_run)
        except BaseException:
            self.graphs.release(graph)
            raise
        try:
            self.runs.begin(run)
        except BaseException:
            run.abort(CancelledError("the setup was cancelled, and nobody knows the handle"))
            raise
        return run

    def _new_run(self, graph: ClientGraph, debug_run: list[Any] | None) -> MasterRun:
        assert graph.partial is not None
        members = self._members
        step = MasterPartialStep(
            self._step(graph, debug_run), graph, members.workers, self._session.handle,
            members.devices, self._children, self.graphs.release,
        )  # fmt: skip
        state = self.runs.new_state(str(graph.signature), graph.partial)
        return PartialRunDriver(state, graph.partial, step, self.runs.delete)

    def _step(
        self, graph: ClientGraph, debug_run: list[Any] | None
    ) -> MasterStep | PartialStepParts:
        """Return the step of a run: by step frames, if the graph can be run by them."""
        if graph.bound is None and self._uses_programs and graph.is_plain and graph.survey is None:
            graph.bound = bind_parts(self._session, graph, ()) or None
        if graph.bound is not None:
            return PartialStepParts(self._session, graph, graph.bound)
        return MasterStep(
            graph, self._members.workers, self._session.handle, (), trace=False, deadline=NEVER,
            debug_run=debug_run,
        )  # fmt: skip

    def call(self, message: PartialRun, deadline: Deadline) -> StepDone | Awaitable[StepDone]:
        """Feed and fetch in a run; answered synchronously if nothing has to be waited for.

        Raises:
            InvalidArgumentError: for an invalid call, which has changed nothing.
            OpError: the step's first error.
        """
        run, call = self.runs.call(
            message.partial_run_handle, tuple(message.feeds), tuple(message.feeds.values()),
            tuple(message.fetches),
        )  # fmt: skip
        if call.done:
            return self._answer(run, call, message.request_id)
        return self._answer_later(run, call, message.request_id, deadline)

    async def _answer_later(
        self, run: MasterRun, call: Call, request_id: str, deadline: Deadline
    ) -> StepDone:
        await wait_for_answer(run, call, deadline)
        return self._answer(run, call, request_id)

    def _answer(self, run: MasterRun, call: Call, request_id: str) -> StepDone:
        """Return the answer to a call; what it has taken is settled when the client confirms it."""
        values, unconfirmed = call.result(), run.step.graph.takes
        if unconfirmed:
            run.step.unconfirmed += 1
            self._deliveries.add(request_id, lambda received: confirm(run, call, received=received))
        return StepDone(values=values, metadata=None, unconfirmed=unconfirmed)
