"""``tf.quantization`` and the functions of ``tf`` and ``tf.nn`` for quantised numbers."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

import actorsession.compat.v1 as tf


def test_what_was_quantised_is_nearly_what_it_was() -> None:
    x = tf.constant([[-1.0, 0.25], [0.5, 2.0]])
    for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
        integers, low, high = tf.quantization.quantize(x, -1.0, 2.0, tf.qint8 if mode == "SCALED" else tf.quint8, mode)
        back = tf.quantization.dequantize(integers, low, high, mode)
        with tf.Session() as sess:
            found, given = sess.run([back, x])
        np.testing.assert_allclose(found, given, atol=0.02)
    assert tf.quantize_v2(x, -1.0, 2.0, tf.quint8)[0].dtype == tf.quint8
    assert tf.quint8 in tf.QUANTIZED_DTYPES


def test_rounding_lets_the_gradient_through_within_its_range() -> None:
    x = tf.constant([-3.0, 0.3, 5.0])
    plain = tf.quantization.quantize_and_dequantize(x, -1.0, 1.0, range_given=True, num_bits=3)
    known = tf.quantization.quantize_and_dequantize_v2(x, -1.0, 1.0, range_given=True, num_bits=3)
    with tf.Session() as sess:
        values, slope, limited = sess.run([plain, *tf.gradients(plain, x), *tf.gradients(known, x)])
    np.testing.assert_allclose(values, [-4 / 3, 1 / 3, 1], rtol=1e-6)
    assert (slope.tolist(), limited.tolist()) == ([1, 1, 1], [0, 1, 0])
    # Halves are rounded to even or up.
    x = tf.constant([-1.5, -0.5, 0.5, 1.5, 2.5])
    found = [
        tf.quantization.quantize_and_dequantize_v2(x, -4.0, 3.0, range_given=True, num_bits=3, round_mode=mode)
        for mode in ("HALF_TO_EVEN", "HALF_UP")
    ]
    with tf.Session() as sess:
        assert [value.tolist() for value in sess.run(found)] == [[-2, 0, 0, 2, 2], [-1, 0, 1, 2, 3]]


def test_a_quantised_network_gives_what_the_real_one_does() -> None:
    random = np.random.default_rng(0)
    images = random.uniform(-1, 1, (1, 6, 6, 2)).astype(np.float32)
    kernel = random.uniform(-1, 1, (3, 3, 2, 4)).astype(np.float32)
    x, low, high = tf.quantize(images, -1.0, 1.0, tf.quint8, "MIN_FIRST")
    f, least, most = tf.quantize(kernel, -1.0, 1.0, tf.quint8, "MIN_FIRST")
    product = tf.nn.quantized_conv2d(x, f, low, high, least, most, [1, 1, 1, 1], "SAME")
    narrow = tf.raw_ops.QuantizeDownAndShrinkRange(
        input=product[0], input_min=product[1], input_max=product[2], out_type=tf.quint8
    )
    pooled = tf.nn.quantized_max_pool(narrow[0], narrow[1], narrow[2], [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    both = tf.quantized_concat(3, [pooled[0]] * 2, [pooled[1]] * 2, [pooled[2]] * 2)
    found = tf.dequantize(*both, "MIN_FIRST")
    real = tf.nn.max_pool(tf.nn.conv2d(images, kernel, 1, "SAME"), 2, 2, "VALID")
    with tf.Session() as sess:
        ours, wanted = sess.run([found, tf.concat([real, real], 3)])
    np.testing.assert_allclose(ours, wanted, atol=0.1)


def test_a_frozen_graph_with_quantised_constants_is_imported_and_exported_as_it_is() -> None:
    with tf.Graph().as_default() as graph:
        weights = np.array([1, 255], np.uint8).view([("quint8", np.uint8)])
        tf.dequantize(tf.constant(weights, name="w"), 0.0, 1.0, name="y")
        written = graph.as_graph_def()
    again: Any = tf.GraphDef()
    again.ParseFromString(cast(Any, written).SerializeToString())
    assert again == written
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.import_graph_def(written, name="")
        np.testing.assert_allclose(sess.run("y:0"), [1 / 255, 1], rtol=1e-6)
        assert sess.run("w:0").tolist() == [1, 255]


def test_patches_of_volumes() -> None:
    volume = tf.reshape(tf.range(8), [1, 2, 2, 2, 1])
    patches = tf.extract_volume_patches(volume, [1, 1, 2, 2, 1], [1, 1, 1, 1, 1], "VALID")
    with tf.Session() as sess:
        assert sess.run(patches).reshape(2, 4).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
