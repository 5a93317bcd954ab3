"""The values of features in the bytes of a whole batch, decoded all at once.

Owns ``Parts``, the positions of the list of each feature in each example, and ``Column``, the decoded values
of one feature. ``example_batches`` finds the parts, ``feature_values`` converts columns to results.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from actorsession.opsets.parsing.example_heads import Array, view_of
from actorsession.opsets.parsing.example_reader import FLOAT_LIST, INT64_LIST, Cell
from actorsession.protobuf.wire import WireError, single_integers, varints
from actorsession.records import dataclass

__all__ = ["Column", "Parts", "Strings", "bodies_of", "columns_of", "strings_of"]

# A feature of an example has few strings; with more, each one costs a round of numpy calls.
_MOST_STRINGS = 64
# Cells of this many bytes are faster to cut out one by one than byte by byte.
_CUT_OUT = 24
# Number of bytes of numbers decoded at a time, so that the results stay in the cache.
_TOGETHER = 1 << 15


@dataclass(frozen=True, slots=True)
class Column:
    """The values of a feature in all examples of a batch.

    Attributes:
        values: all values in one array; strings are objects.
        counts: number of values of each example.
        missing: mask of the examples without the feature; ``None`` if all have it.
        each: number of values of every example; -1 if it differs.
    """

    values: Array
    counts: Array
    missing: Array | None
    each: int


class Parts:
    """The start and size in bytes of the list of each feature of each example; size -1 for no list.

    Args:
        slots: number of features.
        rows: number of examples.
    """

    __slots__ = ("sizes", "starts")

    def __init__(self, slots: int, rows: int) -> None:
        self.starts = np.zeros((slots, rows), np.int64)
        self.sizes = np.full((slots, rows), -1, np.int64)

    def replaced(self, data: bytes, rows: list[int], cells: list[list[Cell]], slots: list[int]) -> bytes:
        """Replace the values of some rows by packed numbers that were read otherwise.

        Args:
            data: the bytes of the batch.
            rows: indices of the rows.
            cells: by feature, the cells of these rows.
            slots: indices of the numeric features.

        Returns:
            The bytes of the batch, followed by those numbers.
        """
        self.sizes[:, rows] = -1
        more, at = [data], len(data)
        for slot in slots:
            for row, cell in zip(rows, cells[slot], strict=True):
                if cell is not None:
                    assert not isinstance(cell, list)
                    more.append(bytes(cell))
                    self.starts[slot, row], self.sizes[slot, row] = at, len(cell)
                    at += len(cell)
        return b"".join((*more, bytes(16)))


# -- lists of numbers ------------------------------------------------------------------------------


def bodies_of(data: bytes, parts: Parts, slots: list[int]) -> Array:
    """Narrow lists of numbers to their packed numbers, and return a mask of rows with unpacked ones."""
    starts, sizes = parts.starts[slots], parts.sizes[slots]
    bare = sizes <= 0
    starts[bare] = 0  # any valid position; the value is ignored
    words = view_of(data, "<u4")[starts]
    inner, wide = sizes - 2, sizes >= 0x82
    # A tag, a one-byte length, and as many bytes as it specifies.
    right = (words & 0xFFFF) == (inner << 8 | 0x0A)
    if wide.any():
        length = words >> 8 & 0x7F | words >> 9 & 0x7F80
        right = np.where(wide, (words & 0x8080FF) == 0x00800A, right)
        right &= ~wide | (length == sizes - 3)
        inner = inner - wide
    empty = np.minimum(sizes, 0)
    parts.sizes[slots] = np.where(bare, empty, inner)
    parts.starts[slots] = starts + 2 + wide
    odd: Array = ~(right | bare).all(axis=0)
    return odd


def _floats(data: bytes, starts: Array, sizes: Array) -> tuple[Array, Array] | None:
    present = sizes > 0
    if not present.all():
        counts, lengths = np.where(present, sizes, 0), sizes[present]
        starts = starts[present]
    else:
        counts = lengths = sizes
    if (lengths & 3).any():
        return None
    if lengths.size and lengths.min() == lengths.max():
        values = view_of(data, f"V{lengths[0]}")[starts].view("<f4")
    else:
        numbers = lengths >> 2
        first = starts - 4 * (np.cumsum(numbers) - numbers)
        places = np.repeat(first, numbers) + 4 * np.arange(numbers.sum())
        values = view_of(data, "<f4")[places]
    return values.astype(np.float32, copy=False), counts >> 2


def _integers(data: bytes, starts: Array, sizes: Array) -> tuple[Array, Array] | None:
    present = sizes > 0
    begins, lengths = starts, sizes
    if not present.all():
        begins, lengths = starts[present], sizes[present]
    values = single_integers(data, begins, lengths)
    if values is not None:
        return values, present.astype(np.int64)
    if int(lengths.sum()) > _CUT_OUT * lengths.size:
        stops = (begins + lengths).tolist()
        packed = b"".join([data[a:b] for a, b in zip(begins.tolist(), stops, strict=True)])
    else:
        first = begins - (np.cumsum(lengths) - lengths)
        places = np.repeat(first, lengths) + np.arange(lengths.sum())
        packed = np.frombuffer(data, np.uint8)[places].tobytes()
    last = np.frombuffer(packed, np.uint8) < 0x80
    ends = np.cumsum(lengths)
    # No number may extend into the next list.
    if not last[ends - 1].all():
        return None
    try:
        decoded = varints(packed).view(np.int64)
    except WireError:
        return None
    counts = np.zeros(sizes.size, np.int64)
    counts[present] = np.add.reduceat(last, ends - lengths, dtype=np.int64)
    return decoded, counts


# -- lists of strings ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Strings:
    """The positions of the strings of some features.

    Attributes:
        owners: for each string, the index of its list: the feature's position times the number of rows, plus
            the row.
        starts: start of each string.
        stops: end of each string.
        slots: the features.
    """

    owners: Array
    starts: Array
    stops: Array
    slots: list[int]


def strings_of(data: bytes, parts: Parts, slots: list[int]) -> tuple[Strings, Array]:
    """Return the strings of lists, and a mask of the rows that contain anything else."""
    rows = parts.sizes.shape[1]
    odd = np.zeros(rows, np.bool_)
    owners = np.flatnonzero(parts.sizes[slots] > 0)
    at = parts.starts[slots].reshape(-1)[owners]
    stops = at + parts.sizes[slots].reshape(-1)[owners]
    strings: list[tuple[Array, Array, Array]] = []
    words = view_of(data, "<u4")
    while owners.size:
        if len(strings) == _MOST_STRINGS:
            odd[owners % rows] = True
            break
        head = words[at].astype(np.int64)
        length = head >> 8 & 0xFF
        begin = at + 2
        wide = length >= 0x80
        if wide.any():
            length = np.where(wide, length & 0x7F | (head >> 16 & 0xFF) << 7, length)
            begin += wide
            wide &= (head >> 16 & 0xFF) >= 0x80
        end = begin + length
        wrong = (head & 0xFF != 0x0A) | wide | (end > stops)
        if wrong.any():
            odd[owners[wrong] % rows] = True
            right = ~wrong
            owners, begin, end, stops = owners[right], begin[right], end[right], stops[right]
        strings.append((owners, begin, end))
        more = np.flatnonzero(end < stops)
        owners, at, stops = owners[more], end[more], stops[more]
    if len(strings) == 1:
        return Strings(*strings[0], slots), odd
    joined = [np.concatenate([np.zeros(0, np.int64), *each]) for each in zip(*strings, strict=True)]
    if not joined:
        joined = [np.zeros(0, np.int64)] * 3
    order = np.argsort(joined[0], kind="stable")
    return Strings(joined[0][order], joined[1][order], joined[2][order], slots), odd


# -- columns ---------------------------------------------------------------------------------------


def columns_of(
    data: bytes, parts: Parts, strings: Strings, kinds: tuple[int, ...], others: tuple[list[int], list[list[Cell]]]
) -> list[Column] | None:
    """Decode all features.

    Args:
        data: the bytes.
        parts: positions of the packed numbers of each feature.
        strings: positions of the strings.
        kinds: the kind of list of each feature.
        others: the rows that were read otherwise, and their cells by feature.

    Returns:
        A column for each feature; ``None`` if numbers are damaged.
    """
    out: list[Column | None] = [None] * len(kinds)
    for kind, decode in ((FLOAT_LIST, _floats), (INT64_LIST, _integers)):
        for slots in _groups(parts, [slot for slot, each in enumerate(kinds) if each == kind]):
            sizes = parts.sizes[slots]
            decoded = decode(data, parts.starts[slots].reshape(-1), sizes.reshape(-1))
            if decoded is None:
                return None
            missing: Array = sizes < 0
            _split(out, slots, decoded[0], decoded[1].reshape(sizes.shape), missing)
    if strings.slots:
        _add_strings(out, data, parts, strings, others)
    return [column for column in out if column is not None]


def _groups(parts: Parts, slots: list[int]) -> Iterator[list[int]]:
    """Yield groups of features to decode together: many small ones, few large ones."""
    together: list[int] = []
    size = 0
    for slot, each in zip(slots, parts.sizes[slots].sum(axis=1).tolist(), strict=True):
        if together and size + each > _TOGETHER:
            yield together
            together, size = [], 0
        together.append(slot)
        size += each + parts.sizes.shape[1]
    if together:
        yield together


def _split(out: list[Column | None], slots: list[int], values: Array, counts: Array, missing: Array) -> None:
    """Make the columns of features whose values are stored consecutively."""
    gone: Array = np.any(missing, axis=1)
    ends = np.cumsum(counts.sum(axis=1)).tolist()
    fewest, most = counts.min(axis=1).tolist(), counts.max(axis=1).tolist()
    start = 0
    for i, (slot, end) in enumerate(zip(slots, ends, strict=True)):
        # Each column has its own memory, so that holding one result does not keep all of them alive.
        mine = values[start:end].copy() if len(slots) > 1 else values
        each = most[i] if fewest[i] == most[i] else -1
        out[slot] = Column(mine, counts[i], missing[i] if gone[i] else None, each)
        start = end


def _add_strings(
    out: list[Column | None], data: bytes, parts: Parts, strings: Strings, others: tuple[list[int], list[list[Cell]]]
) -> None:
    slots, rows = strings.slots, parts.sizes.shape[1]
    owners, starts, stops = strings.owners, strings.starts, strings.stops
    missing = parts.sizes[slots] < 0
    remaining, cells = others
    if remaining:
        instead = np.zeros(rows, np.bool_)
        instead[remaining] = True
        kept = ~instead[owners % rows]
        owners, starts, stops = owners[kept], starts[kept], stops[kept]
    texts = [data[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
    if remaining:
        numbers = owners.tolist()
        for i, slot in enumerate(slots):
            for row, cell in zip(remaining, cells[slot], strict=True):
                missing[i, row] = cell is None
                more = cell if isinstance(cell, list) else [] if cell is None else [bytes(cell)]
                texts += more
                numbers += [i * rows + row] * len(more)
        order = np.argsort(np.array(numbers, np.int64), kind="stable").tolist()
        texts, owners = [texts[k] for k in order], np.array([numbers[k] for k in order], np.int64)
    values = np.empty(len(texts), object)
    values[:] = texts
    counts = np.bincount(owners, minlength=missing.size).reshape(missing.shape)
    _split(out, slots, values, counts, missing)
