"""Tensors made of scalars: zeros, ones, fills and ranges.

A small tensor of static shape becomes a constant of the graph; any other is made in each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dimension import Dimension
from actorsession.graph.dtypes import DType, as_dtype, float32, float64, int32, int64, variant
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import rank, shape
from actorsession.ops.build import constant, convert_to_tensor, graph_of, make_one, to_array
from actorsession.ops.rows import op, same
from actorsession.ops.shape_operands import (
    Ints,
    constant_ints,
    constant_ints_of,
    described_shape,
    ints,
    require_rank,
    shape_operand,
)

__all__ = ["fill", "ones", "ones_like", "range_", "zeros", "zeros_like"]

# TensorFlow's bound: smaller fills are kept in the graph as constants.
_CONSTANT_FILL = 1000


# -- zeros, ones, Fill -----------------------------------------------------------------------------


def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Return a tensor of zeros with the shape of another.

    Args:
        tensor: the tensor that defines the shape, and the default dtype.
        dtype: element type.
    """
    return _like(0, "ZerosLike", tensor, dtype, name or "zeros_like")


def ones_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Return a tensor of ones with the shape of another; see ``zeros_like``."""
    return _like(1, "OnesLike", tensor, dtype, name or "ones_like")


def _like(number: int, op_type: str, tensor: Any, dtype: Any, name: str) -> Tensor:
    value = convert_to_tensor(tensor)
    # ``False`` is no dtype, as programs write that mean another argument.
    element_type = value.dtype if dtype is None or dtype is False else as_dtype(dtype)
    if value.shape.is_fully_defined() and element_type is not variant:
        return _filled(value.shape.as_tuple(), number, element_type, name, value)
    if element_type is value.dtype:
        return make_one(op_type, [value], None, name)
    return fill(shape(value), _number(number, element_type), name)


def zeros(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Return a tensor of zeros (``False`` or empty strings for those types).

    Args:
        shape: wanted shape: ints, a shape, or an integer vector tensor.
        dtype: element type.
    """
    return _filled(shape, 0, as_dtype(dtype), name or "zeros")


