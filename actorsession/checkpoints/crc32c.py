"""The checksum CRC-32C (Castagnoli) over bytes, and the masked form in which TensorFlow stores it.

Owns the arithmetic alone. Large inputs are cut into rows that numpy works through side by side: a CRC is
linear, so the rows start from zero and are joined by the operator that appends a row's length of zeros.
Two bytes at a time, some hundred megabytes a second; a loop over bytes in Python manages ten.
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

# Bytes to a row: the first for inputs that fill some hundred of them. Joining costs a microsecond a row.
_ROW, _SHORT_ROW = 4096, 256
# Below this many bytes the loop over bytes is faster than setting the rows up.
_LOOP_BELOW = 4096
# Bytes worked through at a time, for their transposed copy is as large.
_CHUNK = 1 << 24


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
    row = _ROW if data.size >= 128 * _ROW else _SHORT_ROW
    rows = data.size // row
    ends = _rows(data[: rows * row].reshape(rows, row))
    first, second, third, fourth = _appending_zeros(row)
    for end in ends.tolist():
        register = (
            first[register & 255]
            ^ second[register >> 8 & 255]
            ^ third[register >> 16 & 255]
            ^ fourth[register >> 24]
            ^ end
        )
    return _advance_by_bytes(register, data[rows * row :])


def _advance_by_bytes(register: int, data: np.ndarray[Any, Any]) -> int:
    table = _byte_list()
    for byte in data.tobytes():
        register = table[(register ^ byte) & 255] ^ register >> 8
    return register


def _rows(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The register at the end of each row, begun with zero."""
    pairs = np.ascontiguousarray(rows.view("<u2").T)
    table = _pair_table()
    registers = np.zeros(rows.shape[0], np.uint32)
    for pair in pairs:
        registers = table[(registers & 0xFFFF) ^ pair] ^ (registers >> 16)
    return registers


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
def _pair_table() -> np.ndarray[Any, Any]:
    table, registers = _byte_table(), np.arange(1 << 16, dtype=np.uint32)
    for _ in range(2):
        registers = table[registers & 255] ^ (registers >> 8)
    return registers


@functools.cache
def _appending_zeros(count: int) -> tuple[list[int], ...]:
    """What ``count`` zero bytes make of a register, as a table for each of its four bytes."""
    table = _byte_table()
    registers = np.arange(256, dtype=np.uint32) << np.array([[0], [8], [16], [24]], np.uint32)
    registers = registers.astype(np.uint32)
    for _ in range(count):
        registers = table[registers & 255] ^ (registers >> 8)
    return tuple(row.tolist() for row in registers)
