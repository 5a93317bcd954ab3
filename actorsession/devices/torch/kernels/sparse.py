"""Torch kernels of sparse tensors, and of sums of rows that are looked up.

Coordinates are whole numbers of the host.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from actorsession.devices.torch.arrays import positions
from actorsession.devices.torch.kernels.indexing import row_counts, sums_of_rows
from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, floats, plain, row, widened
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.ops.reductions.segment_kernels import check_sorted

__all__ = ["ROWS"]


# -- sums of rows ----------------------------------------------------------------------------------

_DIVISORS: dict[str, Callable[[Tensor], Tensor] | None] = {"Sum": None, "Mean": lambda n: n, "SqrtN": torch.sqrt}


def _weighted_rows(table: Tensor, indices: Any, ids: Any, count: int, weights: Tensor | None = None) -> Tensor:
    """Return the sums of the rows of a table that each number picks, without a copy of the rows.

    Args:
        table: rows of any rank.
        indices: the rows that are picked.
        ids: the sum that each is for, in [0, count) and rising.
        count: number of sums.
        weights: a factor for each picked row.
    """
    behind, wide = table.shape[1:], widened(table)
    flat = wide.reshape(len(table), math.prod(behind))
    if not (len(indices) and count and flat.shape[1]):
        return table.new_zeros(count, *behind)
    starts = positions(np.searchsorted(ids, np.arange(count)), table)
    sums = functional.embedding_bag(positions(indices, table), flat, starts, mode="sum", per_sample_weights=weights)
    return sums.reshape(count, *behind).to(table.dtype)


def _in_rows(indices: Any, rows: int) -> bool:
    return indices.ndim == 1 and (not indices.size or bool(indices.min() >= 0 and indices.max() < rows))


def _sparse_segments(kind: str) -> Callable[[KernelContext], Kernel]:
    divisor = _DIVISORS[kind]

    def make(context: KernelContext) -> Kernel:
        op = context.op

        def kernel(data: Tensor, indices: Any, ids: Any, segments: Any = None) -> Tensor:
            fitting(data.ndim > 0 and _in_rows(indices, len(data)))
            check_sorted(op, ids, len(indices))
            count = int(ids[-1]) + 1 if ids.size else 0
            fitting(segments is None or (not np.ndim(segments) and int(segments) >= count))
            total = _weighted_rows(data, indices, ids, count if segments is None else int(segments))
            return total if divisor is None else total / divisor(row_counts(ids, total))

        return kernel

    return make


def _sparse_segments_back(kind: str) -> Callable[[KernelContext], Kernel]:
    divisor = _DIVISORS[kind]

    def make(context: KernelContext) -> Kernel:
        def kernel(back: Tensor, indices: Any, ids: Any, rows: Any) -> Tensor:
            fitting(back.ndim > 0 and not np.ndim(rows) and ids.shape == indices.shape and _in_rows(ids, len(back)))
            fitting(_in_rows(indices, int(rows)))
            share = back if divisor is None else back / divisor(row_counts(ids, back))
            return sums_of_rows(indices, torch.index_select(share, 0, positions(ids, back)), [int(rows)])

        return kernel

    return make


# -- sparse tensors --------------------------------------------------------------------------------


def _check(indices: Any, values: Tensor, shape: Any) -> None:
    """Refuse coordinates that are none of a sparse tensor."""
    fitting(values.ndim == 1 and indices.shape == (len(values), len(shape)))
    fitting(bool(((indices >= 0) & (indices < shape)).all()))


def _sparse_product(context: KernelContext) -> Kernel:
    left, right = bool(context.attrs["adjoint_a"]), bool(context.attrs["adjoint_b"])

    def kernel(indices: Any, values: Tensor, shape: Any, b: Tensor) -> Tensor:
        fitting(np.shape(shape) == (2,) and b.ndim == 2)
        _check(indices, values, shape)
        (rows, inner), columns = shape.tolist()[:: -1 if left else 1], indices[:, :: -1 if left else 1]
        b = b.t().contiguous() if right else b
        fitting(inner == len(b))
        ids, picked = columns[:, 0], columns[:, 1]
        if (ids[1:] < ids[:-1]).any():
            order = np.argsort(ids, kind="stable")
            ids, picked, values = ids[order], picked[order], values[positions(order, values)]
        return _weighted_rows(b, picked, ids, rows, widened(values))

    return kernel


def _with_dense(function: Callable[[Tensor, Tensor], Tensor]) -> Kernel:
    """Return the kernel that combines each value with the one of a dense tensor at its place."""

    def kernel(indices: Any, values: Tensor, shape: Any, dense: Tensor) -> Tensor:
        _check(indices, values, shape)
        fitting(dense.ndim <= len(shape))
        sizes = [1] * (len(shape) - dense.ndim) + list(dense.shape)
        fitting(all(size in (1, whole) for size, whole in zip(sizes, shape.tolist(), strict=True)))
        if dense.numel() == 1:
            return function(values, dense.reshape(()))
        steps = [math.prod(sizes[k + 1 :]) * (size != 1) for k, size in enumerate(sizes)]
        places = indices @ np.array(steps, np.int64)
        return function(values, dense.reshape(-1).index_select(0, positions(places, dense)))

    return kernel


ROWS: Rows = {
    **{
        f"SparseSegment{kind}{end}": row(_sparse_segments(kind), host=[1, 2, 3], checks=True)
        for kind in _DIVISORS
        for end in ("", "WithNumSegments")
    },
    **{f"SparseSegment{kind}Grad": row(_sparse_segments_back(kind), host=[1, 2, 3], checks=True) for kind in _DIVISORS},
    "SparseTensorDenseMatMul": row(_sparse_product, host=[0, 2], checks=True, takes=floats),
    "SparseDenseCwiseAdd": plain(_with_dense(torch.add), host=[0, 2], checks=True),
    "SparseDenseCwiseMul": plain(_with_dense(torch.mul), host=[0, 2], checks=True),
    "SparseDenseCwiseDiv": plain(_with_dense(torch.div), host=[0, 2], checks=True),
}
