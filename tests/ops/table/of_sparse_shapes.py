"""Rows of the op types that join, cut, reshape, reduce and fill sparse tensors, against dense arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.nodes import make_one
from tests.ops.table.row import Fault, Row
from tests.ops.table.values import ints, longs

PLACES = np.array([[0, 1], [1, 0], [1, 2]])
VALUES = np.array([1.0, 2.0, 4.0], np.float32)
SHAPE = np.array([3, 3])
NONE = np.zeros([0, 2], np.int64), np.zeros([0], np.float32), SHAPE
ALL = PLACES, VALUES, SHAPE
OUT = (PLACES + 2, VALUES, SHAPE)
SMOOTH = np.array([0.5, -1.5, 2.5])
OUTSIDE = "out of bounds"


def _dense(indices: Any, values: Any, shape: Any, empty: Any = 0) -> Any:
    out = np.full(shape, empty, values.dtype)
    for place, value in zip(indices, values, strict=True):
        out[tuple(place)] = value
    return out


def _entries(there: Any, dense: Any) -> list[Any]:
    """Coordinates, values and shape of what is there, in row-major order."""
    return [np.argwhere(there).astype(np.int64), dense[there], np.array(there.shape, np.int64)]


def _joined(axis: int) -> Callable[..., Any]:
    def numpy(*parts: Any) -> Any:
        count = len(parts) // 3
        triples = list(zip(parts[:count], parts[count : 2 * count], parts[2 * count :], strict=True))
        there = [_dense(i, np.ones(len(i), bool), s) for i, _, s in triples]
        return _entries(np.concatenate(there, axis), np.concatenate([_dense(*t) for t in triples], axis))

    return numpy


def _triples(*sparse: Any) -> tuple[Any, ...]:
    return tuple(part for column in zip(*sparse, strict=True) for part in column)


WIDE = PLACES[:2], VALUES[:2], longs(3, 5)
JOIN = [
    Row(f"SparseConcat-axis{axis}", {"concat_dim": axis}, _joined(axis)).on(
        [_triples(ALL, ALL), _triples(ALL, NONE, ALL), *more],
        faults=[
            Fault(_triples(ALL, OUT), OUTSIDE),
            Fault(_triples(ALL, (PLACES, VALUES, longs(4, 4))), "shapes agree but along"),
        ],
    )
    for axis, more in ((0, []), (1, [_triples(ALL, WIDE)]), (-1, [_triples(WIDE, ALL)]))
]


def _reshaped(indices: Any, old: Any, new: Any) -> Any:
    there = _dense(indices, np.ones(len(indices), bool), old).reshape(new)
    found = _entries(there, there)
    return found[0], found[2]


RESHAPE = [
    Row("SparseReshape", {}, _reshaped).on(
        [
            (PLACES, SHAPE, longs(9)),
            (PLACES, SHAPE, longs(1, -1, 3)),
            (NONE[0], SHAPE, longs(9, 1)),
            (np.zeros([0, 2], np.int64), longs(0, 3), longs(3, 0)),
        ],
        faults=[
            Fault((PLACES, SHAPE, longs(4, 2)), "9 elements to shape", early=""),
            Fault((PLACES, SHAPE, longs(4, -1)), "9 elements to shape", early=""),
            Fault((PLACES, SHAPE, longs(-1, -1)), "9 elements to shape", early=""),
            Fault((PLACES + 2, SHAPE, longs(9)), OUTSIDE),
        ],
    )
]


def _sliced(indices: Any, values: Any, shape: Any, start: Any, size: Any) -> Any:
    box = tuple(slice(a, a + n) for a, n in zip(start, size, strict=True))
    return _entries(_dense(indices, np.ones(len(indices), bool), shape)[box], _dense(indices, values, shape)[box])


SLICE = [
    Row("SparseSlice", {}, _sliced).on(
        [
            (*ALL, longs(0, 1), longs(2, 9)),
            (*ALL, longs(0, 0), longs(3, 3)),
            (*ALL, longs(1, 0), longs(1, 2)),
            (*ALL, longs(1, 0), longs(0, 2)),
            (*NONE, longs(1, 0), longs(1, 2)),
        ],
        [(PLACES, SMOOTH, SHAPE, longs(0, 1), longs(2, 2))],
        [
            Fault((*ALL, longs(-1, 1), longs(2, 2)), "at least 0"),
            Fault((*ALL, longs(1), longs(2)), "have 2 entries", early="Shapes"),
            Fault((*OUT, longs(0, 0), longs(2, 2)), OUTSIDE),
        ],
    ),
    Row("SparseSliceGrad", {}, lambda g, i, start, kept: np.array([0, 0, 5], np.float32)).on(
        [(np.array([5], np.float32), PLACES, longs(1, 1), np.array([[0, 1]]))],
        faults=[Fault((VALUES, PLACES, longs(1, 1), np.array([[0, 1]])), "3 gradients of 1")],
    ),
]


def _reduced(function: Any, keep: bool, empty: Any) -> Callable[..., Any]:
    def numpy(indices: Any, values: Any, shape: Any, axes: Any) -> Any:
        dense = function(_dense(indices, values, shape, empty), axis=tuple(np.ravel(axes)), keepdims=keep)
        return np.where(dense == empty, 0, dense).astype(values.dtype)

    return numpy


SIXTEEN = VALUES.astype(np.float64), np.array([1, -2, 4])
REDUCE = [
    Row(f"{op}-{keep}", {"keep_dims": keep}, _reduced(function, keep, empty)).on(
        [
            *((PLACES, VALUES, SHAPE, axes) for axes in (ints(0), ints(1), ints(-1), ints(0, 1), ints())),
            (PLACES, -VALUES, SHAPE, np.int32(1)),
            (PLACES, SIXTEEN[0], SHAPE, ints(1)),
            (*NONE, ints(0)),
        ],
        faults=[Fault((*ALL, ints(2)), "axis 2 is not in", early=""), Fault((*OUT, ints(1)), OUTSIDE)],
    )
    for op, function, empty in (("SparseReduceSum", np.sum, 0), ("SparseReduceMax", np.max, -np.inf))
    for keep in (False, True)
]


def _summed(*axes: int) -> Callable[..., Any]:
    def build(indices: Any, values: Any, shape: Any) -> Any:
        indices.set_shape([None, 2])
        operands = [indices, values, shape, make_one("Const", [], {"value": ints(*axes)})]
        return make_one("SparseReduceSum", operands, {"keep_dims": False})

    return build


SUM_GRADIENTS = [
    Row(f"SparseReduceSum-by{axes}", _summed(*axes), lambda i, v, s, axes=axes: _dense(i, v, s).sum(axes)).on(
        [ALL], [(PLACES, SMOOTH, SHAPE)]
    )
    for axes in ((0,), (1,), (-1,), (0, 1), ())
]


def _softmax(indices: Any, values: Any, shape: Any) -> Any:
    dense = _dense(indices, values.astype(np.float64), shape, -np.inf)
    dense = np.exp(dense - np.where(np.isinf(m := dense.max(-1, keepdims=True)), 0, m))
    with np.errstate(all="ignore"):
        dense /= dense.sum(-1, keepdims=True)
    return dense[tuple(indices.T)].astype(values.dtype)


def _softmax_of(rank: int) -> Callable[..., Any]:
    def build(*inputs: Any) -> Any:
        inputs[0].set_shape([None, rank])
        return make_one("SparseSoftmax", list(inputs))

    return build


CUBE = np.array([[0, 0, 1], [0, 1, 0], [0, 1, 2], [1, 1, 1]])
ROWS_OF = [
    Row("SparseSoftmax", _softmax_of(2), _softmax).on(
        [ALL, NONE, (PLACES, 500 * VALUES, SHAPE), (PLACES, SIXTEEN[0], SHAPE)],
        [(PLACES, SMOOTH, SHAPE)],
        [Fault(OUT, OUTSIDE)],
        rtol=1e-5,
    ),
    Row("SparseSoftmax-cube", _softmax_of(3), _softmax).on(
        [(CUBE, np.arange(4, dtype=np.float32), longs(2, 2, 3))], [(CUBE, np.arange(4.0), longs(2, 2, 3))], rtol=1e-5
    ),
]


def _filled(indices: Any, values: Any, shape: Any, default: Any) -> Any:
    empty = np.array([row not in indices[:, 0] for row in range(shape[0])], bool)
    added = np.array([[row, 0] for row in np.flatnonzero(empty)], np.int64).reshape(-1, 2)
    places = np.concatenate([indices, added])
    order = np.argsort(places[:, 0], kind="stable")
    filled = np.concatenate([values, np.full(len(added), default, values.dtype)])[order]
    return places[order], filled, empty, np.argsort(order)[: len(values)].astype(np.int64)


FILL = [
    Row("SparseFillEmptyRows", {}, _filled).on(
        [
            (*ALL, np.float32(-1)),
            (*NONE, np.float32(-1)),
            (PLACES[::-1], VALUES, SHAPE, np.float32(9)),
            (PLACES, VALUES, longs(2, 3), np.float32(9)),
            (PLACES, np.array([b"a", b"b", b"c"], object), SHAPE, np.array(b"-", object)),
            (np.zeros([0, 2], np.int64), VALUES[:0], longs(0, 3), np.float32(9)),
        ],
        [(PLACES, SMOOTH, SHAPE, np.float64(2.0))],
        [Fault((*OUT, np.float32(0)), OUTSIDE), Fault((*ALL, VALUES), "scalar default", "rank 0")],
    ),
    Row("SparseFillEmptyRowsGrad", {}, lambda where, g: [g[where], np.delete(g, where).sum(dtype=g.dtype)]).on(
        [(longs(2, 0), np.arange(4, dtype=np.float32)), (longs(), VALUES)],
        faults=[Fault((longs(3), VALUES), "below 3")],
    ),
]


# -- the op types between a sparse tensor and a dense one that broadcasts to it --------------------

AT = np.array([[0, 1], [1, 0], [1, 2]])
NUMBERS = np.array([1.0, 2.0, -4.0], np.float32)
TWO_BY_THREE = np.array([2, 3])
NOTHING = np.zeros([0, 2], np.int64), np.zeros([0], np.float32), TWO_BY_THREE
DENSE = np.array([[2.0, -8.0, 1.0], [0.5, 4.0, 0.25]], np.float32)
SLOPED = np.array([0.5, -1.5, 2.5])
SIDES = [np.float32(2), DENSE, DENSE[0], DENSE[:, :1], DENSE[:1]]


def _row(op: str, function: Callable[..., Any], smooth: bool = True) -> Row:
    def expected(indices: Any, values: Any, shape: Any, dense: Any) -> Any:
        return function(values, np.broadcast_to(dense, shape)[tuple(indices.T)])

    return Row(op, {}, expected).on(
        [
            *((AT, NUMBERS, TWO_BY_THREE, d) for d in SIDES),
            (*NOTHING, DENSE),
            (AT, NUMBERS, TWO_BY_THREE, np.array([np.inf, np.nan, -np.inf], np.float32)),
            (AT, np.array([4, -8, 12]), TWO_BY_THREE, np.array([1, 2, 4])),
            (AT, np.array([1j, 2, 1]), TWO_BY_THREE, np.array(2 + 1j)),
            (np.array([[1]]), NUMBERS[:1], TWO_BY_THREE[:1], DENSE[0, :2]),
        ],
        [(AT, SLOPED, TWO_BY_THREE, np.asarray(d, np.float64)) for d in SIDES if smooth],
        [
            Fault((AT, NUMBERS, TWO_BY_THREE, DENSE[:, :2]), "broadcasts to the sparse one"),
            Fault((AT, NUMBERS, TWO_BY_THREE, DENSE[None]), "broadcasts to the sparse one", "of rank 2; got rank 3"),
            Fault((AT + 2, NUMBERS, TWO_BY_THREE, DENSE), "out of bounds"),
        ],
        rtol=1e-5,
    )


def _quotient(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        return x // y if x.dtype.kind == "i" else x / y


ROWS = [
    _row("SparseDenseCwiseAdd", np.add, smooth=False),
    _row("SparseDenseCwiseMul", np.multiply),
    _row("SparseDenseCwiseDiv", _quotient),
]
