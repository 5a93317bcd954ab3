"""The step frames of one link: runs of steps in both directions, and pushed values.

A *step program* is a client graph with everything that a step needs bound once: at a client the plan of a
session, at a master the registered client graph, at a worker its partitions. A worker registers the programs
of its graphs, whose numbers it tells the master. A client numbers its plans itself: the first run of one
brings the plan along, so that registration and run leave together. A frame is handled in the call that
received it, without an actor's mailbox, an asyncio task or a future.

``Link`` owns a ``StepCalls``: it passes on the frames that arrive and reports its end. A ``RunWaiter``
receives the outcome of a run that was requested here; ``ServedRuns`` holds those that run here for the peer,
``Pushes`` the pushed values. Invariant: each run that is requested here ends once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from msgpack import unpackb

from actorsession.actors.supervision import Children
from actorsession.errors import (
    CancelledError,
    OpError,
    ProtocolError,
    ResourceExhaustedError,
    UnavailableError,
    from_exception,
)
from actorsession.graph.codec import Buffer, unpack_start
from actorsession.messages.step_frames import (
    CANCEL,
    DONE,
    FAIL,
    GONE,
    LEND,
    NO_VALUES,
    PARTIAL_RUN,
    PUSH,
    RECEIVED,
    REFUSED,
    RETURNED,
    RUN_GRAPH,
    RUN_STEP,
    TRACED_PUSH,
    CallRequest,
    GraphRequest,
    StepRequest,
    WireValues,
    read_error,
    read_header,
    write_header,
)
from actorsession.rpc.pushes import LONG_HEADER, FrameWriter, Pushes
from actorsession.rpc.served_runs import Backlog, ServedRun, ServedRuns, Settle, encode_apart, notify

__all__ = ["RunWaiter", "ServedRun", "Settle", "StepCalls", "encode_apart"]


class RunWaiter(Protocol):
    """Receives the outcome of a run that was requested here: one call, on the loop of the link."""

    def done(self, values: WireValues, extra: Any) -> None:
        """The run has succeeded; raises ``ProtocolError`` for values that cannot be its own."""

    def failed(self, error: OpError) -> None:
        """The run has failed, or the link has ended."""

    def gone(self) -> None:
        """The peer does not know the program; nothing was run. The plan may be sent again."""


class StepCalls:
    """The step frames of one link.

    Args:
        peer: cluster task of the peer.
        writer: sends the frames.
        backpressure: whether the peer reads them.
        children: own the waiting for the peer to read on.

    Attributes:
        served: the runs that the peer requests.
        pushes: the pushed values.
        sent: how many runs were requested here.
    """

    def __init__(self, peer: str, writer: FrameWriter, backpressure: Backlog, children: Children) -> None:
        self.peer = peer
        self._send = writer.write
        self._send_short = writer.write_short
        self._send_from_thread = writer.write_from_thread
        self.served = ServedRuns(peer, writer, backpressure, children)
        self.pushes = Pushes(writer)
        self._waiting: dict[int, RunWaiter] = {}
        self.sent = 0
        self._counter = itertools.count(1)
        self._is_over = False

    @property
    def pending(self) -> int:
        """How many runs that were requested here have no answer yet."""
        return len(self._waiting)

    # -- runs requested here -------------------------------------------------------------------

    def request(
        self,
        kind: int,
        call: int,
        number: int,
        seconds: float | None,
        asked: StepRequest | CallRequest | GraphRequest | None,
        values: WireValues,
        waiter: RunWaiter,
    ) -> None:
        """Request a run.

        Args:
            kind: ``RUN_STEP`` for a plan, as its client; ``RUN_GRAPH`` for registered partitions, as their
                master; ``PARTIAL_RUN`` for a call of a partial run.
            call: a number for the run, which no other run over this link has; the step id of partitions.
            number: the number of the program, or of the run that has set up the partial run.
            seconds: how long this end waits at most; ``None`` for no limit.
            asked: what else is asked for; ``None`` for nothing.
            values: its feeds.
            waiter: called when the run has ended.

        Raises:
            OpError: the link has ended, or the values cannot be sent; the waiter is not called.
        """
        wire = None if asked is None else asked.to_wire()
        header = write_header([kind, call, number, seconds, wire, *values.items])
        if values.segments or self._is_over or not self._send_short(header):
            self._send(header, values.segments)
        self.sent = next(self._counter)
        self._waiting[call] = waiter

    def run_from_thread(
        self,
        call: int,
        program: int,
        seconds: float | None,
        asked: StepRequest | None,
        values: WireValues,
        waiter: RunWaiter,
    ) -> bool:
        """Request a run of a plan in another thread than that of the loop, if it can be sent at once.

        See ``request``.

        Returns:
            Whether it was requested; if not, the waiter is not called.

        Raises:
            InvalidArgumentError: the values cannot be sent; the waiter is not called.
        """
        if values.segments:
            return False
        wire = None if asked is None else asked.to_wire()
        header = write_header([RUN_STEP, call, program, seconds, wire, *values.items])
        if len(header) > LONG_HEADER:  # it goes by the bulk lane
            return False
        self._waiting[call] = waiter  # before it is sent: the answer may come at once
        if not self._is_over and self._send_from_thread(header):
            self.sent = next(self._counter)
            return True
        # If it is not there any more, the end of the link was told to it meanwhile.
        return self._waiting.pop(call, None) is None

    def confirm(self, call: int, *, received: bool) -> None:
        """Tell the peer whether the values of a run have reached its caller, as its answer asks for."""
        with suppress(UnavailableError, CancelledError):  # its end puts back what was taken
            self._send(write_header([RECEIVED if received else CANCEL, call]), ())

    def cancel(self, call: int) -> None:
        """Cancel a run that was requested here; its waiter is not called any more."""
        if self._waiting.pop(call, None) is not None:
            with suppress(UnavailableError, CancelledError):  # its end cancels the run
                self._send(write_header([CANCEL, call]), ())

    # -- what arrives --------------------------------------------------------------------------

    def receive(self, header: Buffer, segments: Sequence[Buffer], wire: Any = None) -> None:
        """Handle a step frame that has arrived.

        Args:
            header: its header.
            segments: its segments.
            wire: the header decoded, if that was done elsewhere.

        Raises:
            ProtocolError: the frame is malformed, or does not fit the state of the link.
            ResourceExhaustedError: it pushes values and the receiver has no room for them.
        """
        try:
            wire = unpackb(header) if len(header) <= LONG_HEADER else wire
        except Exception:  # whatever it is, read_header() says it
            wire = None
        try:
            # What read_header() does, without a call; it reads long headers, and raises for what is none.
            if type(wire) is not list or len(wire) < 2 or type(wire[1]) is not int or wire[1] < 0:
                wire = read_header(header)
            try:
                part, receive = _RECEIVERS[wire[0]]
            except (KeyError, TypeError):
                raise ProtocolError(f"unknown kind of step frame: {wire[0]!r:.100}") from None
            receive(getattr(self, part) if part else self, wire, header, segments)
        except MemoryError:
            self.lost(header, ResourceExhaustedError("no memory to read a message"))

    def lost(self, start: Buffer, error: ResourceExhaustedError) -> None:
        """Fail the run or the step of a frame for which there is no memory.

        Args:
            start: the first bytes of its header, or all of it.
            error: what there was no memory for.

        Raises:
            ProtocolError: the bytes are not those of a step frame.
        """
        kind, number = unpack_start(start, 2)
        if kind in (PUSH, TRACED_PUSH, LEND):
            self.pushes.on_lost(number, error)
        elif kind in (RETURNED, REFUSED):
            raise error  # what was lent is kept until the end of the link
        elif kind == CANCEL:
            self.served.receive_cancel([kind, number])
        elif kind == RECEIVED:
            self.served.receive_received([kind, number])
        elif kind not in (RUN_STEP, PARTIAL_RUN, RUN_GRAPH):
            if (waiter := self._waiting.pop(number, None)) is not None:
                waiter.failed(error)
                if kind == DONE:  # so that what the run has taken is put back
                    self.confirm(number, received=False)
        else:
            self.served.lost(number, error)

    def _receive_done(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        if len(wire) < 3:
            raise ProtocolError("a run that is done has values")
        values = WireValues.received(wire[3:], segments) if len(wire) > 3 else NO_VALUES
        waiter = self._waiting.pop(wire[1], None)
        if waiter is None:  # it was cancelled
            return
        try:
            waiter.done(values, wire[2])
        except ProtocolError as exc:
            waiter.failed(exc)  # the end of the link, which follows, does not find it any more
            raise
        except Exception as exc:
            waiter.failed(from_exception(exc))
            self.confirm(wire[1], received=False)

    def _receive_fail(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        error = read_error(wire)
        waiter = self._waiting.pop(wire[1], None)
        if waiter is not None:
            waiter.failed(error.locate(task=self.peer))

    def _receive_gone(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        waiter = self._waiting.pop(wire[1], None)
        if waiter is not None:
            waiter.gone()

    def end(self, make_error: Callable[[], OpError]) -> None:
        """End all runs, because the link has ended.

        Args:
            make_error: makes the error of a run that was requested here.
        """
        self._is_over = self.pushes.is_over = True
        # One by one: a thread that has seen too late that the link has ended takes its own out.
        for call in list(self._waiting):
            waiter = self._waiting.pop(call, None)
            if waiter is not None:
                notify(partial(waiter.failed, make_error()))
        self.served.end()


# The part that takes frames of each kind, "" for the calls themselves. One table for all links, of which a
# server has many.
_RECEIVERS: dict[int, tuple[str, Callable[[Any, list[Any], Buffer, Sequence[Buffer]], None]]] = {
    RUN_STEP: ("served", ServedRuns.receive),
    PARTIAL_RUN: ("served", ServedRuns.receive),
    RUN_GRAPH: ("served", ServedRuns.receive),
    CANCEL: ("served", ServedRuns.receive_cancel),
    RECEIVED: ("served", ServedRuns.receive_received),
    PUSH: ("pushes", Pushes.receive),
    TRACED_PUSH: ("pushes", Pushes.receive_traced),
    LEND: ("pushes", Pushes.receive_lent),
    RETURNED: ("pushes", Pushes.receive_returned),
    REFUSED: ("pushes", Pushes.receive_refused),
    DONE: ("", StepCalls._receive_done),
    FAIL: ("", StepCalls._receive_fail),
    GONE: ("", StepCalls._receive_gone),
}
