"""The public pooling functions: the maximum or the mean of windows, with one to three spatial axes.

``pooling_nodes`` and ``pooling_argmax`` own the operation types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.batch_blocks import batch_to_space_nd, required_space_to_batch_paddings, space_to_batch_nd
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.shape import expand_dims, squeeze
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.convolutions import pooling_nodes  # noqa: F401 - registers the ops that are built here
from actorsession.ops.convolutions.operations import check_steps, row_layout
from actorsession.ops.convolutions.windows import explicit_padding, per_axis

__all__ = [
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "avg_pool_v2",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_v2",
    "pool",
]


def _node(op: str, images: Tensor, ksize: Any, strides: Any, padding: Any, layout: str, name: str | None) -> Tensor:
    attrs = {
        "ksize": per_axis(ksize, layout, "ksize"),
        "strides": per_axis(strides, layout, "strides"),
        "padding": padding,
        "data_format": layout,
    }
    if op == "MaxPool":
        attrs["padding"], attrs["explicit_paddings"] = explicit_padding(padding)
    return make_one(op, [images], attrs, name)


def _layout(data_format: str | None, known: tuple[str, str]) -> str:
    if data_format is None:
        return known[0]
    if data_format not in known:
        raise ValueError(f"data_format is {' or '.join(known)}, got {data_format!r}")
    return data_format


_IMAGES, _VOLUMES = ("NHWC", "NCHW"), ("NDHWC", "NCDHW")


def max_pool(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = "NHWC", name: str | None = None
) -> Tensor:
    """Return the largest number of each window of images.

    Args:
        input: ``[batch, height, width, channels]``.
        ksize: size of the window: one number, one for each spatial axis, or one for each axis.
        strides: steps of the window, given in the same way.
        padding: ``"SAME"``, ``"VALID"`` or a list of pairs (before, behind) for each axis. Elements beyond
            the edge are never the largest.
        data_format: ``NHWC`` or ``NCHW``.

    Raises:
        ValueError: for shapes or attributes that can never fit.
    """
    images = convert_to_tensor(input)
    layout = _layout(data_format, _IMAGES)
    return _node("MaxPool", images, ksize, strides, padding, layout, name)


def avg_pool(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = "NHWC", name: str | None = None
) -> Tensor:
    """Return the mean of each window of images; elements beyond the edge are not counted.

    Arguments as for ``max_pool``, without lists of paddings.
    """
    images = convert_to_tensor(input)
    layout = _layout(data_format, _IMAGES)
    return _node("AvgPool", images, ksize, strides, padding, layout, name)


def max_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = "NHWC", name: str | None = None
) -> Tensor:
    """Return ``max_pool`` of images, with the same arguments."""
    return max_pool(input, ksize, strides, padding, data_format, name or "MaxPool2d")


avg_pool2d = avg_pool


def _pool1d(
    op: str, values: Tensor, ksize: Any, strides: Any, padding: Any, data_format: str | None, name: str
) -> Tensor:
    with values.graph.name_scope(name) as scope:
        layout, row = row_layout(data_format)
        flat = "NWC" if layout == "NHWC" else "NCW"
        sizes = list(per_axis(ksize, flat, "ksize"))
        steps = list(per_axis(strides, flat, "strides"))
        sizes.insert(row, 1)
        steps.insert(row, 1)
        pooled = _node(op, expand_dims(values, row), sizes, steps, padding, layout, scope)
        return squeeze(pooled, [row])


def max_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = "NWC", name: str | None = None
) -> Tensor:
    """Return the largest number of each window of sequences ``[batch, width, channels]``.

    Arguments as for ``max_pool``, with the layouts ``NWC`` and ``NCW``; no lists of paddings.
    """
    if not isinstance(padding, str):
        raise ValueError(f"max_pool1d takes SAME or VALID as padding, got {padding!r}")
    values = convert_to_tensor(input)
    return _pool1d("MaxPool", values, ksize, strides, padding, data_format, name or "MaxPool1d")


def avg_pool1d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = "NWC", name: str | None = None
) -> Tensor:
    """Return the mean of each window of sequences; arguments as for ``max_pool1d``."""
    values = convert_to_tensor(input)
    return _pool1d("AvgPool", values, ksize, strides, padding, data_format, name or "AvgPool1D")


def max_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = "NDHWC", name: str | None = None
) -> Tensor:
    """Return the largest number of each window of volumes ``[batch, depth, height, width, channels]``.

    Arguments as for ``max_pool``, with the layouts ``NDHWC`` and ``NCDHW``; no lists of paddings.
    """
    layout = _layout(data_format, _VOLUMES)
    return _node("MaxPool3D", convert_to_tensor(input), ksize, strides, padding, layout, name)


def avg_pool3d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = "NDHWC", name: str | None = None
) -> Tensor:
    """Return the mean of each window of volumes; arguments as for ``max_pool3d``."""
    layout = _layout(data_format, _VOLUMES)
    return _node("AvgPool3D", convert_to_tensor(input), ksize, strides, padding, layout, name)


def _by_rank(
    kind: str, input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None, name: str | None
) -> Tensor:
    values = convert_to_tensor(input)
    rank = len(data_format) if data_format is not None else values.shape.rank
    if rank not in (3, 4, 5):
        raise ValueError(f"a pool is over values of rank 3, 4 or 5, got shape {values.shape}")
    return _functions(kind)[rank - 3](values, ksize, strides, padding, data_format, name)


def _functions(kind: str) -> tuple[Callable[..., Tensor], ...]:
    if kind == "MAX":
        return max_pool1d, max_pool2d, max_pool3d
    return avg_pool1d, avg_pool2d, avg_pool3d


def max_pool_v2(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Return ``max_pool1d``, ``max_pool2d`` or ``max_pool3d``, depending on the rank of ``input``."""
    return _by_rank("MAX", input, ksize, strides, padding, data_format, name)


