"""Rows of the op types that cut and mark parts of images, and change colours: crops, glimpses, drawn boxes."""

from __future__ import annotations

import colorsys
from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import cast, image
from tests.nodes import make_one
from tests.ops.table.row import Fault, Row

RNG = np.random.default_rng(3)
IMAGES = RNG.normal(size=(2, 4, 5, 2)).astype(np.float32)
# A box whose pixels are in the middle between two of a picture of 5 columns.
HALVES = np.array([[0.0, 0.125, 1.0, 0.625]], np.float32)
BOXES = np.array([[0.1, 0.15, 0.8, 0.9], [0.9, 0.2, 0.15, 0.7], [-0.3, 0.4, 0.55, 1.4]], np.float32)
WHICH = np.array([1, 0, 1], np.int32)
SIZE = np.array([3, 4], np.int32)


def _place(first: float, last: float, old: int, new: int, step: int) -> float:
    """Where a pixel of a crop looks."""
    if new == 1:
        return 0.5 * (first + last) * (old - 1)
    return first * (old - 1) + step * (last - first) * (old - 1) / (new - 1)


def _seen(picture: Any, y: float, x: float, nearest: bool, beyond: float) -> Any:
    height, width = picture.shape[:2]
    if not (0 <= y <= height - 1 and 0 <= x <= width - 1):
        return beyond
    if nearest:
        return picture[int(np.floor(y + 0.5)), int(np.floor(x + 0.5))]
    top, left = int(np.floor(y)), int(np.floor(x))
    bottom, right = int(np.ceil(y)), int(np.ceil(x))
    above = picture[top, left] * (1 - x + left) + picture[top, right] * (x - left)
    below = picture[bottom, left] * (1 - x + left) + picture[bottom, right] * (x - left)
    return above * (1 - y + top) + below * (y - top)


def _cropped(images: Any, boxes: Any, which: Any, size: Any, nearest: bool = False, beyond: float = 0) -> Any:
    """One pixel after another, in float64."""
    rows, columns = size
    out = np.zeros((len(boxes), rows, columns, images.shape[3]))
    for n, (y1, x1, y2, x2) in enumerate(boxes.astype(np.float64).tolist()):
        picture = images[which[n]].astype(np.float64)
        for i, j in np.ndindex(rows, columns):
            y = _place(y1, y2, picture.shape[0], rows, i)
            x = _place(x1, x2, picture.shape[1], columns, j)
            out[n, i, j] = _seen(picture, y, x, nearest, beyond)
    return out


def _crops(nearest: bool = False, beyond: float = 0) -> Callable[..., Any]:
    def numpy(images: Any, boxes: Any, which: Any, size: Any) -> Any:
        return _cropped(images, boxes, which, size, nearest, beyond).astype(np.float32)

    return numpy


def _back_to_image(nearest: bool) -> Callable[..., Any]:
    """What each pixel changes of the weighted sum of all crops, tried one by one."""

    def numpy(grads: Any, boxes: Any, which: Any, size: Any) -> Any:
        out = np.zeros(size)
        for place in np.ndindex(*size.tolist()):
            one = np.zeros(size)
            one[place] = 1
            out[place] = (grads * _cropped(one, boxes, which, grads.shape[1:3], nearest)).sum()
        return out.astype(np.float32)

    return numpy


def _back_to_boxes(grads: Any, images: Any, boxes: Any, which: Any) -> Any:
    """By central differences."""
    wide = boxes.astype(np.float64)
    out = np.zeros(boxes.shape)
    for place in np.ndindex(*boxes.shape):
        moved = np.zeros(boxes.shape)
        moved[place] = 1e-6
        above, below = (
            (grads * _cropped(images, wide + sign * moved, which, grads.shape[1:3])).sum() for sign in (1, -1)
        )
        out[place] = (above - below) / 2e-6
    return out.astype(np.float32)


