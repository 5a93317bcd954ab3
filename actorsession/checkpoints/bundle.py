"""Reading TensorFlow's checkpoints (``V2``, tensor bundles) without TensorFlow.

The format: ``prefix.index`` is a sorted table from tensor name to a protobuf message with the place of the
bytes in ``prefix.data-00000-of-00001`` and similar files; the empty key holds a header. A tensor saved in
slices has an entry that lists the slices, and one entry per slice under a key of its own. Every checksum is
verified. ``reader`` calls this; ``bundle_writer`` writes.
"""

from __future__ import annotations

import functools
import math
import mmap
import os
import re
import struct
from dataclasses import field

import numpy as np

from actorsession.checkpoints.atomic import file_errors, files_beginning, regular
from actorsession.checkpoints.crc32c import crc32c, crc32c_each, masked
from actorsession.checkpoints.entry import Entry, Piece, add_piece
from actorsession.checkpoints.slices import Array, Extent, Shape, check_shape, slice_key
from actorsession.checkpoints.sorted_table import read_table
from actorsession.config.file_roots import ANYWHERE, FileRoots
from actorsession.errors import DataLossError, NotFoundError, UnimplementedError
from actorsession.graph.dtypes import ALL_TYPES, DType, as_dtype, string
from actorsession.protobuf.wire import as_bytes, as_integer, fields, read_varint, signed
from actorsession.records import dataclass

__all__ = [
    "TensorBundle", "data_file", "data_files", "extent_of", "kind_of", "read_index", "read_shape",
    "read_span",
]  # fmt: skip

# The version of the format that is read here; the header may require a later one.
_READS_VERSION = 1
# Pieces of so many bytes are checked together, and so many bytes of them: a millisecond of work, which is
# less than reading the index of so many pieces.
_SMALL, _TOGETHER = 1 << 12, 1 << 20
_LITTLE = 0

_DTYPES = {t.as_datatype_enum: t.name for t in ALL_TYPES if t.kind not in "rv"}
_OTHER_DTYPES: dict[int, str] = {
    20: "resource", 21: "variant", 24: "float8_e5m2", 25: "float8_e4m3fn", 29: "int4", 30: "uint4",
}  # fmt: skip


def data_file(prefix: str, shard: int, shards: int) -> str:
    """Return the file that holds the bytes of one shard."""
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def data_files(prefix: str, files: FileRoots = ANYWHERE) -> dict[str, int]:
    """Return the files of that form that exist, each with the number of files that its name tells."""
    found = files_beginning(prefix, r"\.data-\d{5}-of-(\d{5})", files)
    return {path: int(match[1]) for path, match in found}


# A record of a whole tensor, as every writer orders its fields: element type, shape, shard, offset, size and
# checksum. The numbers are varints.
_NUMBER = rb"([\x80-\xff]*[\x00-\x7f])"
_WHOLE = re.compile(
    rb"\x08([\x00-\x7f])\x12([\x00-\x7f])((?:\x12.(?:\x08[\x80-\xff]*[\x00-\x7f])?)*)"
    rb"(?:\x18"
    + _NUMBER
    + rb")?(?:\x20"
    + _NUMBER
    + rb")?(?:\x28"
    + _NUMBER
    + rb")?(?:\x35(.{4}))?",
    re.DOTALL,
)


@dataclass(slots=True)
class _Record:
    """A BundleEntryProto."""

    dtype: int = 0
    shape: Shape = ()
    shard: int = 0
    offset: int = 0
    size: int = 0
    crc: int = 0
    # Whether its bytes were found to have the checksum, together with others; good for one read.
    is_sound: bool = False
    slices: list[list[tuple[int, int]]] = field(default_factory=list)


