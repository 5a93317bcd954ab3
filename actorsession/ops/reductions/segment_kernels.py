"""Reduction of rows by segment: the numpy implementation of ``segments`` and of sparse segments.

Sorted rows are reduced run by run, others element by element: numpy is fast at both for flat arrays. 16-bit
floats are reduced in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, accumulation_dtype
from actorsession.graph.registry import Array, Kernel, KernelContext

__all__ = ["check_sorted", "highest", "lowest", "reduced_rows", "row_counts", "sorted_kernel", "unsorted_kernel"]


def reduced_rows(rows: Array, ids: Array, count: int, fold: np.ufunc, empty: float) -> Array:
    """Return rows reduced by id, in the dtype of ``rows``.

    Args:
        rows: shape [n, ...].
        ids: shape [n], rising, each in [0, count).
        count: number of rows of the result.
        fold: ufunc that combines two rows.
        empty: value for ids without a row.
    """
    wide = rows.astype(accumulation_dtype(rows.dtype), copy=False)
    out = np.full((count, *rows.shape[1:]), empty, rows.dtype)
    if ids.size:
        starts = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))
        reduceat: Kernel = fold.reduceat
        out[ids[starts]] = reduceat(wide, starts, 0, wide.dtype).astype(rows.dtype, copy=False)
    return out


def check_sorted(op: str, ids: Any, rows: int) -> None:
    """Check ids of sorted segments while a step runs.

    Raises:
        InvalidArgumentError: if the ids are no vector of that length, decrease, or begin below 0.
    """
    if ids.shape != (rows,):
        raise InvalidArgumentError(f"{op} takes an id for each of {rows} rows; got ids of shape {list(ids.shape)}")
    if ids.size and (ids[0] < 0 or (ids[1:] < ids[:-1]).any()):
        raise InvalidArgumentError(f"{op} takes ids of at least 0 in rising order; got {ids!r:.200}")


def row_counts(ids: Array, count: int, row_rank: int) -> Array:
    """Return the number of rows of each id, at least 1, as a column that broadcasts with rows."""
    number = np.maximum(np.bincount(ids.astype(np.intp), minlength=count), 1)
    return number.reshape(count, *[1] * row_rank)


def sorted_kernel(fold: np.ufunc, empty: float = 0, mean: bool = False) -> Callable[[KernelContext], Kernel]:
    """Return the kernel of an op on sorted segments.

    Args:
        fold: ufunc that combines two rows.
        empty: value for ids without a row.
        mean: whether the result is divided by the number of rows.
    """

    def kernel(ctx: KernelContext) -> Kernel:
        op = ctx.op

        def segments(data: Any, ids: Any) -> Array:
            if not data.ndim:
                raise InvalidArgumentError(f"{op} takes data of rank at least 1, got a scalar")
            check_sorted(op, ids, len(data))
            count = int(ids[-1]) + 1 if ids.size else 0
            out = reduced_rows(data, ids, count, fold, empty)
            return _divided(out, row_counts(ids, count, data.ndim - 1)) if mean else out

        return segments

    return kernel


def _divided(total: Array, number: Array) -> Array:
    """Return the quotient in the dtype of ``total``; integers are rounded towards zero."""
    if total.dtype.kind in "iu":
        # In 64 bits, because a count may overflow a narrow type.
        wide = np.dtype(np.int64 if total.dtype.kind == "i" else np.uint64)
        dividend, divisor = total.astype(wide), number.astype(wide)
        return np.asarray((dividend - np.fmod(dividend, divisor)) // divisor, total.dtype)
    return np.asarray(total / number.astype(total.dtype))


def unsorted_kernel(fold: np.ufunc, empty: Callable[[DType], Any]) -> Callable[[KernelContext], Kernel]:
    """Return the kernel of an op on unsorted segments; ``empty`` is the value for ids without rows."""
    at: Kernel = fold.at

    def kernel(ctx: KernelContext) -> Kernel:
        op, dtype = ctx.op, ctx.outputs[0].dtype
        narrow = dtype.np_dtype
        wide = accumulation_dtype(narrow)

        def segments(data: Any, ids: Any, num_segments: Any) -> Array:
            kept, rows = _placed(op, data, ids, num_segments)
            row = data.shape[ids.ndim :]
            out = np.full((int(num_segments), *row), empty(dtype), wide)
            # numpy is fast at this for flat elements only.
            width = prod(row)
            places = (kept[:, None] * width + np.arange(width)).reshape(-1)
            flat = rows.reshape(-1).astype(wide, copy=False)
            at(out.reshape(-1), places, flat)
            if dtype.is_floating and np.isnan(flat).any():
                _mark_nan(out.reshape(-1), places, flat)
            return out.astype(narrow, copy=False)

        return segments

    return kernel


def _mark_nan(out: Array, places: Array, values: Array) -> None:
    """Write NaN where there were values but no number among them."""
    unknown = np.zeros(out.shape, np.bool_)
    unknown[places] = True
    unknown[places[~np.isnan(values)]] = False
    out[unknown] = np.nan


def _placed(op: str, data: Any, ids: Any, num_segments: Any) -> tuple[Array, Array]:
    """Return the non-negative ids, and the rows that they belong to."""
    if np.ndim(num_segments) or ids.shape != data.shape[: ids.ndim] or int(num_segments) < 0:
        raise InvalidArgumentError(
            f"{op}: the shape of the ids begins that of the data, and the number of segments is a "
            f"scalar of at least 0; got {list(ids.shape)}, {list(data.shape)} and {num_segments}"
        )
    places, rows = ids.reshape(-1), data.reshape(ids.size, *data.shape[ids.ndim :])
    if places.size and places.max() >= num_segments:
        raise InvalidArgumentError(f"{op}: segment id {places.max()} is not below {num_segments}")
    kept = places >= 0
    return places[kept].astype(np.intp), rows[kept]


def lowest(dtype: DType) -> Any:
    """Return the least finite value of a type."""
    limits: Any = np.iinfo if dtype.is_integer else ml_dtypes.finfo
    return limits(dtype.np_dtype).min


def highest(dtype: DType) -> Any:
    """Return the largest finite value of a type."""
    limits: Any = np.iinfo if dtype.is_integer else ml_dtypes.finfo
    return limits(dtype.np_dtype).max
