"""Parsing of batches of serialized ``Example`` messages, one feature of all examples at a time.

Owns the traversal of a batch. Examples of one source have their features in one order, with some missing here
and there. So the traversal goes from key to key of that order, with a position in each example: numpy
determines which examples have the key at their position, and these advance past its values. An example that
is not at its end when the keys are (because of another order, unpacked numbers or damage) is left to
``ExampleReader``, which determines its content; so no result depends on the expected order.
``packed_columns`` decodes the values.

A reader may be used in many threads: the order is replaced as a whole, and is only a guess.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from actorsession.errors import PicklableError
from actorsession.opsets.parsing.example_heads import LONGEST_KEY, Array, Head, keys_of, view_of
from actorsession.opsets.parsing.example_reader import BYTES_LIST, Cell, ExampleReader, WrongKindError
from actorsession.opsets.parsing.packed_columns import Column, Parts, bodies_of, columns_of, strings_of
from actorsession.protobuf.wire import WireError

__all__ = ["BatchReader", "ExampleError"]

# Fewer examples are read one by one, and so are those with many bytes per feature: joining them would cost
# more than it gains.
_FEWEST, _MOST_BYTES = 24, 2048
# At most this many bytes are copied at once.
_MOST_TOGETHER = 1 << 28
# The number of keys to search for, and the number of orders to try for the remaining examples.
_MOST_KEYS, _MOST_TRIES = 1024, 3
# Padding after the examples, for words that begin at the last byte.
_PADDING = bytes(512)


class ExampleError(PicklableError):
    """Raised when an example cannot be read.

    Args:
        row: index of the example.
        cause: the reason, a ``WireError`` or ``WrongKindError``.
    """

    def __init__(self, row: int, cause: WireError | WrongKindError) -> None:
        super().__init__(f"example {row}: {cause}")
        self.row, self.cause = row, cause


class BatchReader:
    """A reader of the features with given keys from batches of examples.

    Args:
        keys: keys of the features to read, without duplicates.
        kinds: the kind of list of each feature.
    """

    __slots__ = ("_heads", "_kinds", "_order", "_slots", "reader")

    def __init__(self, keys: Sequence[bytes], kinds: Sequence[int]) -> None:
        self.reader = ExampleReader(keys, kinds)
        self._slots = {key: slot for slot, key in enumerate(keys)}
        self._kinds = tuple(kinds)
        self._heads: dict[bytes, Head] = {}
        # The keys in the order in which examples have them, as far as it is known.
        self._order: tuple[Head, ...] = ()

    def read(self, rows: Sequence[bytes]) -> list[list[Cell]] | list[Column]:
        """Return the values of the examples, by feature.

        Raises:
            ExampleError: for the first row that is no example or has a feature of another kind.
        """
        if len(rows) >= _FEWEST and self._kinds:
            size = sum(map(len, rows))
            if 0 < size < min(_MOST_BYTES * len(rows) * len(self._kinds), _MOST_TOGETHER):
                together = self._read_together(rows)
                if together is not None:
                    return together
        columns: list[list[Cell]] = [[None] * len(rows) for _ in self._kinds]
        for row, data in enumerate(rows):
            self._read_one(data, row, row, columns)
        return columns

    def _read_one(self, data: bytes, row: int, place: int, columns: list[list[Cell]]) -> None:
        try:
            self.reader.read(data, place, columns)
        except (WireError, WrongKindError) as exc:
            raise ExampleError(row, exc) from exc

    def _read_together(self, rows: Sequence[bytes]) -> list[Column] | None:
        """Return the columns of many examples, or ``None`` if numbers are damaged.

        Damage is reported best by reading the examples one by one.
        """
        data = b"".join((*rows, _PADDING))
        at, ends = _contents(rows, data)
        parts = Parts(len(self._kinds), len(rows))
        left = self._walk(rows, data, at, ends, parts)
        numeric = [slot for slot, kind in enumerate(self._kinds) if kind != BYTES_LIST]
        textual = [slot for slot, kind in enumerate(self._kinds) if kind == BYTES_LIST]
        left |= bodies_of(data, parts, numeric)
        strings, odd = strings_of(data, parts, textual)
        left |= odd
        remaining = np.flatnonzero(left).tolist()
        cells: list[list[Cell]] = [[None] * len(remaining) for _ in self._kinds]
        for place, row in enumerate(remaining):
            self._read_one(rows[row], row, place, cells)
        if remaining:
            data = parts.replaced(data, remaining, cells, numeric)
        return columns_of(data, parts, strings, self._kinds, (remaining, cells))

    # -- the order ---------------------------------------------------------------------------------

    def _walk(self, rows: Sequence[bytes], data: bytes, at: Array, ends: Array, parts: Parts) -> Array:
        """Find the features, and return the indices of the remaining examples."""
        left = np.ones(len(rows), np.bool_)
        some = np.arange(len(rows))
        if not self._order:
            self._learn(rows[0], False)
        for _ in range(_MOST_TRIES):
            order = self._order
            behind = self._follow(order, data, at, some, parts)
            left[some] = behind != ends[some]
            some = np.flatnonzero(left)
            if 8 * some.size <= len(rows) or some.size < _FEWEST:
                break
            self._learn(rows[some[0]], bool(2 * some.size > len(rows)))
            if self._order == order:
                break
        return left

    def _follow(self, order: Sequence[Head], data: bytes, at: Array, some: Array, parts: Parts) -> Array:
        """Return the positions after the last feature that some examples have in an order."""
        every = some.size == at.size
        row = slice(None) if every else some
        at, items, end = at[some], view_of(data, "<u8"), len(data) - len(_PADDING)
        for head in order:
            starts, sizes, right = head.find(data, items, at)
            behind = starts + sizes
            if right is not None:
                sizes = np.where(right, sizes, -1)
                at = np.where(right, behind, at)
            else:
                at = behind
            # Damaged lengths lead beyond all examples, where no key is found.
            np.minimum(at, end, out=at)
            if head.slot >= 0:
                parts.starts[head.slot, row], parts.sizes[head.slot, row] = starts, sizes
        return at

    def _learn(self, example: bytes, another: bool) -> None:
        """Use the order of an example for all, or insert its additional keys into the current order."""
        try:
            keys = list(dict.fromkeys(_keys(example)))
        except WireError:
            return
        heads = [self._head(key) for key in keys if len(key) <= LONGEST_KEY]
        order = [] if another and set(heads) <= set(self._order) else list(self._order)
        place = 0
        for head in heads:
            if head in order:
                place = order.index(head) + 1
            else:
                order.insert(place, head)
                place += 1
        if len(order) > _MOST_KEYS or len(order) > 4 * len(heads) + 16:
            order = heads[:_MOST_KEYS]
        self._order = tuple(order)

    def _head(self, key: bytes) -> Head:
        head = self._heads.get(key)
        if head is None:
            if len(self._heads) >= _MOST_KEYS:
                self._heads.clear()
            slot = self._slots.get(key, -1)
            kind = self._kinds[slot] if slot >= 0 else 0
            head = self._heads[key] = Head(key, slot, kind)
        return head


def _contents(rows: Sequence[bytes], data: bytes) -> tuple[Array, Array]:
    """Return the start and end of the features of each example that contains nothing else.

    For other examples the end is before the start.
    """
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    ends = np.cumsum(sizes)
    starts = ends - sizes
    words = view_of(data, "<u4")[starts].astype(np.int64)
    low, middle, high = words >> 8 & 0xFF, words >> 16 & 0xFF, words >> 24
    size, header = low, np.full(len(rows), 2)
    longer = low >= 0x80
    if longer.any():
        size = np.where(longer, low & 0x7F | middle << 7, low)
        header += longer
        longer &= middle >= 0x80
        size = np.where(longer, low & 0x7F | (middle & 0x7F) << 7 | high << 14, size)
        header += longer
        longer &= high >= 0x80
    starts += header
    wrong = (words & 0xFF != 0x0A) | longer | (starts + size != ends)
    ends[wrong] = -1
    return starts, ends


def _keys(example: bytes) -> list[bytes]:
    starts, ends = _contents([example], example + _PADDING)
    if ends[0] < 0:
        return []
    return list(keys_of(example, int(starts[0]), int(ends[0])))
