"""``tf.TensorArray`` in programs of TensorFlow 1, where an array is one object: flows, and single reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.interop import GraphDef
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")

TWICE = r"Could not read index 0 twice because it was cleared after a previous read"


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def looped() -> Any:
    return tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, 1.0)), [0, tf.TensorArray(tf.float32, 3)])[
        1
    ]


@for_each(
    "make",
    [
        lambda: tf.TensorArray(tf.float32, 3),
        lambda: tf.TensorArray(tf.float32, 3).write(1, 2.0),
        lambda: tf.TensorArray(tf.string, 2).unstack(["a", "b"]),
        lambda: tf.TensorArray(tf.float32, 2).split([1.0, 2.0], [1, 1]).identity(),
        looped,
        lambda: tf.cond(tf.constant(True), looped, lambda: tf.TensorArray(tf.float32, 3)),
    ],
)
def test_a_flow_that_is_fetched_is_the_number_0(make: Callable[[], Any]) -> None:
    with tf.Graph().as_default():
        found = run([make().flow])[0]
    assert (found.dtype, found.shape, float(found)) == (np.float32, (), 0.0)


def test_what_a_flow_waits_for_fails_when_it_is_fetched() -> None:
    written_twice = tf.TensorArray(tf.float32, 3).write(2, 3.0).write(2, 3.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="index 2 because it has already been"):
        run(written_twice.flow)
    # A dataset is no flow.
    with pytest.raises(TypeError, match="is a variant"):
        run(tf.data.Dataset.range(3)._variant_tensor)


# -- reads -----------------------------------------------------------------------------------------


MAKERS: list[Callable[..., Any]] = [
    lambda **more: tf.TensorArray(tf.float32, 2, **more).write(0, 3.0).write(1, 4.0),
    lambda **more: tf.TensorArray(tf.float32, 2, **more).unstack([3.0, 4.0]),
    lambda **more: tf.TensorArray(tf.float32, 2, **more).split([3.0, 4.0], [1, 1]),
]
READS: list[Callable[[Any], Any]] = [
    lambda array: array.read(0),
    lambda array: array.stack(),
    lambda array: array.gather([0]),
    lambda array: tf.reshape(array.stack(), [-1]),
]


@for_each("make", MAKERS)
@for_each("first", READS)
@for_each("second", READS)
def test_an_element_is_read_once(make: Any, first: Any, second: Any) -> None:
    with tf.Graph().as_default():
        array = make()
        before = first(array)
        with tf.control_dependencies([before]), pytest.raises(tf.errors.OpError, match=TWICE):
            run(second(array))
    with tf.Graph().as_default():
        array = make(clear_after_read=False)
        before = first(array)
        with tf.control_dependencies([before]):
            again = second(array)
        assert len(run([before, again])) == 2


def test_each_step_and_each_array_has_reads_of_its_own() -> None:
    """Two arrays that are made alike are two."""
    arrays = [tf.TensorArray(tf.float32, 1).write(0, 2.0) for _ in range(2)]
    read = [array.read(0) for array in arrays]
    with tf.Session() as session:
        assert [session.run(read) for _ in range(3)] == [[2.0, 2.0]] * 3


def test_a_loop_reads_each_element_once_and_so_does_its_gradient() -> None:
    x = tf.constant([1.0, 2.0, 3.0])
    array = tf.TensorArray(tf.float32, 3).unstack(x)
    total = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a + array.read(i) ** 2.0), [0, 0.0])[1]
    (slope,) = tf.gradients(total, x)
    (second,) = tf.gradients(slope, x)
    assert [value.tolist() for value in run([total, slope, second])] == [14, [2, 4, 6], [2, 2, 2]]
    found = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a + array.read(0)), [0, 0.0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=TWICE):
        run(found)


def test_an_exported_array_reads_once_too(graph: Any) -> None:
    array = MAKERS[1]()
    tf.identity(array.read(0) + array.gather([0]), name="sum")
    message = GraphDef.FromString(graph.as_graph_def().SerializeToString())
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")
        with pytest.raises(tf.errors.InvalidArgumentError, match=TWICE):
            run("sum:0")


# -- elements that were never written --------------------------------------------------------------


def test_an_element_that_was_never_written_is_zero_in_the_shape_of_the_others() -> None:
    value = tf.placeholder(tf.float32)
    feeds = {value: [[4.0, 5.0]]}
    written = [tf.TensorArray(tf.float32, 3).write(1, value) for _ in range(3)]
    read, stacked, joined = written[0].read(0), written[1].stack(), written[2].concat()
    found = run([read, stacked, joined], feeds)
    assert found[0].tolist() == [[0, 0]]
    assert found[1].tolist() == [[[0, 0]], [[4, 5]], [[0, 0]]]
    assert found[2].tolist() == [[0, 0], [4, 5], [0, 0]]


@for_each(
    "value, lengths, said",
    [
        ([1.0, 2.0, 3.0], 1, r"Expected lengths to be a vector, received shape: \[\]"),
        ([1.0, 2.0, 3.0], [1], r"sum of lengths is 1 and value's shape is: \[3\]"),
        (1.0, [1], r"Expected value to be at least a vector, but received shape: \[\]"),
    ],
)
def test_parts_that_do_not_make_up_a_value_are_refused(value: Any, lengths: Any, said: str) -> None:
    with tf.Graph().as_default():
        fed, sizes = tf.placeholder(tf.float32), tf.placeholder(tf.int64)
        array = tf.TensorArray(tf.float32, 3, infer_shape=False).split(fed, sizes)
        with pytest.raises(tf.errors.InvalidArgumentError, match=said):
            run(array.flow, {fed: value, sizes: lengths})


def test_scalars_are_not_joined() -> None:
    array = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, 4.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="saw a scalar shape at index 1"):
        run(array.concat())