REFUSED = [
    Fault((IMAGES[0], BOXES, WHICH, SIZE), "rank 4", "rank 4"),
    Fault((IMAGES, BOXES[:, :3], WHICH, SIZE), "shape", "shape"),
    Fault((IMAGES, BOXES, WHICH[:2], SIZE), "shape", "shape"),
    Fault((IMAGES[:, :0], BOXES, WHICH, SIZE), "pixels"),
    Fault((IMAGES, BOXES, WHICH, 0 * SIZE), "positive", early=""),
]
CROPS = [
    Row(
        f"CropAndResize-{method}",
        lambda x, boxes, which, size, m=method, v=value: image.crop_and_resize(x, boxes, which, size, m, v),
        _crops(method == "nearest", value),
    ).on(
        [
            (IMAGES, BOXES, WHICH, SIZE),
            (IMAGES, BOXES, WHICH, np.array([1, 1], np.int32)),
            (IMAGES, BOXES[:0], WHICH[:0], SIZE),
            (IMAGES[..., :0], BOXES, WHICH, SIZE),
            ((IMAGES * 50).astype(np.int16), BOXES, WHICH, SIZE),
            (np.where(IMAGES > 1, np.nan, IMAGES), BOXES, WHICH, SIZE),
            (IMAGES, HALVES, WHICH[:1], np.array([4, 3], np.int32)),
        ],
        faults=REFUSED,
        rtol=1e-5,
    )
    for method, value in (("bilinear", 0.0), ("nearest", -2.0))
]
# The op computes in float32, so that differences have to be large; boxes far from where places are whole.
CROPS.append(
    Row(
        "CropAndResize-by-image",
        lambda x, boxes: cast(image.crop_and_resize(x, cast(boxes, np.float32), WHICH, SIZE), np.float64),
        lambda x, boxes: _crops()(x, boxes, WHICH, SIZE).astype(np.float64),
    ).on([(IMAGES, BOXES)], [(IMAGES, BOXES)], wrt=[0], step=1.0, rtol=1e-5)
)

GRADS = np.random.default_rng(5).normal(size=(3, 3, 4, 2)).astype(np.float32)
SHAPE = np.array(IMAGES.shape, np.int32)
CROPS += [
    Row(
        f"CropAndResizeGradImage-{method}", {"T": np.float32, "method": method}, _back_to_image(method == "nearest")
    ).on(
        [(GRADS, BOXES, WHICH, SHAPE), (GRADS[:, :1, :1], BOXES, WHICH, SHAPE)],
        faults=[
            Fault((GRADS, BOXES[:, :2], WHICH, SHAPE), "shape", "shape"),
            Fault((GRADS[..., :1], BOXES, WHICH, SHAPE), "last as of the gradient"),
        ],
        rtol=1e-5,
    )
    for method in ("bilinear", "nearest")
]
CROPS.append(
    Row("CropAndResizeGradBoxes", {}, _back_to_boxes).on(
        [
            (GRADS, IMAGES, BOXES, WHICH),
            (GRADS[:, :1, :1], IMAGES, BOXES, WHICH),
            (GRADS[:0], IMAGES, BOXES[:0], WHICH[:0]),
        ],
        faults=[
            Fault((GRADS[:2], IMAGES, BOXES, WHICH), "the boxes and channels"),
            Fault((GRADS, IMAGES[0], BOXES, WHICH), "rank 4", "rank 4"),
        ],
        rtol=1e-4,
    )
)


def _marked(*inputs: Any) -> Any:
    """What TensorFlow 2.21 makes of one box on a picture without colours."""
    images, out = inputs[0], inputs[0].copy()
    height, width = images.shape[1:3]
    colours = inputs[2] if len(inputs) > 2 else np.array([[1, 1, 0], [0, 0, 1]], np.float32)
    for b, n in np.ndindex(*inputs[1].shape[:2]):
        scaled = inputs[1][b, n] * np.array([height - 1, width - 1] * 2, np.float32)
        top, left, bottom, right = (int(v) for v in scaled)
        for i, j in np.ndindex(height, width):
            inside = top <= i <= bottom and left <= j <= right
            if inside and (i in (top, bottom) or j in (left, right)):
                out[b, i, j] = colours[n % len(colours)][: images.shape[3]]
    return out


