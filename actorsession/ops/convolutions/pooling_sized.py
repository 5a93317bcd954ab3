"""Pooling whose windows and strides are inputs: ``MaxPoolV2`` and its gradients.

A call looks up, by the sizes that it is given, the kernel of the type that has them as attributes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.build import make_one
from actorsession.ops.compounds import kernel_of, specs_of
from actorsession.ops.rows import check_inputs, op
from actorsession.ops.shape_operands import Ints, constant_ints, ints

__all__: list[str] = []

# Kernels kept per node; a node has one pair of sizes unless a program computes them.
_KEPT = 16


def _sized(ctx: InferContext) -> Sequence[TensorShape]:
    check_inputs(ctx)
    count = len(ctx.inputs) - 2
    sizes = [constant_ints(ctx, count + at) for at in (0, 1)]
    if None not in sizes:
        attrs = {**ctx.attrs, "ksize": sizes[0], "strides": sizes[1]}
        return [spec.shape for spec in specs_of(_older(ctx.op), ctx.inputs[:count], attrs)]
    images = ctx.inputs[0].shape.with_rank(4)
    if ctx.op == "MaxPoolGradV2":
        return [images]
    return [TensorShape([images[0], None, None, None])]


def _older(op_type: str) -> str:
    return op_type.removesuffix("V2")


def _kernel(ctx: KernelContext) -> Kernel:
    count = len(ctx.inputs) - 2

    @functools.lru_cache(_KEPT)
    def of_sizes(ksize: Ints, strides: Ints) -> Kernel:
        attrs = {**ctx.attrs, "ksize": ksize, "strides": strides}
        return kernel_of(ctx, _older(ctx.op), ctx.inputs[:count], attrs)

    return lambda *inputs: of_sizes(ints(inputs[count]), ints(inputs[count + 1]))(*inputs[:count])


def _forward_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    inputs: list[Any] = [op.inputs[0], op.outputs[0], grad, *op.inputs[1:]]
    return [make_one("MaxPoolGradV2", inputs, op.attrs), None, None]


def _back_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """Return the gradient through the incoming gradient only: small changes do not move the maxima."""
    images, result, _, *sizes = op.inputs
    other = "MaxPoolGradV2" if op.type == "MaxPoolGradGradV2" else "MaxPoolGradGradV2"
    through = make_one(other, [images, result, grad, *sizes], op.attrs)
    return [zeros_like(images), zeros_like(result), through, None, None]


op("MaxPoolV2", _sized, kernel=_kernel, grad=_forward_gradient, divides=True)
op("MaxPoolGradV2", _sized, kernel=_kernel, grad=_back_gradient, divides=True)
op("MaxPoolGradGradV2", _sized, kernel=_kernel, grad=_back_gradient)
