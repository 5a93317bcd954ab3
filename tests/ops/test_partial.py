"""What is known early of shapes that a program computes of other shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import actorsession.compat.v1 as tf
from actorsession.graph.graph import Graph
from tests.ops.interpreter import evaluate
from tests.rows import for_each

Case = Callable[[Any, Any], Any]


SHAPES: dict[str, tuple[Case, list[int | None]]] = {
    "product": (lambda x, s: tf.reshape(x, [-1, s[1] * s[2]]), [None, 12]),
    "sum": (lambda _, s: tf.zeros([s[0], s[1] + 1]), [None, 5]),
    "difference": (lambda _, s: tf.zeros([s[0], s[1] - 1]), [None, 3]),
    "quotient": (lambda _, s: tf.zeros([s[0], s[1] // 2]), [None, 2]),
    "remainder": (lambda _, s: tf.zeros([s[0], s[1] % 3]), [None, 1]),
    "larger": (lambda _, s: tf.zeros([s[0], tf.maximum(s[1], 9)]), [None, 9]),
    "smaller": (lambda _, s: tf.zeros([s[0], tf.minimum(s[1], 2)]), [None, 2]),
    "negative": (lambda _, s: tf.zeros([s[0], -(3 - s[1] * 2) - 1]), [None, 4]),
    "unstacked": (lambda _, s: tf.zeros(tf.stack([tf.unstack(s)[2] * 2])), [6]),
    "by-floats": (
        lambda _, s: tf.zeros([s[0], tf.cast(tf.cast(s[1], "float32") * 1.5, "int32")]), [None, 6],
    ),
    "of-long": (lambda _, s: tf.zeros(tf.stack([tf.cast(s[1], "int64") * 2])), [8]),
    "over-zero": (lambda _, s: tf.zeros([s[1] // (s[2] - 3), 2]), [None, 2]),
    "unknown-times": (lambda _, s: tf.zeros([s[0] * s[1], 2]), [None, 2]),
    "tile": (lambda x, s: tf.tile(x, [1, s[0], 2]), [None, None, 6]),
    "slice": (lambda x, s: tf.slice(x, [0, s[0], 1], [s[0], 2, -1]), [None, 2, 2]),
    "pad": (lambda x, s: tf.pad(x, [[0, s[0]], [1, 1], [0, 2]]), [None, 6, 5]),
    "mirror": (lambda x, s: tf.pad(x, [[0, 0], [s[0], 0], [1, 1]], "REFLECT"), [None, None, 5]),
    "scatter": (lambda _, s: tf.scatter_nd([[0]], np.zeros([1, 3]), [s[0], 3]), [None, 3]),
    "resize": (
        lambda x, s: tf.image.resize_images(tf.reshape(x, [-1, 2, 2, 3]), [2 * s[1], s[0]]),
        [None, 8, None, 3],
    ),
}  # fmt: skip


@for_each("case", SHAPES)
def test_a_shape_is_known_as_far_as_its_parts_are(case: str) -> None:
    build, expected = SHAPES[case]
    with Graph().as_default():
        x = tf.placeholder("float32", [None, 4, 3])
        assert build(x, tf.shape(x)).shape.as_list() == expected


def test_a_sum_of_sums_takes_no_time_for_ever() -> None:
    """Each sum has the one before twice: followed to the end there would be 2 ** 60 ways."""
    with Graph().as_default():
        x = tf.placeholder("float32", [None, 1])
        size = tf.shape(x)[1]
        for _ in range(60):
            size = tf.minimum(size + size, 1)
        made = tf.zeros([size])
        assert made.shape.as_list() == [None]
        (zeros,) = evaluate([made], {x: np.zeros([2, 1], np.float32)})
        assert zeros.shape == (1,)


def test_plain_margins_may_still_be_fed() -> None:
    with Graph().as_default() as graph:
        x = tf.placeholder("float32", [None])
        padded = tf.pad(x, [[1, 2]])
        margins = padded.op.inputs[1]
        assert padded.shape.as_list() == [None]
        assert graph.is_feedable(margins)
        again = tf.pad(x, margins)
        assert again.shape.as_list() == [None]
        assert not graph.is_feedable(margins)
