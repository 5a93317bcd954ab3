"""Rows of the op types that resize images, and their gradients; sizes as TensorFlow 2.21 gave them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.table.row import Fault, Row

PIXELS = np.array([0, 1, 2.5, 4, 6, 8, 10.5, 12.5, 15, 17.5, 20, 22.5], np.float32)
PIXELS = PIXELS.reshape(1, 3, 4, 1)
WAYS = {"plain": {}, "corners": {"align_corners": True}, "half": {"half_pixel_centers": True}}
# By operation type, way and size: what TensorFlow makes of the pixels.
RESIZED: dict[tuple[str, str, tuple[int, int]], list[float]] = {
    ("ResizeBilinear", "plain", (5, 6)): [
        0.0, 0.66667, 1.5, 2.5, 3.5, 4.0, 3.6, 4.66667, 5.9, 7.3, 8.5, 9.1, 7.8, 9.2, 10.73333,
        12.4, 13.8, 14.5, 13.2, 14.8, 16.43333, 18.1, 19.7, 20.5, 15.0, 16.66667, 18.33333, 20.0,
        21.66667, 22.5,
    ],
    ("ResizeBilinear", "plain", (2, 3)): [0.0, 1.5, 3.5, 10.5, 13.58333, 16.75],
    ("ResizeBilinear", "plain", (1, 1)): [0.0],
    ("ResizeBilinear", "corners", (5, 6)): [
        0.0, 0.6, 1.3, 2.2, 3.1, 4.0, 3.0, 3.9, 4.9, 6.1, 7.2, 8.25, 6.0, 7.2, 8.5, 10.0, 11.3,
        12.5, 10.5, 11.85, 13.25, 14.75, 16.15, 17.5, 15.0, 16.5, 18.0, 19.5, 21.0, 22.5,
    ],
    ("ResizeBilinear", "corners", (2, 3)): [0.0, 1.75, 4.0, 15.0, 18.75, 22.5],
    ("ResizeBilinear", "corners", (1, 1)): [0.0],
    ("ResizeBilinear", "half", (5, 6)): [
        0.0, 0.5, 1.25, 2.25, 3.25, 4.0, 2.4, 3.1, 4.11667, 5.38333, 6.55, 7.4, 6.0, 7.0, 8.41667,
        10.08333, 11.5, 12.5, 11.4, 12.55, 14.11667, 15.78333, 17.35, 18.5, 15.0, 16.25, 17.91667,
        19.58333, 21.25, 22.5,
    ],
    ("ResizeBilinear", "half", (2, 3)): [1.70833, 3.625, 5.85417, 13.14583, 16.375, 19.60417],
    ("ResizeBilinear", "half", (1, 1)): [9.25],
    ("ResizeNearestNeighbor", "plain", (5, 6)): [
        0.0, 0.0, 1.0, 2.5, 2.5, 4.0, 0.0, 0.0, 1.0, 2.5, 2.5, 4.0, 6.0, 6.0, 8.0, 10.5, 10.5,
        12.5, 6.0, 6.0, 8.0, 10.5, 10.5, 12.5, 15.0, 15.0, 17.5, 20.0, 20.0, 22.5,
    ],
    ("ResizeNearestNeighbor", "plain", (2, 3)): [0.0, 1.0, 2.5, 6.0, 8.0, 10.5],
    ("ResizeNearestNeighbor", "plain", (1, 1)): [0.0],
    ("ResizeNearestNeighbor", "corners", (5, 6)): [
        0.0, 1.0, 1.0, 2.5, 2.5, 4.0, 6.0, 8.0, 8.0, 10.5, 10.5, 12.5, 6.0, 8.0, 8.0, 10.5, 10.5,
        12.5, 15.0, 17.5, 17.5, 20.0, 20.0, 22.5, 15.0, 17.5, 17.5, 20.0, 20.0, 22.5,
    ],
    ("ResizeNearestNeighbor", "corners", (2, 3)): [0.0, 2.5, 4.0, 15.0, 20.0, 22.5],
    ("ResizeNearestNeighbor", "corners", (1, 1)): [0.0],
    ("ResizeNearestNeighbor", "half", (5, 6)): [
        0.0, 1.0, 1.0, 2.5, 4.0, 4.0, 0.0, 1.0, 1.0, 2.5, 4.0, 4.0, 6.0, 8.0, 8.0, 10.5, 12.5,
        12.5, 15.0, 17.5, 17.5, 20.0, 22.5, 22.5, 15.0, 17.5, 17.5, 20.0, 22.5, 22.5,
    ],
    ("ResizeNearestNeighbor", "half", (2, 3)): [0.0, 2.5, 4.0, 15.0, 20.0, 22.5],
    ("ResizeNearestNeighbor", "half", (1, 1)): [10.5],
    ("ResizeBicubic", "plain", (5, 6)): [
        0.0, 0.51887, 1.49959, 2.5, 3.61152, 4.16667, 2.69772, 3.53088, 4.99519, 6.36687, 7.68493,
        8.31331, 8.16202, 9.37088, 11.28671, 12.94221, 14.55062, 15.31568, 13.55851, 14.94799,
        16.92436, 18.51849, 20.3202, 21.21174, 15.97168, 17.44476, 19.45392, 21.02567, 22.9152,
        23.86342,
    ],
    ("ResizeBicubic", "plain", (2, 3)): [0.0, 1.49959, 3.61152, 11.0625, 14.35489, 17.71848],
    ("ResizeBicubic", "plain", (1, 1)): [0.0],
    ("ResizeBicubic", "corners", (5, 6)): [
        0.0, 0.44962, 1.32428, 2.11568, 3.2446, 4.0, 2.15625, 2.829, 4.06039, 5.12834, 6.48686,
        7.3125, 6.0, 6.95322, 8.58449, 9.91551, 11.54678, 12.5, 11.0625, 12.21583, 14.03314,
        15.37874, 17.17222, 18.29688, 15.0, 16.259, 18.1205, 19.3795, 21.241, 22.5,
    ],
    ("ResizeBicubic", "corners", (2, 3)): [0.0, 1.70312, 4.0, 15.0, 18.75, 22.5],
    ("ResizeBicubic", "corners", (1, 1)): [0.0],
    ("ResizeBicubic", "half", (5, 6)): [
        -0.51407, -0.1019, 0.67979, 1.64992, 2.75371, 3.45438, 1.61612, 2.22009, 3.31362, 4.57992,
        5.86776, 6.64576, 5.86822, 6.79412, 8.39432, 10.10568, 11.70588, 12.63178, 11.95212,
        13.07346, 14.89456, 16.60676, 18.41443, 19.52374, 15.51252, 16.72692, 18.63672, 20.29826,
        22.20807, 23.42246,
    ],
    ("ResizeBicubic", "half", (2, 3)): [1.05751, 2.94001, 5.23205, 13.67249, 17.112, 20.54043],
    ("ResizeBicubic", "half", (1, 1)): [9.25],
    ("ResizeArea", "plain", (5, 6)): [
        0.0, 0.5, 1.0, 2.5, 3.25, 4.0, 2.0, 2.66667, 3.33333, 5.16667, 6.0, 6.83333, 6.0, 7.0, 8.0,
        10.5, 11.5, 12.5, 12.0, 13.16667, 14.33333, 16.83334, 18.0, 19.16666, 15.0, 16.25,
        17.49999, 20.0, 21.25, 22.49999,
    ],
    ("ResizeArea", "plain", (2, 3)): [2.33333, 4.25, 6.41667, 12.58333, 15.58333, 18.58333],
    ("ResizeArea", "plain", (1, 1)): [9.95833],
    ("ResizeArea", "corners", (5, 6)): [
        0.0, 0.33333, 1.0, 2.0, 2.5, 4.0, 0.0, 0.33333, 1.0, 2.0, 2.5, 4.0, 6.0, 6.66667, 8.0,
        9.66667, 10.5, 12.5, 6.0, 6.66667, 8.0, 9.66667, 10.5, 12.5, 15.0, 15.83333, 17.5,
        19.16667, 20.0, 22.5,
    ],
    ("ResizeArea", "corners", (2, 3)): [3.5, 5.83333, 8.25, 15.83333, 19.16667, 22.5],
    ("ResizeArea", "corners", (1, 1)): [9.95833],
}  # fmt: skip
SIZE = np.array([2, 3], np.int32)


def _made(op: str, size: tuple[int, int], values: list[float]) -> Row:
    height, width = size

    def numpy(x: Any, _size: Any) -> Any:
        out = np.array(values, np.float32).reshape(1, height, width, 1)
        many = np.concatenate([out, 2 * out], 3) if x.shape[3] == 2 else out
        return np.concatenate([many] * x.shape[0]) if x.shape[0] else many[:0]

    two = np.concatenate([PIXELS, 2 * PIXELS], 3)
    return Row(f"{op}-{way_of[id(values)]}-{height}x{width}", WAYS[way_of[id(values)]], numpy).on(
        [(given, np.array(size, np.int32)) for given in (PIXELS, two, np.concatenate([two, two]), PIXELS[:0])],
        rtol=2e-5,
    )


way_of = {id(values): way for (_, way, _), values in RESIZED.items()}
MADE = [_made(op, size, values) for (op, _, size), values in RESIZED.items()]


def _same(way: str) -> Callable[..., Any]:
    """What is resized to its own size stays as it is."""

    def numpy(x: Any, _size: Any) -> Any:
        return x.astype(np.float32)

    return numpy


REFUSED = [
    Fault((PIXELS, np.array([0, 2], np.int32)), "positive", early=""),
    Fault((PIXELS[0], SIZE), "rank 4", "rank 4"),
    Fault((PIXELS[:, :0], SIZE), "pixels", "pixels"),
]
OWN_SIZE = [
    (PIXELS.astype(dtype), np.array([3, 4], np.int32)) for dtype in (np.uint8, np.int32, np.float64, np.float16)
]
# Linear, and float32 inside: where it is 0, differences are as exact as they can be.
SMOOTH = [(0 * PIXELS, np.array(size, np.int32)) for size in ((2, 3), (5, 6), (1, 1), (3, 4))]


def _row(op: str, way: str, dtype_stays: bool = False) -> Row:
    none = op == "ResizeArea"
    return Row(f"{op}-{way}-same", WAYS[way], (lambda x, _size: x) if dtype_stays else _same(way)).on(
        [*OWN_SIZE, (np.where(PIXELS > 20, np.nan, PIXELS), OWN_SIZE[0][1])],
        () if none else SMOOTH,
        REFUSED,
        step=1.0,
        rtol=0 if dtype_stays else 1e-4,
    )


SAME = [
    *[_row(op, way) for op in ("ResizeBilinear", "ResizeBicubic") for way in WAYS],
    *[_row("ResizeNearestNeighbor", way, True) for way in WAYS],
    _row("ResizeArea", "plain"),
]


def _back(kind: str, grad: Any, shape: Any, **attrs: Any) -> Any:
    """A gradient by pixels: what each of them alone is resized to, weighted."""
    from actorsession.opsets.images import resampling

    taps = getattr(resampling, f"{kind}_taps")
    axes = [(shape[0], grad.shape[1]), (shape[1], grad.shape[2])]
    dense = []
    for old, new in axes:
        made = taps(old, new, attrs.get("align_corners", False), attrs.get("half_pixel_centers", False))
        matrix = np.zeros([new, old])
        for i in range(new):
            for place, weight in zip(made.places[i], made.weights[i], strict=True):
                matrix[i, place] += weight
        dense.append(matrix)
    return np.einsum("yh,nyxc,xw->nhwc", dense[0], grad, dense[1])


GRADS = np.arange(12, dtype=np.float32).reshape(1, 2, 3, 2)
BACK = [
    *[
        Row(
            f"Resize{kind.capitalize()}Grad-{way}",
            WAYS[way],
            lambda g, x, kind=kind, way=way: _back(kind, g, x.shape[1:3], **WAYS[way]).astype(x.dtype),
        ).on(
            [(GRADS, np.zeros([1, 5, 4, 2], dtype)) for dtype in (np.float32, np.float64)],
            faults=[Fault((GRADS[0], GRADS), "rank 4", "rank 4")],
            rtol=1e-5,
        )
        for kind in ("bilinear", "bicubic")
        for way in WAYS
    ],
    *[
        Row(
            f"ResizeNearestNeighborGrad-{way}",
            WAYS[way],
            lambda g, size, way=way: _back("nearest", g, size, **WAYS[way]).astype(g.dtype),
        ).on(
            [(GRADS, np.array([5, 4], np.int32)), (GRADS.astype(np.float64), SIZE)],
            faults=[Fault((GRADS, np.array([0, 2], np.int32)), "positive", early="")],
        )
        for way in WAYS
    ],
]
