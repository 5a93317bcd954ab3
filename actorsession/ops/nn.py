"""Small ops of neural networks: biases, dropout, L2 loss; and the front of the room's nn files.

What ``activations``, ``rectifiers``, ``cross_entropy``, ``softmax`` and ``topk`` own can be had from
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import bfloat16, float16, float32, float64
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext, OpDef, register
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops.accidental_hits import compute_accidental_hits
from actorsession.ops.activations import elu, relu, relu6, sigmoid, softplus, tanh
from actorsession.ops.array import identity
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.candidate_sampling import (
    all_candidate_sampler,
    fixed_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from actorsession.ops.convolution import atrous_conv2d, conv1d, conv2d, conv3d, convolution
from actorsession.ops.convolution_backprops import (
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv3d_backprop_filter,
    conv3d_backprop_filter_v2,
)
from actorsession.ops.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from actorsession.ops.dense import relu_layer, xw_plus_b
from actorsession.ops.depthwise import (
    depthwise_conv2d,
    depthwise_conv2d_backprop_filter,
    depthwise_conv2d_backprop_input,
    depthwise_conv2d_native,
    depthwise_conv2d_native_backprop_filter,
    depthwise_conv2d_native_backprop_input,
    separable_conv2d,
)
from actorsession.ops.dilation import dilation2d, erosion2d
from actorsession.ops.dimensions import rank, shape, shape_tensor
from actorsession.ops.embedding import embedding_lookup, embedding_lookup_sparse
from actorsession.ops.fills import ones
from actorsession.ops.fused_batch_norm import fused_batch_norm
from actorsession.ops.joining import concat
from actorsession.ops.lrn import local_response_normalization, lrn
from actorsession.ops.normalisation import (
    batch_norm_with_global_normalization,
    batch_normalization,
    moments,
    normalize_moments,
    sufficient_statistics,
    weighted_moments,
)
from actorsession.ops.pointwise_losses import log_poisson_loss, weighted_cross_entropy_with_logits
from actorsession.ops.pooling import (
    avg_pool,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    avg_pool_v2,
    max_pool,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_pool_v2,
    pool,
)
from actorsession.ops.pooling_argmax import max_pool_with_argmax
from actorsession.ops.random import random_uniform
from actorsession.ops.rectifiers import crelu, leaky_relu, selu, softsign
from actorsession.ops.sampled_losses import nce_loss, sampled_softmax_loss
from actorsession.ops.shape import broadcast_to, reshape
from actorsession.ops.shape_operands import same_dtype
from actorsession.ops.softmax import log_softmax, softmax
from actorsession.ops.spread import l2_normalize, zero_fraction
from actorsession.ops.topk import TopK, in_top_k, top_k
from actorsession.ops.transposed_convolution import (
    atrous_conv2d_transpose,
    conv1d_transpose,
    conv2d_transpose,
    conv3d_transpose,
    conv_transpose,
)

__all__ = [
    "TopK", "all_candidate_sampler", "atrous_conv2d", "atrous_conv2d_transpose", "avg_pool",
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "avg_pool_v2", "batch_norm_with_global_normalization",
    "batch_normalization", "bias_add", "bias_add_grad", "compute_accidental_hits", "conv1d",
    "conv1d_transpose", "conv2d", "conv2d_backprop_filter", "conv2d_backprop_input",
    "conv2d_transpose", "conv3d", "conv3d_backprop_filter", "conv3d_backprop_filter_v2",
    "conv3d_transpose", "conv_transpose", "convolution", "crelu", "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter", "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native", "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input", "dilation2d", "dropout", "elu", "embedding_lookup",
    "embedding_lookup_sparse", "erosion2d", "fixed_unigram_candidate_sampler", "fused_batch_norm",
    "in_top_k", "l2_loss", "l2_normalize", "leaky_relu", "local_response_normalization",
    "log_poisson_loss", "log_softmax", "log_uniform_candidate_sampler", "lrn",
    "max_pool", "max_pool1d", "max_pool2d", "max_pool3d", "max_pool_v2", "max_pool_with_argmax",
    "moments", "nce_loss", "normalize_moments", "pool", "relu", "relu6", "relu_layer",
    "sampled_softmax_loss", "selu", "separable_conv2d", "sigmoid",
    "sigmoid_cross_entropy_with_logits", "softmax", "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2", "softplus", "softsign",
    "sparse_softmax_cross_entropy_with_logits", "sufficient_statistics", "tanh", "top_k",
    "uniform_candidate_sampler", "weighted_cross_entropy_with_logits", "weighted_moments",
    "xw_plus_b", "zero_fraction",
]  # fmt: skip


# -- BiasAdd, BiasAddGrad --------------------------------------------------------------------------


def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """``value`` plus a number for each channel.

    Args:
        value: numbers of rank at least 2.
        bias: vector with an entry for each channel, of the same dtype.
        data_format: ``NHWC`` (or ``N...C``, the default) for channels last, ``NCHW`` (or
            ``NC...``) for channels as axis 1.
        name: wanted name.

    Raises:
        ValueError: for another format, or a bias that can never fit.
    """
    features = convert_to_tensor(value)
    attrs = {"data_format": _data_format(data_format)}
    with features.graph.name_scope(name or "BiasAdd") as scope:
        added = convert_to_tensor(bias, features.dtype, "bias", graph=features.graph)
        return make_one("BiasAdd", [features, added], attrs, scope)


def bias_add_grad(grad: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """The sum over all axes but that of the channels: the gradient of a bias."""
    attrs = {"data_format": _data_format(data_format)}
    return make_one("BiasAddGrad", [convert_to_tensor(grad)], attrs, name)


def _data_format(data_format: str | None) -> str:
    if data_format is None or (data_format.startswith("N") and data_format.endswith("C")):
        return "NHWC"
    if data_format.startswith("NC"):
        return "NCHW"
    raise ValueError(f"data_format is NHWC, NCHW, N...C or NC..., got {data_format!r}")


def _channel_axis(attrs: Any) -> int:
    return 1 if attrs["data_format"] == "NCHW" else -1


def _infer_bias_add(ctx: InferContext) -> list[TensorSpec]:
    same_dtype(ctx, 0, 1)
    value, bias = ctx.inputs
    if not value.dtype.is_numeric:
        raise TypeError(f"BiasAdd takes numbers, got {value.dtype.name}")
    shape = value.shape
    if shape.rank is None:
        return [value]
    try:
        length = bias.shape.with_rank(1)[0]
        channels = TensorShape([shape[_channel_axis(ctx.attrs)]]) if shape.rank > 1 else None
        if channels is None or not channels.is_compatible_with([length]):
            raise ValueError
    except ValueError:
        raise ValueError(
            f"BiasAdd: a value of rank at least 2 and a bias for each channel "
            f"({ctx.attrs['data_format']}), got {shape} and {bias.shape}"
        ) from None
    dims = shape.as_list()
    dims[_channel_axis(ctx.attrs)] = length if channels[0] is None else channels[0]
    return [TensorSpec(value.dtype, TensorShape(dims))]


def _bias_add_kernel(ctx: KernelContext) -> Kernel:
    axis = _channel_axis(ctx.attrs)

    def kernel(value: Any, bias: Any) -> Any:
        if value.ndim < 2 or bias.shape != (value.shape[axis],):
            raise InvalidArgumentError(
                f"a bias for each channel is needed, got a value of shape {list(value.shape)} "
                f"({ctx.attrs['data_format']}) and a bias of shape {list(bias.shape)}"
            )
        if axis == -1:
            return value + bias
        return value + bias.reshape(-1, *(1,) * (value.ndim - 2))

    return kernel


def _emit_bias_add(ctx: KernelContext, args: Sequence[str]) -> str | None:
    value, bias = (spec.shape for spec in ctx.inputs)
    safe = bias.is_fully_defined and value.rank is not None and value[-1] is not None
    return f"{args[0]} + {args[1]}" if safe and _channel_axis(ctx.attrs) == -1 else None


def _bias_add_gradient(op: Operation, grad: Tensor | None) -> list[Tensor | None]:
    if grad is None:
        return [None, None]
    return [grad, bias_add_grad(grad, op.attrs["data_format"])]


register(
    OpDef(
        name="BiasAdd",
        infer=_infer_bias_add,
        kernel=_bias_add_kernel,
        emit=_emit_bias_add,
        gradient=_bias_add_gradient,
        attrs={"data_format": "NHWC"},
    )
)


def _infer_bias_add_grad(ctx: InferContext) -> list[TensorSpec]:
    grad = ctx.inputs[0]
    if grad.shape.rank is None:
        return [TensorSpec(grad.dtype, TensorShape([None]))]
    if grad.shape.rank < 2:
        raise ValueError(f"BiasAddGrad: a gradient of rank at least 2, got {grad.shape}")
    return [TensorSpec(grad.dtype, TensorShape([grad.shape[_channel_axis(ctx.attrs)]]))]


def _channel_sums(grad: Array, axis: int) -> Array:
    others = (0, *range(2, grad.ndim)) if axis == 1 else tuple(range(grad.ndim - 1))
    sums: Array
    if axis == -1 and grad.size and grad.dtype in (np.float32, np.float64):
        rows = grad if grad.ndim == 2 else grad.reshape(-1, grad.shape[-1])
        # BLAS is three to eight times faster than numpy's sum over the first axis.
        sums = np.ones(len(rows), grad.dtype) @ rows
    else:
        sums = np.add.reduce(grad, axis=others, dtype=grad.dtype)
    return sums


def _bias_add_grad_kernel(ctx: KernelContext) -> Kernel:
    axis = _channel_axis(ctx.attrs)

    def kernel(grad: Any) -> Any:
        if grad.ndim < 2:
            raise InvalidArgumentError(
                f"the gradient of a bias needs rank at least 2, got shape {list(grad.shape)}"
            )
        return _channel_sums(grad, axis)

    return kernel


def _bias_add_grad_gradient(op: Operation, grad: Tensor | None) -> list[Tensor | None]:
    if grad is None:
        return [None]
    value = op.inputs[0]
    if _channel_axis(op.attrs) == 1:
        behind = ones(reshape(rank(value) - 2, [1]), "int32")
        grad = reshape(grad, concat([shape(grad), behind], 0))
    return [broadcast_to(grad, shape_tensor(value))]


register(
    OpDef(
        name="BiasAddGrad",
        infer=_infer_bias_add_grad,
        kernel=_bias_add_grad_kernel,
        gradient=_bias_add_grad_gradient,
        attrs={"data_format": "NHWC"},
    )
)


# -- L2Loss ----------------------------------------------------------------------------------------


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Half the sum of squares, a scalar.

    Args:
        t: a floating tensor.
        name: wanted name.
    """
    return make_one("L2Loss", [convert_to_tensor(t)], None, name)


