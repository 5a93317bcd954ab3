"""The bytes before the values of a feature, recognised in many examples at once.

Owns ``Head``: an entry of the map of features begins with tags, lengths, the key and the kind of the list
that follows. All of that except the lengths is known in advance, and the lengths follow from the last of
them, so numpy compares whole words of many examples with their expected values. ``example_batches`` uses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from actorsession.protobuf.wire import BYTES, read_bytes, read_tag, skip

__all__ = ["LONGEST_KEY", "Array", "Head", "keys_of", "view_of"]

Array: TypeAlias = np.ndarray[Any, Any]

# One-byte lengths are below the first, two-byte lengths below the second.
_ONE, _TWO = 0x80, 0x4000
# A key with a one-byte length, so that few words are compared. Longer keys do not occur in practice.
LONGEST_KEY = 100


def view_of(data: Any, kind: str) -> Array:
    """Return a view of the items of a kind that begin at each byte of a buffer."""
    dtype = np.dtype(kind)
    return np.ndarray((len(data) - dtype.itemsize + 1,), dtype, data, strides=(1,))


class Head:
    """The bytes with which the entries of one key begin.

    Args:
        key: the key, of at most ``LONGEST_KEY`` bytes.
        slot: index of the feature; -1 if it is not requested.
        kind: kind of its list, if it is requested. Other features are not examined.
    """

    __slots__ = ("_known", "_lengths", "_mask", "_most", "_places", "_shift", "_size", "_tails", "slot")

    def __init__(self, key: bytes, slot: int, kind: int) -> None:
        self.slot = slot
        # The bytes before each length and after the last: tags, the key, tags.
        self._tails = [b"\x0a", b"\x0a" + bytes((len(key),)) + key + b"\x12"]
        if slot >= 0:
            self._tails.append(bytes((kind << 3 | BYTES,)))
        self._size = sum(map(len, self._tails)) + len(self._tails)
        self._of_short_ones()

    def _of_short_ones(self) -> None:
        """Compute the expected words of a beginning whose lengths take one byte each.

        For each word these are the bits to compare, their value for a last length of 0, and what each unit of
        that length adds. They are stored in columns, to broadcast over many examples.
        """
        known, lengths = bytearray(), bytearray()
        for tail in self._tails:
            known += tail
            lengths += bytes(len(tail)) + b"\x01"
            # A length counts everything that follows it.
            known.append(self._size - len(known) - 1)
        # None of the lengths may need a second byte.
        self._most = _ONE - 1 - known[1]
        words = -(-self._size // 8)
        self._mask, self._known, self._lengths = (
            np.frombuffer(bytes(part).ljust(8 * words, b"\0"), "<u8").astype(np.uint64)[:, None]
            for part in (b"\xff" * self._size, known, lengths)
        )
        self._places = np.arange(0, 8 * words, 8)[:, None]
        self._shift = np.uint64(8 * ((self._size - 1) % 8))

    def find(self, data: bytes, items: Array, at: Array) -> tuple[Array, Array, Array | None]:
        """Find the entries of this key.

        Args:
            data: the bytes.
            items: the words that begin at each byte.
            at: positions at which the entries begin.

        Returns:
            The start and size of the content after the beginning, and a mask of the entries of this key,
            ``None`` for all.
        """
        words = items[at + self._places] & self._mask
        last = words[-1] >> self._shift
        words -= last * self._lengths
        wrong = words != self._known
        wrong[0] |= last > self._most
        starts, lengths = at + self._size, last.view(np.int64)
        if not wrong.any():
            return starts, lengths, None
        right = ~wrong.any(axis=0)
        rest = np.flatnonzero(~right)
        longer = rest[items[at[rest]] & 0x8000 != 0]
        if longer.size:
            self._find_longer(data, at, longer, (starts, lengths, right))
        return starts, lengths, right

    def _find_longer(self, data: bytes, at: Array, rows: Array, out: tuple[Array, Array, Array]) -> None:
        """Find entries whose first length takes two bytes; the other lengths may take two as well."""
        for widths in self._ways():
            if not rows.size:
                return
            starts, lengths, right = self._longer(data, at[rows], widths)
            out[0][rows[right]], out[1][rows[right]] = starts[right], lengths[right]
            out[2][rows[right]] = True
            rows = rows[~right]

    def _ways(self) -> Iterator[list[int]]:
        """Yield the possible sizes of the lengths: no length takes more bytes than the one before it."""
        count = len(self._tails)
        for longer in range(count, 0, -1):
            yield [2] * longer + [1] * (count - longer)

    def _longer(self, data: bytes, at: Array, widths: list[int]) -> tuple[Array, Array, Array]:
        size = sum(map(len, self._tails)) + sum(widths)
        octets = view_of(data, f"V{size}")[at].view(np.uint8).reshape(at.size, size)
        length, right = np.zeros(at.size, np.int64), np.ones(at.size, np.bool_)
        place = size
        for tail, width in zip(self._tails[::-1], widths[::-1], strict=True):
            place -= width
            low, high = octets[:, place].astype(np.int64), octets[:, place + width - 1]
            encoded = low if width == 1 else low & 0x7F | high.astype(np.int64) << 7
            if place + width == size:
                length = encoded
            right &= encoded == length + (size - place - width)
            right &= (low < _ONE) if width == 1 else (low >= _ONE) & (high < _ONE) & (high > 0)
            place -= len(tail)
            expected = np.frombuffer(tail, np.uint8)
            right &= (octets[:, place : place + len(tail)] == expected).all(axis=1)
        return at + size, length, right


def keys_of(data: bytes, pos: int, end: int) -> Iterator[bytes]:
    """Yield the keys of ``Features`` in their order.

    Raises:
        WireError: if the bytes are no such message.
    """
    while pos < end:
        number, wire_type, at = read_tag(data, pos, end)
        if number != 1 or wire_type != BYTES:
            pos = skip(data, at, end, number, wire_type)
            continue
        start, pos = read_bytes(data, at, end)
        number, wire_type, start = read_tag(data, start, pos)
        if number == 1 and wire_type == BYTES:
            start, stop = read_bytes(data, start, pos)
            yield data[start:stop]
