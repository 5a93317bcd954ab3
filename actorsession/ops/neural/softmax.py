"""Softmax and its logarithm.

Kernels operate on a matrix of [rows, classes], allocate one buffer and work in place on it; sums over classes
use BLAS. The half types are computed in float32. ``cross_entropy`` uses the same row functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import bfloat16, float16
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Array, InferContext, Kernel
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import rank
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.gather import one_hot
from actorsession.ops.arrays.layout import transpose
from actorsession.ops.build import constant, convert_to_tensor, make_one
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import elements, normal_axis

__all__ = ["centred", "log_softmax", "row_sum", "softmax", "softmax_back", "softmax_cost"]

# numpy takes about 45 ns per row for the maximum of a short row; over columns it is vectorised, and a
# transposed copy is cheap. 128 x 10: 6.1 us against 1.7; the two are equal near 64 classes.
_SHORT_ROW, _MANY_ROWS = 64, 32

# Microseconds per element: exp and about six passes.
_COST = 0.004


# -- rows ------------------------------------------------------------------------------------------


def _row_max(x: Array) -> Array:
    """Return the maximum of each row, as a column."""
    if x.shape[1] <= _SHORT_ROW and x.shape[0] >= _MANY_ROWS:
        largest = np.maximum.reduce(x.T.copy(), axis=0)
    else:
        largest = np.maximum.reduce(x, axis=1)
    column: Array = largest[:, None]
    return column


def centred(x: Array) -> Array:
    """Return a new matrix in C order: each row of ``x`` minus its maximum."""
    return np.subtract(x, _row_max(x), order="C")


@lru_cache(maxsize=64)
def _ones(length: int, dtype: np.dtype[Any]) -> Array:
    ones = np.ones(length, dtype)
    ones.flags.writeable = False
    return ones


def row_sum(x: Array) -> Array:
    """Return the sum of each row; BLAS is three to six times faster at it than numpy's own sum."""
    total: Array = x @ _ones(x.shape[1], x.dtype)
    return total


def _by_rows(function: Callable[[Array], Array], spec: TensorSpec) -> Kernel:
    """Return a kernel for any rank from a function that takes a fresh or borrowed matrix."""
    dtype = spec.dtype.np_dtype
    half = spec.dtype in (float16, bfloat16)

    def kernel(x: Any) -> Any:
        if not x.ndim:
            raise InvalidArgumentError("logits have rank at least 1, got a scalar")
        if not x.size:
            return x.copy()
        rows = x if x.ndim == 2 else x.reshape(-1, x.shape[-1])
        out = function(rows.astype(np.float32) if half else rows)
        out = out if x.ndim == 2 else out.reshape(x.shape)
        return out.astype(dtype) if half else out

    return kernel


# -- Softmax, LogSoftmax ---------------------------------------------------------------------------


def softmax(logits: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Return ``exp(logits) / sum(exp(logits))`` along an axis.

    Args:
        logits: floating tensor of rank at least 1.
        axis: the axis of the classes, the last if left out.
    """
    return _along("Softmax", logits, axis, name)


def log_softmax(logits: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Return the logarithm of ``softmax``, exact even where the softmax would underflow; see ``softmax``."""
    return _along("LogSoftmax", logits, axis, name)


def _along(op_type: str, logits: Any, axis: int | None, name: str | None) -> Tensor:
    value = convert_to_tensor(logits)
    known = value.shape.rank
    where = -1 if axis is None else int(axis)
    if known is not None:
        where = normal_axis(where, known, op_type)
    if where == -1 or (known is not None and where == known - 1):
        return make_one(op_type, [value], None, name)
    with value.graph.name_scope(name or op_type) as scope:
        order = _to_last(value, where)
        moved = make_one(op_type, [transpose(value, order)])
        return transpose(moved, order, name=scope)


def _to_last(value: Tensor, axis: int) -> Any:
    """Return the permutation that exchanges an axis with the last one; it is its own inverse."""
    known = value.shape.rank
    if known is not None:
        order = list(range(known))
        order[axis], order[-1] = order[-1], order[axis]
        return order
    count = rank(value)
    where = (constant(axis, graph=value.graph) + count) % count
    places = range_(count)
    is_axis = one_hot(where, count, dtype="int32")
    is_last = one_hot(count - 1, count, dtype="int32")
    return places + (count - 1 - where) * (is_axis - is_last)


def _logits(ctx: InferContext) -> Sequence[TensorShape]:
    if ctx.inputs[0].shape.rank == 0:
        raise ValueError(f"{ctx.op}: logits have rank at least 1, got a scalar")
    return [ctx.inputs[0].shape]


def _softmax_rows(x: Array) -> Array:
    out = centred(x)
    np.exp(out, out)
    out /= row_sum(out)[:, None]
    return out


def _log_softmax_rows(x: Array) -> Array:
    out = centred(x)
    total = row_sum(np.exp(out))
    out -= np.log(total, total)[:, None]
    return out


def _sum_last(x: Tensor) -> Tensor:
    """Return the sum over the last axis, which is kept with extent 1."""
    last = constant([-1], graph=x.graph)
    return raw.Sum(x, last, keep_dims=True)


def softmax_back(out: Tensor, grad: Tensor) -> Tensor:
    """Return the gradient by the logits, given the softmax and the gradient by it."""
    return (grad - _sum_last(grad * out)) * out


def softmax_cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    """Return the estimated cost in microseconds of an op whose first input is the logits."""
    return 5.0 + _COST * elements(inputs[0])


op(
    "Softmax",
    _logits,
    kernel=lambda ctx: _by_rows(_softmax_rows, ctx.inputs[0]),
    grad=lambda op, grad: [softmax_back(op.outputs[0], grad)],
    cost=softmax_cost,
)
op(
    "LogSoftmax",
    _logits,
    kernel=lambda ctx: _by_rows(_log_softmax_rows, ctx.inputs[0]),
    grad=lambda op, grad: [grad - _sum_last(grad) * raw.Exp(op.outputs[0])],
    cost=softmax_cost,
)
