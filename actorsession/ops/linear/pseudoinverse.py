"""Pseudo-inverses and ranks of matrices, which disregard small singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.dtypes import float32, int32
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.shape import expand_dims
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import greater, greater_equal
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.linear.matmul import matmul
from actorsession.ops.linear.spectra import svd
from actorsession.ops.operands import scalar_like
from actorsession.ops.reductions.reduction import reduce_max, reduce_sum

__all__ = ["matrix_rank", "pinv"]

# Part of the greatest value that rounding may leave where a value should be 0, in units of the longer side.
_PINV_ROUNDING = 10.0


def pinv(a: Any, rcond: Any = None, name: str | None = None) -> Tensor:
    """Return the Moore-Penrose pseudo-inverse.

    Args:
        a: matrices, in the last two axes.
        rcond: singular values below this fraction of the greatest count as 0; ten times the longer side times
            the machine epsilon if left out.
    """
    value = convert_to_tensor(a)
    with value.graph.name_scope(name or "pinv"):
        s, u, v = svd(value)
        part = _rounding(value, s) * _PINV_ROUNDING if rcond is None else rcond
        limit = convert_to_tensor(part, s.dtype, graph=value.graph)
        small = greater_equal(expand_dims(limit, -1) * reduce_max(s, -1, keepdims=True), s)
        kept = where_v2(small, scalar_like(np.inf, s), s)
        return matmul(v / cast(expand_dims(kept, -2), v.dtype), u, adjoint_b=True)


def matrix_rank(a: Any, tol: Any = None, name: str | None = None) -> Tensor:
    """Return the number of singular values that are not 0.

    Args:
        a: matrices, in the last two axes.
        tol: values up to this one count as 0; an estimate of the rounding error if left out.
    """
    value = convert_to_tensor(a)
    with value.graph.name_scope(name or "matrix_rank"):
        s = svd(value, compute_uv=False)
        if tol is None:
            limit = _rounding(value, s) * reduce_max(s, -1, keepdims=True)
        else:
            limit = convert_to_tensor(tol, s.dtype, graph=value.graph)
        return reduce_sum(cast(greater(s, limit), int32), -1)


def _rounding(value: Tensor, s: Tensor) -> Tensor:
    """Return the relative rounding error of a number, times the longer side of the matrices."""
    narrow = s.dtype if s.dtype.itemsize > 2 else float32
    longer = cast(reduce_max(shape_tensor(value)[-2:]), s.dtype)
    return longer * scalar_like(float(np.finfo(narrow.np_dtype).eps), s)
