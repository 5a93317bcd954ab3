"""TensorFlow's oldest checkpoints (``V1``): one sorted table that holds the tensors themselves.

The empty key has a list of the tensors with their types, shapes and slices; each slice is the value of a key
of its own, as a message with typed fields. A sharded checkpoint has several such files, and is named by a
pattern, ``model-?????-of-00002``. Programs that are older than the second format, or read such files, need
them; they are read whole, and written whole.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.checkpoints.atomic import drop_files, file_errors, if_there, open_file, write_whole
from actorsession.checkpoints.bundle import extent_of, kind_of, read_shape, read_span
from actorsession.checkpoints.bundle_writer import shape_field, slice_message, spans_of, write_table
from actorsession.checkpoints.entry import Entry, PieceOf, add_piece
from actorsession.checkpoints.sharded import main_files, remove_remains
from actorsession.checkpoints.slices import Array, Extent, Shape, parse_spec, slice_key
from actorsession.checkpoints.sorted_table import MAGIC, read_table
from actorsession.config.file_roots import ANYWHERE, FileRoots
from actorsession.errors import DataLossError, InvalidArgumentError, NotFoundError, UnimplementedError
from actorsession.graph.dtypes import DType, as_dtype, string
from actorsession.protobuf.wire import as_bytes, as_integer, fields, integer_field, length_field, varints, write_varint

__all__ = ["SliceTable", "files_of", "filespec", "join_tables", "save_slices"]

# The field of a TensorProto that holds the values of a type, and how it is written: fixed numbers of a numpy
# type, or variable ones (``varint``).
_FLOATS, _DOUBLES, _INTS, _INT64S, _BOOLS, _HALVES = 5, 6, 7, 10, 11, 13
_STRINGS = 8
_FIELDS: dict[str, tuple[int, str]] = {
    "float32": (_FLOATS, "<f4"),
    "float64": (_DOUBLES, "<f8"),
    "complex64": (9, "<f4"),
    "complex128": (12, "<f8"),
    "int64": (_INT64S, "varint"),
    "bool": (_BOOLS, "varint"),
    "float16": (_HALVES, "bits"),
    "bfloat16": (_HALVES, "bits"),
    **dict.fromkeys(
        ("int32", "int16", "int8", "uint8", "uint16", "qint8", "quint8", "qint16", "quint16", "qint32"),
        (_INTS, "varint"),
    ),
}
# The end of a pattern that names all shards; its group is their number.
_PATTERN = re.compile(r"-\?{5}-of-(\d{5})$")


# -- files -----------------------------------------------------------------------------------------


def filespec(prefix: str, shards: int) -> str:
    """Return the pattern that names the files of a sharded checkpoint."""
    return f"{prefix}-?????-of-{shards:05d}"


def files_of(prefix: str, files: FileRoots = ANYWHERE) -> list[str]:
    """Return the files that a path or a pattern names, if they are tables."""
    paths = [prefix]
    if _PATTERN.search(prefix):
        start, shards = prefix[:-14], prefix[-14:]
        paths = sorted(files.matching(glob.escape(start) + shards))
    return [path for path in paths if _is_table(path, files)]


def _is_table(path: str, files: FileRoots) -> bool:
    end = b""
    with if_there(path):
        if not path.endswith(".index") and stat.S_ISREG(files.stat(path).st_mode):
            with open_file(path, files) as file:
                file.seek(-len(MAGIC), os.SEEK_END)
                end = file.read()
    return end == MAGIC


# -- reading ---------------------------------------------------------------------------------------


class SliceTable:
    """An open checkpoint of the first format; a ``Source``.

    Args:
        prefix: its path, or the pattern of its paths.
        files: the folders in which files may be opened.

    Raises:
        DataLossError: if a file is damaged.
        NotFoundError: if there is none.
    """

    def __init__(self, prefix: str, files: FileRoots = ANYWHERE) -> None:
        self.path = prefix
        self.entries: dict[str, Entry] = {}
        for path in _whole(prefix, files):
            table = _read(path, files)
            try:
                for number, value in fields(table.get(b"", b"")):
                    if number == 1:
                        self._add_all(as_bytes(value), table)
            except ValueError as exc:
                raise DataLossError(f"{path!r} is damaged: {exc}") from exc

    def close(self) -> None:
        """Release the files; may be called twice."""

    def _add_all(self, meta: bytes, table: dict[bytes, bytes]) -> None:
        for number, value in fields(meta):
            if number == 1:
                self._add(as_bytes(value), table)

    def _add(self, meta: bytes, table: dict[bytes, bytes]) -> None:
        name, kind = "", 0
        shape: Shape = ()
        slices = []
        for number, value in fields(meta):
            if number == 1:
                name = as_bytes(value).decode()
            elif number == 2:
                shape = read_shape(as_bytes(value))
            elif number == 3:
                kind = as_integer(value)
            elif number == 4:
                slices.append([read_span(as_bytes(v)) for n, v in fields(as_bytes(value)) if n == 1])
        dtype, stored = kind_of(kind)
        for spans in slices:
            extent = extent_of(name, spans, shape)
            content = table.get(slice_key(name, spans))
            if content is None:
                raise ValueError(f"the slice {extent} of {name!r} is listed, but not there")
            load = _loading(content, dtype, extent.sizes, f"{name!r} in {self.path!r}")
            add_piece(self.entries, name, Entry(dtype, stored, shape, [PieceOf(extent, load)]), self.path)


def _whole(prefix: str, files: FileRoots = ANYWHERE) -> list[str]:
    """Return the files of a checkpoint, if they are all there."""
    paths, pattern = files_of(prefix, files), _PATTERN.search(prefix)
    if not paths:
        raise NotFoundError(f"there is no table {prefix!r}")
    if pattern is not None and len(paths) != int(pattern[1]):
        raise DataLossError(
            f"{prefix!r} names {int(pattern[1])} tables, and there are {len(paths)}: a file is missing, or "
            "is no table any more"
        )
    return paths


def _read(path: str, files: FileRoots = ANYWHERE) -> dict[bytes, bytes]:
    with file_errors(f"cannot read {path!r}"), open_file(path, files) as file:
        return read_table(file.read(), path)


def _loading(content: bytes, dtype: DType | None, shape: Shape, where: str) -> Callable[[], Array]:
    def load() -> Array:
        assert dtype is not None
        try:
            return _values(content, dtype, shape)
        except ValueError as exc:
            raise DataLossError(f"{where} is damaged: {exc}") from exc

    return load


def _values(content: bytes, dtype: DType, shape: Shape) -> Array:
    """Return the values of a SavedTensorSlices."""
    data = next((as_bytes(v) for n, v in fields(content) if n == 2), b"")
    tensor = next((as_bytes(v) for n, v in fields(data) if n == 3), b"")
    if dtype is string:
        values = [as_bytes(v) for n, v in fields(tensor) if n == _STRINGS]
        texts = np.empty(len(values), object)
        texts[:] = values
        return texts.reshape(shape)
    field, form = _field_of(dtype)
    parts = [v for n, v in fields(tensor) if n == field]
    if form in ("varint", "bits"):
        packed = [varints(as_bytes(part)) for part in parts]
        numbers = np.concatenate([np.zeros(0, np.uint64), *packed])
        if form == "bits":
            return numbers.astype(np.uint16).view(dtype.np_dtype).reshape(shape)
        return numbers.view(np.int64).astype(dtype.integers).view(dtype.np_dtype).reshape(shape)
    raw = b"".join(as_bytes(part) for part in parts)
    return np.frombuffer(raw, form).view(dtype.np_dtype).reshape(shape)


def _field_of(dtype: DType) -> tuple[int, str]:
    if dtype.name not in _FIELDS:
        raise UnimplementedError(f"checkpoints of version 1 have no values of dtype {dtype.name}; version 2 has")
    return _FIELDS[dtype.name]


# -- writing ---------------------------------------------------------------------------------------


def save_slices(
    path: str, names: Sequence[str], specs: Sequence[str], values: Sequence[Any], files: FileRoots = ANYWHERE
) -> None:
    """Write tensors and slices of tensors as one file, replacing the one of that path.

    Args:
        path: the path of the file.
        names: of the tensors.
        specs: the ``shape_and_slice`` of each; empty for a whole tensor.
        values: arrays; borrowed.
        files: the folders in which files may be written.

    Raises:
        InvalidArgumentError: for a tensor that occurs twice, or does not fit its slice.
        UnimplementedError: for a dtype that the format does not have.
        OpError: as in ``file_errors``.
    """
    remove_remains(path, files)
    known: dict[str, tuple[Shape, DType, list[bytes]]] = {}
    table: dict[bytes, bytes] = {}
    for name, spec, value in zip(names, specs, values, strict=True):
        array = np.asarray(value)
        dtype = string if array.dtype == object else as_dtype(array.dtype.newbyteorder("="))
        shape, extent = parse_spec(spec) or (array.shape, Extent.whole(array.shape))
        if extent.sizes != array.shape:
            raise InvalidArgumentError(
                f"{name!r} is saved as the slice {spec!r}, which has shape {list(extent.sizes)}, but the "
                f"tensor has shape {list(array.shape)}"
            )
        spans = spans_of(shape, extent)
        key = slice_key(name, spans)
        of_name = known.setdefault(name, (shape, dtype, []))
        if key in table or of_name[:2] != (shape, dtype):
            raise InvalidArgumentError(f"{name!r}{extent} would be saved twice in {path!r}")
        place = slice_message(spans)
        of_name[2].append(place)
        data = length_field(3, _tensor(dtype, array))
        table[key] = length_field(2, length_field(1, name.encode()) + length_field(2, place) + data)
    listed = b"".join(
        length_field(
            1,
            length_field(1, name.encode())
            + shape_field(2, shape)
            + integer_field(3, dtype.as_datatype_enum)
            + b"".join(length_field(4, place) for place in places),
        )
        for name, (shape, dtype, places) in sorted(known.items())
    )
    # The version of what wrote it, as in TensorFlow.
    table[b""] = length_field(1, listed + length_field(2, integer_field(1, 1)))
    content = write_table(table)
    write_whole(path, lambda file: file.writelines([content]), main_files(path), files=files)


def join_tables(pattern: str, prefix: str) -> str:
    """Make one file of the shards that a pattern names, and remove them; return the pattern of the one.

    The names of the shards are the checkpoint, and several files cannot be replaced in one step.

    Args:
        pattern: of the shards.
        prefix: of the checkpoint.

    Raises:
        InvalidArgumentError: if two shards have the same tensor.
        OpError: if a shard is damaged, or the file system refuses.
    """
    whole: dict[bytes, bytes] = {b"": b""}
    shards = _whole(pattern)
    for path in shards:
        table = _read(path)
        # Messages one after the other are a message that has the repeated fields of both.
        whole[b""] += table.pop(b"", b"")
        if again := next((key for key in table if key in whole), None):
            raise InvalidArgumentError(f"two shards of {prefix!r} contain {again!r}")
        whole.update(table)
    path = f"{prefix}-00000-of-00001"
    write_whole(path, lambda file: file.writelines([write_table(whole)]), newer_than=main_files(path))
    drop_files(*shards)
    return filespec(prefix, 1)


def _tensor(dtype: DType, value: Array) -> bytes:
    """Return the values of a tensor as a TensorProto with a typed field and nothing else."""
    flat = np.ascontiguousarray(value).reshape(-1)
    if dtype is string:
        return b"".join(length_field(_STRINGS, each) for each in flat.tolist())
    field, form = _field_of(dtype)
    if not flat.size:
        return b""
    if form == "bits":
        return length_field(field, b"".join(map(write_varint, flat.view(np.uint16).tolist())))
    if form == "varint":
        # A negative number is written as the unsigned one of 64 bits with the same bits.
        numbers = flat.view(dtype.integers).astype(np.int64).view(np.uint64).tolist()
        return length_field(field, b"".join(map(write_varint, numbers)))
    return length_field(field, flat.astype(dtype.np_dtype, copy=False).view(form).tobytes())
