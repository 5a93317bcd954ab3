"""Writing checkpoints in TensorFlow's format (``V2``, tensor bundles), for programs that read no other.

It writes the files that ``bundle`` reads: a data file, and a sorted table with the place of each tensor in
it. The index is written last, so that a checkpoint with an index is complete. Several devices write several
checkpoints, which ``merge_bundles`` makes one of without reading a tensor.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from actorsession.checkpoints.atomic import file_errors, replace_file, write_whole
from actorsession.checkpoints.bundle import data_file, read_index
from actorsession.checkpoints.crc32c import crc32c, masked
from actorsession.checkpoints.sharded import remove_empty_folders
from actorsession.checkpoints.slices import Array, Extent, parse_spec, slice_key
from actorsession.checkpoints.sorted_table import MAGIC
from actorsession.config.file_roots import ANYWHERE, FileRoots
from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype, string
from actorsession.protobuf.wire import (
    FIXED32,
    as_integer,
    fields,
    integer_field,
    length_field,
    write_tag,
    write_varint,
)

__all__ = [
    "merge_bundles", "save_bundle", "shape_field", "slice_message", "spans_of", "write_bundle",
    "write_table",
]  # fmt: skip

# A table has a complete key once in so many entries, and a block of entries ends after so many bytes:
# LevelDB's numbers.
_RESTART, _BLOCK = 16, 4096
# Fields of an entry: the number of its file, its checksum, and its slices.
_SHARD, _CRC, _SLICES = 3, 6, 7


def save_bundle(
    prefix: str,
    names: Sequence[str],
    specs: Sequence[str],
    values: Sequence[Any],
    files: FileRoots = ANYWHERE,
) -> None:
    """Write tensors and slices of tensors as a checkpoint, replacing the one of that prefix.

    Args:
        prefix: the beginning of the names of its files.
        names: of the tensors.
        specs: the ``shape_and_slice`` of each; empty for a whole tensor.
        values: arrays; borrowed.
        files: the folders in which files may be written.

    Raises:
        InvalidArgumentError: for a tensor that occurs twice, or does not fit its slice.
        OpError: as in ``file_errors``.
    """
    tensors: list[tuple[str, DType, Array]] = []
    parts: dict[str, list[tuple[tuple[int, ...], Extent, int]]] = {}
    for name, spec, value in zip(names, specs, values, strict=True):
        array = np.asarray(value)
        part = parse_spec(spec)
        if part is not None and part[1].sizes != array.shape:
            raise InvalidArgumentError(
                f"{name!r} is saved as the slice {spec!r}, which has shape {list(part[1].sizes)}, but the "
                f"tensor has shape {list(array.shape)}"
            )
        partial = part is not None and part[1] != Extent.whole(part[0])
        known = parts.setdefault(name, [])
        if known and not (partial and known[0][2] >= 0):
            raise InvalidArgumentError(f"{name!r} would be saved twice in {prefix!r}")
        shape, extent = part if part is not None and partial else (array.shape, Extent((), ()))
        if any(extent == other for _, other, _ in known):
            raise InvalidArgumentError(f"{name!r}{extent} would be saved twice in {prefix!r}")
        known.append((shape, extent, len(tensors) if partial else -1))
        kind = string if array.dtype == object else as_dtype(array.dtype.newbyteorder("="))
        tensors.append((name, kind, array))
    slices = {at: (shape, extent) for of in parts.values() for shape, extent, at in of if at >= 0}
    write_bundle(prefix, tensors, slices, files)


def write_bundle(
    prefix: str,
    tensors: Iterable[tuple[str, DType, Array]],
    slices: Mapping[int, tuple[tuple[int, ...], Extent]] | None = None,
    files: FileRoots = ANYWHERE,
) -> None:
    """Create or replace a checkpoint.

    Args:
        prefix: the beginning of the names of its files.
        tensors: name, type and value of each; strings are arrays of objects. One value at a time is held.
        slices: for each value that is a slice, by its position: the shape of the whole, and where it lies.
        files: the folders in which files may be written.

    Raises:
        OpError: as in ``file_errors``.
    """
    entries: dict[bytes, bytes] = {}

    def write(file: BinaryIO) -> None:
        for number, (name, dtype, value) in enumerate(tensors):
            parts, crc = _string_parts(value) if dtype is string else _number_parts(value)
            entry = _entry(dtype, value.shape, file.tell(), parts, crc)
            if slices is None or number not in slices:
                entries[name.encode()] = entry
            else:
                shape, extent = slices[number]
                spans = spans_of(shape, extent)
                entries[slice_key(name, spans)] = entry
                whole = entries.get(name.encode()) or _kind_and_shape(dtype, shape)
                entries[name.encode()] = whole + length_field(_SLICES, slice_message(spans))
            file.writelines(parts)

    write_whole(data_file(prefix, 0, 1), write, files)
    _write_index(prefix, entries, 1, files)


def _write_index(
    prefix: str, entries: Mapping[bytes, bytes], shards: int, files: FileRoots
) -> None:
    """Write the index: the entries, and the header with the number of files and the format's version."""
    header = integer_field(1, shards) + length_field(3, integer_field(1, 1))
    table = write_table({b"": header, **entries})
    write_whole(f"{prefix}.index", lambda file: file.writelines([table]), files)


