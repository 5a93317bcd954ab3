"""``DropoutWrapper``: what is dropped, how often it is drawn, and what is never dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from tests.compat.recurrent import value
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")

cells = tf.nn.rnn_cell
WIDE = 400


class Passing(cells.RNNCell):
    """Puts its inputs out and keeps its state."""

    def __init__(self, state: Any = WIDE) -> None:
        super().__init__()
        self._size = state

    state_size = property(lambda self: self._size)
    output_size = property(lambda self: WIDE)

    def call(self, inputs: Any, state: Any) -> Any:
        return inputs, state


def dropped(state: Any = None, **settings: Any) -> tuple[Any, Any]:
    """What comes out of ones that a wrapped cell passes on."""
    size = WIDE if state is None else tf.contrib.rnn.LSTMStateTuple(WIDE, WIDE)
    cell = cells.DropoutWrapper(Passing(size), **settings)
    ones = tf.ones([3, WIDE])
    return value(cell(ones, ones if state is None else state))


def check_share(found: Any, keep: float) -> None:
    """The others are scaled up, and about as many are kept as were asked for."""
    kept = found != 0
    np.testing.assert_allclose(found[kept], 1 / keep, rtol=1e-6)
    assert abs(kept.mean() - keep) < 0.1


@for_each("keep", [0.25, 0.5, 0.9])
@for_each("what", ["input", "output"])
def test_inputs_and_outputs_are_dropped(what: str, keep: float) -> None:
    tf.set_random_seed(1)
    output, state = dropped(**{f"{what}_keep_prob": keep})
    check_share(output, keep)
    assert (state == 1).all()


def test_states_are_dropped() -> None:
    tf.set_random_seed(1)
    output, state = dropped(state_keep_prob=0.5)
    check_share(state, 0.5)
    assert (output == 1).all()
    # A share of one adds no operation.
    cell = cells.DropoutWrapper(Passing())
    ones = tf.ones([3, WIDE])
    assert cell(ones, ones) == (ones, ones)
    # A share can be fed and one drops nothing.
    keep = tf.placeholder_with_default(1.0, [])
    cell = cells.DropoutWrapper(Passing(), output_keep_prob=keep, seed=1)
    output, _ = cell(tf.ones([3, WIDE]), tf.ones([3, WIDE]))
    with tf.Session() as sess:
        assert (sess.run(output) == 1).all()
        check_share(sess.run(output, {keep: 0.5}), 0.5)


def test_a_memory_is_not_dropped_unless_somebody_says_so() -> None:
    tf.set_random_seed(1)
    ones = tf.ones([3, WIDE])
    both = cells.LSTMStateTuple(ones, ones)
    _, state = dropped(both, state_keep_prob=0.5)
    assert isinstance(state, cells.LSTMStateTuple)
    assert (state.c == 1).all()
    check_share(state.h, 0.5)

    def visitor(part: Any) -> Any:
        return cells.LSTMStateTuple(True, False) if isinstance(part, tuple) else True

    _, state = dropped(both, state_keep_prob=0.5, dropout_state_filter_visitor=visitor)
    check_share(state.c, 0.5)
    assert (state.h == 1).all()
    _, state = dropped(both, state_keep_prob=0.5, dropout_state_filter_visitor=lambda _: False)
    assert (state.c + state.h == 2).all()
    with pytest.raises(TypeError, match="must return True or False for a tensor, got 1"):
        dropped(both, state_keep_prob=0.5, dropout_state_filter_visitor=lambda _: 1)


def steps_of(**settings: Any) -> Any:
    """Outputs of four steps of a loop, ``[batch, time, depth]``, in two runs."""
    cell = cells.DropoutWrapper(Passing(), **settings)
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.ones([3, 4, WIDE]), dtype=tf.float32)
    with tf.Session() as sess:
        return [sess.run(outputs) for _ in range(2)]


def test_each_step_and_run_and_member_is_dropped_from_anew() -> None:
    first, second = steps_of(output_keep_prob=0.5, seed=3)
    check_share(first, 0.5)
    assert (first != second).any()
    assert all((first[:, 0] != first[:, t]).any() for t in (1, 2, 3))
    assert (first[0] != first[1]).any()


def test_variational_dropout_is_drawn_once_in_a_run() -> None:
    first, second = steps_of(
        input_keep_prob=0.8, output_keep_prob=0.5, variational_recurrent=True, input_size=WIDE, dtype=tf.float32, seed=3
    )
    assert (first == first[:1, :1]).all()
    assert (first != second).any()
    assert abs((first[0, 0] != 0).mean() - 0.4) < 0.1
    np.testing.assert_allclose(first[first != 0], 1 / 0.4, rtol=1e-6)


def test_equal_seeds_drop_the_same_and_inputs_other_than_outputs() -> None:
    ones = tf.ones([3, WIDE])

    def out(seed: int | None, **settings: Any) -> Any:
        return cells.DropoutWrapper(Passing(), seed=seed, **settings)(ones, ones)[0]

    same, again = out(5, output_keep_prob=0.5), out(5, output_keep_prob=0.5)
    others = [out(6, output_keep_prob=0.5), out(5, input_keep_prob=0.5)]
    found = value([same, again, *others])
    assert (found[0] == found[1]).all()
    assert all((found[0] != other).any() for other in found[2:])


@for_each(
    "settings, kind, words",
    [
        ({"input_keep_prob": 1.5}, ValueError, "input_keep_prob must be between 0 and 1: 1.5"),
        ({"state_keep_prob": -1}, ValueError, "state_keep_prob must be between 0 and 1: -1"),
        ({"dropout_state_filter_visitor": 3}, TypeError, "must be callable"),
        ({"variational_recurrent": True}, ValueError, "dtype must be provided"),
        (
            {"variational_recurrent": True, "dtype": tf.float32, "input_keep_prob": 0.5},
            ValueError,
            "input_size must be provided",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        cells.DropoutWrapper(Passing(), **settings)
