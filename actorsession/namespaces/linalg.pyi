# Written by scripts/generated.py.
"""Linear algebra: products, factorisations, solving, determinants and functions of matrices."""

from actorsession.ops.elements.clip import global_norm as global_norm
from actorsession.ops.linear.composed_operators import (
LinearOperatorAdjoint as LinearOperatorAdjoint, LinearOperatorBlockDiag as LinearOperatorBlockDiag,
LinearOperatorCirculant as LinearOperatorCirculant, LinearOperatorComposition as
LinearOperatorComposition, LinearOperatorHouseholder as LinearOperatorHouseholder,
LinearOperatorInversion as LinearOperatorInversion, LinearOperatorKronecker as
LinearOperatorKronecker, LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate,
LinearOperatorToeplitz as LinearOperatorToeplitz, LinearOperatorZeros as LinearOperatorZeros
)
from actorsession.ops.linear.contractions import (
eye as eye, matvec as matvec, norm as norm, normalize as normalize, tensordot as tensordot, trace as
trace
)
from actorsession.ops.linear.determinants import (
logdet as logdet, matrix_determinant as det, slogdet as slogdet
)
from actorsession.ops.linear.diagonals import (
diag as tensor_diag, diag_part as tensor_diag_part, matrix_band_part as band_part
)
from actorsession.ops.linear.einsum import einsum as einsum
from actorsession.ops.linear.factorisations import (
cholesky as cholesky, lu as lu, lu_matrix_inverse as lu_matrix_inverse, lu_reconstruct as
lu_reconstruct, lu_solve as lu_solve, qr as qr
)
from actorsession.ops.linear.least_squares import matrix_solve_ls as lstsq
from actorsession.ops.linear.matmul import matmul as matmul
from actorsession.ops.linear.matrices import adjoint as adjoint
from actorsession.ops.linear.matrix_diagonals import (
matrix_diag as diag, matrix_diag_part as diag_part, matrix_set_diag as set_diag
)
from actorsession.ops.linear.matrix_functions import (
expm as expm, logm as logm, matrix_square_root as sqrtm
)
from actorsession.ops.linear.operators import (
LinearOperatorDiag as LinearOperatorDiag, LinearOperatorFullMatrix as LinearOperatorFullMatrix,
LinearOperatorIdentity as LinearOperatorIdentity, LinearOperatorLowerTriangular as
LinearOperatorLowerTriangular, LinearOperatorScaledIdentity as LinearOperatorScaledIdentity
)
from actorsession.ops.linear.products import cross as cross
from actorsession.ops.linear.pseudoinverse import matrix_rank as matrix_rank, pinv as pinv
from actorsession.ops.linear.solving import (
cholesky_solve as cholesky_solve, matrix_inverse as inv, matrix_solve as solve,
matrix_triangular_solve as triangular_solve
)
from actorsession.ops.linear.spectra import (
self_adjoint_eig as eigh, self_adjoint_eigvals as eigvalsh, svd as svd
)
from actorsession.ops.linear.transposition import (
matrix_transpose as matrix_transpose, matrix_transpose as transpose
)
from actorsession.ops.linear.tridiagonal import (
tridiagonal_matmul as tridiagonal_matmul, tridiagonal_solve as tridiagonal_solve
)
from actorsession.ops.reductions.spread import l2_normalize as l2_normalize


__all__ = [
"LinearOperatorAdjoint", "LinearOperatorBlockDiag", "LinearOperatorCirculant",
"LinearOperatorComposition", "LinearOperatorDiag", "LinearOperatorFullMatrix",
"LinearOperatorHouseholder", "LinearOperatorIdentity", "LinearOperatorInversion",
"LinearOperatorKronecker", "LinearOperatorLowRankUpdate", "LinearOperatorLowerTriangular",
"LinearOperatorScaledIdentity", "LinearOperatorToeplitz", "LinearOperatorZeros", "adjoint",
"band_part", "cholesky", "cholesky_solve", "cross", "det", "diag", "diag_part", "eigh", "eigvalsh",
"einsum", "expm", "eye", "global_norm", "inv", "l2_normalize", "logdet", "logm", "lstsq", "lu",
"lu_matrix_inverse", "lu_reconstruct", "lu_solve", "matmul", "matrix_rank", "matrix_transpose",
"matvec", "norm", "normalize", "pinv", "qr", "set_diag", "slogdet", "solve", "sqrtm", "svd",
"tensor_diag", "tensor_diag_part", "tensordot", "trace", "transpose", "triangular_solve",
"tridiagonal_matmul", "tridiagonal_solve"
]
