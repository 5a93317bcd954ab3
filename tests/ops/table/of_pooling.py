"""Rows of pools, also fractional ones, of dilations, and of their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import nn
from tests.ops.table.row import Fault, Row
from tests.ops.table.sliding import by_channel_last, pooled, steps

RNG = np.random.default_rng(0)


def some(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


def apart(*shape: int) -> Any:
    """Numbers that are far enough from each other for finite differences."""
    return (RNG.permutation(int(np.prod(shape))).reshape(shape) / 7).astype(np.float32)


def top(x: Any) -> Any:
    return pooled(x, [2] * (x.ndim - 2), [2] * (x.ndim - 2), "SAME", np.nanmax)


def mean(x: Any) -> Any:
    return pooled(x, [2] * (x.ndim - 2), [2] * (x.ndim - 2), "SAME", np.mean)


def firsts(x: Any) -> list[tuple[Any, Any]]:
    """(place in the pool's result, place in the images) of each first maximum."""
    n = x.ndim - 2
    _, met = steps(x.shape[1:-1], [2] * n, [2] * n, [1] * n, "SAME")
    best: dict[Any, Any] = {}
    for at, _, place in met:
        for b in range(len(x)):
            for c in range(x.shape[-1]):
                to, come = (b, *at, c), (b, *place, c)
                if to not in best or x[come] > x[best[to]]:
                    best[to] = come
    return list(best.items())


def top_back(x: Any, y: Any, g: Any) -> Any:
    out = np.zeros_like(x)
    for to, come in firsts(x):
        out[come] += g[to]
    return out


def top_back_back(x: Any, y: Any, g: Any) -> Any:
    out = np.zeros_like(y)
    for to, come in firsts(x):
        out[to] = g[come]
    return out


def mean_back(shape: Any, g: Any) -> Any:
    n = len(shape) - 2
    _, met = steps(shape[1:-1], [2] * n, [2] * n, [1] * n, "SAME")
    out: Any = np.zeros(tuple(shape), g.dtype)
    for at, _, place in met:
        count = sum(where == at for where, _, _ in met)
        out[(slice(None), *place)] += g[(slice(None), *at)] / g.dtype.type(count)
    return out


def places(x: Any) -> Any:
    """Where the maxima are, as numbers in the flattened image."""
    y = top(x)
    out = np.zeros(y.shape, np.int64)
    for to, come in firsts(x):
        out[to] = np.ravel_multi_index(come[1:], x.shape[1:])
    return y, out


def placed(x: Any, g: Any, where: Any) -> Any:
    out = np.zeros((len(x), x[0].size), x.dtype)
    for b in range(len(x)):
        np.add.at(out[b], where[b].ravel(), g[b].ravel())
    return out.reshape(x.shape)


def sums(x: Any, f: Any) -> tuple[Any, Any]:
    """The largest sums with a filter, and (place in the result, in the filter, in the images)."""
    counts, met = steps(x.shape[1:-1], f.shape[:2], [1, 1], [1, 2], "SAME")
    out = np.full((len(x), *counts, x.shape[-1]), -np.inf, x.dtype)
    best: dict[Any, Any] = {}
    for at, element, place in met:
        for b in range(len(x)):
            for c in range(x.shape[-1]):
                total = x[(b, *place, c)] + f[(*element, c)]
                if total > out[(b, *at, c)]:
                    out[(b, *at, c)] = total
                    best[(b, *at, c)] = ((*element, c), (b, *place, c))
    return out, best


def sums_to_images(x: Any, f: Any, g: Any) -> Any:
    out = np.zeros_like(x)
    for to, (_, place) in sums(x, f)[1].items():
        out[place] += g[to]
    return out


def sums_to_filter(x: Any, f: Any, g: Any) -> Any:
    out = np.zeros_like(f)
    for to, (element, _) in sums(x, f)[1].items():
        out[element] += g[to]
    return out


FLAT, DEEP = ({"ksize": (1, *[2] * n, 1), "strides": (1, *[2] * n, 1), "padding": "SAME"} for n in (2, 3))
DILATION = {"strides": (1, 1, 1, 1), "rates": (1, 1, 2, 1), "padding": "SAME"}
NAN = np.array([1, np.nan, 2, 3, -np.inf, 4], np.float32).reshape(1, 2, 3, 1)
IMAGES, EMPTY = apart(2, 5, 4, 3), some(0, 5, 4, 3)
VOLUMES = apart(1, 3, 2, 4, 2)
WRONG = Fault((IMAGES, top(IMAGES), some(2, 2, 2, 3)), "the gradient has shape", "input 2")
RANK = Fault(some(4, 4, 3), "rank 4", "rank 4")

ROWS = [
    Row("MaxPool", lambda x: nn.max_pool(x, 2, 2, "SAME"), top).on(
        [IMAGES, EMPTY, NAN, np.arange(12, dtype=np.int32).reshape(1, 3, 4, 1)], [IMAGES], [RANK]
    ),
    Row(
        "MaxPool-paddings",
        lambda x: nn.max_pool(x, [1, 3, 2, 1], [1, 1, 2, 1], [[0, 0], [1, 2], [0, 1], [0, 0]]),
        lambda x: pooled(x, [3, 2], [1, 2], [(1, 2), (0, 1)], np.max),
    ).on([IMAGES, -IMAGES], [apart(1, 3, 4, 2)]),
    Row(
        "MaxPool-channels",
        lambda x: nn.max_pool(x, [1, 1, 1, 2], [1, 1, 1, 2], "SAME"),
        lambda x: x.reshape(*x.shape[:3], -1, 2).max(-1),
    ).on(
        [apart(2, 3, 2, 6)],
        [apart(1, 2, 2, 4)],
        [Fault(some(1, 2, 2, 3), "3 channels are no multiple of a window of 2", "3 channels are no multiple")],
    ),
    Row(
        "MaxPool-NCHW",
        lambda x: nn.max_pool(x, 2, 1, "VALID", "NCHW"),
        by_channel_last(lambda x: pooled(x, [2, 2], [1, 1], "VALID", np.max)),
    ).on(
        [apart(2, 3, 4, 3)],
        [apart(1, 2, 3, 3)],
        [Fault(some(1, 2, 1, 3), "a window of 2 does not fit", "a window of 2")],
    ),
    Row("MaxPoolGrad", FLAT, top_back).on(
        [(IMAGES, top(IMAGES), some(2, 3, 2, 3)), (EMPTY, some(0, 3, 2, 3), some(0, 3, 2, 3))],
        [(IMAGES, top(IMAGES), some(2, 3, 2, 3))],
        [WRONG],
        wrt=[2],
        rtol=1e-5,
    ),
    Row("MaxPoolGradGrad", FLAT, top_back_back).on(
        [(IMAGES, top(IMAGES), some(2, 5, 4, 3))], [(IMAGES, top(IMAGES), some(2, 5, 4, 3))], wrt=[2], rtol=1e-5
    ),
    Row("AvgPool", lambda x: nn.avg_pool(x, 2, 2, "SAME"), mean).on(
        [IMAGES, EMPTY], [some(2, 3, 3, 2)], [RANK], rtol=1e-5
    ),
    Row(
        "AvgPool-NCHW",
        lambda x: nn.avg_pool(x, [3, 2], 1, "SAME", "NCHW"),
        by_channel_last(lambda x: pooled(x, [3, 2], [1, 1], "SAME", np.mean)),
    ).on([apart(2, 3, 4, 3)], [some(1, 2, 3, 3)], rtol=1e-5),
    Row("AvgPoolGrad", FLAT, mean_back).on(
        [(np.array([2, 5, 4, 3], np.int32), some(2, 3, 2, 3))],
        [(np.array([1, 3, 4, 2], np.int32), some(1, 2, 2, 2))],
        [
            Fault(
                (np.array([2, 5, 4, 3], np.int32), some(2, 3, 3, 3)),
                r"the gradient has shape \[2, 3, 2, 3\], got \[2, 3, 3, 3\]",
                early="input 1 has shape",
            )
        ],
        rtol=1e-5,
    ),
    Row("MaxPool3D", lambda x: nn.max_pool3d(x, 2, 2, "SAME"), top).on([VOLUMES, some(0, 3, 2, 4, 2)], [VOLUMES]),
    Row("MaxPool3DGrad", DEEP, top_back).on(
        [(VOLUMES, top(VOLUMES), some(1, 2, 1, 2, 2))],
        [(VOLUMES, top(VOLUMES), some(1, 2, 1, 2, 2))],
        wrt=[2],
        rtol=1e-5,
    ),
    Row("MaxPool3DGradGrad", DEEP, top_back_back).on(
        [(VOLUMES, top(VOLUMES), some(1, 3, 2, 4, 2))],
        [(VOLUMES, top(VOLUMES), some(1, 3, 2, 4, 2))],
        wrt=[2],
        rtol=1e-5,
    ),
    Row("AvgPool3D", lambda x: nn.avg_pool3d(x, 2, 2, "SAME"), mean).on(
        [VOLUMES, some(0, 3, 2, 4, 2)], [some(1, 3, 2, 2, 2)], rtol=1e-5
    ),
    Row("AvgPool3DGrad", DEEP, mean_back).on(
        [(np.array([1, 3, 2, 4, 2], np.int32), some(1, 2, 1, 2, 2))],
        [(np.array([1, 3, 2, 2, 2], np.int32), some(1, 2, 1, 1, 2))],
        rtol=1e-5,
    ),
    Row("MaxPoolWithArgmax", lambda x: nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), places).on(
        [IMAGES, np.zeros([2, 3, 3, 2], np.float32), EMPTY], faults=[RANK]
    ),
    Row(
        "MaxPoolWithArgmax-values",
        lambda x: nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME", include_batch_in_index=True)[0],
        top,
    ).on([IMAGES], [IMAGES]),
    Row("MaxPoolGradWithArgmax", FLAT, placed).on(
        [(IMAGES, some(2, 3, 2, 3), places(IMAGES)[1])],
        faults=[
            Fault((IMAGES, some(2, 3, 2, 3), places(IMAGES)[1] + 60), "places are in"),
            Fault((IMAGES, some(2, 3, 3, 3), places(IMAGES)[1]), "have shape", "input 1"),
        ],
        rtol=1e-5,
    ),
    Row(
        "Dilation2D", lambda x, f: nn.dilation2d(x, f, [1, 1, 1, 1], [1, 1, 2, 1], "SAME"), lambda x, f: sums(x, f)[0]
    ).on(
        [
            (some(2, 4, 5, 2), some(3, 2, 2)),
            (some(0, 4, 5, 2), some(3, 2, 2)),
            (np.arange(4, dtype=np.int32).reshape(1, 2, 2, 1), -np.ones([2, 2, 1], np.int32)),
        ],
        [(apart(1, 3, 4, 2), some(2, 2, 2))],
        [Fault((some(1, 4, 5, 3), some(3, 2, 2)), "images of 3 channels and a filter for 2", "images of 3 channels")],
    ),
    Row("Dilation2DBackpropInput", DILATION, sums_to_images).on(
        [(some(2, 4, 5, 2), some(3, 2, 2), some(2, 4, 5, 2))], rtol=1e-5
    ),
    Row("Dilation2DBackpropFilter", DILATION, sums_to_filter).on(
        [(some(2, 4, 5, 2), some(3, 2, 2), some(2, 4, 5, 2))], rtol=1e-5
    ),
]


# -- pools over regions of different sizes ---------------------------------------------------------

DIVIDED = np.random.default_rng(8).normal(size=(2, 4, 6, 2)).astype(np.float32)
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
        [DIVIDED, DIVIDED.astype(np.float64), (DIVIDED * 99).astype(np.int32), DIVIDED[:0]],
        faults=[Fault(DIVIDED[0], "rank 4", "rank 4"), Fault(DIVIDED[:, :1], "at least 2.0 rows", "is higher")],
        rtol=1e-5,
    )


def _smooth(kind: str, overlapping: bool) -> Row:
    function = getattr(nn, f"fractional_{kind.lower()}_pool")
    return Row(
        f"Fractional{kind}Pool-{overlapping}-smooth",
        lambda x: function(x, HALVES, overlapping=overlapping).output,
        lambda x: _pooled(kind, overlapping)(x)[0],
    ).on([DIVIDED], [DIVIDED], rtol=1e-5)


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
                (DIVIDED, DIVIDED[:, :2, :2], DIVIDED[:, 2:, 2:4], ROWS_OF, COLUMNS_OF),
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

FRACTIONAL = [*(make_row(kind, o) for kind in ("Max", "Avg") for o in (False, True) for make_row in (_drawn, _smooth))]
