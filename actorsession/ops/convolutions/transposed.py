"""Transposed convolutions: the gradient of a convolution by its images, used as a layer.

Owns the public functions; the nodes are those of ``nodes`` that compute the gradient by the images.
"""

from __future__ import annotations

from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import expand_dims, squeeze
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.convolutions.operations import row_attrs, row_layout, spatial_attrs, spatial_axes, volume_attrs
from actorsession.ops.shape_operands import shape_operand

__all__ = ["atrous_conv2d_transpose", "conv1d_transpose", "conv2d_transpose", "conv3d_transpose", "conv_transpose"]


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Return the transpose of ``conv2d``: images of ``output_shape`` whose convolution has ``input``'s shape.

    Arguments as for ``conv2d``, but for these.

    Args:
        input: ``[batch, height, width, channels]``.
        filters: ``[height, width, output channels, channels]``.
        output_shape: shape of the result, a list of ints and scalar tensors or a vector.

    Raises:
        ValueError: for shapes that can never fit.
        TypeError: if the dtypes differ.
    """
    images = convert_to_tensor(input)
    attrs = spatial_attrs(strides, padding, data_format or "NHWC", dilations)
    with images.graph.name_scope(name or "conv2d_transpose") as scope:
        return _transposed("Conv2DBackpropInput", images, filters, output_shape, attrs, scope)


def _transposed(op: str, images: Tensor, kernel: Any, output_shape: Any, attrs: dict[str, Any], scope: str) -> Tensor:
    f = convert_to_tensor(kernel, images.dtype, "filter", graph=images.graph)
    sizes = shape_operand(output_shape, images.graph, "input_sizes")
    return make_one(op, [sizes, f, images], attrs, scope)


def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the transpose of ``conv1d``.

    Arguments as for ``conv2d_transpose``, with one spatial axis and the layouts ``NWC`` and ``NCW``.
    """
    values = convert_to_tensor(input)
    with values.graph.name_scope(name or "conv1d_transpose") as scope:
        layout, row = row_layout(data_format)
        attrs = row_attrs(strides, padding, layout, dilations)
        f = convert_to_tensor(filters, values.dtype, "filters", graph=values.graph)
        extents = shape_operand(output_shape, values.graph, "output_shape")
        one = convert_to_tensor([1], extents.dtype, graph=values.graph)
        images, kernel = expand_dims(values, row), expand_dims(f, 0)
        sizes = concat([extents[:row], one, extents[row:]], 0)
        convolved = make_one("Conv2DBackpropInput", [sizes, kernel, images], attrs, scope)
        return squeeze(convolved, [row])


def conv3d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str | None = "NDHWC",
    name: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Return the transpose of ``conv3d``.

    Arguments as for ``conv2d_transpose``, with three spatial axes and the layouts ``NDHWC``, ``NCDHW``.
    """
    volumes = convert_to_tensor(input)
    attrs = volume_attrs(strides, padding, data_format or "NDHWC", dilations)
    with volumes.graph.name_scope(name or "conv3d_transpose") as scope:
        return _transposed("Conv3DBackpropInputV2", volumes, filters, output_shape, attrs, scope)


def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the transpose of ``convolution``, with as many spatial axes as the filter has.

    Arguments as for ``conv2d_transpose``.
    """
    values = convert_to_tensor(input)
    f = convert_to_tensor(filters, values.dtype, "filters", graph=values.graph)
    count = spatial_axes(values, f)
    front = data_format is not None and data_format.startswith("NC")
    with values.graph.name_scope(name or "conv_transpose") as scope:
        if count == 1:
            flat = "NCW" if front else "NWC"
            return conv1d_transpose(values, f, output_shape, strides, padding, flat, dilations, scope)
        if count == 2:
            attrs = spatial_attrs(strides, padding, "NCHW" if front else "NHWC", dilations)
            return _transposed("Conv2DBackpropInput", values, f, output_shape, attrs, scope)
        attrs = volume_attrs(strides, padding, "NCDHW" if front else "NDHWC", dilations)
        return _transposed("Conv3DBackpropInputV2", values, f, output_shape, attrs, scope)


def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: Any, name: str | None = None
) -> Tensor:
    """Return the transpose of ``atrous_conv2d``.

    Arguments as for ``conv2d_transpose``, with the elements of a window ``rate`` pixels apart.

    Raises:
        ValueError: for shapes that can never fit, or a rate below 1.
    """
    if rate < 1:
        raise ValueError(f"a rate is at least 1, got {rate}")
    images = convert_to_tensor(value)
    with images.graph.name_scope(name or "atrous_conv2d_transpose") as scope:
        attrs = spatial_attrs(None, padding, "NHWC", [rate, rate])
        return _transposed("Conv2DBackpropInput", images, filters, output_shape, attrs, scope)
