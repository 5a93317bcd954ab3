"""Rows of linear algebra: solutions, factors, determinants, and singular and eigenvalues.

Factors are no unique answer, so their rows say what they multiply to and which angles they have.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

import actorsession as acts
from actorsession import matmul, ones_like
from tests.ops.table.row import Fault, Row

__all__ = ["ANY", "DEFINITE", "NOT_SQUARE", "OBLONGS", "VECTOR", "matrices"]

RNG = np.random.default_rng(5)


def matrices(*shape: int, dtype: Any = np.float64) -> Any:
    """Random matrices of a dtype."""
    made = RNG.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * RNG.normal(size=shape)
    return made.astype(dtype)


def _turned(x: Any) -> Any:
    return np.conjugate(np.swapaxes(x, -1, -2))


def _definite(x: Any) -> Any:
    """A self-adjoint positive definite matrix."""
    return (x @ _turned(x) + np.eye(x.shape[-1])).astype(x.dtype)


SQUARES = [
    (matrices(3, 3),),
    (matrices(2, 3, 3, dtype=np.float32),),
    (matrices(2, 2, 2, 2, dtype=np.complex128),),
    (matrices(1, 1),),
    (np.zeros((0, 3, 3)),),
    (np.zeros((2, 0, 0), np.float32),),
]
OBLONGS = [*SQUARES[:5], matrices(2, 4, 2), matrices(2, 2, 5, dtype=np.float32)]
HALF = (np.array([[2.0, 1.0], [1.0, 4.0]], np.float16),)
DEFINITE = [_definite(x) for (x,) in SQUARES]
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
NOT_SQUARE = Fault(np.ones((2, 3)), "square matrices", "2 rows and 3 columns")
VECTOR = Fault(np.ones(2), "takes (square )?matrices", "batches of them")
FIT = "of as many rows"
ANY = 1e-4

# -- solutions -------------------------------------------------------------------------------------

INVERSES = [
    Row(
        f"MatrixInverse-{'adjoint' if turn else 'plain'}",
        lambda x, turn=turn: acts.linalg.inv(x, adjoint=turn),
        lambda x, turn=turn: np.linalg.inv(_turned(x) if turn else x).astype(x.dtype),
    ).on(
        SQUARES,
        [matrices(3, 3), matrices(2, 2, 2)],
        [Fault(np.zeros((2, 2)), "that are invertible"), NOT_SQUARE, VECTOR],
        rtol=ANY,
    )
    for turn in (False, True)
]
INVERSE_OF_HALVES = Row(
    "MatrixInverse-halves", acts.linalg.inv, lambda x: np.linalg.inv(x.astype(np.float32)).astype(x.dtype)
).on([HALF])

SYSTEMS = [
    (matrices(3, 3), matrices(3, 2)),
    (matrices(2, 3, 3, dtype=np.float32), matrices(2, 3, 1, dtype=np.float32)),
    (matrices(2, 2, dtype=np.complex128), matrices(2, 2, dtype=np.complex128)),
    (matrices(2, 2), np.zeros((2, 0))),
    (np.zeros((0, 2, 2)), np.zeros((0, 2, 1))),
    (np.zeros((0, 0)), np.zeros((0, 2))),
]
SOLUTIONS = [
    Row(
        f"MatrixSolve-{'adjoint' if turn else 'plain'}",
        lambda a, b, turn=turn: acts.linalg.solve(a, b, adjoint=turn),
        lambda a, b, turn=turn: np.linalg.solve(_turned(a) if turn else a, b),
    ).on(
        SYSTEMS,
        [(matrices(3, 3), matrices(3, 2)), (matrices(2, 2, 2), matrices(2, 2, 1))],
        [
            Fault((SINGULAR, np.ones((2, 1))), "not invertible"),
            Fault((np.ones((2, 3)), np.ones((2, 1))), "square", "3 columns"),
            Fault((np.eye(2), np.ones((3, 1))), FIT, FIT),
            Fault((np.eye(2), np.ones(2)), FIT, "batches of them"),
            Fault((np.eye(2)[None], np.ones((3, 2, 1))), "batches of one shape", "cannot match the batches"),
        ],
        rtol=ANY,
    )
    for turn in (False, True)
]


def _triangle(x: Any, lower: bool) -> Any:
    return np.tril(x) if lower else np.triu(x)


def _steep(*shape: int, dtype: Any = np.float64) -> Any:
    """Matrices whose triangles are far from singular."""
    return (matrices(*shape, dtype=dtype) + 3 * np.eye(shape[-1])).astype(dtype)


TRIANGLES = [
    (_steep(3, 3), matrices(3, 2)),
    (_steep(2, 3, 3, dtype=np.float32), matrices(2, 3, 1, dtype=np.float32)),
    (_steep(2, 2, dtype=np.complex128), matrices(2, 2, dtype=np.complex128)),
    (_steep(40, 40) + 20 * np.eye(40), matrices(40, 3)),
    (_steep(2, 3, 3), matrices(3, 2)),
    (_steep(3, 3), matrices(2, 3, 2)),
    (_steep(2, 1, 3, 3), matrices(4, 3, 2)),
    (np.zeros((0, 2, 2)), np.zeros((0, 2, 1))),
    (np.zeros((0, 0)), np.zeros((0, 2))),
]
TRIANGULAR = [
    Row(
        f"MatrixTriangularSolve-{'lower' if lower else 'upper'}_{'adjoint' if turn else 'plain'}",
        lambda a, b, lower=lower, turn=turn: acts.linalg.triangular_solve(a, b, lower, turn),
        lambda a, b, lower=lower, turn=turn: np.linalg.solve(
            _turned(_triangle(a, lower)) if turn else _triangle(a, lower), b
        ),
    ).on(
        TRIANGLES,
        [(_steep(3, 3), matrices(3, 2)), (_steep(2, 2, 2), matrices(2, 1)), (_steep(1, 2, 2), matrices(3, 2, 1))],
        [
            Fault((np.ones((2, 3)), np.ones((2, 1))), "square", "3 columns"),
            Fault((np.eye(2), np.ones((3, 1))), FIT, FIT),
            Fault((np.ones((2, 2, 2)), np.ones((3, 2, 1))), FIT, "cannot match the batches"),
        ],
        rtol=ANY,
    )
    for lower in (True, False)
    for turn in (False, True)
]

# -- factors ---------------------------------------------------------------------------------------


def _about_definite(x: Any) -> Any:
    """A positive definite tensor made of any square one."""
    return matmul(x, x, adjoint_b=True) + acts.linalg.diag(ones_like(acts.linalg.diag_part(x)))


CHOLESKY = Row("Cholesky", acts.linalg.cholesky, lambda x: np.linalg.cholesky(x).astype(x.dtype)).on(
    [*DEFINITE, np.array([[4.0, np.nan], [2.0, 5.0]])], faults=[NOT_SQUARE, VECTOR], rtol=ANY
)
CHOLESKY_SMOOTH = Row(
    "Cholesky-of_products",
    lambda x: acts.linalg.cholesky(_about_definite(x)),
    lambda x: np.linalg.cholesky(x @ _turned(x) + np.eye(x.shape[-1])),
).on([], [matrices(3, 3), matrices(2, 2, 2)])


def _qr_parts(x: Any, full: bool) -> Any:
    q, r = acts.linalg.qr(x, full)
    return [matmul(q, r), matmul(q, q, adjoint_a=True), r - acts.linalg.band_part(r, 0, -1)]


def _qr_wanted(x: Any, full: bool) -> Any:
    batch, (rows, columns) = x.shape[:-2], x.shape[-2:]
    inner = rows if full else min(rows, columns)
    unit = np.broadcast_to(np.eye(inner, dtype=x.dtype), (*batch, inner, inner))
    return [x, unit, np.zeros((*batch, inner, columns), x.dtype)]


QR = [
    Row(
        f"Qr-{'full' if full else 'reduced'}",
        lambda x, full=full: _qr_parts(x, full),
        lambda x, full=full: _qr_wanted(x, full),
    ).on(OBLONGS, faults=[VECTOR], rtol=ANY)
    for full in (False, True)
]
QR_SMOOTH = [
    Row(f"Qr-{label}", lambda x, full=full: list(acts.linalg.qr(x, full))).on([], smooth)
    for label, full, smooth in [
        ("reduced_gradient", False, [(matrices(4, 3),), (matrices(2, 2, 4),), (matrices(3, 3),)]),
        ("full_gradient", True, [(matrices(2, 3),), (matrices(2, 3, 3),)]),
    ]
]


def _lu_parts(x: Any) -> Any:
    both, order = acts.linalg.lu(x)
    upper = acts.linalg.band_part(both, 0, -1)
    lower = acts.linalg.set_diag(both - upper, ones_like(acts.linalg.diag_part(both)))
    return [matmul(lower, upper), order]


def _lu_wanted(x: Any) -> Any:
    scipy_linalg = importlib.import_module("scipy.linalg")
    order = np.zeros(x.shape[:-1], np.int32)
    rows = np.zeros_like(x)
    for place in np.ndindex(x.shape[:-2]):
        if x.shape[-1]:
            where = scipy_linalg.lu(x[place], p_indices=True)[0]
            order[place] = np.argsort(where)
            rows[place] = x[place][order[place]]
    return [rows, order]


LU = Row("Lu", _lu_parts, _lu_wanted).on(
    SQUARES,
    faults=[
        Fault(SINGULAR, "that are invertible"),
        Fault(np.full((2, 2), np.nan), "that are invertible"),
        NOT_SQUARE,
        VECTOR,
    ],
    needs="scipy",
    rtol=ANY,
)
LU_SMOOTH = Row("Lu-gradient", lambda x: acts.linalg.lu(x).lu).on([], [matrices(3, 3), matrices(2, 2, 2)])

# -- determinants ----------------------------------------------------------------------------------

DETERMINANT = Row("MatrixDeterminant", acts.linalg.det, lambda x: np.asarray(np.linalg.det(x), x.dtype)).on(
    [*SQUARES, np.zeros((2, 2)), np.full((2, 2), np.nan)],
    [matrices(3, 3), matrices(2, 2, 2)],
    [NOT_SQUARE, VECTOR],
    rtol=ANY,
)
LOG_DETERMINANT = Row(
    "LogMatrixDeterminant",
    lambda x: list(acts.linalg.slogdet(x)),
    lambda x: [np.asarray(part, x.dtype) for part in np.linalg.slogdet(x)],
).on([*SQUARES, np.zeros((2, 2))], [matrices(3, 3), matrices(2, 2, 2)], [NOT_SQUARE, VECTOR], rtol=ANY)
