"""Variables changed at once, read elsewhere, and used before they have a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, Session, Variable, constant, float32, ops
from actorsession.ops.variables.updates import batch_places
from tests.ops.interpreter import Variables, evaluate, source


def test_a_value_is_loaded_into_one_session() -> None:
    v = Variable([1.0, 2.0])
    with Session() as one, Session() as other:
        other.run(v.initializer)
        v.load([3.0, 4.0], one)
        assert v.eval(one).tolist() == [3.0, 4.0]
        assert v.eval(other).tolist() == [1.0, 2.0]
        with one.as_default():
            v.load(np.array([5.0, 6.0]))
            assert v.eval().tolist() == [5.0, 6.0]


def test_loading_needs_a_session_and_a_value_that_fits() -> None:
    v = Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="No default session"):
        v.load([1.0, 2.0])
    with Session() as sess, pytest.raises(ValueError, match="shape"):
        v.load([1.0, 2.0, 3.0], sess)


async def test_loading_can_be_awaited() -> None:
    v = Variable([1.0, 2.0])
    async with AsyncSession() as sess:
        await v.load([3.0, 4.0], sess)
        assert (await sess.run(v)).tolist() == [3.0, 4.0]


def test_the_first_value_stands_in_for_a_value_that_is_not_there_yet() -> None:
    v = Variable(ops.random_normal([3]))
    w = Variable(v.initialized_value() * 2.0)
    with Session() as sess:
        sess.run(ops.global_variables_initializer())
        assert (sess.run(w) == 2.0 * sess.run(v)).all()
        sess.run(v.assign([7.0, 8.0, 9.0]))
        sess.run(w.initializer)
        assert sess.run(w).tolist() == [14.0, 16.0, 18.0]


def test_a_first_value_made_of_another_variable_is_had_in_the_same_step() -> None:
    """Reads and updates of one variable run in the order in which they were built."""
    v = Variable(ops.random_normal([200, 200]))
    w = Variable(ops.matmul(v, v))
    x = Variable(w + v)
    with Session() as sess:
        sess.run(ops.global_variables_initializer())
        first, product, total = sess.run([v, w, x])
    np.testing.assert_array_equal(total, product + first)


def test_a_copy_on_a_caching_device_is_what_readers_take(graph: Graph) -> None:
    with graph.device("/job:ps/task:1"):
        v = Variable(1.0, name="v", caching_device="/job:worker/task:0")
    copy = v.value()
    assert copy is v.value()
    assert (copy.op.type, copy.device) == ("Identity", "/job:worker/task:0")
    assert copy.op.groups() == ()
    assert (copy.op.inputs[0].op.type, copy.op.inputs[0].device) == ("ReadVariableOp", "/job:ps/task:1")
    assert v.read_value().device == "/job:ps/task:1"
    assert v.assign_add(1.0).op.type == "ReadVariableOp"


def test_a_caching_device_may_be_a_function_of_the_operation() -> None:
    v = Variable(1.0, caching_device=lambda op: "/cpu:0" if op.type == "Identity" else "")
    assert v.value().device == "/device:CPU:0"


def test_gradients_reach_a_variable_through_its_copy() -> None:
    v = Variable([1.0, 2.0], caching_device="/cpu:0")
    (found,) = ops.gradients(ops.reduce_sum(v * v), [v])
    state = Variables()
    evaluate([v.initializer], None, state)
    assert evaluate([found], None, state)[0].tolist() == [2.0, 4.0]


def test_what_is_known_of_the_shape_can_be_added() -> None:
    v = Variable(source(float32), validate_shape=False)
    v.set_shape([None, 2])
    v.set_shape([3, None])
    assert v.shape == v.value().shape == v.get_shape() == [3, 2]
    with pytest.raises(ValueError, match="not compatible"):
        v.set_shape([4, 2])
    with pytest.raises(ValueError, match=r"\(3, 2\)"):
        v.assign([1.0])


def test_rows_and_places_of_a_variable_can_be_read() -> None:
    v, state = Variable([[1.0, 2.0], [3.0, 4.0]]), Variables()
    evaluate([v.initializer], None, state)
    rows, place = evaluate([v.sparse_read([1]), v.gather_nd([[0, 1]])], None, state)
    assert (rows.tolist(), place.tolist()) == ([[3.0, 4.0]], [2.0])


def test_python_does_not_update_variables_in_place() -> None:
    v: Any = Variable(1.0)
    with pytest.raises(RuntimeError, match=r"variable \+= value.*assign_add"):
        v += 1.0
    with pytest.raises(RuntimeError, match=r"variable -= value.*assign_sub"):
        v -= 1.0


def test_positions_of_a_batch_stand_before_the_indices() -> None:
    found = evaluate([batch_places(constant([[5, 6], [7, 8]]))])[0]
    assert found.tolist() == [[[0, 5], [0, 6]], [[1, 7], [1, 8]]]
    hidden = source("int64", [None, None])
    given = np.array([[4, 2, 0]])
    found = evaluate([batch_places(hidden)], {hidden: given})[0]
    assert found.tolist() == [[[0, 4], [0, 2], [0, 0]]]
    with pytest.raises(ValueError, match="known rank"):
        batch_places(source("int32"))
