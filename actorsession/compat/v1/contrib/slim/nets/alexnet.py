"""AlexNet (Krizhevsky, 2014), in one column."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib import layers
from actorsession.compat.v1.contrib.framework import arg_scope
from actorsession.compat.v1.contrib.slim.utils import convert_collection_to_dict
from actorsession.namespaces import nn

__all__ = ["alexnet_v2", "alexnet_v2_arg_scope"]


def alexnet_v2_arg_scope(weight_decay: float = 0.0005) -> Any:
    """Return the defaults of arguments for the network."""
    with (
        arg_scope(
            [layers.conv2d, layers.fully_connected],
            activation_fn=nn.relu,
            biases_initializer=ops.constant_initializer(0.1),
            weights_regularizer=layers.l2_regularizer(weight_decay),
        ),
        arg_scope([layers.conv2d], padding="SAME"),
        arg_scope([layers.max_pool2d], padding="VALID") as scope,
    ):
        return scope


def alexnet_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.5,
    spatial_squeeze: bool = True,
    scope: Any = "alexnet_v2",
) -> tuple[Any, Any]:
    """Return the logits of the network, and its end points.

    Args:
        inputs: images of 224 x 224 pixels or more.
        num_classes: the number of classes.
        is_training: whether numbers are dropped.
        dropout_keep_prob: the probability of a number to stay.
        spatial_squeeze: whether the spatial axes of the logits are removed.
        scope: the scope of the variables.
    """
    conv, pool = layers.conv2d, layers.max_pool2d
    with ops.variable_scope(scope, "alexnet_v2", [inputs]) as opened:
        points = f"{opened.name}_end_points"
        with arg_scope([conv, layers.fully_connected, pool], outputs_collections=[points]):
            net = conv(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = pool(net, [3, 3], 2, scope="pool1")
            net = conv(net, 192, [5, 5], scope="conv2")
            net = pool(net, [3, 3], 2, scope="pool2")
            for number, channels in ((3, 384), (4, 384), (5, 256)):
                net = conv(net, channels, [3, 3], scope=f"conv{number}")
            net = pool(net, [3, 3], 2, scope="pool5")
            start = ops.truncated_normal_initializer(0.0, 0.005)
            with arg_scope([conv], weights_initializer=start, biases_initializer=ops.constant_initializer(0.1)):
                net = conv(net, 4096, [5, 5], padding="VALID", scope="fc6")
                net = layers.dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout6")
                net = conv(net, 4096, [1, 1], scope="fc7")
                net = layers.dropout(net, dropout_keep_prob, is_training=is_training, scope="dropout7")
                net = conv(
                    net,
                    num_classes,
                    [1, 1],
                    activation_fn=None,
                    normalizer_fn=None,
                    biases_initializer=ops.zeros_initializer(),
                    scope="fc8",
                )
        end_points = convert_collection_to_dict(points)
        if spatial_squeeze:
            net = ops.squeeze(net, [1, 2], name="fc8/squeezed")
            end_points[f"{opened.name}/fc8"] = net
        return net, end_points


vars(alexnet_v2)["default_image_size"] = 224
