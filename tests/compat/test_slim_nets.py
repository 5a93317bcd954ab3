"""``slim.nets``: variables that fit TensorFlow's checkpoints, end points, and a small network that runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

slim = tf.contrib.slim
nets = slim.nets


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as graph:
        yield graph


def test_vgg_has_the_variables_of_its_checkpoints() -> None:
    with slim.arg_scope(nets.vgg.vgg_arg_scope()):
        net, points = nets.vgg.vgg_16(tf.placeholder(tf.float32, [2, 224, 224, 3]), 10)
    shapes = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
    assert len(shapes) == 32
    assert shapes["vgg_16/conv3/conv3_2/weights"] == [3, 3, 256, 256]
    assert shapes["vgg_16/fc6/weights"] == [7, 7, 512, 4096]
    assert net.name == "vgg_16/fc8/squeezed:0"
    assert points["vgg_16/pool5"].shape.as_list() == [2, 7, 7, 512]
    assert len(tf.losses.get_regularization_losses()) == 16


def test_residual_networks_have_the_variables_of_their_checkpoints() -> None:
    images = tf.placeholder(tf.float32, [2, 224, 224, 3])
    with slim.arg_scope(nets.resnet_utils.resnet_arg_scope()):
        net, points = nets.resnet_v1.resnet_v1_50(images, 10, is_training=False)
    shapes = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
    assert len(shapes) == 267
    where = "resnet_v1_50/block4/unit_1/bottleneck_v1"
    assert shapes[f"{where}/shortcut/BatchNorm/moving_mean"] == [2048]
    assert shapes[f"{where}/conv2/weights"] == [3, 3, 512, 512]
    assert net.shape.as_list() == [2, 1, 1, 10]
    assert points["resnet_v1_50/block3"].shape.as_list() == [2, 7, 7, 1024]
    assert points["predictions"].name == "resnet_v1_50/predictions/Reshape_1:0"


def test_rates_take_the_place_of_strides() -> None:
    blocks = [nets.resnet_v2.resnet_v2_block(f"block{n}", 1, 2, 2) for n in (1, 2)]
    images = np.random.default_rng(0).normal(size=(2, 32, 32, 3)).astype(np.float32)
    found: dict[Any, Any] = {}
    for stride in (None, 8):
        with slim.arg_scope(nets.resnet_utils.resnet_arg_scope()):
            net, _ = nets.resnet_v2.resnet_v2(
                tf.constant(images), blocks, is_training=False, global_pool=False,
                output_stride=stride, reuse=bool(found) or None, scope="net",
            )  # fmt: skip
        found[stride] = net
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        small, large = session.run([found[None], found[8]])
    assert (small.shape, large.shape) == ((2, 2, 2, 4), (2, 4, 4, 4))
    np.testing.assert_allclose(small, large[:, ::2, ::2], rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="output_stride cannot be reached"):
        nets.resnet_v2.resnet_v2(tf.constant(images), blocks, output_stride=64)
