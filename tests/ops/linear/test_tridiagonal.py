"""Matrices of three diagonals, in each of their forms; values of the op types are in the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import constant, linalg
from actorsession.errors import UnimplementedError
from tests.ops.interpreter import evaluate
from tests.rows import for_each

DRAWN = np.random.default_rng(12)
MATRIX = np.triu(np.tril(DRAWN.normal(size=(2, 5, 5)), 1), -1)
RIGHT = DRAWN.normal(size=(2, 5, 2))
ABOVE, MAIN, BELOW = (np.diagonal(MATRIX, k, 1, 2) for k in (1, 0, -1))
LONG = (np.pad(ABOVE, [(0, 0), (0, 1)]), MAIN, np.pad(BELOW, [(0, 0), (1, 0)]))
FORMS: list[tuple[Any, str]] = [
    (np.stack(LONG, 1), "compact"),
    (LONG, "sequence"),
    ((ABOVE, MAIN, BELOW), "sequence"),
    (MATRIX, "matrix"),
]


@for_each("diagonals, form", FORMS)
def test_diagonals_have_three_forms(diagonals: Any, form: str) -> None:
    product = linalg.tridiagonal_matmul(diagonals, RIGHT, form)
    solution = linalg.tridiagonal_solve(diagonals, RIGHT, form)
    found = evaluate([product, solution])
    np.testing.assert_allclose(found[0], MATRIX @ RIGHT, 1e-9)
    np.testing.assert_allclose(found[1], np.linalg.solve(MATRIX, RIGHT), 1e-6)


def test_right_sides_may_be_one_or_transposed_or_conjugated() -> None:
    compact = FORMS[0][0]
    one = linalg.tridiagonal_solve(compact, RIGHT[..., 0])
    turned = linalg.tridiagonal_solve(compact, RIGHT.swapaxes(1, 2), transpose_rhs=True)
    mirrored = linalg.tridiagonal_solve(compact + 0j, RIGHT * 1j, conjugate_rhs=True)
    both = linalg.tridiagonal_solve(compact + 0j, RIGHT.swapaxes(1, 2) * 1j, transpose_rhs=True, conjugate_rhs=True)
    wanted = np.linalg.solve(MATRIX, RIGHT)
    found = evaluate([one, turned, mirrored, both])
    for value, want in zip(found, [wanted[..., 0], wanted, -1j * wanted, -1j * wanted], strict=True):
        np.testing.assert_allclose(value, want, 1e-6)


def test_matrices_without_an_inverse_have_no_solution() -> None:
    [found] = evaluate([linalg.tridiagonal_solve(0 * FORMS[0][0], RIGHT)])
    assert np.isnan(found).all()
    with pytest.raises(UnimplementedError, match="not changed here"):
        linalg.tridiagonal_solve(FORMS[0][0], RIGHT, perturb_singular=True)
    with pytest.raises(ValueError, match="partial_pivoting must be True"):
        linalg.tridiagonal_solve(FORMS[0][0], RIGHT, partial_pivoting=False, perturb_singular=True)


@for_each(
    "diagonals, form, message",
    [
        (MATRIX, "square", "Unrecognized diagonals_format: square"),
        (LONG[:2], "sequence", "sequence of length 3"),
        (MATRIX, "compact", "Expected 3 diagonals got 5"),
        ((ABOVE[:, :2], MAIN, BELOW), "sequence", "that length or one less"),
    ],
)
def test_diagonals_that_do_not_fit_are_refused(diagonals: Any, form: str, message: str) -> None:
    for function in (linalg.tridiagonal_solve, linalg.tridiagonal_matmul):
        with pytest.raises(ValueError, match=message):
            function(diagonals, RIGHT, form)


def test_right_sides_have_the_rank_of_the_diagonals_or_one_less() -> None:
    with pytest.raises(ValueError, match="rank of rhs to be 2 or 3, got 1"):
        linalg.tridiagonal_solve(FORMS[0][0], RIGHT[0, :, 0])


def test_numbers_are_real_or_complex_of_full_precision() -> None:
    with pytest.raises(TypeError, match="float32, float64, complex64, complex128"):
        linalg.tridiagonal_solve(constant(FORMS[0][0], np.float16), constant(RIGHT, np.float16))
