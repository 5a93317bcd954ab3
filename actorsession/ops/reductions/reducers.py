"""The numpy implementation of reductions: sums, means, products and extrema over axes.

A *reducer* is called with an array, axes (``None`` for all) and whether reduced axes stay with length 1. It
returns an array or scalar of exactly the dtype that it was made for. ``reduction`` registers the ops and
binds reducers to constant axes, so that a step does no work on axes at all.

16-bit floats are summed and multiplied in float32 and rounded once. Sums of float32 and float64 over leading
or trailing axes are matrix-vector products with ones: BLAS takes a fourth to a tenth of the time of numpy's
loop, which restarts for every row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import prod
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, accumulation_dtype, float32, float64
from actorsession.graph.registry import Array, Kernel, KernelContext
from actorsession.ops.blas import dot
from actorsession.ops.shape_operands import constant_ints, ints

__all__ = ["Reducer", "bound_to_axes", "euclidean_norm", "extremum", "logical", "mean", "product", "total"]

Axes: TypeAlias = "tuple[int, ...] | None"
Reducer: TypeAlias = Callable[[Any, Axes, bool], Any]

# numpy's stubs allow only keywords, which take longer to pass.
_ADD: Kernel = np.add.reduce
_MULTIPLY: Kernel = np.multiply.reduce

# A row of ones for longer products would cost more memory traffic than it saves. Summing a long row in one
# pass loses the accuracy of numpy's pairwise sum, which is fast enough there.
_MOST_ROWS = 1 << 20
_LONGEST_ROW = 4096
# Up to this row length, numpy's maximum is faster on a transposed copy.
_SHORT_ROW = 32


def bound_to_axes(ctx: KernelContext, reducer: Reducer) -> Kernel:
    """Return the kernel of a reduction op: ``reducer`` with constant axes, or with those of the step."""
    keep = bool(ctx.attrs["keep_dims"])
    fixed = constant_ints(ctx, 1)
    if fixed is None:
        return lambda x, axes: reducer(x, _normal(ints(axes), x.ndim), keep)
    rank = ctx.inputs[0].shape.rank
    if rank is None:
        return lambda x, _: reducer(x, _normal(fixed, x.ndim), keep)
    axes = _normal(fixed, rank)
    return lambda x, _: reducer(x, axes, keep)


@functools.lru_cache(maxsize=1024)  # a program has few; computing one takes 1 us
def _normal(axes: tuple[int, ...], rank: int) -> Axes:
    """Return the axes counted from the front and sorted, or ``None`` for all."""
    positive = tuple(sorted({a + rank if a < 0 else a for a in axes}))
    if len(positive) < len(axes) or (positive and not 0 <= positive[0] <= positive[-1] < rank):
        raise InvalidArgumentError(f"axes {list(axes)} are not different axes of a tensor of rank {rank}")
    return None if len(positive) == rank else positive


# -- sums ----------------------------------------------------------------------------------------


def total(dtype: DType) -> Reducer:
    """Return a reducer for sums; sums of integers wrap around, as everywhere in numpy."""
    if dtype in (float32, float64):
        return _blas_total(dtype.np_dtype)
    wide, narrow = accumulation_dtype(dtype.np_dtype), dtype.np_dtype
    if wide == narrow:
        return lambda x, axes, keep: _ADD(x, axes, wide, None, keep)
    return lambda x, axes, keep: _ADD(x, axes, wide, None, keep).astype(narrow)


def _blas_total(dtype: np.dtype[Any]) -> Reducer:
    def reduce(x: Any, axes: Axes, keep: bool) -> Any:
        # All axes, none, or memory that BLAS would copy first: numpy's own loop is better.
        if axes and x.flags.c_contiguous:
            count, shape = len(axes), x.shape
            if axes[-1] == count - 1:
                rows, rest = prod(shape[:count]), shape[count:]
                if rows <= _MOST_ROWS:
                    out = dot(_ones(rows, dtype), x.reshape(rows, prod(rest)))
                    return out.reshape((1,) * count + rest if keep else rest)
            elif axes[0] == x.ndim - count:
                length, rest = prod(shape[-count:]), shape[:-count]
                if length <= _LONGEST_ROW:
                    out = dot(x.reshape(prod(rest), length), _ones(length, dtype))
                    return out.reshape(rest + (1,) * count if keep else rest)
        return _ADD(x, axes, dtype, None, keep)

    return reduce


_ONES: dict[np.dtype[Any], Array] = {}


def _ones(length: int, dtype: np.dtype[Any]) -> Array:
    """Return a read-only vector of ones; all kernels of a process share the longest one made so far."""
    ones = _ONES.get(dtype)
    if ones is None or ones.size < length:
        ones = np.ones(max(length, _LONGEST_ROW), dtype)
        ones.flags.writeable = False
        _ONES[dtype] = ones
    return ones[:length]


def mean(dtype: DType) -> Reducer:
    """Return a reducer for means, NaN for no elements.

    Integers are summed in 64 bits and divided towards zero.
    """
    if dtype.is_integer:
        return _integer_mean(dtype.np_dtype, np.dtype(np.int64 if dtype.kind == "i" else np.uint64))
    wide, narrow = accumulation_dtype(dtype.np_dtype), dtype.np_dtype
    summed = total(dtype) if wide == narrow else total(float32)

    def reduce(x: Any, axes: Axes, keep: bool) -> Any:
        out = summed(x, axes, keep) if wide == narrow else summed(x.astype(wide), axes, keep)
        out /= x.size // (out.size or 1)
        return out if wide == narrow else out.astype(narrow)

    return reduce


def _integer_mean(narrow: np.dtype[Any], wide: np.dtype[Any]) -> Reducer:
    def reduce(x: Any, axes: Axes, keep: bool) -> Any:
        out = _ADD(x, axes, wide, None, keep)
        count = wide.type(x.size // (out.size or 1) or 1)
        return ((out - np.fmod(out, count)) // count).astype(narrow)

    return reduce


def euclidean_norm(dtype: DType) -> Reducer:
    """Return a reducer for Euclidean norms; integers are summed in their type, the root is truncated."""
    wide, narrow = accumulation_dtype(dtype.np_dtype), dtype.np_dtype

    def reduce(x: Any, axes: Axes, keep: bool) -> Any:
        widened = x.astype(wide, copy=False)
        squares = np.conjugate(widened) * widened if dtype.is_complex else widened * widened
        return np.sqrt(_ADD(squares, axes, wide, None, keep)).astype(narrow, copy=False)

    return reduce


# -- other reducers ------------------------------------------------------------------------------


def product(dtype: DType) -> Reducer:
    """Return a reducer for products, 1 for no elements."""
    wide, narrow = accumulation_dtype(dtype.np_dtype), dtype.np_dtype
    if wide == narrow:
        return lambda x, axes, keep: _MULTIPLY(x, axes, wide, None, keep)
    return lambda x, axes, keep: _MULTIPLY(x, axes, wide, None, keep).astype(narrow)


def extremum(dtype: DType, ufunc: np.ufunc) -> Reducer:
    """Return a reducer for maxima or minima; NaN wins, and no elements yield the lowest or highest value."""
    fold: Kernel = ufunc.reduce
    start = dtype.np_dtype.type(_identity(dtype, largest=ufunc is np.minimum))

    def reduce(x: Any, axes: Axes, keep: bool) -> Any:
        if axes == (x.ndim - 1,) and 0 < x.shape[-1] <= _SHORT_ROW and x.flags.c_contiguous:
            rows = x.reshape(-1, x.shape[-1])
            out = fold(np.ascontiguousarray(rows.T), 0)
            return out.reshape((*x.shape[:-1], 1) if keep else x.shape[:-1])
        return fold(x, axes, None, None, keep, start)

    return reduce


def _identity(dtype: DType, *, largest: bool) -> float:
    if dtype.is_integer:
        info = np.iinfo(dtype.np_dtype)
        return info.max if largest else info.min
    return np.inf if largest else -np.inf


def logical(ufunc: np.ufunc) -> Reducer:
    """Return a reducer for whether all or any elements are true, by ``ufunc``."""
    fold: Kernel = ufunc.reduce
    return lambda x, axes, keep: fold(x, axes, None, None, keep)
