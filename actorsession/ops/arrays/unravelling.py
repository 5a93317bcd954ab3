"""Coordinates of flat indices: ``unravel_index``; owns ``UnravelIndex``."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import InferContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_all, graph_of
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import require_rank, vector_length

__all__ = ["unravel_index"]


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """Return the coordinates of flat indices in an array of a given shape.

    Args:
        indices: flat indices, int32 or int64, a scalar or a vector.
        dims: the shape, of the same dtype.

    Returns:
        Shape ``[rank]``, or ``[rank, n]`` for a vector of n indices.
    """
    with graph_of(indices, dims).name_scope(name or "UnravelIndex") as scope:
        return raw.UnravelIndex(*convert_all([indices, dims]), name=scope)


def _infer_coordinates(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=1)
    places, rank = ctx.inputs[0].shape, vector_length(ctx.inputs[1])
    if places.rank is None:
        return [unknown_shape]
    if places.rank > 1:
        raise ValueError(f"{ctx.op}: indices are a scalar or a vector, got shape {places}")
    return [TensorShape([rank, *places.as_list()])]


def _coordinates(places: Any, dims: Any) -> Any:
    if places.ndim > 1 or dims.ndim != 1:
        raise InvalidArgumentError(
            "UnravelIndex: indices are a scalar or a vector and dims a vector, got "
            f"{list(places.shape)} and {list(dims.shape)}"
        )
    if (dims <= 0).any():
        raise InvalidArgumentError(f"UnravelIndex: dims are above 0, got {dims.tolist()}")
    size = int(np.prod(dims, dtype=np.float64))
    if ((places < 0) | (places >= size)).any():
        raise InvalidArgumentError(
            f"UnravelIndex: index is out of bound as with dims: places are in [0, {size}), got {places.tolist()}"
        )
    if not len(dims):
        return np.zeros((0, *places.shape), places.dtype)
    return np.array(np.unravel_index(places, tuple(dims.tolist())), places.dtype)


op("UnravelIndex", _infer_coordinates, _coordinates)