PICTURES = np.full((2, 5, 7, 3), 0.25, np.float32)
MARKS = np.array([[[0, 0, 1, 1], [0.3, 0.4, 0.8, 2]], [[-1, 0.2, 0.5, 0.9], [0.9, 0.1, 0.2, 0.5]]], np.float32)
DRAWN_FAULTS = [
    Fault((PICTURES[..., :2], MARKS), "channels", "channels"),
    Fault((PICTURES[0], MARKS), "rank 4", "rank 4"),
    Fault((PICTURES, MARKS[:1]), "boxes", "boxes"),
    Fault((PICTURES, MARKS[0]), "boxes", "boxes"),
]
DRAWN = [
    Row("DrawBoundingBoxes", image.draw_bounding_boxes, _marked).on(
        [
            (PICTURES, MARKS),
            (PICTURES.astype(np.float16), MARKS),
            (PICTURES, MARKS[:, :0]),
            (PICTURES[:, :, :0], MARKS),
            (PICTURES, MARKS + 5),
        ],
        faults=DRAWN_FAULTS,
    ),
    Row(
        "DrawBoundingBoxesV2", lambda x, boxes, colours: image.draw_bounding_boxes(x, boxes, colors=colours), _marked
    ).on(
        [(PICTURES[..., :c], MARKS, np.array([[0.5, 1, 2], [3, 4, 5]], np.float32)) for c in (1, 3)],
        faults=[
            Fault((PICTURES, MARKS, MARKS[0, :, :2]), "colours"),
            Fault((PICTURES, MARKS, MARKS[0, 0]), "rank 2", "rank 2"),
        ],
    ),
]


def _glimpse(centered: bool, normalized: bool, *rows: list[list[float]]) -> Row:
    """What TensorFlow 2.21 shows of a picture of 0 to 29, beyond which there is nothing."""
    attrs = {**NO_NOISE, "centered": centered, "normalized": normalized}
    offsets = np.array([[0, 0], [0.3, -0.2], [1, 1], [2, 3], [-0.9, 0.5]], np.float32)
    pictures = np.tile(np.arange(30, dtype=np.float32).reshape(1, 5, 6, 1), (len(rows), 1, 1, 1))
    size = np.array([2, 3], np.int32)
    return Row(
        f"ExtractGlimpse-centered-{centered}-normalized-{normalized}",
        attrs,
        lambda *_: np.array(rows, np.float32)[..., np.newaxis],
    ).on(
        [(pictures, size, offsets[: len(rows)])],
        faults=[
            Fault((pictures[0], size, offsets[:1]), "rank 4", "rank 4"),
            Fault((pictures, size, offsets[:1]), "offsets", "offsets"),
            Fault((pictures, -size, offsets), "at least 0", early="size"),
        ],
    )


NO_NOISE = {"noise": "zero", "uniform_noise": False}
OFFSETS = np.array([[0.25, 0.1], [-1.3, 2.2], [0.3, -0.2]], np.float32)
NONE = [0.0, 0.0, 0.0]
GLIMPSES = [
    _glimpse(
        True,
        True,
        [[7, 8, 9], [13, 14, 15]],
        [[12, 13, 14], [18, 19, 20]],
        [[28, 29, 0], NONE],
        [NONE, NONE],
        [[3, 4, 5], [9, 10, 11]],
    ),
    _glimpse(
        True,
        False,
        [[7, 8, 9], [13, 14, 15]],
        [[7, 8, 9], [13, 14, 15]],
        [[14, 15, 16], [20, 21, 22]],
        [[15, 16, 17], [21, 22, 23]],
        [[7, 8, 9], [13, 14, 15]],
    ),
    _glimpse(False, True, [NONE, [0, 0, 1]], [NONE, [0, 0, 6]], [[28, 29, 0], NONE], [NONE, NONE]),
    _glimpse(
        False, False, [NONE, [0, 0, 1]], [[0, 0, 1], [0, 6, 7]], [[0, 1, 2], [6, 7, 8]], [[7, 8, 9], [13, 14, 15]]
    ),
]


