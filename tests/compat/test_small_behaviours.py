"""Small behaviours of this face as TensorFlow 2.21 was seen to have them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.graph.shape import dimensions_are_used, use_dimensions


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def dimensions() -> Iterator[None]:
    before = dimensions_are_used()
    use_dimensions(True)
    yield
    use_dimensions(before)


def test_control_inputs_and_outputs_are_equal_to_lists_and_added_to_them() -> None:
    a = tf.constant(1)
    with tf.control_dependencies([a]):
        b = tf.constant(2)
    assert b.op.control_inputs == [a.op]
    assert b.op.control_inputs.__add__([b.op]) == [a.op, b.op]
    assert b.op.control_inputs.__radd__([b.op]) == [b.op, a.op]
    assert a.op.control_inputs == []
    assert a.op.outputs == [a]
    assert repr(a.op.outputs) == repr([a])


def test_keys_stand_for_tensors_and_variables() -> None:
    a, v = tf.constant(1), tf.Variable(1)
    assert {a.ref(): "a", v.ref(): "v"}[v.ref()] == "v"
    assert a.ref() == a.ref() != v.ref()
    assert a.ref().deref() is a


def test_a_reference_variable_is_true() -> None:
    assert bool(tf.Variable(0.0))


def test_colocation_may_leave_out_what_is_around() -> None:
    a, b = tf.constant(1, name="a"), tf.constant(1, name="b")
    with tf.colocate_with(a), tf.colocate_with(b, ignore_existing=True):
        c = tf.constant(1)
    with tf.colocate_with(a), tf.get_default_graph().colocate_with(None, True):
        d = tf.constant(1, name="d")
    assert c.op.colocation_groups() == [b"loc:@b"]
    assert d.op.colocation_groups() == [b"loc:@d"]


def test_shapes_that_programs_make_consist_of_dimensions(dimensions: None) -> None:
    shape = tf.TensorShape([3, None])
    assert shape[0].value == 3
    assert [size.value for size in shape] == [3, None]
    assert isinstance(tf.constant(1).shape, tf.TensorShape)
    assert type(shape).__name__ == "TensorShape"
    assert repr(tf.TensorShape(None)[5]) == "Dimension(None)"


def test_numpy_values_are_converted_to_the_dtype_that_is_wanted() -> None:
    whole = tf.constant(np.array([1.7, -1.7]), tf.int32)
    summed = tf.add([1, 2], np.array([1.5, 2.5]))
    with tf.Session() as session:
        assert session.run(whole).tolist() == [1, -1]
        assert session.run(summed).tolist() == [2, 4]
    with pytest.raises(TypeError):
        tf.constant(1.5, tf.int32)
    with pytest.raises(TypeError):
        tf.concat([np.array([1.5]), np.array([1])], 0)


def test_assertions_have_tensorflows_names() -> None:
    p, q = tf.placeholder(tf.int32), tf.placeholder(tf.float32)
    assert tf.assert_less(p, 3).name == "assert_less/Assert/Assert"
    assert tf.assert_less(q, 3.0).name == "assert_less_1/Assert/AssertGuard/Merge"
    assert tf.assert_equal(tf.constant(1), tf.constant(1)).name == "assert_equal_1/Assert/Assert"
    assert tf.assert_positive(p).name == "assert_positive/assert_less/Assert/Assert"
    with pytest.raises(TypeError, match="Expected list"):
        tf.Assert(True, "text")
    with pytest.raises(ValueError, match="empty"):
        tf.Assert(True, [])


def test_arrays_of_tensors_have_tensorflows_names() -> None:
    array = tf.TensorArray(tf.float32, 2).unstack([1.0, 2.0])
    assert array.read(0).name == "TensorArrayReadV3:0"
    assert array.stack().name == "TensorArrayStack/TensorArrayGatherV3:0"
    assert (
        tf.map_fn(lambda x: x, tf.constant([1.0])).name
        == "map/TensorArrayStack/TensorArrayGatherV3:0"
    )
    counted = tf.while_loop(lambda i: i < 9, lambda i: i + 1, [0], maximum_iterations=2)
    assert counted.name == "while/Exit_1:0"
    assert tf.convert_to_tensor([tf.constant(1), 2]).name == "packed:0"


def test_the_capacity_of_a_queue_is_a_whole_number() -> None:
    with pytest.raises(TypeError):
        tf.FIFOQueue("a", tf.float32)  # type: ignore[arg-type]


def test_a_sparse_tensor_is_shown_by_its_parts() -> None:
    made = tf.SparseTensor([[0]], [1.0], [2])
    assert repr(made) == str(made)


def test_a_device_type_is_in_capitals() -> None:
    assert tf.DeviceSpec(device_type="cpu", device_index=1).to_string() == "/device:CPU:1"
