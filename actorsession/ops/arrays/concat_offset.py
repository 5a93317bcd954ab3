"""``ConcatOffset``: the offsets of joined tensors, which gradients in TensorFlow's graphs use.

No function here builds it: the gradient of this library's ``concat`` uses ``split`` instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext
from actorsession.graph.shape import TensorShape, merge_all
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import normal_axis

__all__: list[str] = []


def _infer(ctx: InferContext) -> list[TensorShape]:
    axis, *shapes = ctx.inputs
    if axis.dtype is not int32 or axis.shape.rank not in (None, 0) or not shapes:
        raise ValueError(f"ConcatOffset: an int32 scalar and shapes, got {ctx.inputs}")
    try:
        common = merge_all([spec.shape.with_rank(1) for spec in shapes])
    except ValueError:
        found = ", ".join(str(spec.shape) for spec in shapes)
        raise ValueError(f"ConcatOffset: vectors of one length, got {found}") from None
    return [common] * len(shapes)


def _offsets(axis: Any, *shapes: Any) -> Any:
    ranks = {len(shape) for shape in shapes}
    if len(ranks) > 1:
        raise InvalidArgumentError(f"tensors of one rank are joined, got ranks {sorted(ranks)}")
    where = normal_axis(int(axis), len(shapes[0]), "ConcatOffset", InvalidArgumentError)
    found: list[Array] = []
    begin = 0
    for shape in shapes:
        others = np.delete(shape, where)
        if not np.array_equal(others, np.delete(shapes[0], where)):
            raise InvalidArgumentError(
                f"tensors of shapes {list(shapes[0])} and {list(shape)} cannot be joined along axis {where}"
            )
        offset = np.zeros_like(shape)
        offset[where] = begin
        begin += int(shape[where])
        found.append(offset)
    return tuple(found) if len(found) > 1 else found[0]


op("ConcatOffset", _infer, _offsets, NOT_DIFFERENTIABLE)
