"""Record files, TensorFlow's TFRecord format: plain, zlib or gzip.

Checksums are verified: damage raises ``DataLossError`` with the offset of the record in the uncompressed
data. Used by ``python_io`` and by the kernels that read files. ``record_frames`` defines the bytes.

Reader and writer work in blocks: numpy computes the checksums of all records of a block at once. So a reader
reads ahead of its caller, and reports damage when the damaged record is reached; a writer holds records back
until they fill a block.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol, Self

from actorsession.checkpoints import file_errors
from actorsession.config.file_roots import path_text
from actorsession.errors import DataLossError, FailedPreconditionError
from actorsession.opsets.parsing.record_frames import (
    FOOTER,
    HEADER,
    footer_of,
    frame,
    frame_one,
    framed,
    joined,
    size_of,
    sound,
)
from actorsession.process_bound import ProcessBound
from transports.host import current_host

__all__ = ["COMPRESSIONS", "RecordReader", "RecordWriter"]

# Bytes read at a time of a record longer than a block, because its length may be wrong.
_CHUNK = 1 << 20
# Bytes per block. A reader begins with the first size, for callers that need only one record.
_FIRST_BLOCK, _BLOCK = 1 << 14, 1 << 18

# The ``wbits`` argument of zlib for each form of compression.
COMPRESSIONS = {"": 0, "ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}


class _Bytes(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return ``size`` bytes, fewer only at the end."""


def compression_of(kind: str) -> int:
    """Return zlib's ``wbits`` for a form of compression, 0 for none.

    Raises:
        ValueError: for an unknown form.
    """
    if kind not in COMPRESSIONS:
        raise ValueError(f'Not a valid compression_type: "{kind}"; "", "ZLIB" and "GZIP" are')
    return COMPRESSIONS[kind]


