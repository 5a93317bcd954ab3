"""Uses of the factors that ``lu`` returns: solutions, inverses, and the reconstructed matrix."""

from __future__ import annotations

from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.fills import ones_like
from actorsession.ops.arrays.gather import gather
from actorsession.ops.build import convert_all, convert_to_tensor
from actorsession.ops.linear.diagonals import matrix_band_part
from actorsession.ops.linear.matmul import matmul
from actorsession.ops.linear.matrix_diagonals import matrix_diag, matrix_diag_part, matrix_set_diag
from actorsession.ops.linear.solving import matrix_triangular_solve
from actorsession.ops.reductions.searching import argsort

__all__ = ["lu_matrix_inverse", "lu_reconstruct", "lu_solve"]


def lu_solve(
    lower_upper: Any, perm: Any, rhs: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Return the solution ``x`` of ``matrix @ x = rhs``, from the factors of the matrix.

    Args:
        lower_upper: the factors, as returned by ``lu``.
        perm: the permutation that belongs to the factors, of known rank.
        rhs: right sides, as columns of matrices of the same batch.
        validate_args: accepted for compatibility with TensorFlow; shapes are always checked.
        name: wanted name.

    Raises:
        ValueError: if the rank of ``perm`` is unknown.
    """
    both, right = convert_all([lower_upper, rhs])
    with both.graph.name_scope(name or "lu_solve") as scope:
        rows = _rows(right, convert_to_tensor(perm, graph=both.graph))
        half = matrix_triangular_solve(_lower(both), rows)
        return matrix_triangular_solve(both, half, lower=False, name=scope)


def lu_matrix_inverse(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Return the inverse of a matrix from its factors; arguments as for ``lu_solve``."""
    both = convert_to_tensor(lower_upper)
    with both.graph.name_scope(name or "lu_matrix_inverse"):
        unit = matrix_diag(ones_like(matrix_diag_part(both)))
        return lu_solve(both, perm, unit)


def lu_reconstruct(
    lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Return the matrix with the given factors; arguments as for ``lu_solve``."""
    both = convert_to_tensor(lower_upper)
    with both.graph.name_scope(name or "lu_reconstruct"):
        product = matmul(_lower(both), matrix_band_part(both, 0, -1))
        return _rows(product, argsort(convert_to_tensor(perm, graph=both.graph)))


def _lower(both: Tensor) -> Tensor:
    below = both - matrix_band_part(both, 0, -1)
    return matrix_set_diag(below, ones_like(matrix_diag_part(both)))


def _rows(x: Tensor, order: Tensor) -> Tensor:
    """Return the rows of matrices in another order, given for each matrix of the batch."""
    rank = order.shape.rank
    if rank is None:
        raise ValueError("the factors of lu are used with a permutation of known rank")
    return gather(x, order, axis=rank - 1, batch_dims=rank - 1)
