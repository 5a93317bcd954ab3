"""Convolutions, their transposes, and separable ones, with slim's names of variables."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib.framework.arg_scopes import add_arg_scope
from actorsession.compat.v1.contrib.framework.variables import model_variable
from actorsession.compat.v1.contrib.layers.building import (
    Collections,
    call_layer,
    collected,
    finished,
    layer_scope,
    layout_of,
    pair,
    static_sizes,
)
from actorsession.compat.v1.contrib.layers.initializers import XAVIER, ZEROS
from actorsession.namespaces import layers, nn

__all__ = [
    "conv1d",
    "conv2d",
    "conv2d_in_plane",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "convolution",
    "convolution1d",
    "convolution2d",
    "convolution2d_in_plane",
    "convolution2d_transpose",
    "convolution3d",
    "convolution3d_transpose",
    "separable_conv2d",
    "separable_convolution2d",
]

_RENAMED = {
    "kernel": "weights",
    "bias": "biases",
    "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
}
_PLAIN: dict[int, Any] = {1: layers.Conv1D, 2: layers.Conv2D, 3: layers.Conv3D}
_TRANSPOSED: dict[int, Any] = {2: layers.Conv2DTranspose, 3: layers.Conv3DTranspose}


@add_arg_scope
def convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Callable[..., Any] | None = nn.relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    conv_dims: int | None = None,
) -> Any:
    """Return the outputs of a convolution over one to three spatial axes.

    Args:
        inputs: the inputs, of rank 3 to 5.
        num_outputs: the number of channels of the outputs.
        kernel_size: the size of the kernel: one number, or one for each spatial axis.
        stride: steps of the window, given in the same way.
        padding: ``SAME`` or ``VALID``.
        data_format: the order of the axes, such as ``NHWC`` or ``NCHW``.
        rate: steps between the elements of a window.
        activation_fn: see ``fully_connected``, as for all that follow but the last.
        normalizer_fn: see there.
        normalizer_params: see there.
        weights_initializer: see there.
        weights_regularizer: see there.
        biases_initializer: see there.
        biases_regularizer: see there.
        reuse: see there.
        variables_collections: see there.
        outputs_collections: see there.
        trainable: see there.
        scope: the scope of the variables or its name; ``Conv`` if left out.
        conv_dims: the number of spatial axes; as many as the inputs have if left out.

    Raises:
        ValueError: for inputs of another rank, another format, or steps and rates that are both above 1.
    """
    inputs = ops.convert_to_tensor(inputs)
    sizes = static_sizes(inputs)
    spatial = conv_dims or (0 if sizes is None else len(sizes) - 2)
    if sizes is not None and len(sizes) - 2 != spatial:
        raise ValueError(f"Convolution expects input with rank {spatial + 2}, got {len(sizes)}")
    if spatial not in _PLAIN:
        raise ValueError(f"Convolution not supported for input with rank {sizes and len(sizes)}")
    with layer_scope(scope, "Conv", [inputs], reuse, _RENAMED) as opened:
        layer = _PLAIN[spatial](
            int(num_outputs),
            tuple(pair(kernel_size, spatial)),
            tuple(pair(stride, spatial)),
            padding,
            data_format=layout_of(data_format),
            dilation_rate=tuple(pair(rate, spatial)),
            use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            kernel_regularizer=weights_regularizer,
            bias_initializer=biases_initializer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
        )
        outputs = call_layer(layer, opened, inputs, variables_collections)
        return finished(outputs, opened, activation_fn, outputs_collections, normalizer_fn, normalizer_params)


def _of_rank(spatial: int) -> Any:
    """Return the convolution over a number of spatial axes."""

    @add_arg_scope
    @functools.wraps(convolution)
    def over(*args: Any, **kwargs: Any) -> Any:
        return convolution(*args, **{**kwargs, "conv_dims": spatial})

    over.__name__ = over.__qualname__ = f"convolution{spatial}d"
    return over


convolution1d = conv1d = _of_rank(1)
convolution2d = conv2d = _of_rank(2)
convolution3d = conv3d = _of_rank(3)


def _transposed(
    spatial: int,
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any,
    padding: str,
    data_format: str,
    activation_fn: Any,
    normalizer_fn: Any,
    normalizer_params: Any,
    weights_initializer: Any,
    weights_regularizer: Any,
    biases_initializer: Any,
    biases_regularizer: Any,
    reuse: Any,
    variables_collections: Any,
    outputs_collections: Any,
    trainable: bool,
    scope: Any,
) -> Any:
    inputs = ops.convert_to_tensor(inputs)
    with layer_scope(scope, f"Conv{spatial}d_transpose", [inputs], reuse, _RENAMED) as opened:
        layer = _TRANSPOSED[spatial](
            int(num_outputs),
            tuple(pair(kernel_size, spatial)),
            tuple(pair(stride, spatial)),
            padding,
            data_format=layout_of(data_format),
            use_bias=not normalizer_fn and biases_initializer is not None,
            kernel_initializer=weights_initializer,
            kernel_regularizer=weights_regularizer,
            bias_initializer=biases_initializer,
            bias_regularizer=biases_regularizer,
            trainable=trainable,
        )
        outputs = call_layer(layer, opened, inputs, variables_collections)
        return finished(outputs, opened, activation_fn, outputs_collections, normalizer_fn, normalizer_params)


@add_arg_scope
def convolution2d_transpose(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    activation_fn: Callable[..., Any] | None = nn.relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Return the outputs of a transposed convolution of images; see ``convolution``."""
    return _transposed(
        2, inputs, num_outputs, kernel_size, stride, padding, data_format, activation_fn,
        normalizer_fn, normalizer_params, weights_initializer, weights_regularizer,
        biases_initializer, biases_regularizer, reuse, variables_collections, outputs_collections,
        trainable, scope,
    )  # fmt: skip


