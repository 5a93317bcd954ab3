"""VGG (Simonyan and Zisserman, 2014): rows of small convolutions, and dense layers as convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib import layers
from actorsession.compat.v1.contrib.framework import arg_scope
from actorsession.compat.v1.contrib.slim.utils import convert_collection_to_dict
from actorsession.namespaces import nn

__all__ = ["vgg_16", "vgg_19", "vgg_a", "vgg_arg_scope"]

_CHANNELS = (64, 128, 256, 512, 512)


def vgg_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Return the defaults of arguments for the networks."""
    with (
        arg_scope(
            [layers.conv2d, layers.fully_connected],
            activation_fn=nn.relu,
            weights_regularizer=layers.l2_regularizer(weight_decay),
            biases_initializer=ops.zeros_initializer(),
        ),
        arg_scope([layers.conv2d], padding="SAME") as scope,
    ):
        return scope


def _network(
    inputs: Any,
    repeats: Sequence[int],
    name: str,
    num_classes: int,
    is_training: Any,
    keep: float,
    squeeze: bool,
    scope: Any,
) -> tuple[Any, Any]:
    with ops.variable_scope(scope, name, [inputs]) as opened:
        points = f"{opened.name}_end_points"
        kinds = [layers.conv2d, layers.fully_connected, layers.max_pool2d]
        with arg_scope(kinds, outputs_collections=points):
            net = inputs
            for number, (times, channels) in enumerate(zip(repeats, _CHANNELS, strict=True), 1):
                net = layers.repeat(net, times, layers.conv2d, channels, [3, 3], scope=f"conv{number}")
                net = layers.max_pool2d(net, [2, 2], scope=f"pool{number}")
            net = layers.conv2d(net, 4096, [7, 7], padding="VALID", scope="fc6")
            net = layers.dropout(net, keep, is_training=is_training, scope="dropout6")
            net = layers.conv2d(net, 4096, [1, 1], scope="fc7")
            net = layers.dropout(net, keep, is_training=is_training, scope="dropout7")
            net = layers.conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8")
        end_points = convert_collection_to_dict(points)
        if squeeze:
            net = ops.squeeze(net, [1, 2], name="fc8/squeezed")
            end_points[f"{opened.name}/fc8"] = net
        return net, end_points


def vgg_a(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "vgg_a",
) -> tuple[Any, Any]:
    """Return the logits of the network with 11 layers, and its end points.

    Args:
        inputs: images of 224 x 224 pixels or more.
        num_classes: the number of classes.
        is_training: whether numbers are dropped.
        dropout_keep_prob: the probability of a number to stay.
        spatial_squeeze: whether the spatial axes of the logits are removed.
        scope: the scope of the variables.
    """
    return _network(
        inputs, (1, 1, 2, 2, 2), "vgg_a", num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope
    )


def vgg_16(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "vgg_16",
) -> tuple[Any, Any]:
    """Return the logits of the network with 16 layers, and its end points; see ``vgg_a``."""
    return _network(
        inputs, (2, 2, 3, 3, 3), "vgg_16", num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope
    )


def vgg_19(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "vgg_19",
) -> tuple[Any, Any]:
    """Return the logits of the network with 19 layers, and its end points; see ``vgg_a``."""
    return _network(
        inputs, (2, 2, 4, 4, 4), "vgg_19", num_classes, is_training, dropout_keep_prob, spatial_squeeze, scope
    )


for _network_of in (vgg_a, vgg_16, vgg_19):
    vars(_network_of)["default_image_size"] = 224