def _shown(centered: bool, normalized: bool) -> Callable[..., Any]:
    """Pixel by pixel, in the second version of the op."""

    def numpy(pictures: Any, size: Any, offsets: Any) -> Any:
        out, extent = np.zeros((len(pictures), *size, 1), np.float32), np.array(pictures.shape[1:3])
        first = offsets * extent if normalized else offsets
        if centered:
            first = (first + extent - size) / 2 if normalized else first + extent / 2
        for n, i, j in np.ndindex(out.shape[:3]):
            y, x = np.trunc(first[n]).astype(int) + np.array([i, j])
            if 0 <= y < extent[0] and 0 <= x < extent[1]:
                out[n, i, j] = pictures[n, y, x]
        return out

    return numpy


SECOND = [
    Row(f"ExtractGlimpseV2-centered-{c}-normalized-{n}", {**NO_NOISE, "centered": c, "normalized": n}, _shown(c, n)).on(
        [(RNG.normal(size=(3, 6, 7, 1)).astype(np.float32), np.array([3, 4], np.int32), OFFSETS)]
    )
    for c in (True, False)
    for n in (True, False)
]


# -- the op types that change colours --------------------------------------------------------------

COLOURS = np.array(
    [[[0.2, 0.5, 0.9], [0, 0, 0], [1, 1, 1]], [[0.9, 0.1, 0.1], [0.3, 0.9, 0.2], [0.4, 0.4, 0.1]]], np.float32
)


def _each(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of three numbers, along the last axis."""

    def numpy(x: Any, *by: Any) -> Any:
        wide = np.asarray(x, np.float64).reshape(-1, 3)
        out = np.array([function(*row, *map(float, by)) for row in wide]).reshape(x.shape)
        return out.astype(x.dtype)

    return numpy


def _turned(r: float, g: float, b: float, delta: float) -> Any:
    hue, saturation, value = colorsys.rgb_to_hsv(r, g, b)
    return colorsys.hsv_to_rgb((hue + delta) % 1, saturation, value)


def _saturated(r: float, g: float, b: float, factor: float) -> Any:
    hue, saturation, value = colorsys.rgb_to_hsv(r, g, b)
    return colorsys.hsv_to_rgb(hue, min(1.0, saturation * factor), value)


def _contrasted(x: Any, factor: Any) -> Any:
    middle = x.mean((-3, -2), keepdims=True, dtype=np.float64) if x.size else 0
    return ((x - middle) * factor + middle).astype(x.dtype)


def _coloured(op: str, numpy: Any, least: int, *by: float) -> Row:
    inputs = [COLOURS, COLOURS.astype(np.float64), COLOURS[None], COLOURS[:0], COLOURS.astype(np.float16)]
    numbers = tuple(np.float32(b) for b in by)
    faults = []
    if op != "AdjustContrastv2":
        faults.append(Fault((COLOURS[..., :2], *numbers), "colours", "colours"))
    if least == 3:
        faults.append(Fault((COLOURS[0], *numbers), "rank 3", "rank 3"))
        faults.append(Fault((COLOURS, np.ones([2], np.float32)), "scalar", "scalar"))
    return Row(f"{op}-{'-'.join(map(str, by))}", lambda *xs: make_one(op, list(xs)), numpy).on(
        [(x, *numbers) for x in inputs] + ([(COLOURS[0],)] if least == 1 else []), faults=faults, rtol=2e-3
    )


HUES = [
    _coloured("RGBToHSV", _each(colorsys.rgb_to_hsv), 1),
    _coloured("HSVToRGB", _each(colorsys.hsv_to_rgb), 1),
    _coloured("AdjustHue", _each(_turned), 3, 0.2),
    _coloured("AdjustHue", _each(_turned), 3, -0.7),
    _coloured("AdjustSaturation", _each(_saturated), 3, 1.7),
    _coloured("AdjustSaturation", _each(_saturated), 3, 0.5),
    _coloured("AdjustContrastv2", _contrasted, 3, 1.7),
]
