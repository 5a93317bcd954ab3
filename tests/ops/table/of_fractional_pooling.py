"""Rows of pools over regions of different sizes; where they are drawn, the ratio leaves no choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import nn
from tests.ops.table.row import Fault, Row

IMAGES = np.random.default_rng(8).normal(size=(2, 4, 6, 2)).astype(np.float32)
HALVES = [1.0, 2.0, 3.0, 1.0]
ROWS_OF, COLUMNS_OF = np.array([0, 2, 4], np.int64), np.array([0, 3, 6], np.int64)
BY_HAND = np.array([[0, 0, 1, 1], [5, 5, 2, 0], [5, 1, 1, 3]], np.float32).reshape(1, 3, 4, 1)
FLOW = np.array([[1, 2], [3, 4]], np.float32).reshape(1, 2, 2, 1)
SPLIT, HALVED = np.array([0, 1, 3], np.int64), np.array([0, 2, 4], np.int64)


def _regions(x: Any, rows: Any, columns: Any, overlapping: bool) -> Any:
    """The numbers of each region."""
    for i, j in np.ndindex(len(rows) - 1, len(columns) - 1):
        bottom, right = rows[i + 1] + overlapping, columns[j + 1] + overlapping
        yield i, j, x[:, rows[i] : bottom, columns[j] : right]


def _pooled(kind: str, overlapping: bool) -> Any:
    def numpy(x: Any) -> list[Any]:
        out = np.zeros((len(x), 2, 2, x.shape[3]), x.dtype)
        for i, j, block in _regions(x, ROWS_OF, COLUMNS_OF, overlapping):
            found = block.max((1, 2)) if kind == "Max" else np.trunc(block.mean((1, 2)))
            if kind == "Avg" and x.dtype.kind == "f":
                found = block.mean((1, 2))
            out[:, i, j] = found
        return [out, ROWS_OF, COLUMNS_OF]

    return numpy


def _drawn(kind: str, overlapping: bool) -> Row:
    function = getattr(nn, f"fractional_{kind.lower()}_pool")
    return Row(
        f"Fractional{kind}Pool-{overlapping}",
        lambda x: list(function(x, HALVES, overlapping=overlapping)),
        _pooled(kind, overlapping),
    ).on(
        [IMAGES, IMAGES.astype(np.float64), (IMAGES * 99).astype(np.int32), IMAGES[:0]],
        faults=[Fault(IMAGES[0], "rank 4", "rank 4"), Fault(IMAGES[:, :1], "at least 2.0 rows", "is higher")],
        rtol=1e-5,
    )


def _smooth(kind: str, overlapping: bool) -> Row:
    function = getattr(nn, f"fractional_{kind.lower()}_pool")
    return Row(
        f"Fractional{kind}Pool-{overlapping}-smooth",
        lambda x: function(x, HALVES, overlapping=overlapping).output,
        lambda x: _pooled(kind, overlapping)(x)[0],
    ).on([IMAGES], [IMAGES], rtol=1e-5)


def _largest_back(overlapping: bool) -> Any:
    def numpy(x: Any, pooled: Any, grad: Any, rows: Any, columns: Any) -> Any:
        out = np.zeros_like(x)
        for i, j, block in _regions(x, rows, columns, overlapping):
            for b, c in np.ndindex(len(x), x.shape[3]):
                row, column = np.unravel_index(block[b, ..., c].argmax(), block.shape[1:3])
                out[b, rows[i] + row, columns[j] + column, c] += grad[b, i, j, c]
        return out

    return numpy


def _means_back(overlapping: bool) -> Any:
    def numpy(size: Any, grad: Any, rows: Any, columns: Any) -> Any:
        out = np.zeros(size)
        for i, j, block in _regions(out, rows, columns, overlapping):
            block += grad[:, i : i + 1, j : j + 1] / (block.shape[1] * block.shape[2])
        return out.astype(grad.dtype)

    return numpy


SHAPE = np.array(BY_HAND.shape, np.int64)
BACK = [
    row
    for overlapping in (False, True)
    for row in (
        Row(f"FractionalMaxPoolGrad-{overlapping}", {"overlapping": overlapping}, _largest_back(overlapping)).on(
            [
                (BY_HAND, FLOW, FLOW, SPLIT, HALVED),
                (IMAGES, IMAGES[:, :2, :2], IMAGES[:, 2:, 2:4], ROWS_OF, COLUMNS_OF),
            ],
            faults=[
                Fault((BY_HAND, FLOW, FLOW, SPLIT + 1, HALVED), "regions go from 0"),
                Fault((BY_HAND, FLOW, FLOW[:, :1], SPLIT, HALVED), "regions go from 0"),
            ],
        ),
        Row(f"FractionalAvgPoolGrad-{overlapping}", {"overlapping": overlapping}, _means_back(overlapping)).on(
            [(SHAPE, FLOW, SPLIT, HALVED), (SHAPE, FLOW.astype(np.float64), SPLIT, HALVED)],
            faults=[
                Fault((SHAPE, FLOW, SPLIT[::-1].copy(), HALVED), "regions go from 0"),
                Fault((SHAPE[:3], FLOW, SPLIT, HALVED), "regions go from 0"),
            ],
            rtol=1e-5,
        ),
    )
]

ROWS = [*(make_row(kind, o) for kind in ("Max", "Avg") for o in (False, True) for make_row in (_drawn, _smooth)), *BACK]
