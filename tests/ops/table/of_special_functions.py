"""Rows of error functions, gamma functions, incomplete functions and Bessel functions, against scipy.

Where TensorFlow differs from scipy, at poles, the rows say what TensorFlow gives.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession import math, ops, opsets
from tests.ops.table.row import Fault, Row
from tests.ops.table.values import EMPTY

ANY = np.array([-2.5, -1.0, -0.3, 0.0, 0.5, 1.0, 4.0, 30.0, np.nan, np.inf, -np.inf], np.float32)
UNIT = np.array([-1.5, -1.0, -0.5, 0.0, 0.25, 1.0, np.nan], np.float32)
INSIDE = np.array([[-0.8, -0.2], [0.3, 0.7]])
SHARE = np.array([[0.1, 0.4], [0.6, 0.95]])
REAL = np.array([[-2.5, -0.2], [0.3, 1.7]])
ABOVE = np.array([[0.6, 1.4], [2.5, 5.0]])


def _scipy(name: str) -> Any:
    return getattr(importlib.import_module("scipy.special"), name)


def _special(name: str) -> Callable[..., Any]:
    """A function of scipy, in float64 and rounded to the dtype of its argument."""

    def function(*values: Any) -> Any:
        wide = [np.asarray(v, np.float64) for v in values]
        return _scipy(name)(*wide).astype(np.asarray(values[0]).dtype)

    return function


def _unary(op: str, build: Callable[..., Any], numpy: Callable[..., Any], given: Any, smooth: Any) -> Row:
    return Row(op, build, numpy).on(
        [given, EMPTY, given[2], given.astype(np.float64)], [smooth], needs="scipy", rtol=1e-5
    )


def _half(op: str, build: Callable[..., Any], numpy: Callable[..., Any]) -> Row:
    """16-bit floats are computed in float32."""
    return Row(f"{op}-float16", build, numpy).on(
        [np.array([0.25, 0.5], np.float16), np.float16(0.75)], [SHARE], needs="scipy", rtol=1e-3
    )


def _at_poles(function: Callable[..., Any], value: float) -> Callable[..., Any]:
    def fixed(x: Any) -> Any:
        pole = (np.asarray(x) <= 0) & (np.floor(x) == x)
        return np.where(pole, np.asarray(value, np.asarray(x).dtype), function(x))

    return fixed


def _polygamma(a: Any, x: Any) -> Any:
    valid = (np.asarray(a) >= 0) & (np.floor(a) == a)
    order = np.where(valid, a, 1).astype(np.int64)
    found = np.where(valid, _scipy("polygamma")(order, np.asarray(x, np.float64)), np.nan)
    return found.astype(np.asarray(x).dtype)


def _binary(
    op: str,
    build: Callable[..., Any],
    numpy: Callable[..., Any],
    inputs: Sequence[tuple[Any, ...]],
    smooth: Sequence[tuple[Any, ...]],
    wrt: Sequence[int] | None = None,
) -> Row:
    return Row(op, build, numpy).on(
        [*inputs, (EMPTY, np.float32(1)), (np.float64(2), np.float64(1.5))], smooth, wrt=wrt, needs="scipy", rtol=1e-5
    )


def _positive(name: str) -> Callable[..., Any]:
    """A function of scipy, but NaN where a parameter is not above 0."""

    def function(*values: Any) -> Any:
        found = _special(name)(*values)
        valid = np.logical_and.reduce(np.broadcast_arrays(*[v > 0 for v in values[:-1]]))
        return np.where(valid, found, np.asarray(np.nan, found.dtype))

    return function


def _zeta(x: Any, q: Any) -> Any:
    pole = (np.asarray(q) <= 0) & (np.floor(q) == q) & (np.asarray(x) > 1) & (np.asarray(x) % 2 != 0)
    found = _special("zeta")(x, q)
    return np.where(pole, np.asarray(np.nan, found.dtype), found)


def _slope(a: Any, x: Any) -> Any:
    """The derivative of the incomplete gamma function by its parameter, from differences."""
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    step = 1e-4
    function = _special("gammainc")
    near = function(a + step, x) - function(a - step, x)
    far = function(a + 2 * step, x) - function(a - 2 * step, x)
    return ((8 * near - far) / (12 * step)).astype(np.float64)


LARGE = np.array([0.5, 1.0, 3.0, 40.0, 400.0])
PARTS = (np.array([0.5, 2, 3, 1, 0.5], np.float32), np.array([2, 2, 0.5, 1, 3], np.float32))

ROWS = [
    _unary("Erf", ops.erf, _special("erf"), ANY, REAL),
    _unary("Erfc", ops.erfc, _special("erfc"), ANY, REAL),
    _unary("Erfinv", math.erfinv, _special("erfinv"), UNIT, INSIDE),
    _unary("Ndtri", math.ndtri, _special("ndtri"), UNIT, SHARE),
    Row("Ndtri-erfcinv", math.erfcinv, _special("erfcinv")).on(
        [np.array([0.1, 0.5, 1.0, 1.9], np.float64)], [SHARE], needs="scipy", rtol=1e-5
    ),
    _unary("Lgamma", opsets.lgamma, _at_poles(_special("gammaln"), np.inf), ANY[:-1], REAL),
    _unary("Digamma", opsets.digamma, _at_poles(_special("psi"), np.nan), ANY[:-1], REAL),
    _unary("BesselI0", math.bessel_i0, _special("i0"), ANY, REAL),
    _unary("BesselI1", math.bessel_i1, _special("i1"), ANY, REAL),
    _unary("BesselI0e", math.bessel_i0e, _special("i0e"), ANY, REAL),
    _unary("BesselI1e", math.bessel_i1e, _special("i1e"), ANY, REAL),
    _half("Erf", ops.erf, _special("erf")),
    _half("Lgamma", opsets.lgamma, _special("gammaln")),
    _half("BesselI0e", math.bessel_i0e, _special("i0e")),
    Row("Lgamma-lbeta", opsets.lbeta, lambda x: _special("gammaln")(x).sum(-1) - _special("gammaln")(x.sum(-1))).on(
        [ABOVE, np.array([2, 3], np.float64), np.zeros([2, 0])], [ABOVE], needs="scipy", rtol=1e-5
    ),
    _binary(
        "Polygamma",
        opsets.polygamma,
        _polygamma,
        [
            (np.array([0, 1, 2, 3], np.float32), np.array([2, 3, 4.5, -0.5], np.float32)),
            (np.array([[0], [1]], np.float32), np.array([0.5, 2], np.float32)),
            (np.array([2.5, -1], np.float32), np.array([4, 2], np.float32)),
        ],
        [(np.array([0.0, 1.0, 2.0]), np.array([0.7, 1.5, 3.0])), (np.array(1.0), ABOVE)],
        [1],
    ),
    _binary(
        "Zeta",
        opsets.zeta,
        _zeta,
        [
            (np.array([1, 0.5, 2, 3, 3], np.float32), np.array([2, 3, -1, -1.5, -2], np.float32)),
            (np.array([[2], [4]], np.float32), np.array([0.5, 2], np.float32)),
        ],
        [(np.array([1.5, 2.0, 3.0]), np.array([0.7, 1.5, 3.0])), (np.array(2.0), ABOVE)],
        [1],
    ),
    _binary(
        "Igamma",
        opsets.igamma,
        _positive("gammainc"),
        [
            PARTS,
            (np.array([-1, 1, 0], np.float32), np.array([1, -1, 2], np.float32)),
            (np.array([[1], [2]], np.float32), PARTS[1]),
        ],
        [(ABOVE, ABOVE.T + 0.5), (ABOVE, np.array(1.5)), (np.array(2.0), ABOVE)],
    ),
    _binary(
        "Igammac",
        opsets.igammac,
        _positive("gammaincc"),
        [
            PARTS,
            (np.array([-1, 1, 0], np.float32), np.array([1, -1, 2], np.float32)),
            (np.array([[1], [2]], np.float32), PARTS[1]),
        ],
        [(ABOVE, ABOVE.T + 0.5), (ABOVE, np.array(1.5)), (np.array(2.0), ABOVE)],
    ),
    Row("IgammaGradA", {}, _slope).on(
        [
            (LARGE, LARGE),
            (LARGE[:, None], np.array([0.1, 2.0, 45.0, 430.0, 5000.0])),
            (np.zeros([0]), np.float64(1)),
            (np.float64(2), np.float64(3)),
        ],
        needs="scipy",
        rtol=1e-8,
    ),
    Row("Betainc", opsets.betainc, _positive("betainc")).on(
        [
            (PARTS[0], PARTS[1], np.array([0.1, 0.5, 0, 1, 0.9], np.float32)),
            (np.float32(2), np.float32(3), np.array([0.1, 1.5], np.float32)),
            (np.float64(2), np.float64(3), np.float64(0.25)),
            (np.zeros([0]), np.float64(3), np.zeros([0])),
        ],
        [(ABOVE, ABOVE.T, SHARE), (np.array(2.0), np.array(0.7), SHARE), (ABOVE, ABOVE.T, np.array(0.4))],
        [Fault((np.array([1, 2], np.float32), np.array([1], np.float32), np.float32(0.5)), "one shape", "one shape")],
        wrt=[2],
        needs="scipy",
        rtol=1e-5,
    ),
]
