"""Half the sum of squares of a tensor, as one node."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.dtypes import bfloat16, float16, float32, float64
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext, OpDef, register
from actorsession.graph.shape import scalar_shape
from actorsession.ops import raw

__all__ = ["l2_loss"]


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Return half the sum of squares, a scalar.

    Args:
        t: a floating tensor.
        name: wanted name.
    """
    return raw.L2Loss(t, name=name)


def _infer_l2_loss(ctx: InferContext) -> list[TensorSpec]:
    dtype = ctx.inputs[0].dtype
    if not dtype.is_floating:
        raise TypeError(f"L2Loss takes a floating type, got {dtype.name}")
    return [TensorSpec(dtype, scalar_shape)]


def _l2_loss_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype
    if dtype in (float16, bfloat16):
        return lambda t: dtype.np_dtype.type(_half_square(t.astype(np.float32)))
    assert dtype in (float32, float64)
    return _half_square


def _half_square(t: Any) -> Any:
    flat = t.reshape(-1)
    return flat.dot(flat) * flat.dtype.type(0.5)


register(
    OpDef(
        name="L2Loss",
        infer=_infer_l2_loss,
        kernel=_l2_loss_kernel,
        gradient=lambda op, grad: [None if grad is None else op.inputs[0] * grad],
    )
)
