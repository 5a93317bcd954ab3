"""Rows of complex numbers and their parts; gradients are taken by the parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import ops
from tests.ops.table.row import Row

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


ROWS = [
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
