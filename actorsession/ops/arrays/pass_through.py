"""Ops that pass tensors through and add information about them.

Owns ``EnsureShape``, ``IdentityN``, ``GuaranteeConst`` and ``ShapeN``. Values are not copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype, int32, int64
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)
from actorsession.graph.shape import ShapeLike, TensorShape, as_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_all, convert_to_tensor, graph_of, make, make_of
from actorsession.ops.shape_operands import same_dtype

__all__ = ["ensure_shape", "guarantee_const", "identity_n", "shape_n"]


# -- EnsureShape -----------------------------------------------------------------------------------


def ensure_shape(x: Any, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Return the same tensor with a static shape, which each step checks.

    Args:
        x: any tensor.
        shape: the required shape; ``None`` for arbitrary dimensions.
        name: wanted name.

    Raises:
        ValueError: if the static shape of ``x`` contradicts it.
    """
    return make_of("EnsureShape", {"x": x}, {"shape": TensorShape(shape)}, name)


def _infer_ensure(ctx: InferContext) -> list[TensorSpec]:
    value, wanted = ctx.inputs[0], as_shape(ctx.attrs["shape"])
    if not value.shape.is_compatible_with(wanted):
        raise ValueError(f"EnsureShape: shape {wanted} is wanted, got {value.shape}")
    return [TensorSpec(value.dtype, value.shape.merge_with(wanted))]


def _ensure_kernel(ctx: KernelContext) -> Kernel:
    wanted = as_shape(ctx.attrs["shape"])
    if ctx.inputs[0].shape.is_fully_defined() or wanted.sizes is None:
        return lambda x: x
    dims = wanted.sizes

    def checked(x: Any) -> Any:
        found = np.shape(x)
        if len(found) != len(dims) or any(
            d not in (None, n) for d, n in zip(dims, found, strict=True)
        ):
            raise InvalidArgumentError(f"shape {wanted} is wanted, got {list(found)}")
        return x

    return checked


register(
    OpDef(
        name="EnsureShape",
        infer=_infer_ensure,
        kernel=_ensure_kernel,
        gradient=lambda op, grad: [grad],
        static_value=lambda ctx: ctx.constants[0],
        aliases=True,
    )
)


# -- IdentityN, GuaranteeConst ---------------------------------------------------------------------


def identity_n(input: Sequence[Any], name: str | None = None) -> list[Tensor]:
    """Return the same values as several tensors, which may differ in dtype.

    Args:
        input: tensors, at least one.
        name: wanted name.

    Raises:
        ValueError: without tensors.
    """
    if not len(input):
        raise ValueError("identity_n needs at least one tensor, got none")
    graph = graph_of(*input)
    tensors = [convert_to_tensor(value, graph=graph) for value in input]
    return list(make("IdentityN", tensors, None, name, graph).outputs)


def guarantee_const(input: Any, name: str | None = None) -> Tensor:
    """Return the same tensor, assumed to have one value in all steps; no gradient flows through it."""
    return raw.GuaranteeConst(input, name=name)


def _identity_n_kernel(ctx: KernelContext) -> Kernel:
    if len(ctx.inputs) == 1:
        return lambda x: x
    return lambda *values: values


def _identity_n_gradient(op: Operation, *grads: Tensor | None) -> Sequence[Tensor | None]:
    return list(grads)


register(
    OpDef(
        name="IdentityN",
        infer=lambda ctx: list(ctx.inputs),
        kernel=_identity_n_kernel,
        gradient=_identity_n_gradient,
        aliases=True,
    )
)
register(
    OpDef(
        name="GuaranteeConst",
        infer=lambda ctx: [ctx.inputs[0]],
        kernel=lambda ctx: lambda x: x,
        static_value=lambda ctx: ctx.constants[0],
        aliases=True,
    )
)


# -- ShapeN ----------------------------------------------------------------------------------------


def shape_n(input: Sequence[Any], out_type: Any = int32, name: str | None = None) -> list[Tensor]:
    """Return the shapes of several tensors of one dtype.

    Args:
        input: tensors, at least one.
        out_type: dtype of the shapes, int32 or int64.
        name: wanted name.

    Raises:
        ValueError: without tensors.
        TypeError: if their dtypes differ.
    """
    if not len(input):
        raise ValueError("shape_n needs at least one tensor, got none")
    op = make("ShapeN", convert_all(list(input)), {"out_type": as_dtype(out_type)}, name)
    return list(op.outputs)


def _infer_shape_n(ctx: InferContext) -> list[TensorSpec]:
    same_dtype(ctx, *range(len(ctx.inputs)))
    dtype = as_dtype(ctx.attrs["out_type"])
    if dtype not in (int32, int64):
        raise TypeError(f"ShapeN: out_type is int32 or int64, got {dtype.name}")
    return [TensorSpec(dtype, TensorShape([spec.shape.rank])) for spec in ctx.inputs]


def _shape_n_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype.np_dtype

    def dims(x: Any) -> Any:
        return np.array(np.shape(x), dtype)

    return dims if len(ctx.inputs) == 1 else lambda *values: tuple(map(dims, values))


register(
    OpDef(
        name="ShapeN",
        infer=_infer_shape_n,
        kernel=_shape_n_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
