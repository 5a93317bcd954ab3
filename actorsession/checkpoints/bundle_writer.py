"""Writing checkpoints in TensorFlow's format (``V2``, tensor bundles), for programs that read no other.

It writes the files that ``bundle`` reads: a data file, and a sorted table with the place of each tensor in
it. The format is written for saved models, which TensorFlow reads as well; a ``Saver`` writes the library's
own format. The index is written last, so that a checkpoint with an index is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np

from actorsession.checkpoints.atomic import write_whole
from actorsession.checkpoints.bundle import data_file
from actorsession.checkpoints.crc32c import crc32c, masked
from actorsession.checkpoints.slices import Array
from actorsession.checkpoints.sorted_table import MAGIC
from actorsession.graph.dtypes import DType, string
from actorsession.protobuf.wire import FIXED32, integer_field, length_field, write_tag, write_varint

__all__ = ["write_bundle", "write_table"]

# A table has a complete key once in so many entries, and a block of entries ends after so many bytes:
# LevelDB's numbers.
_RESTART, _BLOCK = 16, 4096


def write_bundle(prefix: str, tensors: Iterable[tuple[str, DType, Array]]) -> None:
    """Create or replace a checkpoint.

    Args:
        prefix: the beginning of the names of its files.
        tensors: name, type and value of each; strings are arrays of objects. One value at a time is held.

    Raises:
        OpError: as in ``file_errors``.
    """
    # One shard, little-endian, and the version of the format that writes it.
    entries = {b"": integer_field(1, 1) + length_field(3, integer_field(1, 1))}

    def write(file: BinaryIO) -> None:
        for name, dtype, value in tensors:
            parts, crc = _string_parts(value) if dtype is string else _number_parts(value)
            entries[name.encode()] = _entry(dtype, value.shape, file.tell(), parts, crc)
            file.writelines(parts)

    write_whole(data_file(prefix, 0, 1), write)
    table = write_table(entries)
    write_whole(f"{prefix}.index", lambda file: file.writelines([table]))


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
    dims = b"".join([length_field(2, integer_field(1, size)) for size in shape])
    return b"".join(
        (
            integer_field(1, dtype.as_datatype_enum), length_field(2, dims), integer_field(4, offset),
            integer_field(5, sum(len(part) for part in parts)),
            write_tag(6, FIXED32), int(masked(crc)).to_bytes(4, "little"),
        )
    )  # fmt: skip


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
