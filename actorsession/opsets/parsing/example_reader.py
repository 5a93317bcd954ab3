"""Parsing of serialized ``Example`` messages: the values of each requested feature in each example.

Owns the traversal of the bytes. ``Example`` contains ``Features``, a map from key to ``Feature``, which is
one of three lists: of bytes, of floats, of int64. Nothing is decoded here: numbers stay packed, so that
``feature_values`` decodes those of a whole batch at once.

Examples of one source are similar: keys in one order, values of few different lengths. So the bytes before
the values of an entry (tags, lengths and the key) are cached as a whole, and an entry that begins with cached
bytes is cut out without parsing them. These bytes determine what follows, so no result depends on earlier
examples. Several threads may read at the same time: the cache contains independent facts, added one at a
time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from actorsession.errors import PicklableError
from actorsession.protobuf.wire import BYTES, FIXED32, VARINT, WireError, read_bytes, read_tag, read_varint, skip

__all__ = [
    "BYTES_LIST",
    "FLOAT_LIST",
    "INT64_LIST",
    "KINDS",
    "Cell",
    "ExampleReader",
    "WrongKindError",
    "read_feature_lists",
]

# The fields of ``Feature``.
BYTES_LIST, FLOAT_LIST, INT64_LIST = 1, 2, 3
KINDS: Mapping[int, str] = {BYTES_LIST: "string", FLOAT_LIST: "float", INT64_LIST: "int64"}

# The values of a feature in one example: packed numbers, one string, several, or None if it is missing.
Cell: TypeAlias = "bytes | memoryview | list[bytes] | None"

# How many beginnings of entries are cached, for how many keys, and their greatest length: a key and some 16
# bytes. Keys and lengths that do not recur must not fill the memory.
_MOST_KNOWN, _MOST_KEYS, _LONGEST_KNOWN = 8192, 1024, 256
# Packed numbers are copied twice, when they are cut out and when they are joined. Below this many bytes the
# first copy is faster than a view.
_COPIED = 1024


class WrongKindError(PicklableError):
    """Raised when a feature is another kind of list than requested.

    Args:
        slot: index of the feature.
        kind: the kind of list found.
        step: the step of a sequence to which it belongs.
    """

    def __init__(self, slot: int, kind: int, step: int = 0) -> None:
        super().__init__(f"feature {slot} is a list of {KINDS[kind]}")
        self.slot, self.kind, self.step = slot, kind, step


class ExampleReader:
    """A reader of the features with given keys from examples.

    Args:
        keys: keys of the features to read, without duplicates.
        kinds: the kind of list of each feature.
    """

    __slots__ = ("_kinds", "_known", "_lock", "_places", "_slots", "_widths")

    def __init__(self, keys: Sequence[bytes], kinds: Sequence[int]) -> None:
        self._slots = {key: slot for slot, key in enumerate(keys)}
        self._kinds = tuple(kinds)
        # From the beginning of an entry to the feature and the entry's size. The feature is -1 if it is not
        # requested, and less where many numbers are cut out without a copy: -2 minus its index.
        self._known: dict[bytes, tuple[int, int]] = {}
        # The length of the last beginning with each key, in the order of the first example; and the position
        # of each key in that order.
        self._widths: list[int] = []
        self._places: dict[bytes, int] = {}
        self._lock = threading.Lock()

    def read(self, data: bytes, row: int, columns: Sequence[list[Cell]]) -> None:
        """Store the values of one example in a row of each feature's column.

        Args:
            data: the example.
            row: index of the row; cells of missing features are unchanged.
            columns: a list of cells for each feature.

        Raises:
            WireError: if the bytes are no example.
            WrongKindError: if a feature is another kind of list than requested.
        """
        end, pos = len(data), 0
        if end > 3 and data[0] == 0x0A:  # the usual case: only field 1
            low, middle, high = data[1], data[2], data[3]
            if low < 0x80:
                pos, size = 2, low
            elif middle < 0x80:
                pos, size = 3, low & 0x7F | middle << 7
            else:
                pos, size = 4, low & 0x7F | (middle & 0x7F) << 7 | (high & 0x7F) << 14
            if pos + size == end and (pos < 4 or high < 0x80):
                self.read_features(data, pos, end, row, columns)
                return
            pos = 0
        while pos < end:
            number, wire_type, pos = read_tag(data, pos, end)
            if number == 1 and wire_type == BYTES:
                start, pos = read_bytes(data, pos, end)
                self.read_features(data, start, pos, row, columns)
            else:
                pos = skip(data, pos, end, number, wire_type)

    def read_features(self, data: bytes, pos: int, end: int, row: int, columns: Sequence[list[Cell]]) -> None:
        """Store the values of the ``Features`` between two positions in a row of the columns."""
        find, widths, place = self._known.get, self._widths, 0
        while pos < end:
            # Follow the order of the first example for as long as this one has the same order.
            for width in widths[place:] if place else widths:
                hit = find(data[pos : pos + width])
                if hit is None:
                    break
                slot, size = hit
                stop = pos + size
                if stop > end:
                    if pos >= end:
                        return  # what follows is not part of the features
                    raise WireError(f"a feature at byte {pos} reaches beyond the end, byte {end}")
                if slot >= 0:
                    columns[slot][row] = data[pos + width : stop]
                elif slot < -1:
                    columns[-2 - slot][row] = memoryview(data)[pos + width : stop]
                pos = stop
                place += 1
            if pos < end:
                place, pos = self._read_entry(data, pos, end, row, columns, place)

    def _read_entry(
        self, data: bytes, pos: int, end: int, row: int, columns: Sequence[list[Cell]], place: int
    ) -> tuple[int, int]:
        """Parse one entry without the cache; return the next place in the order and the position after it."""
        number, wire_type, at = read_tag(data, pos, end)
        if number != 1 or wire_type != BYTES:
            return place, skip(data, at, end, number, wire_type)
        start, stop = read_bytes(data, at, end)
        key, first, last = _entry(data, start, stop)
        slot = self._slots.get(key, -1)
        body = first
        if slot >= 0 and first < last:
            kind, low, high = _feature(data, first, last)
            if kind != self._kinds[slot]:
                raise WrongKindError(slot, kind)
            columns[slot][row], body = list_cell(data, low, high, kind)
            last = high
        if last == stop and (slot < 0 or body > first):
            place = self._remember(key, data[pos:body], slot, stop - pos, place)
        return place + 1, stop

    def _remember(self, key: bytes, head: bytes, slot: int, size: int, place: int) -> int:
        """Cache the beginning of an entry, and return the place of its key in the order."""
        order = self._places.get(key)
        if order is None:
            with self._lock:  # if two threads meet a key first, only one assigns its place
                if len(self._places) >= _MOST_KEYS:
                    return place
                order = self._places.setdefault(key, len(self._widths))
                if order == len(self._widths):
                    self._widths.append(0)
        if len(head) <= _LONGEST_KNOWN:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()  # frequent beginnings are soon cached again
            large = slot >= 0 and self._kinds[slot] != BYTES_LIST and size > _COPIED
            self._known[head] = -2 - slot if large else slot, size
            self._widths[order] = len(head)
        return order


def read_feature_lists(
    data: bytes, pos: int, end: int, slots: Mapping[bytes, int], kinds: Sequence[int], cells_of: dict[int, list[Cell]]
) -> None:
    """Find the lists with given keys in the ``FeatureLists`` between two positions.

    Args:
        data: the bytes.
        pos: start of the message.
        end: end of the message.
        slots: the index of each requested key.
        kinds: the kind of list of each feature.
        cells_of: receives, by index, a cell for each feature of a list.

    Raises:
        WireError: if the bytes are no such message.
        WrongKindError: if a feature is another kind of list than requested; ``step`` is its position.
    """
    for start, stop in _messages(data, pos, end):
        key, first, last = _entry(data, start, stop)
        slot = slots.get(key, -1)
        if slot < 0:
            continue
        cells = cells_of[slot] = []
        for low, high in _messages(data, first, last):
            if low == high:
                cells.append(None)
                continue
            kind, begin, ending = _feature(data, low, high)
            if kind != kinds[slot]:
                raise WrongKindError(slot, kind, len(cells))
            cells.append(list_cell(data, begin, ending, kind)[0])


def _messages(data: bytes, pos: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each message in field 1."""
    while pos < end:
        number, wire_type, pos = read_tag(data, pos, end)
        if number == 1 and wire_type == BYTES:
            start, pos = read_bytes(data, pos, end)
            yield start, pos
        else:
            pos = skip(data, pos, end, number, wire_type)


