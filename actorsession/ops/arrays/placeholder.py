"""Tensors for feeds: ``placeholder`` and ``placeholder_with_default``."""

from __future__ import annotations

from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import ShapeLike, TensorShape, as_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op

__all__ = ["placeholder", "placeholder_with_default"]


def placeholder(dtype: Any, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """Return a tensor that gets its value from a feed in every step.

    Args:
        dtype: element type of the feeds.
        shape: static shape of the feeds; unknown if left out.
    """
    return raw.Placeholder(dtype=as_dtype(dtype), shape=TensorShape(shape), name=name)


def _placeholder_kernel(ctx: KernelContext) -> Kernel:
    spec = ctx.outputs[0]
    message = (
        f"You must feed a value for placeholder tensor {ctx.name!r} with dtype {spec.dtype.name} and shape {spec.shape}"
    )

    def unfed() -> Any:
        raise InvalidArgumentError(message)

    return unfed


op("Placeholder", lambda ctx: [as_shape(ctx.attrs["shape"])], kernel=_placeholder_kernel, grad=NOT_DIFFERENTIABLE)


def placeholder_with_default(input: Any, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Return a tensor that has the value of ``input`` unless it is fed.

    Args:
        input: the default.
        shape: static shape of the feeds; ``input`` must fit it.
    """
    value = convert_to_tensor(input)
    return raw.PlaceholderWithDefault(value, shape=TensorShape(shape), name=name)


def _infer_default(ctx: InferContext) -> list[TensorShape]:
    default, shape = ctx.inputs[0].shape, as_shape(ctx.attrs["shape"])
    if not default.is_compatible_with(shape):
        raise ValueError(f"PlaceholderWithDefault: a default of shape {default} does not fit {shape}")
    return [shape]


op("PlaceholderWithDefault", _infer_default, lambda x: x, lambda op, grad: [grad], emit="{0}", aliases=True)
