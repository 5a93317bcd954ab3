"""Conversion of columns of cells to arrays: the values of one feature in a batch of examples.

A cell is what ``example_reader`` cuts out of one example. All numbers of a column are decoded together,
unless this was done for all columns before (``packed_columns``). The nodes that parse examples call it;
invalid data raises ``FeatureError`` with the row.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import PicklableError
from actorsession.graph.dtypes import DType, float32, int64, string
from actorsession.graph.registry import Array
from actorsession.opsets.parsing.example_reader import BYTES_LIST, FLOAT_LIST, INT64_LIST, KINDS, Cell
from actorsession.opsets.parsing.packed_columns import Column
from actorsession.opsets.text.kernels import string_array
from actorsession.protobuf.wire import WireError, read_varint, signed, varints, write_varints

__all__ = [
    "KIND_OF",
    "AnyColumn",
    "FeatureError",
    "fixed",
    "padded",
    "ragged",
    "sparse_of",
    "splits_of",
    "steps_of",
    "values_of",
]

# Below this many bytes a loop over integers is faster than a call of numpy.
_FEW = 48

AnyColumn: TypeAlias = "list[Cell] | Column"

KIND_OF = {string: BYTES_LIST, float32: FLOAT_LIST, int64: INT64_LIST}


class FeatureError(PicklableError):
    """Raised when a feature of one example is missing or invalid.

    Args:
        row: index of the example.
        message: description of the error.
    """

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row, self.message = row, message


def _filled(column: list[Any], empty: Any) -> list[Any]:
    """Return the column with ``empty`` in place of missing cells."""
    return [empty if cell is None else cell for cell in column] if None in column else column


def values_of(column: AnyColumn, kind: int) -> tuple[Array, Array]:
    """Return all values of a column in a new array, and the number of values of each cell.

    Raises:
        FeatureError: if a cell does not contain a whole number of values.
    """
    if isinstance(column, Column):
        return column.values, column.counts
    if kind == BYTES_LIST:
        texts: list[Any] = column  # bytes, or lists of them
        lists = [[c] if isinstance(c, bytes) else c or [] for c in texts]
        counts = np.fromiter(map(len, lists), np.int64, len(lists))
        values = [value for some in lists for value in some]
        return string_array(values, (len(values),)), counts
    cells: list[Any] = _filled(column, b"")
    sizes = np.fromiter(map(len, cells), np.int64, len(cells))
    data = bytearray().join(cells)  # arrays may write to it, so that floats are copied once
    if kind == FLOAT_LIST:
        if (sizes & 3).any():
            row = int(np.flatnonzero(sizes & 3)[0])
            raise FeatureError(row, f"{sizes[row]} bytes are no row of floats")
        return np.frombuffer(data, "<f4").astype(np.float32, copy=False), sizes >> 2
    return _few_integers(cells) if len(data) < _FEW else _integers(data, sizes)


def _few_integers(cells: list[Any]) -> tuple[Array, Array]:
    """Return values and counts of packed integers, decoded one by one."""
    values: list[int] = []
    counts = []
    for row, cell in enumerate(cells):
        pos, before = 0, len(values)
        try:
            while pos < len(cell):
                word, pos = read_varint(cell, pos)
                values.append(signed(word))
        except WireError as exc:
            raise FeatureError(row, str(exc)) from exc
        counts.append(len(values) - before)
    return np.array(values, np.int64), np.array(counts, np.int64)


def _integers(data: bytearray, sizes: Array) -> tuple[Array, Array]:
    """Return values and counts of packed integers, decoded all at once.

    Args:
        data: all cells.
        sizes: the number of bytes of each cell.
    """
    ends = np.cumsum(sizes)
    last = np.frombuffer(data, np.uint8) < 0x80
    # No number may extend into the next cell.
    broken = np.flatnonzero(~last[ends[sizes > 0] - 1])
    if broken.size:
        raise FeatureError(int(np.flatnonzero(sizes > 0)[broken[0]]), "an integer runs over the end")
    try:
        values = varints(data).view(np.int64)
    except WireError as exc:
        raise FeatureError(0, str(exc)) from exc
    before = np.concatenate(([0], np.cumsum(last)))
    return values, before[ends] - before[ends - sizes]


def fixed(column: AnyColumn, dtype: DType, shape: tuple[int, ...], default: Array | None) -> Array:
    """Return the values of a feature with the same shape in all examples.

    Args:
        column: cells of the feature.
        dtype: string, float32 or int64.
        shape: shape of each example's values.
        default: replaces a missing cell; missing cells are an error if left out.

    Returns:
        A new array of shape ``[rows, *shape]``.

    Raises:
        FeatureError: if a cell has another number of values, or is missing without a default.
    """
    kind, size = KIND_OF[dtype], math.prod(shape)
    missing = _missing(column)
    if isinstance(column, Column) and missing is None and column.each == size:
        return column.values.reshape(column.counts.size, *shape)
    if missing is not None and default is None:
        raise FeatureError(int(missing.argmax()), f"a feature of type {KINDS[kind]} is required but could not be found")
    if isinstance(column, Column):
        values, counts = column.values, column.counts
        if missing is not None:
            assert default is not None
            values, counts = _with_default(column, missing, default)
    else:
        if default is not None and missing is not None:
            column = _filled(column, _as_cell(default, kind))
        if kind == BYTES_LIST and size == 1 and list not in map(type, column):
            texts: list[Any] = column
            strings: Array = string_array(texts, (len(column), *shape))
            return strings
        values, counts = values_of(column, kind)
    wrong = np.flatnonzero(counts != size)
    if wrong.size:
        row = int(wrong[0])
        raise FeatureError(
            row,
            f"Number of {KINDS[kind]} values != expected. Values size: {counts[row]} but output shape: {list(shape)}",
        )
    return values.reshape(counts.size, *shape)


def _missing(column: AnyColumn) -> Array | None:
    """Return a mask of the missing cells, or ``None`` if there are none."""
    if isinstance(column, Column):
        return column.missing
    return np.array([cell is None for cell in column]) if None in column else None


def _with_default(column: Column, missing: Array, default: Array) -> tuple[Array, Array]:
    """Return values and counts of a column with the default in place of missing cells."""
    counts = np.where(missing, default.size, column.counts)
    of_default = np.repeat(missing, counts)
    values = np.empty(of_default.size, column.values.dtype)
    values[of_default] = np.tile(default.reshape(-1), int(missing.sum()))
    values[~of_default] = column.values
    return values, counts


def _as_cell(values: Array, kind: int) -> Cell:
    """Return values in the form of a cell."""
    if kind == BYTES_LIST:
        return list(values.flat)
    if kind == FLOAT_LIST:
        return values.astype("<f4").tobytes()
    return write_varints(values.reshape(-1))


def padded(column: AnyColumn, dtype: DType, shape: tuple[int, ...], padding: Any) -> Array:
    """Return the values of a feature with any number of blocks in an example.

    Args:
        column: cells of the feature; a missing cell has no blocks.
        dtype: string, float32 or int64.
        shape: shape of a block.
        padding: value of the blocks that an example lacks.

    Returns:
        A new array of shape ``[rows, blocks, *shape]``.

    Raises:
        FeatureError: if values are left over.
    """
    kind, stride = KIND_OF[dtype], math.prod(shape)
    values, counts = values_of(column, kind)
    over = np.flatnonzero(counts % stride if stride else counts)
    if over.size:
        row = int(over[0])
        raise FeatureError(
            row,
            f"Number of {KINDS[kind]} values is not a multiple of stride length. Saw {counts[row]} "
            f"values but output shape is: [?{''.join(f',{n}' for n in shape)}]",
        )
    rows, most = counts.size, int(counts.max(initial=0))
    blocks = most // stride if stride else 0
    if values.size == rows * most:
        return values.reshape(rows, blocks, *shape)
    out = np.empty((rows, most), dtype.np_dtype)
    out[...] = padding
    out[np.arange(most) < counts[:, None]] = values
    return out.reshape(rows, blocks, *shape)


def ragged(column: AnyColumn, dtype: DType, split: DType) -> tuple[Array, Array]:
    """Return the values of a feature with any number of values, and the row splits of type ``split``."""
    values, counts = values_of(column, KIND_OF[dtype])
    return values, splits_of(counts, split)


def splits_of(counts: Array, dtype: DType) -> Array:
    """Return the row splits of rows of some lengths."""
    splits = np.zeros(counts.size + 1, dtype.np_dtype)
    np.cumsum(counts, out=splits[1:])
    return splits


def sparse_of(column: AnyColumn, dtype: DType) -> tuple[Array, Array, Array]:
    """Return the values of a feature with any number of values, as a sparse tensor.

    Args:
        column: cells of the feature.
        dtype: string, float32 or int64.

    Returns:
        Indices (row and position in the row), values, and the numbers of rows and of values in the longest
        row.
    """
    values, counts = values_of(column, KIND_OF[dtype])
    places = np.empty((values.size, 2), np.int64)
    places[:, 0] = np.repeat(np.arange(counts.size), counts)
    places[:, 1] = np.arange(values.size) - np.repeat(np.cumsum(counts) - counts, counts)
    return places, values, np.array([counts.size, counts.max(initial=0)], np.int64)


def steps_of(lists: list[list[Cell]], dtype: DType) -> tuple[Array, Array, Array, Array]:
    """Return the values of a feature in all steps of some sequences, as a sparse tensor.

    Args:
        lists: for each sequence the cells of its steps.
        dtype: string, float32 or int64.

    Returns:
        Indices (sequence, step and position in the step), values, the three extents, and the number of steps
        of each sequence.
    """
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    places, values, extents = sparse_of([cell for some in lists for cell in some], dtype)
    starts = np.cumsum(lengths) - lengths
    out = np.empty((values.size, 3), np.int64)
    sequence = np.repeat(np.arange(len(lists)), lengths)[places[:, 0]]
    out[:, 0] = sequence
    out[:, 1] = places[:, 0] - starts[sequence]
    out[:, 2] = places[:, 1]
    shape = np.array([len(lists), lengths.max(initial=0), extents[1]], np.int64)
    return out, values, shape, lengths
