"""What the residual networks share: blocks of units, their strides, and defaults of arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from actorsession import ops
from actorsession.compat.v1.contrib import layers
from actorsession.compat.v1.contrib.framework import add_arg_scope, arg_scope
from actorsession.compat.v1.contrib.slim.utils import collect_named_outputs, convert_collection_to_dict
from actorsession.namespaces import nn
from actorsession.ops import GraphKeys

__all__ = [
    "Block",
    "block_of",
    "conv2d_same",
    "network",
    "network_of_size",
    "resnet_arg_scope",
    "stack_blocks_dense",
    "subsample",
]


class Block(NamedTuple):
    """A row of units.

    Attributes:
        scope: the name of its scope.
        unit_fn: the function that makes a unit.
        args: the arguments of each unit.
    """

    scope: str
    unit_fn: Callable[..., Any]
    args: Sequence[Mapping[str, Any]]


def block_of(unit: Callable[..., Any], scope: str, base_depth: int, num_units: int, stride: int) -> Block:
    """Return a block of bottlenecks, of which the last one has the stride."""
    each = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    strides = [1] * (num_units - 1) + [stride]
    return Block(scope, unit, [{**each, "stride": step} for step in strides])


def subsample(inputs: Any, factor: int, scope: str | None = None) -> Any:
    """Return every so many pixels of images."""
    return inputs if factor == 1 else layers.max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(inputs: Any, num_outputs: int, kernel_size: int, stride: int, rate: int = 1, scope: Any = None) -> Any:
    """Return a convolution whose padding does not depend on the sizes of images."""
    if stride == 1:
        return layers.conv2d(inputs, num_outputs, kernel_size, stride=1, rate=rate, padding="SAME", scope=scope)
    total = (kernel_size - 1) * rate
    sides = [total // 2, total - total // 2]
    padded = ops.pad(inputs, [[0, 0], sides, sides, [0, 0]])
    return layers.conv2d(padded, num_outputs, kernel_size, stride=stride, rate=rate, padding="VALID", scope=scope)


@add_arg_scope
def stack_blocks_dense(
    net: Any, blocks: Iterable[Block], output_stride: int | None = None, outputs_collections: Any = None
) -> Any:
    """Return the outputs of blocks in a row.

    Args:
        net: the inputs.
        blocks: the blocks.
        output_stride: the number of pixels of inputs for one of outputs; rates take the place of strides
            beyond it.
        outputs_collections: collections of the outputs of blocks.

    Raises:
        ValueError: if that number cannot be reached.
    """
    stride = rate = 1
    for block in blocks:
        with ops.variable_scope(block.scope, "block", [net]) as opened:
            for number, unit in enumerate(block.args, 1):
                if output_stride is not None and stride > output_stride:
                    raise ValueError("The target output_stride cannot be reached.")
                with ops.variable_scope(f"unit_{number}", values=[net]):
                    if output_stride is not None and stride == output_stride:
                        net = block.unit_fn(net, rate=rate, **{**unit, "stride": 1})
                        rate *= unit.get("stride", 1)
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        stride *= unit.get("stride", 1)
            net = collect_named_outputs(outputs_collections, opened.name, net)
    if output_stride is not None and stride != output_stride:
        raise ValueError("The target output_stride cannot be reached.")
    return net


def resnet_arg_scope(
    weight_decay: float = 0.0001,
    batch_norm_decay: float = 0.997,
    batch_norm_epsilon: float = 1e-5,
    batch_norm_scale: bool = True,
) -> Any:
    """Return the defaults of arguments for residual networks."""
    norm = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": GraphKeys.UPDATE_OPS,
    }
    with (
        arg_scope(
            [layers.conv2d],
            weights_regularizer=layers.l2_regularizer(weight_decay),
            weights_initializer=layers.variance_scaling_initializer(),
            activation_fn=nn.relu,
            normalizer_fn=layers.batch_norm,
            normalizer_params=norm,
        ),
        arg_scope([layers.batch_norm], **norm),
        arg_scope([layers.max_pool2d], padding="SAME") as scope,
    ):
        return scope


def network(
    inputs: Any,
    blocks: Sequence[Block],
    unit: Callable[..., Any],
    num_classes: int | None,
    is_training: Any,
    global_pool: bool,
    output_stride: int | None,
    root: bool,
    reuse: Any,
    scope: Any,
    name: str,
    before_units: bool,
) -> tuple[Any, Any]:
    """Return the outputs of a residual network, and its end points.

    Args:
        inputs: images.
        blocks: its blocks.
        unit: the function that makes a unit.
        num_classes: the number of classes; without it the features are returned.
        is_training: whether batches are normalised by their own statistics.
        global_pool: whether the mean over pixels is taken.
        output_stride: see ``stack_blocks_dense``.
        root: whether a convolution and a pooling come first.
        reuse: whether variables are shared.
        scope: the scope of the variables.
        name: its name if there is none.
        before_units: whether units normalise their inputs, so that the root does not and the end does.

    Raises:
        ValueError: for a stride that a root of stride 4 cannot reach.
    """
    with ops.variable_scope(scope, name, [inputs], reuse=reuse) as opened:
        points = f"{opened.name}_end_points"
        with (
            arg_scope([layers.conv2d, unit, stack_blocks_dense], outputs_collections=points),
            arg_scope([layers.batch_norm], is_training=is_training),
        ):
            net = inputs
            if root:
                if output_stride is not None:
                    if output_stride % 4:
                        raise ValueError("The output_stride needs to be a multiple of 4.")
                    output_stride //= 4
                plain = {"activation_fn": None, "normalizer_fn": None} if before_units else {}
                with arg_scope([layers.conv2d], **plain):
                    net = conv2d_same(net, 64, 7, stride=2, scope="conv1")
                net = layers.max_pool2d(net, [3, 3], stride=2, scope="pool1")
            net = stack_blocks_dense(net, blocks, output_stride)
            if before_units:
                net = layers.batch_norm(net, activation_fn=nn.relu, scope="postnorm")
            if global_pool:
                net = ops.reduce_mean(net, [1, 2], name="pool5", keepdims=True)
            if num_classes is not None:
                net = layers.conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits")
            end_points = convert_collection_to_dict(points)
            if num_classes is not None:
                end_points["predictions"] = layers.softmax(net, scope="predictions")
            return net, end_points


def network_of_size(name: str, units: Sequence[int], network_of: Callable[..., Any], unit: Callable[..., Any]) -> Any:
    """Return the function that makes a network with so many units in each of its blocks.

    Args:
        name: the name of the function, and of the network's scope.
        units: the number of units in each block.
        network_of: makes a network of blocks.
        unit: makes a unit.
    """

    def build(
        inputs: Any,
        num_classes: int | None = None,
        is_training: Any = True,
        global_pool: bool = True,
        output_stride: int | None = None,
        reuse: Any = None,
        scope: Any = name,
    ) -> tuple[Any, Any]:
        blocks = [
            block_of(unit, f"block{number}", 32 * 2**number, count, 1 if number == 4 else 2)
            for number, count in enumerate(units, 1)
        ]
        outputs: tuple[Any, Any] = network_of(
            inputs,
            blocks,
            num_classes,
            is_training,
            global_pool,
            output_stride,
            include_root_block=True,
            reuse=reuse,
            scope=scope,
        )
        return outputs

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"Return the outputs of the network with {units} units, and its end points."
    vars(build)["default_image_size"] = 224
    return build
