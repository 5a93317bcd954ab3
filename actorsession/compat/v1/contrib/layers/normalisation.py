"""Normalisations: over batches, over layers, over groups of channels, and to length 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    static_sizes,
)
from actorsession.compat.v1.internals.operations import assign_moving_average
from actorsession.graph.graph import add_to_collections, control_dependencies
from actorsession.namespaces import layers, nn
from actorsession.ops import GraphKeys
from actorsession.train.layers.layer import smart_cond

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "unit_norm"]


class _BatchNormalization(layers.BatchNormalization):
    """Batch normalisation whose updates join no collection by themselves.

    Args:
        weights: the weights of the examples of a batch, or ``None``.
        debiased: whether the running mean is corrected for its start at zero.
        args: those of the library's class.
        settings: likewise.
    """

    def __init__(self, weights: Any, debiased: bool, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._weights, self._debiased = weights, debiased

    def add_update(self, update: Any) -> None:
        """Keep an update."""
        self.updates.append(update)

    def _moments(self, inputs: Any, axes: Sequence[int]) -> tuple[Any, Any]:
        if self._weights is None:
            return super()._moments(inputs, axes)
        placed = [-1] + [1] * (len(inputs.shape) - 1)
        return nn.weighted_moments(inputs, axes, ops.reshape(self._weights, placed))

    def _moved(self, average: Any, value: Any, momentum: Any, training: Any, read_value: bool = False) -> Any:
        if not self._debiased or average is not self.moving_mean:
            return super()._moved(average, value, momentum, training, read_value)
        return smart_cond(
            training, lambda: assign_moving_average(average, value, momentum), lambda: ops.identity(average)
        )


@add_arg_scope
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    param_regularizers: Mapping[str, Any] | None = None,
    updates_collections: Any = GraphKeys.UPDATE_OPS,
    is_training: Any = True,
    reuse: Any = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    batch_weights: Any = None,
    fused: bool | None = None,
    data_format: str = "NHWC",
    zero_debias_moving_mean: bool = False,
    scope: Any = None,
    renorm: bool = False,
    renorm_clipping: Any = None,
    renorm_decay: float = 0.99,
    adjustment: Any = None,
) -> Any:
    """Return inputs normalised over the batch.

    Args:
        inputs: the inputs, of rank 2 or more.
        decay: the share of a running average that remains at each update.
        center: whether ``beta`` is added.
        scale: whether there is a factor ``gamma``.
        epsilon: added to variances.
        activation_fn: the activation; ``None`` for none.
        param_initializers: initialisers by ``beta``, ``gamma``, ``moving_mean`` and ``moving_variance``.
        param_regularizers: regularisers by ``beta`` and ``gamma``.
        updates_collections: the collections of the updates; with ``None`` the outputs depend on them.
        is_training: whether the statistics are those of the batch: a bool or a tensor.
        reuse: whether the variables of the scope are shared.
        variables_collections: collections of the variables, or collections by their names.
        outputs_collections: collections of the outputs.
        trainable: whether ``beta`` and ``gamma`` are trained.
        batch_weights: how much each example counts in the statistics of its batch; all count alike if left
            out.
        fused: whether one node does it; where that is possible if left out.
        data_format: ``NHWC`` or ``NCHW``.
        zero_debias_moving_mean: whether the running mean is corrected for its start at zero.
        scope: the scope of the variables or its name; ``BatchNorm`` if left out.
        renorm: whether batches are renormalised; see ``BatchNormalization``, as for the following.
        renorm_clipping: the bounds of what corrects a batch.
        renorm_decay: the share of an average that corrections come from which remains at each update.
        adjustment: a function of the shape of a batch that returns a factor and a shift for it.

    Raises:
        ValueError: for another format, inputs whose channels are of unknown number, weights that are not one
            for each example, or ``renorm`` with what it cannot be combined with.
    """
    plain = batch_weights is None and not zero_debias_moving_mean
    plain = plain and updates_collections is GraphKeys.UPDATE_OPS
    if renorm and not plain:
        raise ValueError("renorm is not supported with batch_weights, updates_collections or zero_debias_moving_mean")
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    value = ops.convert_to_tensor(inputs)
    makers, losses = param_initializers or {}, param_regularizers or {}
    sizes = static_sizes(value)
    with layer_scope(scope, "BatchNorm", [value], reuse, {}) as opened:
        if batch_weights is not None:
            batch_weights, fused = ops.convert_to_tensor(batch_weights), False
            batch_weights.shape.assert_is_compatible_with(value.shape[0:1])
        # As in TensorFlow one node normalises matrices, too, as images of one pixel.
        as_image = sizes is not None and len(sizes) == 2 and fused is not False
        as_image = as_image and not renorm and adjustment is None
        layer = _BatchNormalization(
            batch_weights,
            zero_debias_moving_mean,
            1 if data_format == "NCHW" else -1,
            decay,
            epsilon,
            center,
            scale,
            fused=fused if fused is False else None,
            beta_initializer=makers.get("beta", "zeros"),
            gamma_initializer=makers.get("gamma", "ones"),
            moving_mean_initializer=makers.get("moving_mean", "zeros"),
            moving_variance_initializer=makers.get("moving_variance", "ones"),
            beta_regularizer=losses.get("beta"),
            gamma_regularizer=losses.get("gamma"),
            renorm=renorm,
            renorm_clipping=renorm_clipping,
            renorm_momentum=renorm_decay,
            adjustment=adjustment,
            trainable=trainable,
        )
        if as_image or not plain:
            layer._order = ("beta", "gamma")
        shaped = ops.expand_dims(ops.expand_dims(value, 1), 1) if as_image else value
        if as_image and data_format == "NCHW":
            shaped = ops.transpose(shaped, [0, 3, 1, 2])
        # Those of renormalisation join no collection of the program.
        of_each = {
            name: collected(variables_collections, name) for name in ("beta", "gamma", "moving_mean", "moving_variance")
        }
        outputs = call_layer(layer, opened, shaped, of_each, training=is_training)
        if as_image:
            outputs = ops.reshape(outputs, ops.shape(value))
            outputs.set_shape(value.shape)
        if plain and not as_image and not trainable:
            # TensorFlow moves nothing here where nothing is trained.
            layer.updates.clear()
        if updates_collections is None:
            with control_dependencies(layer.updates):
                outputs = ops.identity(outputs)
        else:
            for update in layer.updates:
                add_to_collections(updates_collections, update)
        return finished(outputs, opened, activation_fn, outputs_collections)


def _scale_and_offset(
    shape: Sequence[int],
    dtype: Any,
    center: bool,
    scale: bool,
    variables_collections: Collections,
    trainable: bool,
    makers: Mapping[str, Any] | None = None,
    losses: Mapping[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Return ``gamma`` and ``beta``, or ``None`` for what is not wanted."""
    variables = []
    for name, present, default in (("beta", center, ops.zeros_initializer()), ("gamma", scale, ops.ones_initializer())):
        variables.append(
            model_variable(
                name,
                list(shape),
                dtype,
                (makers or {}).get(name, default),
                (losses or {}).get(name),
                trainable,
                collected(variables_collections, name),
            )
            if present
            else None
        )
    return variables[1], variables[0]


