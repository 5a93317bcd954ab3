"""Evenly spaced numbers between two ends.

``LinSpace`` makes them between two scalars and has no gradient. Between tensors of any shape they are
composed of other ops, as in TensorFlow, and have a gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float64, int32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import rank
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.shape import expand_dims, reshape
from actorsession.ops.build import constant, convert_to_tensor, graph_of
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import equal
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, constant_ints_of, require_rank

__all__ = ["lin_space", "linspace"]


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """Return ``num`` evenly spaced numbers from ``start`` to ``stop``, both included.

    Args:
        start: first value, floating; integers become float64. Any shape that broadcasts with ``stop``.
        stop: last value, of the same dtype.
        num: number of values, an integer scalar of at least 0; a single one is ``start``.
        axis: position of the new axis in the result.
    """
    graph = graph_of(start, stop, num)
    plain = not any(hasattr(v, "_as_graph_element") for v in (start, stop))
    with graph.name_scope(name or "linspace") as scope:
        first = convert_to_tensor(start, name="start", graph=graph)
        last = convert_to_tensor(stop, first.dtype, name="stop", graph=graph)
        count = convert_to_tensor(num, name="num", graph=graph)
        known = constant_ints_of(count)
        if known is not None and known[0] < 0:
            raise ValueError(f"linspace makes at least 0 numbers; got num={known[0]}")
        scalars = first.shape.rank == last.shape.rank == 0 and axis in (0, -1)
        if plain and scalars and first.dtype.is_floating and known is not None and known[0]:
            return raw.LinSpace(first, last, count, name=scope)
        return _composed(first, last, count, axis)


lin_space = linspace


def _composed(first: Tensor, last: Tensor, count: Tensor, axis: int) -> Tensor:
    if first.dtype.is_integer:
        first, last = cast(first, float64), cast(last, float64)
    number = cast(count, int32)
    spread = first + raw.ZerosLike(last)
    behind = expand_dims(spread, axis)
    steps = raw.Maximum(number - 1, constant(1, int32, graph=number.graph))
    places = range_(number)
    # As many axes as the result has, all of length 1 except the new one.
    axes = rank(behind)
    where = axis if axis >= 0 else axes + axis
    dims = where_v2(equal(range_(axes), where), number, constant(1, int32, graph=number.graph))
    index = reshape(cast(places, first.dtype), dims)
    inner = behind + expand_dims(last - first, axis) / cast(steps, first.dtype) * index
    # The last value is exact, unless it is the first one too.
    at_end = reshape(equal(places, steps), dims)
    result = where_v2(at_end, expand_dims(last + raw.ZerosLike(first), axis), inner)
    known = constant_ints_of(count)
    if spread.shape.sizes is not None and known is not None:
        sizes = list(spread.shape.sizes)
        sizes.insert(axis if axis >= 0 else len(sizes) + 1 + axis, known[0])
        result.set_shape(sizes)
    return result


def _infer(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 0, 1, 2, rank=0)
    num = constant_ints(ctx, 2)
    if num is not None and num[0] <= 0:
        raise ValueError(f"LinSpace makes at least 1 number; got num={num[0]}")
    return [TensorShape([None if num is None else num[0]])]


def _kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype.np_dtype

    def linspace(start: Any, stop: Any, num: Any) -> Array:
        shapes = [list(np.shape(v)) for v in (start, stop, num)]
        if any(shapes):
            raise InvalidArgumentError(f"LinSpace takes three scalars; got shapes {shapes}")
        count = int(num)
        if count <= 0:
            raise InvalidArgumentError(f"LinSpace makes at least 1 number; got num={count}")
        if count == 1:
            return np.full(1, start, dtype)
        step = (stop - start) / dtype.type(count - 1)
        out: Array = start + step * np.arange(count).astype(dtype)
        out[-1] = stop
        return out

    return linspace


op("LinSpace", _infer, kernel=_kernel, grad=NOT_DIFFERENTIABLE, sized_by=(2,))
