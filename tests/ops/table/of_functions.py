"""Rows of circular and hyperbolic functions and their inverses, of complex numbers, and of rectifiers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import nn, ops
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


# -- complex numbers and their parts ---------------------------------------------------------------

C64 = np.array([[3 - 4j, 0, -1], [2j, complex(np.inf, 1), complex(np.nan, 0)]], np.complex64)
A, B = np.array([[1.5, -2.0], [0.5, 0.7]]), np.array([[-0.3, 0.4], [2.0, 1.0]])


def _part(op: str, build: Callable[..., Any], numpy: Callable[..., Any]) -> list[Row]:
    """The op by itself, and with a gradient that goes through complex numbers."""
    inputs = [(C64,), (np.zeros([0, 2], np.complex128),), (np.complex64(1 - 2j),)]
    return [
        Row(f"{op}-alone", build, numpy).on(inputs, rtol=1e-5),
        Row(
            f"{op}-of-parts",
            lambda a, b: build(ops.complex(a, b) * ops.complex(b, a + b)),
            lambda a, b: numpy((a + 1j * b) * (b + 1j * (a + b))),
        ).on([(A, B)], [(A, B), (A[0], B)], rtol=1e-5),
    ]


def _joined(a: Any, b: Any) -> Any:
    return (a + 1j * np.asarray(b)).astype({4: np.complex64, 8: np.complex128}[a.dtype.itemsize])


PARTS = [
    Row("Complex", ops.complex, _joined).on(
        [
            (A, B),
            (np.array([[1], [2]], np.float32), np.array([3, 4, 5], np.float32)),
            (np.zeros([0], np.float32), np.float32(1)),
            (np.float32(1), np.float32(-2)),
        ]
    ),
    Row(
        "Complex-and-back",
        lambda a, b: ops.abs(ops.complex(a, b)) * ops.real(ops.exp(ops.complex(b, a))),
        lambda a, b: abs(a + 1j * b) * np.exp(b + 1j * a).real,
    ).on([(A, B)], [(A, B), (A, B[1]), (A[0], B)], rtol=1e-5),
    *_part("Real", ops.real, np.real),
    *_part("Imag", ops.imag, np.imag),
    *_part("Angle", ops.angle, np.angle),
    *_part("ComplexAbs", ops.abs, np.abs),
]


# -- further activation functions and of what computes their gradients -----------------------------

NUMBERS = np.array([-2.5, -1.0, 0.0, 0.5, 2.0, np.nan, np.inf, -np.inf], np.float32)
GRADS = np.array([1, 2, -3, 4, 5, 6, 7, 8], np.float32)
SMOOTH = np.array([[-2.5, -0.7], [0.4, 1.3]])
INPUTS = [NUMBERS, EMPTY, np.float32(-0.5), np.array([-1, 2], np.float64)]
PAIRS = [(GRADS, NUMBERS), (EMPTY, EMPTY), (np.float64(2), np.float64(-0.5))]
SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772


def _of(x: Any, value: Any) -> Any:
    return np.asarray(value, np.asarray(x).dtype)


def _selu(x: Any) -> Any:
    return _of(x, SCALE * np.where(x < 0, ALPHA * np.expm1(np.minimum(x, 0)), x))


def _selu_grad(gradients: Any, outputs: Any) -> Any:
    return _of(gradients, gradients * np.where(outputs < 0, outputs + SCALE * ALPHA, SCALE))


def _leaky_relu(x: Any) -> Any:
    return _of(x, np.where(x > 0, x, 0.25 * x))


def _leaky_relu_grad(gradients: Any, x: Any) -> Any:
    return _of(gradients, gradients * np.where(x > 0, 1, 0.25))


RECTIFIED = [
    Row("Selu", nn.selu, _selu).on(INPUTS, [SMOOTH], rtol=1e-5),
    Row("SeluGrad", {}, _selu_grad).on(PAIRS, [(SMOOTH.T, SMOOTH)], rtol=1e-5),
    Row("LeakyRelu", lambda x: nn.leaky_relu(x, 0.25), _leaky_relu).on(INPUTS, [SMOOTH], rtol=1e-5),
    Row("LeakyReluGrad", {"alpha": 0.25}, _leaky_relu_grad).on(PAIRS, [(SMOOTH.T, SMOOTH)], rtol=1e-5),
    Row("Softsign", nn.softsign, lambda x: x / (1 + np.abs(x))).on(INPUTS, [SMOOTH], rtol=1e-5),
    Row("SoftsignGrad", {}, lambda g, x: g / (1 + np.abs(x)) ** 2).on(PAIRS, rtol=1e-5),
]
