"""The streams of the simulated network: two ends with a pipe in each direction, and asyncio transports over them.

A ``StreamEnd`` is what the kernel of a machine holds of a stream: bytes that have arrived and were not read, and
what is known of the peer's end. A ``SimulatedTransport`` is what a process has of it, with the behaviour of asyncio's
transports of sockets. A ``Pipe`` carries what one end sends in segments, split, delayed and joined as the seed says,
in order. ``network`` makes the ends. Imports ``transports.host`` for nothing but types.

Invariants: a pipe delivers every byte that it takes once and in order, unless the stream is broken, of which nothing
arrives afterwards. A process is called in its own context, by callbacks of the loop; the kernel acts beside it.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
import os
import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from actorsession.testing.simulation.network import SimulatedNetwork, SimulatedSocket

__all__ = ["NetworkStatistics", "Pipe", "SimulatedTransport", "StreamEnd", "Way", "refusal"]

# Seconds from one machine to another, and to itself: those of a local network. One segment in a hundred takes as
# long as a queue in a switch.
_FAR, _NEAR, _QUEUE, _QUEUED = 1e-4, 1e-5, 0.02, 0.01
# How often a write is split in two to four segments, and how often a segment waits for those behind it, and how long.
_SPLIT, _JOIN, _JOIN_WAIT = 0.15, 0.1, 1e-3
# Bytes of a segment of tcp, where that matters.
_SEGMENT = 1448
# Bytes of one direction of a stream that the network takes before they are read; drawn for each.
_CAPACITIES = (2**14, 2**16, 2**18, 2**21)
# What a read returns at most, as asyncio's.
_READ = 2**18
# How often tcp gives up what is not acknowledged, and after how many seconds; Linux does after a quarter of an hour.
_GIVES_UP, _PATIENCE = 0.2, (20.0, 120.0)
# How often a reset discards what has arrived and was not read: Linux keeps it, other systems do not.
_FORGETS = 0.5

_FIN: Final = "FIN"
_RST: Final = "RST"


@dataclass(slots=True)
class NetworkStatistics:
    """What a network has done so far.

    Attributes:
        connections: streams that were established.
        refused: attempts to connect that were.
        writes: calls by which bytes left a transport.
        segments: parts in which they travelled.
        splits: writes that travelled in several.
        joins: reads of bytes of several segments.
        nbytes: bytes that were read.
        resets: ends of a stream that were told to be resets.
        held: segments that waited for a parted way.
        lost: bytes that never arrived.
    """

    connections: int = 0
    refused: int = 0
    writes: int = 0
    segments: int = 0
    splits: int = 0
    joins: int = 0
    nbytes: int = 0
    resets: int = 0
    held: int = 0
    lost: int = 0


class Way:
    """The way from one machine to another; ``held`` goes on when it is open again."""

    __slots__ = ("bandwidth", "busy_until", "held", "is_parted", "jitter", "near", "seconds")

    def __init__(self, *, near: bool) -> None:
        self.near = near
        self.is_parted = False
        self.seconds = self.jitter = self.bandwidth = self.busy_until = 0.0
        self.held: list[Callable[[], None]] = []

    def delay(self, draw: random.Random) -> float:
        """Return the seconds that a segment takes."""
        delay = (_NEAR if self.near else _FAR) * (0.5 + draw.random())
        if draw.random() < _QUEUED:
            delay += _QUEUE * draw.random()
        return delay + self.seconds + self.jitter * draw.random()


class Pipe:
    """One direction of a stream: the segments that are under way."""

    __slots__ = (
        "_draw",
        "_is_scheduled",
        "_last",
        "_late",
        "_network",
        "_queue",
        "_way",
        "capacity",
        "is_dead",
        "late_by",
        "nbytes",
        "to",
    )

    def __init__(self, network: SimulatedNetwork, way: Way, draw: random.Random, to: StreamEnd) -> None:
        self._network = network
        self._way = way
        self._draw = draw
        self._queue: deque[tuple[float, bytes | str]] = deque()
        self._last = 0.0
        self._is_scheduled = False
        self.to = to
        self.capacity = draw.choice(_CAPACITIES)
        self.nbytes = 0  # under way
        self.is_dead = False  # what goes in is lost
        self.late_by = 0.0  # seconds by which the kernel sends later, whatever becomes of the process
        self._late: tuple[int, float, Callable[[], object]] | None = None

    def hold(self, writes: int, seconds: float, then: Callable[[], object]) -> None:
        """Send all from the n-th write on later, and do something beside all hosts when that is written."""
        self._late = writes, seconds, then

    @property
    def room(self) -> int:
        """How many bytes the network takes."""
        return self.capacity - self.nbytes - self.to.unread

    def send(self, data: bytes) -> None:
        """Take bytes, in one segment or several."""
        statistics, draw = self._network.statistics, self._draw
        statistics.writes += 1
        self.nbytes += len(data)
        if self._late is not None:
            writes, seconds, then = self._late
            self._late = (writes - 1, seconds, then) if writes > 1 else None
            if self._late is None:
                self._network.note(f"{self.to.peer.text} is held for {seconds:g} s")
                self.late_by = seconds
                self._network.later(0.0, then)
        places: Iterable[int] = ()
        if self._way.bandwidth:  # a narrow way takes its time for each segment, of which tcp makes small ones
            places = range(_SEGMENT, len(data), _SEGMENT)
        elif len(data) > 1 and draw.random() < _SPLIT:
            places = sorted({draw.randrange(1, len(data)) for _ in range(draw.randint(1, 3))})
        if places:
            statistics.splits += 1
            for begin, end in zip([0, *places], [*places, len(data)], strict=True):
                self._put(data[begin:end], end - begin)
        else:
            self._put(data, len(data))

    def mark(self, what: str) -> None:
        """Send the end of this direction, or a reset."""
        self._put(what, 0)

    def _put(self, what: bytes | str, size: int) -> None:
        if self.is_dead:
            self._network.statistics.lost += size
            return
        network, way, draw = self._network, self._way, self._draw
        network.statistics.segments += 1
        now = network.loop.now
        when = now + way.delay(draw) + self.late_by
        if draw.random() < _JOIN:
            when += _JOIN_WAIT * draw.random()
        if way.bandwidth:
            way.busy_until = max(way.busy_until, now) + size / way.bandwidth
            when += way.busy_until - now
        self._last = when = max(when, self._last)
        self._queue.append((when, what))
        if not self._is_scheduled:
            self._schedule(when - now)

    def _schedule(self, seconds: float) -> None:
        self._is_scheduled = True
        self._network.later(seconds, self._arrive)

    def _arrive(self) -> None:
        """Deliver all segments that are due."""
        self._is_scheduled = False
        network, queue = self._network, self._queue
        if not queue:
            return
        if self._way.is_parted:
            network.statistics.held += len(queue)
            self._way.held.append(self._resume)
            self._is_scheduled = True
            if self._draw.random() < _GIVES_UP:
                network.later(self._draw.uniform(*_PATIENCE), self._give_up, queue[0])
            return
        now = network.loop.now
        while queue and queue[0][0] <= now:
            what = queue.popleft()[1]
            if isinstance(what, bytes):
                self.nbytes -= len(what)
            if not self.to.arrived(what):
                return  # the machine is gone, or the stream
        if queue:
            self._schedule(queue[0][0] - now)

    def _resume(self) -> None:
        """Go on after a part, from now."""
        self._is_scheduled = False
        now = self._network.loop.now
        if self._queue:
            self._queue = deque((max(when, now), what) for when, what in self._queue)
            self._arrive()

    def _give_up(self, first: tuple[float, bytes | str]) -> None:
        """End the sender's side, if the same segment is still held."""
        if self._queue and self._queue[0] is first and self._way.is_parted:
            self.to.peer.give_up()

    def lose(self) -> None:
        """Lose what is under way and all that follows."""
        self._lose_from(0)
        self.is_dead = True

    def lose_some(self) -> None:
        """Lose what is under way from a drawn segment on, as it had to be sent again and nobody does."""
        self._lose_from(self._draw.randint(0, len(self._queue)))

    def _lose_from(self, index: int) -> None:
        while len(self._queue) > index:
            what = self._queue.pop()[1]
            if isinstance(what, bytes):
                self.nbytes -= len(what)
                self._network.statistics.lost += len(what)


