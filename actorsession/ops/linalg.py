"""The namespace ``linalg``: what TensorFlow has as ``tf.linalg``, from the files that own it."""

from __future__ import annotations

from actorsession.ops.clip import global_norm
from actorsession.ops.contractions import eye, matvec, norm, normalize, tensordot, trace
from actorsession.ops.determinants import logdet, matrix_determinant, slogdet
from actorsession.ops.diagonals import diag as tensor_diag
from actorsession.ops.diagonals import diag_part as tensor_diag_part
from actorsession.ops.diagonals import matrix_band_part
from actorsession.ops.einsum import einsum
from actorsession.ops.elimination import lu_matrix_inverse, lu_reconstruct, lu_solve
from actorsession.ops.factorisations import cholesky, lu, qr
from actorsession.ops.least_squares import matrix_solve_ls
from actorsession.ops.matmul import matmul
from actorsession.ops.matrices import adjoint
from actorsession.ops.matrix_diagonals import matrix_diag, matrix_diag_part, matrix_set_diag
from actorsession.ops.matrix_functions import expm, logm, matrix_square_root
from actorsession.ops.products import cross
from actorsession.ops.pseudoinverse import matrix_rank, pinv
from actorsession.ops.solving import (
    cholesky_solve,
    matrix_inverse,
    matrix_solve,
    matrix_triangular_solve,
)
from actorsession.ops.spectra import self_adjoint_eig, self_adjoint_eigvals, svd
from actorsession.ops.spread import l2_normalize
from actorsession.ops.transposition import matrix_transpose

__all__ = [
    "adjoint", "band_part", "cholesky", "cholesky_solve", "cross", "det", "diag", "diag_part", "eigh",
    "eigvalsh", "einsum", "expm", "eye", "global_norm", "inv", "l2_normalize", "logdet", "logm",
    "lstsq", "lu", "lu_matrix_inverse", "lu_reconstruct", "lu_solve", "matmul", "matrix_rank",
    "matrix_transpose", "matvec", "norm", "normalize", "pinv", "qr", "set_diag", "slogdet", "solve",
    "sqrtm", "svd", "tensor_diag", "tensor_diag_part", "tensordot", "trace", "transpose",
    "triangular_solve",
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
