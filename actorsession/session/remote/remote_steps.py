"""The steps of a remote session at its client: what is admitted, under way, and waits for the connection.

Owned by a ``RemoteSession``; imports its runs.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.actors.timer_wheel import TimerWheel
from actorsession.config import DEFAULT_STEP_TIMEOUT, ConfigProto, RunMetadata, RunOptions, StepStats
from actorsession.errors import CancelledError, OpError, UnavailableError
from actorsession.graph.held_arrays import LARGE, bytes_held
from actorsession.messages.done import Done
from actorsession.messages.registry import VOCABULARY
from actorsession.messages.step_frames import StepRequest
from actorsession.metrics import SessionTally
from actorsession.plan.signature import RunSignature
from actorsession.rpc.clock_offset import ClockOffset
from actorsession.rpc.link import Link
from actorsession.runtime.admission import Admission
from actorsession.runtime.kept_feeds import aside
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.session.remote.master_connection import GONE
from actorsession.session.remote.remote_run import (
    ANSWER_MARGIN,
    AsyncRun,
    MustWait,
    RemotePlan,
    RemoteRun,
    SessionProgram,
    ThreadRun,
)
from actorsession.session.remote.values import Answer, copies_much, fill_metadata, plan_to_wire, sent_feeds, timeline_of
from actorsession.session.session_interface import SESSION_CLOSED, TIMELINES
from actorsession.session.value_delivery import ValueDelivery

if TYPE_CHECKING:
    from actorsession.session.remote.session_connection import SessionConnection

__all__ = ["LEAST", "RemoteSteps"]

LEAST = 1e-3
"""Seconds that are left of a limit at least, so that the answer is an error of the step."""

T = TypeVar("T")
R = TypeVar("R", bound=RemoteRun)


class RemoteSteps:
    """The steps of one remote session.

    Args:
        connection: of the session.
        config: its settings.
        tally: its counters for the process metrics.

    Attributes:
        calls: the numbers of runs and of plans.
        tally: the argument ``tally``.
        step_limit: seconds that a step may take by default.
        wheel: the deadlines of the runs.
    """

    __slots__ = (
        "_clock",
        "_connection",
        "_inflight",
        "_master",
        "_operation_timeout",
        "_pool",
        "_requests",
        "_running",
        "_runs",
        "_timelines",
        "calls",
        "step_limit",
        "tally",
        "wheel",
    )

    def __init__(self, connection: SessionConnection, config: ConfigProto, tally: SessionTally) -> None:
        self._connection = connection
        self._master = connection.master
        self.tally = tally
        self._requests = 0  # those under way that may take as long as a step
        self._runs = itertools.count(1)
        self._running: set[RemoteRun] = set()
        self._inflight = Admission(config.max_inflight_steps).share(
            config.max_inflight_steps, config.max_inflight_bytes
        )
        self._clock = ClockOffset()  # of the master
        self._timelines: deque[StepStats] | None = None
        self._pool: KernelPool | None = None  # for work on large values; most sessions need none
        self._operation_timeout = config.operation_timeout
        self.calls = itertools.count()
        self.step_limit = config.operation_timeout or DEFAULT_STEP_TIMEOUT
        self.wheel = TimerWheel()

    @property
    def under_way(self) -> int:
        """The number of runs, and of requests as long as a step, that have not ended."""
        return self._requests + len(self._running)

    @property
    def waiting(self) -> int:
        """The number of runs that wait for their turn."""
        return self._inflight.statistics().waiting

    def timelines(self) -> list[StepStats]:
        """Return the last few steps that the master traced for ``timeline_step``, oldest first."""
        return list(self._timelines or ())

    def close(self) -> None:
        """Fail the runs that wait for their turn, and let no other begin."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        self._inflight.close(CancelledError(SESSION_CLOSED))
        self.wheel.close()

    def run(
        self,
        plan: RemotePlan,
        feeds: Sequence[Any],
        limit: float | None,
        options: RunOptions | None,
        metadata: RunMetadata | None,
        delivery: ValueDelivery | None,
        key: str = "",
        debug_run: list[Any] | None = None,
    ) -> Coroutine[Any, Any, Sequence[Any]]:
        """Run a step; see ``RemoteSession.run``, and ``StepRequest`` for the last two."""
        if limit == self._operation_timeout and not (options and options.timeout_in_ms):
            limit = None  # the session's own, which the master knows by that name
        asked = None
        if options is not None or metadata is not None:
            wire = {} if options is None else options.to_wire()
            asked = StepRequest(options=wire, key=key, debug_run=debug_run)
        run = self._new_run(AsyncRun, plan, feeds, limit, asked, options)
        if run is None or not self.admit(run):
            return self._run_later(plan, feeds, limit, asked, options, delivery, metadata)
        return self.finish(run, delivery, metadata)

    async def _run_later(
        self,
        plan: RemotePlan,
        feeds: Sequence[Any],
        limit: float | None,
        asked: StepRequest | None,
        options: RunOptions | None,
        delivery: ValueDelivery | None,
        metadata: RunMetadata | None,
    ) -> Sequence[Any]:
        return await self.finish(await self._wait_to_run(plan, feeds, limit, asked, options), delivery, metadata)

    def _report(self, run: RemoteRun, metadata: RunMetadata | None) -> None:
        """Fill metadata with the master's report on a run, and keep its timeline; callable in any thread."""
        wire = None if run.extra is None else run.extra[0]
        if metadata is None and not wire:
            return
        metadata = RunMetadata() if metadata is None else metadata
        returned, nbytes = getattr(run, "answer", (0.0, 0))
        answer = Answer(self._clock, returned, nbytes, run.waited) if returned else None
        fill_metadata(metadata, wire, answer)
        timeline = timeline_of(metadata, wire, answer)
        if timeline is not None:
            if self._timelines is None:
                self._timelines = deque(maxlen=TIMELINES)
            self._timelines.append(timeline)

    async def finish(
        self, run: AsyncRun, delivery: ValueDelivery | None, metadata: RunMetadata | None = None
    ) -> Sequence[Any]:
        """Request a run that was admitted, and return its values.

        Nothing may be awaited between the end of this call and the caller of the run.

        Args:
            run: the run.
            delivery: see ``run``.
            metadata: likewise.
        """
        try:
            await run.start()
        except asyncio.CancelledError:
            run.cancel()
            raise
        values = run.result()
        if run.extra is not None and run.unconfirmed:
            if delivery is None:
                run.confirm(received=True)
            else:
                delivery.hold(run.confirm)
        if metadata is not None or (run.extra is not None and run.counts):
            self._report(run, metadata)
        return values

    def _new_run(
        self,
        kind: type[R],
        plan: RemotePlan,
        feeds: Sequence[Any],
        limit: float | None,
        asked: StepRequest | None = None,
        options: RunOptions | None = None,
    ) -> R | None:
        """Return a run of a plan; ``None`` if it has to wait for a connection, or for copies of its feeds."""
        channel, connection = self._master.channel, self._connection
        if channel is None or not connection.handle or (connection.recovery.wait and connection.recovery.is_due):
            return None
        nbytes = bytes_held(feeds)
        if nbytes > LARGE and copies_much(feeds, over_link=connection.over_link):
            return None
        program = plan.programs.get(None) if options is None else None
        if program is None or program.channel is not channel:
            program = self.program(plan.programs, plan.signature, options, partial=False)
        values = program.sent(feeds, nbytes)
        run = kind(self, program, values, limit, len(plan.signature.fetches), asked)
        if nbytes and not connection.sent.may_wait:
            run.nbytes = nbytes
        return run

    async def _wait_to_run(
        self,
        plan: RemotePlan,
        feeds: Sequence[Any],
        limit: float | None,
        asked: StepRequest | None,
        options: RunOptions | None,
    ) -> AsyncRun:
        """Return a run that was admitted, once it need not wait any more."""
        self._connection.check_there()
        seconds = limit or self.step_limit
        late = Deadline.after(seconds)
        nbytes = 0 if self._connection.sent.may_wait else bytes_held(feeds)
        if not self._inflight.enter_nowait(nbytes):
            await self._inflight.enter(late, nbytes)
        try:
            self._connection.check_open()
            if self._connection.recovery.is_due or not self._connection.handle:
                await self._connection.be_connected(late)
            kept = await self.sent_feeds(feeds)
            program = self.program(plan.programs, plan.signature, options, partial=False)
            values = program.sent(kept, bytes_held(kept))
            if isinstance(program.channel, Link):
                await program.channel.wait_to_run(late)
            waited = seconds - max(late.time_left or 0.0, LEAST)
            asked = replace(asked or StepRequest(), waited=max(waited, 0.0))
            run = AsyncRun(self, program, values, limit, len(plan.signature.fetches), asked)
        except BaseException:
            self._inflight.leave(nbytes)
            raise
        run.nbytes, run.admitted = nbytes, True
        self._running.add(run)
        self.tally.runs = next(self._runs)
        return run

    def program(
        self, programs: dict[Any, SessionProgram], signature: RunSignature, options: RunOptions | None, *, partial: bool
    ) -> SessionProgram:
        """Return the plan of a signature as it is run by the present session at the master.

        Args:
            programs: where those of the signature are kept.
            signature: the signature.
            options: of the run.
            partial: whether it is the plan of partial runs.

        Raises:
            CancelledError: if the session was closed meanwhile.
            UnavailableError: if there is none, such as while it begins anew.
        """
        master, channel = self._master, self._master.channel
        if channel is None or not self._connection.handle:
            self._connection.check_open()
            raise UnavailableError(f"there is no session at the master at {master.address}", task=master.known)
        key = plan_options = None
        if options is not None:
            debug, group = options.debug_options, options.experimental.collective_graph_key
            if debug.active or group:
                plan_options = RunOptions(debug_options=debug.of_plan, experimental=options.experimental)
                key = plan_options.debug_options, group
        program = programs.get(key)
        if program is None or program.channel is not channel:
            plan = plan_to_wire(self._connection.handle, signature, plan_options, partial=partial)
            program = SessionProgram.over(channel, next(self.calls), VOCABULARY.to_wire(plan))
            programs[key] = program
        return program

    def run_in_thread(
        self, plan: RemotePlan, feeds: Sequence[Any], limit: float | None, call: Callable[[Callable[[], object]], None]
    ) -> Sequence[Any] | None:
        """Run a step for a thread that waits; see ``SessionInterface.run_in_thread``."""
        run = self._new_run(ThreadRun, plan, feeds, limit)
        if run is None:
            return None
        try:
            values = run.run(call)
        except MustWait:
            return None
        if run.extra is not None:
            self._report(run, None)
        return values

    def admit(self, run: RemoteRun) -> bool:
        """Admit a run, unless it has to wait; callable in any thread.

        Raises:
            CancelledError: if the session is closed.
        """
        if self._connection.closed:
            raise CancelledError(SESSION_CLOSED)
        channel = run.program.channel
        if (
            channel is not self._master.channel
            or channel.must_wait
            or (self._connection.recovery.wait and self._connection.recovery.is_due)
        ):
            return False
        if not self._inflight.enter_run(run):
            return False
        self._running.add(run)
        self.tally.runs = next(self._runs)
        return True

    def closed_error(self) -> OpError | None:
        """Return the error of what comes too late because the session is closed; callable in any thread."""
        return CancelledError(SESSION_CLOSED) if self._connection.closed else None

    def leave(self, run: RemoteRun) -> None:
        """Record that a run has ended, if it was admitted."""
        self._running.discard(run)
        if run.admitted:
            run.admitted = False
            if run.counts:
                self._inflight.leave(run.nbytes)

    async def prepare(self, signature: RunSignature, options: RunOptions | None, *, partial: bool) -> None:
        """Make the master plan a step and register its partitions, with what its options watch."""
        message = plan_to_wire(self._connection.handle, signature, options, partial=partial)
        await self.ask(message, self.step_limit, Done)

    async def ask(self, message: object, limit: float, reply: type[T]) -> T:
        """Send the master a request that may take as long as a step, and return its answer.

        Args:
            message: the request.
            limit: seconds that the master may take.
            reply: the class of the answer.
        """
        self._connection.check_there()
        self._requests += 1
        try:
            return await self._connection.ask(message, Deadline.after(limit + ANSWER_MARGIN), reply)
        finally:
            self._requests -= 1

    def request(
        self, run: AsyncRun, delivery: ValueDelivery | None, *, has_waited: bool = False
    ) -> Coroutine[Any, Any, Sequence[Any]]:
        """Request the setup or a call of a partial run, which no admission counts; see ``finish``."""
        connection, channel = self._connection, run.program.channel
        if connection.closed or connection.recovery.failure is not None:
            connection.check_there()
        if not has_waited and channel.must_wait and isinstance(channel, Link):
            return self._request_later(run, delivery, channel)
        run.admitted = True
        self._running.add(run)
        return self.finish(run, delivery)

    async def _request_later(self, run: AsyncRun, delivery: ValueDelivery | None, link: Link) -> Sequence[Any]:
        await link.wait_to_run(Deadline.after(self.step_limit))
        return await self.request(run, delivery, has_waited=True)

    def explain(self, error: OpError, then: Callable[[OpError], None]) -> None:
        """Pass on the error of a run, with the exit status of a lost task."""
        if self._connection.closed:
            then(CancelledError(SESSION_CLOSED) if isinstance(error, GONE) else error)
            return
        if isinstance(error, UnavailableError):
            asking = self._master.add_fate(error)
            child = self._connection.start(asking, "exit status of a lost task")
            if child is not None:
                # Not in the child, which runs no code if it is cancelled before it begins.
                child.add_done_callback(lambda _: then(error))
                return
        then(error)

    async def sent_feeds(self, feeds: Sequence[Any]) -> Sequence[Any]:
        """Return feeds that cannot change while the step is under way; copy large ones in a thread."""
        over_link = self._connection.over_link
        if not copies_much(feeds, over_link=over_link):
            return sent_feeds(feeds, over_link=over_link)
        return await self.offload(lambda: sent_feeds(feeds, over_link=over_link))

    async def offload(self, work: Callable[[], T]) -> T:
        """Do work on large values in a thread of the session."""
        self._connection.check_open()
        if self._pool is None:
            self._pool = KernelPool(1)
        return await aside(self._pool, work)
