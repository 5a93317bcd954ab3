"""Safetensors files, written and read: eight bytes of length, a JSON header, then the bytes of the tensors.

This module holds the layout of one file and the library's additions to it. The header has for each tensor its
element type, shape and place; places follow each other without a gap, so a file that was cut off is
recognised by its length alone. Any reader of the format can read the library's files. Under ``__metadata__``
are, as strings, the mark ``format: actorsession`` and, under ``actorsession``, a JSON object with data for
which the format has no place:

- ``version``: 2 for files whose header has a checksum, 1 for those of earlier versions;
- ``crc32``: a checksum (zlib's) of the bytes of each tensor, hexadecimal;
- ``stored_as``: tensors whose element type the format does not have, by name: ``dtype`` and ``shape``.
  Strings are stored as U8: for each element in C order its length (unsigned, 64 bits, little-endian) and its
  bytes. complex128 is stored as F64 with a last dimension of 2, real and imaginary;
- ``slices``: tensors that are a part of a larger one: its name, and TensorFlow's ``shape_and_slice``.

The header begins with its own checksum, ``own_crc32``, over the length and everything else in it. A file
that says in any of three places that it is of this library has the right one, or is of version 1: a few
changed bits do not make it one of another writer, which has no checksums.

Files are mapped when read, and tensors are loaded on access.
"""

from __future__ import annotations

import json
import math
import mmap
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

import numpy as np

from actorsession.checkpoints.atomic import file_errors, open_file, write_whole
from actorsession.checkpoints.seals import check_unsealed, is_sealed, seal
from actorsession.checkpoints.slices import Array, Shape, check_shape
from actorsession.checkpoints.strings import pack_strings, unpack_strings
from actorsession.config.file_roots import ANYWHERE, FileRoots
from actorsession.errors import DataLossError, InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype, complex128, string
from actorsession.json_text import read_json
from actorsession.records import dataclass
from transports.host import current_host

__all__ = ["SUFFIX", "VERSION", "Header", "SafetensorsFile", "Stored", "write_file"]

SUFFIX = ".safetensors"

_LENGTH = struct.Struct("<Q")
# The format's own bound, so that a damaged length does not request gigabytes.
_MAX_HEADER = 100_000_000
_ALIGNMENT = 8
_METADATA, _OURS = "__metadata__", "actorsession"
# The beginning of a header; eight hexadecimal digits follow.
_BEGIN = b'{"__metadata__":{"own_crc32":"'
VERSION = 2

_NAMES: dict[str, str] = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "uint16": "U16",
    "float16": "F16",
    "bfloat16": "BF16",
    "int32": "I32",
    "uint32": "U32",
    "float32": "F32",
    "float64": "F64",
    "int64": "I64",
    "uint64": "U64",
    "complex64": "C64",
}
_DTYPES: dict[str, DType] = {stored: as_dtype(name) for name, stored in _NAMES.items()}
# Element types of the format that the library does not support, with their sizes: such files can still be
# listed.
_SIZES: dict[str, int] = {
    "F8_E5M2": 1,
    "F8_E4M3": 1,
    "F8_E8M0": 1,
    "F8_E4M3FNUZ": 1,
    "F8_E5M2FNUZ": 1,
    **{stored: dtype.itemsize for stored, dtype in _DTYPES.items()},
}
# What the format does not have, by how it is stored.
_MEANT: dict[tuple[str, str], DType] = {("U8", string.name): string, ("F64", complex128.name): complex128}


@dataclass(frozen=True, slots=True)
class Stored:
    """One tensor as described in the header of a file.

    Attributes:
        kind: the format's name of the element type.
        shape: as stored.
        begin: first byte behind the header.
        end: byte behind the last.
        dtype: element type of the tensor that it represents; ``None`` for an unsupported one.
        meant: shape of the tensor that it represents.
        crc: checksum of the bytes, if the file has one.
        part_of: for a slice, the name of the whole and the ``shape_and_slice``.
    """

    kind: str
    shape: Shape
    begin: int
    end: int
    dtype: DType | None
    meant: Shape
    crc: int | None
    part_of: tuple[str, str] | None


# -- writing ---------------------------------------------------------------------------------------