def _infer_l2_loss(ctx: InferContext) -> list[TensorSpec]:
    dtype = ctx.inputs[0].dtype
    if not dtype.is_floating:
        raise TypeError(f"L2Loss takes a floating type, got {dtype.name}")
    return [TensorSpec(dtype, scalar_shape)]


def _l2_loss_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype
    if dtype in (float16, bfloat16):
        return lambda t: dtype.np_dtype.type(_half_square(t.astype(np.float32)))
    assert dtype in (float32, float64)
    return _half_square


def _half_square(t: Any) -> Any:
    flat = t.reshape(-1)
    return flat.dot(flat) * flat.dtype.type(0.5)


register(
    OpDef(
        name="L2Loss",
        infer=_infer_l2_loss,
        kernel=_l2_loss_kernel,
        gradient=lambda op, grad: [None if grad is None else op.inputs[0] * grad],
    )
)


# -- dropout ---------------------------------------------------------------------------------------


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """``x`` with random entries set to 0 and the others scaled up, so that the sum stays in mean.

    Args:
        x: a floating tensor.
        keep_prob: ``1 - rate``, TensorFlow's older argument.
        noise_shape: shape of the random choice, that of ``x`` if left out or where it says
            ``None``; axes of extent 1 are kept or dropped together.
        seed: the op's own seed.
        name: wanted name.
        rate: probability of each entry to be dropped, in [0, 1): a number or a scalar tensor.

    Raises:
        ValueError: for neither or both of ``rate`` and ``keep_prob``, or a number out of range.
        TypeError: if ``x`` is not floating.
    """
    if (rate is None) == (keep_prob is None):
        raise ValueError("dropout needs a rate or a keep_prob, and not both")
    value = convert_to_tensor(x)
    if not value.dtype.is_floating:
        raise TypeError(f"dropout takes a floating type, got {value.dtype.name}")
    with value.graph.name_scope(name or "dropout") as scope:
        dropped = (1.0 - keep_prob) if rate is None else rate
        if isinstance(dropped, (int, float, np.number)):
            if not 0 <= dropped < 1:
                raise ValueError(f"the rate of a dropout is in [0, 1), got {dropped}")
            if dropped == 0:
                return identity(value, scope)
            dropped = float(dropped)
        return _dropped(value, dropped, noise_shape, seed, scope)


