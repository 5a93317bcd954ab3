"""Rows of inverse circular functions, and of hyperbolic functions and their inverses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import ops
from tests.ops.table.row import Row
from tests.ops.table.values import EMPTY

ANY = np.array([-2.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, np.nan, np.inf, -np.inf], np.float32)
COMPLEX = np.array([0.5 + 0.25j, -1.5 - 2j, 2j], np.complex64)
INSIDE = np.array([[-0.8, -0.2], [0.3, 0.7]])
REAL = np.array([[-2.5, -0.2], [0.3, 1.7]])
ABOVE = np.array([1.2, 2.5, 4.0])


def _row(op: str, build: Callable[..., Any], numpy: Callable[..., Any], smooth: Any) -> Row:
    """Of a function that is smooth at ``smooth``."""
    return Row(op, build, numpy).on(
        [ANY, EMPTY, np.float32(0.5), np.float64(-0.25), np.array([0.25, -0.5], np.float16), COMPLEX],
        [smooth, smooth[0]],
        rtol=1e-5,
    )


ROWS = [
    _row("Acos", ops.acos, np.arccos, INSIDE),
    _row("Asin", ops.asin, np.arcsin, INSIDE),
    _row("Atan", ops.atan, np.arctan, REAL),
    _row("Sinh", ops.sinh, np.sinh, REAL),
    _row("Cosh", ops.cosh, np.cosh, REAL),
    _row("Asinh", ops.asinh, np.arcsinh, REAL),
    _row("Acosh", ops.acosh, np.arccosh, ABOVE),
    _row("Atanh", ops.atanh, np.arctanh, INSIDE),
    Row("Atan2", ops.atan2, np.arctan2).on(
        [
            (ANY, ANY[::-1].copy()),
            (np.array([[1], [-1]], np.float32), np.array([2, -2, 0], np.float32)),
            (EMPTY, np.float32(1)),
            (np.float64(-0.0), np.float64(-1)),
        ],
        [(REAL, REAL.T + 1), (REAL, np.array([0.5, -2.0])), (np.array(1.5), REAL)],
        rtol=1e-5,
    ),
]
