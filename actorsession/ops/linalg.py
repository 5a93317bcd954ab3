"""TensorFlow's ``tf.linalg`` namespace; other op files define its functions."""

from __future__ import annotations

from actorsession.ops.elements.clip import global_norm
from actorsession.ops.linear.contractions import eye, matvec, norm, normalize, tensordot, trace
from actorsession.ops.linear.determinants import logdet, matrix_determinant, slogdet
from actorsession.ops.linear.diagonals import diag as tensor_diag
from actorsession.ops.linear.diagonals import diag_part as tensor_diag_part
from actorsession.ops.linear.diagonals import matrix_band_part
from actorsession.ops.linear.einsum import einsum
from actorsession.ops.linear.factorisations import (
    cholesky,
    lu,
    lu_matrix_inverse,
    lu_reconstruct,
    lu_solve,
    qr,
)
from actorsession.ops.linear.least_squares import matrix_solve_ls
from actorsession.ops.linear.matmul import matmul
from actorsession.ops.linear.matrices import adjoint
from actorsession.ops.linear.matrix_diagonals import matrix_diag, matrix_diag_part, matrix_set_diag
from actorsession.ops.linear.matrix_functions import expm, logm, matrix_square_root
from actorsession.ops.linear.products import cross
from actorsession.ops.linear.pseudoinverse import matrix_rank, pinv
from actorsession.ops.linear.solving import (
    cholesky_solve,
    matrix_inverse,
    matrix_solve,
    matrix_triangular_solve,
)
from actorsession.ops.linear.spectra import self_adjoint_eig, self_adjoint_eigvals, svd
from actorsession.ops.linear.transposition import matrix_transpose
from actorsession.ops.linear.tridiagonal import tridiagonal_matmul, tridiagonal_solve
from actorsession.ops.reductions.spread import l2_normalize

__all__ = [
    "adjoint", "band_part", "cholesky", "cholesky_solve", "cross", "det", "diag", "diag_part", "eigh",
    "eigvalsh", "einsum", "expm", "eye", "global_norm", "inv", "l2_normalize", "logdet", "logm",
    "lstsq", "lu", "lu_matrix_inverse", "lu_reconstruct", "lu_solve", "matmul", "matrix_rank",
    "matrix_transpose", "matvec", "norm", "normalize", "pinv", "qr", "set_diag", "slogdet", "solve",
    "sqrtm", "svd", "tensor_diag", "tensor_diag_part", "tensordot", "trace", "transpose",
    "triangular_solve", "tridiagonal_matmul", "tridiagonal_solve",
]  # fmt: skip

band_part = matrix_band_part
det = matrix_determinant
diag = matrix_diag
diag_part = matrix_diag_part
eigh = self_adjoint_eig
eigvalsh = self_adjoint_eigvals
inv = matrix_inverse
lstsq = matrix_solve_ls
set_diag = matrix_set_diag
solve = matrix_solve
sqrtm = matrix_square_root
transpose = matrix_transpose
triangular_solve = matrix_triangular_solve
