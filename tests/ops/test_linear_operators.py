"""Matrices as operators, against the same matrices in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Session, linalg
from tests.rows import refused

M = np.array([[2.0, 5.0, 7.0], [1.0, 3.0, 9.0], [-1.0, 4.0, 4.0]], np.float32)
D = np.array([2.0, -3.0, 4.0], np.float32)
X = np.arange(6, dtype=np.float32).reshape(3, 2)
L = np.array([[1.0, 2.0], [0.5, -1.0]], np.float32)
U = np.array([[1.0], [2.0], [-1.0]], np.float32)
V = np.array([1.0, 2.0, 2.0], np.float32)
CIRCLE = np.array([[4.0, 1, 2], [2, 4, 1], [1, 2, 4]], np.float32)


def full(matrix: Any) -> Any:
    return linalg.LinearOperatorFullMatrix(matrix)


MAKERS: dict[str, tuple[Any, Any]] = {
    "adjoint": (lambda: linalg.LinearOperatorAdjoint(full(M)), M.T),
    "inverse": (lambda: linalg.LinearOperatorInversion(full(M)), np.linalg.inv(M)),
    "product": (lambda: linalg.LinearOperatorComposition([full(M), linalg.LinearOperatorDiag(D)]), M @ np.diag(D)),
    "batch of products": (
        lambda: linalg.LinearOperatorComposition([full(np.stack([M, CIRCLE])), full(M)]),
        np.stack([M @ M, CIRCLE @ M]),
    ),
    "blocks": (
        lambda: linalg.LinearOperatorBlockDiag([full(L), linalg.LinearOperatorDiag(D[:1])]),
        np.block([[L, np.zeros((2, 1), np.float32)], [np.zeros((1, 2), np.float32), D[:1, None]]]),
    ),
    "kronecker": (lambda: linalg.LinearOperatorKronecker([full(D[:1, None]), full(M)]), np.kron(D[:1, None], M)),
    "update": (
        lambda: linalg.LinearOperatorLowRankUpdate(linalg.LinearOperatorDiag(D), U, [2.0], V[:, None]),
        np.diag(D) + 2 * U @ V[None],
    ),
    "mirror": (lambda: linalg.LinearOperatorHouseholder(V), np.eye(3) - 2 * np.outer(V, V) / 9),
    "toeplitz": (lambda: linalg.LinearOperatorToeplitz([4.0, 2, 1], [4.0, 1, 2]), CIRCLE),
    "circulant": (
        lambda: linalg.LinearOperatorCirculant(np.fft.fft(CIRCLE[:, 0]).astype(np.complex64), "float32"),
        CIRCLE,
    ),
    "full": (lambda: linalg.LinearOperatorFullMatrix(M), M),
    "lower": (lambda: linalg.LinearOperatorLowerTriangular(M), np.tril(M)),
    "diagonal": (lambda: linalg.LinearOperatorDiag(D), np.diag(D)),
    "identity": (lambda: linalg.LinearOperatorIdentity(3), np.eye(3, dtype=np.float32)),
    "scaled": (lambda: linalg.LinearOperatorScaledIdentity(3, -2.0), -2 * np.eye(3)),
    "batch": (lambda: linalg.LinearOperatorIdentity(3, batch_shape=[2]), np.stack([np.eye(3)] * 2)),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_an_operator_does_what_its_matrix_does(kind: str) -> None:
    make, matrix = MAKERS[kind]
    flipped = np.swapaxes(matrix, -1, -2)
    found = make()
    assert found.shape.as_list() == list(matrix.shape)
    assert (found.tensor_rank, found.batch_shape.rank) == (matrix.ndim, matrix.ndim - 2)
    assert (found.domain_dimension, found.range_dimension) == (3, 3)
    wanted = {
        found.to_dense(): matrix,
        found.matmul(X): matrix @ X,
        found @ X: matrix @ X,
        found.matmul(X.T, adjoint=True, adjoint_arg=True): flipped @ X,
        found.matvec(X[:, 1]): matrix @ X[:, 1],
        found.solve(X): np.linalg.inv(matrix) @ X,
        found.solvevec(X[:, 1], adjoint=True): np.linalg.inv(flipped) @ X[:, 1],
        found.trace(): np.trace(matrix, axis1=-2, axis2=-1),
        found.diag_part(): np.diagonal(matrix, axis1=-2, axis2=-1),
        found.determinant(): np.linalg.det(matrix),
        found.log_abs_determinant(): np.log(np.abs(np.linalg.det(matrix))),
        found.add_to_tensor(M): matrix + M,
        found.H.to_dense(): flipped,
        found.matmul(found).to_dense(): matrix @ matrix,
        found.shape_tensor(): matrix.shape,
    }
    with Session() as session:
        values = session.run(list(wanted))
    for value, expected in zip(values, wanted.values(), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-4)


def test_what_a_program_knows_of_it_is_kept() -> None:
    known = linalg.LinearOperatorFullMatrix(M, is_non_singular=True, name="m")
    assert (known.is_non_singular, known.is_self_adjoint, known.name) == (True, None, "m")
    assert linalg.LinearOperatorDiag(D).is_square
    assert linalg.LinearOperatorDiag(D).diag.shape.as_list() == [3]


def test_a_kronecker_product_has_a_block_for_each_element_and_zeros_are_zeros() -> None:
    with Session() as session:
        product = linalg.LinearOperatorKronecker([full(L), full(M)])
        nothing = linalg.LinearOperatorZeros(3, 2)
        found = session.run([product.to_dense(), nothing.matmul(X[:2]), nothing.matvec(V, adjoint=True)])
    np.testing.assert_allclose(found[0], np.kron(L, M))
    assert (found[1].tolist(), found[2].tolist()) == ([[0, 0]] * 3, [0, 0])


def test_there_is_no_product_of_nothing() -> None:
    refused(lambda: linalg.LinearOperatorComposition([]), ValueError, "non-empty list of operators")
