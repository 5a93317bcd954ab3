"""Ops that pass tensors through and add information about them.

Owns ``EnsureShape``, ``IdentityN``, ``GuaranteeConst`` and ``ShapeN``. Values are not copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import ShapeLike, TensorShape, as_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import vectors_of_ranks
from actorsession.ops.build import convert_all, convert_to_tensor, graph_of
from actorsession.ops.rows import op, same

__all__ = ["ensure_shape", "guarantee_const", "identity_n", "shape_n"]


# -- EnsureShape -----------------------------------------------------------------------------------


def ensure_shape(x: Any, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Return the same tensor with a static shape, which each step checks.

    Args:
        x: any tensor.
        shape: the required shape; ``None`` for arbitrary dimensions.
    """
    return raw.EnsureShape(x, shape=TensorShape(shape), name=name)


def _infer_ensure(ctx: InferContext) -> list[TensorShape]:
    shape, required = ctx.inputs[0].shape, as_shape(ctx.attrs["shape"])
    if not shape.is_compatible_with(required):
        raise ValueError(f"EnsureShape: shape {required} is wanted, got {shape}")
    return [shape.merge_with(required)]


def _ensure_kernel(ctx: KernelContext) -> Kernel:
    required = as_shape(ctx.attrs["shape"])
    if ctx.inputs[0].shape.is_fully_defined() or required.sizes is None:
        return lambda x: x
    dims = required.sizes

    def checked(x: Any) -> Any:
        actual = np.shape(x)
        if len(actual) != len(dims) or any(d not in (None, n) for d, n in zip(dims, actual, strict=True)):
            raise InvalidArgumentError(f"shape {required} is wanted, got {list(actual)}")
        return x

    return checked


op(
    "EnsureShape",
    _infer_ensure,
    kernel=_ensure_kernel,
    grad=lambda op, grad: [grad],
    static_value=lambda ctx: ctx.constants[0],
    aliases=True,
)


# -- IdentityN, GuaranteeConst ---------------------------------------------------------------------


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """Return the same values as several tensors, which may differ in dtype.

    Args:
        input: tensors, at least one.
    """
    if not len(input):
        raise ValueError("identity_n needs at least one tensor, got none")
    graph = graph_of(*input)
    tensors = [convert_to_tensor(value, graph=graph) for value in input]
    return raw.IdentityN(tensors, name=name)


def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """Return the same tensor, assumed to have one value in all steps; no gradient flows through it."""
    return raw.GuaranteeConst(input, name=name)


def _identity_n_kernel(ctx: KernelContext) -> Kernel:
    if len(ctx.inputs) == 1:
        return lambda x: x
    return lambda *values: values


op(
    "IdentityN",
    lambda ctx: [spec.shape for spec in ctx.inputs],
    kernel=_identity_n_kernel,
    grad=lambda op, *grads: list(grads),
    aliases=True,
)
op("GuaranteeConst", same, lambda x: x, static_value=lambda ctx: ctx.constants[0], aliases=True)


# -- ShapeN ----------------------------------------------------------------------------------------


def shape_n(input: Sequence[Any], out_type: Any = int32, name: str | None = None) -> list[Tensor]:
    """Return the shapes of several tensors of one dtype.

    Args:
        input: tensors, at least one.
        out_type: dtype of the shapes, int32 or int64.
    """
    if not len(input):
        raise ValueError("shape_n needs at least one tensor, got none")
    return raw.ShapeN(convert_all(list(input)), out_type=out_type, name=name)


def _shape_n_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype.np_dtype

    def dims(x: Any) -> Any:
        return np.array(np.shape(x), dtype)

    return dims if len(ctx.inputs) == 1 else lambda *values: tuple(map(dims, values))


op("ShapeN", vectors_of_ranks, kernel=_shape_n_kernel, grad=NOT_DIFFERENTIABLE)