class TensorBundle:
    """An open TensorFlow checkpoint; a ``Source``.

    Args:
        prefix: the beginning of the names of its files.
        files: the folders in which files may be opened.

    Raises:
        DataLossError: if the index is damaged.
        NotFoundError: if it does not exist.
        UnimplementedError: if it was written by a big-endian machine, or a later version.
    """

    def __init__(self, prefix: str, files: FileRoots = ANYWHERE) -> None:
        self.path = prefix
        self._files = files
        self.entries: dict[str, Entry] = {}
        self._maps: dict[int, mmap.mmap] = {}
        self._small: dict[int, list[_Record]] = {}  # by shard, until the first of them is read
        path = prefix + ".index"
        table, self._shards = read_index(prefix, files)
        try:
            for key, value in table.items():
                if not key.startswith(b"\0"):  # the keys of slices do
                    self._add(key.decode(), _read_record(value), table)
        except ValueError as exc:
            raise DataLossError(f"the index {path!r} is damaged: {exc}") from exc

    def close(self) -> None:
        """Release the files; may be called twice."""
        self._maps.clear()

    def _add(self, name: str, record: _Record, table: dict[bytes, bytes]) -> None:
        dtype, stored = kind_of(record.dtype)
        if not record.slices:
            piece = self._piece(name, Extent.whole(record.shape), dtype, record)
            self.entries[name] = Entry(dtype, stored, record.shape, [piece])
            return
        for spans in record.slices:
            part = table.get(slice_key(name, spans))
            if part is None:
                raise ValueError(
                    f"the index lists the slice {spans} of {name!r}, but does not contain it"
                )
            extent = extent_of(name, spans, record.shape)
            found = self._piece(name, extent, dtype, _read_record(part))
            add_piece(self.entries, name, Entry(dtype, stored, record.shape, [found]), self.path)

    def _piece(self, name: str, extent: Extent, dtype: DType | None, record: _Record) -> Piece:
        if dtype is not None and dtype is not string:
            size = extent.elements * dtype.itemsize
            if record.size != size:
                raise ValueError(f"{name!r} has {record.size} bytes, but its shape needs {size}")
            if size <= _SMALL:
                self._small.setdefault(record.shard, []).append(record)

        def load() -> Array:
            assert dtype is not None
            content = self._content(name, record)
            if dtype is string:
                return _strings(content, record, extent.sizes, f"{name!r} in {self.path!r}")
            if record.is_sound:
                record.is_sound = False
            else:
                self._check(name, record, masked(crc32c(content)))
            return content.view(dtype.np_dtype).reshape(extent.sizes)

        return Piece(extent, load)

    def _content(self, name: str, record: _Record) -> Array:
        if not record.size:
            return np.zeros(0, np.uint8)
        mapped = self._maps.get(record.shard)
        if mapped is None:
            mapped = _mapped(data_file(self.path, record.shard, self._shards), self._files)
            if mapped is not None:
                self._maps[record.shard] = mapped
                small = self._small.pop(record.shard, [])
                if len(small) > 1:
                    _check_together(small, mapped)
        held = 0 if mapped is None else len(mapped)
        if mapped is None or record.offset + record.size > held:
            path = data_file(self.path, record.shard, self._shards)
            raise DataLossError(
                f"{path!r} is truncated: it has {held} bytes, but {name!r} reaches from "
                f"{record.offset} to {record.offset + record.size}"
            )
        return np.frombuffer(mapped, np.uint8, record.size, record.offset)

    def _check(self, name: str, record: _Record, found: int) -> None:
        if found != record.crc:
            raise DataLossError(
                f"the bytes of {name!r} in {self.path!r} have the checksum {found:#010x}, but "
                f"the index has {record.crc:#010x}: the file is damaged"
            )


@functools.cache
def kind_of(number: int) -> tuple[DType | None, str]:
    """Return the type of elements with a number, ``None`` for one that there is not, and its name."""
    kind = _DTYPES.get(number)
    stored = kind or _OTHER_DTYPES.get(number, f"DataType {number}")
    return None if kind is None else as_dtype(kind), stored


def read_index(prefix: str, files: FileRoots = ANYWHERE) -> tuple[dict[bytes, bytes], int]:
    """Return the entries of an index by their keys, and the number of its data files.

    Args:
        prefix: the beginning of the names of the files.
        files: the folders in which files may be opened.

    Raises:
        DataLossError: if it is damaged.
        NotFoundError: if it does not exist.
        UnimplementedError: if it was written by a big-endian machine, or a later version.
    """
    path = prefix + ".index"
    with file_errors(f"cannot read {path!r}"), open(path, "rb", opener=regular(files)) as file:
        table = read_table(file.read(), path)
    try:
        return table, _read_header(table.pop(b"", b""), path)
    except ValueError as exc:
        raise DataLossError(f"the index {path!r} is damaged: {exc}") from exc


def _check_together(records: list[_Record], mapped: mmap.mmap) -> None:
    """Look which of many small pieces of a data file have their checksums, in half the time of one by one."""
    places = np.array([(record.offset, record.size) for record in records], np.int64)
    sizes = places[:, 1]
    found = (places.sum(axis=1) <= len(mapped)) & (sizes > 0) & (sizes.cumsum() <= _TOGETHER)
    data = np.frombuffer(mapped, np.uint8)
    sums = masked(crc32c_each(data, places[found, 0], sizes[found]))
    for index, crc in zip(np.flatnonzero(found).tolist(), sums.tolist(), strict=True):
        records[index].is_sound = records[index].crc == crc


def _mapped(path: str, files: FileRoots) -> mmap.mmap | None:
    """Return the content of a data file; ``None`` if it is empty."""
    try:
        with file_errors(f"cannot read {path!r}"), open(path, "rb", opener=regular(files)) as file:
            size = os.fstat(file.fileno()).st_size
            return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else None
    except NotFoundError as exc:
        # The index exists, so the checkpoint was complete once and has lost this file.
        raise DataLossError(f"the data file {path!r} is missing") from exc


