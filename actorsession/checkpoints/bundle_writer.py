"""Writing checkpoints in TensorFlow's format (``V2``, tensor bundles), for programs that read no other.

It writes the files that ``bundle`` reads: a data file, and a sorted table with the place of each tensor in
it. The index is written last, so that a checkpoint with an index is complete. Several devices write several
checkpoints, which ``merge_bundles`` makes one of without reading a tensor.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from actorsession.checkpoints.atomic import (
    create_file,
    drop_files,
    file_errors,
    make_folder,
    open_kept,
    remove_unused,
    sync_folder,
    write_whole,
)
from actorsession.checkpoints.bundle import data_file, data_files, read_index
from actorsession.checkpoints.crc32c import crc32c, masked
from actorsession.checkpoints.sharded import (
    BUNDLE_SUFFIX,
    check_prefix,
    main_files,
    remove_empty_folders,
    remove_remains,
)
from actorsession.checkpoints.slices import Array, Extent, parse_spec, slice_key
from actorsession.checkpoints.sorted_table import MAGIC
from actorsession.config.file_roots import ANYWHERE, FileRoots
from actorsession.errors import InvalidArgumentError, NotFoundError, OpError
from actorsession.graph.dtypes import DType, as_dtype, string
from actorsession.protobuf.wire import (
    FIXED32,
    VARINT,
    as_integer,
    fields,
    integer_field,
    length_field,
    write_tag,
    write_varint,
)
from transports.host import current_host

__all__ = ["merge_bundles", "save_bundle", "shape_field", "slice_message", "spans_of", "write_bundle", "write_table"]

# A table has a complete key once in so many entries, and a block of entries ends after so many bytes:
# LevelDB's numbers.
_RESTART, _BLOCK = 16, 4096
# Fields of an entry: the number of its file, its checksum, and its slices.
_SHARD, _CRC, _SLICES = 3, 6, 7


def save_bundle(
    prefix: str, names: Sequence[str], specs: Sequence[str], values: Sequence[Any], files: FileRoots = ANYWHERE
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

    with _replacing(prefix, files) as new_files:
        shards = _new_files(prefix, [None], new_files, files)
        path = data_file(prefix, 0, shards)
        # It is open, and so locked, until an index names it.
        with file_errors(f"cannot write {path!r}"), new_files[path] as file:
            write(file)
            file.flush()
            current_host().files.fsync(file.fileno())
            _write_index(prefix, entries, shards, files)
    _renumber(prefix, entries, [path], shards, files)


def _write_index(prefix: str, entries: Mapping[bytes, bytes], shards: int, files: FileRoots) -> None:
    """Write the index: the entries, and the header with the number of files and the format's version."""
    # The names of the data files are to survive a crash of the machine if that of the index does.
    sync_folder(os.path.dirname(os.path.abspath(prefix)), files)
    header = integer_field(1, shards) + length_field(3, integer_field(1, 1))
    table = write_table({b"": header, **entries})
    index, others = prefix + BUNDLE_SUFFIX, main_files(prefix)
    write_whole(index, lambda file: file.writelines([table]), others, files=files)


# -- data files ------------------------------------------------------------------------------------
#
# An index names its data files by their count alone: ``prefix.data-00000-of-00002`` and so on. The files of a
# save get a count that those of no other save have, so that the index decides which checkpoint there is. When
# it is there, they get the usual names, and a second index.


@contextlib.contextmanager
def _replacing(prefix: str, files: FileRoots) -> Iterator[dict[str, BinaryIO]]:
    """Replace the checkpoint of a prefix: the block makes data files, and then the index that names them.

    The data files of the checkpoint before are removed after that. If the block fails, its own are. Those
    that a killed writer left are removed at the beginning.

    Yields:
        The data files that were made, by their paths; the block adds them.
    """
    check_prefix(prefix, nameless=True)
    with file_errors(f"cannot write {prefix!r}"):
        make_folder(os.path.dirname(os.path.abspath(prefix)), files)
    remove_remains(prefix, files)
    old = _named(prefix, files) or set()
    _remove_unnamed(prefix, files)
    new_files: dict[str, BinaryIO] = {}
    try:
        yield new_files
    except BaseException:
        for file in new_files.values():
            file.close()
        for path in set(new_files) - (_named(prefix, files) or set()):
            with contextlib.suppress(OSError, OpError):
                files.unlink(path)
        raise
    drop_files(*sorted(old - set(new_files)), files=files)


def _new_files(prefix: str, sources: Sequence[str | None], new_files: dict[str, BinaryIO], files: FileRoots) -> int:
    """Make data files, and return the count that is in their names, which no other save has.

    Args:
        prefix: of the checkpoint.
        sources: for each the file that gets the name; ``None`` for a new one.
        new_files: gets them.
        files: the folders in which files may be made.
    """
    count = max(1, len(sources))
    while True:
        taken = set(data_files(prefix, files).values())
        count = next(number for number in itertools.count(count) if number not in taken)
        with file_errors(f"cannot write {data_file(prefix, 0, count)!r}"):
            try:
                for number, source in enumerate(sources):
                    path = data_file(prefix, number, count)
                    if source is None:
                        new_files[path] = create_file(path, files)
                    else:
                        new_files[path] = _linked(source, path, files)
                return count
            except FileExistsError:  # another save has taken the number meanwhile
                for path, file in new_files.items():
                    file.close()
                    files.unlink(path)
                new_files.clear()