class Inflated:
    """The decompressed bytes of a file, in sequence.

    Args:
        file: the file.
        wbits: zlib's argument that specifies the header.
    """

    def __init__(self, file: BinaryIO, wbits: int) -> None:
        self._file = file
        self._inflate = zlib.decompressobj(wbits)
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Return ``size`` bytes, fewer only where the file ends.

        Raises:
            DataLossError: for bytes that are not compressed in this form.
        """
        parts, missing = [], size
        while missing > 0 and not self._inflate.eof:
            source = self._rest or self._file.read(1 << 16)
            if not source:
                break
            try:
                parts.append(self._inflate.decompress(source, missing))
            except zlib.error as exc:
                raise DataLossError(f"what is compressed is damaged: {exc}") from exc
            self._rest = self._inflate.unconsumed_tail
            missing -= len(parts[-1])
        return b"".join(parts)


class RecordReader(ProcessBound):
    """An iterator over the records of a file that closes itself at the end.

    Args:
        path: the file.
        compression: empty, ``ZLIB`` or ``GZIP``.
        opener: opens files where only some may be opened; see ``open``.

    Raises:
        OpError: as raised by ``file_errors``, such as NotFoundError.
        ValueError: for another form of compression.
    """

    def __init__(self, path: str, compression: str = "", opener: Callable[[str, int], int] | None = None) -> None:
        wbits = compression_of(compression)
        self.path = path
        with file_errors(f"cannot read {path!r}"):
            self._file = current_host().files.open_file(path, opener=opener)
        self._bytes: _Bytes = Inflated(self._file, wbits) if wbits else self._file
        self._block_size = _FIRST_BLOCK
        # Bytes that were read but belong to no record yet, and their offset.
        self._rest, self._rest_offset = b"", 0
        # Records that were read, their offsets, the number returned so far, and the error that follows them.
        self._records: list[bytes] = []
        self._offsets: list[int] = []
        self._given = 0
        self._damage: DataLossError | None = None

    @property
    def offset(self) -> int:
        """The offset of the next record in the uncompressed data."""
        waiting = self._offsets[self._given : self._given + 1]
        return waiting[0] if waiting else self._rest_offset

    def read(self) -> bytes | None:
        """Return the next record, or ``None`` at the end.

        Raises:
            DataLossError: if it is damaged or truncated; ``offset`` is its start.
        """
        if self._given == len(self._records) and not self._fill():
            return None
        self._given += 1
        return self._records[self._given - 1]

    def _fill(self) -> bool:
        """Read the records of a block, and return whether there are any.

        Raises:
            DataLossError: if the next one is damaged.
        """
        if self._damage is not None:
            raise self._damage
        data = self._rest + self._take(self._block_size)
        self._block_size = min(2 * self._block_size, _BLOCK)
        self._rest = data
        self._records, self._offsets, self._given = [], [], 0
        starts, sizes = framed(data)
        if starts:
            self._verify(data, starts, sizes)
        if not self._records and self._damage is None and data:
            self._fill_with_one(data)
        if not self._records and self._damage is not None:
            raise self._damage
        return bool(self._records)

    def _verify(self, data: bytes, starts: list[int], sizes: list[int]) -> None:
        """Store the records of a block up to the first wrong checksum."""
        named, count = sound(data, starts, sizes)
        begin = self._rest_offset
        self._records = [data[a : a + n] for a, n in zip(starts[:count], sizes[:count], strict=True)]
        self._offsets = [begin + each - HEADER for each in starts[:count]]
        if count == len(starts):
            stop = starts[-1] + sizes[-1] + FOOTER
            self._rest, self._rest_offset = data[stop:], begin + stop
            return
        self._rest_offset = begin + starts[count] - HEADER
        self._damage = self._bad_bytes() if count < named else self._bad_length()

    def _fill_with_one(self, data: bytes) -> None:
        """Read a record that is longer than the block."""
        if len(data) < HEADER:
            raise self._truncated("in its length")
        size = size_of(data)
        if size is None:
            self._damage = self._bad_length()
            return
        parts, have = [memoryview(data)[HEADER:]], len(data) - HEADER
        while have < size + FOOTER:
            # No part ends between a record and its checksum.
            missing = size - have if have < size else size + FOOTER - have
            part = self._take(min(missing, _CHUNK))
            if not part:
                self._rest = b"".join((data[:HEADER], *parts))
                raise self._truncated(f"which has {size} bytes")
            parts.append(memoryview(part))
            have += len(part)
        record, footer = joined(parts, size)
        if footer != footer_of(record):
            self._damage = self._bad_bytes()
            return
        self._records, self._offsets = [record], [self._rest_offset]
        self._rest, self._rest_offset = b"", self._rest_offset + HEADER + size + FOOTER

    def _take(self, size: int) -> bytes:
        """Return ``size`` bytes, fewer only at the end."""
        with file_errors(f"cannot read {self.path!r}"):
            return self._bytes.read(size)

    def _truncated(self, where: str) -> DataLossError:
        return DataLossError(f"truncated record at {self._rest_offset} in {self.path!r}, {where}")

    def _bad_length(self) -> DataLossError:
        hint = "; is this a file of records at all?" if not self._rest_offset else ""
        return DataLossError(f"corrupted record at {self._rest_offset} in {self.path!r}{hint}")

    def _bad_bytes(self) -> DataLossError:
        return DataLossError(
            f"corrupted record at {self._rest_offset} in {self.path!r}: its bytes, from "
            f"{self._rest_offset + HEADER}, have another checksum"
        )

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._file.close()

    def __iter__(self) -> Iterator[bytes]:
        # A generator, which returns available records faster than a method does.
        while not self._file.closed:
            for record in self._records[self._given :]:
                self._given += 1
                yield record
            try:
                more = self._given < len(self._records) or self._fill()
            except BaseException:
                self.close()
                raise
            if not more:
                self.close()

    def __next__(self) -> bytes:
        if self._file.closed:
            raise StopIteration
        try:
            record = self.read()
        except BaseException:
            self.close()
            raise
        if record is None:
            self.close()
            raise StopIteration
        return record

    def __del__(self) -> None:
        # For a reader left open by a loop that ended early.
        if hasattr(self, "_file"):
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class RecordWriter(ProcessBound):
    """A writer of records to a file, which is created or replaced.

    Records are held back until there are enough of them, or until ``flush`` or ``close``; errors of the disk
    are raised at that time.

    Args:
        path: the file.
        compression: empty, ``ZLIB`` or ``GZIP``.
        level: level of the compression, 0 to 9; zlib's default for -1.
        mem_level: memory used by the compression, 1 to 9.
        strategy: zlib's compression strategy.
        window: size of zlib's window as a power of two: 9 to 15.

    Raises:
        OpError: as raised by ``file_errors``.
        ValueError: for another form of compression.
    """

    def __init__(
        self,
        path: str,
        compression: str = "",
        level: int = -1,
        mem_level: int = 8,
        strategy: int = zlib.Z_DEFAULT_STRATEGY,
        window: int = zlib.MAX_WBITS,
    ) -> None:
        header = compression_of(compression) & 16
        self.path = path = path_text(path)
        self._deflate = (
            zlib.compressobj(level, zlib.DEFLATED, header | window, mem_level, strategy) if compression else None
        )
        self._waiting: list[bytes] = []
        self._waiting_size = 0
        self._lock = threading.Lock()
        self._owner = os.getpid()
        with file_errors(f"cannot write {path!r}"):
            self._file = open(path, "wb")  # noqa: SIM115 - close() does

    def write(self, record: bytes) -> None:
        """Append a record.

        Raises:
            FailedPreconditionError: after ``close``.
        """
        with self._lock:
            if self._file.closed:
                raise self._closed()
            self._waiting.append(record)
            # The overhead per record bounds the number of waiting records.
            self._waiting_size += len(record) + 64
            if self._waiting_size >= _BLOCK:
                self._drain()

    def _drain(self) -> None:
        """Write the records that were held back."""
        records, self._waiting, self._waiting_size = self._waiting, [], 0
        if not records:
            return
        parts = frame(records) if len(records) > 1 else frame_one(records[0])
        with file_errors(f"cannot write {self.path!r}"):
            if self._deflate is None:
                self._file.writelines(parts)
            else:
                self._file.write(self._deflate.compress(b"".join(parts)))

    def _closed(self) -> FailedPreconditionError:
        return FailedPreconditionError(f"the writer of {self.path!r} is closed")

    def flush(self) -> None:
        """Write all records to the file, so that others can read them.

        Raises:
            FailedPreconditionError: after ``close``.
        """
        with self._lock:
            if self._file.closed:
                raise self._closed()
            self._drain()
            with file_errors(f"cannot write {self.path!r}"):
                if self._deflate is not None:
                    self._file.write(self._deflate.flush(zlib.Z_SYNC_FLUSH))
                self._file.flush()

    def close(self) -> None:
        """Write the remaining records and close the file; may be called twice."""
        with self._lock:
            if self._file.closed:
                return
            with file_errors(f"cannot write {self.path!r}"), self._file:
                self._drain()
                if self._deflate is not None:
                    self._file.write(self._deflate.flush())

    def __del__(self) -> None:
        # For a writer that was not closed: its records are written as if they had not been held back. In a
        # forked child they are its parent's to write.
        if hasattr(self, "_file") and self._owner == os.getpid():
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
