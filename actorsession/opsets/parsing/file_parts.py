"""What files consist of, one part after the other: lines, records, blocks of fixed length, or all of it.

Datasets and readers use it. Each source is an iterator that opens one file when it is made and closes it at
the end. All files are opened through the opener that is given, which knows what may be opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from actorsession.checkpoints import file_errors
from actorsession.errors import InvalidArgumentError
from actorsession.opsets.parsing.records import Inflated, compression_of
from transports.host import current_host

__all__ = ["blocks_of", "lines_of", "whole_file"]

Opener = Callable[[str, int], int]

_BLOCK = 1 << 18


class _Source:
    """The bytes of a file, decompressed.

    Args:
        path: the file.
        compression: empty, ``ZLIB`` or ``GZIP``.
        opener: opens the file.
    """

    def __init__(self, path: str, compression: str, opener: Opener) -> None:
        wbits = compression_of(compression)
        self.path = path
        with file_errors(f"cannot read {path!r}"):
            self._file = current_host().files.open_file(path, opener=opener)
        self._bytes: Any = Inflated(self._file, wbits) if wbits else self._file
        self._compressed = bool(wbits)
        self._rest = b""
        self._ended = False

    def size(self) -> int | None:
        """The number of bytes; unknown of a compressed file."""
        return None if self._compressed else current_host().files.fstat(self._file.fileno()).st_size

    def fill(self, count: int) -> bool:
        """Have at least ``count`` bytes at hand, and return whether there are as many."""
        while len(self._rest) < count and not self._ended:
            with file_errors(f"cannot read {self.path!r}"):
                more = self._bytes.read(max(_BLOCK, count - len(self._rest)))
            self._rest += more
            self._ended = not more
        return len(self._rest) >= count

    def take(self, count: int) -> bytes:
        """Return the next bytes, which are at hand."""
        taken, self._rest = self._rest[:count], self._rest[count:]
        return taken

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self.close()


class _Lines(_Source):
    """The lines of a file, without their ends."""

    def __init__(self, path: str, compression: str, opener: Opener) -> None:
        super().__init__(path, compression, opener)
        self._lines: Iterator[bytes] = iter(())

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        while (line := next(self._lines, None)) is None:
            if self._ended and not self._rest:
                self.close()
                raise StopIteration
            self.fill(len(self._rest) + 1)
            whole, end, rest = self._rest.rpartition(b"\n")
            if self._ended and rest:
                whole, end, rest = self._rest, b"\n", b""
            if end:
                self._lines, self._rest = iter(whole.split(b"\n")), rest
        return line[:-1] if line.endswith(b"\r") else line


def lines_of(path: str, compression: str, opener: Opener) -> Iterator[bytes]:
    """Return an iterator over the lines of a file, without their ends.

    Args:
        path: the file.
        compression: empty, ``ZLIB`` or ``GZIP``.
        opener: opens the file.

    Raises:
        OpError: if it cannot be read.
    """
    return _Lines(path, compression, opener)


class _Blocks(_Source):
    """Blocks of a fixed length between a header and a footer."""

    def __init__(
        self, path: str, compression: str, opener: Opener, sizes: tuple[int, int, int, int], strict: bool
    ) -> None:
        super().__init__(path, compression, opener)
        self._header, self._record, self._footer, self._hop = sizes
        self._begun = False
        whole = self.size()
        body = 0 if whole is None else whole - self._header - self._footer
        if strict and (body < 0 or body % self._record):
            self.close()
            raise InvalidArgumentError(
                f"Excess bytes in {path!r}: {self._header} bytes of header and {self._footer} of footer "
                f"leave {body} bytes, which are no multiple of {self._record}"
            )

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if not self._begun:
            self._begun = True
            if self.fill(self._header):
                self.take(self._header)
        if not self.fill(self._record + self._footer):
            self.close()
            raise StopIteration
        record = self._rest[: self._record]
        self.fill(self._hop)
        self.take(self._hop)
        return record


def blocks_of(
    path: str, compression: str, opener: Opener, *, header: int, record: int, footer: int, hop: int = 0, strict: bool
) -> Iterator[bytes]:
    """Return an iterator over blocks of a fixed length.

    Args:
        path: the file.
        compression: empty, ``ZLIB`` or ``GZIP``.
        opener: opens the file.
        header: bytes before the first block.
        record: bytes of a block.
        footer: bytes behind the last one.
        hop: bytes from the start of a block to that of the next; as many as a block has if zero.
        strict: whether bytes that make no whole block are an error.

    Raises:
        OpError: if the file cannot be read, or has other bytes.
    """
    return _Blocks(path, compression, opener, (header, record, footer, hop or record), strict)


def whole_file(path: str, opener: Opener) -> bytes:
    """Return the bytes of a file."""
    with file_errors(f"cannot read {path!r}"), current_host().files.open_file(path, opener=opener) as file:
        return file.read()
