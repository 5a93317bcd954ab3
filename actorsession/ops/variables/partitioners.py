"""Partitioners: functions that determine the number of parts of a variable.

``variable_scope`` and ``get_variable`` accept them. A partitioner is called with ``shape`` and ``dtype`` and
returns one number of parts per axis, all but one of them 1. Those made here partition one given axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.shape import ShapeLike, TensorShape

__all__ = ["fixed_size_partitioner", "min_max_variable_partitioner", "variable_axis_size_partitioner"]

Partitioner: TypeAlias = Callable[..., list[int]]


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Return a partitioner with a fixed number of parts, at most one per position of the axis.

    Args:
        num_shards: number of parts.
        axis: the partitioned axis.
    """

    def partitioner(shape: ShapeLike, dtype: Any = None, **_: Any) -> list[int]:
        dims, along = _checked(shape, axis)
        return _cut(dims, along, min(dims[along], num_shards))

    return partitioner


def variable_axis_size_partitioner(
    max_shard_bytes: int, axis: int = 0, bytes_per_string_element: int = 16, max_shards: int | None = None
) -> Partitioner:
    """Return a partitioner that limits the size of a part, as far as one axis allows.

    Args:
        max_shard_bytes: maximum size of a part.
        axis: the partitioned axis.
        bytes_per_string_element: assumed size of a string.
        max_shards: maximum number of parts, which takes precedence over their size.

    Raises:
        ValueError: for sizes and numbers below 1.
    """
    _positive("max_shard_bytes", max_shard_bytes)
    _positive("bytes_per_string_element", bytes_per_string_element)
    if max_shards is not None:
        _positive("max_shards", max_shards)

    def partitioner(shape: ShapeLike, dtype: Any, **_: Any) -> list[int]:
        dims, along = _checked(shape, axis)
        across = math.prod(dims[:along] + dims[along + 1 :])
        per_position = _itemsize(dtype, bytes_per_string_element) * across
        positions = max(1, max_shard_bytes // max(1, per_position))
        shards = min(dims[along], math.ceil(dims[along] / positions))
        if max_shards is not None:
            shards = min(shards, max_shards)
        return _cut(dims, along, shards)

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1, axis: int = 0, min_slice_size: int = 256 << 10, bytes_per_string_element: int = 16
) -> Partitioner:
    """Return a partitioner that makes as many parts as possible, each of a minimum size.

    Args:
        max_partitions: maximum number of parts.
        axis: the partitioned axis.
        min_slice_size: minimum size of a part in bytes; a smaller variable is not partitioned.
        bytes_per_string_element: assumed size of a string.

    Raises:
        ValueError: for sizes and numbers below 1.
    """
    _positive("max_partitions", max_partitions)
    _positive("min_slice_size", min_slice_size)
    _positive("bytes_per_string_element", bytes_per_string_element)

    def partitioner(shape: ShapeLike, dtype: Any, **_: Any) -> list[int]:
        dims, along = _checked(shape, axis)
        size = math.prod(dims) * _itemsize(dtype, bytes_per_string_element)
        # Rounded up, as in TensorFlow: the last part may be below the minimum size.
        shards = min(math.ceil(size / min_slice_size), max_partitions, dims[along])
        return _cut(dims, along, shards)

    return partitioner


def _checked(shape: ShapeLike, axis: int) -> tuple[tuple[int, ...], int]:
    dims = TensorShape(shape).as_tuple()
    if not -len(dims) <= axis < len(dims):
        raise ValueError(f"a variable of shape {list(dims)} has no axis {axis} to be cut along")
    return dims, axis % len(dims)


def _itemsize(dtype: DType | Any, bytes_per_string_element: int) -> int:
    element_type = as_dtype(dtype)
    return bytes_per_string_element if element_type.kind == "s" else element_type.itemsize


def _cut(dims: tuple[int, ...], axis: int, shards: int) -> list[int]:
    return [max(1, shards) if i == axis else 1 for i in range(len(dims))]


def _positive(what: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"{what} is at least 1, got {value}")