def write_file(
    path: str,
    tensors: Mapping[str, Any],
    parts: Mapping[str, tuple[str, str]] | None = None,
    newer_than: Iterable[str] = (),
    files: FileRoots = ANYWHERE,
) -> int:
    """Write a file atomically.

    Args:
        path: the file; replaced if it exists.
        tensors: arrays by name; borrowed.
        parts: of those that are slices, the name of the whole and the ``shape_and_slice``.
        newer_than: as for ``write_whole``.
        files: the folders in which files may be written.

    Returns:
        The checksum of the header, which distinguishes such files.

    Raises:
        InvalidArgumentError: for a name that the format reserves, or a value that is no tensor.
        OpError: if the file system refuses.
    """
    stored_as: dict[str, Any] = {}
    checksums: dict[str, str] = {}
    ready: list[tuple[str, str, Array]] = []
    for name, value in tensors.items():
        if name == _METADATA:
            raise InvalidArgumentError(f"a tensor cannot be saved under the reserved name {name!r}")
        kind, array, meant = _as_stored(np.asarray(value))
        if meant is not None:
            stored_as[name] = meant
        checksums[name] = f"{zlib.crc32(_bytes_of(array)):08x}"
        ready.append((name, kind, array))
    # The widest first, so that each tensor begins at a multiple of the size of its elements.
    ready.sort(key=lambda item: (-item[2].itemsize, item[0]))
    ours: dict[str, Any] = {"version": VERSION, "crc32": checksums}
    if stored_as:
        ours["stored_as"] = stored_as
    if parts:
        ours["slices"] = {name: list(part) for name, part in parts.items()}
    metadata = {"own_crc32": "0" * 8, "format": _OURS, _OURS: json.dumps(ours)}
    header = _header_bytes(ready, metadata)

    def write(file: BinaryIO) -> None:
        file.write(_LENGTH.pack(len(header)))
        file.write(header)
        for _, _, array in ready:
            file.write(_bytes_of(array))

    write_whole(path, write, newer_than, files=files)
    return zlib.crc32(header)


def _as_stored(value: Array) -> tuple[str, Array, dict[str, Any] | None]:
    """Return the format's element type, the array to write, and what it represents if not itself."""
    dtype = as_dtype(value.dtype)
    if dtype is string:
        packed = pack_strings(value)
        return "U8", packed, {"dtype": dtype.name, "shape": list(value.shape)}
    little = dtype.np_dtype.newbyteorder("<") if dtype.itemsize > 1 else dtype.np_dtype
    # Not np.ascontiguousarray, which gives scalars a dimension.
    array = np.asarray(value.astype(little, copy=False), order="C")
    if dtype is complex128:
        wide = array.reshape(*array.shape, 1).view(np.float64)
        return "F64", wide, {"dtype": dtype.name, "shape": list(array.shape)}
    if dtype.name not in _NAMES:
        raise InvalidArgumentError(f"a tensor of dtype {dtype.name} cannot be saved")
    return _NAMES[dtype.name], array, None


def _bytes_of(array: Array) -> memoryview:
    # Of bytes: memoryview does not support bfloat16.
    return array.reshape(-1).view(np.uint8).data


def _header_bytes(ready: Iterable[tuple[str, str, Array]], metadata: dict[str, str]) -> bytes:
    header: dict[str, Any] = {_METADATA: metadata}
    position = 0
    for name, kind, array in ready:
        end = position + array.nbytes
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [position, end]}
        position = end
    text = json.dumps(header, separators=(",", ":")).encode()
    return seal(text + b" " * (-len(text) % _ALIGNMENT), _BEGIN)


