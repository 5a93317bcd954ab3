"""``raw_rnn``: inputs, outputs and the end are up to a function, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from tests.compat.recurrent import gru, names, reals, unrolled, value, wave, waves

pytestmark = pytest.mark.usefixtures("graph")

cells = tf.nn.rnn_cell
X = reals(3, 5, 2)
LENGTHS = [2, 5, 1]


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def reading(cell: Any, emitted: Any = None, kept: Any = None) -> Any:
    """A loop function that reads ``X``; ``emitted`` and ``kept`` make of what is there what is given on."""
    array = tf.TensorArray(tf.float32, 5).unstack(tf.constant(X.swapaxes(0, 1)))

    def loop_fn(time: Any, output: Any, state: Any, loop_state: Any) -> Any:
        over = tf.greater_equal(time, LENGTHS)
        given = tf.cond(tf.reduce_all(over), lambda: tf.zeros([3, 2]), lambda: array.read(time))
        if output is None:
            state = cell.zero_state(3, tf.float32)
        return (
            over,
            given,
            state,
            output if emitted is None else emitted(output),
            None if kept is None else kept(time, loop_state),
        )

    return loop_fn


def run(emitted: Any = None, kept: Any = None) -> Any:
    cell = cells.GRUCell(3)
    with tf.variable_scope("", initializer=waves):
        return tf.nn.raw_rnn(cell, reading(cell, emitted, kept))


def wanted() -> Any:
    step = gru(wave(5, 6), np.ones(6), wave(5, 3), 0)
    return unrolled(step, X, np.zeros([3, 3]), LENGTHS)


def test_it_does_what_dynamic_rnn_does_when_it_is_told_to() -> None:
    outputs, state, kept = run()
    assert isinstance(outputs, tf.TensorArray)
    assert kept is None
    assert names()[0] == "rnn/gru_cell/gates/kernel"
    found, last = value([outputs.stack(), state])
    like, after = wanted()
    close(found, like.swapaxes(0, 1))
    close(last, after)


def test_what_is_put_out_may_be_a_structure_of_the_programs_own() -> None:
    def emitted(output: Any) -> Any:
        if output is None:
            return {"first": tf.zeros([2]), "large": tf.zeros([], tf.bool)}
        return {"first": output[:, :2], "large": tf.reduce_max(output, 1) > 0.3}

    outputs, _, _ = run(emitted)
    found = value({name: array.stack() for name, array in outputs.items()})
    like, _ = wanted()
    close(found["first"], like[:, :, :2].swapaxes(0, 1))
    goes_on = np.arange(5)[:, None] < LENGTHS
    assert (found["large"] == ((like.max(2).T > 0.3) & goes_on)).all()


def test_the_loop_may_have_a_state_of_its_own() -> None:
    def kept(time: Any, state: Any) -> Any:
        if state is None:
            return tf.constant(10), tf.TensorArray(tf.int32, 5)
        count, array = state
        return count + 2, array.write(time - 1, count)

    _, _, (count, array) = run(kept=kept)
    found = value([count, array.stack()])
    assert found[0] == 20
    assert found[1].tolist() == [10, 12, 14, 16, 18]
    # None keeps that state as it is.
    _, _, kept = run(kept=lambda time, state: tf.constant(7) if state is None else None)
    assert value(kept) == 7


def test_a_decoder_feeds_its_outputs_to_itself_until_it_wants_to_end() -> None:
    cell = cells.BasicRNNCell(2)

    def loop_fn(time: Any, output: Any, state: Any, _: Any) -> Any:
        if output is None:
            return tf.constant([False]), tf.ones([1, 2]), cell.zero_state(1, tf.float32), None, None
        return (output[:, 0] > 0.5) | (time >= 30), output, state, output, None

    with tf.variable_scope("", initializer=tf.constant_initializer(0.45)):
        outputs, state, _ = tf.nn.raw_rnn(cell, loop_fn)
    found, last = value([outputs.stack(), state])
    assert (found[:-1, 0, 0] <= 0.5).all() or len(found) == 30 or found[0, 0, 0] > 0.5
    close(found[-1], last)


def test_nothing_runs_when_all_are_finished_at_once() -> None:
    cell = cells.BasicRNNCell(2)

    def loop_fn(time: Any, output: Any, state: Any, _: Any) -> Any:
        return tf.constant([True] * 3), tf.ones([3, 2]), tf.ones([3, 2]), output, None

    outputs, state, _ = tf.nn.raw_rnn(cell, loop_fn)
    size, last = value([outputs.size(), state])
    assert size == 0
    assert (last == 1).all()


def test_gradients_go_through_it() -> None:
    outputs, _, _ = run()
    slopes = tf.gradients(tf.reduce_sum(tf.square(outputs.stack())), tf.trainable_variables())
    cell = cells.GRUCell(3, name="other")
    with tf.variable_scope("", initializer=waves):
        like, _ = tf.nn.dynamic_rnn(cell, tf.constant(X), LENGTHS, dtype=tf.float32)
    others = tf.gradients(tf.reduce_sum(tf.square(like)), cell.trainable_variables)
    for found, expected in zip(*value([slopes, others]), strict=True):
        close(found, expected)


def test_a_function_that_changes_its_mind_is_refused() -> None:
    cell = cells.GRUCell(3)
    no_function: Any = 3
    with pytest.raises(TypeError, match="must be a callable"):
        tf.nn.raw_rnn(cell, no_function)

    def otherwise(place: int, other: Any) -> Any:
        read = reading(cell)

        def loop_fn(time: Any, output: Any, state: Any, kept: Any) -> Any:
            given = list(read(time, output, state, kept))
            if output is not None:
                given[place] = other
            return given

        return loop_fn

    for number, (place, other) in enumerate([(1, (tf.ones([3, 2]),)), (2, []), (3, [1])]):
        with pytest.raises((TypeError, ValueError), match="have different"):
            tf.nn.raw_rnn(cell, otherwise(place, other), scope=f"s{number}")
