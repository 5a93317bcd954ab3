"""Files of records, TensorFlow's TFRecord format: plain, zlib or gzip.

A record is its length (eight bytes, little-endian), the masked CRC-32C of those, its bytes, and the masked
CRC-32C of them. Both checksums are verified, so that damage is ``DataLossError`` with the offset of the
record in what is not compressed. Whoever reads records calls it: ``python_io`` and kernels that read files.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import BinaryIO, Protocol, Self

from actorsession.checkpoints import file_errors
from actorsession.checkpoints.crc32c import crc32c, masked
from actorsession.errors import DataLossError, FailedPreconditionError

__all__ = ["COMPRESSIONS", "Inflated", "RecordReader", "RecordWriter", "compression_of"]

_LENGTH, _CRC = struct.Struct("<Q"), struct.Struct("<I")
_HEADER, _FOOTER = 12, 4
# How much is read at a time of what may be a damaged length.
_CHUNK = 1 << 20

# What zlib is told about the header of each form of compression.
COMPRESSIONS = {"": 0, "ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}


class _Bytes(Protocol):
    """Where bytes come from."""

    def read(self, size: int, /) -> bytes:
        """So many bytes, fewer only at the end."""


def compression_of(kind: str) -> int:
    """What zlib is told about a form of compression, 0 for none.

    Raises:
        ValueError: for a form that there is not.
    """
    if kind not in COMPRESSIONS:
        raise ValueError(
            f'Not a valid compression_type: "{kind}"; "", "ZLIB" and "GZIP" are'
        )  # fmt: skip
    return COMPRESSIONS[kind]


class Inflated:
    """The bytes that were compressed into a file, in their order.

    Args:
        file: the file.
        wbits: what zlib is told about its header.
    """

    def __init__(self, file: BinaryIO, wbits: int) -> None:
        self._file = file
        self._inflate = zlib.decompressobj(wbits)
        self._rest = b""

    def read(self, size: int) -> bytes:
        """So many bytes, fewer only where the file ends.

        Raises:
            DataLossError: for bytes that were not compressed in that way.
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


class RecordReader:
    """The records of a file, one after another; an iterator that closes itself at the end.

    Args:
        path: the file.
        compression: empty, ``ZLIB`` or ``GZIP``.

    Raises:
        OpError: as ``file_errors`` says, such as NotFoundError.
        ValueError: for another form of compression.
    """

    def __init__(self, path: str, compression: str = "") -> None:
        wbits = compression_of(compression)
        self.path, self.offset = path, 0
        with file_errors(f"cannot read {path!r}"):
            self._file = open(path, "rb")  # noqa: SIM115 - close() does
        self._bytes: _Bytes = Inflated(self._file, wbits) if wbits else self._file

    def read(self) -> bytes | None:
        """The next record; nothing at the end.

        Raises:
            DataLossError: if it is damaged or cut off; ``offset`` is where it begins.
        """
        header = self._take(_HEADER)
        if not header:
            return None
        if len(header) < _HEADER:
            raise self._truncated("in its length")
        if masked(crc32c(header[:8])) != _CRC.unpack_from(header, 8)[0]:
            hint = "; is this a file of records at all?" if not self.offset else ""
            raise DataLossError(f"corrupted record at {self.offset} in {self.path!r}{hint}")
        [size] = _LENGTH.unpack_from(header)
        data, footer = self._take(size), self._take(_FOOTER)
        if len(data) < size or len(footer) < _FOOTER:
            raise self._truncated(f"which has {size} bytes")
        if masked(crc32c(data)) != _CRC.unpack(footer)[0]:
            raise DataLossError(
                f"corrupted record at {self.offset} in {self.path!r}: its bytes, from "
                f"{self.offset + _HEADER}, have another checksum"
            )
        self.offset += _HEADER + size + _FOOTER
        return data

    def _take(self, size: int) -> bytes:
        """So many bytes, fewer only at the end; a damaged size must not ask for memory."""
        with file_errors(f"cannot read {self.path!r}"):
            if size <= _CHUNK:
                return self._bytes.read(size)
            parts = io.BytesIO()
            while parts.tell() < size:
                part = self._bytes.read(min(_CHUNK, size - parts.tell()))
                if not part:
                    break
                parts.write(part)
            return parts.getvalue()

    def _truncated(self, where: str) -> DataLossError:
        return DataLossError(f"truncated record at {self.offset} in {self.path!r}, {where}")

    def close(self) -> None:
        """Lets go of the file; may be called twice."""
        self._file.close()

    def __iter__(self) -> Self:
        return self

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
        # A loop that ends early leaves it behind.
        if hasattr(self, "_file"):
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class RecordWriter:
    """Writes records into a file, which is made or replaced.

    Args:
        path: the file.
        compression: empty, ``ZLIB`` or ``GZIP``.
        level: of the compression, 0 to 9; zlib's own for -1.
        mem_level: how much memory it takes, 1 to 9.
        strategy: zlib's.
        window: how far it looks back, as a power of two: 9 to 15.

    Raises:
        OpError: as ``file_errors`` says.
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
        self.path = path
        self._deflate = (
            zlib.compressobj(level, zlib.DEFLATED, header | window, mem_level, strategy)
            if compression
            else None
        )
        with file_errors(f"cannot write {path!r}"):
            self._file = open(path, "wb")  # noqa: SIM115 - close() does

    def write(self, record: bytes) -> None:
        """Appends a record.

        Raises:
            FailedPreconditionError: after ``close``.
        """
        size = _LENGTH.pack(len(record))
        self._put(
            b"".join(
                (size, _CRC.pack(masked(crc32c(size))), record, _CRC.pack(masked(crc32c(record))))
            )
        )

    def _put(self, data: bytes) -> None:
        self._check_open()
        with file_errors(f"cannot write {self.path!r}"):
            self._file.write(data if self._deflate is None else self._deflate.compress(data))

    def _check_open(self) -> None:
        if self._file.closed:
            raise FailedPreconditionError(f"the writer of {self.path!r} is closed")

    def flush(self) -> None:
        """Hands over what was written, so that others can read it.

        Raises:
            FailedPreconditionError: after ``close``.
        """
        self._check_open()
        with file_errors(f"cannot write {self.path!r}"):
            if self._deflate is not None:
                self._file.write(self._deflate.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()

    def close(self) -> None:
        """Writes what is left and lets go of the file; may be called twice."""
        if self._file.closed:
            return
        with file_errors(f"cannot write {self.path!r}"), self._file:
            if self._deflate is not None:
                self._file.write(self._deflate.flush())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
