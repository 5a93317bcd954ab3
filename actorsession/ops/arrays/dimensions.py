"""The shape of a tensor as a value: ``Shape``, ``Size`` and ``Rank``.

A result that the static shape determines is computed once, while the graph is built or the plan is bound.
Gradients of other op files use ``shape_tensor``, which builds no op if the result is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from actorsession.graph.dtypes import as_dtype, int32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.rows import op, scalar
from actorsession.ops.shape_operands import with_boxed

__all__ = ["rank", "shape", "shape_tensor", "size", "vectors_of_ranks"]


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


def _about(known: Callable[[TensorShape], Any], measured: Callable[[Any], Any]) -> Mapping[str, Any]:
    """Return the fields of an op whose result depends on its input's shape only.

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

    # A statically known result is made once: it may be the same array in all steps.
    return {"kernel": kernel, "grad": NOT_DIFFERENTIABLE, "static_value": static, "aliases": True}


def vectors_of_ranks(ctx: InferContext) -> list[TensorShape]:
    """Return the shapes of vectors with an entry per dimension of each input."""
    return [TensorShape([spec.shape.rank]) for spec in ctx.inputs]


def _dims(shape: TensorShape) -> Any:
    return shape.sizes if shape.is_fully_defined() else None


op("Shape", vectors_of_ranks, **_about(_dims, lambda x: x.shape))
op("Size", scalar, **_about(lambda s: s.num_elements(), lambda x: x.size))
op("Rank", scalar, **_about(lambda s: s.rank, lambda x: x.ndim))
