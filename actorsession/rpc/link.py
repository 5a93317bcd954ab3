"""Links: calls in both directions over one connection, with one end that every waiter is notified of.

Servers make one ``Link`` per accepted connection, clients and workers one per peer that they dial; both
ends are alike. ``PendingCalls`` is its asking side and ``Service`` its answering side. ``Lease`` reports
when the peer has been silent for too long, and ``PeerMonitor`` whether it is lost or only busy. The link
itself handles the connection. It imports transports for that, and the codec of messages: above transports,
frames are read and written only here. ``Link`` is what others call; its parts here own what it consists of:
the end, the writing, the reading and the liveness of the peer.

Each envelope is handled in the call of the event loop that read it, and in order. A tell is delivered
synchronously. So is a call: if its handler needs no child, the reply is written before the next frame is
processed. What the handlers of one such call write leaves together.

Frames with large arrays go by the bulk lane of the connection, where small envelopes overtake them: a
heartbeat, a cancellation or the end of a step never waits behind an array. A cancellation may therefore
arrive before its call; the call is then not started. Tells and asks keep their order only among those
without large arrays.

Invariants: the link ends once, with a reason. At its end all pending asks fail, the handlers that serve the
peer are cancelled, and each callback is called once. Heartbeats and cancellations are written at once,
however many bytes are queued. Asks with arrays wait for a slow peer, one after the other; asks without
arrays wait only when there are too many of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial
from typing import Any

from actorsession.actors.deadline import DEFAULT_SECONDS, Deadline
from actorsession.actors.futures import chain
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
    from_exception,
)
from actorsession.graph.shared_arrays import provide
from actorsession.messages import (
    Beat,
    Call,
    Cancel,
    Envelope,
    Failure,
    Goodbye,
    Reply,
    Tell,
    UnreadableMessage,
    decode,
    encode,
    lost_message,
)
from actorsession.messages.step_frames import SHORT_STARTS, is_step_frame, read_ahead
from actorsession.metrics import LinkMetrics, ProcessTally
from actorsession.records import dataclass
from actorsession.rpc.backpressure import Backpressure
from actorsession.rpc.link_statistics import LinkStatistics
from actorsession.rpc.liveness.heartbeat_memory import HeartbeatLocation
from actorsession.rpc.liveness.lease import BEAT_SECONDS, LEASE_SECONDS, Lease
from actorsession.rpc.liveness.peer_monitor import PeerMonitor, ProbeFactory, probe_for
from actorsession.rpc.pending_calls import MAX_PENDING, PendingCalls
from actorsession.rpc.pushes import LONG_HEADER
from actorsession.rpc.service import Service
from actorsession.rpc.step_calls import StepCalls
from actorsession.terminal_text import visible
from transports import Buffer, Connection, ConnectionClosed, Frame, LostFrame, Place, TransportError, allocate_shared
from transports.event import Event
from transports.host import current_host

__all__ = ["Link", "LinkStatistics"]

# Bytes of a header above which it is decoded in a thread: the worst ones take a fifth of a microsecond for
# each byte, and a thread a tenth of a millisecond.
_READ_APART = 2**18

_BEAT = Beat()
# Beats from one measurement of the round trip to the next: with a beat of a second, two small frames in ten seconds.
_MEASURED_EVERY = 10
# Seconds between looks at whether the peer has answered one of too many runs.
_PAUSE = 0.005
# Seconds between looks at a process that closes its connections as it ends, which takes milliseconds.
_PAUSES = (0.001, 0.002, 0.005, 0.01, 0.03)
# Characters of a peer's reason for the end that are kept.
_WORDS = 500
# The part of the reader that handles an envelope, and how.
_HANDLERS: dict[type[Envelope], tuple[str, Callable[[Any, Any], None]]] = {
    Beat: ("_liveness", lambda liveness, beat: liveness.take(beat)),
    Call: ("_service", Service.call),
    Tell: ("_service", Service.tell),
    Reply: ("_pending", PendingCalls.replied),
    Failure: ("_pending", PendingCalls.failed),
    Cancel: ("_service", Service.cancel),
    Goodbye: ("_end", lambda end, goodbye: end.announce(goodbye.reason)),
}
# Makes a frame without a call of Python's, which the class would make.
_new = tuple.__new__

provide(allocate_shared, Place)

logger = logging.getLogger("actorsession.actors")


@dataclass(slots=True, eq=False)
class LinkEnd:
    """The end of a link, and the callbacks for it.

    Attributes:
        peer: the cluster task of the peer.
        error: the reason, once the link has ended.
        announced: what the peer has said about the end that follows.
    """

    _connection: Connection
    peer: str
    error: OpError | None = None
    announced: str | None = None
    _closed: Event = field(default_factory=Event, init=False)
    _watchers: dict[object, Callable[[], None]] = field(default_factory=dict, init=False)

    @property
    def who(self) -> str:
        """The peer with its address."""
        return f"{self.peer} at {self._connection.peer_address}"

    def announce(self, reason: str) -> None:
        """Keep what the peer says about the end that follows, the last time that it says it."""
        self.announced = visible(reason[:_WORDS])

    def set(self, reason: str, *, ours: bool, abort: bool = False) -> None:
        """End the link, once.

        Args:
            reason: why, as a sentence that names the peer.
            ours: whether this end caused it.
            abort: whether the connection has to be dropped; if not, it has ended or is about to.
        """
        if self.error is not None:
            return
        kind: type[OpError] = CancelledError if ours else UnavailableError
        if self.announced is not None and not ours:
            reason = f"{self.announced}: {reason}"
        # An end caused here is not an error of the peer's task.
        self.error = kind(reason, task=None if ours else self.peer)
        if abort:
            self._connection.abort()
        self._closed.set()
        watchers, self._watchers = self._watchers, {}
        for callback in watchers.values():
            self._notify(callback)

    def give_up(self, why: str, *, ours: bool = True) -> None:
        """End the link and drop its connection."""
        self.set(self.told(f"was given up: {why}"), ours=ours, abort=True)

    async def wait(self) -> None:
        """Wait until the link has ended."""
        await self._closed.wait()

    def told(self, how: str) -> str:
        """Return a sentence about the connection."""
        return f"the connection to {self.who} {how}"

    def for_caller(self, what: str = "") -> OpError:
        """Return a new error with the reason of the end, for one more caller."""
        assert self.error is not None  # called only after the end
        error = type(self.error)(self.error.message, task=self.error.task)
        if what:
            error.add_note(f"{what} has no answer")
        return error

    def watch(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Register a callback; see ``Link.on_closed``."""
        if self.error is not None:
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
            logger.exception("a callback for the end of the link to %s failed", self.peer)


