"""The checksum CRC-32C (Castagnoli) over bytes, and the masked form in which TensorFlow stores it.

Owns the arithmetic alone. A CRC is linear: it is the sum of what each byte at each distance from the end
gives. numpy takes those out of a table, a row of bytes at a time, and the rows are joined by the operator
that appends a row's length of zeros. Some hundred megabytes a second; a loop over bytes in Python manages
ten.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

__all__ = ["crc32c", "masked", "unmasked"]

_POLYNOMIAL = 0x82F63B78  # reflected
_ALL = 0xFFFFFFFF
# Added by the mask, so that a checksum of data that holds checksums is not degenerate (LevelDB's number).
_MASK_DELTA = 0xA282EAD8

# Bytes to a row; the table has 256 entries for each, half a megabyte. Joining costs half a microsecond a row.
_ROW = 512
# Below this many bytes a loop over them is faster.
_LOOP_BELOW = 24
# Bytes worked through at a time, for their places in the table take eight times as much.
_CHUNK = 1 << 16


def crc32c(data: Any, crc: int = 0) -> int:
    """The checksum of ``data``, or of what ``crc`` is the checksum of followed by ``data``.

    Args:
        data: bytes or any contiguous buffer of them.
        crc: checksum of what came before.
    """
    view = np.frombuffer(data, np.uint8) if len(data) else np.zeros(0, np.uint8)
    register = crc ^ _ALL
    for start in range(0, view.size, _CHUNK):
        register = _advance(register, view[start : start + _CHUNK])
    return register ^ _ALL


def masked(crc: int) -> int:
    """The form in which a checksum is stored."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL


def unmasked(stored: int) -> int:
    """The checksum that was stored in masked form."""
    rotated = (stored - _MASK_DELTA) & _ALL
    return ((rotated >> 17) | (rotated << 15)) & _ALL


def _advance(register: int, data: np.ndarray[Any, Any]) -> int:
    if data.size < _LOOP_BELOW:
        return _advance_by_bytes(register, data)
    rows = -(-data.size // _ROW)
    # Zeros in front change nothing, and what came before counts as if it were in the first four bytes.
    front = rows * _ROW - data.size
    padded = np.zeros(rows * _ROW, np.uint8)
    padded[front:] = data
    padded[front : front + 4] ^= np.frombuffer(register.to_bytes(4, "little"), np.uint8)
    places = padded.reshape(rows, _ROW) + _distances()
    sums = np.bitwise_xor.reduce(_sum_table().take(places), axis=1).tolist()
    first, second, third, fourth = _appending_zeros()
    found = 0
    for each in sums:
        found = (
            first[found & 255]
            ^ second[found >> 8 & 255]
            ^ third[found >> 16 & 255]
            ^ fourth[found >> 24]
            ^ each
        )
    return found


def _advance_by_bytes(register: int, data: np.ndarray[Any, Any]) -> int:
    table = _byte_list()
    for byte in data.tobytes():
        register = table[(register ^ byte) & 255] ^ register >> 8
    return register


@functools.cache
def _byte_table() -> np.ndarray[Any, Any]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


@functools.cache
def _byte_list() -> list[int]:
    found: list[int] = _byte_table().tolist()
    return found


@functools.cache
def _distances() -> np.ndarray[Any, Any]:
    """Where the part of the table begins for each byte of a row."""
    return np.arange(_ROW - 1, -1, -1, dtype=np.int64) * 256


@functools.cache
def _sum_table() -> np.ndarray[Any, Any]:
    """What a byte gives that is followed by 0, 1, 2, ... others: 256 entries for each distance."""
    table = _byte_table()
    parts = np.empty((_ROW, 256), np.uint32)
    parts[0] = table
    for i in range(1, _ROW):
        parts[i] = table[parts[i - 1] & 255] ^ (parts[i - 1] >> 8)
    return parts.reshape(-1)


@functools.cache
def _appending_zeros() -> tuple[list[int], ...]:
    """What the zero bytes of a row make of a register, as a table for each of its four bytes."""
    # A byte of the register is one that the last four of the row's distances stand before.
    parts = _sum_table().reshape(_ROW, 256)
    return tuple(parts[_ROW - 1 - i].tolist() for i in range(4))
