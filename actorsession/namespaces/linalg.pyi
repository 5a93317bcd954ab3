# Written by scripts/generated.py.
"""Linear algebra: products, factorisations, solving, determinants and functions of matrices."""

from actorsession.ops.elements.clip import global_norm as global_norm
from actorsession.ops.linear.composed_operators import LinearOperatorAdjoint as LinearOperatorAdjoint
from actorsession.ops.linear.composed_operators import LinearOperatorBlockDiag as LinearOperatorBlockDiag
from actorsession.ops.linear.composed_operators import LinearOperatorCirculant as LinearOperatorCirculant
from actorsession.ops.linear.composed_operators import LinearOperatorComposition as LinearOperatorComposition
from actorsession.ops.linear.composed_operators import LinearOperatorHouseholder as LinearOperatorHouseholder
from actorsession.ops.linear.composed_operators import LinearOperatorInversion as LinearOperatorInversion
from actorsession.ops.linear.composed_operators import LinearOperatorKronecker as LinearOperatorKronecker
from actorsession.ops.linear.composed_operators import LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate
from actorsession.ops.linear.composed_operators import LinearOperatorToeplitz as LinearOperatorToeplitz
from actorsession.ops.linear.composed_operators import LinearOperatorZeros as LinearOperatorZeros
from actorsession.ops.linear.contractions import eye as eye
from actorsession.ops.linear.contractions import matvec as matvec
from actorsession.ops.linear.contractions import norm as norm
from actorsession.ops.linear.contractions import normalize as normalize
from actorsession.ops.linear.contractions import tensordot as tensordot
from actorsession.ops.linear.contractions import trace as trace
from actorsession.ops.linear.determinants import logdet as logdet
from actorsession.ops.linear.determinants import matrix_determinant as det
from actorsession.ops.linear.determinants import slogdet as slogdet
from actorsession.ops.linear.diagonals import diag as tensor_diag
from actorsession.ops.linear.diagonals import diag_part as tensor_diag_part
from actorsession.ops.linear.diagonals import matrix_band_part as band_part
from actorsession.ops.linear.einsum import einsum as einsum
from actorsession.ops.linear.factorisations import cholesky as cholesky
from actorsession.ops.linear.factorisations import lu as lu
from actorsession.ops.linear.factorisations import lu_matrix_inverse as lu_matrix_inverse
from actorsession.ops.linear.factorisations import lu_reconstruct as lu_reconstruct
from actorsession.ops.linear.factorisations import lu_solve as lu_solve
from actorsession.ops.linear.factorisations import qr as qr
from actorsession.ops.linear.least_squares import matrix_solve_ls as lstsq
from actorsession.ops.linear.matmul import matmul as matmul
from actorsession.ops.linear.matrices import adjoint as adjoint
from actorsession.ops.linear.matrix_diagonals import matrix_diag as diag
from actorsession.ops.linear.matrix_diagonals import matrix_diag_part as diag_part
from actorsession.ops.linear.matrix_diagonals import matrix_set_diag as set_diag
from actorsession.ops.linear.matrix_functions import expm as expm
from actorsession.ops.linear.matrix_functions import logm as logm
from actorsession.ops.linear.matrix_functions import matrix_square_root as sqrtm
from actorsession.ops.linear.operators import LinearOperatorDiag as LinearOperatorDiag
from actorsession.ops.linear.operators import LinearOperatorFullMatrix as LinearOperatorFullMatrix
from actorsession.ops.linear.operators import LinearOperatorIdentity as LinearOperatorIdentity
from actorsession.ops.linear.operators import LinearOperatorLowerTriangular as LinearOperatorLowerTriangular
from actorsession.ops.linear.operators import LinearOperatorScaledIdentity as LinearOperatorScaledIdentity
from actorsession.ops.linear.products import cross as cross
from actorsession.ops.linear.pseudoinverse import matrix_rank as matrix_rank
from actorsession.ops.linear.pseudoinverse import pinv as pinv
from actorsession.ops.linear.solving import cholesky_solve as cholesky_solve
from actorsession.ops.linear.solving import matrix_inverse as inv
from actorsession.ops.linear.solving import matrix_solve as solve
from actorsession.ops.linear.solving import matrix_triangular_solve as triangular_solve
from actorsession.ops.linear.spectra import self_adjoint_eig as eigh
from actorsession.ops.linear.spectra import self_adjoint_eigvals as eigvalsh
from actorsession.ops.linear.spectra import svd as svd
from actorsession.ops.linear.transposition import matrix_transpose as matrix_transpose
from actorsession.ops.linear.transposition import matrix_transpose as transpose
from actorsession.ops.linear.tridiagonal import tridiagonal_matmul as tridiagonal_matmul
from actorsession.ops.linear.tridiagonal import tridiagonal_solve as tridiagonal_solve
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
