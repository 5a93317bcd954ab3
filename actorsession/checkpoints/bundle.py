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
import struct
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from actorsession.checkpoints.atomic import file_errors, files_beginning, open_file
from actorsession.checkpoints.crc32c import crc32c, crc32c_each, masked
from actorsession.checkpoints.entry import Entry, add_piece
from actorsession.checkpoints.slices import Array, Extent, Shape, check_shape, slice_key
from actorsession.checkpoints.sorted_table import read_table
from actorsession.collector import pause_collector
from actorsession.config.file_roots import ANYWHERE, FileRoots
from actorsession.errors import DataLossError, NotFoundError, UnimplementedError
from actorsession.graph.dtypes import ALL_TYPES, DType, as_dtype, string
from actorsession.protobuf.wire import as_bytes, as_integer, fields, integers_from, read_varint, signed
from actorsession.records import dataclass
from transports.host import current_host

__all__ = ["TensorBundle", "data_file", "data_files", "extent_of", "kind_of", "read_index", "read_shape", "read_span"]

# The version of the format that is read here; the header may require a later one.
_READS_VERSION = 1
# Pieces of so many bytes are checked together, and so many bytes of them: a millisecond of work, which is
# less than reading the index of so many pieces.
_SMALL, _TOGETHER = 1 << 12, 1 << 20
_LITTLE = 0
# The keys of slices begin with it.
_OF_SLICE = b"\0"

_DTYPES = {t.as_datatype_enum: t.name for t in ALL_TYPES if t.kind not in "rv"}
_OTHER_DTYPES: dict[int, str] = {
    20: "resource",
    21: "variant",
    24: "float8_e5m2",
    25: "float8_e4m3fn",
    29: "int4",
    30: "uint4",
}


def data_file(prefix: str, shard: int, shards: int) -> str:
    """Return the file that holds the bytes of one shard."""
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def data_files(prefix: str, files: FileRoots = ANYWHERE) -> dict[str, int]:
    """Return the files of that form that exist, each with the number of files that its name tells."""
    matches = files_beginning(prefix, r"\.data-\d{5}-of-(\d{5})", files)
    return {path: int(match[1]) for path, match in matches}


