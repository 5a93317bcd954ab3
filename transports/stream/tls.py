"""TLS over an asyncio stream: takes the place of the stream that it runs on.

`tls_transport` makes one per connection, once the plain stream stands. `stream` reads from it and
writes to it as it does with asyncio's own. It imports `frame` and `errors`.

The ssl module's memory buffers do the cryptography, and this file moves bytes between them and the
stream. asyncio's own TLS was not taken: it shakes hands before the listener has heard of a
connection, so strangers could neither be counted nor be told why they are refused; it has no half
close, without which the last words of a refusal are lost (see `stream`); and it differs between
the loops. Nothing here depends on the loop.

Invariants. What TLS has to say (alerts, answers to key updates) is handed to the stream before the
call that made it returns or raises. Bytes are delivered before the error that follows them. A
stream that ends without the peer's farewell is an error: somebody may have cut it off.
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

# TLS cuts into records of 16 KiB; what is encrypted at a time is a few of them, so that the copy is
# sent while it is still in the cache.
CHUNK = 2**18
_RECORD = 2**14


class TlsStream:
    """One side of TLS: reader, writer and transport in one, with asyncio's names.

    One child at a time may read; anybody may write.
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
        """Make a side that has said nothing yet.

        Args:
            reader: Of the plain stream.
            writer: Of the plain stream; this object's from now on.
            context: Of `security.make_context`.
            server_side: Whether the stream was accepted.
            host: Whom the peer's certificate must name; None on the accepting side.
        """
        self._reader = reader
        self._writer = writer
        self._below = writer.transport
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_side, server_hostname=host
        )
        self._kept = b""  # decrypted, and not taken yet
        self._failed: ssl.SSLError | None = None  # comes after what was decrypted before it
        self._peer_ended = self._we_ended = False

    async def handshake(self, begin: bytes = b"") -> None:
        """Run the TLS handshake.

        Args:
            begin: What was read from the stream already.

        Raises:
            ssl.SSLError: It failed; the peer was sent the alert, but not waited for.
            ProtocolError: What answers is a port of ours without TLS.
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
                raise ProtocolError("it does not speak TLS; dial it as tcp://")
            self._incoming.write(data)

    # -- reading -----------------------------------------------------------------------------------

    async def read(self, limit: int) -> bytes:
        """Return what has come, or wait for more; b"" after the peer's farewell.

        After our own `write_eof` it is what the peer still sends, encrypted: it is read only to be
        thrown away then.

        Args:
            limit: The most bytes to return.

        Raises:
            ssl.SSLError: The bytes that came are no TLS.
            OSError: The stream broke, or ended before TLS did.
        """
        if self._kept:
            data, self._kept = self._kept[:limit], self._kept[limit:]
            return data
        if self._we_ended:
            return await self._reader.read(limit)
        while True:
            if data := self._decrypt(limit):
                return data
            if self._failed is not None:
                raise self._failed
            if self._peer_ended:
                return b""
            data = await self._reader.read(limit)
            if not data:
                words = "the stream ended before TLS did: the peer has died, or was cut off"
                raise ConnectionAbortedError(ECONNABORTED, words)
            self._incoming.write(data)

    async def readexactly(self, count: int) -> bytes:
        """Return so many bytes.

        Raises:
            asyncio.IncompleteReadError: The peer ended before; an EOFError.
            OSError: As for `read`.
        """
        data = b""
        while len(data) < count:
            more = await self.read(CHUNK)
            if not more:
                raise asyncio.IncompleteReadError(data, count)
            data += more
        data, self._kept = data[:count], data[count:] + self._kept
        return data

    def _decrypt(self, limit: int) -> bytes:
        """Return what the bytes that have come hold, up to a limit; note how that ended."""
        records: list[bytes] = []
        try:
            while limit > 0:
                record = self._tls.read(min(limit, _RECORD))
                if not record:
                    self._peer_ended = True
                    break
                records.append(record)
                limit -= len(record)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self._peer_ended = True
        except ssl.SSLError as error:
            self._failed = error
        self._send_pending()
        return records[0] if len(records) == 1 else b"".join(records)

    # -- writing -----------------------------------------------------------------------------------

    @property
    def transport(self) -> TlsStream:
        """Return this object, which is its own transport."""
        return self

    def write(self, data: Buffer) -> None:
        """Encrypt bytes and queue them; what is written to a stream that has failed is dropped."""
        view = memoryview(data)
        try:
            for at in range(0, len(view), CHUNK):
                self._tls.write(view[at : at + CHUNK])
                self._below.write(self._outgoing.read())
        except ssl.SSLError:
            self._below.abort()  # the reading side hears of it

    def writelines(self, pieces: Iterable[Buffer]) -> None:
        """Encrypt pieces and queue them."""
        for piece in pieces:
            self.write(piece)

    def write_eof(self) -> None:
        """Say farewell, and end this direction."""
        self._we_ended = True
        with suppress(ssl.SSLError):  # it waits for the peer's farewell, which we do not
            self._tls.unwrap()
        self._send_pending()
        self._below.write_eof()

    async def drain(self) -> None:
        """Wait while the stream asks for it."""
        await self._writer.drain()

    def close(self) -> None:
        """Say farewell, and close once all is sent."""
        if not self._we_ended and not self._below.is_closing():
            self.write_eof()
        self._writer.close()

    async def wait_closed(self) -> None:
        """Wait for the end of `close`."""
        await self._writer.wait_closed()

    def abort(self) -> None:
        """Close at once, without a farewell."""
        self._below.abort()

    def is_closing(self) -> bool:
        """Return whether the stream is closed or about to be."""
        return self._below.is_closing()

    def get_write_buffer_size(self) -> int:
        """Return how many encrypted bytes wait to be sent."""
        return self._below.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Say from when on `drain` waits."""
        self._below.set_write_buffer_limits(high=high, low=low)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what is known of the stream below, or TLS's own objects."""
        if name == "ssl_object":
            return self._tls
        return self._writer.get_extra_info(name, default)

    def _send_pending(self) -> None:
        """Hand over what TLS has to say."""
        if self._outgoing.pending:
            self._below.write(self._outgoing.read())
