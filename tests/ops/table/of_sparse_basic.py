"""Rows of the op types of sparse tensors: coordinates, values and a shape each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.table.row import Fault, Row
from tests.ops.table.values import longs

PLACES = np.array([[0, 1], [1, 0]])
VALUES = np.array([1.0, 2.0], np.float32)
SHAPE = np.array([2, 3])
ZERO = np.float32(0.0)
NO_PLACES, NO_VALUES = np.zeros([0, 2], np.int64), np.zeros([0], np.float32)
DENSE = np.array([[1.0, 2.0, 3.0], [4.0, np.nan, 6.0]], np.float32)
SMOOTH = np.array([0.5, -1.5])
OUTSIDE = "out of bounds"


def _filled(indices: Any, shape: Any, values: Any, default: Any) -> Any:
    out = np.full(shape, default, np.asarray(values).dtype)
    columns = np.reshape(indices, (-1, len(shape)) if np.ndim(indices) > 1 else (-1, 1))
    for i, place in enumerate(columns):
        out[tuple(place)] = values[i] if np.ndim(values) else values
    return out


TO_DENSE = [
    Row("SparseToDense", {}, _filled).on(
        [
            (PLACES, SHAPE, VALUES, ZERO),
            (PLACES.astype(np.int32), SHAPE.astype(np.int32), VALUES, np.float32(np.nan)),
            (longs(0, 2), longs(4), np.float32(3.0), ZERO),
            (longs(0, 2), longs(4), np.array([1, 2], np.int8), np.int8(-1)),
            (np.int64(2), longs(4), np.float32(3.0), ZERO),
            (NO_PLACES, SHAPE, NO_VALUES, np.float32(1.0)),
            (PLACES, SHAPE, np.array([1j, 2], np.complex64), np.complex64(0)),
            (PLACES, SHAPE, np.array([True, True]), np.bool_(False)),
            (PLACES, SHAPE, np.array([b"a", b"b"], object), np.array(b"-", object)),
        ],
        [(PLACES, SHAPE, SMOOTH, np.float64(0.5))],
        [
            Fault((PLACES[::-1].copy(), SHAPE, VALUES, ZERO), "is out of order"),
            Fault((longs(1, 1), longs(4), VALUES, ZERO), "is repeated"),
            Fault((longs(0, 5), longs(4), VALUES, ZERO), OUTSIDE),
            Fault((longs(-1, 1), longs(4), VALUES, ZERO), OUTSIDE),
            Fault((PLACES, SHAPE, np.ones([3], np.float32), ZERO), "do not fit 3 values"),
            Fault((PLACES, SHAPE, VALUES, VALUES[:1]), "is a scalar", "rank 0"),
        ],
    ),
    Row("SparseToDense-any_order", {"validate_indices": False}, _filled).on(
        [(PLACES[::-1].copy(), SHAPE, VALUES, ZERO), (longs(1, 1), longs(4), VALUES, ZERO)],
        [(PLACES[::-1].copy(), SHAPE, SMOOTH, np.float64(0.5))],
        [Fault((longs([0, -1]), SHAPE, VALUES[:1], ZERO), OUTSIDE)],
    ),
]


def _ordered(indices: Any, values: Any, shape: Any) -> list[Any]:
    order = sorted(range(len(values)), key=lambda i: indices[i].tolist())
    return [indices[order], values[order]]


MIXED = longs([1, 1], [0, 2], [1, 0], [0, 0])
REORDER = Row("SparseReorder", {}, _ordered).on(
    [
        (MIXED, np.array([1, 2, 3, 4], np.float32), SHAPE),
        (longs([1, 1], [0, 2], [1, 1]), np.array([b"a", b"b", b"c"], object), SHAPE),
        (NO_PLACES, NO_VALUES, SHAPE),
        (PLACES[::-1].copy(), np.array([1j, 2], np.complex64), SHAPE),
        (longs([9, 9], [0, 0]), VALUES, SHAPE),
    ],
    [(MIXED, np.array([0.5, 1.5, -1.0, 2.0]), SHAPE)],
    [
        Fault((PLACES, VALUES[:1], SHAPE), "do not fit 1 values"),
        Fault((PLACES, VALUES, longs(2)), "do not fit a tensor of shape"),
        Fault((longs(5, 6), VALUES, SHAPE), "do not fit", "rank 2"),
    ],
)


# -- sums ------------------------------------------------------------------------------------------


def _summed(a: Any, x: Any, shape: Any, b: Any, y: Any, _: Any, least: Any) -> list[Any]:
    total: dict[tuple[int, ...], Any] = {}
    for places, values in ((a, x), (b, y)):
        for place, value in zip(places.tolist(), values, strict=True):
            total[tuple(place)] = total.get(tuple(place), x.dtype.type(0)) + value
    kept = {k: v for k, v in sorted(total.items()) if abs(v) >= least}
    indices = np.array(list(kept), np.int64).reshape(-1, len(shape))
    return [indices, np.array(list(kept.values()), x.dtype), shape]


def _flowing(grad: Any, a: Any, b: Any, total: Any) -> list[Any]:
    found = {tuple(place): g for place, g in zip(total.tolist(), grad, strict=True)}

    def at(places: Any) -> Any:
        return np.array([found.get(tuple(p), 0) for p in places.tolist()], grad.dtype)

    return [at(a), at(b)]


OTHER = (longs([0, 0], [1, 0]), np.array([5.0, -2.0], np.float32), SHAPE)
SUMS = [
    Row("SparseAdd", {}, _summed).on(
        [
            (PLACES, VALUES, SHAPE, *OTHER, ZERO),
            (PLACES, VALUES, SHAPE, *OTHER, np.float32(0.5)),
            (NO_PLACES, NO_VALUES, SHAPE, *OTHER, ZERO),
            (NO_PLACES, NO_VALUES, SHAPE, NO_PLACES, NO_VALUES, SHAPE, ZERO),
            (
                PLACES,
                np.array([1j, 2], np.complex64),
                SHAPE,
                PLACES,
                np.array([1, -2], np.complex64),
                SHAPE,
                np.float32(0.5),
            ),
            (PLACES, np.array([1, 2], np.int8), SHAPE, PLACES, np.array([3, -2], np.int8), SHAPE, np.int8(1)),
        ],
        [(PLACES, SMOOTH, SHAPE, OTHER[0], SMOOTH + 1, SHAPE, np.float64(0.0))],
        [
            Fault((PLACES, VALUES, SHAPE, *OTHER[:2], longs(2, 4), ZERO), "not the same"),
            Fault((PLACES, VALUES, SHAPE, OTHER[0], VALUES[:1], SHAPE, ZERO), "need indices of shape"),
            Fault((PLACES, VALUES, SHAPE, longs([0, 7], [1, 0]), VALUES, SHAPE, ZERO), OUTSIDE),
        ],
        wrt=[1, 4],
    ),
    Row("SparseAddGrad", {}, _flowing).on(
        [
            (np.array([1, 2, 3], np.float32), PLACES, OTHER[0], longs([0, 0], [0, 1], [1, 0])),
            (np.array([7], np.float32), PLACES, OTHER[0], longs([0, 0])),
            (NO_VALUES, NO_PLACES, NO_PLACES, NO_PLACES),
            (NO_VALUES, PLACES, OTHER[0], NO_PLACES),
            (np.array([1j, 2], np.complex64), PLACES, PLACES, PLACES),
        ],
        faults=[Fault((VALUES, PLACES, OTHER[0], longs([0, 0], [0, 1], [1, 0])), "2 gradients for a sum")],
    ),
]


def _on_dense(indices: Any, values: Any, shape: Any, dense: Any) -> Any:
    out = dense.copy()
    np.add.at(out, tuple(indices.T), values)
    return out


ON_DENSE = Row("SparseTensorDenseAdd", {}, _on_dense).on(
    [
        (PLACES, VALUES, SHAPE, DENSE),
        (longs([0, 1], [0, 1]), VALUES, SHAPE, DENSE),
        (NO_PLACES, NO_VALUES, SHAPE, DENSE),
        (PLACES, np.array([1, 2]), SHAPE, np.ones([2, 3], np.int64)),
        (PLACES, np.array([1j, 2]), SHAPE, np.ones([2, 3], np.complex128)),
        (PLACES.astype(np.int32), VALUES, SHAPE.astype(np.int32), DENSE),
    ],
    [(PLACES, SMOOTH, SHAPE, np.array([[0.5, 1.5, -1.0], [2.0, 3.0, 0.25]]))],
    [
        Fault((PLACES, VALUES, longs(2, 2), DENSE), "is not the dense one", early="Shapes"),
        Fault((longs([0, 5]), VALUES[:1], SHAPE, DENSE), OUTSIDE),
        Fault((longs([0, -1]), VALUES[:1], SHAPE, DENSE), OUTSIDE),
        Fault((PLACES, VALUES[:1], SHAPE, DENSE), "need indices of shape"),
    ],
)


# -- products --------------------------------------------------------------------------------------


def _multiplied(adjoint_a: bool, adjoint_b: bool) -> Callable[..., Any]:
    def product(indices: Any, values: Any, shape: Any, b: Any) -> Any:
        a = np.zeros(shape, values.dtype)
        np.add.at(a, tuple(indices.T), values)
        return (a.conj().T if adjoint_a else a) @ (b.conj().T if adjoint_b else b)

    return product


TWICE = longs([0, 1], [1, 0], [0, 1])
PRODUCTS = [
    Row(
        f"SparseTensorDenseMatMul-{'adjoint' if adjoint_a else 'plain'}_{'adjoint' if adjoint_b else 'plain'}",
        {"adjoint_a": adjoint_a, "adjoint_b": adjoint_b},
        _multiplied(adjoint_a, adjoint_b),
    ).on(
        [
            (PLACES, VALUES, SHAPE, right),
            (TWICE, np.array([1, 2, 3], np.float32), SHAPE, right),
            (NO_PLACES, NO_VALUES, SHAPE, right),
            (PLACES, VALUES * (1 + 2j), SHAPE, (right * (2 - 1j)).astype(np.complex64)),
            (PLACES.astype(np.int32), np.array([1, 2], np.int32), SHAPE, right.astype(np.int32)),
        ],
        [(PLACES, SMOOTH, SHAPE, right.astype(np.float64))],
        [
            Fault((PLACES, VALUES, SHAPE, np.ones([7, 7], np.float32)), "cannot multiply", early=""),
            Fault((longs([0, 3]), VALUES[:1], SHAPE, right), OUTSIDE),
            Fault((PLACES, VALUES[:1], SHAPE, right), "need indices of shape"),
        ],
        rtol=1e-5,
    )
    for adjoint_a in (False, True)
    for adjoint_b in (False, True)
    for right in [
        np.arange(1, 1 + 4 * (2 if adjoint_a else 3), dtype=np.float32).reshape((4, -1) if adjoint_b else (-1, 4))
    ]
]
