"""The checksum CRC-32C (Castagnoli) over bytes, and the masked form in which TensorFlow stores it.

This module holds the arithmetic alone; ``ops.parsing.records`` and the readers of checkpoints call it.

A CRC is linear over bits: it is the sum of the contributions of each byte at its distance from the end, and
zeros in front of the bytes contribute nothing. numpy takes the contributions from a table, a row of bytes at
a time, and the rows are joined by the operator that appends a row's length of zeros. That takes a nanosecond
a byte, so long inputs are shortened first. The register is a remainder modulo a polynomial, and a multiple of
that polynomial has only four terms (``_FOLDS``): bytes at the front may be added to three later places and
removed, a whole stretch of bytes at a time. Folding takes an eighth of a nanosecond a byte.

Many short inputs are rows of one table look-up (``crc32c_each``), because a call for each costs some
microseconds.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

__all__ = ["crc32c", "crc32c_each", "masked", "unmasked"]

_POLYNOMIAL = 0x82F63B78  # reflected
_ALL = 0xFFFFFFFF
# Added by the mask, so that a checksum of data that contains checksums is not degenerate (LevelDB's number).
_MASK_DELTA = 0xA282EAD8

# Bytes to a row; the table has 256 entries for each, half a megabyte. Joining costs half a microsecond a row.
_ROW = 512
# Below this many bytes a loop over them is faster.
_LOOP_BELOW = 24
# Bytes looked up at a time; their indices into the table take eight times as much memory.
_LOOKED_UP = 1 << 15
# x^6777 + x^484 + x^100 + 1 is a multiple of the polynomial (a search over all such sums up to x^9000 found
# a dozen, and this one has the widest gap behind its first term). Its eighth power has the same exponents in
# bytes, and every further square doubles them.
_FOLDS = (6777, 484, 100)
# Below this many bytes, looking up is faster than folding to ``_FOLDS[0]`` bytes.
_FOLD_FROM = 9000
# Bytes folded at a time: they are copied, and the copy should stay in the cache.
_CHUNK = 1 << 20
# From this size on an input of ``crc32c_each`` is processed separately.
_LONG = 1 << 13


def crc32c(data: Any, crc: int = 0) -> int:
    """Return the checksum of ``data``, or of the data with checksum ``crc`` followed by ``data``.

    Args:
        data: bytes or any contiguous buffer of them.
        crc: checksum of the preceding data.
    """
    register = crc ^ _ALL
    if len(data) <= _ROW:
        return _advance(register, np.frombuffer(data, np.uint8)) ^ _ALL if len(data) else crc
    view = np.frombuffer(data, np.uint8)
    for start in range(0, view.size, _CHUNK):
        part = view[start : start + _CHUNK]
        if part.size > _FOLD_FROM:
            part, register = _folded(part, register), 0
        register = _advance(register, part)
    return register ^ _ALL


def crc32c_each(
    data: np.ndarray[Any, Any], starts: np.ndarray[Any, Any], sizes: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return the checksums of many parts of one buffer.

    Args:
        data: a contiguous array of bytes.
        starts: where the parts begin.
        sizes: number of bytes of each.

    Returns:
        A new array, uint32.
    """
    out = np.empty(len(starts), np.uint32)
    short = np.flatnonzero(sizes < _LONG)
    if short.size < out.size:
        for i in np.flatnonzero(sizes >= _LONG).tolist():
            out[i] = crc32c(data[starts[i] : starts[i] + sizes[i]])
        starts, sizes = starts[short], sizes[short]
    if not short.size:
        return out
    rows, heads = np.divmod(sizes, _ROW)
    registers = _of_heads(data, starts, heads)
    for row in range(int(rows.max())):
        on = np.flatnonzero(rows > row)
        sums = _row_sums(data, starts[on] + heads[on] + row * _ROW, _ROW)
        registers[on] = _row_appended(registers[on]) ^ sums
    out[short] = registers ^ np.uint32(_ALL)
    return out


def masked(crc: Any) -> Any:
    """Return the form in which a checksum is stored; of an integer, or of an array of uint32."""
    if isinstance(crc, np.ndarray):
        return (crc >> np.uint32(15) | crc << np.uint32(17)) + np.uint32(_MASK_DELTA)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL


def unmasked(stored: int) -> int:
    """Return the checksum that was stored in masked form."""
    rotated = (stored - _MASK_DELTA) & _ALL
    return ((rotated >> 17) | (rotated << 15)) & _ALL


# -- one input -------------------------------------------------------------------------------------


def _folded(data: np.ndarray[Any, Any], register: int) -> np.ndarray[Any, Any]:
    """Return fewer bytes with which register 0 reaches the state that ``data`` gives from ``register``."""
    work = data.copy()
    work[:4] ^= np.frombuffer(register.to_bytes(4, "little"), np.uint8)
    power = 1
    while work.size > 8 * power * _FOLDS[0]:
        power *= 4
    while power:
        first, *later = (power * each for each in _FOLDS)
        steps = [first - each for each in later] + [first]
        while (size := min(steps[0], work.size - first)) > 0:
            gone = work[:size]
            for step in steps:
                work[step : step + size] ^= gone
            work = work[size:]
        power //= 4
    return work


