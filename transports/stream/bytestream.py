"""What a stream has to offer to carry a connection: asyncio's names for it, and no more of them.

`stream` speaks over these and does not ask whether the bytes are encrypted below: asyncio's streams
fit as they are, and `tls.TlsStream` is made to fit. Imports `frame` for the name of a buffer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

from transports.frame import Buffer


class ByteReader(Protocol):
    """What is read from: asyncio's `StreamReader`, or a `TlsStream`."""

    async def read(self, n: int, /) -> bytes:
        """Return what has come, b"" at the end."""

    async def readexactly(self, n: int, /) -> bytes:
        """Return so many bytes."""


class ByteTransport(Protocol):
    """What bytes are handed to: asyncio's transport of a stream, or a `TlsStream`."""

    def write(self, data: Buffer, /) -> None:
        """Queue bytes."""

    def write_eof(self) -> None:
        """End our direction."""

    def abort(self) -> None:
        """Close at once."""

    def is_closing(self) -> bool:
        """Return whether it is closed or about to be."""

    def get_write_buffer_size(self) -> int:
        """Return how many bytes wait."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """When `drain` waits."""


class ByteWriter(Protocol):
    """What is written to: asyncio's `StreamWriter`, or a `TlsStream`."""

    @property
    def transport(self) -> ByteTransport:
        """What the bytes are handed to."""

    def writelines(self, data: Iterable[Buffer], /) -> None:
        """Queue pieces."""

    async def drain(self) -> None:
        """Wait while too much is queued."""

    async def wait_closed(self) -> None:
        """Wait for the end of a close."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what is known of the socket."""


ByteStreams: TypeAlias = tuple[ByteReader, ByteWriter]