def avg_pool_v2(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Return ``avg_pool1d``, ``avg_pool2d`` or ``avg_pool3d``, depending on the rank of ``input``."""
    return _by_rank("AVG", input, ksize, strides, padding, data_format, name)


def pool(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    padding: str,
    dilations: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
) -> Tensor:
    """Pool over as many spatial axes as ``window_shape`` has entries.

    Args:
        input: ``[batch, *sizes, channels]``, with one to three sizes.
        window_shape: size of the window on each spatial axis.
        pooling_type: ``"MAX"`` or ``"AVG"``.
        padding: ``"SAME"`` or ``"VALID"``.
        dilations: steps between the elements of a window on each spatial axis, 1 if left out; above 1
            only with padding ``"VALID"`` and strides of 1.
        strides: steps of the window on each spatial axis, 1 if left out.
        data_format: a layout that starts with ``NC`` has the channels as axis 1.

    Raises:
        ValueError: for another type, shapes that can never fit, or an impossible ``dilations``.
    """
    values = convert_to_tensor(input)
    count = len(window_shape)
    apart = _check_pool(values, window_shape, pooling_type, strides, dilations, padding)
    front = data_format is not None and data_format.startswith("NC")
    layout = (("NWC", "NCW"), _IMAGES, _VOLUMES)[count - 1][front]
    base = name or ("max_pool" if pooling_type == "MAX" else "avg_pool")
    steps = [1] * count if strides is None else strides
    with values.graph.name_scope(base) as scope:
        if apart is None:
            return _by_rank(pooling_type, values, window_shape, steps, padding, layout, scope)
        # The positions with equal remainders modulo the rate form separate images, whose windows have no
        # gaps.
        block = [1, *apart] if front else apart
        paddings, crops = required_space_to_batch_paddings(shape(values)[1 : len(block) + 1], block)
        parts = space_to_batch_nd(values, block, paddings)
        pooled = _by_rank(pooling_type, parts, window_shape, steps, padding, layout, None)
        return batch_to_space_nd(pooled, block, crops)


def _check_pool(values: Tensor, window: Any, kind: str, strides: Any, rate: Any, padding: Any) -> list[int] | None:
    """Return the steps between the elements of a window if any of them exceeds 1, else ``None``."""
    count = len(window)
    if kind not in ("MAX", "AVG") or not 1 <= count <= 3:
        raise ValueError(f"there is no {count}-D {kind} pool: it is MAX or AVG of 1 to 3")
    if values.shape.rank not in (None, count + 2):
        raise ValueError(f"a window {window} needs rank {count + 2}, got {values.shape}")
    check_steps(strides, rate)
    steps = [] if rate is None else (rate if isinstance(rate, (list, tuple)) else [rate])
    apart = [int(step) for step in steps]
    if len(apart) == 1:
        apart *= count
    if all(step == 1 for step in apart):
        return None
    if len(apart) != count:
        raise ValueError(f"dilation_rate has a number for each of {count} axes, got {rate}")
    if padding != "VALID":
        raise ValueError(
            f"a pool with padding {padding!r} has windows without gaps, got dilation_rate {rate}: pad the "
            "images first and use 'VALID'"
        )
    return apart
