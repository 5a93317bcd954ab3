"""Inception 1 to 3 (Szegedy et al., 2014 and 2015; Ioffe and Szegedy, 2015): layers of parallel branches.

A network is a table of layers. In a row, ``|`` parts branches, whose results are joined, and ``,`` the steps
of a branch. ``64 3x3 0b`` is a convolution with 64 channels in the scope "Conv2d_0b_3x3", ``max 3x3 0a`` a
pooling in "MaxPool_0a_3x3"; ``/2`` is a stride, ``valid`` a padding, ``~0.09`` a deviation of weights. What
``+`` parts goes over the same input and is joined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib import layers
from actorsession.compat.v1.contrib.framework import arg_scope
from actorsession.namespaces import nn

__all__ = [
    "inception_v1",
    "inception_v1_arg_scope",
    "inception_v1_base",
    "inception_v2",
    "inception_v2_arg_scope",
    "inception_v2_base",
    "inception_v3",
    "inception_v3_arg_scope",
    "inception_v3_base",
]


def _first_inception(one: int, *others: int) -> str:
    """A row of Inception 1: channels of the branches of 1, 3 and 5 pixels, and of the pooling one."""
    b, c, d, e, f = others
    return f"{one} 1x1 0a | {b} 1x1 0a, {c} 3x3 0b | {d} 1x1 0a, {e} 3x3 0b | max 3x3 0a, {f} 1x1 0b"


_V1 = {
    "Conv2d_1a_7x7": "64 7x7 1a /2",
    "MaxPool_2a_3x3": "max 3x3 2a /2",
    "Conv2d_2b_1x1": "64 1x1 2b",
    "Conv2d_2c_3x3": "192 3x3 2c",
    "MaxPool_3a_3x3": "max 3x3 3a /2",
    "Mixed_3b": _first_inception(64, 96, 128, 16, 32, 32),
    "Mixed_3c": _first_inception(128, 128, 192, 32, 96, 64),
    "MaxPool_4a_3x3": "max 3x3 4a /2",
    "Mixed_4b": _first_inception(192, 96, 208, 16, 48, 64),
    "Mixed_4c": _first_inception(160, 112, 224, 24, 64, 64),
    "Mixed_4d": _first_inception(128, 128, 256, 24, 64, 64),
    "Mixed_4e": _first_inception(112, 144, 288, 32, 64, 64),
    "Mixed_4f": _first_inception(256, 160, 320, 32, 128, 128),
    "MaxPool_5a_2x2": "max 2x2 5a /2",
    # One scope has another name than in all other layers, which checkpoints hold.
    "Mixed_5b": _first_inception(256, 160, 320, 32, 128, 128).replace("128 3x3 0b", "128 3x3 0a"),
    "Mixed_5c": _first_inception(384, 192, 384, 48, 128, 128),
}


def _second_inception(one: int, *others: int, pool: str = "avg") -> str:
    """A row of Inception 2: channels of the branches of 1, 3 and twice 3 pixels, and of the pooling one."""
    b, c, d, e, f = others
    return (
        f"{one} 1x1 0a | {b} 1x1 0a ~0.09, {c} 3x3 0b | {d} 1x1 0a ~0.09, {e} 3x3 0b, {e} 3x3 0c"
        f" | {pool} 3x3 0a, {f} 1x1 0b ~0.1"
    )


_V2 = {
    "Conv2d_1a_7x7": "separable 64 7x7 1a /2 ~1.0",
    "MaxPool_2a_3x3": "max 3x3 2a /2",
    "Conv2d_2b_1x1": "64 1x1 2b ~0.1",
    "Conv2d_2c_3x3": "192 3x3 2c",
    "MaxPool_3a_3x3": "max 3x3 3a /2",
    "Mixed_3b": _second_inception(64, 64, 64, 64, 96, 32),
    "Mixed_3c": _second_inception(64, 64, 96, 64, 96, 64),
    "Mixed_4a": ("128 1x1 0a ~0.09, 160 3x3 1a /2 | 64 1x1 0a ~0.09, 96 3x3 0b, 96 3x3 1a /2 | max 3x3 1a /2"),
    "Mixed_4b": _second_inception(224, 64, 96, 96, 128, 128),
    "Mixed_4c": _second_inception(192, 96, 128, 96, 128, 128),
    "Mixed_4d": _second_inception(160, 128, 160, 128, 160, 96),
    "Mixed_4e": _second_inception(96, 128, 192, 160, 192, 96),
    "Mixed_5a": ("128 1x1 0a ~0.09, 192 3x3 1a /2 | 192 1x1 0a ~0.09, 256 3x3 0b, 256 3x3 1a /2 | max 3x3 1a /2"),
    "Mixed_5b": _second_inception(352, 192, 320, 160, 224, 128),
    "Mixed_5c": _second_inception(352, 192, 320, 192, 224, 128, pool="max"),
}


def _small(pooled: int) -> str:
    return f"64 1x1 0a | 48 1x1 0a, 64 5x5 0b | 64 1x1 0a, 96 3x3 0b, 96 3x3 0c | avg 3x3 0a, {pooled} 1x1 0b"


def _long(n: int) -> str:
    return (
        f"192 1x1 0a | {n} 1x1 0a, {n} 1x7 0b, 192 7x1 0c"
        f" | {n} 1x1 0a, {n} 7x1 0b, {n} 1x7 0c, {n} 7x1 0d, 192 1x7 0e | avg 3x3 0a, 192 1x1 0b"
    )


def _wide(place: str) -> str:
    return (
        f"320 1x1 0a | 384 1x1 0a, 384 1x3 0b + 384 3x1 {place}"
        " | 448 1x1 0a, 384 3x3 0b, 384 1x3 0c + 384 3x1 0d | avg 3x3 0a, 192 1x1 0b"
    )


_V3 = {
    "Conv2d_1a_3x3": "32 3x3 1a /2 valid",
    "Conv2d_2a_3x3": "32 3x3 2a valid",
    "Conv2d_2b_3x3": "64 3x3 2b",
    "MaxPool_3a_3x3": "max 3x3 3a /2 valid",
    "Conv2d_3b_1x1": "80 1x1 3b valid",
    "Conv2d_4a_3x3": "192 3x3 4a valid",
    "MaxPool_5a_3x3": "max 3x3 5a /2 valid",
    "Mixed_5b": _small(32),
    "Mixed_5c": _small(64).replace("48 1x1 0a, 64 5x5 0b", "48 1x1 0b, 64 5x5 Conv_1_0c_5x5"),
    "Mixed_5d": _small(64),
    "Mixed_6a": (
        "384 3x3 Conv2d_1a_1x1 /2 valid | 64 1x1 0a, 96 3x3 0b, 96 3x3 Conv2d_1a_1x1 /2 valid | max 3x3 1a /2 valid"
    ),
    "Mixed_6b": _long(128),
    "Mixed_6c": _long(160),
    "Mixed_6d": _long(160),
    "Mixed_6e": _long(192),
    "Mixed_7a": (
        "192 1x1 0a, 320 3x3 1a /2 valid"
        " | 192 1x1 0a, 192 1x7 0b, 192 7x1 0c, 192 3x3 1a /2 valid | max 3x3 1a /2 valid"
    ),
    "Mixed_7b": _wide("0b"),
    "Mixed_7c": _wide("0c"),
}


def _step(net: Any, words: list[str], depth: Callable[[int], int]) -> Any:
    """Add one convolution or pooling."""
    options: dict[str, Any] = {"stride": 1, "padding": "SAME"}
    for word in words[:]:
        if word.startswith("/"):
            options["stride"] = int(word[1:])
        elif word == "valid":
            options["padding"] = "VALID"
        elif word.startswith("~"):
            options["weights_initializer"] = ops.truncated_normal_initializer(0.0, float(word[1:]))
        else:
            continue
        words.remove(word)
    kind, kernel, place = words[-3:]
    size = [int(side) for side in kernel.split("x")]

    def scope(name: str) -> str:
        return place if "_" in place else f"{name}_{place}_{kernel}"

    if kind == "max":
        return layers.max_pool2d(net, size, scope=scope("MaxPool"), **options)
    if kind == "avg":
        return layers.avg_pool2d(net, size, scope=scope("AvgPool"), **options)
    channels = depth(int(kind))
    if words[0] == "separable":
        each = min(channels // 3, 8)
        return layers.separable_conv2d(net, channels, size, depth_multiplier=each, scope=scope("Conv2d"), **options)
    return layers.conv2d(net, channels, size, scope=scope("Conv2d"), **options)


def _branch(net: Any, text: str, depth: Callable[[int], int]) -> Any:
    for step in text.split(","):
        outputs = [_step(net, part.split(), depth) for part in step.split("+")]
        net = outputs[0] if len(outputs) == 1 else ops.concat(outputs, 3)
    return net


def _base(
    name: str, table: Mapping[str, str], inputs: Any, final_endpoint: str, depth: Callable[[int], int], scope: Any
) -> tuple[Any, dict[str, Any]]:
    """Add the layers of a table up to one of them."""
    if final_endpoint not in table:
        raise ValueError(f"Unknown final endpoint {final_endpoint}: it is none of {', '.join(table)}")
    net, points = inputs, {}
    with ops.variable_scope(scope, name, [inputs]):
        for point, row in table.items():
            if point.startswith("Mixed"):
                branches = []
                with ops.variable_scope(point):
                    for number, branch in enumerate(row.split("|")):
                        with ops.variable_scope(f"Branch_{number}"):
                            branches.append(_branch(net, branch, depth))
                    net = ops.concat(branches, 3)
            else:
                net = _branch(net, row, depth)
            points[point] = net
            if point == final_endpoint:
                break
    return net, points


def _depth(multiplier: float, least: int) -> Callable[[int], int]:
    if multiplier <= 0:
        raise ValueError(f"depth_multiplier is not greater than zero: {multiplier}")
    return lambda channels: max(int(channels * multiplier), least)


def inception_v1_base(
    inputs: Any, final_endpoint: str = "Mixed_5c", scope: Any = "InceptionV1"
) -> tuple[Any, dict[str, Any]]:
    """Return the output of the layers before the logits, and those of all layers.

    Args:
        inputs: images.
        final_endpoint: the last layer.
        scope: the scope of the variables.
    """
    start = ops.truncated_normal_initializer(0.0, 0.01)
    with arg_scope([layers.conv2d, layers.fully_connected], weights_initializer=start):
        return _base("InceptionV1", _V1, inputs, final_endpoint, int, scope)


def inception_v2_base(
    inputs: Any, final_endpoint: str = "Mixed_5c", min_depth: int = 16, depth_multiplier: float = 1.0, scope: Any = None
) -> tuple[Any, dict[str, Any]]:
    """Return the output of the layers before the logits, and those of all layers.

    Args:
        inputs: images.
        final_endpoint: the last layer.
        min_depth: the channels that a convolution has at least.
        depth_multiplier: multiplies the channels of all convolutions.
        scope: the scope of the variables.
    """
    depth = _depth(depth_multiplier, min_depth)
    return _base("InceptionV2", _V2, inputs, final_endpoint, depth, scope)


def inception_v3_base(
    inputs: Any, final_endpoint: str = "Mixed_7c", min_depth: int = 16, depth_multiplier: float = 1.0, scope: Any = None
) -> tuple[Any, dict[str, Any]]:
    """Return the output before the logits, and those of all layers; see ``inception_v2_base``."""
    depth = _depth(depth_multiplier, min_depth)
    return _base("InceptionV3", _V3, inputs, final_endpoint, depth, scope)


def _window(net: Any, size: int) -> list[int]:
    """The window of a pooling, no larger than a small input."""
    return [size if side is None else min(side, size) for side in net.shape.as_list()[1:3]]


def _logits(
    net: Any,
    points: dict[str, Any],
    window: list[int],
    names: tuple[str, str, str],
    num_classes: int,
    keep: float,
    prediction_fn: Any,
    spatial_squeeze: bool,
) -> tuple[Any, dict[str, Any]]:
    pool, dropout, conv = names
    with ops.variable_scope("Logits"):
        net = layers.avg_pool2d(net, window, stride=1, padding="VALID", scope=pool)
        net = layers.dropout(net, keep, scope=dropout)
        points["PreLogits"] = net
        net = layers.conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope=conv)
        if spatial_squeeze:
            net = ops.squeeze(net, [1, 2], name="SpatialSqueeze")
    points["Logits"] = net
    points["Predictions"] = prediction_fn(net, scope="Predictions")
    return net, points


def _auxiliary_logits(net: Any, num_classes: int, depth: Callable[[int], int], squeeze: bool) -> Any:
    with ops.variable_scope("AuxLogits"):
        net = layers.avg_pool2d(net, [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5")
        net = layers.conv2d(net, depth(128), [1, 1], scope="Conv2d_1b_1x1")
        window = _window(net, 5)
        net = layers.conv2d(
            net,
            depth(768),
            window,
            padding="VALID",
            scope=f"Conv2d_2a_{window[0]}x{window[1]}",
            weights_initializer=ops.truncated_normal_initializer(0.0, 0.01),
        )
        net = layers.conv2d(
            net,
            num_classes,
            [1, 1],
            activation_fn=None,
            normalizer_fn=None,
            scope="Conv2d_2b_1x1",
            weights_initializer=ops.truncated_normal_initializer(0.0, 0.001),
        )
        return ops.squeeze(net, [1, 2], name="SpatialSqueeze") if squeeze else net


def inception_v1(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    prediction_fn: Any = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV1",
) -> tuple[Any, dict[str, Any]]:
    """Return the logits of the network, and its end points.

    Args:
        inputs: images of 224 x 224 pixels.
        num_classes: the number of classes.
        is_training: whether numbers are dropped and statistics of batches are used.
        dropout_keep_prob: the probability of a number to stay.
        prediction_fn: makes predictions of logits.
        spatial_squeeze: whether the spatial axes of the logits are removed.
        reuse: whether the variables exist already.
        scope: the scope of the variables.
    """
    with (
        ops.variable_scope(scope, "InceptionV1", [inputs, num_classes], reuse=reuse) as opened,
        arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, points = inception_v1_base(inputs, scope=opened)
        names = ("MaxPool_0a_7x7", "Dropout_0b", "Conv2d_0c_1x1")
        return _logits(net, points, [7, 7], names, num_classes, dropout_keep_prob, prediction_fn, spatial_squeeze)


def inception_v2(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Any = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    scope: Any = "InceptionV2",
) -> tuple[Any, dict[str, Any]]:
    """Return the logits and the end points; see ``inception_v1`` and ``inception_v2_base``."""
    with (
        ops.variable_scope(scope, "InceptionV2", [inputs, num_classes], reuse=reuse) as opened,
        arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, points = inception_v2_base(inputs, scope=opened, min_depth=min_depth, depth_multiplier=depth_multiplier)
        window = _window(net, 7)
        names = (f"AvgPool_1a_{window[0]}x{window[1]}", "Dropout_1b", "Conv2d_1c_1x1")
        return _logits(net, points, window, names, num_classes, dropout_keep_prob, prediction_fn, spatial_squeeze)


def inception_v3(
    inputs: Any,
    num_classes: int = 1000,
    is_training: Any = True,
    dropout_keep_prob: float = 0.8,
    min_depth: int = 16,
    depth_multiplier: float = 1.0,
    prediction_fn: Any = layers.softmax,
    spatial_squeeze: bool = True,
    reuse: Any = None,
    create_aux_logits: bool = True,
    scope: Any = "InceptionV3",
) -> tuple[Any, dict[str, Any]]:
    """Return the logits and the end points; see ``inception_v1`` and ``inception_v2_base``.

    Args:
        inputs: images of 299 x 299 pixels.
        num_classes: as for ``inception_v1``.
        is_training: as for ``inception_v1``.
        dropout_keep_prob: as for ``inception_v1``.
        min_depth: as for ``inception_v2_base``.
        depth_multiplier: as for ``inception_v2_base``.
        prediction_fn: as for ``inception_v1``.
        spatial_squeeze: as for ``inception_v1``.
        reuse: as for ``inception_v1``.
        create_aux_logits: whether the layer in the middle has logits of its own.
        scope: the scope of the variables.
    """
    depth = _depth(depth_multiplier, min_depth)
    with (
        ops.variable_scope(scope, "InceptionV3", [inputs, num_classes], reuse=reuse) as opened,
        arg_scope([layers.batch_norm, layers.dropout], is_training=is_training),
    ):
        net, points = inception_v3_base(inputs, scope=opened, min_depth=min_depth, depth_multiplier=depth_multiplier)
        if create_aux_logits:
            points["AuxLogits"] = _auxiliary_logits(points["Mixed_6e"], num_classes, depth, spatial_squeeze)
        window = _window(net, 8)
        names = (f"AvgPool_1a_{window[0]}x{window[1]}", "Dropout_1b", "Conv2d_1c_1x1")
        return _logits(net, points, window, names, num_classes, dropout_keep_prob, prediction_fn, spatial_squeeze)


for _network, _size in ((inception_v1, 224), (inception_v2, 224), (inception_v3, 299)):
    vars(_network)["default_image_size"] = _size


def inception_v3_arg_scope(
    weight_decay: float = 0.00004,
    batch_norm_var_collection: str = "moving_vars",
    batch_norm_decay: float = 0.9997,
    batch_norm_epsilon: float = 0.001,
    updates_collections: Any = ops.GraphKeys.UPDATE_OPS,
    use_fused_batchnorm: bool = True,
) -> Any:
    """Return the defaults of arguments for the network.

    Args:
        weight_decay: the factor of the squares of weights in the loss.
        batch_norm_var_collection: the collection of moving averages.
        batch_norm_decay: how slowly these move.
        batch_norm_epsilon: added to variances.
        updates_collections: the collection of their updates.
        use_fused_batchnorm: whether batches are normalised by one operation.
    """
    moving = [batch_norm_var_collection]
    normalised = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "updates_collections": updates_collections,
        "fused": use_fused_batchnorm,
        "variables_collections": {"beta": None, "gamma": None, "moving_mean": moving, "moving_variance": moving},
    }
    return _arg_scope(weight_decay, normalised)


def _older_arg_scope(
    weight_decay: float = 0.00004, use_batch_norm: bool = True, batch_norm_var_collection: str = "moving_vars"
) -> Any:
    """Return the defaults of arguments for the network; see ``inception_v3_arg_scope``."""
    if not use_batch_norm:
        return _arg_scope(weight_decay, None)
    return inception_v3_arg_scope(weight_decay, batch_norm_var_collection, use_fused_batchnorm=False)


inception_v1_arg_scope = inception_v2_arg_scope = _older_arg_scope


def _arg_scope(weight_decay: float, normalised: Mapping[str, Any] | None) -> Any:
    convolved = {"normalizer_fn": layers.batch_norm, "normalizer_params": normalised}
    with (
        arg_scope([layers.conv2d, layers.fully_connected], weights_regularizer=layers.l2_regularizer(weight_decay)),
        arg_scope(
            [layers.conv2d],
            weights_initializer=layers.variance_scaling_initializer(),
            activation_fn=nn.relu,
            **(convolved if normalised is not None else {}),
        ) as scope,
    ):
        return scope
