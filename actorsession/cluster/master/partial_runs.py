"""The partial runs of one session at its master: their client graphs, handles and idle limit.

Their client graphs are kept apart from those of ordinary runs, because their feeds and fetches are
transferred differently. Owned by a ``MasterSession``, which forwards the requests of clients; imports client
graphs and the step of a partial run.

Invariants: Every open run is ended by its client, by an error, by the end of its session, or by the idle
limit if no client continues it. A run holds its client graph until it is over.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from itertools import islice

from actorsession.actors.clock import SYSTEM_CLOCK, Clock
from actorsession.actors.deadline import Deadline
from actorsession.actors.supervision import Children
from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.client_graphs import ClientGraphs
from actorsession.cluster.master.partial_step import MasterPartialStep
from actorsession.cluster.master.session_members import SessionMembers
from actorsession.cluster.master.unconfirmed_values import UnconfirmedValues
from actorsession.config import ConfigProto
from actorsession.errors import CancelledError, DeadlineExceededError, OpError
from actorsession.messages.session import PartialRun, StepDone
from actorsession.plan.partial import check_signature
from actorsession.plan.signature import RunSignature
from actorsession.runtime.partial.run_state import Call, RunState, no_such_run
from actorsession.runtime.planning import Planning
from actorsession.runtime.wait_graph import PartialWaits

__all__ = ["MasterPartialRuns"]

_log = logging.getLogger("actorsession.cluster")


class MasterPartialRuns:
    """The partial runs of one session.

    Args:
        session_handle: the handle of the session.
        members: the session's tasks.
        build: builds the client graph of a signature; raises if the signature is invalid.
        config: the session's settings.
        children: the session's children, which own the steps of the runs.
        deliveries: the answers of the session that the client has not confirmed.
        planning: the planning of the session.
        size: returns the number of nodes that a build has to process.
        clock: the clock for the idle limit.

    Attributes:
        graphs: the client graphs of partial runs.
    """

    def __init__(
        self,
        session_handle: str,
        members: SessionMembers,
        build: Callable[[RunSignature], ClientGraph],
        config: ConfigProto,
        children: Children,
        deliveries: UnconfirmedValues,
        planning: Planning | None = None,
        size: Callable[[], int] = lambda: 0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.clock = clock
        self.graphs = ClientGraphs(
            session_handle, members.workers, build, config.plan_cache_size, children,
            members.renew, members.bring_in, planning, size,
        )  # fmt: skip
        self._handle = session_handle
        self._members = members
        self._children = children
        self._deliveries = deliveries
        self._limit = config.partial_run_idle_limit_in_ms / 1000
        self._runs: dict[str, MasterPartialStep] = {}
        self._numbers = itertools.count()
        self._alarm: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """Return the number of open runs."""
        return len(self._runs)

    async def open(self, signature: RunSignature, deadline: Deadline) -> str:
        """Start a run and return its handle.

        Args:
            signature: all feeds, fetches and targets of the run.
            deadline: the deadline of the registration.

        Raises:
            InvalidArgumentError: if the signature is not valid for a partial run, or does not fit the graph.
            OpError: if a worker refused its partitions or could not be reached.
        """
        check_signature(signature)
        graph = await self.graphs.acquire(signature, deadline)
        assert graph.partial is not None
        try:
            handle = f"{graph.signature};{next(self._numbers)}"
            state = RunState(handle, graph.partial, self.clock.now())
            members = self._members
            run = MasterPartialStep(
                state, graph, members.workers, self._handle, members.devices, self._delete
            )
        except BaseException:
            self.graphs.release(graph)
            raise
        self._runs[handle] = run
        run.begin(self._children)
        if self._alarm is None:
            self._arm(self._limit)
        try:
            # After two iterations of the event loop, ``RunGraph`` is queued for every task; the client's next
            # requests come after it.
            for _ in range(2):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            run.give_up(CancelledError("the setup was cancelled, and nobody knows the handle"))
            raise
        return handle

    def call(self, message: PartialRun, deadline: Deadline) -> StepDone | Awaitable[StepDone]:
        """Feed and fetch in a run; answered synchronously if nothing has to be waited for.

        Raises:
            InvalidArgumentError: for an invalid call, which has changed nothing.
            OpError: the step's first error.
        """
        run = self._runs.get(message.partial_run_handle)
        if run is None:
            raise no_such_run(message.partial_run_handle)
        shape = run.shape(tuple(message.feeds), tuple(message.fetches))
        call = run.call(shape, list(message.feeds.values()), self.clock.now())
        if call.done:
            return self._answer(run, call, message.request_id)
        return self._wait(run, call, message.request_id, deadline)

    def _answer(self, run: MasterPartialStep, call: Call, request_id: str) -> StepDone:
        """Return the answer to a call; what it has taken is settled when the client confirms it."""
        values, unconfirmed = call.result(), run.graph.takes
        if unconfirmed:
            run.unconfirmed += 1
            self._deliveries.add(
                request_id, lambda received: run.delivered(call, received=received)
            )
        return StepDone(values=values, metadata=None, unconfirmed=unconfirmed)

    async def _wait(
        self, run: MasterPartialStep, call: Call, request_id: str, deadline: Deadline
    ) -> StepDone:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        call.on_done = lambda: None if future.done() else future.set_result(None)
        handle = run.state.handle
        try:
            if not call.done:
                await deadline.wait(future, what=f"a call of partial run {handle!r}")
        except DeadlineExceededError as error:
            if call.done:  # the call has taken effect
                return self._answer(run, call, request_id)
            parts = ", ".join(sorted(run.unfinished)) or "none"
            late = DeadlineExceededError(f"{error.message}; parts that have not ended: {parts}")
            run.give_up(late)
            raise late from error
        except asyncio.CancelledError:
            run.give_up(CancelledError(f"partial run {handle!r} was cancelled by its caller"))
            raise
        return self._answer(run, call, request_id)

    def give_up(self, handle: str, error: OpError) -> None:
        """Cancel a run if it is open."""
        run = self._runs.get(handle)
        if run is not None:
            run.give_up(error)

    def close(self, error: OpError) -> None:
        """Cancel every run."""
        for run in list(self._runs.values()):
            run.give_up(error)

    def waits(self, most: int) -> list[PartialWaits]:
        """Return the oldest open runs, at most ``most``."""
        now = self.clock.now()
        return [
            PartialWaits(
                handle=run.state.handle, step_id=run.step_id, session=self._handle,
                seconds=now - run.state.last_use, feeds=run.state.pending_inputs[:most],
                fetches=run.state.pending_outputs[:most], calls=run.state.waiting,
            )
            for run in islice(self._runs.values(), most)
        ]  # fmt: skip

    def _delete(self, run: MasterPartialStep) -> None:
        del self._runs[run.state.handle]
        self.graphs.release(run.graph)
        if self._alarm is not None and not self._runs:
            self._alarm.cancel()
            self._alarm = None

    # -- the idle limit ------------------------------------------------------------------------

    def collect(self) -> None:
        """Cancel the runs that no client has continued for the idle limit."""
        now = self.clock.now()
        for handle, run in list(self._runs.items()):
            if run.state.is_idle(now, self._limit):
                _log.info("partial run %r was idle for %g s and is given up", handle, self._limit)
                run.give_up(
                    CancelledError(f"partial run {handle!r} was idle for {self._limit:g} s")
                )

    def _arm(self, seconds: float) -> None:
        self._alarm = asyncio.get_running_loop().call_later(seconds, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self.collect()
        if self._runs:
            oldest = min(run.state.last_use for run in self._runs.values())
            self._arm(max(oldest + self._limit - self.clock.now(), 0.001))
