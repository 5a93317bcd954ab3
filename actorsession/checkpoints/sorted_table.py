"""Reading sorted tables: the file format of LevelDB, which is that of TensorFlow's checkpoint index.

This module reads blocks, their checksums and prefix-compressed keys. A table ends in a footer that points to
an index block, whose entries point to data blocks; a block is followed by one byte for its compression and
the masked CRC-32C of both. ``bundle`` calls this. Tables are read whole, because an index is small.
"""

from __future__ import annotations

from collections.abc import Iterator

from actorsession.checkpoints import snappy
from actorsession.checkpoints.crc32c import crc32c, masked
from actorsession.errors import DataLossError
from actorsession.protobuf.wire import read_varint, write_varint

__all__ = ["MAGIC", "is_table", "read_table"]

_FOOTER = 48
MAGIC = bytes.fromhex("57fb808b247547db")
_TRAILER = 5
_NONE, _SNAPPY = 0, 1


def is_table(data: bytes) -> bool:
    """Return whether bytes end as a table does."""
    return len(data) >= _FOOTER and data.endswith(MAGIC)


def read_table(data: bytes, path: str) -> dict[bytes, bytes]:
    """Return the entries of a table, in the order of their keys.

    Args:
        data: the whole file.
        path: its path, for messages.

    Raises:
        DataLossError: if a checksum is wrong or the bytes are no table.
    """
    if not is_table(data):
        raise DataLossError(
            f"{path!r} is not a table, or is truncated: its last 8 bytes are not the magic number of a table"
        )
    try:
        footer = data[-_FOOTER:]
        handles: list[int] = []
        position = 0
        for _ in range(2):
            offset, size, position = _handle(footer, position)
            handles += (offset, size)
        # The footer has no checksum: each byte of it leads to a block with one, or is compared.
        written = b"".join(map(write_varint, handles)).ljust(_FOOTER - len(MAGIC), b"\0")
        if footer != written + MAGIC:
            raise ValueError("its footer is not that of a table")
        _block(data, *handles[:2])
        index = _block(data, *handles[2:])
        rows: dict[bytes, bytes] = {}
        for _, pointer in _entries(index):
            rows.update(_entries(_block(data, *_handle(pointer, 0)[:2])))
    except ValueError as exc:
        raise DataLossError(f"the table {path!r} is damaged: {exc}") from exc
    return rows


def _handle(data: bytes, position: int) -> tuple[int, int, int]:
    """Return the offset and size of a block, and the position behind the two."""
    offset, position = read_varint(data, position)
    size, position = read_varint(data, position)
    return offset, size, position


def _block(data: bytes, offset: int, size: int) -> bytes:
    """Return the content of a block, after checking its checksum."""
    end = offset + size
    if end + _TRAILER > len(data) - _FOOTER:
        raise ValueError(f"a block at {offset} of {size} bytes lies outside the file")
    stored = int.from_bytes(data[end + 1 : end + _TRAILER], "little")
    checksum = masked(crc32c(data[offset : end + 1]))
    if stored != checksum:
        raise ValueError(f"the block at {offset} has the checksum {checksum:#010x}, but {stored:#010x} is stored")
    if data[end] == _NONE:
        return data[offset:end]
    if data[end] == _SNAPPY:
        return snappy.decompress(data[offset:end])
    raise ValueError(f"the block at {offset} has the unknown compression type {data[end]}")


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of a block; a key repeats the beginning of the one before."""
    if len(block) < 4:
        raise ValueError("a block is too short")
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 * (restarts + 1)
    if end < 0:
        raise ValueError(f"a block claims to have {restarts} restart points")
    position, key = 0, b""
    while position < end:
        head = block[position : position + 3]
        if len(head) == 3 and head.isascii():  # three small numbers, as in most entries
            shared, unshared, size = head
            position += 3
        else:
            shared, position = read_varint(block, position)
            unshared, position = read_varint(block, position)
            size, position = read_varint(block, position)
        if shared > len(key) or position + unshared + size > end:
            raise ValueError("an entry extends beyond the end of its block")
        key = key[:shared] + block[position : position + unshared]
        position += unshared
        yield key, block[position : position + size]
        position += size
