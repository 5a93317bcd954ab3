"""Rows of counts and histograms, of the cross product and of the Euclidean norm over axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import math, ops
from tests.nodes import make_one
from tests.ops.table.row import Fault, Row

INTS = np.array([1, 1, 2, 5], np.int32)
NONE = np.zeros([0], np.int32)
VALUES = np.array([-1.0, 0.0, 1.5, 2.0, 4.999, 5.0, 15.0], np.float32)
A = np.array([[1.0, -2.0, 0.5], [0.3, 1.0, 4.0]])
B = np.array([[0.5, 2.0, -1.5], [1.3, -1.0, 2.0]])


def _bincount(values: Any, size: Any, weights: Any) -> Any:
    """Row by row."""
    rows = np.atleast_2d(values)
    each = np.broadcast_to(weights if np.size(weights) else 1, np.shape(values))
    out = np.zeros((len(rows), int(size)), weights.dtype)
    for i, (row, shares) in enumerate(zip(rows, np.atleast_2d(each), strict=True)):
        for value, share in zip(row, shares, strict=True):
            if value < size:
                out[i, value] += share
    return out if np.ndim(values) == 2 else out[0]


def _histogram(values: Any, ends: Any, nbins: Any) -> Any:
    clipped = np.clip(np.asarray(values, np.float64), *np.asarray(ends, np.float64))
    return np.histogram(clipped, int(nbins), tuple(ends))[0].astype(np.int32)


def _norm(x: Any, axis: Any) -> Any:
    kept = tuple(np.atleast_1d(axis).tolist())
    return np.sqrt(np.sum(np.square(np.abs(x)), kept)).astype(np.asarray(x).dtype)


ROWS = [
    Row("DenseBincount", {}, _bincount).on(
        [
            (INTS, np.int32(6), NONE),
            (INTS, np.int32(3), np.array([0.5, 1, 2, 3], np.float32)),
            (INTS.astype(np.int64), np.int64(9), np.zeros([0], np.int64)),
            (INTS.reshape(2, 2), np.int32(4), np.zeros([0], np.float64)),
            (INTS.reshape(2, 2), np.int32(4), np.array([[1, 2], [3, 4]], np.float64)),
            (NONE, np.int32(2), NONE),
            (NONE, np.int32(0), NONE),
        ],
        faults=[
            Fault((np.array([1, -1], np.int32), np.int32(3), NONE), "counts from 0; got -1"),
            Fault((INTS, np.int32(-1), NONE), "at least 0", early=""),
            Fault((INTS, np.int32(3), np.array([1, 2], np.float32)), "weight for each value"),
            Fault((INTS.reshape(1, 2, 2), np.int32(3), NONE), "vec", "vec"),
        ],
    ),
    Row(
        "DenseBincount-binary",
        lambda values, size: make_one(
            "DenseBincount", [values, size, ops.zeros([0], "int32")], {"binary_output": True}
        ),
        lambda values, size: np.minimum(_bincount(values, size, NONE), 1),
    ).on([(INTS, np.int32(6)), (INTS.reshape(2, 2), np.int32(4))]),
    Row("HistogramFixedWidth", ops.histogram_fixed_width, _histogram).on(
        [
            (VALUES, np.array([0, 5], np.float32), np.int32(5)),
            (VALUES.reshape(1, 7).astype(np.float64), np.array([-2, 2], np.float64), np.int32(3)),
            (np.array([1, 2, 3], np.int64), np.array([0, 5], np.int64), np.int32(5)),
            (np.zeros([0, 2], np.float32), np.array([0, 1], np.float32), np.int32(2)),
            (np.float32(0.5), np.array([0, 1], np.float32), np.int32(2)),
        ],
        faults=[
            Fault((VALUES, np.array([5, 5], np.float32), np.int32(5)), "low < high"),
            Fault((VALUES, np.array([0, 5], np.float32), np.int32(0)), "at least 1 bin", early=""),
            Fault((np.array([np.nan], np.float32), np.array([0, 5], np.float32), np.int32(2)), "NaN"),
            Fault((VALUES, np.array([0, 5, 6], np.float32), np.int32(5)), "range", "vector of 2"),
        ],
    ),
    Row("Cross", ops.cross, np.cross).on(
        [
            (A, B),
            (A[0], B[0]),
            (np.array([1, 0, 0], np.int32), np.array([0, 1, 0], np.int32)),
            (np.zeros([0, 3], np.float32), np.zeros([0, 3], np.float32)),
        ],
        [(A, B)],
        [Fault((A, B[0]), "one shape", "one shape"), Fault((A[:, :2], B[:, :2]), "length 3", "vectors of 3")],
    ),
    Row("EuclideanNorm", math.reduce_euclidean_norm, _norm).on(
        [
            (A, np.int32(0)),
            (A.astype(np.float32), np.array([0, -1], np.int32)),
            (np.array([3, 4, 2], np.int32), np.int32(0)),
            (np.zeros([0, 2], np.float32), np.int32(0)),
            (np.array([3, 4], np.float16), np.int64(0)),
            (np.array([3, 4j], np.complex64), np.int32(0)),
            (np.array([np.nan, 1], np.float32), np.int32(0)),
        ],
        [(A, np.int32(0)), (A, np.array([0, 1], np.int32))],
        rtol=1e-5,
    ),
]
