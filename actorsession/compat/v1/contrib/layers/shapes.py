"""Layers without weights, biases, and layers in rows: ``repeat`` and ``stack``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib.framework.arg_scopes import add_arg_scope
from actorsession.compat.v1.contrib.framework.variables import model_variable
from actorsession.compat.v1.contrib.layers.building import (
    Collections,
    collect_output,
    collected,
    finished,
    layer_scope,
    static_sizes,
)
from actorsession.compat.v1.contrib.layers.initializers import ZEROS
from actorsession.graph.graph import name_scope
from actorsession.graph.operation import Tensor
from actorsession.namespaces import layers, nn

__all__ = ["bias_add", "dropout", "flatten", "maxout", "repeat", "softmax", "spatial_softmax", "stack"]


@add_arg_scope
def bias_add(
    inputs: Any,
    activation_fn: Callable[..., Any] | None = None,
    initializer: Any = ZEROS,
    regularizer: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """Return the inputs with a number for each channel added; see ``fully_connected``."""
    value = ops.convert_to_tensor(inputs)
    with layer_scope(scope, "BiasAdd", [value], reuse) as opened:
        sizes = static_sizes(value)
        count = None if sizes is None else sizes[1 if data_format.startswith("NC") else -1]
        if count is None:
            raise ValueError("`C` dimension must be known but is None")
        biases = model_variable(
            "biases",
            [count],
            value.dtype.base_dtype,
            initializer,
            regularizer,
            trainable,
            collected(variables_collections, "biases"),
        )
        outputs = nn.bias_add(value, biases, data_format=data_format)
        return finished(outputs, opened, activation_fn, outputs_collections)


@add_arg_scope
def dropout(
    inputs: Any,
    keep_prob: Any = 0.5,
    noise_shape: Any = None,
    is_training: Any = True,
    outputs_collections: Any = None,
    scope: Any = None,
    seed: int | None = None,
) -> Any:
    """Set random entries to 0 and scale the others up, while training only.

    Args:
        inputs: the inputs.
        keep_prob: the probability of an entry to stay.
        noise_shape: the shape of the random choice; see ``tf.nn.dropout``.
        is_training: whether entries are dropped: a bool or a tensor.
        outputs_collections: collections of the outputs.
        scope: the name scope; ``Dropout`` if left out.
        seed: the op's own seed.
    """
    value = ops.convert_to_tensor(inputs)
    with ops.variable_scope(scope, "Dropout", [value]) as opened:
        layer = layers.Dropout(1 - keep_prob, noise_shape, seed)
        return collect_output(outputs_collections, opened.name, layer.call(value, is_training))


@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: str | None = None) -> Any:
    """Return each example as a row."""
    with name_scope(scope or "Flatten") as entered:
        value = ops.convert_to_tensor(inputs)
        with name_scope("flatten"):
            outputs = layers.Flatten().call(value)
        return collect_output(outputs_collections, entered.rstrip("/"), outputs)


@add_arg_scope
def maxout(inputs: Any, num_units: int, axis: int = -1, scope: str | None = None) -> Any:
    """Return the maxima of groups of channels.

    Args:
        inputs: the inputs.
        num_units: the number of maxima.
        axis: the axis of the channels.
        scope: the name scope; ``MaxOut`` if left out.

    Raises:
        ValueError: for a number of channels that is not a multiple.
    """
    with name_scope(scope or "MaxOut"):
        value = ops.convert_to_tensor(inputs)
        sizes = static_sizes(value)
        count = None if sizes is None else sizes[axis]
        if sizes is None or count is None or count % num_units:
            raise ValueError(f"number of features({count}) is not a multiple of num_units({num_units})")
        along = axis % len(sizes)
        extents = [ops.shape(value)[place] if size is None else size for place, size in enumerate(sizes)]
        split = [*extents[:along], num_units, count // num_units, *extents[along + 1 :]]
        outputs = ops.reduce_max(ops.reshape(value, ops.stack(split)), along + 1)
        outputs.set_shape([*sizes[:along], num_units, *sizes[along + 1 :]])
        return outputs


@add_arg_scope
def softmax(logits: Any, scope: Any = None) -> Tensor:
    """Return the softmax along the last axis of a tensor of any rank."""
    with ops.variable_scope(scope, "softmax", [logits]):
        value = ops.convert_to_tensor(logits)
        rows = ops.reshape(value, ops.stack([-1, ops.shape(value)[-1]]))
        shares: Tensor = ops.reshape(nn.softmax(rows), ops.shape(value))
        shares.set_shape(value.shape)
        return shares


@add_arg_scope
def spatial_softmax(
    features: Any,
    temperature: Any = None,
    name: Any = None,
    variables_collections: Collections = None,
    trainable: bool = True,
    data_format: str = "NHWC",
) -> Tensor:
    """Return where each channel of images is large: the mean of places, weighted by a softmax.

    Args:
        features: images.
        temperature: what features are divided by; a variable that is trained from 1 if left out.
        name: the scope.
        variables_collections: collections of that variable.
        trainable: whether it is trained.
        data_format: ``NHWC`` or ``NCHW``.

    Returns:
        ``[batch, 2 * channels]``, a pair of coordinates between -1 and 1 for each channel.
    """
    value = ops.convert_to_tensor(features)
    with ops.variable_scope(name, "spatial_softmax"):
        if data_format == "NHWC":
            value = ops.transpose(value, [0, 3, 1, 2])
        channels = (static_sizes(value) or (None, None))[1]
        if channels is None:
            raise ValueError(f"the number of channels has to be known, got {features}")
        height, width = ops.shape(value)[2], ops.shape(value)[3]
        if temperature is None:
            temperature = model_variable(
                "temperature",
                [],
                initializer=ops.ones_initializer(),
                trainable=trainable,
                collections=collected(variables_collections, "temperature"),
            )
        rows, columns = ops.meshgrid(ops.linspace(-1.0, 1.0, height), ops.linspace(-1.0, 1.0, width), indexing="ij")
        shares = nn.softmax(ops.reshape(value, ops.stack([-1, height * width])) / temperature)
        pairs = [ops.reduce_sum(ops.reshape(places, [-1]) * shares, [1], keepdims=True) for places in (rows, columns)]
        outputs = ops.reshape(ops.concat(pairs, 1), [-1, channels * 2])
        outputs.set_shape([value.shape[0], channels * 2])
        return outputs


@add_arg_scope
def repeat(inputs: Any, repetitions: int, layer: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Apply a layer several times, in scopes ``NAME_1``, ``NAME_2``, ...

    Args:
        inputs: the inputs.
        repetitions: the number of times.
        layer: a function of the inputs with an argument ``scope``.
        args: its further arguments.
        kwargs: its further arguments, and ``scope``, the scope around all.
    """
    scope = kwargs.pop("scope", None)
    with ops.variable_scope(scope, "Repeat", [inputs]):
        outputs = ops.convert_to_tensor(inputs)
        base = scope if isinstance(scope, str) else getattr(layer, "__name__", "repeat")
        for number in range(1, repetitions + 1):
            kwargs["scope"] = f"{base}_{number}"
            outputs = layer(outputs, *args, **kwargs)
        return outputs


@add_arg_scope
def stack(inputs: Any, layer: Callable[..., Any], stack_args: Sequence[Any], **kwargs: Any) -> Any:
    """Apply a layer several times with other arguments, in scopes ``NAME_1``, ``NAME_2``, ...

    Args:
        inputs: the inputs.
        layer: a function of the inputs with an argument ``scope``.
        stack_args: for each time its next argument, or a list of them.
        kwargs: its further arguments, and ``scope``, the scope around all.

    Raises:
        ValueError: if ``stack_args`` is no list.
    """
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError("stack_args need to be a list or tuple")
    with ops.variable_scope(scope, "Stack", [inputs]):
        outputs = ops.convert_to_tensor(inputs)
        base = scope if isinstance(scope, str) else getattr(layer, "__name__", "stack")
        for number, of_layer in enumerate(stack_args, 1):
            kwargs["scope"] = f"{base}_{number}"
            further = of_layer if isinstance(of_layer, (list, tuple)) else [of_layer]
            outputs = layer(outputs, *further, **kwargs)
        return outputs
