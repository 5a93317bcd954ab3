"""Sparse tensors kept under numbers: ``AddSparseToTensorsMap`` and ``AddManySparseToTensorsMap``.

``TakeManySparseFromTensorsMap`` takes them out. A map lives as long as its device, under the container and
shared name of its nodes. Queues hold the numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.held_arrays import total_bytes
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops.rows import op
from actorsession.opsets.sparse.kernels import check_entries, checked_dims, require_rank, sparse_shapes
from actorsession.opsets.sparse.serialising import joined_sparse, sparse_rows

__all__: list[str] = []

Parts = tuple[Array, Array, Array]


# -- the map ---------------------------------------------------------------------------------------


class _Map:
    """Sparse tensors by number; all methods are atomic."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[int, Parts] = {}
        self._next = 0

    @property
    def nbytes(self) -> int:
        """The bytes of the tensors."""
        with self._lock:
            return total_bytes([self._kept])

    def clear(self) -> None:
        """Forget all tensors; numbers go on."""
        with self._lock:
            self._kept.clear()

    def add(self, parts: Parts) -> int:
        """Keep a tensor and return its number."""
        with self._lock:
            self._kept[self._next] = parts
            self._next += 1
            return self._next - 1

    def take(self, numbers: Sequence[int]) -> list[Parts]:
        """Take tensors out.

        Raises:
            InvalidArgumentError: for a number that has none; then all stay.
        """
        with self._lock:
            missing = [number for number in numbers if number not in self._kept]
            if missing or len(set(numbers)) < len(numbers):
                raise InvalidArgumentError(
                    f"Unable to find SparseTensor: {missing or numbers} in map, which has {len(self._kept)} tensors"
                )
            return [self._kept.pop(number) for number in numbers]


def _map_of(ctx: KernelContext) -> _Map:
    tensors_map: _Map = ctx.resources.lookup_or_create(
        ctx.attrs["container"], ctx.attrs["shared_name"] or ctx.name, "sparse tensors map", _Map
    )
    return tensors_map


# -- nodes -----------------------------------------------------------------------------------------


def _numbers(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 2, 1: 1, 2: 1})
    return [scalar_shape if ctx.op == "AddSparseToTensorsMap" else TensorShape([None])]


def _add_kernel(ctx: KernelContext) -> Kernel:
    kept, many = _map_of(ctx), ctx.op == "AddManySparseToTensorsMap"

    def add(indices: Array, values: Array, shape: Array) -> Any:
        dims = checked_dims(shape, ctx.op)
        check_entries(indices, len(values), dims, ctx.op)
        if not many:
            return np.int64(kept.add((indices.copy(), values.copy(), shape.copy())))
        if len(dims) < 2:
            raise InvalidArgumentError(f"{ctx.op}: Rank of input SparseTensor should be > 1, but saw rank: {len(dims)}")
        order = np.argsort(indices[:, 0], kind="stable")
        rows = sparse_rows(indices[order], values[order], shape)
        return np.array([kept.add(row) for row in rows], np.int64)

    return add


def _taken_shapes(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, {0: 1})
    return sparse_shapes(None)


def _take_kernel(ctx: KernelContext) -> Kernel:
    kept, dtype = _map_of(ctx), ctx.outputs[1].dtype

    def take(numbers: Array) -> Any:
        parts = kept.take(numbers.tolist())
        for _, values, _ in parts:
            if values.dtype != dtype.np_dtype:
                raise InvalidArgumentError(
                    f"Requested SparseTensor of dtype {dtype.name} but the map has {values.dtype.name}"
                )
        return joined_sparse(parts, (len(parts),), ctx.op)

    return take


for _name in ("AddSparseToTensorsMap", "AddManySparseToTensorsMap"):
    op(_name, _numbers, kernel=_add_kernel)
op("TakeManySparseFromTensorsMap", _taken_shapes, kernel=_take_kernel)