@dataclass(slots=True, eq=False)
class LinkWriter:
    """What a link sends; a failure to write ends it."""

    _connection: Connection
    _end: LinkEnd

    def send(self, envelope: Envelope, *, bulk: bool = False) -> None:
        """Send an envelope; the errors are those of ``Link.tell``."""
        if self._end.error is not None:  # what is sent then need not be encoded
            raise self._end.for_caller()
        header, segments = encode(envelope)
        self.write(header, segments, type(envelope).__name__, bulk=bulk)

    @property
    def write_short(self) -> Callable[[bytes], bool]:
        """See ``FrameWriter.write_short``."""
        return self._connection.write_short

    @property
    def write_from_thread(self) -> Callable[[bytes], bool]:
        """See ``FrameWriter.write_from_thread``."""
        return self._connection.write_from_thread

    @property
    def lent(self) -> dict[int, object] | None:
        """See ``FrameWriter.lent``."""
        return self._connection.lent

    @property
    def reads_peer(self) -> bool:
        """See ``FrameWriter.reads_peer``."""
        return self._connection.reads_peer

    def write(self, header: bytes, segments: Sequence[Buffer], what: str = "step", *, bulk: bool = False) -> None:
        """Send a frame, which ``what`` names in errors; see ``send``."""
        if self._end.error is not None:
            raise self._end.for_caller()
        bulk = bulk or bool(segments) or len(header) > LONG_HEADER  # see is_bulky()
        try:
            self._connection.write(_new(Frame, (header, tuple(segments))), bulk=bulk)
        except ConnectionClosed as exc:
            self._end.set(str(exc), ours=exc.by_us)
            raise self._end.for_caller() from exc
        except ValueError as exc:
            raise InvalidArgumentError(f"a {what} is too large: {exc}") from exc
        except Exception as exc:
            if isinstance(exc, MemoryError) and bulk:  # nothing of it was written
                raise ResourceExhaustedError(f"no memory to send a {what} to {self._end.peer}") from exc
            # A part of the frame may have been written, or it is small: it may be an answer, and nothing
            # can be said any more.
            logger.exception("writing to %s has failed", self._end.who)
            self._end.give_up(f"writing to it failed: {exc!r:.200}")
            raise self._end.for_caller() from exc


