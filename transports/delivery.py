"""The delivery of frames that have arrived: to callbacks, or one by one to ``recv``.

Every connection has one ``Delivery`` between what brings frames and what consumes them. ``stream.connection``
and ``inproc`` put frames in; ``Connection.deliver`` and ``Connection.recv`` take them out. The module imports
``frame`` and ``outbox``.

A consumer with callbacks gets a frame in the call that put it in: no task is woken and nothing is awaited. It
gets at most ``FRAMES_PER_TURN`` in one iteration of the event loop. Others are set aside until the next one,
and if more arrive in the meantime, their source is paused until none is left.

Invariants. Frames leave in the order in which they arrived. The end comes behind the frames that arrived
before it, is reported once, and nothing is delivered after it. All callbacks of a connection run in one
``contextvars.Context``, and each run of them is a turn of ``outbox``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from typing import Any, TypeAlias, cast

from transports.frame import Frame
from transports.outbox import WriteTurn, turn_of

# At 10 us of work each they occupy the event loop for less than a millisecond, so that a flood from one peer
# does not delay timers and other connections.
FRAMES_PER_TURN = 32

# Stands for a deque, which takes 760 bytes, while no item waits.
_NOTHING = cast("deque[Any]", ())

OnFrame: TypeAlias = Callable[[Frame], None]
OnEnd: TypeAlias = Callable[[Exception], None]


class Delivery:
    """The frames of one connection between their arrival and their consumer.

    Attributes:
        turn: The turn of the event loop, within which the callbacks run.
        waiting: An item for each frame that waits; only this object changes it.
    """

    __slots__ = (
        "_abort", "_burst", "_closed_error", "_context", "_error", "_finish", "_frame_of", "_hold",
        "_is_held", "_is_over", "_is_paused", "_is_scheduled", "_loop", "_on_end", "_on_frame", "_receiver",
        "turn", "waiting",
    )  # fmt: skip

    def __init__(
        self,
        *,
        frame_of: Callable[[Any], Frame] | None = None,
        hold: Callable[[bool], None],
        abort: Callable[[], None],
        closed_error: Callable[[], Exception],
    ) -> None:
        """Make a delivery without a consumer.

        Args:
            frame_of: Called with an item that is taken, returns its frame; items are frames without it.
            hold: Called with True when frames arrive while others wait, and with False when none is left.
            abort: Ends the connection, because its consumer has failed.
            closed_error: Makes the error that ``recv`` raises after the end was reported.
        """
        self._loop = asyncio.get_running_loop()
        self.turn: WriteTurn = turn_of(self._loop)
        self.waiting = _NOTHING
        self._frame_of = frame_of
        self._hold = hold
        self._abort = abort
        self._closed_error = closed_error
        self._is_held = False
        self._on_frame: OnFrame  # set with _context
        self._on_end: OnEnd | None = None
        self._context: Context | None = None
        self._is_scheduled = False  # _run is to be called, or is running, or the consumer has paused
        self._is_paused = False
        self._receiver: asyncio.Future[None] | None = None
        self._burst = 0
        self._is_over = False  # nothing is delivered any more, except _error
        self._finish: Callable[[], Exception] | None = None
        self._error: Exception | None = None  # the end, to be reported

    # -- the source --------------------------------------------------------------------------------

    def put(self, items: Sequence[Any]) -> None:
        """Add items and deliver their frames now, unless others were set aside before."""
        if len(items) == 1 and not (
            self.waiting or self._is_scheduled or self._context is None
        ):  # most calls: what _run() does, without a queue for one frame
            item = items[0]
            self._is_scheduled = True
            turn = self.turn
            turn.depth += 1
            try:
                self._context.run(self._on_frame, item if self._frame_of is None else self._frame_of(item))
            except Exception as error:
                self._fail(error)
            finally:
                self._is_scheduled = self._is_paused
                try:
                    if self.waiting or self._finish is not None or self._error is not None:
                        self._context.run(self._after_taking)
                finally:
                    turn.depth = depth = turn.depth - 1
                    if not depth and turn.waiting:
                        turn.flush()
        elif self.waiting:  # they are delivered behind those that were set aside
            self.waiting += items
            if items and not self._is_held:
                self._is_held = True
                self._hold(True)
            if self._context is None:
                self._wake()
        elif items:
            self.waiting = deque(items)
            if self._context is None:
                self._wake()
            elif not self._is_scheduled:
                self._context.run(self._run)

    def put_later(self, item: Any) -> None:
        """Add an item and deliver its frame in the next iteration of the event loop."""
        if self.waiting:
            self.waiting.append(item)
        else:
            self.waiting = deque((item,))
        self._continue()

    def end(self, finish: Callable[[], Exception], *, later: bool = False) -> None:
        """Report an end that the peer or the stream has caused, behind the frames that wait.

        Args:
            finish: Called once the end is reached; records it and returns the error that reports it.
            later: Whether it is reached in the next iteration of the event loop at the earliest.
        """
        if self._is_over or self._finish is not None:
            return
        self._finish = finish
        if self._context is None:
            self._reach_end()
        elif later or self.waiting:
            self._continue()
        elif not self._is_scheduled:
            self._context.run(self._run)

    def close(self, error: Exception) -> None:
        """Drop the frames that wait, and report an end that this side has caused.

        The callback is called in the next iteration, so that nobody is called by what he calls.
        """
        self.waiting = _NOTHING
        if not self._is_over:
            self._is_over, self._error = True, error
            self._continue()

    # -- the consumer ------------------------------------------------------------------------------

    def deliver(self, on_frame: OnFrame, on_end: OnEnd) -> None:
        """Call back from now on; see ``Connection.deliver``."""
        self._check_unused()
        self._on_frame, self._on_end = on_frame, on_end
        self._context = copy_context()
        if self._is_over and self._error is None:
            self._error = self._closed_error()
        if self.waiting or self._is_over:
            self._continue()

    def pause(self) -> None:
        """Deliver nothing more until ``resume``; see ``Connection.pause``."""
        self._is_paused = self._is_scheduled = True

    def resume(self) -> None:
        """Go on delivering, in the next iteration of the event loop."""
        self._is_paused = self._is_scheduled = False
        self._continue()

    async def recv(self) -> Frame:
        """Return the next frame; see ``Connection.recv``."""
        self._check_unused()
        if self._burst >= FRAMES_PER_TURN:
            self._burst = 0
            await asyncio.sleep(0)
        self._burst += 1
        while not self.waiting:
            if self._is_over:
                error, self._error = self._error or self._closed_error(), None
                raise error
            self._burst = 0
            self._receiver = self._loop.create_future()
            try:
                await self._receiver
            finally:
                self._receiver = None
        item = self.waiting.popleft()
        frame: Frame = item if self._frame_of is None else self._frame_of(item)
        self._after_taking()
        return frame

    def _check_unused(self) -> None:
        if self._receiver is not None or self._context is not None:
            raise RuntimeError(
                "the frames of this connection go to another child in recv(), or to callbacks; only one "
                "consumer may have them"
            )

    def _continue(self) -> None:
        """Serve the consumer in the next iteration, or wake the one in ``recv``."""
        if self._context is None:
            self._wake()
        elif not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._run, context=self._context)

    def _wake(self) -> None:
        if self._receiver is not None and not self._receiver.done():
            self._receiver.set_result(None)

    def _run(self) -> None:
        """Call back for the frames that wait, up to the limit, and for the end if it is reached."""
        on_frame, frame_of = self._on_frame, self._frame_of
        self._is_scheduled = True  # what is put in by the callbacks is served below
        turn, left = self.turn, FRAMES_PER_TURN
        turn.depth += 1
        try:
            while left and not self._is_paused and (waiting := self.waiting):
                left -= 1
                item = waiting.popleft()
                on_frame(item if frame_of is None else frame_of(item))
        except Exception as error:
            self._fail(error)
        finally:
            self._is_scheduled = self._is_paused
            try:
                waiting = self.waiting
                if not waiting:
                    self.waiting = _NOTHING
                if waiting or self._is_held or self._finish is not None or self._error is not None:
                    self._after_taking()
            finally:
                turn.depth = depth = turn.depth - 1
                if not depth and turn.waiting:
                    turn.flush()

    def _after_taking(self) -> None:
        """Continue with the frames that are left; if none is, release the source and report an end."""
        if self._is_paused:
            return
        if self.waiting:
            self._continue()
            return
        if self._is_held:
            self._is_held = False
            self._hold(False)
        if self._finish is not None:
            self._reach_end()
        if self._error is not None and self._on_end is not None:
            error, self._error = self._error, None
            self._on_end(error)

    def _reach_end(self) -> None:
        """Record the end, unless frames wait in front of it."""
        if not self.waiting and self._finish is not None:
            finish, self._finish = self._finish, None
            if not self._is_over:
                self._is_over = True
                self._error = finish()
                self._wake()

    def _fail(self, error: Exception) -> None:
        """End the connection because the callback for a frame has raised."""
        if not self._is_over:
            self._is_over, self._error = True, error
        self.waiting = _NOTHING
        self._abort()
