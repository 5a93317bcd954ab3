"""Rounding and closeness: the nearest integer, the next float, and approximate equality."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import bool_, float32, float64
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
from actorsession.ops import raw
from actorsession.ops.broadcasting import summed
from actorsession.ops.build import convert_all, make_one
from actorsession.ops.operands import check_dtype, infer_like, infer_same, merged_shape

__all__ = ["approximate_equal", "nextafter", "rint"]


def rint(x: Any, name: str | None = None) -> Tensor:
    """Return the nearest integer of each element as floating-point number, halves to the even one."""
    return raw.Rint(x, name=name)


def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """Return the next number of its type after ``x1`` in the direction of ``x2``, with broadcasting.

    Args:
        x1: float32 or float64.
        x2: the same dtype.
        name: wanted name.
    """
    return raw.NextAfter(x1, x2, name=name)


def approximate_equal(x: Any, y: Any, tolerance: float = 1e-5, name: str | None = None) -> Tensor:
    """Return whether ``|x - y| < tolerance``, element by element without broadcasting.

    Args:
        x: numbers.
        y: the same dtype and shape.
        tolerance: exclusive bound of the difference.
        name: wanted name.

    Raises:
        ValueError: if the shapes contradict each other.
    """
    attrs = {"tolerance": float(tolerance)}
    return make_one("ApproximateEqual", convert_all([x, y]), attrs, name)


def _infer_approximate(ctx: InferContext) -> list[TensorSpec]:
    check_dtype(ctx, "iufc")
    return [TensorSpec(bool_, merged_shape(ctx))]


def _approximate_kernel(ctx: KernelContext) -> Kernel:
    tolerance, unsigned = ctx.attrs["tolerance"], ctx.inputs[0].dtype.kind == "u"

    def approximate_equal(x: Any, y: Any) -> Any:
        if x.shape != y.shape:
            raise InvalidArgumentError(
                f"ApproximateEqual takes inputs of one shape; got {list(x.shape)}, {list(y.shape)}"
            )
        apart = np.maximum(x, y) - np.minimum(x, y) if unsigned else np.abs(x - y)
        return apart < tolerance

    return approximate_equal


def _infer_next(ctx: InferContext) -> list[TensorSpec]:
    [spec] = infer_same("f")(ctx)
    if spec.dtype not in (float32, float64):
        raise TypeError(f"NextAfter takes float32 or float64; got {spec.dtype.name}")
    return [spec]


def _next_back(x1: Tensor, x2: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    return grad, raw.ZerosLike(grad)


register(
    OpDef(
        name="Rint",
        infer=infer_like("f"),
        kernel=lambda ctx: np.rint,
        gradient=NOT_DIFFERENTIABLE,
    )
)
register(
    OpDef(
        name="NextAfter",
        infer=_infer_next,
        kernel=lambda ctx: np.nextafter,
        gradient=summed(_next_back),
    )
)
register(
    OpDef(
        name="ApproximateEqual",
        infer=_infer_approximate,
        kernel=_approximate_kernel,
        gradient=NOT_DIFFERENTIABLE,
    )
)
