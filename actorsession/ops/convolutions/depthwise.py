"""Depthwise convolutions, which convolve each channel by itself, and separable ones, which then mix channels.

Owns the public functions; ``depthwise_nodes`` owns the operation types.
"""

from __future__ import annotations

from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.convolutions import depthwise_nodes  # noqa: F401 - registers the ops that are built here
from actorsession.ops.convolutions.operations import spatial_attrs
from actorsession.ops.shape_operands import shape_operand

__all__ = [
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "separable_conv2d",
]


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    dilations: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Return the correlation of each channel of images with filters of its own.

    Args:
        input: ``[batch, height, width, channels]``.
        filter: ``[height, width, channels, multiplier]``: the result has ``channels * multiplier``.
        strides: a number for each of the four axes.
        padding: as for ``conv2d``.
        dilations: steps between the elements of a window, for the two spatial axes.
        data_format: ``NHWC`` or ``NCHW``.

    Raises:
        ValueError: for shapes or attributes that can never fit.
        TypeError: if the dtypes differ.
    """
    images = convert_to_tensor(input)
    with images.graph.name_scope(name or "depthwise") as scope:
        return depthwise_conv2d_native(images, filter, strides, padding, data_format or "NHWC", dilations, scope)


def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return ``depthwise_conv2d`` with the arguments of the node itself."""
    images = convert_to_tensor(input)
    f = convert_to_tensor(filter, images.dtype, "filter", graph=images.graph)
    attrs = spatial_attrs(strides, padding, data_format, dilations)
    return make_one("DepthwiseConv2dNative", [images, f], attrs, name)


def depthwise_conv2d_native_backprop_input(
    input_sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of ``depthwise_conv2d`` by its images, of shape ``input_sizes``."""
    back = convert_to_tensor(out_backprop)
    f = convert_to_tensor(filter, back.dtype, "filter", graph=back.graph)
    sizes = shape_operand(input_sizes, back.graph, "input_sizes")
    attrs = spatial_attrs(strides, padding, data_format, dilations)
    inputs = [sizes, f, back]
    return make_one("DepthwiseConv2dNativeBackpropInput", inputs, attrs, name)


def depthwise_conv2d_native_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the gradient of ``depthwise_conv2d`` by its filter, of shape ``filter_sizes``."""
    images = convert_to_tensor(input)
    back = convert_to_tensor(out_backprop, images.dtype, "out_backprop", graph=images.graph)
    sizes = shape_operand(filter_sizes, images.graph, "filter_sizes")
    attrs = spatial_attrs(strides, padding, data_format, dilations)
    inputs = [images, sizes, back]
    return make_one("DepthwiseConv2dNativeBackpropFilter", inputs, attrs, name)


depthwise_conv2d_backprop_input = depthwise_conv2d_native_backprop_input
depthwise_conv2d_backprop_filter = depthwise_conv2d_native_backprop_filter


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    dilations: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Return ``depthwise_conv2d`` followed by a mixture of the channels of each pixel.

    Arguments not named here are as for ``depthwise_conv2d``.

    Args:
        input: ``[batch, height, width, channels]``.
        depthwise_filter: ``[height, width, channels, multiplier]``.
        pointwise_filter: ``[1, 1, channels * multiplier, output channels]``.
        strides: a number for each of the four axes.

    Raises:
        ValueError: for shapes that can never fit.
    """
    images = convert_to_tensor(input)
    layout = data_format or "NHWC"
    with images.graph.name_scope(name or "separable_conv2d") as scope:
        mixer = convert_to_tensor(pointwise_filter, images.dtype, "pointwise_filter", graph=images.graph)
        if not mixer.shape.is_compatible_with([1, 1, None, None]):
            raise ValueError(f"a pointwise filter has shape (1, 1, None, None), got {mixer.shape}")
        each = depthwise_conv2d_native(images, depthwise_filter, strides, padding, layout, dilations, "depthwise")
        attrs = spatial_attrs(None, "VALID", layout, None)
        return make_one("Conv2D", [each, mixer], attrs, scope)
