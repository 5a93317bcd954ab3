"""The partial runs of a remote session, which its master keeps.

The master checks which feeds and fetches a call may name and in which order, because it has the dependencies
of each fetch. Only the names of a setup are checked here. Used by ``partial.api``; owned by a remote session.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

from actorsession.actors.deadline import Deadline
from actorsession.config import RunOptions
from actorsession.config.limits import check_run_size
from actorsession.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    error_to_wire,
)
from actorsession.graph.held_arrays import LARGE, bytes_held
from actorsession.messages.done import Done
from actorsession.messages.session import PartialRunDrop
from actorsession.messages.step_frames import CallRequest, StepRequest
from actorsession.plan.partial import check_signature
from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.runtime.partial.run_state import no_such_run
from actorsession.session.partial.partial_runs import PartialRuns
from actorsession.session.remote.remote_debugger import run_now
from actorsession.session.remote.remote_run import PartialCall, SessionProgram, Setup
from actorsession.session.value_delivery import ValueDelivery
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.session.remote.remote_debugger import RemoteDebugger
    from actorsession.session.remote.remote_steps import RemoteSteps
    from actorsession.session.remote.session_connection import SessionConnection

__all__ = ["RemotePartialPlan", "RemotePartialRuns"]

# Seconds for the master to drop a run; it does so without waiting.
_DROP = 2.0


@dataclass(frozen=True, slots=True)
class RemotePartialPlan:
    """The client's record of a setup.

    Attributes:
        signature: everything that such a run feeds, fetches and targets.
        programs: see ``RemotePlan``.
    """

    signature: RunSignature
    programs: dict[Any, SessionProgram] = field(default_factory=dict)


@dataclass(slots=True)
class _OpenRun:
    """What the client knows of a run that is open at the master.

    Attributes:
        program: the plan over the connection of the run; another one after the loss of the master.
        setup: the number of the run that has set it up.
        feeds: those that were not given yet.
        fetches: those that were not returned yet.
        last_use: when a call was made or answered last.
        is_debugged: whether it has debug options.
        waiting: calls that wait for an answer.
        ended_by: see ``EndsEarly``.
    """

    program: SessionProgram
    setup: int
    feeds: set[str]
    fetches: set[str]
    last_use: float
    is_debugged: bool
    waiting: int = 0
    ended_by: OpError | None = None


class RemotePartialRuns(PartialRuns[RemotePartialPlan]):
    """The partial runs of one remote session.

    Args:
        connection: of the session.
        steps: the steps of the session.
        debugger: the debugged runs of the session.
        idle_limit: seconds after which the master ends a run that is not continued.
    """

    def __init__(
        self, connection: SessionConnection, steps: RemoteSteps, debugger: RemoteDebugger, idle_limit: float
    ) -> None:
        super().__init__()
        self._connection = connection
        self._steps = steps
        self._debugger = debugger
        self._idle_limit = idle_limit
        self._open: dict[str, _OpenRun] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        """Return the number of open runs, as far as it shows in their calls; callable from any thread."""
        connection, recent = self._connection, current_host().clock.monotonic() - self._idle_limit
        there = None if connection.lost_master else connection.master.channel
        return sum(
            run.program.channel is there and (run.waiting > 0 or run.last_use > recent)
            for run in list(self._open.values())
        )

    def plan(self, signature: RunSignature) -> RemotePartialPlan:
        """Return the client's record of a signature.

        Raises:
            InvalidArgumentError: if the signature is not valid for a partial run.
        """
        check_signature(signature)
        check_run_size(signature.size)
        return RemotePartialPlan(signature)

    async def open(
        self, plan: RemotePartialPlan, options: RunOptions | None = None, debug_run: list[Any] | None = None
    ) -> str:
        """Start a run at the master; operations that need no feed are under way when this returns.

        Args:
            plan: see ``PartialRuns.open``.
            options: likewise.
            debug_run: the debugged run in wire form, which the debugger has begun; it calls this again.
        """
        self._loop = asyncio.get_running_loop()
        connection, steps, signature = self._connection, self._steps, plan.signature
        program = plan.programs.get(None) if options is None else None
        if (
            program is None
            or not program.known
            or program.channel is not connection.master.channel
            or (connection.recovery.wait and connection.recovery.is_due)
        ):
            program = None  # else the master has run the plan, so it has all nodes of it
            if not connection.is_current:
                await connection.send_graph()
        if options is not None and debug_run is None:
            return await self._debugger.open(
                signature.sorted(), options.debug_options, partial(self.open, plan, options)
            )
        steps.tally.partial_runs += 1
        if program is None:
            program = steps.program(plan.programs, signature, options, partial=True)
        asked = None if debug_run is None else StepRequest(debug_run=debug_run)
        run = Setup(steps, program, program.sent((), 0), None, 0, asked)
        await steps.request(run, None)
        handle: str = run.extra[0]
        left = set(signature.feeds), set(signature.fetches)
        self._open[handle] = _OpenRun(program, run.call, *left, current_host().clock.monotonic(), debug_run is not None)
        return handle

    async def _call_debugged(
        self, handle: str, feeds: tuple[str, ...], values: Sequence[Any], fetches: tuple[str, ...], limit: float | None
    ) -> Sequence[Any]:
        """Continue a debugged run; see ``call``."""
        held = ValueDelivery(run_now)
        received = False
        try:
            values_fetched = await self.call(handle, feeds, values, fetches, limit, held)
            await self._published(handle, None)
            received = True
            return values_fetched
        except OpError as error:
            await self._published(handle, error)
            raise
        finally:
            held.end(received=received)

    async def _published(self, handle: str, error: OpError | None) -> None:
        """Publish what was watched in a run so far; the error of a sink aborts it."""
        if not self._debugger.is_debugged(handle):
            return  # it was aborted meanwhile
        try:
            await self._debugger.called(handle, error)
        except OpError as failed:
            await self.abort(handle, failed)
            if error is None:
                raise

    async def call(
        self,
        handle: str,
        feeds: tuple[str, ...],
        values: Sequence[Any],
        fetches: tuple[str, ...],
        limit: float | None,
        delivery: ValueDelivery | None = None,
    ) -> Sequence[Any]:
        """Continue a run with feeds, and return fetches; cancelling the call aborts the run.

        Args:
            handle: see ``PartialRuns.call``.
            feeds: likewise.
            values: likewise.
            fetches: likewise.
            limit: likewise.
            delivery: see ``RemoteSteps.finish``.
        """
        if not self._connection.handle:
            await self._connection.connect()
        steps, run = self._steps, self._open.get(handle)
        if run is not None and run.is_debugged and delivery is None:
            return await self._call_debugged(handle, feeds, values, fetches, limit)
        if run is None or run.program.channel is not self._connection.master.channel:
            await self._check_session(handle)
            raise no_such_run(handle)
        program = run.program
        run.waiting += 1
        try:
            nbytes = bytes_held(values)
            if nbytes > LARGE:
                values = await steps.sent_feeds(values)
            sent = program.sent(values, nbytes)
            call = PartialCall(steps, program, sent, limit, len(fetches), CallRequest(feeds, fetches))
            call.number, call.handle, call.run = run.setup, handle, run
            values = await steps.request(call, delivery)
        except InvalidArgumentError as error:
            unknown = error.message == no_such_run(handle).message
            # One that was refused has changed nothing, while one of a node has ended the run.
            if error.node is not None or unknown:
                self._forget(handle, error)
            if unknown:
                await self._check_session(handle)
            raise
        except BaseException as error:
            self._forget(handle, error if isinstance(error, OpError) else no_such_run(handle))
            if isinstance(error, (DeadlineExceededError, ResourceExhaustedError)):
                # The master may not know of the call, or not of its end: there was no memory for it.
                self._drop_soon(handle, error)
            elif isinstance(error, asyncio.CancelledError):
                await self.abort(handle, CancelledError(f"partial run {handle!r} was cancelled by its caller"))
            raise
        finally:
            run.waiting -= 1
        run.last_use = current_host().clock.monotonic()
        run.feeds.difference_update(feeds)
        run.fetches.difference_update(fetches)
        if not (run.feeds or run.fetches):
            self._open.pop(handle, None)
        return values

    def _forget(self, handle: str, error: OpError) -> None:
        """Forget a run that an error has ended, also for the calls whose answers are on their way."""
        run = self._open.pop(handle, None)
        if run is not None:
            run.ended_by = error

    async def _check_session(self, handle: str) -> None:
        """Let the master say what has happened to the session, if it is not open there any more.

        Raises:
            OpError: the error of every request for it.
        """
        # A drop that is about to be asked for may come after this one, so it ends the run as that does.
        error = CancelledError(f"partial run {handle!r} was given up by its client")
        await self._steps.ask(self._drop(handle, error), _DROP, Done)

    def _drop(self, handle: str, error: OpError) -> PartialRunDrop:
        session = self._connection.handle
        return PartialRunDrop(session_handle=session, partial_run_handle=handle, error=error_to_wire(error))

    async def abort(self, handle: str, error: OpError) -> None:
        """Abort a run if it is open, without waiting for its kernels to end between two nodes."""
        self._forget(handle, error)
        # A child, because the end of the wait must not withdraw the request.
        dropping = self._connection.start(self._ask_to_drop(handle, error), f"drop partial run {handle}")
        if dropping is not None:
            await asyncio.wait({dropping}, timeout=_DROP)
        await self._debugger.aborted(handle, error)

    async def _ask_to_drop(self, handle: str, error: OpError) -> None:
        # A master that is gone, or has dropped the session, has aborted the run.
        with contextlib.suppress(OpError):
            await self._connection.ask(self._drop(handle, error), Deadline.never(), Done)

    def abort_here(self, handle: str, error: OpError) -> None:
        """Abort a run if it is open, from any thread, without waiting for its end."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and with it the session
                self._loop.call_soon_threadsafe(self._drop_soon, handle, error)

    def _drop_soon(self, handle: str, error: OpError) -> None:
        self._connection.start(self.abort(handle, error), f"drop partial run {handle}")
