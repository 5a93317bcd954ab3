"""The bytes of record files: lengths and checksums around the records.

A record is stored as its length (eight bytes, little-endian), the masked CRC-32C of the length, its bytes,
and the masked CRC-32C of these. ``records`` calls this module, for many records at once where possible.
"""

from __future__ import annotations

import struct
from itertools import chain

import numpy as np

from actorsession.checkpoints.crc32c import crc32c, crc32c_each, masked

__all__ = ["FOOTER", "HEADER", "footer_of", "frame", "frame_one", "framed", "joined", "size_of", "sound"]

_LENGTH, _CRC = struct.Struct("<Q"), struct.Struct("<I")
# Bytes before and after a record.
HEADER, FOOTER = 12, 4


def footer_of(record: bytes) -> bytes:
    """Return the checksum that follows a record."""
    return _CRC.pack(masked(crc32c(record)))


def frame_one(record: bytes) -> list[bytes]:
    """Return a record with its length and checksums, in pieces."""
    length = _LENGTH.pack(len(record))
    return [length, footer_of(length), record, footer_of(record)]


def frame(records: list[bytes]) -> list[bytes]:
    """Return some records, at least one, with their lengths and checksums, in pieces."""
    sizes = np.fromiter(map(len, records), np.int64, len(records))
    data = np.frombuffer(b"".join(records), np.uint8)
    # Between two records are the checksum of the first, and the length of the next with its checksum.
    seams = np.zeros((sizes.size + 1, 4), "<u4")
    lengths = np.ascontiguousarray(sizes.astype("<i8")).view(np.uint8)
    starts = np.cumsum(sizes) - sizes
    seams[1:, 0] = masked(crc32c_each(data, starts, sizes))
    seams[:-1, 1:3] = lengths.view("<u4").reshape(-1, 2)
    seams[:-1, 3] = masked(crc32c_each(lengths, np.arange(0, lengths.size, 8), np.full(sizes.size, 8)))
    between = seams.tobytes()
    heads = [between[i : i + 16] for i in range(0, 16 * sizes.size, 16)]
    heads[0] = heads[0][4:]
    return [*chain.from_iterable(zip(heads, records, strict=True)), between[-16:-12]]


def size_of(header: bytes) -> int | None:
    """Return the length of a record, or ``None`` if its checksum is wrong."""
    if header[8:HEADER] != footer_of(header[:8]):
        return None
    size: int = _LENGTH.unpack_from(header)[0]
    return size


def framed(data: bytes) -> tuple[list[int], list[int]]:
    """Return the start and size of each record that is contained as a whole.

    They follow from lengths that are not verified yet.
    """
    starts, sizes, at, end = [], [], HEADER, len(data)
    length = _LENGTH.unpack_from
    while at + FOOTER <= end:
        [size] = length(data, at - HEADER)
        if at + size + FOOTER > end:
            break
        starts.append(at)
        sizes.append(size)
        at += size + HEADER + FOOTER
    return starts, sizes


def sound(data: bytes, starts: list[int], sizes: list[int]) -> tuple[int, int]:
    """Return how many leading records have valid lengths, and how many have valid bytes too.

    Args:
        data: bytes that contain the records.
        starts: starts of the records' bytes, at least one.
        sizes: sizes of the records.
    """
    octets = np.frombuffer(data, np.uint8)
    firsts, lengths = np.array(starts), np.array(sizes)
    words = np.ndarray((octets.size - 3,), "<u4", data, strides=(1,))
    checksums = crc32c_each(octets, firsts - HEADER, np.full(firsts.size, 8))
    # After a wrong length, nothing can be interpreted as a record.
    named = _first_false(masked(checksums) == words[firsts - 4])
    firsts, lengths = firsts[:named], lengths[:named]
    checksums = crc32c_each(octets, firsts, lengths)
    return named, _first_false(masked(checksums) == words[firsts + lengths])


def _first_false(flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
    return flags.size if flags.all() else int(flags.argmin())


def joined(parts: list[memoryview], size: int) -> tuple[bytes, bytes]:
    """Return the first ``size`` bytes of some parts, copied once, and the remaining bytes."""
    left, first, last = size, [], []
    for part in parts:
        first.append(part[:left])
        last.append(part[left:])
        left -= len(first[-1])
    return b"".join(first), b"".join(last)