def merge_bundles(
    prefixes: Sequence[str],
    destination: str,
    delete_old_dirs: bool = True,
    files: FileRoots = ANYWHERE,
) -> None:
    """Make one checkpoint of several by moving their files; no tensor is read.

    Args:
        prefixes: of the checkpoints.
        destination: prefix of the whole.
        delete_old_dirs: whether folders that are left empty are removed.
        files: the folders in which files may be moved, and none of which is removed.

    Raises:
        InvalidArgumentError: if two have the same tensor.
        NotFoundError: if one is missing.
        DataLossError: if one is damaged.
    """
    entries: dict[bytes, bytes] = {}
    parts: list[str] = []
    for prefix in prefixes:
        table, count = read_index(prefix, files)
        for key, value in table.items():
            moved = _of_shard(value, len(parts))
            known = entries.get(key)
            if known is None:
                entries[key] = moved
            elif (more := _slices_of(moved)) and _slices_of(known):
                entries[key] = known + more
            else:
                name = key.decode("utf-8", "replace")
                raise InvalidArgumentError(f"two shards of {destination!r} contain {name!r}")
        parts += [data_file(prefix, number, count) for number in range(count)]
    for number, part in enumerate(parts):
        replace_file(part, data_file(destination, number, len(parts)), files)
    _write_index(destination, entries, len(parts), files)
    for prefix in prefixes:
        if os.path.abspath(prefix) != os.path.abspath(destination):
            with file_errors(f"cannot remove {prefix!r}"):
                files.unlink(f"{prefix}.index")
    if delete_old_dirs:
        remove_empty_folders(prefixes, destination, files)


def _of_shard(entry: bytes, offset: int) -> bytes:
    """Return an entry whose file has a number that is larger by an offset."""
    shard = max(
        [as_integer(value) for number, value in fields(entry) if number == _SHARD], default=0
    )
    # Of a field that occurs twice, the last one counts.
    moved = offset and not _slices_of(entry)
    return entry + integer_field(_SHARD, shard + offset) if moved else entry


def _slices_of(entry: bytes) -> bytes:
    """Return the slices that an entry lists."""
    return b"".join(
        [length_field(_SLICES, value) for number, value in fields(entry)
         if number == _SLICES and isinstance(value, bytes)]
    )  # fmt: skip


def spans_of(shape: Sequence[int], extent: Extent) -> list[tuple[int, int]]:
    """Return start and size of each dimension; size -1 for a whole one."""
    return [
        (0, -1) if (start, size) == (0, dim) else (start, size)
        for dim, start, size in zip(shape, extent.starts, extent.sizes, strict=True)
    ]


