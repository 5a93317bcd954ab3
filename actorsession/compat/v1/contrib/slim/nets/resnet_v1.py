"""Residual networks, version 1 (He and others, 2015): bottlenecks with a way around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib import layers
from actorsession.compat.v1.contrib.framework import add_arg_scope
from actorsession.compat.v1.contrib.slim.nets.resnet_utils import (
    Block,
    block_of,
    conv2d_same,
    network,
    network_of_size,
    resnet_arg_scope,
    subsample,
)
from actorsession.compat.v1.contrib.slim.utils import collect_named_outputs
from actorsession.namespaces import nn

__all__ = [
    "bottleneck",
    "resnet_arg_scope",
    "resnet_v1",
    "resnet_v1_50",
    "resnet_v1_101",
    "resnet_v1_152",
    "resnet_v1_200",
    "resnet_v1_block",
]


@add_arg_scope
def bottleneck(
    inputs: Any,
    depth: int,
    depth_bottleneck: int,
    stride: int,
    rate: int = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Any:
    """Return the outputs of a unit.

    Args:
        inputs: its inputs.
        depth: the number of channels of outputs.
        depth_bottleneck: the number of channels inside.
        stride: steps between the pixels of outputs.
        rate: steps between the elements of a window.
        outputs_collections: collections of the outputs.
        scope: the scope of the variables.
    """
    with ops.variable_scope(scope, "bottleneck_v1", [inputs]) as opened:
        if depth == inputs.shape[-1]:
            around = subsample(inputs, stride, "shortcut")
        else:
            around = layers.conv2d(inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut")
        net = layers.conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        net = conv2d_same(net, depth_bottleneck, 3, stride, rate, "conv2")
        net = layers.conv2d(net, depth, [1, 1], stride=1, activation_fn=None, scope="conv3")
        output = nn.relu(around + net)
        return collect_named_outputs(outputs_collections, opened.name, output)


def resnet_v1(
    inputs: Any,
    blocks: Sequence[Block],
    num_classes: int | None = None,
    is_training: Any = True,
    global_pool: bool = True,
    output_stride: int | None = None,
    include_root_block: bool = True,
    reuse: Any = None,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Return the outputs of a network of blocks, and its end points.

    Args:
        inputs: images.
        blocks: the blocks.
        num_classes: the number of classes; without it the features are returned.
        is_training: whether batches are normalised by their own statistics.
        global_pool: whether the mean over pixels is taken.
        output_stride: the number of pixels of inputs for one of outputs.
        include_root_block: whether a convolution and a pooling come first.
        reuse: whether variables are shared.
        scope: the scope of the variables; ``resnet_v1`` if left out.
    """
    return network(
        inputs,
        blocks,
        bottleneck,
        num_classes,
        is_training,
        global_pool,
        output_stride,
        include_root_block,
        reuse,
        scope,
        "resnet_v1",
        before_units=False,
    )


def resnet_v1_block(scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Return a block of so many units with so many channels inside."""
    return block_of(bottleneck, scope, base_depth, num_units, stride)


resnet_v1_50 = network_of_size("resnet_v1_50", (3, 4, 6, 3), resnet_v1, bottleneck)
resnet_v1_101 = network_of_size("resnet_v1_101", (3, 4, 23, 3), resnet_v1, bottleneck)
resnet_v1_152 = network_of_size("resnet_v1_152", (3, 8, 36, 3), resnet_v1, bottleneck)
resnet_v1_200 = network_of_size("resnet_v1_200", (3, 24, 36, 3), resnet_v1, bottleneck)
