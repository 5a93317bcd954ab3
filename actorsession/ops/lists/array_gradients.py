"""Gradients of the arrays of TensorFlow 1's loops: what was read is written to an array of gradients.

The gradient of a flow is the flow of the array of gradients, so that the backward operations are ordered in
the same way. An array has one array of gradients for each call of ``gradients``. ``array_nodes`` registers
these gradients.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import unknown_shape
from actorsession.ops import raw
from actorsession.ops.build import make, make_one

__all__ = [
    "concat_gradient", "gather_gradient", "read_gradient", "scatter_gradient", "split_gradient",
    "write_gradient",
]  # fmt: skip

Grads = Sequence["Tensor | None"]


def _array(handle: Tensor, flow: Tensor) -> Sequence[Tensor]:
    """Return the array of gradients of an array, with its flow."""
    # Not at the top: ``backward`` imports modules that register these gradients.
    from actorsession.ops.derivatives.backward import gradient_source

    return raw.TensorArrayGradV3(handle, flow, source=gradient_source())


def read_gradient(op: Operation, grad: Tensor | None) -> Grads:
    """Return the gradient of ``TensorArrayReadV3``: a write at the same index."""
    if grad is None:
        return [None] * 3
    handle, index, flow = op.inputs
    array, order = _array(handle, flow)
    return [None, None, raw.TensorArrayWriteV3(array, index, grad, order)]


def write_gradient(op: Operation, grad: Tensor | None) -> Grads:
    """Return the gradient of ``TensorArrayWriteV3``: a read at the same index."""
    if grad is None:
        return [None] * 4
    handle, index, value, _ = op.inputs
    array, order = _array(handle, grad)
    found = raw.TensorArrayReadV3(array, index, order, dtype=value.dtype)
    found.set_shape(value.shape)
    return [None, None, found, grad]


def gather_gradient(op: Operation, grad: Tensor | None) -> Grads:
    """Return the gradient of ``TensorArrayGatherV3``."""
    if grad is None:
        return [None] * 3
    handle, indices, flow = op.inputs
    array, order = _array(handle, flow)
    return [None, None, raw.TensorArrayScatterV3(array, indices, grad, order)]


def scatter_gradient(op: Operation, grad: Tensor | None) -> Grads:
    """Return the gradient of ``TensorArrayScatterV3``."""
    if grad is None:
        return [None] * 4
    handle, indices, value, _ = op.inputs
    array, order = _array(handle, grad)
    attrs = {"dtype": value.dtype, "element_shape": unknown_shape}
    found = make_one("TensorArrayGatherV3", [array, indices, order], attrs)
    return [None, None, found, grad]


def concat_gradient(op: Operation, grad: Tensor | None, lengths: Tensor | None = None) -> Grads:
    """Return the gradient of ``TensorArrayConcatV3``."""
    if grad is None:
        return [None] * 2
    handle, flow = op.inputs
    array, order = _array(handle, flow)
    return [None, raw.TensorArraySplitV3(array, grad, op.outputs[1], order)]


def split_gradient(op: Operation, grad: Tensor | None) -> Grads:
    """Return the gradient of ``TensorArraySplitV3``."""
    if grad is None:
        return [None] * 4
    handle, value, _, _ = op.inputs
    array, order = _array(handle, grad)
    attrs = {"dtype": value.dtype, "element_shape_except0": unknown_shape}
    return [None, make("TensorArrayConcatV3", [array, order], attrs).outputs[0], None, grad]
