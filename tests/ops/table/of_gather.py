"""Rows of what is taken from places and put to places by index."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import ops
from tests.ops.table.row import Fault, Row
from tests.ops.table.values import BRAIN, COMPLEX, EMPTY, WORDS, M, X, ints, longs

WHOLE = np.array([[1, -2], [3, 4]], np.int8)
NUMBERS = [M, WHOLE, COMPLEX, BRAIN]
KINDS = [*NUMBERS, np.array([[True, False], [False, True]]), WORDS]
SMOOTH = np.array([[0.5, 1.5, -1.0], [2.0, 3.0, 0.25]])
CUBE = np.linspace(-1, 2, 12).reshape(2, 3, 2)


NO_ROWS = np.zeros([0], np.int32)


# -- GatherV2 --------------------------------------------------------------------------------------


def _taken(params: Any, indices: Any, axis: Any) -> Any:
    return np.asarray(np.take(params, indices, int(axis)))


def _in_batch(params: Any, indices: Any, axis: Any, batch: int) -> Any:
    """Each entry of the batch by itself."""
    if not batch:
        return np.take(params, indices, int(axis))
    if not len(params):
        return np.zeros([0, *indices.shape[1:]], params.dtype)
    parts = [_in_batch(p, i, int(axis) - 1, batch - 1) for p, i in zip(params, indices, strict=True)]
    return np.stack(parts)


OUTSIDE = "is not in"
GATHERS = [
    Row("GatherV2", lambda params, indices, axis: ops.gather(params, indices, axis=axis), _taken).on(
        [
            (X, ints(1, 0, 1), np.int32(0)),
            (X, longs([1, 0], [2, 2]), np.int32(1)),
            (X, np.int32(1), np.int32(-1)),
            (X.transpose(2, 0, 1), ints(3, 0), np.int64(0)),
            (X, NO_ROWS, np.int32(1)),
            (EMPTY, NO_ROWS, np.int32(0)),
            *((x, ints(1, 0, 1), np.int32(1)) for x in KINDS),
        ],
        [
            (SMOOTH, ints(1, 0, 1), np.int32(0)),
            (SMOOTH, longs([1, 0], [1, 1]), np.int32(0)),
            (SMOOTH, longs([2, 0], [2, 2]), np.int32(1)),
            (SMOOTH, np.int32(1), np.int32(-1)),
        ],
        [
            Fault((X, ints(0, 2), np.int32(0)), r"indices\[1\] = 2 is not in \[0, 2\)"),
            Fault((X, ints([0, -1]), np.int32(1)), r"indices\[0, 1\] = -1 " + OUTSIDE),
            Fault((X, longs(-1), np.int32(1)), OUTSIDE),
            Fault((EMPTY, ints(0), np.int32(0)), r"not in \[0, 0\)"),
            Fault((X, ints(0), np.int32(3)), "axis 3 is not in", early=""),
            Fault((np.float32(1.0), ints(0), np.int32(0)), "axis 0 is not in", early=""),
        ],
    ),
    *(
        Row(
            f"GatherV2-batch_{batch}",
            lambda params, indices, axis, batch=batch: ops.gather(params, indices, axis=axis, batch_dims=batch),
            lambda params, indices, axis, batch=batch: _in_batch(params, indices, axis, batch),
        ).on(inputs, smooth, faults)
        for batch, inputs, smooth, faults in (
            (
                1,
                [
                    (X, ints([1, 0], [2, 2]), np.int32(1)),
                    (X, ints([1, 0], [3, 2]), np.int32(2)),
                    (X, ints([[1], [0]], [[0], [0]]), np.int32(1)),
                    (X, ints(2, 0), np.int32(1)),
                    (EMPTY, np.zeros([0, 2], np.int32), np.int32(1)),
                ],
                [(CUBE, ints([1, 0], [2, 2]), np.int32(1)), (CUBE, ints([1], [0]), np.int32(2))],
                [
                    Fault((X, ints([1, 0], [3, 0]), np.int32(1)), r"indices\[1, 0\] = 3 " + OUTSIDE),
                    Fault((X, ints([1], [0], [0]), np.int32(1)), "share so many dimensions", early="Shapes"),
                    Fault((X, ints([1], [0]), np.int32(0)), "at most axis 0", early=""),
                ],
            ),
            (
                2,
                [(X, ints([[1], [0], [2]], [[3], [3], [0]]), np.int32(2))],
                [(CUBE, ints([1, 0, 0], [0, 0, 1]), np.int32(2))],
                [Fault((X, ints([1], [0]), np.int32(1)), "at most axis 1", early="")],
            ),
        )
    ),
]


# -- GatherNd --------------------------------------------------------------------------------------


def _taken_nd(params: Any, indices: Any) -> Any:
    return np.asarray(
        params[tuple(np.moveaxis(indices, -1, 0))]
        if indices.shape[-1]
        else (np.broadcast_to(params, (*indices.shape[:-1], *params.shape)))
    )


NO_INDEX = "does not index into shape"
GATHERS_ND = [
    Row("GatherNd", ops.gather_nd, _taken_nd).on(
        [
            (X, ints([0, 1, 2], [1, 2, 3])),
            (X, longs([1, 2])),
            (X, ints([[0], [1]], [[1], [1]])),
            (X, ints(1, 2)),
            (X, np.zeros([2, 0], np.int32)),
            (X, np.zeros([0, 2], np.int32)),
            *((x, ints([0, 1], [1, 1])) for x in KINDS),
        ],
        [(SMOOTH, ints([0, 1], [1, 2], [0, 1])), (SMOOTH, longs([1], [1])), (CUBE, ints([[0, 1]]))],
        [
            Fault((X, ints([0, 0], [0, 3])), r"indices\[1\] = \[0, 3\] does not .* \[2, 3, 4\]"),
            Fault((X, ints([-1, 0])), NO_INDEX),
            Fault((EMPTY, ints([0])), NO_INDEX),
            Fault((X, ints([0, 0, 0, 0])), "too many", "too many"),
            Fault((X, np.int32(0)), "rank at least 1", "rank at least 1"),
        ],
    ),
    Row(
        "GatherNd-batch",
        lambda x: ops.gather_nd(x, [[[0], [2]], [[1], [1]]], batch_dims=1),
        lambda x: np.stack([x[0][[0, 2]], x[1][[1, 1]]]),
    ).on([X, X[:, :, 0], X.astype(np.int32)], [CUBE], [Fault(X[:, :2], NO_INDEX)]),
    Row(
        "GatherNd-batch_of_two_axes",
        lambda x: ops.gather_nd(x, longs([[1], [0]], [[1], [1]]), batch_dims=2),
        lambda x: np.stack([np.stack([x[0, 0, 1], x[0, 1, 0]]), np.stack([x[1, 0, 1], x[1, 1, 1]])]),
    ).on([X[:, :2], X[:, :2, :, None]], [CUBE[:, :2]]),
]


# -- ScatterNd, UnsortedSegmentSum -----------------------------------------------------------------


def _put(indices: Any, updates: Any, shape: Any) -> Any:
    out = np.zeros(shape, updates.dtype)
    if updates.size:
        np.add.at(out, tuple(np.moveaxis(indices, -1, 0)), updates)
    return out


def _sums(data: Any, ids: Any, count: Any) -> Any:
    out = np.zeros((int(count), *data.shape[np.ndim(ids) :]), data.dtype)
    for place in np.ndindex(np.shape(ids)):
        if ids[place] >= 0:
            out[ids[place]] += data[place]
    return out


WIDE = np.linspace(-1, 1, 2400, dtype=np.float32).reshape(4, 600)
PUTS = [
    Row("ScatterNd", ops.scatter_nd, _put).on(
        [
            (ints([0, 1], [1, 2], [0, 1]), np.array([1, 2, 4], np.float32), ints(2, 3)),
            (longs([2], [0]), X[:, 0], longs(3, 4)),
            (ints([[0], [1]], [[1], [1]]), X[:, :2], ints(2, 4)),
            (ints([2], [2], [0], [1]), WIDE, ints(3, 600)),
            (np.zeros([0, 1], np.int32), np.zeros([0, 2], np.float32), ints(3, 2)),
            *((ints([2], [2]), x, ints(4, 2)) for x in NUMBERS),
        ],
        [(ints([2], [0]), SMOOTH, ints(3, 3)), (ints([0, 1], [1, 2], [0, 1]), SMOOTH[0], ints(2, 3))],
        [
            Fault((ints([3]), SMOOTH[0, :1], ints(3)), NO_INDEX),
            Fault((ints([-1]), SMOOTH[0, :1], ints(3)), NO_INDEX),
            Fault((ints([0]), SMOOTH[0, :2], ints(3)), "need updates of shape", early=""),
            Fault((ints([1]), SMOOTH[0, :1], ints(-3)), "at least 0", early="shape"),
            Fault((ints([1]), SMOOTH[0, :1], np.int32(3)), "a vector", "rank 1"),
            Fault((ints([0]), SMOOTH[0, :1], ints(0)), NO_INDEX),
            Fault((np.int32(1), SMOOTH[0], ints(3)), "rank at least 1", "rank at least 1"),
        ],
    ),
    Row("UnsortedSegmentSum", ops.unsorted_segment_sum, _sums).on(
        [
            (X, ints(1, -1), np.int32(2)),
            (X, ints([0, 1, 0], [1, 1, -1]), np.int32(3)),
            (X, np.int32(1), np.int64(2)),
            (WIDE, longs(1, 1, 0, 1), np.int32(2)),
            (EMPTY, NO_ROWS, np.int32(2)),
            (X, ints(-1, -1), np.int32(0)),
            *((x, ints(1, 1), np.int32(2)) for x in NUMBERS),
        ],
        [(SMOOTH, ints(1, 1), np.int32(3)), (SMOOTH, ints([0, 1, -1], [1, 1, 0]), np.int32(2))],
        [
            Fault((X, ints(1, 2), np.int32(2)), "segment id 2 is not below 2"),
            Fault((X, ints(0, 1, 1), np.int32(2)), "ids of shape", "begins that"),
            Fault((X, ints(0, 0), np.int32(-1)), "-1 segments", early="Dimension -1 must be >= 0"),
            Fault((X, ints(0, 1), ints(2)), "is a scalar", "rank 0"),
        ],
    ),
]


# -- OneHot ----------------------------------------------------------------------------------------


def _one_hot(axis: int) -> Any:
    def made(indices: Any, depth: Any, on: Any, off: Any) -> Any:
        wide = np.asarray(indices).astype(np.int64)
        hit = wide[..., None] == np.arange(int(depth))
        return np.moveaxis(np.where(hit, on, off).astype(np.asarray(on).dtype), -1, axis)

    return made


FIVE, LESS = np.float32(5.0), np.float32(-1.0)
ONE_HOTS = [
    Row(
        f"OneHot-axis_{axis}",
        lambda indices, depth, on, off, axis=axis: ops.one_hot(indices, depth, on, off, axis),
        _one_hot(axis),
    ).on(
        [
            (ints(0, 2, -1, 5), np.int32(3), FIVE, LESS),
            (longs([0, 1], [2, 0]), np.int32(3), np.int8(1), np.int8(0)),
            (np.array([0, 2, 200], np.uint8), np.int32(3), np.bool_(True), np.bool_(False)),
            (np.array([0, 2, -3], np.int8), np.int32(200), np.complex64(1j), np.complex64(0)),
            (np.int32(1), np.int32(3), BRAIN[0, 0], BRAIN[1, 0]),
            (ints(1), np.int32(0), FIVE, LESS),
            (np.zeros([0, 2], np.int32), np.int32(2), FIVE, LESS),
            (ints(1, 0), np.int32(2), np.array(b"on", object), np.array(b"off", object)),
        ],
        faults=[
            Fault((ints(1), np.int32(-3), FIVE, LESS), "depth is at least 0", early=""),
            Fault((ints(1), ints(2), FIVE, LESS), "depth is a scalar", "rank 0"),
            Fault((ints(1), np.int32(2), np.ones([1], np.float32), LESS), "on_value is a scalar", "rank 0"),
        ],
    )
    for axis in (-1, 0)
]
BETWEEN = Row("OneHot-axis_1", lambda indices, depth, on, off: ops.one_hot(indices, depth, on, off, 1), _one_hot(1)).on(
    [(ints([0, 1], [2, 0]), np.int32(3), FIVE, LESS), (ints(1, 0), np.int32(2), FIVE, LESS)],
    faults=[Fault((np.int32(0), np.int32(2), FIVE, LESS), r"axis is -1 or in \[0, 0\]", "axis 1")],
)
