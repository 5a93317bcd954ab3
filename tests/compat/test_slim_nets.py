"""``slim.nets``: variables that fit TensorFlow's checkpoints, end points, and a small network that runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")

slim = tf.contrib.slim
nets = slim.nets


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


@pytest.mark.parametrize(
    ("version", "side", "count", "out"),
    [(1, 224, 5607184, [7, 7, 1024]), (2, 224, 10173112, [7, 7, 1024]), (3, 299, 21802784, [8, 8, 2048])],
)
def test_inception_has_the_parameters_of_its_checkpoints(version: int, side: int, count: int, out: list[int]) -> None:
    scope = getattr(nets.inception, f"inception_v{version}_arg_scope")
    with slim.arg_scope(scope()):
        base = getattr(nets.inception, f"inception_v{version}_base")
        net, points = base(tf.placeholder(tf.float32, [2, side, side, 3]))
    assert sum(v.shape.num_elements() for v in slim.get_model_variables()) == count
    assert net.shape.as_list() == [2, *out]
    assert net.name.startswith(f"InceptionV{version}/Mixed_")
    assert net is list(points.values())[-1]
    assert len(tf.get_collection("moving_vars")) == 2 * len(tf.get_collection("regularization_losses"))


def test_the_logits_of_inception_have_their_scopes() -> None:
    images = tf.placeholder(tf.float32, [2, 299, 299, 3])
    with slim.arg_scope(nets.inception.inception_v3_arg_scope()):
        logits, points = nets.inception.inception_v3(images, 7, is_training=False)
    assert logits.name == "InceptionV3/Logits/SpatialSqueeze:0"
    assert points["AuxLogits"].name == "InceptionV3/AuxLogits/SpatialSqueeze:0"
    assert points["Mixed_6e"].shape.as_list() == [2, 17, 17, 768]
    shapes = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
    assert shapes["InceptionV3/Mixed_5c/Branch_1/Conv_1_0c_5x5/weights"] == [5, 5, 48, 64]
    assert shapes["InceptionV3/Mixed_7b/Branch_1/Conv2d_0b_3x1/weights"] == [3, 1, 384, 384]
    assert shapes["InceptionV3/AuxLogits/Conv2d_2a_5x5/weights"] == [5, 5, 128, 768]
    assert shapes["InceptionV3/Logits/Conv2d_1c_1x1/biases"] == [7]


def test_small_images_and_few_channels_make_a_small_inception() -> None:
    images = np.random.default_rng(0).normal(size=(2, 64, 64, 3)).astype(np.float32)
    logits, _ = nets.inception.inception_v2(tf.constant(images), 5, depth_multiplier=0.1)
    first, points = nets.inception.inception_v1_base(tf.constant(images), "Mixed_3b")
    assert list(points)[-1] == "Mixed_3b"
    with pytest.raises(ValueError, match="Unknown final endpoint Mixed_9z"):
        nets.inception.inception_v1_base(tf.constant(images), "Mixed_9z")
    with pytest.raises(ValueError, match="depth_multiplier is not greater than zero"):
        nets.inception.inception_v2_base(tf.constant(images), depth_multiplier=0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found, shape = session.run([logits, tf.shape(first)])
    assert found.shape == (2, 5)
    assert np.isfinite(found).all()
    assert shape.tolist() == [2, 8, 8, 256]


def test_rates_take_the_place_of_strides() -> None:
    blocks = [nets.resnet_v2.resnet_v2_block(f"block{n}", 1, 2, 2) for n in (1, 2)]
    images = np.random.default_rng(0).normal(size=(2, 32, 32, 3)).astype(np.float32)
    found: dict[Any, Any] = {}
    for stride in (None, 8):
        with slim.arg_scope(nets.resnet_utils.resnet_arg_scope()):
            net, _ = nets.resnet_v2.resnet_v2(
                tf.constant(images),
                blocks,
                is_training=False,
                global_pool=False,
                output_stride=stride,
                reuse=bool(found) or None,
                scope="net",
            )
        found[stride] = net
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        small, large = session.run([found[None], found[8]])
    assert (small.shape, large.shape) == ((2, 2, 2, 4), (2, 4, 4, 4))
    np.testing.assert_allclose(small, large[:, ::2, ::2], rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="output_stride cannot be reached"):
        nets.resnet_v2.resnet_v2(tf.constant(images), blocks, output_stride=64)