@add_arg_scope
def convolution3d_transpose(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    activation_fn: Callable[..., Any] | None = nn.relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Return the outputs of a transposed convolution of volumes; see ``convolution``."""
    return _transposed(
        3, inputs, num_outputs, kernel_size, stride, padding, data_format, activation_fn,
        normalizer_fn, normalizer_params, weights_initializer, weights_regularizer,
        biases_initializer, biases_regularizer, reuse, variables_collections, outputs_collections,
        trainable, scope,
    )  # fmt: skip


conv2d_transpose, conv3d_transpose = convolution2d_transpose, convolution3d_transpose


@add_arg_scope
def separable_convolution2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: Any = 1,
    activation_fn: Callable[..., Any] | None = nn.relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    pointwise_initializer: Any = None,
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Return the outputs of a convolution of each channel of images, and one that mixes channels.

    Args:
        inputs: images.
        num_outputs: the number of channels of the outputs; ``None`` for no mixing.
        kernel_size: see ``convolution``, as for all that are not described here.
        depth_multiplier: the number of outputs of each channel before they are mixed.
        stride: see there.
        padding: see there.
        data_format: see there.
        rate: see there.
        activation_fn: see there.
        normalizer_fn: see there.
        normalizer_params: see there.
        weights_initializer: the initialiser of the kernel of each channel.
        pointwise_initializer: the initialiser of the kernel that mixes; the other one if left out.
        weights_regularizer: the regulariser of both kernels.
        biases_initializer: see there.
        biases_regularizer: see there.
        reuse: see there.
        variables_collections: see there.
        outputs_collections: see there.
        trainable: see there.
        scope: the scope of the variables or its name; ``SeparableConv2d`` if left out.
    """
    inputs = ops.convert_to_tensor(inputs)
    has_bias = not normalizer_fn and biases_initializer is not None
    with layer_scope(scope, "SeparableConv2d", [inputs], reuse, _RENAMED) as opened:
        if num_outputs is not None:
            layer = layers.SeparableConv2D(
                int(num_outputs),
                tuple(pair(kernel_size)),
                tuple(pair(stride)),
                padding,
                data_format=layout_of(data_format),
                dilation_rate=tuple(pair(rate)),
                depth_multiplier=depth_multiplier,
                use_bias=has_bias,
                depthwise_initializer=weights_initializer,
                kernel_initializer=pointwise_initializer or weights_initializer,
                depthwise_regularizer=weights_regularizer,
                kernel_regularizer=weights_regularizer,
                bias_initializer=biases_initializer,
                bias_regularizer=biases_regularizer,
                trainable=trainable,
            )
            outputs = call_layer(layer, opened, inputs, variables_collections)
        else:
            first = data_format.startswith("NC")
            channels = (static_sizes(inputs) or ())[1 if first else -1]
            if channels is None:
                raise ValueError(f"the number of channels of inputs has to be known, got {inputs}")
            kernel = model_variable(
                "depthwise_weights",
                [*pair(kernel_size), channels, depth_multiplier],
                inputs.dtype.base_dtype,
                weights_initializer,
                weights_regularizer,
                trainable,
                collected(variables_collections, "depthwise_weights"),
            )
            steps = [1, 1, *pair(stride)] if first else [1, *pair(stride), 1]
            outputs = nn.depthwise_conv2d(inputs, kernel, steps, padding, pair(rate), data_format=data_format)
            if has_bias:
                bias = model_variable(
                    "biases",
                    [channels * depth_multiplier],
                    inputs.dtype.base_dtype,
                    biases_initializer,
                    biases_regularizer,
                    trainable,
                    collected(variables_collections, "biases"),
                )
                outputs = nn.bias_add(outputs, bias, data_format=data_format)
        return finished(outputs, opened, activation_fn, outputs_collections, normalizer_fn, normalizer_params)


separable_conv2d = separable_convolution2d


@add_arg_scope
def convolution2d_in_plane(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    activation_fn: Callable[..., Any] | None = nn.relu,
    normalizer_fn: Callable[..., Any] | None = None,
    normalizer_params: Mapping[str, Any] | None = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Callable[..., Any] | None = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Return the outputs of one convolution of every channel of images; see ``convolution``."""
    inputs = ops.convert_to_tensor(inputs)
    with layer_scope(scope, "ConvInPlane", [inputs], reuse) as opened:
        channels = (static_sizes(inputs) or (None,))[-1]
        if channels is None:
            raise ValueError(f"the number of channels of inputs has to be known, got {inputs}")
        dtype = inputs.dtype.base_dtype
        kernel = model_variable(
            "weights",
            [*pair(kernel_size), 1, 1],
            dtype,
            weights_initializer,
            weights_regularizer,
            trainable,
            collected(variables_collections, "weights"),
        )
        whole = ops.tile(kernel, [1, 1, channels, 1])
        outputs = nn.depthwise_conv2d(inputs, whole, [1, *pair(stride), 1], padding)
        if not normalizer_fn and biases_initializer is not None:
            bias = model_variable(
                "biases",
                [channels],
                dtype,
                biases_initializer,
                biases_regularizer,
                trainable,
                collected(variables_collections, "biases"),
            )
            outputs = nn.bias_add(outputs, bias)
        return finished(outputs, opened, activation_fn, outputs_collections, normalizer_fn, normalizer_params)


conv2d_in_plane = convolution2d_in_plane