@dataclass(slots=True, eq=False)
class LinkLiveness:
    """The heartbeats of a link, and the judgement of a peer that is silent or has closed the connection.

    Attributes:
        reads_apart: whether a thread decodes, and nothing is read meanwhile.
        round_trip: seconds from a heartbeat to its answer, as last measured; 0 before.
    """

    _connection: Connection
    _end: LinkEnd
    _writer: LinkWriter
    _children: Children  # own the probes of the peer
    _lease: Lease
    _monitor: PeerMonitor
    _now: Callable[[], float]
    reads_apart: bool = False
    round_trip: float = 0.0
    _looks_apart: int = 0
    _looks: int = 0
    _asked: tuple[int, float] = (0, 0.0)  # the number of the heartbeat that asks for an answer, and when it was sent
    _tick: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Look after the peer from now on, on the running event loop."""
        self._tick = asyncio.get_running_loop().call_later(self._lease.beat, self._on_tick)

    def stop(self) -> None:
        """Look no more."""
        if self._tick is not None:
            self._tick.cancel()

    def _on_tick(self) -> None:
        try:
            is_alive = self._look()
        except Exception:  # else nobody would notice the loss of the peer any more
            logger.exception("looking after the link to %s has failed", self._end.peer)
            is_alive = True
        if is_alive and self._end.error is None:
            self.begin()

    def _look(self) -> bool:
        """Judge whether the peer lives, and let it know that this end does; return whether to go on."""
        seen = self._connection.statistics()
        self._looks_apart += self.reads_apart  # a peer that is not read from is not silent
        heard = seen.bytes_received + self._looks_apart
        look = self._lease.look(self._now(), received=heard, sent=seen.frames_sent)
        why, work = self._monitor.judge(look, self._now())
        if work is not None:
            _ = self._children.start(work, name=f"probe {self._end.peer}")
        if why is not None:
            with suppress(OpError):  # a peer that only stood still goes on, and hears that it did
                self._writer.send(Goodbye(f"{self._end.peer}: {why}"))
            given_up = f"the connection to it at {self._connection.peer_address} was given up"
            self._end.set(f"{self._end.peer}: {why}; {given_up}", ours=False, abort=True)
            return False
        measures = self._looks % _MEASURED_EVERY == 0
        self._looks += 1
        if measures:
            self._asked = (self._looks, self._now())
        if look.beat_due or measures:
            try:
                self._writer.send(Beat(asks=self._looks) if measures else _BEAT)
            except (UnavailableError, CancelledError):
                return False  # connection_ended gets the same error
        return True

    def take(self, beat: Beat) -> None:
        """Answer a heartbeat that asks for it, unless the peer does not read its answers, and take an answer."""
        if beat.asks and not self._connection.congested:
            with suppress(UnavailableError, CancelledError):
                self._writer.send(Beat(answers=beat.asks))
        number, sent = self._asked
        if number and beat.answers == number:
            self._asked = (0, 0.0)
            self.round_trip = self._now() - sent
            current_host().own(ProcessTally).round_trips.observe(self.round_trip)

    def connection_ended(self, error: Exception) -> None:
        """End the link whose connection has ended, or cannot be read from any more."""
        if isinstance(error, ConnectionClosed) and not error.by_us and self._end.announced is None:
            self._end_with_process(str(error), self._monitor.fate())
        elif isinstance(error, ConnectionClosed):
            self._end.set(str(error), ours=error.by_us)
        elif isinstance(error, TransportError):  # bytes that are not a frame
            self._end.give_up(str(error), ours=False)
        else:  # raised by the reader
            logger.error("the link to %s: our own mistake", self._end.who, exc_info=error)
            self._end.give_up(f"handling a message from it failed: {error!r}")

    def _end_with_process(self, reason: str, fate: str | None) -> None:
        """End the link whose peer has closed it, with the end of its process, if that is known."""
        if fate == "":  # the connections of a process are closed before its end
            work = self._await_process(reason)
            _ = self._children.start(work, name=f"end of the process of {self._end.peer}")
            return
        who = f"{self._end.peer} (pid {self._connection.peer.pid}) {fate}: " if fate else ""
        self._end.set(f"{who}{reason}", ours=False)

    async def _await_process(self, reason: str) -> None:
        fate: str | None = ""
        for pause in _PAUSES:
            await asyncio.sleep(pause)
            fate = self._monitor.fate()
            if fate != "":
                break
        self._end_with_process(reason, fate or None)


@dataclass(slots=True, eq=False)
class LinkReader:
    """What a link receives: finds the part that handles a frame; one that cannot be read ends the link."""

    _connection: Connection
    _end: LinkEnd
    _liveness: LinkLiveness
    _steps: StepCalls
    _pending: PendingCalls
    _service: Service

    def dispatch(self, frame: Frame, handle: Callable[[], None] | None = None) -> None:
        """Handle a frame, by a call of ``handle`` if it was decoded elsewhere."""
        if self._end.error is not None:
            return
        try:
            header, segments = frame
            if handle is not None:
                handle()
                return
            if len(header) > _READ_APART:
                self._read_apart(frame)
                return
            if header[:2] in SHORT_STARTS or is_step_frame(header):
                self._steps.receive(header, segments)
                return
            if type(frame) is LostFrame:
                self._on_lost(frame)
                return
            self._handle(decode(header, segments))
        except UnreadableMessage as exc:
            (self._pending if exc.answer else self._service).unreadable(exc)
        except (ProtocolError, ResourceExhaustedError, MemoryError) as exc:
            # The peer relies on something that was not understood or not accepted; ending the link is
            # safer.
            logger.error("closing the link to %s: %s", self._end.who, exc)
            reason = from_exception(exc).message
            self._end.give_up(f"a message from it could not be accepted: {reason}", ours=False)

    def _on_lost(self, frame: LostFrame) -> None:
        """Fail what a frame was about for which there was no memory, and nothing else.

        Raises:
            OpError: it was about the link.
        """
        what = f"no memory for the {frame.nbytes} bytes of a message from "
        logger.warning("%s%s", what, self._end.who)
        error = ResourceExhaustedError(what + self._end.peer)
        if is_step_frame(frame.start):
            self._steps.lost(frame.start, error)
        else:
            raise lost_message(frame.start, error)

    def _handle(self, envelope: Envelope) -> None:
        part, handle = _HANDLERS[type(envelope)]
        handle(getattr(self, part), envelope)

    def _read_apart(self, frame: Frame) -> None:
        """Decode a long header in a thread; the frames behind it wait, as if they had not arrived."""
        loop = asyncio.get_running_loop()
        header, segments = frame

        def read() -> Callable[[], None]:
            try:
                if is_step_frame(header):
                    wire = None
                    with suppress(MemoryError):  # receive() tries again, and fails the run alone
                        wire = read_ahead(header)
                    return partial(self._steps.receive, header, segments, wire)
                return partial(self._handle, decode(header, segments))
            except Exception as exc:
                return partial(_raise, exc)

        def work() -> None:
            handle = read()
            with suppress(RuntimeError):  # the loop is closed, so nobody waits
                loop.call_soon_threadsafe(self._go_on, frame, handle)

        self._connection.pause()
        self._liveness.reads_apart = True
        try:
            current_host().processes.start_thread(work, "actorsession-decoding")
        except RuntimeError:  # there can be no more threads
            work()

    def _go_on(self, frame: Frame, handle: Callable[[], None]) -> None:
        """Handle a frame that was decoded in a thread, and then those that have arrived behind it."""
        try:
            with self._connection.hold_writes():
                self.dispatch(frame, handle)
        except Exception as error:
            self._liveness.connection_ended(error)
        finally:
            self._liveness.reads_apart = False
            self._connection.resume()


class Link:
    """Asks and tells between this process and one peer.

    All methods must be called on the event loop of the connection; ``must_wait``,
    ``threads_may_write`` and ``steps.run_from_thread`` may be used in any thread.

    Attributes:
        peer: the hello of the other end, including its incarnation.
        peer_name: the cluster task of the other end.
        address: the address of the other end.
        steps: the runs of step programs and the pushed values.

    Args:
        connection: the connection that carries the link, which owns it from now on.
        serves: target name to the actor that serves it; looked up for each call, so it may change.
        peer_name: cluster task of the other end, for errors; by default the one of its hello.
        beat: maximum seconds between heartbeats; a peer may request shorter intervals.
        lease: seconds of silence after which the peer is declared lost, unless it is found to be busy.
        watch: makes the probe that checks whether a silent peer is alive; by default through this host's
            operating system, or through the peer's sidecar without a token.

    Raises:
        InvalidArgumentError: the lease is shorter than two beats.
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
    ) -> None:
        self.peer_name = peer_name if peer_name is not None else connection.peer.task
        self.peer = connection.peer
        self.address = connection.peer_address
        self._connection = connection
        self._children = Children(f"link to {self.peer_name}")
        # Not cancelled at the end of the link, which they report to their callers.
        self._waiting_asks = Children(f"waiting asks to {self.peer_name}")
        self._end = LinkEnd(connection, self.peer_name)
        self._writer = LinkWriter(connection, self._end)
        send = self._writer.send
        now = current_host().clock.monotonic
        # A peer with a shorter lease requests more frequent heartbeats.
        often = min(beat, HeartbeatLocation.parse(connection.peer.pulse).beat or beat)
        self._liveness = LinkLiveness(
            connection,
            self._end,
            self._writer,
            self._children,
            Lease(beat=often, lease=lease, now=now()),
            PeerMonitor(watch(connection, often, lease), often, self._end.who),
            now,
        )
        self._pending = PendingCalls(self.peer_name, self.address, send)
        self._backpressure = Backpressure(connection, self._pending)
        self.steps = StepCalls(self.peer_name, self._writer, self._backpressure, self._children)
        self._service = Service(
            serves,
            peer=self.peer_name,
            address=self.address,
            send=send,
            watch=self._end.watch,
            children=self._children,
            programs=self.steps.served,
        )
        self.steps.served.on_plan = self._service.plan
        self.steps.pushes.on_push = partial(self._service.pushed, self.steps.pushes)
        self.steps.pushes.on_lost = self._service.push_lost
        self._reader = LinkReader(connection, self._end, self._liveness, self.steps, self._pending, self._service)
        self._running = self._was_dropped = False
        self._tells_sent = 0
        _ = self._end.watch(self._release)
        current_host().own(ProcessTally).add_link(self)

    @property
    def closed(self) -> bool:
        """Whether the link has ended."""
        return self._end.error is not None

    @property
    def backlogged(self) -> bool:
        """Whether so many bytes are unsent that their producers should pause."""
        return self._end.error is None and self._backpressure.is_backlogged()

    @property
    def unsent(self) -> int:
        """How many bytes were written that have not left this process."""
        return self._connection.unsent

    @property
    def must_wait(self) -> bool:
        """Whether a run of a step program would have to wait before it is sent, or the link has ended."""
        return (
            self._end.error is not None
            or self.steps.pending >= MAX_PENDING
            or self._backpressure.waiting > 0
            or self._connection.congested
        )

    async def wait_to_run(self, deadline: Deadline) -> None:
        """Wait until it is the turn of a run to be sent, if it has to wait, or the link has ended.

        The run must be sent before anything is awaited.

        Raises:
            DeadlineExceededError: that took too long.
        """
        if self._end.error is None and self.must_wait:
            what = f"{self.peer_name} at {self.address} to read on, before the next ask"
            with suppress(ConnectionClosed):
                await deadline.wait(self._backpressure.wait(), what=what)
        # Only clients that allow themselves more steps than the peer takes come here.
        while self._end.error is None and self.steps.pending >= MAX_PENDING:
            await deadline.wait(asyncio.sleep(_PAUSE), what=f"an answer of {self.peer_name}")

    @property
    def threads_may_write(self) -> bool:
        """Whether ``steps.run_from_thread`` can request a run now, as far as can be seen."""
        return self._connection.threads_may_write

    def open_to_threads(self) -> None:
        """Let ``steps.run_from_thread`` request runs, where the connection can; may be called again."""
        self._connection.open_to_threads()

    async def drain(self) -> None:
        """Wait while the link is backlogged; return when it has ended."""
        if not await self._backpressure.drain():
            await self._end.wait()  # which follows the end of the connection

    async def run(self) -> None:
        """Receive until the link has ended; awaited once, by the owner of the link.

        A lost peer does not raise here: asks, callbacks and ``wait_closed`` report it. Cancelling the call
        ends the link.

        Raises:
            RuntimeError: the link is running already.
        """
        if self._running:
            raise RuntimeError(f"{self!r} is run by somebody already")
        self._running = True
        self._liveness.begin()
        try:
            self._connection.deliver(self._reader.dispatch, self._liveness.connection_ended)
            await self._end.wait()
            if self._was_dropped:
                await self._children.stop()
                # Not at once: that resets the connection if something of the peer is unread, and a peer that writes
                # then may never read why.
                await self._connection.aclose()
        finally:
            self._end.give_up("its receive loop was cancelled")
            if self._was_dropped:
                self._connection.abort()
            await self._children.stop()

    async def ask(self, target: str, message: Any, deadline: Deadline | None = None) -> Any:
        """Send a message to an actor of the peer and return the answer.

        If the peer reads slowly, the call waits for it before sending. Cancelling the call cancels the
        handler at the peer, without waiting for that.

        Args:
            target: the actor's name at the peer.
            message: the message. Arrays in it are borrowed until the answer has come. If the call ends
                otherwise they may still be in transit, and must not change any more.
            deadline: the end of the wait; by default 30 s from now. The message carries the time left.

        Returns:
            The reply; arrays in it belong to the caller.

        Raises:
            DeadlineExceededError: the deadline came first; the error names peer, address, actor and
                message.
            UnavailableError: the link was lost, before or during the call.
            CancelledError: the link was closed at this end.
            InvalidArgumentError: the message class has no reply, or the message cannot be encoded.
            OpError: the error that the handler raised, with the peer's task.
        """
        if deadline is None:
            deadline = Deadline.after(DEFAULT_SECONDS)
        return await self.submit(target, message, deadline)

    def submit(self, target: str, message: Any, deadline: Deadline) -> asyncio.Future[Any]:
        """Send a message to an actor of the peer, and return a future of the answer; see ``ask``.

        Cancelling the future cancels the handler at the peer.

        Raises:
            OpError: an error that is known before the message is sent.
        """
        if self._end.error is not None:
            raise self._end.for_caller(_describe(target, message))
        if deadline.expired:
            raise DeadlineExceededError(
                f"{_describe(target, message)} was not sent to {self.peer_name} at {self.address}: its deadline is over"
            )
        if not self._backpressure.must_wait(message):
            return self._pending.submit(target, message, deadline)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        later = self._ask_later(target, message, deadline)
        waiting = self._waiting_asks.start(later, name=f"ask {self.peer_name}", awaited=True)
        waiting.add_done_callback(partial(self._gave_up, answer, _describe(target, message)))
        chain(waiting, answer)
        answer.add_done_callback(lambda _: waiting.cancel())
        return answer

    def _gave_up(self, answer: asyncio.Future[Any], what: str, waiting: asyncio.Task[Any]) -> None:
        """Fail an ask that was cancelled while it waited, and not by its caller: ``aclose`` waits for none of them."""
        if waiting.cancelled() and not answer.done() and self._end.error is not None:
            answer.set_exception(self._end.for_caller(what))

    async def _ask_later(self, target: str, message: Any, deadline: Deadline) -> Any:
        """Wait until the peer reads on, then ask."""
        try:
            what = f"{self.peer_name} at {self.address} to read on, before the next ask"
            await deadline.wait(self._backpressure.wait(), what=what)
        except ConnectionClosed as exc:
            self._end.set(str(exc), ours=exc.by_us)
            raise self._end.for_caller(_describe(target, message)) from exc
        if self._end.error is not None:
            raise self._end.for_caller(_describe(target, message))
        return await self._pending.submit(target, message, deadline)

    def tell(self, target: str, message: Any, *, ordered: bool = False) -> None:
        """Send a message without an answer to an actor of the peer, without blocking.

        Args:
            target: the actor's name at the peer.
            message: the message; arrays in it are borrowed and must never change.
            ordered: whether it must arrive after everything that was sent before, including large arrays.

        Raises:
            UnavailableError: the link was lost.
            CancelledError: the link was closed at this end.
            InvalidArgumentError: the message cannot be encoded.
        """
        self._writer.send(Tell(target, message), bulk=ordered)
        self._tells_sent += 1

    def say_goodbye(self, reason: str) -> None:
        """Tell the peer why the connection is going to end at this end, if it can still be told."""
        with suppress(OpError):
            self._writer.send(Goodbye(reason))

    async def aclose(self, grace: float = STOP_GRACE) -> None:
        """End the link: send what was written, and fail pending asks with ``CancelledError``.

        The method may be called again. Cancelling it drops what is not sent yet.

        Args:
            grace: seconds for the peer to receive what was written, and then for children to end.
        """
        self._end.set(self._end.told("was closed here"), ours=True)
        await self._connection.aclose(grace=grace)
        await self._children.stop(grace)
        await self._waiting_asks.stop(grace)

    def drop(self, why: str) -> None:
        """End the link to a peer whose process is gone, or is to be: pending asks fail with ``UnavailableError``.

        Args:
            why: how that is known, as a sentence, which a peer that lives is told.
        """
        self.say_goodbye(why)
        if not self.closed:
            self._was_dropped = True  # so ``run`` ends the connection
            self._end.set(self._end.told(f"was given up: {why}"), ours=False)

    def abandon(self) -> None:
        """Drop the connection when its loop has ended, which calls nobody any more; on any thread."""
        with suppress(RuntimeError):
            self._end.give_up("its event loop has ended")
        self._connection.abandon()

    async def wait_closed(self) -> OpError:
        """Wait without a deadline until the link has ended, and return the reason."""
        await self._end.wait()
        return self._end.for_caller()

    def on_closed(self, callback: Callable[[OpError], None]) -> Callable[[], None]:
        """Register a callback for the end of the link.

        Args:
            callback: called once with the reason, when all pending asks have failed; if the link has ended
                already, in the next iteration of the event loop.

        Returns:
            A function that unregisters the callback; it may be called again, and after the end.
        """
        return self._end.watch(lambda: callback(self._end.for_caller()))

    def statistics(self) -> LinkStatistics:
        """Return the current counters."""
        seen = self._connection.statistics()
        return LinkStatistics(
            peer=self.peer_name,
            address=self.address,
            calls_sent=self._pending.sent + self.steps.sent,
            calls_received=self._service.calls + self.steps.served.received,
            tells_sent=self._tells_sent + self.steps.pushes.sent,
            tells_received=self._service.tells + self.steps.pushes.received,
            frames_sent=seen.frames_sent,
            frames_received=seen.frames_received,
            bytes_sent=seen.bytes_sent,
            bytes_received=seen.bytes_received,
            pending=len(self._pending) + self.steps.pending,
            serving=len(self._service) + len(self.steps.served),
            over=None if self._end.error is None else self._end.error.message,
            held=self.steps.served.held,
            waiting=self._backpressure.waiting,
            send_buffer=seen.send_buffer,
            bulk_bytes_sent=seen.bulk_bytes_sent,
            bulk_bytes_received=seen.bulk_bytes_received,
            shared_bytes_sent=seen.shared_bytes_sent,
            shared_bytes_received=seen.shared_bytes_received,
            round_trip=self._liveness.round_trip,
        )

    def metrics(self) -> LinkMetrics:
        """Return the counters of the link for those of the process."""
        seen = self._connection.statistics()
        return LinkMetrics(
            links_opened=1,
            messages_sent=seen.frames_sent,
            messages_received=seen.frames_received,
            bytes_sent=seen.bytes_sent,
            bytes_received=seen.bytes_received,
        )

    def _release(self) -> None:
        self._liveness.stop()
        self._pending.fail_all(self._end.for_caller)
        self.steps.end(self._end.for_caller)
        self._service.cancel_all()
        current_host().own(ProcessTally).end_link(self)

    def __repr__(self) -> str:
        state = "open" if self._end.error is None else "over"
        return f"<Link {state} to {self.peer_name} at {self.address}, {len(self._pending)} pending>"


def _raise(error: Exception) -> None:
    raise error


def _describe(target: str, message: Any) -> str:
    return f"{type(message).__name__} to {target!r}"
