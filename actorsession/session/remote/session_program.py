"""Step programs at a client: runs of a remote session's plan by step frames.

When a plan has run once, the session registers it with the master. From the second run on, a run is one frame
each way, without a coroutine in between. An ``AsyncRun`` is awaited on the session's loop. A ``ThreadRun`` is
one for which a thread waits: the thread writes the frame itself, unless other bytes to the master are unsent
or there is no plain socket, and waits for a lock. The loop does the rest.

A run with options or metadata goes by message, as does one that would have to wait before it is sent, and one
whose program the master does not know any more; nothing has run then.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from actorsession.actors.timer_wheel import Alarm
from actorsession.errors import (
    CancelledError,
    DeadlineExceededError,
    OpError,
    PicklableError,
    ProtocolError,
    from_exception,
)
from actorsession.runtime.interruptible import acquire
from actorsession.session.remote.values import RunValues, SessionProgram, own_values

if TYPE_CHECKING:
    from actorsession.session.remote.remote_session import RemoteSession

__all__ = ["AsyncRun", "ProgramGone", "ProgramRun", "ThreadRun"]

# Seconds that a thread waits beyond the limit for its loop, which ends the run then unless it hangs.
_LOOP_MARGIN = 10.0


class ProgramGone(PicklableError):
    """Nothing was run: the run has to go by message.

    Attributes:
        forgotten: whether the master does not know the program any more.
    """

    def __init__(self, *, forgotten: bool) -> None:
        super().__init__()
        self.forgotten = forgotten


class ProgramRun:
    """One run of a program; the base of both kinds.

    Everything but the constructor and ``result`` belongs to the session's loop, unless it says otherwise.

    Args:
        session: the session.
        program: the program.
        values: the feeds; arrays are borrowed until the run has ended.
        limit: seconds; ``None`` for the default.
        fetches: how many values the run returns.

    Attributes:
        nbytes: the bytes for which the run counts in the session's admission.
        admitted: whether it counts there now.
    """

    __slots__ = (
        "_call", "_error", "_fetches", "_found", "_limit", "_program", "_session", "_values", "admitted",
        "nbytes",
    )  # fmt: skip

    def __init__(
        self, session: RemoteSession, program: SessionProgram, values: RunValues,
        limit: float | None, fetches: int,
    ) -> None:  # fmt: skip
        self._session = session
        self._program = program
        self._values = values
        self._limit = limit
        self._fetches = fetches
        self.nbytes = 0
        self.admitted = False
        self._call = -1  # none is under way
        self._found: RunValues | None = None
        self._error: BaseException | None = None

    def begin(self) -> None:
        """Request the run, unless it has to go by message."""
        session, program = self._session, self._program
        try:
            if not (self.admitted or session.admit(self, program, self._values.nbytes)):
                self._end(ProgramGone(forgotten=False))
                return
            # Before the request, because a master in this process may answer at once.
            call = self._call = next(session.calls)
            self._begun()
            try:
                program.calls.run(call, program.number, self._limit, self._values, self)
            except (
                BaseException
            ):  # Ctrl-C among them, which may come inside a master of this process
                program.calls.cancel(call)
                self._leave()
                raise
        except Exception as exc:  # on the session's loop, where nobody would see it
            self._end(from_exception(exc))

    def result(self) -> Sequence[Any]:
        """Return the fetched values of a run that has ended; arrays are the caller's own.

        Raises:
            ProgramGone: if nothing was run.
            OpError: the error of the run.
        """
        if self._error is not None:
            raise self._error
        assert self._found is not None
        return own_values(self._found.read_all(), over_link=self._program.over_link)

    def cancel(self) -> None:
        """Cancel the run; do nothing if it has ended."""
        if self.admitted:
            self._program.calls.cancel(self._call)
            self._leave()
            self._end(CancelledError("the run was cancelled"))

    # -- RunWaiter -----------------------------------------------------------------------------

    def done(self, values: RunValues, extra: Any) -> None:
        """See ``RunWaiter.done``."""
        if len(values) != self._fetches or extra is not None:
            raise ProtocolError(
                f"a run with {self._fetches} fetches was answered by {len(values)} values"
            )
        self._leave()
        self._found = values
        self._wake()

    def failed(self, error: OpError) -> None:
        """See ``RunWaiter.failed``."""
        self._leave()
        self._session.explain(error, self._end)

    def gone(self) -> None:
        """See ``RunWaiter.gone``."""
        self._leave()
        self._end(ProgramGone(forgotten=True))

    def _expired(self) -> None:
        if not self.admitted:  # it has ended
            return
        program, seconds = self._program, self._session.patience(self._limit)
        program.calls.cancel(self._call)
        where = f"{program.way.peer_name} at {program.way.address}"
        self.failed(DeadlineExceededError(f"{where} did not answer a step within {seconds:.3g} s"))

    # -- the end -------------------------------------------------------------------------------

    def _begun(self) -> None:
        """Get ready for the end of a run that has a number and is about to be requested."""

    def _leave(self) -> None:
        self._session.leave(self)

    def _end(self, error: BaseException) -> None:
        self._error = error
        self._wake()

    def _wake(self) -> None:
        """Wake the caller."""
        raise NotImplementedError


class AsyncRun(ProgramRun):
    """A run that is awaited on the session's loop."""

    __slots__ = ("_alarm", "ended")
    ended: asyncio.Future[None]
    """Done when the run has ended; made by ``start``."""
    _alarm: Alarm | None

    def _begun(self) -> None:
        session = self._session
        self._alarm = session.wheel.add(session.patience(self._limit), self._expired)

    def _leave(self) -> None:
        if self._alarm is not None:
            self._session.wheel.discard(self._alarm)
        self._session.leave(self)

    def _wake(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def start(self) -> asyncio.Future[None]:
        """Begin the run; return a future for its end, after which ``result`` says what came of it."""
        self.ended, self._alarm = asyncio.get_running_loop().create_future(), None
        self.begin()
        return self.ended


class ThreadRun(ProgramRun):
    """A run for which another thread waits."""

    __slots__ = ("_ended",)

    def __init__(
        self, session: RemoteSession, program: SessionProgram, values: RunValues,
        limit: float | None, fetches: int,
    ) -> None:  # fmt: skip
        super().__init__(session, program, values, limit, fetches)
        self._ended = threading.Lock()
        self._ended.acquire()

    def _wake(self) -> None:
        if self._ended.locked():
            self._ended.release()

    def run(self, call: Callable[[Callable[[], object]], None]) -> Sequence[Any]:
        """Begin the run and wait for it in the calling thread; see ``result``.

        Ctrl-C, or any other exception of a signal handler, cancels the run. The wait itself is the deadline
        of the run; the loop is asked for no timer.

        Args:
            call: calls a function on the session's loop.
        """
        patience = self._session.patience(self._limit)
        try:
            if not self._begin_here():
                call(self._begin_on_loop)
            ended = acquire(self._ended, patience, lambda: call(self.cancel))
            if not ended:
                call(self._expired)
                ended = acquire(self._ended, _LOOP_MARGIN)
        except BaseException:
            call(self.cancel)
            raise
        if not ended:
            raise DeadlineExceededError(
                f"the event loop of the session has not ended a run within {patience + _LOOP_MARGIN:.3g} s"
            )
        return self.result()

    def _begin_here(self) -> bool:
        """Begin the run in the calling thread; return False if the loop has to do it."""
        session, program, values = self._session, self._program, self._values
        if not (program.threads_may_write and session.admit(self, program, values.nbytes)):
            return False
        call = self._call = next(session.calls)
        return program.run_from_thread(call, self._limit, values, self)

    def _begin_on_loop(self) -> None:
        self._program.open_to_threads()
        self.begin()
