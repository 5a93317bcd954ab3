"""Rows of the op types about sets and pieces of sparse tensors, against Python's sets and dense arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import actorsession as acts
from actorsession.opsets.parsing.serialized import written
from actorsession.opsets.sparse import serialising
from tests.nodes import make
from tests.ops.table.row import Fault, Row


def _sparse(dense: Any) -> tuple[Any, Any, Any]:
    """The parts of a sparse tensor of all that is not zero."""
    places = np.argwhere(dense)
    return places.astype(np.int64), dense[tuple(places.T)], np.array(dense.shape, np.int64)


def _parts(made: acts.SparseTensor) -> list[Any]:
    return [made.indices, made.values, made.dense_shape]


# -- sets ------------------------------------------------------------------------------------------

FIRST = np.array([[[1, 2, 3], [4, 4, 1]], [[7, 8, 9], [0, 0, 0]]], np.int64)
SECOND = np.array([[[3, 9], [4, 5]], [[1, 2], [0, 6]]], np.int64)
WORDS = np.array([["a", "b"], ["c", "c"]], object).astype(bytes).astype(object)
OTHERS = np.array([["b"], ["c"]], object).astype(bytes).astype(object)
COMBINED: dict[str, Callable[[set[Any], set[Any]], set[Any]]] = {
    "union": set.union,
    "intersection": set.intersection,
    "a-b": set.difference,
    "b-a": lambda a, b: b - a,
}


def _rows(values: Any) -> list[set[Any]]:
    return [set(values[place].tolist()) for place in np.ndindex(values.shape[:-1])]


def _sparse_rows(places: Any, values: Any, shape: Any) -> list[set[Any]]:
    outer = tuple(shape[:-1].tolist())
    found: list[set[Any]] = [set() for _ in range(int(np.prod(outer)))]
    for place, value in zip(places, values.tolist(), strict=True):
        found[int(np.ravel_multi_index(tuple(place[:-1]), outer))].add(value)
    return found


def _as_parts(rows: list[set[Any]], outer: tuple[int, ...], dtype: Any) -> list[Any]:
    places, values = [], []
    for number, row in enumerate(rows):
        for i, value in enumerate(sorted(row)):
            places.append([*np.unravel_index(number, outer), i])
            values.append(value)
    size = max(map(len, rows), default=0)
    return [
        np.array(places, np.int64).reshape(-1, len(outer) + 1),
        np.array(values, dtype),
        np.array([*outer, size], np.int64),
    ]


def _set_rows(operation: str) -> list[Row]:
    combine = COMBINED[operation]

    def function(a: Any, b: Any) -> list[Any]:
        if operation in ("a-b", "b-a"):
            return _parts(acts.sets.difference(a, b, aminusb=operation == "a-b"))
        return _parts(getattr(acts.sets, operation)(a, b))

    def numpy(first: list[set[Any]], second: list[set[Any]], outer: Any, dtype: Any) -> list[Any]:
        rows = [combine(a, b) for a, b in zip(first, second, strict=True)]
        return _as_parts(rows, tuple(outer), dtype)

    a, b = _sparse(FIRST), _sparse(SECOND)
    small = tuple(x.astype(np.int16) for x in (FIRST, SECOND))
    return [
        Row(
            f"DenseToDenseSetOperation-{operation}",
            function,
            lambda x, y: numpy(_rows(x), _rows(y), x.shape[:-1], x.dtype),
        ).on(
            [(FIRST, SECOND), small, (FIRST, SECOND[..., :0]), (WORDS, OTHERS), (FIRST[:0], SECOND[:0])],
            faults=[
                Fault((FIRST, SECOND[:1]), "same axes", "same axes"),
                Fault((FIRST[0, 0], SECOND[0, 0]), "two axes", "two axes"),
            ],
        ),
        Row(
            f"DenseToSparseSetOperation-{operation}",
            lambda x, *y: function(x, acts.SparseTensor(*y)),
            lambda x, *y: numpy(_rows(x), _sparse_rows(*y), x.shape[:-1], x.dtype),
        ).on([(FIRST, *b), (WORDS, *_sparse(OTHERS))], faults=[Fault((FIRST, b[0][::-1], b[1], b[2]), "out of order")]),
        Row(
            f"DenseToSparseSetOperation-{operation}-turned",
            lambda y, *x: function(acts.SparseTensor(*x), y),
            lambda y, *x: numpy(_sparse_rows(*x), _rows(y), y.shape[:-1], y.dtype),
        ).on([(SECOND, *a)]),
        Row(
            f"SparseToSparseSetOperation-{operation}",
            lambda *x: function(acts.SparseTensor(*x[:3]), acts.SparseTensor(*x[3:])),
            lambda *x: numpy(_sparse_rows(*x[:3]), _sparse_rows(*x[3:]), x[2][:-1], x[1].dtype),
        ).on(
            [(*a, *b), (*_sparse(0 * FIRST), *b)],
            faults=[
                Fault((*a, b[0], b[1], b[2] + [1, 0, 0]), "same axes", early=""),
                Fault((*a, b[0][[0, 0]], b[1][:2], b[2]), "is repeated"),
                Fault((*a, b[0] + 9, b[1], b[2]), "out of bounds"),
            ],
        ),
    ]


SIZES = Row(
    "SetSize",
    lambda *x: acts.sets.size(acts.SparseTensor(*x)),
    lambda *x: np.array([len(row) for row in _sparse_rows(*x)], np.int32).reshape(x[2][:-1]),
).on(
    [_sparse(FIRST), _sparse(SECOND[0]), _sparse(WORDS), _sparse(0 * FIRST)],
    faults=[
        Fault((np.zeros((1, 1), np.int64), np.ones(1, np.int64), np.ones(1, np.int64)), "two axes", "two axes"),
        Fault((_sparse(FIRST)[0][::-1].copy(), *_sparse(FIRST)[1:]), "out of order"),
    ],
)

# -- pieces ----------------------------------------------------------------------------------------

NUMBERS = np.array([[1, 0, 2, 0, -3], [0, 4, 0, 0, 0], [0, 0, 0, 5, 6]], np.float32)
MORE = np.array([[5, 0, 0, 0, -1], [0, 3, -2, 0, 0], [0, 7, 0, 0, 9]], np.float32)


def _split(count: int, axis: int) -> Row:
    def numpy(places: Any, values: Any, shape: Any) -> list[Any]:
        dense = np.zeros(shape)
        dense[tuple(places.T)] = values
        pieces = [_sparse(piece) for piece in np.array_split(dense, count, axis)]
        return [piece[i].astype(values.dtype if i == 1 else np.int64) for i in range(3) for piece in pieces]

    def build(*parts: Any) -> list[Any]:
        made = acts.sparse.split(sp_input=acts.SparseTensor(*parts), num_split=count, axis=axis)
        return [_parts(piece)[i] for i in range(3) for piece in made]

    return Row(f"SparseSplit-{count}-{axis}", build, numpy).on(
        [_sparse(NUMBERS), _sparse(NUMBERS.astype(np.int64)), _sparse(0 * NUMBERS)],
        faults=[
            Fault(
                (*_sparse(NUMBERS)[:2], np.array([0, 0], np.int64)),
                "out of bounds",
                early="num_split is between 1 and the size of the axis",
            ),
            Fault(_sparse(np.ones(3, np.float32)), "axis", "axis")
            if axis == 1
            else Fault(_sparse(NUMBERS[:1, :1]), "num_split is between", early=""),
        ],
    )


def _reduced(kind: str, axis: Any, keepdims: Any) -> Row:
    function = getattr(acts.sparse, f"reduce_{kind}_sparse")

    def numpy(places: Any, values: Any, shape: Any) -> list[Any]:
        fill = 0 if kind == "sum" else -np.inf
        dense, there = np.full(shape, fill, np.float64), np.zeros(shape, bool)
        dense[tuple(places.T)], there[tuple(places.T)] = values, True
        axes = tuple(axis) if isinstance(axis, list) else axis
        whole = getattr(dense, kind)(axis=axes, keepdims=keepdims)
        kept = np.asarray(there.any(axis=axes, keepdims=keepdims))
        found = np.argwhere(kept).astype(np.int64)
        return [found, np.asarray(whole)[kept].astype(values.dtype), np.array(kept.shape, np.int64)]

    return Row(
        f"SparseReduce{kind.title()}Sparse-{f'{axis}-{keepdims}'.replace(' ', '')}",
        lambda *x: _parts(function(acts.SparseTensor(*x), axis, keepdims)),
        numpy,
    ).on(
        [_sparse(NUMBERS), _sparse(NUMBERS.astype(np.int32)), _sparse(0 * NUMBERS)],
        faults=[Fault((*_sparse(NUMBERS)[:2], np.zeros(2, np.int64)), "out of bounds")],
    )


def _extreme(kind: str) -> Row:
    function = getattr(acts.sparse, f"{kind}imum")

    def numpy(*parts: Any) -> list[Any]:
        shape = parts[2]
        both = np.zeros((2, *shape), parts[1].dtype)
        there = np.zeros(shape, bool)
        for i in (0, 1):
            places, values = parts[3 * i : 3 * i + 2]
            both[(i, *places.T)], there[tuple(places.T)] = values, True
        found = np.argwhere(there).astype(np.int64)
        return [found, getattr(both, kind)(axis=0)[there]]

    a, b = _sparse(NUMBERS), _sparse(MORE)
    return Row(
        f"SparseSparse{kind.title()}imum",
        lambda *x: _parts(function(acts.SparseTensor(*x[:3]), acts.SparseTensor(*x[3:])))[:2],
        numpy,
    ).on(
        [
            (*a, *b),
            (*_sparse(NUMBERS.astype(np.int32)), *_sparse(MORE.astype(np.int32))),
            (*a, *_sparse(0 * MORE)),
            (*_sparse(NUMBERS[0]), *_sparse(MORE[1])),
        ],
        faults=[
            Fault((*a, b[0], b[1], b[2] + 1), "not the same"),
            Fault((*a, b[0][:2], b[1], b[2]), "need indices", "do not fit"),
        ],
    )


def _plain(*operands: Any) -> list[Any]:
    """The op itself, with the axes as an operand."""
    return list(make("SparseReduceSumSparse", list(operands), {"keep_dims": False}).outputs)


BAD_AXES = Row(
    "SparseReduceSumSparse-axes",
    _plain,
    lambda places, values, shape, axes: [
        np.unique(places[:, :1], axis=0),
        np.array([0.0, 4.0, 11.0], np.float32),
        shape[:1],
    ],
).on(
    [(*_sparse(NUMBERS), np.array([1], np.int32))],
    faults=[Fault((*_sparse(NUMBERS), np.array([2], np.int32)), r"not in \[-2, 2\)", early="axis 2 is not")],
)

# -- strings ---------------------------------------------------------------------------------------


def _messages(*parts: Any) -> Any:
    out = np.empty(3, object)
    arrays = [np.asarray(part) for part in parts]
    out[:] = [written(array, acts.as_dtype(array.dtype), in_one_piece=True) for array in arrays]
    return out


def _many(places: Any, values: Any, shape: Any) -> Any:
    rows = []
    for number in range(shape[0]):
        kept = places[:, 0] == number
        rows.append(_messages(places[kept, 1:], values[kept], shape[1:]))
    return np.array(rows, object).reshape(-1, 3)


STRINGS = _many(*_sparse(NUMBERS))
SERIALISED = [
    Row("SerializeSparse", lambda *x: acts.io.serialize_sparse(acts.SparseTensor(*x)), _messages).on(
        [_sparse(NUMBERS), _sparse(FIRST), _sparse(0 * NUMBERS), _sparse(WORDS)],
        faults=[Fault((*_sparse(NUMBERS)[:2], np.zeros(2, np.int64)), "out of bounds")],
    ),
    Row("SerializeManySparse", lambda *x: acts.io.serialize_many_sparse(acts.SparseTensor(*x)), _many).on(
        [_sparse(NUMBERS), _sparse(FIRST), _sparse(0 * NUMBERS), _sparse(WORDS)],
        faults=[
            Fault(_sparse(NUMBERS[0]), "should be > 1"),
            Fault((_sparse(NUMBERS)[0][::-1].copy(), *_sparse(NUMBERS)[1:]), "in order"),
        ],
    ),
    Row(
        "DeserializeSparse",
        lambda x: _parts(serialising.deserialize_sparse(x, np.float32)),
        lambda x: list(_sparse(NUMBERS[: len(x)] if x.ndim > 1 else NUMBERS[0])),
    ).on(
        [STRINGS, STRINGS[0]],
        faults=[
            Fault(STRINGS[:0], "many, 3"),
            Fault(STRINGS[:, :2], "many, 3", "..., 3"),
            Fault(STRINGS[:, [1, 1, 2]], "no sparse tensor of float32"),
        ],
    ),
    Row(
        "DeserializeManySparse",
        lambda x: _parts(acts.io.deserialize_many_sparse(x, np.float32)),
        lambda x: list(_sparse(NUMBERS[: len(x)])),
    ).on(
        [STRINGS, STRINGS[:1]],
        faults=[
            Fault(STRINGS[:0], "many, 3"),
            Fault(STRINGS[0], "many, 3", "many, 3"),
            Fault(_many(*_sparse(FIRST)), "no sparse tensor of float32"),
            Fault(STRINGS[:, [1, 1, 2]], "no sparse tensor of float32"),
            Fault(np.stack([STRINGS[0], _messages(*_sparse(NUMBERS))]), "of one rank"),
        ],
    ),
]

ROWS = [
    *(row for operation in COMBINED for row in _set_rows(operation)),
    *(_split(count, axis) for count, axis in ((2, 1), (5, 1), (3, 0), (2, 0), (1, 1), (3, -1))),
    *(
        _reduced(kind, axis, keepdims)
        for kind in ("sum", "max")
        for axis, keepdims in ((1, False), (1, True), (0, False), ([0, 1], False), (None, True))
    ),
    _extreme("min"),
    _extreme("max"),
]