def _feature(data: bytes, pos: int, end: int) -> tuple[int, int, int]:
    """Return the kind of list of a feature, and the start and end of the list."""
    kind = data[pos] >> 3
    if data[pos] & 7 != BYTES or kind not in KINDS:
        raise WireError(f"a feature at byte {pos} is none of the three lists")
    return (kind, *read_bytes(data, pos + 1, end))


def _entry(data: bytes, pos: int, end: int) -> tuple[bytes, int, int]:
    """Return the key of a map entry, and the start and end of its value."""
    key, first, last = b"", end, end
    while pos < end:
        number, wire_type, pos = read_tag(data, pos, end)
        if wire_type != BYTES:
            pos = skip(data, pos, end, number, wire_type)
            continue
        start, pos = read_bytes(data, pos, end)
        if number == 1:
            key = data[start:pos]
        elif number == 2:
            first, last = start, pos
    return key, first, last


# -- lists -----------------------------------------------------------------------------------------


def list_cell(data: bytes, pos: int, end: int, kind: int) -> tuple[Cell, int]:
    """Return the values of a list, and their position if they are all that the list contains.

    Args:
        data: the bytes.
        pos: start of the list.
        end: end of the list.
        kind: the kind of list.

    Returns:
        The cell, and the position of the values; 0 if they are not in one piece.

    Raises:
        WireError: if it is no such list.
    """
    if pos == end:
        return (b"", 0) if kind != BYTES_LIST else ([], 0)
    if data[pos] != 0x0A:  # not field 1 with a length
        return _single_numbers(data, pos, end, kind), 0
    start, stop = read_bytes(data, pos + 1, end)
    if stop == end:
        return data[start:stop], start
    if kind != BYTES_LIST:
        raise WireError(f"a list at byte {pos} is in pieces")
    values = [data[start:stop]]
    while stop < end:
        if data[stop] != 0x0A:
            raise WireError(f"a list of bytes has something else at byte {stop}")
        start, stop = read_bytes(data, stop + 1, end)
        values.append(data[start:stop])
    return values, 0


def _single_numbers(data: bytes, pos: int, end: int, kind: int) -> bytes:
    """Return the numbers of a list that has a tag before each number, in packed form."""
    expected = FIXED32 if kind == FLOAT_LIST else VARINT
    parts = []
    while pos < end:
        number, wire_type, start = read_tag(data, pos, end)
        if number != 1 or wire_type != expected or kind == BYTES_LIST:
            raise WireError(f"a list of {KINDS[kind]} has something else at byte {pos}")
        pos = start + 4 if kind == FLOAT_LIST else read_varint(data, start, end)[1]
        if pos > end:
            raise WireError(f"a float at byte {start} runs over the end, byte {end}")
        parts.append(data[start:pos])
    return b"".join(parts)
