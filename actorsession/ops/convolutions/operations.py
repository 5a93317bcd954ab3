"""The public convolution functions, with one to three spatial axes.

``nodes`` owns the operation types. Sequences with one spatial axis become images of one row. Dilations are
attributes of the nodes: where TensorFlow first moves pixels into the batch, values and errors are the same
here, and the graph is smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import expand_dims, reshape, squeeze
from actorsession.ops.build import constant, convert_to_tensor, make_one
from actorsession.ops.convolutions import nodes  # noqa: F401 - registers the ops that are built here
from actorsession.ops.convolutions.windows import explicit_padding, per_axis

__all__ = ["atrous_conv2d", "conv1d", "conv2d", "conv3d", "convolution"]


def conv2d(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = None,
    data_format: str | None = "NHWC",
    dilations: Any = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the correlation of images with filters.

    Args:
        input: images ``[batch, height, width, channels]``; further batch axes may come first.
        filters: ``[height, width, channels, output channels]``; if it has fewer channels than the images,
            these are split into groups.
        strides: steps of the window: one number, one for each spatial axis, or one for each axis.
        padding: ``"SAME"``, ``"VALID"`` or a list of pairs (before, behind) for each axis.
        data_format: ``NHWC`` or ``NCHW``.
        dilations: steps between the elements of a window, given in the same forms as ``strides``.

    Raises:
        ValueError: for shapes or attributes that can never fit.
        TypeError: if the dtypes differ, or the padding is missing.
    """
    layout = data_format or "NHWC"
    images = convert_to_tensor(input)
    if images.shape.rank is not None and images.shape.rank > 4:
        return _with_batches(images, filters, strides, padding, layout, dilations, name)
    return _conv2d(images, filters, strides, padding, layout, dilations, name)


def _conv2d(
    images: Tensor, kernel: Any, strides: Any, padding: Any, layout: str, dilations: Any, name: str | None
) -> Tensor:
    f = convert_to_tensor(kernel, images.dtype, "filter", graph=images.graph)
    attrs = spatial_attrs(strides, padding, layout, dilations)
    return make_one("Conv2D", [images, f], attrs, name)


def spatial_attrs(strides: Any, padding: Any, layout: str, dilations: Any) -> dict[str, Any]:
    """Return the attributes of a node with two spatial axes from the arguments of a public function."""
    kind, explicit = explicit_padding(padding)
    return {
        "strides": per_axis(strides, _known_layout(layout), "strides"),
        "padding": kind,
        "explicit_paddings": explicit,
        "data_format": layout,
        "dilations": per_axis(dilations, layout, "dilations"),
    }


def _known_layout(layout: str) -> str:
    if layout not in ("NHWC", "NCHW"):
        raise ValueError(f"data_format is NHWC or NCHW, got {layout!r}")
    return layout


def _with_batches(
    images: Tensor, kernel: Any, strides: Any, padding: Any, layout: str, dilations: Any, name: str | None
) -> Tensor:
    """Merge several batch axes of images into one, convolve, and split the batch of the result again."""
    with images.graph.name_scope(name or "squeeze_batch_dims") as scope:
        inner = images.shape[-3:]
        where = shape(images)
        front = constant([-1], graph=images.graph)
        flat = reshape(images, concat([front, where[-3:]], 0))
        flat.set_shape([None, *inner])
        convolved = _conv2d(flat, kernel, strides, padding, layout, dilations, None)
        result = reshape(convolved, concat([where[:-3], shape(convolved)[-3:]], 0), scope)
        result.set_shape(images.shape[:-3].concatenate(convolved.shape[-3:]))
        return result