def _linked(source: str, path: str, files: FileRoots) -> BinaryIO:
    """Give a file another name beside its own, and return it open and kept.

    Raises:
        FileExistsError: if there is a file of that name.
    """
    file = open_kept(source, files)
    try:
        files.link(source, path)
    except (FileExistsError, OpError):
        file.close()
        raise
    except OSError:
        file.close()
        # A file system without links. A file that an index names must stay, until another one does.
        if files.exists(path) or source.startswith(path.rpartition(".data-")[0] + ".data-"):
            raise
        files.replace(source, path)
        return open_kept(path, files)
    return file


def _renumber(prefix: str, entries: Mapping[bytes, bytes], parts: Sequence[str], count: int, files: FileRoots) -> None:
    """Give the data files of a new checkpoint the names that they have where there was none before.

    If that fails, the checkpoint stays as it is, complete.
    """
    if count == max(1, len(parts)) or _named(prefix, files) != set(parts):
        return
    with contextlib.suppress(OpError), _replacing(prefix, files) as new_files:
        shards = _new_files(prefix, parts, new_files, files)
        for file in new_files.values():
            file.close()
        _write_index(prefix, entries, shards, files)


def _named(prefix: str, files: FileRoots) -> set[str] | None:
    """Return the data files that the index of a prefix names; ``None`` if it cannot be read."""
    try:
        shards = read_index(prefix, files)[1]
        return {path for path, count in data_files(prefix, files).items() if count == shards}
    except NotFoundError:
        return set()
    except OpError:
        return None


def _remove_unnamed(prefix: str, files: FileRoots) -> None:
    """Remove the data files of saves that ended without an index."""

    def is_named() -> bool:
        named = _named(prefix, files)
        return named is None or path in named

    for path in data_files(prefix, files):
        if not is_named():
            remove_unused(path, is_named, files)


def merge_bundles(
    prefixes: Sequence[str], destination: str, delete_old_dirs: bool = True, files: FileRoots = ANYWHERE
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
    parts: dict[str, int] = {}
    for prefix in prefixes:
        table, count = read_index(prefix, files)
        for key, value in table.items():
            slices = _slices_of(value)
            if not slices:
                value = _of_shard(value, prefix, count, parts)
            known = entries.get(key)
            if known is None:
                entries[key] = value
            elif slices and _slices_of(known):
                entries[key] = known + slices
            else:
                name = key.decode("utf-8", "replace")
                raise InvalidArgumentError(f"two shards of {destination!r} contain {name!r}")
    with _replacing(destination, files) as new_files:
        shards = _new_files(destination, list(parts), new_files, files)
        _write_index(destination, entries, shards, files)
        for file in new_files.values():
            file.close()
    _renumber(destination, entries, list(new_files), shards, files)
    others = [p for p in prefixes if os.path.abspath(p) != os.path.abspath(destination)]
    for prefix in others:
        drop_files(prefix + BUNDLE_SUFFIX, *data_files(prefix, files), files=files)
    if delete_old_dirs:
        remove_empty_folders(prefixes, destination, files)


def _of_shard(entry: bytes, prefix: str, count: int, parts: dict[str, int]) -> bytes:
    """Return an entry with the number that its file has among those of the whole, to which it is added."""
    shard = max([as_integer(value) for number, value in fields(entry) if number == _SHARD], default=0)
    moved = parts.setdefault(data_file(prefix, shard, count), len(parts))
    # Of a field that occurs twice, the last one counts.
    return entry + write_tag(_SHARD, VARINT) + write_varint(moved) if moved != shard else entry


def _slices_of(entry: bytes) -> bytes:
    """Return the slices that an entry lists."""
    return b"".join(
        [
            length_field(_SLICES, value)
            for number, value in fields(entry)
            if number == _SLICES and isinstance(value, bytes)
        ]
    )


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
    fixed = b"".join([len(each).to_bytes(4 if len(each) < 1 << 32 else 8, "little") for each in texts])
    crc = crc32c(fixed)
    stored = masked(crc).to_bytes(4, "little")
    content = b"".join(texts)
    lengths = b"".join([write_varint(len(each)) for each in texts])
    return [lengths, stored, content], crc32c(content, crc32c(stored, crc))


def _entry(dtype: DType, shape: Sequence[int], offset: int, parts: Sequence[Any], crc: int) -> bytes:
    """Return a BundleEntryProto."""
    return b"".join(
        (
            _kind_and_shape(dtype, shape),
            integer_field(4, offset),
            integer_field(5, sum(len(part) for part in parts)),
            write_tag(_CRC, FIXED32),
            int(masked(crc)).to_bytes(4, "little"),
        )
    )


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
