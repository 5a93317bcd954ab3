"""The largest entries of each row: top_k and in_top_k.

For ties the lower index comes first, as on TensorFlow's CPU. NaN is treated as the smallest value; in
TensorFlow its position is undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32, int32
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape, shape_tensor, size
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.scatter import unsorted_segment_sum
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, elements, require_index, require_rank

__all__ = ["TopKV2", "in_top_k", "top_k"]

# A partition pays off when it leaves only a small part to sort.
_PARTITION_FROM = 64


class TopKV2(NamedTuple):
    """The largest entries of each row, and their indices."""

    values: Tensor
    indices: Tensor


# -- TopKV2 ----------------------------------------------------------------------------------------


def top_k(input: Any, k: Any = 1, index_type: Any = int32, name: str | None = None) -> TopKV2:
    """Return the ``k`` largest entries along the last axis, largest first.

    Args:
        input: real numbers, of rank at least 1 with at least ``k`` entries in the last axis.
        k: scalar int32.
        index_type: int16, int32 or int64.

    Returns:
        Values, and indices into the last axis; the lower index comes first among equals.
    """
    value = convert_to_tensor(input)
    return TopKV2(*raw.TopKV2(value, k, sorted=bool(sorted), index_type=index_type, name=name))


def _infer_top_k(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=0)
    shape, k = ctx.inputs[0].shape, constant_ints(ctx, 1)
    if shape.rank is None:
        return [unknown_shape, unknown_shape]
    last = shape.sizes[-1] if shape.sizes else 0
    if shape.rank == 0 or (k is not None and last is not None and not 0 <= k[0] <= last):
        raise ValueError(f"TopKV2: k = {k} largest of the last axis of {shape}: too few")
    return [shape[:-1].concatenate([None if k is None else k[0]])] * 2


def _descending(x: Array) -> Array:
    """Return keys whose stable ascending order is the descending order of ``x``, NaN last."""
    if x.dtype.kind in "iu":
        return ~x  # unlike the negation, this never overflows
    return np.negative(x)


def _largest(keys: Array, k: int) -> Array:
    """Return the indices of the k smallest keys of each row in order, the lower index first for ties."""
    if keys.shape[-1] < _PARTITION_FROM or 4 * k > keys.shape[-1] or k == 0:
        return np.argsort(keys, axis=-1, kind="stable")[..., :k]
    chosen = np.sort(np.argpartition(keys, k - 1, axis=-1)[..., :k], axis=-1)
    best = np.take_along_axis(keys, chosen, -1)
    limit = best.max(axis=-1, keepdims=True)
    # The partition chooses arbitrarily among equal keys at the limit; in that case sort everything.
    if not ((keys <= limit).sum(axis=-1) == k).all():
        return np.argsort(keys, axis=-1, kind="stable")[..., :k]
    order = np.argsort(best, axis=-1, kind="stable")
    return np.take_along_axis(chosen, order, -1)


def _picked(x: Array, chosen: Array) -> Array:
    """Return the chosen entries of each row; a flat take is faster than ``take_along_axis``."""
    if not chosen.size:
        return np.empty(chosen.shape, x.dtype)
    rows = chosen.reshape(-1, chosen.shape[-1])
    places = rows + np.arange(0, x.size, x.shape[-1])[:, None]
    return x.reshape(-1).take(places).reshape(chosen.shape)


def _top_k_kernel(ctx: KernelContext) -> Kernel:
    index_type = ctx.outputs[1].dtype.np_dtype

    def kernel(x: Any, k: Any) -> Any:
        if np.ndim(k):
            raise InvalidArgumentError(f"TopKV2: k is a scalar, got {k.tolist()}")
        count = int(k)
        if not x.ndim or not 0 <= count <= x.shape[-1]:
            raise InvalidArgumentError(f"the last axis of shape {list(x.shape)} has no {count} largest entries")
        if count == 1 and x.size:
            chosen = x.argmax(axis=-1)[..., None]
            values = _picked(x, chosen)
            if x.dtype.kind in "iu" or not np.isnan(values).any():  # argmax finds NaN first
                return values, chosen.astype(index_type)
        chosen = _largest(_descending(x), count)
        return _picked(x, chosen), chosen.astype(index_type)

    return kernel


def _top_k_gradient(op: Operation, grad: Tensor | None, _indices: Tensor | None) -> list[Tensor | None]:
    if grad is None:
        return [None, None]
    value, indices = op.inputs[0], op.outputs[1]
    dims = shape_tensor(value)
    last = shape(value)[-1]
    # Rows are stored consecutively: entry j of row i is at index i * extent + j.
    by_row = reshape(indices, [-1, 1]) if indices.shape.rank == 0 else _rows(indices)
    count = shape(by_row)[0]
    offsets = reshape(range_(count) * last, [-1, 1])
    if indices.dtype is not int32:
        offsets = raw.Cast(offsets, DstT=indices.dtype)
    places = reshape(by_row + offsets, [-1])
    total = unsorted_segment_sum(reshape(grad, [-1]), places, size(value))
    return [reshape(total, dims), None]


def _rows(indices: Tensor) -> Tensor:
    """Return the indices as a matrix with a row for each row of the input."""
    last = shape(indices)[-1:]
    front = raw.Prod(shape(indices)[:-1], constant([0], graph=indices.graph), keep_dims=True)
    return reshape(indices, concat([front, last], 0))


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    return 10.0 + 0.05 * elements(inputs[0])


op("TopKV2", _infer_top_k, kernel=_top_k_kernel, grad=_top_k_gradient, cost=_cost)


# -- InTopKV2 --------------------------------------------------------------------------------------


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Return whether the target class of each row is among its ``k`` largest predictions.

    Args:
        predictions: float32 of shape [rows, classes].
        targets: int32 or int64 of shape [rows].
        k: scalar.

    Returns:
        bool of shape [rows]. Classes that tie with the target do not count as larger; the result is ``False``
        for a target out of range or a row with an infinite or NaN prediction.
    """
    value = convert_to_tensor(predictions)
    with value.graph.name_scope(name or "in_top_k") as scope:
        classes = convert_to_tensor(targets, name="targets", graph=value.graph)
        count = convert_to_tensor(k, classes.dtype, "k", graph=value.graph)
        return raw.InTopKV2(value, classes, count, name=scope)


def _infer_in_top_k(ctx: InferContext) -> list[TensorShape]:
    require_index(ctx, 1, 2)
    if ctx.inputs[0].dtype is not float32:
        raise TypeError(f"InTopKV2: predictions are float32, got {ctx.inputs[0].dtype.name}")
    rows = TensorShape(ctx.inputs[0].shape.with_rank(2)[:1])
    return [rows.merge_with(ctx.inputs[1].shape.with_rank(1))]


def _in_top_k(predictions: Any, targets: Any, k: Any) -> Any:
    if predictions.ndim != 2 or targets.shape != predictions.shape[:1]:
        raise InvalidArgumentError(
            "in_top_k takes predictions [rows, classes] and targets [rows], "
            f"got {list(predictions.shape)} and {list(targets.shape)}"
        )
    classes = predictions.shape[1]
    valid = (targets >= 0) & (targets < classes) & np.isfinite(predictions).all(axis=1)
    if not classes:
        return valid
    rows = np.arange(len(targets))
    of_target = predictions[rows, np.where(valid, targets, 0)]
    before = (predictions > of_target[:, None]).sum(axis=1)
    return valid & (before < k)


op("InTopKV2", _infer_in_top_k, _in_top_k, NOT_DIFFERENTIABLE)