def ones(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Return a tensor of ones; see ``zeros``."""
    return _filled(shape, 1, as_dtype(dtype), name or "ones")


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """Return a tensor filled with one value.

    Args:
        dims: wanted shape, int32 or int64.
        value: a scalar.
    """
    graph = graph_of(dims, value)
    with graph.name_scope(name or "Fill") as scope:
        extents = shape_operand(dims, graph, "dims")
        number = convert_to_tensor(value, name="value", graph=graph)
        return raw.Fill(extents, number, name=scope)


def _number(number: int, dtype: DType) -> Any:
    if dtype.kind == "s":
        if number:
            raise TypeError("there is no string of ones: ask for a numeric dtype")
        return b""
    return np.array(number, dtype.np_dtype)


def _filled(dims: Any, number: int, dtype: DType, name: str, near: Any = None) -> Tensor:
    """Return a constant if the tensor is small and of static shape, else a ``Fill``."""
    graph = graph_of(near, *(dims if isinstance(dims, (list, tuple)) else [dims]))
    known = _early(dims)
    if known is not None and prod(known) <= _CONSTANT_FILL:
        return constant(_number(number, dtype), dtype, known, name, graph=graph)
    with graph.as_default():
        if known is None and isinstance(dims, Tensor) and dims.shape.rank == 0:
            dims = [dims]  # the length of a vector
        return fill(dims if known is None else known, _number(number, dtype), name)


def _early(dims: Any) -> Ints | None:
    """Return dimensions that are statically known, else ``None``."""
    if isinstance(dims, (TensorShape, Dimension)):
        return TensorShape(dims).as_tuple()
    if hasattr(dims, "_as_graph_element"):
        return constant_ints_of(convert_to_tensor(dims))
    if isinstance(dims, np.ndarray):
        return ints(dims)
    if isinstance(dims, (int, np.integer)):
        return (int(dims),)
    if isinstance(dims, (list, tuple)) and all(isinstance(d, (int, np.integer)) for d in dims):
        return tuple(int(d) for d in dims)
    return None


def _zero_of_variant(value: Any) -> Any:
    """Return zeros like a list of tensors, or like each value of an array of variants."""
    if isinstance(value, np.ndarray):
        return np.frompyfunc(_zero_of_variant, 1, 1)(value)
    if not hasattr(value, "zeros_like"):
        raise InvalidArgumentError(f"ZerosLike of {value!r:.100}, which has no zero: a list of tensors has")
    return value.zeros_like()


def _zero_kernel(ctx: KernelContext) -> Kernel:
    spec = ctx.outputs[0]
    if spec.dtype is variant:
        return _zero_of_variant
    if spec.dtype.kind == "s":
        return lambda x: np.full(np.shape(x), b"", object)
    dtype = spec.dtype.np_dtype
    if spec.shape.is_fully_defined():
        dims = spec.shape.as_tuple()
        return lambda _x: np.zeros(dims, dtype)
    return lambda x: np.zeros(x.shape, dtype)


def _one_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype.np_dtype
    return lambda x: np.ones(x.shape, dtype)


op("ZerosLike", same, "zeros_like", kernel=_zero_kernel, grad=NOT_DIFFERENTIABLE)
op("OnesLike", same, "ones_like", kernel=_one_kernel, grad=NOT_DIFFERENTIABLE)


def _infer_fill(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 0, rank=1)
    require_rank(ctx, 1, rank=0)
    dims = constant_ints(ctx, 0)
    if dims is not None and min(dims, default=0) < 0:  # a shape may have unknown sizes, a fill may not
        raise ValueError(f"Fill: dimensions are at least 0, got {list(dims)}")
    return [described_shape(ctx, 0)]


def _fill_kernel(ctx: KernelContext) -> Kernel:
    dims, dtype = constant_ints(ctx, 0), ctx.outputs[0].dtype.np_dtype

    def filled(shape: Any, value: Any) -> Any:
        extents = ints(shape) if dims is None else dims
        if min(extents, default=0) < 0:
            raise InvalidArgumentError(f"Fill: dimensions are at least 0, got {list(extents)}")
        if np.ndim(value):
            raise InvalidArgumentError(f"Fill: value must be a scalar, got shape {list(value.shape)}")
        out = np.empty(extents, dtype)
        out[...] = value
        return out

    value = ctx.constant(1)
    if value is not None and dims is not None and dtype.kind != "O" and not value.any():
        return lambda _dims, _value: np.zeros(dims, dtype)
    return filled


def _fill_static(ctx: InferContext) -> Array | None:
    dims, value = constant_ints(ctx, 0), ctx.constant(1)
    return None if dims is None or value is None else np.broadcast_to(value, dims)


op(
    "Fill",
    _infer_fill,
    kernel=_fill_kernel,
    grad=lambda op, grad: [None, raw.Sum(grad, range_(rank(grad)))],
    static_value=_fill_static,
    sized_by=(0,),
)


# -- Range -----------------------------------------------------------------------------------------


def range_(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range") -> Tensor:
    """Return numbers from ``start`` up to, but not including, ``limit`` (exported as ``range``).

    Args:
        start: first number; if ``limit`` is left out, this is the limit, and 0 the first number.
        limit: exclusive end.
        delta: step, not 0.
        dtype: element type; by default the widest of the operands'.

    Returns:
        A vector.
    """
    first, last = (0, start) if limit is None else (start, limit)
    ends = (first, last, delta)
    graph = graph_of(*ends)
    with graph.name_scope(name) as scope:
        element_type = as_dtype(dtype) if dtype is not None else _widest(ends)
        names = ("start", "limit", "delta")
        operands = [_number_operand(v, element_type, n, graph) for v, n in zip(ends, names, strict=True)]
        return raw.Range(*operands, name=scope)


def _widest(values: Sequence[Any]) -> DType:
    """Return the dtype that holds all operands, in TensorFlow's order."""
    order = (int32, int64, float32, float64)
    present = [
        v._as_graph_element().dtype if hasattr(v, "_as_graph_element") else as_dtype(to_array(v).dtype) for v in values
    ]
    others = [d for d in present if d not in order]
    return others[0] if others else max(present, key=order.index)


def _number_operand(value: Any, dtype: DType, name: str, graph: Any) -> Tensor:
    if hasattr(value, "_as_graph_element"):
        tensor = convert_to_tensor(value)
        return tensor if tensor.dtype is dtype else raw.Cast(tensor, DstT=dtype)
    return constant(np.asarray(value, dtype.np_dtype), name=name, graph=graph)


def _range_length(start: Any, limit: Any, delta: Any, error: type[Exception]) -> int:
    if delta == 0:
        raise error("Range: delta must not be 0")
    # Written so that NaN, for which neither holds, is refused as well.
    if not (start <= limit if delta > 0 else start >= limit):
        raise error(
            f"Range: start {start} lies behind limit {limit} on the way of delta {delta}: the limit must lie ahead"
        )
    if isinstance(start, np.integer):
        return -((int(start) - int(limit)) // int(delta))
    count: int = ceil(abs((limit - start) / delta))  # in the dtype itself, as TensorFlow counts
    return count


def _infer_range(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 0, 1, 2, rank=0)
    known = [v for v in map(ctx.constant, range(3)) if v is not None]
    length = None
    if len(known) == 3:
        start, limit, delta = (v[()] for v in known)
        length = _range_length(start, limit, delta, ValueError)
    return [TensorShape([length])]


def _range_values(start: Any, limit: Any, delta: Any, dtype: np.dtype[Any]) -> Any:
    length = _range_length(start, limit, delta, InvalidArgumentError)
    if isinstance(start, np.integer):
        end = int(start) + length * int(delta)
        return np.arange(int(start), end, int(delta), dtype=dtype)
    # Not np.arange, which counts in float64 and may return one element more or less.
    return (start + np.arange(length) * float(delta)).astype(dtype)


_RANGE = ("start", "limit", "delta")


def _only_number(name: str, value: Any) -> Any:
    """Return the number in an input; a vector with one counts, as in TensorFlow."""
    if value.size != 1:
        raise InvalidArgumentError(f"Range: {name} must be a scalar, not shape {list(value.shape)}")
    return value.reshape(())[()]


def _range_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype.np_dtype

    def values(*numbers: Any) -> Any:
        start, limit, delta = map(_only_number, _RANGE, numbers)
        return _range_values(start, limit, delta, dtype)

    return values


def _range_static(ctx: InferContext) -> Array | None:
    known = [v for v in ctx.constants if v is not None]
    if len(known) < 3:
        return None
    start, limit, delta = (v[()] for v in known)
    values: Array = _range_values(start, limit, delta, ctx.inputs[0].dtype.np_dtype)
    return values


op("Range", _infer_range, kernel=_range_kernel, grad=NOT_DIFFERENTIABLE, static_value=_range_static, sized_by=(0, 1, 2))
