"""Rows of reductions over axes, of searches along one, and of the largest of each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from actorsession import nn, ops
from tests.ops.table.row import Fault, Row
from tests.ops.table.values import EMPTY

X = np.array([[1.5, -2.0, 0.25], [3.0, 0.5, -1.0]], np.float32)
ODD = np.array([[1.0, np.nan, 2.0], [np.inf, 0.0, 3.0]], np.float32)
CUBE = np.linspace(-2, 3, 24, dtype=np.float32).reshape(2, 3, 4)
WHOLE = np.array([[1, -2, 3], [4, 5, -6]], np.int32)
SMALL = np.array([[100, 50, 3], [1, 2, -6]], np.int8)
UNSIGNED = np.array([[1, 200], [3, 250]], np.uint8)
COMPLEX = np.array([[1 + 2j, 3], [0.5j, -1]], np.complex64)
TRUTH = np.array([[True, False], [True, True], [False, False]])
SMOOTH = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, 1.0]])


def _axes(*values: int) -> Any:
    return np.array(values, np.int32)


def _tuple(axes: Any) -> Any:
    return tuple(np.reshape(axes, -1).tolist())


REAL = [
    (X, _axes(1)),
    (X, np.int32(-2)),
    (X, _axes(0, 1)),
    (X, _axes()),
    (ODD, _axes(0)),
    (CUBE, np.array([0, -1])),
    (CUBE, _axes(1)),
    (CUBE.transpose(2, 0, 1).copy(), _axes(0, 2)),
    (np.float32(2.5), _axes()),
    (X.astype(np.float64), _axes(0)),
]
NONE = [(EMPTY, _axes(0)), (EMPTY, _axes(1)), (EMPTY, _axes(0, 1))]
LOW = [
    (X.astype(np.float16), _axes(0)),
    (X.astype(ml_dtypes.bfloat16), _axes(1)),
    (X.astype(ml_dtypes.bfloat16), _axes(0, 1)),
]
INTEGERS = [
    (np.array([[100, 100]], np.int8), _axes(1)),
    (np.zeros([0, 2], np.int8), _axes(0)),
    (WHOLE, _axes(1)),
    (SMALL, _axes(0)),
    (UNSIGNED, _axes(1)),
    (WHOLE, _axes(0, 1)),
]
FIELD = [(COMPLEX, _axes(0)), (COMPLEX, _axes(0, 1))]
FAULTS = [
    Fault((X, _axes(2)), "axis|axes", early=""),
    Fault((X, _axes(0, -2)), "twice|axes", early=""),
    Fault((X, _axes(0)[None]), "a vector of integers", "a scalar or vector"),
]


def _reduction(
    op: str,
    build: Callable[..., Any],
    numpy: Callable[..., Any],
    inputs: Sequence[tuple[Any, ...]],
    *,
    keep: bool = False,
    smooth: Sequence[tuple[Any, ...]] = ((SMOOTH, _axes(1)), (SMOOTH, _axes()), (SMOOTH, _axes(0, 1))),
    **more: Any,
) -> Row:
    return Row(
        f"{op}-kept" if keep else op,
        lambda x, axes: build(x, axes, keepdims=keep),
        lambda x, axes: np.asarray(numpy(x, _tuple(axes), keep)),
    ).on(inputs, smooth, FAULTS if not keep and op not in ("All", "Any") else (), **more)


def _total(x: Any, axes: Any, keep: Any) -> Any:
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    return np.sum(wide, axes, keepdims=keep, dtype=wide.dtype).astype(x.dtype)


def _product(x: Any, axes: Any, keep: Any) -> Any:
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    return np.prod(wide, axes, keepdims=keep, dtype=wide.dtype).astype(x.dtype)


def _mean(x: Any, axes: Any, keep: Any) -> Any:
    if x.dtype.kind in "iu":
        count = np.prod([x.shape[a] for a in axes], dtype=np.int64)
        total = np.sum(x, axes, keepdims=keep, dtype=x.dtype)
        return np.trunc(total.astype(np.float64) / count).astype(x.dtype)
    count = np.prod([x.shape[a] for a in axes], dtype=np.float32)
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    return (np.sum(wide, axes, keepdims=keep) / count).astype(x.dtype)


def _largest(x: Any, axes: Any, keep: Any) -> Any:
    return np.max(x, axes, keepdims=keep, initial=_lowest(x.dtype))


def _smallest(x: Any, axes: Any, keep: Any) -> Any:
    lowest = _lowest(x.dtype)
    highest = -lowest if x.dtype.kind != "u" and x.dtype.kind != "i" else np.iinfo(x.dtype).max
    return np.min(x, axes, keepdims=keep, initial=highest)


def _lowest(dtype: Any) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def _scalar_of(case: tuple[Any, ...]) -> bool:
    return case[0].dtype.itemsize != 2


TOTALS = [*REAL, *NONE, *LOW, *INTEGERS, *FIELD]
EXTREMES = [case for case in [*REAL, *NONE, *INTEGERS] if _scalar_of(case)]
MEANS = [*REAL, *NONE, *LOW, INTEGERS[2], INTEGERS[5], *FIELD]
ZEROS = ((np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 1.5]]), _axes(1)),)

REDUCTIONS = [
    row
    for keep in (False, True)
    for row in (
        _reduction("Sum", ops.reduce_sum, _total, TOTALS, keep=keep, rtol=1e-5),
        _reduction("Mean", ops.reduce_mean, _mean, MEANS, keep=keep, rtol=1e-5),
        _reduction(
            "Prod",
            ops.reduce_prod,
            _product,
            TOTALS,
            keep=keep,
            rtol=1e-5,
            smooth=((SMOOTH, _axes(1)), (SMOOTH, _axes(0, 1)), *ZEROS),
        ),
        _reduction("Max", ops.reduce_max, _largest, EXTREMES, keep=keep),
        _reduction("Min", ops.reduce_min, _smallest, EXTREMES, keep=keep),
        _reduction(
            "All",
            ops.reduce_all,
            lambda x, axes, keep: np.all(x, axes, keepdims=keep),
            [(TRUTH, _axes(0)), (TRUTH, _axes(1, 0)), (TRUTH, _axes()), (TRUTH[:0], _axes(0))],
            keep=keep,
            smooth=(),
        ),
        _reduction(
            "Any",
            ops.reduce_any,
            lambda x, axes, keep: np.any(x, axes, keepdims=keep),
            [(TRUTH, _axes(0)), (TRUTH, np.int32(-1)), (TRUTH, _axes()), (TRUTH[:0], _axes(0))],
            keep=keep,
            smooth=(),
        ),
    )
]


def _reduced_shape(dims: Any, axes: Any) -> Any:
    out = dims.copy()
    out[np.reshape(axes, -1)] = 1
    return out


REDUCED_SHAPE = Row("ReducedShape", {}, _reduced_shape).on(
    [
        (_axes(2, 3, 4), _axes(1)),
        (_axes(2, 3, 4), _axes(-1, 0)),
        (_axes(2, 3), np.int32(1)),
        (_axes(2, 3), _axes()),
        (_axes(), _axes()),
        (np.array([2, 0]), np.array([1])),
    ]
)


# -- searches --------------------------------------------------------------------------------------


def _first_of(search: Callable[..., Any], instead: float) -> Callable[..., Any]:
    """NaN is never chosen where there is anything else."""

    def found(x: Any, axis: Any) -> Any:
        seen = np.where(np.isnan(x), instead, x) if x.dtype.kind == "f" else x
        return np.asarray(search(seen, int(axis)))

    return found


def _typed(numpy: Callable[..., Any], dtype: Any) -> Callable[..., Any]:
    return lambda x, axis: numpy(x, axis).astype(dtype)


SEARCHED = [
    (X, np.int32(0)),
    (X, np.int64(-1)),
    (ODD, np.int32(0)),
    (ODD, np.int32(1)),
    (np.array([np.nan, np.nan], np.float32), np.int32(0)),
    (np.array([[-np.inf, np.nan], [np.nan, 1.0]]), np.int32(0)),
    (np.array([2.0, 2.0, 2.0], np.float32), np.int32(0)),
    (SMALL, np.int32(1)),
    (UNSIGNED, np.int32(0)),
    (TRUTH, np.int32(0)),
    (EMPTY, np.int32(1)),
    (X.astype(np.float16), np.int32(1)),
    (X.astype(ml_dtypes.bfloat16), np.int32(1)),
]
NOWHERE = [
    Fault((X, np.int32(2)), "no elements along axis 2", early="axis 2 is not in"),
    Fault((EMPTY, np.int32(0)), "no elements along axis 0"),
    Fault((X, _axes(0)), "the axis is a scalar", "rank 0"),
]
SEARCHES = [
    Row(
        f"{op}-{'' if dtype == 'int64' else dtype}",
        lambda x, axis, build=build, dtype=dtype: build(x, axis, output_type=dtype),
        _typed(_first_of(search, instead), dtype),
    ).on(SEARCHED, faults=NOWHERE if dtype == "int64" else ())
    for op, build, search, instead, dtypes in (
        ("ArgMax", ops.argmax, np.argmax, -np.inf, ("int64", "int32", "int16", "uint16")),
        ("ArgMin", ops.argmin, np.argmin, np.inf, ("int64", "int32")),
    )
    for dtype in dtypes
]


# -- the largest of each row -----------------------------------------------------------------------


def _top(x: Any, k: Any) -> list[Any]:
    wide = x.astype(np.int64 if x.dtype.kind in "iu" else np.float64)
    order = np.argsort(-wide, axis=-1, kind="stable")[..., : int(k)]
    return [np.take_along_axis(x, order, -1), order.astype(np.int32)]


def _hits(predictions: Any, targets: Any, k: Any) -> Any:
    out = []
    for row, target in zip(predictions, targets, strict=True):
        valid = 0 <= target < len(row) and np.isfinite(row).all()
        out.append(valid and (row > row[target]).sum() < k)
    return np.array(out, bool)


SCORES = np.array([[1, 3, 3], [np.nan, 1, 2], [1, 2, np.inf], [3, 2, 1]], np.float32)
LONG = np.random.default_rng(0).permutation(200).astype(np.float32).reshape(2, 100)
FEW = "largest"
TOP = [
    Row("TopKV2", lambda x, k: list(nn.top_k(x, k)), _top).on(
        [
            (X, np.int32(2)),
            (X, np.int32(1)),
            (np.array([1.0, 3.0, 3.0, 2.0], np.float32), np.int32(3)),
            (CUBE, np.int32(4)),
            (SMALL, np.int32(2)),
            (UNSIGNED, np.int32(1)),
            (LONG, np.int32(3)),
            (LONG // 8, np.int32(7)),  # with many equal entries
            (X, np.int32(0)),
            (EMPTY, np.int32(2)),
            (X.astype(np.float16), np.int32(2)),
            (np.array([np.inf, -np.inf, 1.0]), np.int32(2)),
            (np.array([np.nan, 1, np.inf, -np.inf], np.float32), np.int32(3)),
            (np.array([np.nan, 1, -np.inf], np.float32), np.int32(1)),
            (np.array([[0, -(2**31), 2**31 - 1]], np.int32), np.int32(3)),
            (np.array([0, 255, 3], np.uint8), np.int32(2)),
        ],
        [(SMOOTH, np.int32(2)), (SMOOTH[0], np.int32(1))],
        [
            Fault((X, np.int32(4)), FEW, early=""),
            Fault((X, np.int32(-1)), FEW, early=""),
            Fault((np.float32(1.0), np.int32(1)), FEW, "too few"),
            Fault((X, _axes(1)), "k is a scalar", "rank 0"),
        ],
    ),
    Row("InTopKV2", nn.in_top_k, _hits).on(
        [
            (SCORES, np.array([1, 1, 0, 2], np.int32), np.int32(1)),
            (SCORES, np.array([0, 2, 1, 1]), np.int64(2)),
            (SCORES, np.array([3, -1, 0, 0], np.int32), np.int32(5)),
            (SCORES, np.array([1, 1, 0, 0], np.int32), np.int32(0)),
            (SCORES[:0], np.zeros([0], np.int32), np.int32(1)),
        ],
        faults=[
            Fault((SCORES, _axes(0, 1), np.int32(1)), "predictions", "not compatible"),
            Fault((SCORES[0], _axes(0), np.int32(1)), "predictions", "must have rank 2"),
        ],
    ),
]
