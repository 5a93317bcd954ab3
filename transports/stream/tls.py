"""TLS over an asyncio stream, with the interface of the stream that it replaces.

``tls_transport`` makes one per connection, once the plain stream is open. ``connection`` uses it like
asyncio's own streams: the handshake of the connection reads from it, and then a protocol takes it over, for
which a ``TlsReceiver`` decrypts what the plain transport reads. The module imports ``frame``, ``errors`` and
``protocol``.

The ssl module's memory buffers do the cryptography, and this module moves bytes between them and the
stream. asyncio's own TLS is not used for three reasons. It shakes hands before the listener is notified of
a connection, so strangers could neither be counted nor receive the reason for a refusal. It has no
half-close, without which the last bytes of a refusal are lost (see ``connection``). And it differs between
the event loops; nothing here depends on the loop.

Invariants. TLS messages of this side (alerts, answers to key updates) are passed to the stream before the
call that produced them returns or raises. Bytes are delivered before the error that follows them. A stream
that ends without the peer's close_notify is an error: it may have been cut off.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from contextlib import suppress
from errno import ECONNABORTED
from typing import Any, cast

from transports.errors import ProtocolError
from transports.frame import MAGIC, Buffer
from transports.stream.protocol import StreamProtocol

# TLS cuts data into records of 16 KiB. A few records are encrypted at a time, so that the copy is sent
# while it is still in the cache.
CHUNK = 2**18
_RECORD = 2**14


class TlsStream:
    """One side of TLS: reader, writer and transport in one, with asyncio's names.

    At most one child at a time may read; any number may write.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        context: ssl.SSLContext,
        *,
        server_side: bool,
        host: str | None = None,
    ) -> None:
        """Make a side that has sent nothing yet.

        Args:
            reader: Of the plain stream.
            writer: Of the plain stream; belongs to this object from now on.
            context: From ``security.make_context``.
            server_side: Whether the stream was accepted.
            host: The host that the peer's certificate must name; None on the accepting side.
        """
        self._reader = reader
        self._writer = writer
        self._plain_transport = cast(asyncio.Transport, writer.transport)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=server_side, server_hostname=host)
        self._decrypted = b""  # decrypted and not read yet
        self._pending_error: ssl.SSLError | None = None  # raised after what was decrypted before it
        self._close_received = self._close_sent = False

    async def handshake(self, begin: bytes = b"") -> None:
        """Run the TLS handshake.

        Args:
            begin: Bytes that were already read from the stream.

        Raises:
            ssl.SSLError: The handshake failed. The alert was sent, without waiting for the peer.
            ProtocolError: The port answers with this package's protocol, without TLS.
            OSError: The stream broke.
            EOFError: The peer hung up.
        """
        if begin:
            self._incoming.write(begin)
        while True:
            try:
                self._tls.do_handshake()
                return
            except ssl.SSLWantReadError:
                pass
            finally:
                self._send_pending()
            data = await self._reader.read(CHUNK)
            if not data:
                raise EOFError
            if not self._tls.server_side and data.startswith(MAGIC):
                raise ProtocolError("it does not speak TLS; connect to it with tcp://")
            self._incoming.write(data)

    # -- reading -----------------------------------------------------------------------------------

    async def read(self, limit: int) -> bytes:
        """Return available bytes, waiting for some if there are none; b"" after the peer's close_notify.

        After a local ``write_eof`` the result is the encrypted bytes that the peer still sends, which are
        read only to be discarded.

        Args:
            limit: The most bytes to return.

        Raises:
            ssl.SSLError: The received bytes are not valid TLS.
            OSError: The stream broke, or ended before TLS did.
        """
        if self._decrypted:
            data, self._decrypted = self._decrypted[:limit], self._decrypted[limit:]
            return data
        if self._close_sent:
            return await self._reader.read(limit)
        buffer = bytearray(limit)
        while not (count := self._decrypt(memoryview(buffer))):
            if self._pending_error is not None:
                raise self._pending_error
            if self._close_received:
                return b""
            data = await self._reader.read(limit)
            if not data:
                raise _cut_off()
            self._incoming.write(data)
        return bytes(buffer[:count])

    def at_eof(self) -> bool:
        """Return whether the peer's close_notify was received and everything before it was read."""
        return self._close_received and not self._decrypted

    async def readexactly(self, count: int) -> bytes:
        """Return exactly this many bytes.

        Raises:
            asyncio.IncompleteReadError: The peer ended before; an EOFError.
            OSError: As for ``read``.
        """
        data = b""
        while len(data) < count:
            more = await self.read(CHUNK)
            if not more:
                raise asyncio.IncompleteReadError(data, count)
            data += more
        data, self._decrypted = data[:count], data[count:] + self._decrypted
        return data

    def _decrypt(self, buffer: memoryview) -> int:
        """Decrypt received bytes into a buffer, and record an end or error that follows them.

        Returns:
            How many bytes were decrypted; 0 only if more must be received first, or nothing follows.
        """
        filled = 0
        try:
            while filled < len(buffer):
                # With a buffer, the result is a number, and any writable buffer will do.
                count = cast(int, self._tls.read(len(buffer) - filled, cast(bytearray, buffer[filled:])))
                if not count:
                    self._close_received = True
                    break
                filled += count
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self._close_received = True
        except ssl.SSLError as error:
            self._pending_error = error
        self._send_pending()
        return filled

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Pass what is decrypted from now on to a protocol."""
        assert isinstance(protocol, StreamProtocol)  # TLS errors are passed to its fail()
        self._plain_transport.set_protocol(TlsReceiver(self, protocol))

    def pause_reading(self) -> None:
        """Stop reading from the stream."""
        self._plain_transport.pause_reading()

    def resume_reading(self) -> None:
        """Read from the stream again."""
        self._plain_transport.resume_reading()

    def decrypt_into(self, data: memoryview, protocol: StreamProtocol) -> None:
        """Pass decrypted bytes, and an end or error behind them, to a protocol.

        Args:
            data: Encrypted bytes that were read; after a local ``write_eof`` they are discarded.
            protocol: The one that was passed to ``set_protocol``.
        """
        if self._close_sent:
            return
        self._incoming.write(data)
        while count := self._decrypt(protocol.get_buffer(-1)):
            protocol.buffer_updated(count)
        if self._pending_error is not None:
            protocol.fail(self._pending_error)
        elif self._close_received:
            protocol.eof_received()

    def stream_ended(self, protocol: StreamProtocol) -> None:
        """Pass the end of the stream below to a protocol: an error, unless it was announced."""
        if self._close_sent or self._close_received:
            protocol.eof_received()
        else:
            protocol.fail(_cut_off())

    # -- writing -----------------------------------------------------------------------------------

    @property
    def transport(self) -> TlsStream:
        """This object, which is its own transport."""
        return self

    def write(self, data: Buffer) -> None:
        """Encrypt bytes and queue them; drop bytes that are written to a failed stream."""
        self.writelines((data,))

    def writelines(self, pieces: Iterable[Buffer]) -> None:
        """Encrypt pieces and queue them together, large ones in several steps."""
        try:
            for piece in pieces:
                view = memoryview(piece)
                for at in range(0, len(view), CHUNK):
                    self._tls.write(view[at : at + CHUNK])
                    if self._outgoing.pending > CHUNK:
                        self._send_pending()
            self._send_pending()
        except ssl.SSLError:
            self._plain_transport.abort()  # the reading side raises the error

    def write_eof(self) -> None:
        """Send close_notify, and end this direction."""
        self._close_sent = True
        with suppress(ssl.SSLError):  # raised because the peer's close_notify is not awaited
            self._tls.unwrap()
        self._send_pending()
        self._plain_transport.write_eof()

    async def drain(self) -> None:
        """Wait while the stream applies backpressure."""
        await self._writer.drain()

    def close(self) -> None:
        """Send close_notify, and close once all bytes are sent."""
        if not self._close_sent and not self._plain_transport.is_closing():
            self.write_eof()
        self._writer.close()

    async def wait_closed(self) -> None:
        """Wait for the end of ``close``."""
        await self._writer.wait_closed()

    def abort(self) -> None:
        """Close at once, without close_notify."""
        self._plain_transport.abort()

    def is_closing(self) -> bool:
        """Return whether the stream is closed or about to be."""
        return self._plain_transport.is_closing()

    def get_write_buffer_size(self) -> int:
        """Return how many encrypted bytes wait to be sent."""
        return self._plain_transport.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the limits between which ``drain`` waits."""
        self._plain_transport.set_write_buffer_limits(high=high, low=low)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return information about the stream below, or TLS's own object."""
        if name == "ssl_object":
            return self._tls
        return self._writer.get_extra_info(name, default)

    def _send_pending(self) -> None:
        """Pass TLS messages that are waiting to the stream."""
        if self._outgoing.pending:
            self._plain_transport.write(self._outgoing.read())


class TlsReceiver(asyncio.BufferedProtocol):
    """The protocol of the plain transport below a ``TlsStream``, from the end of the handshake on."""

    def __init__(self, stream: TlsStream, inner: StreamProtocol) -> None:
        """Make a protocol that passes decrypted bytes to ``inner``, and flow control and ends as they are."""
        self._stream = stream
        self._inner = inner
        self._received = memoryview(bytearray(CHUNK))
        self.pause_writing = inner.pause_writing  # type: ignore[method-assign]
        self.resume_writing = inner.resume_writing  # type: ignore[method-assign]
        self.connection_lost = inner.connection_lost  # type: ignore[method-assign]

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for encrypted bytes."""
        return self._received

    def buffer_updated(self, nbytes: int) -> None:
        """Decrypt bytes that were read."""
        self._stream.decrypt_into(self._received[:nbytes], self._inner)

    def eof_received(self) -> bool:
        """Pass the end on; the transport stays open for our own direction."""
        self._stream.stream_ended(self._inner)
        return True


def _cut_off() -> ConnectionAbortedError:
    words = "the stream ended before TLS was shut down: the peer has died, or the connection was cut"
    return ConnectionAbortedError(ECONNABORTED, words)
