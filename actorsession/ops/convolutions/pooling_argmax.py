"""Max pooling that also returns the positions of the maxima.

Owns ``MaxPoolWithArgmax`` and ``MaxPoolGradWithArgmax``. A position is the index of an element in the
flattened image or, on request, in the flattened batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype, int32, int64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.build import convert_to_tensor, make, make_one
from actorsession.ops.convolutions.kernels import Sliding
from actorsession.ops.convolutions.nodes import known_dims
from actorsession.ops.convolutions.pooling_kernels import largest, window_argmax
from actorsession.ops.convolutions.pooling_nodes import Pool, pool_of
from actorsession.ops.convolutions.windows import explicit_padding, per_axis
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import same_dtype

__all__ = ["max_pool_with_argmax"]


def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the largest number of each window of images, and its position.

    Args:
        input: ``[batch, height, width, channels]``.
        ksize: a number for each of the four axes.
        strides: the same.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: must be ``NHWC``.
        output_dtype: int64 (the default) or int32, the type of the positions.
        include_batch_in_index: whether positions count from the start of the batch instead of the image.

    Raises:
        ValueError: for shapes or attributes that can never fit, or another layout.
    """
    _check_arguments(data_format, ksize, strides)
    kind, _ = explicit_padding(padding)
    attrs = {
        "ksize": per_axis(ksize, "NHWC", "ksize"),
        "strides": per_axis(strides, "NHWC", "strides"),
        "padding": kind,
        "Targmax": as_dtype(output_dtype or int64),
        "include_batch_in_index": bool(include_batch_in_index),
    }
    result, places = make("MaxPoolWithArgmax", [convert_to_tensor(input)], attrs, name).outputs
    return result, places


def _check_arguments(data_format: str, ksize: Any, strides: Any) -> None:
    if data_format != "NHWC":
        raise ValueError(f"max_pool_with_argmax takes NHWC, got data_format {data_format!r}")
    if not isinstance(ksize, (list, tuple)) or not isinstance(strides, (list, tuple)):
        raise TypeError(f"ksize and strides are lists of 4 numbers, got {ksize!r} and {strides!r}")


def _pool(ctx: InferContext | KernelContext) -> Pool:
    pool = pool_of(ctx.attrs, 4, ctx.op)
    if pool.depth != (1, 1):
        raise ValueError(f"{ctx.op} does not pool over channels, got ksize {ctx.attrs['ksize']}")
    return pool


def _pooled(ctx: InferContext) -> Sequence[TensorShape]:
    places = ctx.attrs["Targmax"]
    if places not in (int32, int64):
        raise TypeError(f"{ctx.op}: places are int32 or int64, got {places.name}")
    return [TensorShape(_pool(ctx).output_dims(known_dims(ctx, 0, 4)))] * 2


def _places(x: Array, y: Array, s: Sliding, whole: bool) -> Array:
    """Return the positions of the maxima as indices into the flattened image, or batch if ``whole``."""
    batch, height, width, channels = x.shape
    argmax = window_argmax(x, y, s)
    positions = np.array([*s.positions, s.positions[0]], np.int64)  # NaN counts as the first position
    starts = [np.arange(s.counts[i]) * s.strides[i] - s.pads[i][0] for i in range(2)]
    rows = positions[:, 0][argmax] + starts[0][:, None, None]
    columns = positions[:, 1][argmax] + starts[1][:, None]
    flat = (np.maximum(rows, 0) * width + np.maximum(columns, 0)) * channels + np.arange(channels)
    if whole:
        flat += (np.arange(batch) * (height * width * channels))[:, None, None, None]
    result: Array = flat
    return result


def _kernel(ctx: KernelContext) -> Kernel:
    pool, whole = _pool(ctx), ctx.attrs["include_batch_in_index"]
    index = ctx.outputs[1].dtype.np_dtype

    def kernel(x: Any) -> Any:
        if x.ndim != 4:
            raise InvalidArgumentError(f"images have rank 4, got shape {list(x.shape)}")
        shape = [int(n or 0) for n in pool.output_dims(x.shape, InvalidArgumentError)]
        if not math.prod(shape):
            return np.zeros(shape, x.dtype), np.zeros(shape, index)
        slides = pool.sliding(x.shape)
        y = largest(x, slides)
        return y, _places(x, y, slides, whole).astype(index)

    return kernel


def _back(ctx: InferContext) -> Sequence[TensorShape]:
    pool = _pool(ctx)
    images = known_dims(ctx, 0, 4)
    pooled = pool.output_dims(images)
    for index in (1, 2):
        if not ctx.inputs[index].shape.is_compatible_with(pooled):
            shape = ctx.inputs[index].shape
            raise ValueError(f"{ctx.op}: input {index} has shape {TensorShape(pooled)}, got {shape}")
    same_dtype(ctx, 0, 1)
    return [TensorShape(images)]


def _back_kernel(ctx: KernelContext) -> Kernel:
    pool, whole = _pool(ctx), ctx.attrs["include_batch_in_index"]

    def kernel(x: Any, grad: Any, places: Any) -> Any:
        if x.ndim != 4:
            raise InvalidArgumentError(f"images have rank 4, got shape {list(x.shape)}")
        pooled = tuple(pool.output_dims(x.shape, InvalidArgumentError))
        if grad.shape != pooled or places.shape != pooled:
            raise InvalidArgumentError(
                f"gradient and places have shape {list(pooled)}, got {list(grad.shape)} and {list(places.shape)}"
            )
        each = math.prod(x.shape[1:])
        flat = places.astype(np.int64)
        if not whole:
            flat += (np.arange(len(x)) * each)[:, None, None, None]
        if flat.size and (flat.min() < 0 or flat.max() >= x.size):
            raise InvalidArgumentError(f"places are in [0, {x.size}) of the batch, got {places!r}")
        out = np.zeros(x.size, x.dtype)
        np.add.at(out, flat.reshape(-1), grad.reshape(-1))
        return out.reshape(x.shape)

    return kernel


def _gradient(op: Operation, grad: Tensor | None, _: Tensor | None) -> list[Tensor | None]:
    if grad is None:
        return [None]
    attrs = {key: op.attrs[key] for key in op.attrs if key != "Targmax"}
    return [make_one("MaxPoolGradWithArgmax", [op.inputs[0], grad, op.outputs[1]], attrs)]


op("MaxPoolWithArgmax", _pooled, kernel=_kernel, grad=_gradient, divides=True)
op("MaxPoolGradWithArgmax", _back, kernel=_back_kernel)
