"""Tensors for feeds: ``placeholder`` and ``placeholder_with_default``."""

from __future__ import annotations

from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
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
from actorsession.ops.build import convert_to_tensor, make_one

__all__ = ["placeholder", "placeholder_with_default"]


def placeholder(dtype: Any, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """Return a tensor that gets its value from a feed in every step.

    Args:
        dtype: element type of the feeds.
        shape: static shape of the feeds; unknown if left out.
        name: wanted name.
    """
    attrs = {"dtype": as_dtype(dtype), "shape": TensorShape(shape)}
    return make_one("Placeholder", (), attrs, name)


def _infer_placeholder(ctx: InferContext) -> list[TensorSpec]:
    return [TensorSpec(as_dtype(ctx.attrs["dtype"]), as_shape(ctx.attrs["shape"]))]


def _placeholder_kernel(ctx: KernelContext) -> Kernel:
    spec = ctx.outputs[0]
    message = (
        f"You must feed a value for placeholder tensor {ctx.name!r} with dtype {spec.dtype.name} "
        f"and shape {spec.shape}"
    )

    def unfed() -> Any:
        raise InvalidArgumentError(message)

    return unfed


register(
    OpDef(
        name="Placeholder",
        infer=_infer_placeholder,
        kernel=_placeholder_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)


def placeholder_with_default(input: Any, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Return a tensor that has the value of ``input`` unless it is fed.

    Args:
        input: the default.
        shape: static shape of the feeds; ``input`` must fit it.
        name: wanted name.

    Raises:
        ValueError: if the shape of ``input`` does not fit ``shape``.
    """
    value = convert_to_tensor(input)
    return raw.PlaceholderWithDefault(value, shape=TensorShape(shape), name=name)


def _infer_default(ctx: InferContext) -> list[TensorSpec]:
    given, shape = ctx.inputs[0], as_shape(ctx.attrs["shape"])
    if not given.shape.is_compatible_with(shape):
        raise ValueError(
            f"PlaceholderWithDefault: a default of shape {given.shape} does not fit {shape}"
        )
    return [TensorSpec(given.dtype, shape)]


register(
    OpDef(
        name="PlaceholderWithDefault",
        infer=_infer_default,
        kernel=lambda ctx: lambda x: x,
        emit=lambda ctx, args: args[0],
        gradient=lambda op, grad: [grad],
        aliases=True,
    )
)
