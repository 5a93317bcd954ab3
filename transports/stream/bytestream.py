"""The interface of a stream that carries a connection: a subset of asyncio's stream classes.

``connection`` uses these protocols whether or not the bytes are encrypted below: asyncio's streams
implement them, and so does ``tls.TlsStream``. The module imports ``frame`` for ``Buffer``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, Protocol, TypeAlias

from transports.frame import Buffer


class ByteReader(Protocol):
    """The reading side: asyncio's ``StreamReader``, or a ``TlsStream``."""

    def read(self, n: int, /) -> Coroutine[Any, Any, bytes]:
        """Return available bytes, b"" at the end; wait only if there are none."""

    def at_eof(self) -> bool:
        """Return whether the stream has ended and everything was read."""

    async def readexactly(self, n: int, /) -> bytes:
        """Return exactly ``n`` bytes."""


class ByteTransport(Protocol):
    """The transport of a stream: asyncio's, or a ``TlsStream``."""

    def write(self, data: Buffer, /) -> None:
        """Queue bytes."""

    def writelines(self, pieces: Iterable[Buffer], /) -> None:
        """Queue pieces."""

    def write_eof(self) -> None:
        """End the sending direction."""

    def abort(self) -> None:
        """Close at once."""

    def is_closing(self) -> bool:
        """Return whether the stream is closed or about to be."""

    def get_write_buffer_size(self) -> int:
        """Return how many bytes are queued."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the limits between which ``drain`` waits."""


class DuplexTransport(ByteTransport, Protocol):
    """The transport of a stream with its reading side, which asyncio's types of writers leave out."""

    def set_protocol(self, protocol: asyncio.BaseProtocol, /) -> None:
        """Pass all further events to a protocol."""

    def pause_reading(self) -> None:
        """Stop passing bytes to the protocol."""

    def resume_reading(self) -> None:
        """Pass bytes to the protocol again."""


class ByteWriter(Protocol):
    """The writing side: asyncio's ``StreamWriter``, or a ``TlsStream``."""

    @property
    def transport(self) -> ByteTransport:
        """The transport that bytes are passed to."""

    def writelines(self, data: Iterable[Buffer], /) -> None:
        """Queue pieces."""

    async def drain(self) -> None:
        """Wait while too much is queued."""

    async def wait_closed(self) -> None:
        """Wait for the end of a close."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return information about the socket."""


ByteStreams: TypeAlias = tuple[ByteReader, ByteWriter]