class StreamEnd:
    """One end of a stream, as the kernel of its machine holds it.

    Args:
        context: that of the callbacks of its process.
        number: of the stream.
        sock: what its process gets as its socket.

    Attributes:
        context: that of the callbacks of its process.
        sock: what its process gets as its socket.
        waits_at: the socket at which it waits to be accepted.
        transport: what the process has of it, from ``connection_made`` on.
        unread: bytes that have arrived and were not read.
        error: what the process sees when it has read all.
        peer: the other end.
        out: the direction to it.
        text: what that is called in the trace.
    """

    peer: StreamEnd
    out: Pipe
    text: str

    def __init__(self, context: contextvars.Context, number: int, sock: SimulatedSocket) -> None:
        self.machine = machine = sock.machine
        self.network = machine.network
        self.context = context
        self.sock = sock
        self.waits_at: SimulatedSocket | None = None
        self.transport: SimulatedTransport | None = None
        self.unread = 0
        self.error: OSError | None = None
        self._number = number
        self._incoming: deque[memoryview] = deque()
        self._has_fin = False
        self._has_sent_fin = False
        self._is_open = True
        machine.ends[self] = None

    def join(self, peer: StreamEnd) -> None:
        """Connect this end, which has dialled, with the other one."""
        draw = self.network.loop.random(f"stream {self._number}")
        for end, other in ((self, peer), (peer, self)):
            end.peer = other
            end.text = f"#{self._number} {end.machine.name} > {other.machine.name}"
            end.out = Pipe(self.network, self.network.way(end.machine.name, other.machine.name), draw, other)

    # -- what a process asks for -----------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether a process has it, or will."""
        return self._is_open

    @property
    def has_news(self) -> bool:
        """Whether a read returns at once."""
        return bool(self._incoming) or self._has_fin or self.error is not None

    def receive_into(self, buffer: memoryview) -> int:
        """Move bytes that have arrived into a buffer; return how many, 0 at the end.

        Raises:
            OSError: The stream is broken.
        """
        incoming, taken, pieces = self._incoming, 0, 0
        if not incoming and self.error is not None:
            raise self.error
        while incoming and taken < len(buffer):
            piece = incoming.popleft()
            count = min(len(piece), len(buffer) - taken)
            buffer[taken : taken + count] = piece[:count]
            if count < len(piece):
                incoming.appendleft(piece[count:])
            taken += count
            pieces += 1
        self.unread -= taken
        statistics = self.network.statistics
        statistics.nbytes += taken
        statistics.joins += pieces > 1
        if taken and self.peer.transport is not None and self.peer.transport.get_write_buffer_size():
            self._acknowledge()
        return taken

    def _acknowledge(self) -> None:
        """Tell the peer that there is room."""
        way = self.network.way(self.machine.name, self.peer.machine.name)

        def arrive() -> None:
            if way.is_parted:
                way.held.append(arrive)
            else:
                self.peer.notify_writer()

        self.network.later(way.delay(self.machine.draw), arrive)

    def send(self, data: bytes | bytearray | memoryview) -> int:
        """Pass bytes to the network; return how many it has taken.

        Raises:
            OSError: The stream is broken.
        """
        if self.error is not None:
            raise self.error
        taken = min(len(data), max(self.out.room, 0))
        if taken:
            self.out.send(bytes(memoryview(data)[:taken]))
        return taken

    def shut_down(self) -> None:
        """End this direction."""
        if not self._has_sent_fin:
            self._has_sent_fin = True
            self.out.mark(_FIN)

    def close(self) -> None:
        """End both directions; what was not read makes it a reset, as in every kernel."""
        if self._leave() and self.error is None:
            if self.unread:
                self.out.lose_some()
                self.out.mark(_RST)
            else:
                self.shut_down()

    def reset(self) -> None:
        """End both directions at once."""
        if self._leave():
            self.out.mark(_RST)

    def _leave(self) -> bool:
        """Note the end; return whether it is the first."""
        was_open, self._is_open = self._is_open, False
        self.machine.ends.pop(self, None)
        return was_open

    # -- what happens to it ----------------------------------------------------------------------------

    def arrived(self, what: bytes | str) -> bool:
        """Take a segment; return whether others may follow."""
        if not self._is_open:
            return self._arrived_late(what)
        if what == _RST:
            self.network.note(f"{self.peer.text} RST")
            # As Linux has it: who knows of the end, and sends all the same, has a broken pipe.
            gone = refusal(BrokenPipeError, errno.EPIPE)
            self.broken(gone if self._has_fin else refusal(ConnectionResetError, errno.ECONNRESET))
            return False
        if what == _FIN:
            self.network.note(f"{self.peer.text} FIN")
            self._has_fin = True
        else:
            self.network.note(f"{self.peer.text} {len(what)} B")
            self._incoming.append(memoryview(cast(bytes, what)))
            self.unread += len(what)
        self._notify_reader()
        return True

    def _arrived_late(self, what: bytes | str) -> bool:
        """Take a segment that no process can read."""
        size = len(what) if isinstance(what, bytes) else 0
        self.network.statistics.lost += size
        if not self.machine.is_gone:
            return self._answer_late(what)
        self.unread += size  # never acknowledged
        self.machine.unanswered.append(lambda: self._answer_late(what))
        if self.machine.draw.random() < _GIVES_UP:
            self.network.later(self.machine.draw.uniform(*_PATIENCE), self._not_acknowledged)
        return True

    def _answer_late(self, what: bytes | str) -> bool:
        """Reset the peer, unless the segment is the last one of a stream that has ended; return whether it goes on."""
        is_last = what == _RST or (what == _FIN and self._has_sent_fin)
        if not is_last:
            self.out.mark(_RST)
        return is_last

    def _not_acknowledged(self) -> None:
        if self.machine.is_gone:
            self.peer.give_up()

    def give_up(self) -> None:
        """End, because what was sent is not acknowledged."""
        if self._is_open and self.error is None:
            self.network.note(f"{self.text} gives up")
            self.broken(refusal(TimeoutError, errno.ETIMEDOUT))

    def broken(self, error: OSError) -> None:
        """End, because of an error that the process sees when it next reads or writes."""
        if not self._is_open or self.error is not None:
            return
        self.network.statistics.resets += 1
        self.error = error
        self.out.lose()
        if self.machine.draw.random() < _FORGETS:
            self._incoming.clear()
            self.unread = 0
        self._notify_reader()
        self.notify_writer()

    def cut(self, *, silent: bool) -> None:
        """Lose what is under way from here and all that follows; unless it is silent, be reset at a drawn time."""
        self.out.lose()
        if not silent:
            way = self.network.way(self.peer.machine.name, self.machine.name)
            error = refusal(ConnectionResetError, errno.ECONNRESET)
            self.network.later(way.delay(self.machine.draw), self.broken, error)

    def process_died(self, *, closes: bool) -> None:
        """Go on without a process: let the kernel close it, or forget it and some of what was under way."""
        if self.transport is not None:
            self.transport.forget()
        if closes:
            self.close()
        elif self._leave() and not self.out.late_by:
            self.out.lose_some()

    def _notify_reader(self) -> None:
        if self.transport is not None:
            self.transport.look()

    def notify_writer(self) -> None:
        """Have the process send what has waited for room."""
        if self._is_open and self.transport is not None and self.transport.get_write_buffer_size():
            self.network.loop.call_soon(self.transport.send_more, context=self.context)


