"""TLS over an asyncio stream, with the interface of the stream that it replaces.

``tls_transport`` makes one per connection, once the plain stream is open. ``connection`` uses it like
asyncio's own streams. The module imports ``frame`` and ``errors``.

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
from typing import Any

from transports.errors import ProtocolError
from transports.frame import MAGIC, Buffer

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
        self._plain_transport = writer.transport
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_side, server_hostname=host
        )
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
        while True:
            if data := self._decrypt(limit):
                return data
            if self._pending_error is not None:
                raise self._pending_error
            if self._close_received:
                return b""
            data = await self._reader.read(limit)
            if not data:
                words = (
                    "the stream ended before TLS was shut down: the peer has died, or the "
                    "connection was cut"
                )
                raise ConnectionAbortedError(ECONNABORTED, words)
            self._incoming.write(data)

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

    def _decrypt(self, limit: int) -> bytes:
        """Return decrypted bytes up to a limit, and record an end or error that follows them."""
        records: list[bytes] = []
        try:
            while limit > 0:
                record = self._tls.read(min(limit, _RECORD))
                if not record:
                    self._close_received = True
                    break
                records.append(record)
                limit -= len(record)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self._close_received = True
        except ssl.SSLError as error:
            self._pending_error = error
        self._send_pending()
        return records[0] if len(records) == 1 else b"".join(records)

    # -- writing -----------------------------------------------------------------------------------

    @property
    def transport(self) -> TlsStream:
        """This object, which is its own transport."""
        return self

    def write(self, data: Buffer) -> None:
        """Encrypt bytes and queue them; drop bytes that are written to a failed stream."""
        view = memoryview(data)
        try:
            for at in range(0, len(view), CHUNK):
                self._tls.write(view[at : at + CHUNK])
                self._plain_transport.write(self._outgoing.read())
        except ssl.SSLError:
            self._plain_transport.abort()  # the reading side raises the error

    def writelines(self, pieces: Iterable[Buffer]) -> None:
        """Encrypt pieces and queue them."""
        for piece in pieces:
            self.write(piece)

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
