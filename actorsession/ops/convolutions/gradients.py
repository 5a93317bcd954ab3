"""Gradients of the three operation types of a convolution: each is composed of the other two.

``nodes`` registers them. The operations are bilinear, so second derivatives need no further types.
"""

from __future__ import annotations

from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.build import make_one

__all__ = ["convolution_gradient", "filter_gradient_gradient", "input_gradient_gradient"]


def _types(op: Operation) -> tuple[str, str, str]:
    """Return the operation types of the convolution and of its two gradients."""
    if op.type.startswith("Conv2D"):
        return "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"
    return "Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"


def convolution_gradient(op: Operation, grad: Tensor | None) -> list[Tensor | None]:
    """Return the gradients of a convolution by images and filter."""
    if grad is None:
        return [None, None]
    _, by_input, by_filter = _types(op)
    images, kernel = op.inputs
    return [
        make_one(by_input, [shape_tensor(images), kernel, grad], op.attrs),
        make_one(by_filter, [images, shape_tensor(kernel), grad], op.attrs),
    ]


def input_gradient_gradient(op: Operation, grad: Tensor | None) -> list[Tensor | None]:
    """Return the gradients of the gradient by the images: by the filter and the incoming gradient."""
    if grad is None:
        return [None, None, None]
    forward, _, by_filter = _types(op)
    _, kernel, back = op.inputs
    return [
        None,
        make_one(by_filter, [grad, shape_tensor(kernel), back], op.attrs),
        make_one(forward, [grad, kernel], op.attrs),
    ]


def filter_gradient_gradient(op: Operation, grad: Tensor | None) -> list[Tensor | None]:
    """Return the gradients of the gradient by the filter: by the images and the incoming gradient."""
    if grad is None:
        return [None, None, None]
    forward, by_input, _ = _types(op)
    images, _, back = op.inputs
    return [
        make_one(by_input, [shape_tensor(images), grad, back], op.attrs),
        None,
        make_one(forward, [images, grad], op.attrs),
    ]
