"""Linear algebra: products, factorisations, solving, determinants and functions of matrices."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.ops.elements.clip": "global_norm",
    "actorsession.ops.linear.contractions": "eye matvec norm normalize tensordot trace",
    "actorsession.ops.linear.determinants": "logdet matrix_determinant=det slogdet",
    "actorsession.ops.linear.diagonals": ("diag=tensor_diag diag_part=tensor_diag_part matrix_band_part=band_part"),
    "actorsession.ops.linear.einsum": "einsum",
    "actorsession.ops.linear.factorisations": ("cholesky lu lu_matrix_inverse lu_reconstruct lu_solve qr"),
    "actorsession.ops.linear.least_squares": "matrix_solve_ls=lstsq",
    "actorsession.ops.linear.matmul": "matmul",
    "actorsession.ops.linear.matrices": "adjoint",
    "actorsession.ops.linear.matrix_diagonals": (
        "matrix_diag=diag matrix_diag_part=diag_part matrix_set_diag=set_diag"
    ),
    "actorsession.ops.linear.matrix_functions": "expm logm matrix_square_root=sqrtm",
    "actorsession.ops.linear.composed_operators": (
        "LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorCirculant "
        "LinearOperatorComposition LinearOperatorHouseholder LinearOperatorInversion "
        "LinearOperatorKronecker LinearOperatorLowRankUpdate LinearOperatorToeplitz LinearOperatorZeros"
    ),
    "actorsession.ops.linear.operators": (
        "LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorIdentity "
        "LinearOperatorLowerTriangular LinearOperatorScaledIdentity"
    ),
    "actorsession.ops.linear.products": "cross",
    "actorsession.ops.linear.pseudoinverse": "matrix_rank pinv",
    "actorsession.ops.linear.solving": (
        "cholesky_solve matrix_inverse=inv matrix_solve=solve matrix_triangular_solve=triangular_solve"
    ),
    "actorsession.ops.linear.spectra": "self_adjoint_eig=eigh self_adjoint_eigvals=eigvalsh svd",
    "actorsession.ops.linear.transposition": "matrix_transpose matrix_transpose=transpose",
    "actorsession.ops.linear.tridiagonal": "tridiagonal_matmul tridiagonal_solve",
    "actorsession.ops.reductions.spread": "l2_normalize",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