def _noise_shape(value: Tensor, wanted: Any) -> Any:
    """``wanted`` with the extents of ``value`` where it says ``None``."""
    if not isinstance(wanted, (list, tuple, TensorShape)):
        return wanted
    listed = list(wanted)
    if None not in listed:
        return wanted
    if value.shape.rank not in (None, len(listed)):
        raise ValueError(f"a noise_shape of {wanted!r} does not fit values of shape {value.shape}")
    known = value.shape.dims or (None,) * len(listed)
    found = [have if want is None else want for have, want in zip(known, listed, strict=True)]
    return [shape(value)[i] if dim is None else dim for i, dim in enumerate(found)]


def _dropped(value: Tensor, rate: Any, noise_shape: Any, seed: int | None, scope: str) -> Tensor:
    share = convert_to_tensor(rate, value.dtype, "rate", graph=value.graph)
    where = shape_tensor(value) if noise_shape is None else _noise_shape(value, noise_shape)
    drawn = random_uniform(where, dtype=value.dtype, seed=seed)
    kept = make_one("Cast", [make_one("GreaterEqual", [drawn, share])], {"DstT": value.dtype})
    # The factor goes onto the choice, so that forward and backward are one product each.
    return make_one("Mul", [value, kept * (1.0 / (1.0 - share))], None, scope)