class SimulatedTransport(asyncio.Transport):
    """What a process has of a stream; it behaves as asyncio's transports of sockets do.

    Args:
        end: the end of the stream.
        protocol: its first protocol.
    """

    def __init__(self, end: StreamEnd, protocol: asyncio.BaseProtocol) -> None:
        super().__init__({"socket": end.sock, "sockname": end.sock.getsockname(), "peername": end.sock.getpeername()})
        self._end = end
        self._loop = end.network.loop
        self._protocol = protocol
        self._buffer = bytearray()
        self._high, self._low = 2**16, 2**14
        self._is_paused = False
        self._protocol_is_paused = False
        self._is_closing = False
        self._has_ended = False  # connection_lost is scheduled
        self._eof = False
        self._has_read_eof = False
        self._is_scheduled = False

    def begin(self) -> None:
        """Connect the protocol, and read for it from the next callback on."""
        self._protocol.connection_made(self)
        self._end.transport = self
        self.look()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Pass all further events to a protocol."""
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return the protocol."""
        return self._protocol

    def forget(self) -> None:
        """Lose what is in memory, because the process has died, and count as closed to whoever still has this."""
        self._buffer.clear()
        self._has_ended = self._is_closing = True

    # -- reading ---------------------------------------------------------------------------------------

    def is_reading(self) -> bool:
        """Return whether what arrives is passed on."""
        return not (self._is_closing or self._is_paused)

    def pause_reading(self) -> None:
        """Pass nothing on."""
        if self.is_reading():
            self._is_paused = True

    def resume_reading(self) -> None:
        """Pass on what arrives."""
        if self._is_paused and not self._is_closing:
            self._is_paused = False
            self.look()

    def look(self) -> None:
        """Read in a callback of the process, if there is something."""
        if not self._is_scheduled and self.is_reading() and not self._has_read_eof and self._end.has_news:
            self._is_scheduled = True
            self._loop.call_soon(self._read, context=self._end.context)

    def _read(self) -> None:
        """Pass what one read returns to the protocol."""
        self._is_scheduled = False
        if not self.is_reading() or self._has_read_eof:
            return
        protocol = self._protocol
        what = "Fatal read error on socket transport"
        try:
            if isinstance(protocol, asyncio.BufferedProtocol):
                what = "Fatal error: protocol.get_buffer() call failed."
                buffer = memoryview(protocol.get_buffer(-1)).cast("B")
                if not buffer:
                    raise RuntimeError("get_buffer() returned an empty buffer")
                count = self._end.receive_into(buffer)
                what = "Fatal error: protocol.buffer_updated() call failed."
                if count:
                    protocol.buffer_updated(count)
            else:
                data = bytearray(min(self._end.unread, _READ))
                count = self._end.receive_into(memoryview(data))
                what = "Fatal error: protocol.data_received() call failed."
                if count:
                    cast(asyncio.Protocol, protocol).data_received(bytes(data))
            if not count:
                what = "Fatal error: protocol.eof_received() call failed."
                self._has_read_eof = True
                if not cast(asyncio.Protocol, protocol).eof_received():
                    self.close()
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            if not isinstance(error, OSError):
                self._complain(what, error)
            self._force_close(error)
        self.look()

    # -- writing ---------------------------------------------------------------------------------------

    def get_write_buffer_size(self) -> int:
        """Return how many bytes the network has not taken."""
        return len(self._buffer)

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Return the marks between which the protocol is paused."""
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the marks between which the protocol is paused."""
        if high is None:
            high = 2**16 if low is None else 4 * low
        if low is None:
            low = high // 4
        if not high >= low >= 0:
            raise ValueError(f"high ({high!r}) must be >= low ({low!r}) must be >= 0")
        self._high, self._low = high, low
        self._pause_if_full()

    def can_write_eof(self) -> bool:
        """Return True."""
        return True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes, or keep them until the network takes them."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"data argument must be a bytes-like object, not {type(data).__name__!r}")
        if self._eof:
            raise RuntimeError("Cannot call write() after write_eof()")
        if self._has_ended or not len(data):
            return
        data = memoryview(data).cast("B")
        try:
            taken = 0 if self._buffer else self._end.send(data)
        except OSError as error:
            self._force_close(error)
            return
        if taken < len(data):
            self._buffer += data[taken:]
            self._pause_if_full()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Send pieces together."""
        self.write(b"".join(list_of_data))

    def send_more(self) -> None:
        """Send what has waited for room; a callback of the process."""
        if self._has_ended or not self._buffer:
            return
        try:
            taken = self._end.send(self._buffer)
        except OSError as error:
            self._force_close(error)
            return
        del self._buffer[:taken]
        if self._protocol_is_paused and len(self._buffer) <= self._low:
            self._protocol_is_paused = False
            self._tell(self._protocol.resume_writing)  # which may write
        if not self._buffer:
            if self._is_closing:
                self._has_ended = True
                self._lost(None)
            elif self._eof:
                self._end.shut_down()

    def _pause_if_full(self) -> None:
        if len(self._buffer) > self._high and not self._protocol_is_paused:
            self._protocol_is_paused = True
            self._tell(self._protocol.pause_writing)

    def _tell(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:
            self._complain(f"protocol.{call.__name__}() failed", error)

    # -- the end ---------------------------------------------------------------------------------------

    def is_closing(self) -> bool:
        """Return whether the transport is closed or about to be."""
        return self._is_closing

    def write_eof(self) -> None:
        """End the sending direction behind what was written."""
        if not (self._is_closing or self._eof):
            self._eof = True
            if not self._buffer:
                self._end.shut_down()

    def close(self) -> None:
        """Close behind what was written."""
        if not self._is_closing:
            self._is_closing = True
            if not self._buffer:
                self._finish(None)

    def abort(self) -> None:
        """Close at once."""
        self._force_close(None)

    def _force_close(self, error: BaseException | None) -> None:
        if not self._has_ended:
            self._buffer.clear()
            self._is_closing = True
            self._finish(error)

    def _finish(self, error: BaseException | None) -> None:
        self._has_ended = True
        self._loop.call_soon(self._lost, error, context=self._end.context)

    def _lost(self, error: BaseException | None) -> None:
        try:
            self._protocol.connection_lost(cast("Exception | None", error))
        finally:
            self._end.close()

    def _complain(self, what: str, error: BaseException) -> None:
        self._loop.call_exception_handler(
            {"message": what, "exception": error, "transport": self, "protocol": self._protocol}
        )


def refusal(kind: type[OSError], number: int) -> OSError:
    """Return an error as the kernel makes it."""
    return kind(number, os.strerror(number))