def slice_message(spans: Sequence[tuple[int, int]]) -> bytes:
    """Return a TensorSliceProto."""
    out = []
    for start, size in spans:
        whole = size < 0
        # The size is a member of a oneof: it is written when it is zero, too.
        length = b"" if whole else write_tag(2, 0) + write_varint(size)
        out.append(length_field(1, b"" if whole else integer_field(1, start) + length))
    return b"".join(out)


def _number_parts(value: Array) -> tuple[list[Any], int]:
    little = np.ascontiguousarray(value)
    if little.dtype.byteorder == ">":
        little = little.astype(little.dtype.newbyteorder("<"))
    octets = little.reshape(-1).view(np.uint8)
    return [octets.data], crc32c(octets)


def _string_parts(value: Array) -> tuple[list[Any], int]:
    """Return the lengths, a checksum of them, then the strings; and the checksum of it all."""
    texts: list[bytes] = value.reshape(-1).tolist()
    fixed = b"".join(
        [len(each).to_bytes(4 if len(each) < 1 << 32 else 8, "little") for each in texts]
    )
    crc = crc32c(fixed)
    stored = masked(crc).to_bytes(4, "little")
    content = b"".join(texts)
    lengths = b"".join([write_varint(len(each)) for each in texts])
    return [lengths, stored, content], crc32c(content, crc32c(stored, crc))


def _entry(
    dtype: DType, shape: Sequence[int], offset: int, parts: Sequence[Any], crc: int
) -> bytes:
    """Return a BundleEntryProto."""
    return b"".join(
        (
            _kind_and_shape(dtype, shape), integer_field(4, offset),
            integer_field(5, sum(len(part) for part in parts)),
            write_tag(_CRC, FIXED32), int(masked(crc)).to_bytes(4, "little"),
        )
    )  # fmt: skip


def _kind_and_shape(dtype: DType, shape: Sequence[int]) -> bytes:
    """Return the first fields of a BundleEntryProto."""
    return integer_field(1, dtype.as_datatype_enum) + shape_field(2, shape)


def shape_field(number: int, shape: Sequence[int]) -> bytes:
    """Return a TensorShapeProto as a field."""
    dims = b"".join([length_field(2, integer_field(1, size)) for size in shape])
    return length_field(number, dims)


# -- the table -------------------------------------------------------------------------------------


def write_table(entries: Mapping[bytes, bytes]) -> bytes:
    """Return a sorted table of some entries, as ``sorted_table`` reads it."""
    out = bytearray()
    index: list[tuple[bytes, bytes]] = []
    block: list[tuple[bytes, bytes]] = []
    size = 0
    for key, value in sorted(entries.items()):
        block.append((key, value))
        size += len(key) + len(value)
        if size >= _BLOCK:
            index.append((key, _appended(out, block, _RESTART)))
            block, size = [], 0
    if block or not index:
        index.append((block[-1][0] if block else b"", _appended(out, block, _RESTART)))
    handles = _appended(out, [], 1) + _appended(out, index, 1)
    return bytes(out) + handles.ljust(40, b"\0") + MAGIC


def _appended(out: bytearray, entries: Sequence[tuple[bytes, bytes]], every: int) -> bytes:
    """Append a block, its compression (none) and their checksum, and return the handle of the block."""
    content, restarts, last = bytearray(), [], b""
    for i, (key, value) in enumerate(entries):
        shared = 0
        if i % every == 0:
            restarts.append(len(content))
        else:
            while shared < min(len(last), len(key)) and last[shared] == key[shared]:
                shared += 1
        for number in (shared, len(key) - shared, len(value)):
            content += write_varint(number)
        content += key[shared:] + value
        last = key
    for number in (*(restarts or [0]), len(restarts) or 1):
        content += number.to_bytes(4, "little")
    start = len(out)
    out += content + b"\0"
    out += int(masked(crc32c(bytes(content + b"\0")))).to_bytes(4, "little")
    return write_varint(start) + write_varint(len(content))