@add_arg_scope
def layer_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    activation_fn: Callable[..., Any] | None = None,
    reuse: Any = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    scope: Any = None,
) -> Any:
    """Return the inputs with each example normalised.

    Args:
        inputs: the inputs.
        center: whether ``beta`` is added.
        scale: whether there is a factor ``gamma``.
        activation_fn: see ``batch_norm``, as for the following up to ``trainable``.
        reuse: see there.
        variables_collections: see there.
        outputs_collections: see there.
        trainable: see there.
        begin_norm_axis: the first axis that is normalised over.
        begin_params_axis: the first axis of ``beta`` and ``gamma``.
        scope: the scope of the variables or its name; ``LayerNorm`` if left out.

    Raises:
        ValueError: for inputs of unknown rank or sizes, or an axis that they do not have.
    """
    value = ops.convert_to_tensor(inputs)
    sizes = static_sizes(value)
    with layer_scope(scope, "LayerNorm", [value], reuse) as opened:
        if sizes is None:
            raise ValueError(f"Inputs {value.name} has undefined rank.")
        rank = len(sizes)
        first = begin_norm_axis % rank if -rank <= begin_norm_axis < rank else rank
        if first >= rank or not -rank <= begin_params_axis < rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) must be < "
                f"rank(inputs) ({rank})"
            )
        shape = sizes[begin_params_axis % rank :]
        known = [size for size in shape if size is not None]
        if len(known) != len(shape):
            raise ValueError(
                f"Inputs {value.name}: shape(inputs)[{begin_params_axis % rank}:] is not fully defined: {value.shape}"
            )
        gamma, beta = _scale_and_offset(known, value.dtype.base_dtype, center, scale, variables_collections, trainable)
        mean, variance = nn.moments(value, list(range(first, rank)), keepdims=True)
        outputs = nn.batch_normalization(value, mean, variance, beta, gamma, 1e-12)
        outputs.set_shape(value.shape)
        return finished(outputs, opened, activation_fn, outputs_collections)


