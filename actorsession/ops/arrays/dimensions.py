"""The shape of a tensor as a value: ``Shape``, ``Size`` and ``Rank``.

A result that the static shape determines is computed once, while the graph is built or the plan is bound.
Gradients of other op files use ``shape_tensor``, which builds no op if the result is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession.graph.dtypes import as_dtype, int32, int64
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    Array,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.shape_operands import with_boxed

__all__ = ["rank", "shape", "shape_tensor", "size"]


def shape(input: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """Return the shape of a tensor as a vector of ``out_type`` (int32, or int64)."""
    value = convert_to_tensor(input)
    return raw.Shape(value, out_type=as_dtype(out_type or int32), name=name)


def size(input: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """Return the number of elements of a tensor as a scalar of ``out_type`` (int32, or int64)."""
    value = convert_to_tensor(input)
    return raw.Size(value, out_type=as_dtype(out_type or int32), name=name)


def rank(input: Any, name: str | None = None) -> Tensor:
    """Return the number of dimensions of a tensor as an int32 scalar."""
    return raw.Rank(input, name=name)


def shape_tensor(value: Tensor, out_type: Any = int32) -> Tensor:
    """Return the shape of a tensor for gradients: a constant if it is known, else a ``Shape`` op."""
    dtype = as_dtype(out_type)
    if value.shape.is_fully_defined():
        dims = np.array(value.shape.as_tuple(), dtype.np_dtype)
        return constant(dims, name="Shape", graph=value.graph)
    return shape(value, out_type=dtype)


def _infer_about(shape_of: Callable[[TensorShape], TensorShape]) -> Any:
    """Return the shape function of an op whose result depends on its input's shape only."""

    def infer(ctx: InferContext) -> list[TensorSpec]:
        dtype = as_dtype(ctx.attrs.get("out_type", int32))
        if dtype not in (int32, int64):
            raise TypeError(f"{ctx.op}: out_type is int32 or int64, got {dtype.name}")
        return [TensorSpec(dtype, shape_of(ctx.inputs[0].shape))]

    return infer


def _about(
    known: Callable[[TensorShape], Any], measured: Callable[[Any], Any]
) -> tuple[Callable[[InferContext], Array | None], Callable[[KernelContext], Kernel]]:
    """Return the static value function and kernel factory of such an op.

    Args:
        known: a function of the static shape that returns the result, or ``None`` if it is undetermined.
        measured: a function of the value that returns the result.
    """

    def static(ctx: InferContext) -> Array | None:
        answer = known(ctx.inputs[0].shape)
        dtype = as_dtype(ctx.attrs.get("out_type", int32)).np_dtype
        return None if answer is None else np.array(answer, dtype)

    def kernel(ctx: KernelContext) -> Kernel:
        dtype = ctx.outputs[0].dtype.np_dtype
        answer = known(ctx.inputs[0].shape)
        if answer is None:
            return with_boxed(lambda x: np.array(measured(x), dtype), *ctx.inputs)
        value = np.array(answer, dtype)
        value.flags.writeable = False
        return lambda _x: value

    return static, kernel


def _register_about(
    name: str,
    shape_of: Callable[[TensorShape], TensorShape],
    known: Callable[[TensorShape], Any],
    measured: Callable[[Any], Any],
    **attrs: Any,
) -> None:
    static, kernel = _about(known, measured)
    register(
        OpDef(
            name=name,
            infer=_infer_about(shape_of),
            kernel=kernel,
            gradient=NOT_DIFFERENTIABLE,
            static_value=static,
            aliases=True,  # a statically known result is made once
        )
    )


_register_about(
    "Shape",
    lambda s: TensorShape([s.rank]),
    lambda s: s.sizes if s.is_fully_defined() else None,
    lambda x: x.shape,
    out_type=int32,
)
_register_about(
    "Size", lambda s: scalar_shape, lambda s: s.num_elements(), lambda x: x.size, out_type=int32
)
_register_about("Rank", lambda s: scalar_shape, lambda s: s.rank, lambda x: x.ndim)
