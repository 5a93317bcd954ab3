"""Rows of singular values and vectors, and of eigenvalues and vectors of self-adjoint matrices.

Vectors are no unique answer, so their rows say what they multiply to and which angles they have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import actorsession as acts
from actorsession import expand_dims, linalg, matmul
from tests.nodes import make
from tests.ops.table.of_linear_algebra import ANY, DEFINITE, NOT_SQUARE, OBLONGS, VECTOR, matrices
from tests.ops.table.row import Fault, Row


def _eigen_parts(x: Any) -> Any:
    e, v = acts.linalg.eigh(x)
    return [e, matmul(v * expand_dims(e, -2), v, adjoint_b=True), matmul(v, v, adjoint_a=True)]


def _eigen_wanted(x: Any) -> Any:
    unit = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    return [np.linalg.eigvalsh(x).astype(x.dtype), x, unit]


EIGEN = Row("SelfAdjointEigV2", _eigen_parts, _eigen_wanted).on(DEFINITE, faults=[NOT_SQUARE, VECTOR], rtol=ANY)
EIGEN_SMOOTH = Row("SelfAdjointEigV2-gradient", lambda x: list(acts.linalg.eigh(x))).on(
    [], [matrices(3, 3), matrices(2, 2, 2)]
)
EIGENVALUES = Row(
    "SelfAdjointEigV2-values",
    {"compute_v": False},
    lambda x: [np.linalg.eigvalsh(x).astype(x.dtype), np.empty(0, x.dtype)],
).on(DEFINITE, rtol=ANY)
EIGENVALUES_SMOOTH = Row("SelfAdjointEigV2-values_gradient", {"compute_v": False}).on([], [matrices(3, 3)])


def _svd_parts(x: Any, full: bool) -> Any:
    s, u, v = make("Svd", [x], {"compute_uv": True, "full_matrices": full}).outputs
    angles = [matmul(u, u, adjoint_a=True), matmul(v, v, adjoint_a=True)]
    if full:
        return [s, *angles]
    return [s, *angles, matmul(u * expand_dims(s, -2), v, adjoint_b=True)]


def _svd_wanted(x: Any, full: bool) -> Any:
    batch, (rows, columns) = x.shape[:-2], x.shape[-2:]
    least = min(rows, columns)
    counts = (rows, columns) if full else (least, least)
    units = [np.broadcast_to(np.eye(n, dtype=x.dtype), (*batch, n, n)) for n in counts]
    s = np.linalg.svd(x, compute_uv=False).astype(x.dtype)
    return [s, *units] if full else [s, *units, x]


def _svd_values(x: Any) -> Any:
    return list(make("Svd", [x], {"compute_uv": False}).outputs)


SVD = [
    Row(
        f"Svd-{'full' if full else 'reduced'}",
        lambda x, full=full: _svd_parts(x, full),
        lambda x, full=full: _svd_wanted(x, full),
    ).on(OBLONGS, faults=[VECTOR], rtol=ANY)
    for full in (False, True)
]
SVD_VALUES = Row(
    "Svd-values",
    _svd_values,
    lambda x: [np.linalg.svd(x, compute_uv=False).astype(x.dtype), np.empty(0, x.dtype), np.empty(0, x.dtype)],
).on(OBLONGS, rtol=ANY)
BROKEN = np.stack([np.full((2, 2), np.nan), np.diag([3.0, 2.0]), np.full((2, 2), np.inf)])
SVD_BROKEN = Row(
    "Svd-not_finite",
    lambda x: acts.linalg.svd(x)[0],
    lambda x: np.array([[np.nan, np.nan], [3.0, 2.0], [np.nan, np.nan]]),
).on([BROKEN], rtol=1e-5)
SVD_SMOOTH = [
    Row(f"Svd-{label}", build).on([], [matrices(3, 3), matrices(2, 4, 2), matrices(2, 3)])
    for label, build in [
        ("vectors_gradient", lambda x: list(acts.linalg.svd(x))),
        ("values_gradient", lambda x: acts.linalg.svd(x, compute_uv=False)),
        ("only_values_gradient", lambda x: acts.linalg.svd(x)[0]),
        ("full_values_gradient", lambda x: acts.linalg.svd(x, full_matrices=True)[0]),
    ]
]


# -- matrices of three diagonals -------------------------------------------------------------------

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