@add_arg_scope
def instance_norm(
    inputs: Any,
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    reuse: Any = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Any:
    """Return images with each channel of each example normalised; see ``layer_norm``."""
    value = ops.convert_to_tensor(inputs)
    sizes = static_sizes(value)
    with layer_scope(scope, "InstanceNorm", [value], reuse) as opened:
        if sizes is None:
            raise ValueError(f"Inputs {value.name} has undefined rank.")
        channel = 1 if data_format == "NCHW" else len(sizes) - 1
        count = sizes[channel]
        if count is None:
            raise ValueError(f"Inputs {value.name} has undefined channels dimension {value.shape}.")
        gamma, beta = _scale_and_offset(
            [count], value.dtype.base_dtype, center, scale, variables_collections, trainable, param_initializers
        )
        axes = [axis for axis in range(1, len(sizes)) if axis != channel]
        mean, variance = nn.moments(value, axes, keepdims=True)
        placed = [1 if axis != channel else count for axis in range(len(sizes))]
        gamma, beta = (None if each is None else ops.reshape(each, placed) for each in (gamma, beta))
        outputs = nn.batch_normalization(value, mean, variance, beta, gamma, epsilon, name="instancenorm")
        outputs.set_shape(value.shape)
        return finished(outputs, opened, activation_fn, outputs_collections)


@add_arg_scope
def group_norm(
    inputs: Any,
    groups: int = 32,
    channels_axis: int = -1,
    reduction_axes: Sequence[int] = (-3, -2),
    center: bool = True,
    scale: bool = True,
    epsilon: float = 1e-6,
    activation_fn: Callable[..., Any] | None = None,
    param_initializers: Mapping[str, Any] | None = None,
    reuse: Any = None,
    variables_collections: Collections = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    mean_close_to_zero: bool = False,
) -> Any:
    """Return inputs with groups of channels of each example normalised; see ``layer_norm``.

    Raises:
        ValueError: if the channels do not make groups of one size, or for inputs of unknown sizes.
    """
    value = ops.convert_to_tensor(inputs)
    sizes = static_sizes(value)
    with layer_scope(scope, "GroupNorm", [value], reuse) as opened:
        if sizes is None:
            raise ValueError(f"Inputs {value.name} has undefined rank.")
        rank = len(sizes)
        channel = channels_axis % rank
        count = sizes[channel]
        if count is None or count % groups:
            raise ValueError(f"{count} channels is not commensurate with {groups} groups.")
        axes = sorted(axis % rank for axis in reduction_axes)
        if channel in axes:
            raise ValueError("reduction_axes must not contain the channels axis")
        gamma, beta = _scale_and_offset(
            [count], value.dtype.base_dtype, center, scale, variables_collections, trainable, param_initializers
        )
        extents = [ops.shape(value)[axis] if size is None else size for axis, size in enumerate(sizes)]
        split = [*extents[:channel], groups, count // groups, *extents[channel + 1 :]]
        grouped = ops.reshape(value, ops.stack(split))
        moved = [axis + 1 if axis > channel else axis for axis in axes]
        mean, variance = nn.moments(grouped, [*moved, channel + 1], keepdims=True)
        placed = [1] * (rank + 1)
        placed[channel], placed[channel + 1] = groups, count // groups
        gamma, beta = (None if each is None else ops.reshape(each, placed) for each in (gamma, beta))
        normal = nn.batch_normalization(grouped, mean, variance, beta, gamma, epsilon)
        outputs = ops.reshape(normal, ops.shape(value))
        outputs.set_shape(value.shape)
        return finished(outputs, opened, activation_fn, outputs_collections)


@add_arg_scope
def unit_norm(inputs: Any, dim: int, epsilon: float = 1e-7, scope: Any = None) -> Any:
    """Return the inputs scaled to length 1 along an axis.

    Raises:
        ValueError: for an axis that they do not have.
    """
    value = ops.convert_to_tensor(inputs)
    rank = value.shape.rank
    if rank is not None and not 0 <= dim < rank:
        raise ValueError(f"dim must be positive and less than the rank {rank} of inputs, got {dim}.")
    with ops.variable_scope(scope, "UnitNorm", [value]):
        squares = ops.reduce_sum(ops.square(value), axis=[dim], keepdims=True)
        return value / ops.sqrt(epsilon + squares)