@dataclass(slots=True)
class _DataFiles:
    """The data files of a checkpoint, with the places of all pieces in them.

    Pieces refer to it, and it to none of them: a checkpoint that nobody holds is released at once.

    Attributes:
        prefix: the beginning of their names.
        count: how many there are.
        roots: the folders in which files may be opened.
        shards: for each piece, the number of its file.
        offsets: where it begins in the file.
        sizes: how many bytes it has.
        sums: the masked checksum of its bytes.
        are_sound: whether its bytes were found to have it, together with others; good for one read.
        maps: the contents of the files that were read.
    """

    prefix: str
    count: int
    roots: FileRoots
    shards: list[int]
    offsets: list[int]
    sizes: list[int]
    sums: list[int]
    are_sound: list[bool] = field(init=False)
    maps: dict[int, mmap.mmap | bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.close()

    def close(self) -> None:
        """Release the files."""
        self.maps.clear()
        self.are_sound = [False] * len(self.sizes)

    def mapped(self, shard: int) -> mmap.mmap | bytes:
        """Return the content of a file that is not mapped, after a look at its small pieces."""
        path = data_file(self.prefix, shard, self.count)
        mapped = self.maps[shard] = _mapped(path, self.roots)
        self._check_together(shard, mapped)
        return mapped

    def _check_together(self, shard: int, mapped: mmap.mmap | bytes) -> None:
        """Look which small pieces have their checksums, in a quarter of the time of one by one."""
        shards, offsets, sizes, sums = (
            np.array(each, np.uint64) for each in (self.shards, self.offsets, self.sizes, self.sums)
        )
        end = np.uint64(len(mapped))
        rows = np.flatnonzero(
            (shards == shard) & (sizes > 0) & (sizes <= np.minimum(end, _SMALL)) & (offsets <= end - sizes)
        )
        rows = rows[sizes[rows].cumsum() <= _TOGETHER]
        if rows.size > 1:  # else a call for one is faster
            starts, sizes = offsets[rows].astype(np.int64), sizes[rows].astype(np.int64)
            actual = masked(crc32c_each(np.frombuffer(mapped, np.uint8), starts, sizes))
            for row, is_sound in zip(rows.tolist(), (actual == sums[rows]).tolist(), strict=True):
                self.are_sound[row] = is_sound


@dataclass(slots=True)
class _Stored:
    """A ``Piece`` in a data file.

    Attributes:
        files: the files.
        row: the number of the piece among those in the files.
        name: the name of the tensor.
        dtype: element type of the tensor; ``None`` for one that there is not.
        extent: the place of the piece in the tensor.
    """

    files: _DataFiles
    row: int
    name: str
    dtype: DType | None
    extent: Extent

    def load(self) -> Array:
        dtype, files, row = self.dtype, self.files, self.row
        assert dtype is not None
        shard = files.shards[row]
        content = np.zeros(0, np.uint8)
        if size := files.sizes[row]:
            mapped, offset = files.maps.get(shard) or files.mapped(shard), files.offsets[row]
            if files.are_sound[row] and dtype is not string:
                files.are_sound[row] = False
                return np.ndarray(self.extent.sizes, dtype.np_dtype, mapped, offset)
            if offset + size > len(mapped):
                raise DataLossError(
                    f"{data_file(files.prefix, shard, files.count)!r} is truncated: it has {len(mapped)} "
                    f"bytes, but {self.name!r} reaches from {offset} to {offset + size}"
                )
            content = np.frombuffer(mapped, np.uint8, size, offset)
        if dtype is string:
            where = f"{self.name!r} in {files.prefix!r}"
            return _strings(content, files.sums[row], self.extent.sizes, where)
        if (checksum := masked(crc32c(content))) != files.sums[row]:
            raise DataLossError(
                f"the bytes of {self.name!r} in {files.prefix!r} have the checksum {checksum:#010x}, but "
                f"the index has {files.sums[row]:#010x}: the file is damaged"
            )
        return content.view(dtype.np_dtype).reshape(self.extent.sizes)


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
        self.entries: dict[str, Entry] = {}
        path = prefix + ".index"
        # The collector would look at the new objects several times, and none of them is garbage.
        with pause_collector():
            table, count = read_index(prefix, files)
            try:
                forms, parts, *places = _read_records(list(table.values()))
                shards, offsets, sizes, sums = places
                self._files = _DataFiles(prefix, count, files, shards, offsets, sizes, sums)
                self._add_all(list(table), forms, parts)
            except ValueError as exc:
                raise DataLossError(f"the index {path!r} is damaged: {exc}") from exc

    def close(self) -> None:
        """Release the files; may be called twice."""
        self._files.close()

    def _add_all(self, keys: list[bytes], forms: list[_Form], parts: list[Sequence[list[tuple[int, int]]]]) -> None:
        files = self._files
        rows = {key: row for row, key in enumerate(keys) if key.startswith(_OF_SLICE)}
        for row, (key, form, slices) in enumerate(zip(keys, forms, parts, strict=True)):
            if key.startswith(_OF_SLICE):
                continue
            name = key.decode()
            for spans in slices:
                of_slice = rows.get(slice_key(name, spans))
                if of_slice is None:
                    raise ValueError(f"the index lists the slice {spans} of {name!r}, but does not contain it")
                extent = extent_of(name, spans, form.shape)
                form.check_size(name, extent, files.sizes[of_slice])
                piece = _Stored(files, of_slice, name, form.dtype, extent)
                entry = Entry(form.dtype, form.stored, form.shape, [piece])
                add_piece(self.entries, name, entry, self.path)
            if not slices:
                form.check_size(name, form.whole, files.sizes[row])
                piece = _Stored(files, row, name, form.dtype, form.whole)
                self.entries[name] = Entry(form.dtype, form.stored, form.shape, [piece])


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
    with file_errors(f"cannot read {path!r}"), open_file(path, files) as file:
        table = read_table(file.read(), path)
    try:
        return table, _read_header(table.pop(b"", b""), path)
    except ValueError as exc:
        raise DataLossError(f"the index {path!r} is damaged: {exc}") from exc


def _mapped(path: str, files: FileRoots) -> mmap.mmap | bytes:
    """Return the content of a data file."""
    try:
        with file_errors(f"cannot read {path!r}"), open_file(path, files) as file:
            size = current_host().files.fstat(file.fileno()).st_size
            return current_host().files.map(file.fileno(), size)
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


# The tags of a record: of the element type, of the shape, of the numbers (shard, offset, size) and of the
# checksum, which is a fixed one.
_KIND, _SHAPE, _NUMBERS, _SUM = 0x08, 0x12, (0x18, 0x20, 0x28), 0x35


@dataclass(frozen=True, slots=True)
class _Form:
    """What a record says about the whole tensor.

    Attributes:
        dtype: element type; ``None`` for one that there is not.
        stored: its name.
        shape: of the whole.
        whole: the box of the whole.
        width: bytes of an element; 0 if they differ, or are not known.
        size: bytes of the whole; 0 likewise.
    """

    dtype: DType | None
    stored: str
    shape: Shape
    whole: Extent
    width: int
    size: int

    def check_size(self, name: str, extent: Extent, size: int) -> None:
        """Check the number of bytes of a piece."""
        needs = self.size if extent is self.whole else extent.elements * self.width
        if self.width and size != needs:
            raise ValueError(f"{name!r} has {size} bytes, but its shape needs {needs}")


def _form(kind: int, shape: Shape) -> _Form:
    dtype, stored = kind_of(kind)
    width = 0 if dtype is None or dtype is string else dtype.itemsize
    whole = Extent.whole(shape)
    return _Form(dtype, stored, shape, whole, width, whole.elements * width)


@functools.lru_cache(1024)  # the variables of a model have few shapes
def _form_of(head: bytes) -> _Form:
    """Return what the first two fields of a record say."""
    return _form(head[1], read_shape(head[4:]))


def _read_records(records: Sequence[bytes]) -> list[list[Any]]:
    """Return form, slices, shard, offset, size and checksum of each BundleEntryProto: a list of each.

    Every writer orders the fields of a whole tensor alike: element type and shape, which take four bytes more
    than the shape itself, then numbers of which any may be left out. They are decoded for all records at
    once; a record of another kind is read by itself.
    """
    data = b"".join(records) + bytes(16)
    octets = np.frombuffer(data, np.uint8)
    ends = np.cumsum(list(map(len, records)), dtype=np.int64)
    starts = np.append(0, ends)[:-1]
    is_usual = (octets[starts] == _KIND) & (octets[starts + 2] == _SHAPE)
    is_usual &= octets[starts + 1] | octets[starts + 3] < 0x80
    at = starts + 4 + octets[starts + 3]
    columns: list[list[Any]] = []
    for tag in (*_NUMBERS, _SUM):
        at = np.minimum(at, ends)
        is_there = octets[at] == tag
        if tag == _SUM:
            numbers = np.ndarray(len(data) - 3, "<u4", data, strides=(1,))[at + 1]
            at += is_there * 5
        else:
            numbers, sizes = integers_from(data, at + 1)
            is_usual &= sizes > 0
            at += is_there * (1 + sizes)
        columns.append((numbers * is_there).tolist())
    is_usual &= at == ends
    forms = [
        _form_of(record[: 4 + record[3]]) if usual else None
        for record, usual in zip(records, is_usual.tolist(), strict=True)
    ]
    columns_read: list[list[Any]] = [forms, [()] * len(records), *columns]
    for other in np.flatnonzero(~is_usual).tolist():
        for column, value in zip(columns_read, _read_record(records[other]), strict=True):
            column[other] = value
    return columns_read


def _read_record(data: bytes) -> tuple[_Form, Sequence[list[tuple[int, int]]], int, int, int, int]:
    kind = shard = offset = size = crc = 0
    shape: Shape = ()
    slices = []
    for number, value in fields(data):
        if number == 1:
            kind = as_integer(value)
        elif number == 2:
            shape = read_shape(as_bytes(value))
        elif number == 3:
            shard = as_integer(value)
        elif number == 4:
            offset = as_integer(value)
        elif number == 5:
            size = as_integer(value)
        elif number == 6:
            crc = as_integer(value)
        elif number == 7:
            slices.append([read_span(as_bytes(v)) for n, v in fields(as_bytes(value)) if n == 1])
    return _form(kind, shape), slices, shard, offset, size, crc


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


def _strings(content: Array, of_tensor: int, shape: Shape, where: str) -> Array:
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
    if masked(crc) != of_tensor:
        raise DataLossError(f"the checksum of {where} is wrong: the file is damaged")
    out = np.empty(count, object)
    for i, size in enumerate(sizes):
        out[i] = data[position : position + size]
        position += size
    return out.reshape(shape)
