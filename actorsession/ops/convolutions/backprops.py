"""The gradients of convolutions as public functions.

``nodes`` owns the operation types.
"""

from __future__ import annotations

from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.convolutions.operations import spatial_attrs, volume_attrs
from actorsession.ops.shape_operands import shape_operand

__all__ = ["conv2d_backprop_filter", "conv2d_backprop_input", "conv3d_backprop_filter", "conv3d_backprop_filter_v2"]


def conv2d_backprop_input(
    input_sizes: Any,
    filters: Any,
    out_backprop: Any,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of ``conv2d`` by its images.

    Arguments as for ``conv2d``, but for these.

    Args:
        input_sizes: the shape of the images, or their height and width.
        out_backprop: the gradient by the result.
    """
    back = convert_to_tensor(out_backprop)
    f = convert_to_tensor(filters, back.dtype, "filter", graph=back.graph)
    sizes = shape_operand(input_sizes, back.graph, "input_sizes")
    attrs = spatial_attrs(strides, padding, data_format, dilations)
    return make_one("Conv2DBackpropInput", [sizes, f, back], attrs, name)


def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of ``conv2d`` by its filter, of shape ``filter_sizes``.

    Arguments as for ``conv2d`` and ``conv2d_backprop_input``.
    """
    attrs = spatial_attrs(strides, padding, data_format, dilations)
    return _by_filter("Conv2DBackpropFilter", input, filter_sizes, out_backprop, attrs, name)


def conv3d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of ``conv3d`` by its filter, of shape ``filter_sizes``.

    Arguments as for ``conv3d`` and ``conv2d_backprop_filter``.
    """
    attrs = volume_attrs(strides, padding, data_format, dilations)
    return _by_filter("Conv3DBackpropFilterV2", input, filter_sizes, out_backprop, attrs, name)


conv3d_backprop_filter_v2 = conv3d_backprop_filter


def _by_filter(op: str, input: Any, sizes: Any, back: Any, attrs: dict[str, Any], name: str | None) -> Tensor:
    images = convert_to_tensor(input)
    filter_size = shape_operand(sizes, images.graph, "filter_sizes")
    grad = convert_to_tensor(back, images.dtype, "out_backprop", graph=images.graph)
    return make_one(op, [images, filter_size, grad], attrs, name)
