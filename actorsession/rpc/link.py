"""Links: calls in both directions over one connection, with an end that everybody hears of.

Owns ``Link``. Servers make one per accepted connection, clients and workers one per peer that they
dial; both ends are alike. ``PendingCalls`` is its asking side, ``Service`` its answering side,
``Lease`` says when the peer has been silent for too long, and ``Watch`` whether it is lost or only
busy; what is left here is the connection. It imports transports for that, and the codec of messages:
frames are read and written here and nowhere else above transports.

The receive loop handles each envelope at once and in order. A tell is delivered synchronously; so
is a call, and if its handler needs no child the reply is written before the next frame is looked
at.

What has large arrays goes by the bulk lane of the connection, where small envelopes pass it: a beat, a
cancellation or the word that a step is over never waits behind an array. So a cancellation may come before
its call, which is not begun then; tells and asks are in order only among those without large arrays.

Invariants: the link ends once, and says why; then all pending asks have failed, the handlers that
serve the peer are cancelled, and each callback is called once. Beats and cancellations are written
at once, however much is queued; asks that bring arrays wait for a peer that reads slowly, one after the
other, and those that do not wait where there are too many of them.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from typing import Any

from actorsession.actors.clock import SYSTEM_CLOCK, Clock
from actorsession.actors.deadline import DEFAULT_SECONDS, Deadline
from actorsession.actors.ref import Ref
from actorsession.actors.supervision import STOP_GRACE, Children
from actorsession.errors import (
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    ProtocolError,
    ResourceExhaustedError,
    UnavailableError,
)
from actorsession.messages import (
    Beat,
    Call,
    Cancel,
    Envelope,
    Failure,
    Reply,
    Tell,
    UnreadableMessage,
    decode,
    encode,
)
from actorsession.rpc.backpressure import Backpressure
from actorsession.rpc.link_statistics import LinkStatistics
from actorsession.rpc.liveness.heartbeat_memory import HeartbeatLocation
from actorsession.rpc.liveness.lease import BEAT_SECONDS, LEASE_SECONDS, Lease
from actorsession.rpc.liveness.peer_monitor import PeerMonitor, ProbeFactory, probe_for
from actorsession.rpc.pending_calls import PendingCalls
from actorsession.rpc.service import Service
from transports import Connection, ConnectionClosed, Frame, TransportError

__all__ = ["Link", "LinkStatistics"]

# A burst of small frames is decoded without waiting. After this many, some 0.4 ms of work, the loop
# gets a turn: a flood from one peer does not hold up timers and the other links.
FRAMES_PER_TURN = 32

# Bytes of a header above which it goes by the bulk lane, as everything does that has segments. Graphs have
# such headers, and nothing urgent has.
_LONG_HEADER = 64 * 2**10

_BEAT = Beat()

logger = logging.getLogger("actorsession.actors")


class Link:
    """Asks and tells between this process and one peer.

    Everything is called on the loop of the connection.

    Attributes:
        peer: who the other end said it is, its incarnation included.
        peer_name: its cluster task.
        address: where it is.

    Args:
        connection: what carries it; the link's own from now on.
        serves: target name to the actor that serves it; looked at for each call, so it may change.
        peer_name: cluster task of the other end, for errors; by default as it introduced itself.
        beat: seconds between signs of life, at most; a peer may ask for more of them.
        lease: seconds of silence after which the peer is lost, unless it is seen to be busy.
        watch: finds out whether a silent peer lives; by default what can be seen of it here or asked of
            its sidecar without a token.
        clock: tells the time for the lease and for the deadlines that handlers see.

    Raises:
        InvalidArgumentError: for a lease of less than two beats.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        serves: Mapping[str, Ref],
        peer_name: str | None = None,
        beat: float = BEAT_SECONDS,
        lease: float = LEASE_SECONDS,
        watch: ProbeFactory = probe_for,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.peer_name = peer_name if peer_name is not None else connection.peer.task
        self.peer = connection.peer
        self.address = connection.peer_address
        self._connection = connection
        self._clock = clock
        # A peer whose lease is shorter than ours asks for more beats.
        often = min(beat, HeartbeatLocation.parse(connection.peer.pulse).beat or beat)
        self._lease = Lease(beat=often, lease=lease, now=clock.now())
        self._vigil = PeerMonitor(
            watch(connection, often, lease), often, f"{self.peer_name} at {self.address}"
        )
        self._children = Children(f"link to {self.peer_name}")
        self._pending = PendingCalls(self.peer_name, self.address, self._send)
        self._service = Service(
            serves,
            peer=self.peer_name,
            address=self.address,
            send=self._send,
            watch=self._watch,
            children=self._children,
            clock=clock,
            congested=lambda: self.backlogged,
            drain=self.drain,
        )
        self._room = Backpressure(connection, self._pending)
        self._takers: dict[type[Envelope], Callable[[Any], None]] = {
            Beat: lambda _: None,
            Call: self._service.call,
            Tell: self._service.tell,
            Reply: self._pending.replied,
            Failure: self._pending.failed,
            Cancel: self._service.cancel,
        }
        self._reading = f"{self.peer_name} at {self.address} to read on, before the next ask"
        self._running = False
        self._tick: asyncio.TimerHandle | None = None
        self._over: OpError | None = None
        self._closed = asyncio.Event()
        self._watchers: dict[object, Callable[[], None]] = {}
        self._tells_sent = 0

    @property
    def closed(self) -> bool:
        """Whether it is over."""
        return self._over is not None

    @property
    def backlogged(self) -> bool:
        """Whether so much waits to be sent that those who cause it should hold back."""
        return self._over is None and self._room.backlogged

    async def drain(self) -> None:
        """Wait while the link is backlogged; returns when it is over."""
        await self._room.drain()

    async def run(self) -> None:
        """Receive until the link is over; awaited once, by whoever made the link.

        It does not raise for a lost peer: asks, callbacks and ``wait_closed`` say so. Cancelling it
        ends the link.

        Raises:
            RuntimeError: if somebody runs it already.
        """
        if self._running:
            raise RuntimeError(f"{self!r} is run by somebody already")
        self._running = True
        self._schedule_tick()
        try:
            await self._receive()
        finally:
            self._end("its receive loop was cancelled", ours=True, abort=True)
            await self._children.stop()

    async def ask(self, target: str, message: Any, deadline: Deadline | None = None) -> Any:
        """Send a message to an actor of the peer and awaits the answer.

        Waits for room first if the peer reads slowly. Cancelling it cancels the handler at the
        peer, and does not wait for that.

        Args:
            target: the actor's name at the peer.
            message: arrays in it are borrowed until the answer has come; if the call ends otherwise
                they may still be on their way, and must not change any more.
            deadline: until when to wait; by default 30 s from now. The time left travels along.

        Returns:
            The reply; arrays in it are the caller's own.

        Raises:
            DeadlineExceededError: the deadline came first; names peer, address, actor and message.
            UnavailableError: the link was lost, by then or before.
            CancelledError: the link was closed at this end.
            InvalidArgumentError: the message cannot be asked, or does not travel.
            OpError: what the handler has raised, with the peer's task.
        """
        if self._over is not None:
            raise self._over_error(_describe(target, message))
        if deadline is None:
            deadline = Deadline.after(DEFAULT_SECONDS)
        elif deadline.expired:
            raise DeadlineExceededError(
                f"{_describe(target, message)} was not sent to {self.peer_name} at {self.address}: "
                "its deadline is over"
            )
        if self._room.must_wait(message):
            try:
                await deadline.wait(self._room.wait(), what=self._reading)
            except ConnectionClosed as exc:
                self._end(str(exc), ours=exc.by_us)
                raise self._over_error(_describe(target, message)) from exc
            if self._over is not None:
                raise self._over_error(_describe(target, message))
        return await self._pending.ask(target, message, deadline)

    def tell(self, target: str, message: Any, *, behind: bool = False) -> None:
        """Send a message that wants no answer to an actor of the peer; never blocks.

        Args:
            target: the actor's name at the peer.
            message: arrays in it are borrowed; they must never change.
            behind: whether it must come after everything that was sent before, large arrays too.

        Raises:
            UnavailableError: the link was lost.
            CancelledError: the link was closed at this end.
            InvalidArgumentError: the message does not travel.
        """
        self._send(Tell(target, message), bulk=behind)
        self._tells_sent += 1

    async def aclose(self, grace: float = STOP_GRACE) -> None:
        """End the link: what was written goes out, pending asks fail with ``CancelledError``.

        May be called again. Cancelling it drops what has not gone out.

        Args:
            grace: seconds for the peer to take what was written, and then for children to end.
        """
        self._end("it was closed here", ours=True)
        await self._connection.aclose(grace=grace)
        await self._children.stop(grace)

    async def wait_closed(self) -> OpError:
        """Wait until the link is over, and returns why; the deadline is the caller's."""
        await self._closed.wait()
        return self._over_error()

    def on_closed(self, callback: Callable[[OpError], None]) -> Callable[[], None]:
        """Register a callback for the end of the link.

        Args:
            callback: called once with the reason, when all pending asks have failed; if the link is
                over already, in the loop's next turn.

        Returns:
            A function that takes the callback back; it may be called again, and too late.
        """
        return self._watch(lambda: callback(self._over_error()))

    def statistics(self) -> LinkStatistics:
        """Return the counters at this moment."""
        seen = self._connection.statistics()
        return LinkStatistics(
            peer=self.peer_name,
            address=self.address,
            calls_sent=self._pending.sent,
            calls_received=self._service.calls,
            tells_sent=self._tells_sent,
            tells_received=self._service.tells,
            frames_sent=seen.frames_sent,
            frames_received=seen.frames_received,
            bytes_sent=seen.bytes_sent,
            bytes_received=seen.bytes_received,
            pending=len(self._pending),
            serving=len(self._service),
            over=None if self._over is None else self._over.message,
            held=self._service.held,
            waiting=self._room.waiting,
            send_buffer=seen.send_buffer,
        )

    # -- frames ----------------------------------------------------------------------------------

    async def _receive(self) -> None:
        try:
            for count in itertools.count(1):
                self._take(await self._connection.recv())
                if count % FRAMES_PER_TURN == 0:
                    await asyncio.sleep(0)
        except ConnectionClosed as exc:
            self._end(str(exc), ours=exc.by_us)
        except TransportError as exc:  # bytes that are no frame
            self._end(str(exc), ours=False, abort=True)
        except Exception as exc:
            logger.exception("the link to %s at %s: our own mistake", self.peer_name, self.address)
            self._end(f"handling what it sent failed: {exc!r}", ours=True, abort=True)

    def _take(self, frame: Frame) -> None:
        if self._over is not None:
            return
        try:
            envelope = decode(frame.header, frame.segments)
            self._takers[type(envelope)](envelope)
        except UnreadableMessage as exc:
            (self._pending if exc.answer else self._service).unreadable(exc)
        except (ProtocolError, ResourceExhaustedError) as exc:
            # What the peer counts on was not understood, or has no place: better no link than that.
            logger.error("closing the link to %s at %s: %s", self.peer_name, self.address, exc)
            self._end(f"what it sent could not be accepted: {exc.message}", ours=False, abort=True)

    def _send(self, envelope: Envelope, *, bulk: bool = False) -> None:
        if self._over is not None:
            raise self._over_error()
        header, segments = encode(envelope)
        bulk = bulk or bool(segments) or len(header) > _LONG_HEADER
        try:
            self._connection.write(Frame(header, segments), bulk=bulk)
        except ConnectionClosed as exc:
            self._end(str(exc), ours=exc.by_us)
            raise self._over_error() from exc
        except ValueError as exc:
            raise InvalidArgumentError(f"a {type(envelope).__name__} is too large: {exc}") from exc

    # -- signs of life ---------------------------------------------------------------------------

    def _schedule_tick(self) -> None:
        loop = asyncio.get_running_loop()
        self._tick = loop.call_later(self._lease.beat, self._on_tick)

    def _on_tick(self) -> None:
        seen = self._connection.statistics()
        look = self._lease.look(
            self._clock.now(), received=seen.bytes_received, sent=seen.frames_sent
        )
        why, work = self._vigil.judge(look, self._clock.now())
        if work is not None:
            _ = self._children.start(work, name=f"look after {self.peer_name}")
        if why is not None:
            self._end(why, ours=False, abort=True)
            return
        self._schedule_tick()
        if look.beat_due:
            try:
                self._send(_BEAT)
            except OpError:
                return  # the receive loop hears of it too

    # -- the end ---------------------------------------------------------------------------------

    def _end(self, reason: str, *, ours: bool, abort: bool = False) -> None:
        """End the link, once.

        Args:
            reason: completes "the link is over: ".
            ours: whether this end wanted it.
            abort: whether the connection has to be dropped; if not, it has ended or is about to.
        """
        if self._over is not None:
            return
        kind: type[OpError] = CancelledError if ours else UnavailableError
        place = f"the link to {self.peer_name} at {self.address}"
        # An end that we wanted is no error of the peer's task.
        self._over = kind(f"{place} is over: {reason}", task=None if ours else self.peer_name)
        if abort:
            self._connection.abort()
        if self._tick is not None:
            self._tick.cancel()
        self._pending.fail_all(self._over_error)
        self._service.cancel_all()
        self._closed.set()
        watchers, self._watchers = self._watchers, {}
        for callback in watchers.values():
            self._notify(callback)

    def _over_error(self, what: str = "") -> OpError:
        """Why the link is over, as a fresh error for one more caller."""
        assert self._over is not None  # asked for only then
        unanswered = f"; {what} has no answer" if what else ""
        return type(self._over)(self._over.message + unanswered, task=self._over.task)

    def _watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        if self._over is not None:
            handle = asyncio.get_running_loop().call_soon(self._notify, callback)
            return handle.cancel
        key = object()
        self._watchers[key] = callback

        def unregister() -> None:
            self._watchers.pop(key, None)

        return unregister

    def _notify(self, callback: Callable[[], None]) -> None:
        try:
            callback()
        except Exception:
            logger.exception("a callback for the end of the link to %s failed", self.peer_name)

    def __repr__(self) -> str:
        state = "open" if self._over is None else "over"
        return f"<Link {state} to {self.peer_name} at {self.address}, {len(self._pending)} pending>"


def _describe(target: str, message: Any) -> str:
    return f"{type(message).__name__} to {target!r}"
