"""Rows of ops on rows that belong together: sorted, unsorted, and looked up by index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import ops, opsets
from tests.ops.table.row import Fault, Row

DATA = np.array([[1.5, -2.0], [0.5, 3.0], [2.5, -2.0], [-1.0, 4.0], [3.0, 0.25]])
IDS = np.array([0, 0, 1, 3, 3], np.int32)
MIXED = np.array([2, -1, 0, 2, 0], np.int32)
ZEROS = np.array([[0.0, 2.0], [0.0, 0.0], [5.0, -2.0], [0.0, 4.0], [3.0, 0.0]])
INTS = np.array([[7, -8], [2, -1], [100, 3], [-7, 0], [0, 9]], np.int8)
NAN = np.array([1.0, np.nan, np.nan, -np.inf, 2.0], np.float32)
# At these no two elements of a segment are equal, and none is 0.
SMOOTH = [(DATA, IDS), (DATA[:, 0].copy(), IDS.astype(np.int64)), (DATA.reshape(5, 2, 1), IDS)]
# No segment is empty: what stands there may be too large for differences.
FULL = np.array([2, -1, 0, 1, 0], np.int32)
FOLDED = [(DATA, FULL, np.int32(3)), (DATA.reshape(5, 1, 2), FULL[:, None], np.int32(3))]


def _folded(data: Any, ids: Any, count: int, fold: Callable[[Any], Any], empty: Any) -> Any:
    """Segment by segment."""
    width = np.ndim(ids)
    rows = np.reshape(data, (np.size(ids), *np.shape(data)[width:]))
    out = np.empty((count, *rows.shape[1:]), rows.dtype)
    for i in range(count):
        mine = rows[np.ravel(ids) == i]
        out[i] = fold(mine) if len(mine) else empty
    return out


def _mean(rows: Any) -> Any:
    if rows.dtype.kind == "i":
        return np.trunc(rows.sum(0, dtype=np.int64) / len(rows))
    return rows.sum(0) / len(rows)


def _largest(rows: Any) -> Any:
    return np.fmax.reduce(rows, 0)


def _smallest(rows: Any) -> Any:
    return np.fmin.reduce(rows, 0)


def _sorted(op: str, build: Callable[..., Any], fold: Callable[[Any], Any], empty: Any = 0, **more: Any) -> Row:
    def numpy(data: Any, ids: Any) -> Any:
        return _folded(data, ids, int(ids[-1]) + 1 if len(ids) else 0, fold, empty)

    return Row(op, build, numpy).on(
        [
            (DATA.astype(np.float32), IDS),
            (INTS, IDS.astype(np.int64)),
            (DATA.astype(np.float16), IDS),
            (NAN, IDS),
            (np.zeros([0, 2], np.float32), np.zeros([0], np.int32)),
            (np.zeros([5, 0], np.float32), IDS),
        ],
        more.pop("smooth", SMOOTH),
        [
            Fault((DATA, IDS[::-1].copy()), "rising order"),
            Fault((DATA, IDS - 1), "at least 0"),
            Fault((DATA, IDS[:3]), "an id for each", "an id for each"),
            Fault((np.float32(1), IDS[:0]), "rank at least 1", "at least 1"),
        ],
        rtol=1e-3,
    )


def _unsorted(op: str, build: Callable[..., Any], fold: Callable[[Any], Any], empty: Callable[[Any], Any]) -> Row:
    def numpy(data: Any, ids: Any, count: Any) -> Any:
        return _folded(data, ids, int(count), fold, empty(data.dtype))

    return Row(op, build, numpy).on(
        [
            (DATA.astype(np.float32), MIXED, np.int32(4)),
            (INTS, MIXED.astype(np.int64), np.int64(3)),
            (DATA.astype(np.float16), MIXED, np.int32(3)),
            (DATA, np.array([[0, 1], [-1, 1], [2, 0], [0, 2], [0, 0]], np.int32), np.int32(3)),
            (NAN[:2], np.array([1, 1], np.int32), np.int32(2)),
            (np.zeros([0, 2], np.float32), np.zeros([0], np.int32), np.int32(2)),
            (np.float32(3), np.int32(1), np.int32(2)),
        ],
        FOLDED,
        [
            Fault((DATA, MIXED, np.int32(2)), "segment id 2 is not below 2"),
            Fault((DATA, MIXED[:2], np.int32(3)), "begins", "begins"),
            Fault((DATA, MIXED, np.int32(-1)), "at least 0", early=""),
        ],
        rtol=1e-3,
    )


def _lowest(dtype: Any) -> Any:
    return np.iinfo(dtype).min if dtype.kind == "i" else np.finfo(dtype).min


def _highest(dtype: Any) -> Any:
    return np.iinfo(dtype).max if dtype.kind == "i" else np.finfo(dtype).max


INDICES = np.array([4, 0, 0, 2, 1], np.int32)
DIVISORS: dict[str, Callable[[Any], Any]] = {
    "Sum": lambda rows: rows.sum(0),
    "Mean": _mean,
    "SqrtN": lambda rows: rows.sum(0) / np.sqrt(len(rows)),
}
BUILDERS = {"Sum": opsets.sparse_segment_sum, "Mean": opsets.sparse_segment_mean, "SqrtN": opsets.sparse_segment_sqrt_n}


def _sparse(kind: str, sparse: bool) -> Row:
    def numpy(data: Any, indices: Any, ids: Any) -> Any:
        count = int(ids[-1]) + 1 if len(ids) else 0
        return _folded(data[indices], ids, count, DIVISORS[kind], 0)

    return Row(
        f"SparseSegment{kind}-{'sparse-gradient' if sparse else ''}",
        lambda data, indices, ids: BUILDERS[kind](data, indices, ids, sparse_gradient=sparse),
        numpy,
    ).on(
        [
            (DATA.astype(np.float32), INDICES, IDS),
            (DATA, INDICES.astype(np.int64), IDS.astype(np.int64)),
            (DATA.astype(np.float16), INDICES, IDS),
            (DATA, INDICES[:0], IDS[:0]),
        ],
        [(DATA, INDICES, IDS), (DATA[:, 0].copy(), INDICES[:3], IDS[:3])],
        [
            Fault((DATA, INDICES + 1, IDS), r"rows in \[0, 5\)"),
            Fault((DATA, INDICES, IDS[::-1].copy()), "rising order"),
            Fault((DATA, INDICES[:2], IDS), "an id for each", "an id for each"),
            Fault((np.float64(1), INDICES, IDS), "at least 1", "at least 1"),
        ],
        rtol=1e-3,
    )


def _with_num_segments(kind: str) -> Row:
    def numpy(data: Any, indices: Any, ids: Any, count: Any) -> Any:
        return _folded(data[indices], ids, int(count), DIVISORS[kind], 0)

    return Row(
        f"SparseSegment{kind}WithNumSegments",
        lambda data, indices, ids, count: BUILDERS[kind](data, indices, ids, num_segments=count),
        numpy,
    ).on(
        [
            (DATA.astype(np.float32), INDICES, IDS, np.int32(4)),
            (DATA, INDICES, IDS, np.int64(6)),
            (DATA, INDICES[:0], IDS[:0], np.int32(2)),
        ],
        [(DATA, INDICES, IDS, np.int32(6))],
        [Fault((DATA, INDICES, IDS, np.int32(3)), "scalar of at least 4")],
        rtol=1e-5,
    )


def _grad(kind: str) -> Row:
    """Scatters each segment's gradient to the rows that it was made of."""

    def numpy(grad: Any, indices: Any, ids: Any, rows: Any) -> Any:
        counts = np.bincount(ids, minlength=len(grad))
        divisor = {"Sum": np.ones_like(counts), "Mean": counts, "SqrtN": np.sqrt(counts)}[kind]
        out = np.zeros((int(rows), *grad.shape[1:]), grad.dtype)
        for index, segment in zip(indices, ids, strict=True):
            out[index] += (grad[segment] / divisor[segment]).astype(grad.dtype)
        return out

    return Row(f"SparseSegment{kind}Grad", {}, numpy).on(
        [
            (DATA[:4].astype(np.float32), INDICES, IDS, np.int32(5)),
            (DATA, INDICES.astype(np.int64), IDS, np.int32(7)),
            (DATA, INDICES[:0], IDS[:0], np.int32(2)),
        ],
        faults=[
            Fault((DATA, INDICES, IDS, np.int32(3)), r"rows in \[0, 3\)"),
            Fault((DATA[:2], INDICES, IDS, np.int32(5)), r"rows in \[0, 2\)"),
        ],
        rtol=1e-5,
    )


ROWS = [
    _sorted("SegmentSum", ops.segment_sum, lambda rows: rows.sum(0)),
    _sorted("SegmentMean", ops.segment_mean, _mean),
    _sorted("SegmentMin", ops.segment_min, _smallest),
    _sorted("SegmentMax", ops.segment_max, _largest),
    _sorted(
        "SegmentProd", ops.segment_prod, lambda rows: np.multiply.reduce(rows, 0), 1, smooth=[*SMOOTH, (ZEROS, IDS)]
    ),
    _unsorted("UnsortedSegmentMin", ops.unsorted_segment_min, _smallest, _highest),
    _unsorted("UnsortedSegmentMax", ops.unsorted_segment_max, _largest, _lowest),
    _unsorted(
        "UnsortedSegmentProd", ops.unsorted_segment_prod, lambda rows: np.multiply.reduce(rows, 0), lambda dtype: 1
    ),
    *[_sparse(kind, sparse) for kind in DIVISORS for sparse in (False, True)],
    *[_with_num_segments(kind) for kind in DIVISORS],
    *[_grad(kind) for kind in DIVISORS],
]
