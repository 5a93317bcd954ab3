"""Batch normalisation as one node: ``FusedBatchNorm`` and its gradient, in their three versions.

Owns ``fused_batch_norm`` and the operation types. The versions differ in the types and layouts of images that
they accept, and in a last output that only other devices use: here it is empty. Statistics are float32
whatever the images are, except that float64 images have float64 statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import bfloat16, float16, float32
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.build import constant, convert_to_tensor, make
from actorsession.ops.convolutions.windows import channel_axis, channels_last, restored
from actorsession.ops.neural.fused_batch_norm_gradients import second_gradient
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import elements, same_dtype

__all__ = ["fused_batch_norm"]

_FLAT = ("NHWC", "NCHW")
_DEEP = ("NDHWC", "NCDHW")


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise images so that each channel has mean ``offset`` and deviation ``scale``.

    Args:
        x: images of rank 4, or of rank 5 with the layouts ``NDHWC`` and ``NCDHW``.
        scale: vector with a number for each channel.
        offset: the same.
        mean: the same: the mean to use if not training, or the running mean.
        variance: likewise for the variance.
        epsilon: added to the variance.
        data_format: layout of the images.
        is_training: whether mean and variance are those of the batch.
        exponential_avg_factor: share of the batch in the running statistics.

    Returns:
        The images, and the running mean and variance (unbiased); those of the batch if the factor is 1, those
        given if not training.

    Raises:
        ValueError: for shapes that can never fit, or if ``mean`` and ``variance`` are needed but missing.
    """
    images = convert_to_tensor(x)
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError(
            "mean and variance are needed if is_training is False or exponential_avg_factor is "
            f"not 1, got {mean!r} and {variance!r}"
        )
    vectors = _vectors(images, scale=scale, offset=offset, mean=mean, variance=variance)
    y, running_mean, running_variance, *_ = raw.FusedBatchNormV3(
        images,
        *vectors,
        epsilon=float(epsilon),
        data_format=data_format,
        is_training=bool(is_training),
        exponential_avg_factor=float(exponential_avg_factor),
        name=name,
    )
    return y, running_mean, running_variance


def _vectors(images: Tensor, **values: Any) -> list[Tensor]:
    """Return the per-channel vectors as tensors; ``None`` becomes an empty one."""
    wide = float32 if images.dtype in (float16, bfloat16) else images.dtype
    return [
        constant(np.zeros(0, wide.np_dtype), graph=images.graph)
        if value is None
        else convert_to_tensor(value, wide, what, graph=images.graph)
        for what, value in values.items()
    ]


# -- static types --------------------------------------------------------------------------------


def _formats(op: str) -> tuple[str, ...]:
    return _FLAT + _DEEP if op.endswith("V3") else _FLAT


def _check(ctx: InferContext, images: Sequence[int], vectors: Sequence[int]) -> TensorShape:
    """Check that everything fits the channels as far as is known, and return the shape of the images."""
    data_format = ctx.attrs["data_format"]
    if data_format not in _formats(ctx.op):
        raise ValueError(f"data_format of {ctx.op} is one of {', '.join(_formats(ctx.op))}, got {data_format!r}")
    rank = len(data_format)
    try:
        shape = TensorShape([None] * rank)
        for index in images:
            shape = shape.merge_with(ctx.inputs[index].shape)
        dims = shape.as_list()
        length = TensorShape([dims[channel_axis(data_format, rank)]])
        for index in vectors:
            length = length.merge_with(ctx.inputs[index].shape)
    except ValueError:
        shapes = ", ".join(str(spec.shape) for spec in ctx.inputs)
        raise ValueError(
            f"{ctx.op} takes images of rank {rank} ({data_format}) and vectors with a number for "
            f"each channel, got {shapes}"
        ) from None
    dims[channel_axis(data_format, rank)] = length[0]
    return TensorShape(dims)


def _channels(shape: TensorShape, data_format: str) -> TensorShape:
    return TensorShape([shape[channel_axis(data_format, len(data_format))]])


def _normalised(ctx: InferContext) -> Sequence[TensorShape]:
    shape = _check(ctx, (0,), (1, 2) if ctx.attrs["is_training"] else (1, 2, 3, 4))
    reserved = [scalar_shape] if ctx.op.endswith("V3") else []
    return [shape, *[_channels(shape, ctx.attrs["data_format"])] * 4, *reserved]


def _back(ctx: InferContext) -> Sequence[TensorShape]:
    same_dtype(ctx, 2, 3)  # the scale is float32 in the table, and float64 for images of that type
    shape = _check(ctx, (0, 1), (2, 3, 4))
    return [shape, *[_channels(shape, ctx.attrs["data_format"])] * 2, *[TensorShape([0])] * 2]


# -- kernels -------------------------------------------------------------------------------------


def _check_values(rank: int, images: Array, channels: int, *vectors: Array) -> None:
    if images.ndim != rank or any(v.shape != (channels,) for v in vectors):
        raise InvalidArgumentError(
            f"images of rank {rank} and vectors with a number for each channel are needed, got "
            f"{list(images.shape)} and {[list(v.shape) for v in vectors]}"
        )


