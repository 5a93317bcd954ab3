"""The asyncio protocol of a stream connection: bytes of the transport to a sink, flow control, the end.

``connection`` makes a ``StreamProtocol`` when the handshake is complete and calls ``take_over``; until then
asyncio's stream classes have the stream. The module imports ``bytestream`` and ``event``.

Invariants. The sink is called in the call of the event loop that read the bytes, by the transport itself:
each read costs as few calls as possible. Bytes that the stream reader had buffered come first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from transports.event import Event
from transports.stream.bytestream import ByteReader, DuplexTransport

# How much is taken from a stream reader at once.
_TAKEN = 2**16


class ByteSink(Protocol):
    """What bytes are written into."""

    def get_buffer(self, sizehint: int, /) -> memoryview:
        """Return where the next bytes are to be written; the hint is asyncio's."""

    def received(self, count: int, /) -> None:
        """Process bytes that were written to the last ``get_buffer``; ignore them after an end of its own.

        uvloop takes an interrupt that strikes in here for an error of the connection, and swallows it. So it
        must be raised by a call of the loop's own, as it would be in a task.
        """

    def ended(self, error: Exception | None) -> None:
        """Process the end: of the peer's direction, or of the whole stream with an error."""


class StreamProtocol(asyncio.BufferedProtocol):
    """The protocol of one transport, from the end of the handshake on.

    Attributes:
        get_buffer: That of the sink.
        buffer_updated: The ``received`` of the sink.
    """

    get_buffer: Callable[[int], memoryview]  # type: ignore[assignment]
    buffer_updated: Callable[[int], None]  # type: ignore[assignment]

    def __init__(self, transport: DuplexTransport, sink: ByteSink) -> None:
        """Make a protocol that has not taken the transport over."""
        self._transport = transport
        self._sink: ByteSink | None = sink
        self.get_buffer = sink.get_buffer
        self.buffer_updated = sink.received
        self._at_end = Event()
        self._lost = Event()
        self._writable = Event()
        self._writable.set()

    # -- reading -----------------------------------------------------------------------------------

    def eof_received(self) -> bool:
        """Pass the end of the peer's direction on; the transport stays open for ours."""
        self.fail(None)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass the end of the transport on."""
        self.fail(exc)
        self._lost.set()
        self._writable.set()

    def fail(self, error: Exception | None) -> None:
        """End the reading, because of an error of a layer below unless it is None."""
        self._at_end.set()
        if self._sink is not None:
            self._sink.ended(error)

    def pause(self, pause: bool) -> None:
        """Stop reading from the transport, or go on."""
        if not self._transport.is_closing():
            (self._transport.pause_reading if pause else self._transport.resume_reading)()

    def discard(self) -> None:
        """Read on, although the sink has ended and ignores what is read."""
        if self._sink is not None:
            self._sink = None
            self.pause(False)

    async def wait_for_end(self) -> None:
        """Wait until the peer has ended its direction, or the transport is lost."""
        await self._at_end.wait()

    # -- writing -----------------------------------------------------------------------------------

    def pause_writing(self) -> None:
        """Make ``drain`` wait."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let ``drain`` return."""
        self._writable.set()

    async def drain(self) -> None:
        """Wait while the transport has too much queued; return when it is lost."""
        await self._writable.wait()

    async def wait_closed(self) -> None:
        """Wait until the transport is closed."""
        await self._lost.wait()


def take_over(reader: ByteReader, transport: DuplexTransport, protocol: StreamProtocol) -> None:
    """Have a protocol receive what a stream reader has buffered, and all that follows.

    Reading is stopped in between, because uvloop decides when it starts how it reads.

    Args:
        reader: Of the stream; nobody may use it any more.
        transport: Of the stream.
        protocol: The new protocol of the transport.
    """
    was_closing = transport.is_closing()
    if not was_closing:
        transport.pause_reading()
    transport.set_protocol(protocol)
    try:
        is_at_end = _pass_buffered(reader, protocol)
    except OSError as error:
        protocol.fail(error)
    else:
        if is_at_end:
            protocol.eof_received()
    if was_closing:  # the transport notifies a protocol once, and that may have been the reader's
        protocol.connection_lost(None)
    protocol.pause(False)


def _pass_buffered(reader: ByteReader, protocol: StreamProtocol) -> bool:
    """Pass on what a reader has buffered; return whether the stream has ended behind it.

    A stream reader has no method for that which does not wait. Its ``read`` waits only if nothing is
    buffered, so its coroutine is run until then.

    Raises:
        OSError: The stream is broken.
    """
    while not reader.at_eof():
        step = reader.read(_TAKEN)
        try:
            step.send(None)
        except StopIteration as returned:
            _pass_on(memoryview(returned.value), protocol)
        else:
            step.close()
            return False
    return True


def _pass_on(data: memoryview, protocol: StreamProtocol) -> None:
    while data:
        buffer = protocol.get_buffer(len(data))
        count = min(len(buffer), len(data))
        buffer[:count] = data[:count]
        protocol.buffer_updated(count)
        data = data[count:]
