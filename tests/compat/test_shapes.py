"""Shapes of TensorFlow 1: rows of ``Dimension`` objects, once a program has asked for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def x(graph: Any) -> Any:
    """A batch of rows of three, in a program of version one."""
    tf.disable_v2_behavior()
    return tf.placeholder(tf.float32, [None, 3], name="x")


def test_shapes_consist_of_ints_unless_a_program_says_otherwise() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    assert (x.shape[1], x.shape[0]) == (3, None)
    tf.disable_v2_tensorshape()
    assert x.shape[1].value == 3
    tf.enable_v2_tensorshape()
    assert list(x.shape) == [None, 3]


def test_dimensions_are_read_by_value(x: Any) -> None:
    assert [d.value for d in x.get_shape()] == [None, 3]
    assert (x.shape[-1].value, x.shape.dims[1].value) == (3, 3)
    assert tf.dimension_value(x.shape[1]) == tf.compat.dimension_value(3) == 3
    assert tf.dimension_at_index(x.shape, 1).value == tf.compat.dimension_at_index(x.shape, 1) == 3
    assert str(x.shape) == "(?, 3)"
    # Dimensions stand where sizes do.
    width = x.shape[1]
    assert tf.reshape(x, [-1, width * 2]).shape.as_list() == [None, 6]
    assert tf.zeros([width, 2]).shape.as_list() == [3, 2]
    assert tf.ones(width).shape.as_list() == [3]
    assert tf.get_variable("w", [width, 5]).shape.as_list() == [3, 5]
    assert tf.get_variable("b", shape=width).shape[0].value == 3
    assert tf.random_normal([width]).shape.as_list() == [3]
    assert tf.placeholder(tf.float32, [width, None]).shape.as_list() == [3, None]
    assert tf.convert_to_tensor(width).dtype is tf.int32
    assert tf.constant([width, 4]).dtype is tf.int32
    # A dimension that is not known makes no tensor.
    with pytest.raises(ValueError, match="not known"):
        tf.zeros([x.shape[0], 2])


def test_a_layer_is_written_as_in_version_one(x: Any) -> None:
    def dense(inputs: Any, units: int) -> Any:
        width = inputs.get_shape()[-1].value
        kernel = tf.get_variable("kernel", [width, units], initializer=tf.ones_initializer())
        return tf.matmul(inputs, kernel)

    y = dense(x, 2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(y, {x: np.ones([1, 3])}).tolist() == [[3.0, 3.0]]


def test_functions_of_shapes_work_in_a_program_of_version_one(x: Any) -> None:
    """Gradients, images, contractions and the like look at shapes themselves."""
    y = tf.tensordot(tf.nn.softmax(x), tf.ones([3, 2]), 1)
    joined = tf.concat([y, tf.reduce_mean(x, 1, keepdims=True)], 1)
    (grad,) = tf.gradients(joined, x)
    image = tf.image.resize_image_with_crop_or_pad(tf.zeros([4, 5, 1]), 2, 7)
    with tf.Session() as sess:
        found = sess.run([grad, image, tf.unstack(x, axis=1)[0]], {x: np.ones([2, 3])})
    assert [value.shape for value in found] == [(2, 3), (2, 7, 1), (2,)]