def _sums(flat: Array) -> Array:
    """Return the sum of each column, as a product: numpy's sum is several times slower."""
    sums: Array = np.ones(len(flat), flat.dtype) @ flat
    return sums


def _moments(flat: Array) -> tuple[Array, Array, Array]:
    """Return mean and variance of each column, and the columns minus their mean."""
    mean = _sums(flat) / flat.dtype.type(len(flat))
    centred = flat - mean
    return mean, _sums(centred * centred) / flat.dtype.type(len(flat)), centred


def _kernel(ctx: KernelContext) -> Kernel:
    data_format, training = ctx.attrs["data_format"], ctx.attrs["is_training"]
    epsilon, factor = ctx.attrs["epsilon"], ctx.attrs["exponential_avg_factor"]
    rank, narrow = len(data_format), ctx.outputs[0].dtype.np_dtype
    wide = ctx.outputs[1].dtype.np_dtype
    more = len(ctx.outputs) == 6

    def kernel(images: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
        x = channels_last(images, data_format) if images.ndim == rank else images
        channels = x.shape[-1] if x.ndim else 0
        vectors = [scale, offset]
        if not training or factor != 1:
            vectors += [mean, variance]
        _check_values(rank, images, channels, *vectors)
        flat = np.ascontiguousarray(x, wide).reshape(-1, channels)
        if training:
            now, spread, centred = _moments(flat)
            fresh = spread * wide.type(len(flat) / max(1, len(flat) - 1))
            outputs = [now.copy(), fresh]
            if factor != 1:
                kept = wide.type(1 - factor)
                outputs = [kept * mean + now * wide.type(factor), kept * variance + fresh * wide.type(factor)]
        else:
            now, spread, centred = mean, variance, flat - mean
            outputs = [mean.copy(), variance.copy()]
        centred *= scale / np.sqrt(spread + wide.type(epsilon))
        centred += offset
        y = restored(centred.astype(narrow, copy=False).reshape(x.shape), data_format)
        results = (y, *outputs, now.copy(), spread.copy())
        return (*results, np.zeros((), wide)) if more else results

    return kernel


def _back_kernel(ctx: KernelContext) -> Kernel:
    data_format, training = ctx.attrs["data_format"], ctx.attrs["is_training"]
    rank, narrow = len(data_format), ctx.outputs[0].dtype.np_dtype
    wide = ctx.outputs[1].dtype.np_dtype
    epsilon = wide.type(ctx.attrs["epsilon"])

    def kernel(grad: Any, images: Any, scale: Any, mean: Any, spread: Any, *_: Any) -> Any:
        x = channels_last(images, data_format) if images.ndim == rank else images
        channels = x.shape[-1] if x.ndim else 0
        _check_values(rank, images, channels, scale, mean, spread)
        if grad.shape != images.shape:
            raise InvalidArgumentError(f"the gradient has shape {list(images.shape)}, got {list(grad.shape)}")
        g = np.ascontiguousarray(channels_last(grad, data_format), wide).reshape(-1, channels)
        centred = np.ascontiguousarray(x, wide).reshape(-1, channels) - mean
        by_offset, by_centred = _sums(g), _sums(g * centred)
        inverse = 1 / np.sqrt(spread + epsilon)
        back = g
        if training and len(g):
            count = wide.type(len(g))
            centred *= by_centred / count * (inverse * inverse)
            back = g - by_offset / count
            back -= centred
        back = back * (scale * inverse)
        y = restored(back.astype(narrow, copy=False).reshape(x.shape), data_format)
        return y, by_centred * inverse, by_offset, np.zeros(0, wide), np.zeros(0, wide)

    return kernel


# Elements per microsecond of the dozen passes over the images.
_SPEED = 150.0


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    return 30.0 + elements(outputs[0]) / _SPEED


def _gradient(op: Operation, *grads: Tensor | None) -> list[Tensor | None]:
    grad = grads[0]
    if grad is None:
        return [None] * 5
    images, scale, _, mean, variance = op.inputs
    statistics = list(op.outputs[3:]) if op.attrs["is_training"] else [mean, variance]
    if op.type.endswith("V3") and len(statistics) == 2:
        statistics.append(op.outputs[5])
    attrs = {key: op.attrs[key] for key in ("epsilon", "data_format", "is_training")}
    version = op.type.removeprefix("FusedBatchNorm")
    by_images, by_scale, by_offset, *_ = make(
        f"FusedBatchNormGrad{version}", [grad, images, scale, *statistics], attrs
    ).outputs
    return [by_images, by_scale, by_offset, None, None]


for _version in ("", "V2", "V3"):
    op(f"FusedBatchNorm{_version}", _normalised, kernel=_kernel, grad=_gradient, cost=_cost)
    op(f"FusedBatchNormGrad{_version}", _back, kernel=_back_kernel, grad=second_gradient, cost=_cost)
