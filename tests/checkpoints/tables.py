"""A writer of sorted tables, so that tests have ones that TensorFlow writes only for large models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actorsession.checkpoints.crc32c import crc32c, masked

__all__ = ["literal", "table", "varint"]

MAGIC = bytes.fromhex("57fb808b247547db")


def varint(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def literal(data: bytes) -> bytes:
    """Bytes as Snappy has them when nothing repeats: one literal."""
    size = len(data) - 1
    if not data:
        return varint(0)
    tag = bytes([size << 2]) if size < 60 else bytes([61 << 2]) + size.to_bytes(2, "little")
    return varint(len(data)) + tag + data


def block(entries: Sequence[tuple[bytes, bytes]]) -> bytes:
    out, last = b"", b""
    for key, value in entries:
        shared = 0
        while shared < min(len(last), len(key)) and last[shared] == key[shared]:
            shared += 1
        out += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        last = key
    return out + (0).to_bytes(4, "little") + (1).to_bytes(4, "little")


def table(entries: Mapping[bytes, bytes], per_block: int = 2, snappy: bool = False) -> bytes:
    """A table whose data blocks have so many entries each."""
    out = b""

    def add(content: bytes) -> bytes:
        nonlocal out
        stored = literal(content) if snappy else content
        kind = bytes([int(snappy)])
        start = len(out)
        out += stored + kind + masked(crc32c(stored + kind)).to_bytes(4, "little")
        return varint(start) + varint(len(stored))

    items = sorted(entries.items())
    index = [
        (items[i : i + per_block][-1][0], add(block(items[i : i + per_block]))) for i in range(0, len(items), per_block)
    ]
    handles = add(block([])) + add(block(index))
    return out + handles.ljust(40, b"\0") + MAGIC
