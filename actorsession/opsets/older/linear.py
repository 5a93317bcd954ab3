"""Older forms of operations on matrices: of batches, of one diagonal, and of eigenvalues in one tensor.

Until version 0.12 an operation on matrices had a second type for batches of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import DType
from actorsession.graph.registry import InferContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.linear.matrices import cubic_cost, matrix_kernel, require_square
from actorsession.ops.rows import op
from actorsession.opsets.older.forms import Attrs, Item, older_form

__all__: list[str] = []

# TensorFlow has no gradients of these any more.
for _name in (
    "Cholesky", "MatrixBandPart", "MatrixDeterminant", "MatrixInverse", "MatrixSolve", "MatrixSolveLs",
    "MatrixTriangularSolve", "SelfAdjointEigV2", "Svd", "FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D",
):  # fmt: skip
    older_form(f"Batch{_name}", _name, gradient=None)


# -- diagonals -------------------------------------------------------------------------------------


def _left(attrs: Attrs, dtypes: Sequence[DType]) -> Attrs:
    """Diagonals that are shorter than others began at the left."""
    return {"align": "LEFT_LEFT"}


def _filler(attrs: Attrs, dtypes: Sequence[DType]) -> Any:
    """Return what the cells outside of a diagonal are."""
    return np.asarray(b"", object) if dtypes[0].kind == "s" else np.zeros((), dtypes[0].np_dtype)


def _int(value: int) -> Item:
    return lambda attrs, dtypes: np.int32(value)


older_form("MatrixDiagV2", "MatrixDiagV3", attrs=_left)
older_form("MatrixDiagPartV2", "MatrixDiagPartV3", attrs=_left)
older_form("MatrixSetDiagV2", "MatrixSetDiagV3", attrs=_left)
for _prefix, _changed in (("", {}), ("Batch", {"gradient": None})):
    _main = (_int(0), _int(-1), _int(-1), _filler)
    older_form(f"{_prefix}MatrixDiag", "MatrixDiagV3", (0, *_main), _left, **_changed)
    older_form(f"{_prefix}MatrixDiagPart", "MatrixDiagPartV3", (0, _int(0), _filler), _left, **_changed)
    older_form(f"{_prefix}MatrixSetDiag", "MatrixSetDiagV3", (0, 1, _int(0)), _left, **_changed)


# -- eigenvalues -----------------------------------------------------------------------------------


def _stacked_shape(ctx: InferContext) -> Sequence[TensorShape]:
    batch, rows = require_square(ctx)
    return [batch.concatenate([None if rows is None else rows + 1, rows])]


def _stacked(x: Any) -> Any:
    """Return the eigenvalues as the first row, and the eigenvectors as columns below it."""
    values, vectors = np.linalg.eigh(x)
    return np.concatenate([values[..., None, :], vectors], -2)


for _name in ("SelfAdjointEig", "BatchSelfAdjointEig"):
    op(
        _name,
        _stacked_shape,
        kernel=matrix_kernel(_stacked, "self-adjoint and of finite numbers"),
        cost=cubic_cost,
        divides=True,
    )