# -- reading ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file.

    Attributes:
        tensors: by stored name.
        crc: checksum of the header itself.
        start: where the bytes of the tensors begin.
    """

    tensors: Mapping[str, Stored]
    crc: int
    start: int


class SafetensorsFile:
    """A file that is open for reading.

    Args:
        path: the file.
        files: the folders in which files may be opened.

    Raises:
        DataLossError: if it is no such file, or was cut off.
        OpError: if it cannot be opened.
    """

    def __init__(self, path: str, files: FileRoots = ANYWHERE) -> None:
        self.path = path
        self._map: mmap.mmap | bytes | None = None
        self._checked: set[str] = set()
        with file_errors(f"cannot read {path!r}"), open_file(path, files) as file:
            size = current_host().files.fstat(file.fileno()).st_size
            self.header = _read_header(file, size, path)
            if size > self.header.start:
                self._map = current_host().files.map(file.fileno(), size)

    def close(self) -> None:
        """Release the file; arrays that were loaded keep what they need of it."""
        # The mapping is not closed explicitly: a view of it may be in use.
        self._map = None

    def load(self, name: str) -> Array:
        """Return the values of a tensor, after checking their checksum.

        Args:
            name: as stored.

        Returns:
            An array that may be a view of the file, and is then read-only.

        Raises:
            DataLossError: if the bytes are damaged.
            InvalidArgumentError: if the file was closed.
        """
        stored = self.header.tensors[name]
        assert stored.dtype is not None, name
        content = self._content(stored)
        if stored.crc is not None and name not in self._checked:
            checksum = zlib.crc32(content.data)
            if checksum != stored.crc:
                raise DataLossError(
                    f"the bytes of {name!r} in {self.path!r} have the checksum {checksum:08x}, "
                    f"but the header has {stored.crc:08x}: the file is damaged"
                )
            self._checked.add(name)
        if stored.dtype is string:
            return unpack_strings(content, stored.meant, f"{name!r} in {self.path!r}")
        little = stored.dtype.np_dtype
        return content.view(little).reshape(stored.meant)

    def _content(self, stored: Stored) -> Array:
        if stored.begin == stored.end:
            return np.zeros(0, np.uint8)
        if self._map is None:
            raise InvalidArgumentError(f"{self.path!r} was closed before its tensors were read")
        start = self.header.start + stored.begin
        return np.frombuffer(self._map, np.uint8, stored.end - stored.begin, start)


def _read_header(file: BinaryIO, size: int, path: str) -> Header:
    prefix = file.read(_LENGTH.size)
    length = _LENGTH.unpack(prefix)[0] if len(prefix) == _LENGTH.size else 0
    start = _LENGTH.size + length
    if not 2 <= length <= _MAX_HEADER or start > size:
        raise DataLossError(
            f"{path!r} is not a safetensors file or is truncated: it has {size} bytes, "
            f"but its header should have {length}"
        )
    text = file.read(length)
    try:
        header = read_json(text)
        if not is_sealed(text, _BEGIN):
            check_unsealed(text, header.get(_METADATA, {}))
        tensors = _tensors(header)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as exc:
        raise DataLossError(f"the header of {path!r} is damaged: {exc}") from exc
    end = max((stored.end for stored in tensors.values()), default=0)
    if start + end != size:
        raise DataLossError(
            f"{path!r} has {size} bytes, but its header describes {start + end}: the file is truncated or damaged"
        )
    return Header(tensors, zlib.crc32(text), start)


def _tensors(header: dict[str, Any]) -> dict[str, Stored]:
    metadata = header.pop(_METADATA, {})
    ours = read_json(metadata.get(_OURS, "{}"))
    crcs, meant, parts = (ours.get(key, {}) for key in ("crc32", "stored_as", "slices"))
    tensors = {
        _text(name): _stored(name, entry, crcs.get(name), meant.get(name), parts.get(name))
        for name, entry in header.items()
    }
    position = 0
    for name, stored in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if stored.begin != position:
            raise ValueError(f"{name!r} begins at byte {stored.begin} instead of {position}")
        position = stored.end
    return tensors


def _stored(name: str, entry: dict[str, Any], crc: Any, meant: Any, part: Any) -> Stored:
    kind, shape = _text(entry["dtype"]), _shape(entry["shape"])
    begin, end = entry["data_offsets"]
    if type(begin) is not int or type(end) is not int:
        raise ValueError(f"{name!r} reaches from byte {begin!r:.50} to {end!r:.50}")
    if kind in _SIZES and end - begin != math.prod(shape) * _SIZES[kind]:
        raise ValueError(f"{name!r} is {kind} of {list(shape)} and has {end - begin} bytes")
    if not 0 <= begin <= end:
        raise ValueError(f"{name!r} reaches from byte {begin} to {end}")
    dtype = _DTYPES.get(kind)
    meant_shape = shape
    if meant is not None:
        dtype, meant_shape = _MEANT.get((kind, meant["dtype"])), _shape(meant["shape"])
        if dtype is None:
            raise ValueError(f"{name!r} is stored as {kind}, and not {meant['dtype']!r:.50}")
        if dtype is not string and math.prod(meant_shape) * dtype.itemsize != end - begin:
            raise ValueError(f"{name!r} does not have the bytes of {dtype.name} {list(meant_shape)}")
    whole = None if part is None else (_text(part[0]), _text(part[1]))
    return Stored(kind, shape, begin, end, dtype, meant_shape, None if crc is None else int(crc, 16), whole)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r:.100} is not a text")
    value.encode()  # a ValueError for half of a character
    return value


def _shape(dims: Any) -> Shape:
    if not isinstance(dims, list) or not all(type(d) is int and d >= 0 for d in dims):
        raise ValueError(f"{dims!r:.100} is not a shape")
    return check_shape(tuple(dims))