def conv1d(
    input: Any,
    filters: Any,
    stride: Any = None,
    padding: Any = None,
    data_format: str | None = None,
    name: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Return the correlation of sequences with filters.

    Args:
        input: ``[batch, width, channels]``.
        filters: ``[width, channels, output channels]``.
        stride: step of the window.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``NWC`` (or ``NHWC``, the default) or ``NCW`` (or ``NCHW``).
        dilations: step between the elements of a window.

    Raises:
        ValueError: for shapes or attributes that can never fit.
        TypeError: if the dtypes differ, or the padding is no string.
    """
    sequences = convert_to_tensor(input)
    with sequences.graph.name_scope(name or "conv1d") as scope:
        f = convert_to_tensor(filters, sequences.dtype, "filters", graph=sequences.graph)
        layout, row = row_layout(data_format)
        attrs = row_attrs(stride, padding, layout, dilations)
        images, kernel = expand_dims(sequences, row), expand_dims(f, 0)
        convolved = make_one("Conv2D", [images, kernel], attrs, scope)
        return squeeze(convolved, [row])


def row_layout(data_format: str | None) -> tuple[str, int]:
    """Return the layout of one-row images for a layout of sequences, and the axis of that row.

    Raises:
        ValueError: for a layout that sequences do not have.
    """
    if data_format in (None, "NWC", "NHWC"):
        return "NHWC", 1
    if data_format in ("NCW", "NCHW"):
        return "NCHW", 2
    raise ValueError(f"data_format is NWC or NCW, got {data_format!r}")


def row_attrs(stride: Any, padding: Any, layout: str, dilations: Any) -> dict[str, Any]:
    """Return the attributes of a node that treats sequences as images of one row."""
    flat = "NWC" if layout == "NHWC" else "NCW"
    return {
        "strides": _behind_row(per_axis(stride, flat, "stride"), layout),
        "padding": padding,
        "data_format": layout,
        "dilations": _behind_row(per_axis(dilations, flat, "dilations"), layout),
    }


def _behind_row(steps: Sequence[int], layout: str) -> tuple[int, ...]:
    row = 1 if layout == "NHWC" else 2
    return (*steps[:row], 1, *steps[row:])


def conv3d(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = None,
    data_format: str | None = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """Return the correlation of volumes with filters.

    The arguments are those of ``conv2d``, with volumes ``[batch, depth, height, width, channels]``, the
    layouts ``NDHWC`` and ``NCDHW``, a number for each of the five axes in ``strides``, and no lists of
    paddings.
    """
    if not isinstance(strides, (list, tuple)):
        raise TypeError(f"strides of conv3d are a list of 5 numbers, got {strides!r}")
    volumes = convert_to_tensor(input)
    return _conv3d(volumes, filters, strides, padding, data_format or "NDHWC", dilations, name)


def _conv3d(
    volumes: Tensor, kernel: Any, strides: Any, padding: Any, layout: str, dilations: Any, name: str | None
) -> Tensor:
    f = convert_to_tensor(kernel, volumes.dtype, "filter", graph=volumes.graph)
    return make_one("Conv3D", [volumes, f], volume_attrs(strides, padding, layout, dilations), name)


def volume_attrs(strides: Any, padding: Any, layout: str, dilations: Any) -> dict[str, Any]:
    """Return the attributes of a node with three spatial axes from the arguments of a public function."""
    if layout not in ("NDHWC", "NCDHW"):
        raise ValueError(f"data_format is NDHWC or NCDHW, got {layout!r}")
    return {
        "strides": per_axis(strides, layout, "strides"),
        "padding": padding,
        "data_format": layout,
        "dilations": per_axis(dilations, layout, "dilations"),
    }


def convolution(
    input: Any,
    filters: Any,
    padding: Any,
    strides: Any = None,
    dilations: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Return the correlation with filters, with as many spatial axes as the filter has.

    Args:
        input: ``[batch, *sizes, channels]``, with one to three sizes.
        filters: ``[*window, channels, output channels]``.
        padding: ``"SAME"`` or ``"VALID"``; for images also a list as for ``conv2d``.
        strides: a number, or one for each spatial axis.
        dilations: steps between the elements of a window, given like ``strides``.
        data_format: a layout that starts with ``NC`` has the channels as axis 1.

    Raises:
        ValueError: for shapes that can never fit, or if both strides and dilations exceed 1.
    """
    values = convert_to_tensor(input)
    f = convert_to_tensor(filters, values.dtype, "filter", graph=values.graph)
    count = spatial_axes(values, f)
    check_steps(strides, dilations)
    front = data_format is not None and data_format.startswith("NC")
    with values.graph.name_scope(name or "convolution") as scope:
        return _of_axes(count, values, f, strides, padding, front, dilations, scope)


def _of_axes(
    count: int, values: Tensor, f: Tensor, strides: Any, padding: Any, front: bool, rate: Any, scope: str
) -> Tensor:
    if count == 1:
        layout = "NCW" if front else "NWC"
        return conv1d(values, f, strides, padding, layout, scope, rate)
    if count == 2:
        return _conv2d(values, f, strides, padding, "NCHW" if front else "NHWC", rate, scope)
    return _conv3d(values, f, strides, padding, "NCDHW" if front else "NDHWC", rate, scope)


def spatial_axes(values: Tensor, kernel: Tensor) -> int:
    """Return the number of spatial axes.

    Raises:
        ValueError: if that is unknown, or not one to three.
    """
    rank = kernel.shape.rank if kernel.shape.rank is not None else values.shape.rank
    if rank is None:
        raise ValueError("a convolution needs values or a filter of known rank")
    if not 3 <= rank <= 5:
        raise ValueError(f"a convolution has 1, 2 or 3 spatial axes, got {rank - 2}")
    return rank - 2


def check_steps(strides: Any, rates: Any) -> None:
    """Check that not both the steps between windows and those within them exceed 1.

    Raises:
        ValueError: if there are such steps, or one below 1.
    """

    def listed(steps: Any) -> list[int]:
        if steps is None:
            return [1]
        return [int(s) for s in (steps if isinstance(steps, (list, tuple)) else [steps])]

    for steps, what in ((strides, "strides"), (rates, "dilation_rate")):
        if min(listed(steps)) < 1:
            raise ValueError(f"{what} are at least 1, got {steps!r}")
    if max(listed(strides)) > 1 and max(listed(rates)) > 1:
        raise ValueError(f"strides > 1 not supported in conjunction with dilation_rate > 1, got {strides} and {rates}")


def atrous_conv2d(value: Any, filters: Any, rate: int, padding: Any, name: str | None = None) -> Tensor:
    """Return the correlation of images with filters whose elements are ``rate`` pixels apart.

    Raises:
        ValueError: for shapes that can never fit, or a rate below 1.
    """
    return convolution(value, filters, padding, None, [rate, rate], name)