# -- messages --------------------------------------------------------------------------------------


def _read_header(data: bytes, path: str) -> int:
    """Return the number of shards, after checking that the header can be read."""
    shards, endianness, needs = 0, _LITTLE, 0
    for number, value in fields(data):
        if number == 1:
            shards = as_integer(value)
        elif number == 2:
            endianness = as_integer(value)
        elif number == 3:
            needs = max([as_integer(v) for n, v in fields(as_bytes(value)) if n == 2], default=0)
    if endianness != _LITTLE:
        raise UnimplementedError(f"{path!r} was written on a big-endian machine")
    if needs > _READS_VERSION:
        raise UnimplementedError(
            f"{path!r} requires a reader of version {needs}; this one has version {_READS_VERSION}"
        )
    if not shards:
        raise ValueError("the header contains no number of shards")
    return shards


def _read_record(data: bytes) -> _Record:
    whole = _WHOLE.fullmatch(data)
    if whole is not None and whole[2][0] == len(whole[3]):
        kind, _, shape, shard, offset, size, crc = whole.groups(b"\0")
        return _Record(
            kind[0], read_shape(shape), _number(shard), _number(offset), _number(size),
            int.from_bytes(crc, "little"),
        )  # fmt: skip
    record = _Record()
    for number, value in fields(data):
        if number == 1:
            record.dtype = as_integer(value)
        elif number == 2:
            record.shape = read_shape(as_bytes(value))
        elif number == 3:
            record.shard = as_integer(value)
        elif number == 4:
            record.offset = as_integer(value)
        elif number == 5:
            record.size = as_integer(value)
        elif number == 6:
            record.crc = as_integer(value)
        elif number == 7:
            record.slices.append(
                [read_span(as_bytes(v)) for n, v in fields(as_bytes(value)) if n == 1]
            )
    return record


def _number(data: bytes) -> int:
    if len(data) == 1:
        return data[0]
    if len(data) == 2:
        return data[0] & 0x7F | data[1] << 7
    return read_varint(data, 0)[0]


@functools.lru_cache(1024)  # the variables of a model have few shapes
def read_shape(data: bytes) -> Shape:
    """Return the shape of a TensorShapeProto."""
    dims = []
    for number, value in fields(data):
        if number == 2:
            sizes = [signed(as_integer(v)) for n, v in fields(as_bytes(value)) if n == 1]
            dims.append(sizes[-1] if sizes else 0)
    if any(dim < 0 for dim in dims):
        raise ValueError(f"a tensor has the shape {dims}")
    return check_shape(tuple(dims))


def read_span(data: bytes) -> tuple[int, int]:
    """Return the start and size of one dimension of a slice; size -1 for all of it."""
    start, size = 0, -1
    for number, value in fields(data):
        if number == 1:
            start = signed(as_integer(value))
        elif number == 2:
            size = signed(as_integer(value))
    return start, size


def extent_of(name: str, spans: list[tuple[int, int]], shape: Shape) -> Extent:
    """Return the place of a slice in a tensor."""
    starts = tuple(a for a, _ in spans)
    sizes = tuple(shape[i] if n < 0 and i < len(shape) else n for i, (_, n) in enumerate(spans))
    extent = Extent(starts, sizes)
    if not extent.fits(shape):
        raise ValueError(f"the slice {extent} of {name!r} exceeds the shape {list(shape)}")
    return extent


# -- strings ---------------------------------------------------------------------------------------

_UINT32, _UINT64 = struct.Struct("<I"), struct.Struct("<Q")


def _strings(content: Array, record: _Record, shape: Shape, where: str) -> Array:
    """Return a string tensor, which is stored as the lengths, a checksum of them, then the bytes.

    The checksum of the tensor is over the lengths as fixed numbers, that checksum, and the bytes.
    """
    data, count = content.tobytes(), math.prod(shape)
    try:
        sizes, position = [], 0
        for _ in range(count):
            size, position = read_varint(data, position)
            sizes.append(size)
        if position + 4 + sum(sizes) != len(data):
            raise ValueError("the sum of the lengths of its strings is not its size")
    except ValueError as exc:
        raise DataLossError(f"{where} is damaged: {exc}") from exc
    fixed = b"".join((_UINT32 if n < 1 << 32 else _UINT64).pack(n) for n in sizes)
    crc = crc32c(fixed)
    stored = data[position : position + 4]
    if masked(crc) != _UINT32.unpack(stored)[0]:
        raise DataLossError(f"the checksum of the lengths of {where} is wrong: the file is damaged")
    position += 4
    crc = crc32c(data[position:], crc32c(stored, crc))
    if masked(crc) != record.crc:
        raise DataLossError(f"the checksum of {where} is wrong: the file is damaged")
    out = np.empty(count, object)
    for i, size in enumerate(sizes):
        out[i] = data[position : position + size]
        position += size
    return out.reshape(shape)
