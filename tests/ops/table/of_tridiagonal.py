"""Rows of matrices of three diagonals, against the whole matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import linalg
from tests.ops.table.row import Fault, Row

DRAWN = np.random.default_rng(11)
THREE = DRAWN.normal(size=(2, 3, 5))
RIGHT = DRAWN.normal(size=(2, 5, 2))
TURNS = THREE + 1j * DRAWN.normal(size=THREE.shape)
# The first pivot is 0, so that rows have to be exchanged.
STUCK = np.array([[2.0, 3, 0], [0, 6, 7], [0, 1, 2]])


def _whole(diagonals: Any) -> Any:
    n = diagonals.shape[-1]
    out = np.zeros((*diagonals.shape[:-2], n, n), diagonals.dtype)
    rows = np.arange(n)
    out[..., rows, rows] = diagonals[..., 1, :]
    out[..., rows[:-1], rows[1:]] = diagonals[..., 0, :-1]
    out[..., rows[1:], rows[:-1]] = diagonals[..., 2, 1:]
    return out


def _solved(diagonals: Any, right: Any) -> Any:
    wide = np.result_type(diagonals.dtype, np.float64)
    if not right.size:
        return right
    return np.linalg.solve(_whole(diagonals.astype(wide)), right).astype(right.dtype)


def _multiplied(above: Any, main: Any, below: Any, right: Any) -> Any:
    return (_whole(np.concatenate([above, main, below], -2)) @ right).astype(right.dtype)


def _parts(diagonals: Any) -> tuple[Any, Any, Any]:
    return diagonals[..., :1, :], diagonals[..., 1:2, :], diagonals[..., 2:, :]


PRODUCTS = Row("TridiagonalMatMul", {}, _multiplied).on(
    [
        (*_parts(THREE), RIGHT),
        (*(part.astype(np.float32) for part in _parts(THREE)), RIGHT.astype(np.float32)),
        (*_parts(TURNS), RIGHT * 1j),
        (*_parts(THREE[0, :, :1]), RIGHT[0, :1]),
        (*_parts(THREE[..., :0]), RIGHT[:, :0]),
    ],
    [(*_parts(THREE), RIGHT), (*_parts(THREE[0, :, :1]), RIGHT[0, :1])],
    [
        Fault((*_parts(THREE), RIGHT[:, :3]), "diagonals have", "diagonals have"),
        Fault((*_parts(THREE), RIGHT[0, 0]), "diagonals have", "two axes"),
    ],
    rtol=1e-5,
)

SOLUTIONS = [
    Row(
        f"TridiagonalSolve-{pivoting}",
        lambda x, right, p=pivoting: linalg.tridiagonal_solve(x, right, partial_pivoting=p),
        _solved,
    ).on(
        [
            (THREE, RIGHT),
            (TURNS, RIGHT * 1j),
            (THREE.astype(np.float32) + 4, RIGHT.astype(np.float32)),
            (THREE[0, :, :1], RIGHT[0, :1]),
            (THREE[..., :0], RIGHT[:, :0]),
            (STUCK, RIGHT[0, :3]),
        ][: 6 if pivoting else 5],
        [(THREE, RIGHT), (THREE[0, :, :2], RIGHT[0, :2])],
        [
            Fault((THREE, RIGHT[:, :3]), "diagonals have", "diagonals have"),
            Fault((THREE[:1], RIGHT), "diagonals have", "diagonals have"),
        ],
        rtol=1e-3,
    )
    for pivoting in (True, False)
]

ROWS = [PRODUCTS, *SOLUTIONS]
