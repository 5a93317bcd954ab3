"""Rows of the op types that change colours; by the textbook."""

from __future__ import annotations

import colorsys
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.nodes import make_one
from tests.ops.table.row import Fault, Row

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

ROWS = HUES