def _advance(register: int, data: np.ndarray[Any, Any]) -> int:
    """Return the register after some bytes."""
    if data.size < _LOOP_BELOW:
        table = _byte_list()
        for byte in data.tobytes():
            register = table[(register ^ byte) & 255] ^ register >> 8
        return register
    # The previous register is equivalent to a change of the first four bytes.
    head = data.size % _ROW or _ROW
    checksum = int(np.bitwise_xor.reduce(_sum_table().take(data[:head] + _distances()[-head:])))
    table = _byte_list()
    if head < 4:
        for _ in range(head):
            register = table[register & 255] ^ register >> 8
        checksum ^= register
    else:
        parts = _sums()
        checksum ^= parts[head - 1 << 8 | register & 255] ^ parts[head - 2 << 8 | register >> 8 & 255]
        checksum ^= parts[head - 3 << 8 | register >> 16 & 255] ^ parts[head - 4 << 8 | register >> 24]
    if head == data.size:
        return checksum
    rows = data[head:].reshape(-1, _ROW)  # a dozen, because longer inputs were folded
    sums = np.bitwise_xor.reduce(_sum_table().take(rows + _distances()), axis=1)
    first, second, third, fourth = _appending_lists()
    for each in sums.tolist():
        checksum = (
            first[checksum & 255]
            ^ second[checksum >> 8 & 255]
            ^ third[checksum >> 16 & 255]
            ^ fourth[checksum >> 24]
            ^ each
        )
    return checksum


# -- many inputs -----------------------------------------------------------------------------------


def _of_heads(
    data: np.ndarray[Any, Any], starts: np.ndarray[Any, Any], sizes: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return the registers after the first bytes of each part, of which there are less than a row."""
    out: np.ndarray[Any, Any] = _behind_zeros()[sizes]
    # Inputs of similar size are the rows of one look-up, with zeros in front of shorter ones.
    groups = np.frexp(sizes.astype(np.float64))[1]
    for group in np.unique(groups[sizes > 0]).tolist():
        mine = np.flatnonzero(groups == group)
        some = sizes[mine]
        width = int(some.max())
        first = starts[mine] + some - width
        source = data
        if first.min() < 0:
            source, first = np.concatenate((np.zeros(width, np.uint8), data)), first + width
        out[mine] ^= _row_sums(source, first, width, None if some.min() == width else some)
    return out


def _row_sums(
    data: np.ndarray[Any, Any], starts: np.ndarray[Any, Any], width: int, sizes: np.ndarray[Any, Any] | None = None
) -> np.ndarray[Any, Any]:
    """Return the registers that rows of bytes give from register 0.

    Args:
        data: the bytes.
        starts: where the rows begin.
        width: how many bytes a row has, ``_ROW`` at most.
        sizes: how many bytes at the end of each row count; all if left out.
    """
    items = np.ndarray((data.size - width + 1,), f"V{width}", data, strides=(1,))
    distances, table = _distances()[_ROW - width :], _sum_table()
    out = np.empty(starts.size, np.uint32)
    at_once = min(max(_LOOKED_UP // width, 1), starts.size)
    # Fresh memory for each block would take as long as the looking up.
    places, entries = np.empty((at_once, width), np.intp), np.empty((at_once, width), np.uint32)
    for start in range(0, starts.size, at_once):
        some = slice(start, start + at_once)
        rows = items[starts[some]].view(np.uint8).reshape(-1, width)
        if sizes is not None:
            rows *= np.arange(width) >= (width - sizes[some])[:, None]
        count = len(rows)
        np.add(rows, distances, out=places[:count])
        # All places are in the table; this mode needs no memory of its own.
        table.take(places[:count], out=entries[:count], mode="clip")
        np.bitwise_xor.reduce(entries[:count], axis=1, out=out[some])
    return out


def _row_appended(registers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the registers after a row of zeros."""
    octets = registers.view(np.uint8).reshape(-1, 4)
    tables = _appending_zeros()
    sums = tables[0][octets[:, 0]]
    for i in (1, 2, 3):
        sums ^= tables[i][octets[:, i]]
    return sums


# -- tables ----------------------------------------------------------------------------------------


@functools.cache
def _byte_table() -> np.ndarray[Any, Any]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


@functools.cache
def _byte_list() -> list[int]:
    table: list[int] = _byte_table().tolist()
    return table


@functools.cache
def _distances() -> np.ndarray[Any, Any]:
    """Return the start in the table for each byte of a row."""
    return np.arange(_ROW - 1, -1, -1, dtype=np.int64) * 256


@functools.cache
def _sum_table() -> np.ndarray[Any, Any]:
    """Return the contribution of a byte followed by 0, 1, 2, ... others: 256 entries for each distance."""
    table = _byte_table()
    parts = np.empty((_ROW, 256), np.uint32)
    parts[0] = table
    for i in range(1, _ROW):
        parts[i] = table[parts[i - 1] & 255] ^ (parts[i - 1] >> 8)
    return parts.reshape(-1)


@functools.cache
def _sums() -> memoryview[int]:
    """Return the same table as a view, from which Python reads single entries faster."""
    return memoryview(_sum_table().data)


@functools.cache
def _behind_zeros() -> np.ndarray[Any, Any]:
    """Return the initial register of a checksum after 0, 1, 2, ... zeros."""
    table, registers = _byte_list(), [_ALL]
    for _ in range(_ROW - 1):
        registers.append(table[registers[-1] & 255] ^ registers[-1] >> 8)
    return np.array(registers, np.uint32)


@functools.cache
def _appending_zeros() -> tuple[np.ndarray[Any, Any], ...]:
    """Return the effect of a row of zero bytes on a register, as a table for each of its four bytes."""
    # A byte of the register is like a byte at one of the last four distances of a row.
    parts = _sum_table().reshape(_ROW, 256)
    return tuple(parts[_ROW - 1 - i] for i in range(4))


@functools.cache
def _appending_lists() -> tuple[list[int], ...]:
    return tuple(table.tolist() for table in _appending_zeros())
