"""``tensorflow.python.keras.backend``: the session, phases and loop over time of Keras 2.3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
import actorsession.compat.v1.tf_keras.backend_parts as backend
from actorsession.compat.v1.tf_keras.utils_parts import get_reachable_from_inputs

RANDOM = np.random.RandomState(0)
X = RANDOM.rand(3, 5, 2).astype("f")
MASK = np.array([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1], [1, 1, 1, 1, 1]], bool)
W, U = RANDOM.rand(2, 4).astype("f"), RANDOM.rand(4, 4).astype("f")


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    backend.clear_session()


def value(tensor: Any, feeds: Any = None) -> Any:
    return backend.get_session().run(tensor, feeds)


# -- the loop over time --------------------------------------------------------------------------


def stepped(mask: Any, backwards: bool, zero: bool) -> tuple[Any, Any, Any]:
    """The last output, all outputs and the state of a recurrent layer, step by step in numpy."""
    state = output = np.zeros((3, 4), "f")
    outputs = []
    times = range(X.shape[1])
    for time in reversed(times) if backwards else times:
        fresh = np.tanh(X[:, time] @ W + state @ U)
        kept = np.ones((3, 1), bool) if mask is None else mask[:, time, None]
        output, state = np.where(kept, 2 * fresh, 0 if zero else output), np.where(kept, fresh, state)
        outputs.append(output)
    return output, np.stack(outputs, 1), state


@pytest.mark.parametrize("unroll", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("backwards", [False, True])
def test_steps_of_time_give_what_they_give_one_by_one(unroll: bool, masked: bool, backwards: bool) -> None:
    def step(now: Any, states: Any) -> Any:
        state, w, u = states
        fresh = tf.tanh(tf.matmul(now, w) + tf.matmul(state, u))
        return 2.0 * fresh, [fresh]

    mask = MASK if masked else None
    for zero in {False, masked}:
        last, outputs, states = backend.rnn(
            step,
            tf.constant(X),
            [tf.zeros([3, 4])],
            backwards,
            None if mask is None else tf.constant(mask),
            constants=[tf.constant(W), tf.constant(U)],
            unroll=unroll,
            zero_output_for_mask=zero,
        )
        right = stepped(mask, backwards, zero)
        assert outputs.shape.as_list() == [3, 5, 4]
        for found, expected in zip(value([last, outputs, states[0]]), right, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_loop_over_unknown_sizes_has_a_gradient() -> None:
    given, w = tf.placeholder(tf.float32, [None, None, 2]), tf.Variable(W)
    last, outputs, _ = backend.rnn(
        lambda now, states: (states[0] + tf.matmul(now, w), [states[0] + tf.matmul(now, w)]),
        given,
        [tf.zeros([tf.shape(given)[0], 4])],
    )
    assert outputs.shape.as_list() == [None, None, 4]
    gradient = value(tf.gradients(last, w)[0], {given: X})
    np.testing.assert_allclose(gradient, np.repeat(X.sum((0, 1))[:, None], 4, 1), rtol=1e-5)


def test_what_cannot_be_unrolled_or_masked_is_refused() -> None:
    given = tf.placeholder(tf.float32, [3, None, 2])
    with pytest.raises(ValueError, match="fixed number of timesteps"):
        backend.rnn(lambda now, states: (now, states), given, [], unroll=True)
    with pytest.raises(ValueError, match="A mask needs states"):
        backend.rnn(lambda now, states: (now, states), tf.constant(X), [], mask=tf.constant(MASK), unroll=True)


# -- losses --------------------------------------------------------------------------------------


def softmax(x: Any, axis: int) -> Any:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("form", ["logits", "a softmax", "probabilities"])
def test_cross_entropy_of_classes(axis: int, form: str) -> None:
    logits = RANDOM.randn(2, 3, 4).astype("f")
    classes = logits.shape[axis]
    numbers = RANDOM.randint(0, classes, tuple(np.delete(logits.shape, axis)))
    hot = np.moveaxis(np.eye(classes, dtype="f")[numbers], -1, axis)
    right = -(hot * np.log(softmax(logits, axis))).sum(axis)
    output: Any = tf.constant(logits)
    if form != "logits":
        output = tf.nn.softmax(output, axis)
    if form == "probabilities":
        output = tf.identity(output)
    args: dict[str, Any] = {"from_logits": form == "logits", "axis": axis}
    found = value(
        [
            backend.categorical_crossentropy(hot, output, **args),
            backend.sparse_categorical_crossentropy(numbers, output, **args),
        ]
    )
    np.testing.assert_allclose(found[0], right, rtol=1e-4)
    np.testing.assert_allclose(found[1], right, rtol=1e-4)


def test_cross_entropy_of_yes_and_no() -> None:
    logits, target = np.array([-100.0, -1, 0, 2, 100], "f"), np.array([0.0, 1, 0.5, 1, 1], "f")
    right = np.maximum(logits, 0) - logits * target + np.log1p(np.exp(-abs(logits)))
    exact = [
        backend.binary_crossentropy(target, logits, from_logits=True),
        backend.binary_crossentropy(target, tf.sigmoid(logits)),
    ]
    for found in value(exact):
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6)
    plain = value(backend.binary_crossentropy(target, tf.identity(tf.sigmoid(logits))))
    np.testing.assert_allclose(plain, right, rtol=1e-3, atol=1e-6)


def test_an_axis_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected one of the 2 axes"):
        backend.categorical_crossentropy(np.ones((2, 3)), np.ones((2, 3)), axis=2)


# -- functions, variables, phases ----------------------------------------------------------------


def test_a_function_computes_then_updates() -> None:
    counter, other = backend.variable(1.0), backend.variable(0.0)
    given = backend.placeholder(())
    called: list[float] = []
    function = backend.function(
        [given], {"sum": counter + given}, [(counter, counter * 2.0)], fetches=[other.assign(given)]
    )
    function.fetch_callbacks[function.fetches[0]] = called.append
    assert [function([10.0]) for _ in range(2)] == [{"sum": 11.0}, {"sum": 12.0}]
    assert backend.batch_get_value([counter, other]) == [4.0, 10.0]
    assert called == [10.0, 10.0]
    assert function([counter]) == {"sum": 8.0}
    with pytest.raises(ValueError, match="unknown arguments spam"):
        backend.function([given], [given], spam=1)


def test_variables_have_their_first_values_without_being_asked_for() -> None:
    first, second = backend.variable(np.ones((2, 2))), tf.Variable(3.0)
    backend.batch_set_value([(first, np.zeros((2, 2))), (second, 4)])
    assert backend.batch_get_value([second]) == [4.0]
    backend.set_value(first, [[1, 2], [3, 4]])
    assert value(first).tolist() == [[1, 2], [3, 4]]
    assert backend.batch_get_value([]) == []
    # The learning phase is fed or set.
    phase = backend.learning_phase()
    assert backend.learning_phase() is phase
    assert [bool(value(phase)), bool(value(phase, {phase: 1}))] == [False, True]
    with backend.learning_phase_scope(1):
        assert backend.learning_phase() == 1
    assert backend.learning_phase() is phase
    with pytest.raises(ValueError, match="0 or 1, got 2"):
        backend.set_learning_phase(2)


def test_the_session_is_the_default_one_or_that_of_the_graph() -> None:
    own = backend.get_session()
    with tf.Session() as session:
        assert backend.get_session() is session
    assert backend.get_session() is own
    with tf.Graph().as_default():
        assert backend.get_session() is not own
    chosen = tf.Session()
    backend.set_session(chosen)
    assert backend.get_session() is chosen


def test_names_are_counted_by_graph() -> None:
    assert [backend.get_uid("dense"), backend.get_uid("dense"), backend.get_uid("lstm")] == [1, 2, 1]
    with tf.Graph().as_default():
        assert backend.get_uid("dense") == 1
    backend.reset_uids()
    assert backend.get_uid("dense") == 1
    # Settings are checked.
    assert (backend.floatx(), backend.image_data_format()) == ("float32", "channels_last")
    assert backend.cast_to_floatx([1, 2]).dtype == np.float32
    for set_, given in ((backend.set_floatx, "float8"), (backend.set_image_data_format, "first")):
        with pytest.raises(ValueError, match=given):
            set_(given)
    # What depends on a tensor is found.
    first, other = tf.constant(1.0), tf.constant(2.0)
    near = first * 2.0
    far, apart = near + other, other * 3.0
    found = get_reachable_from_inputs([first, 0])
    assert {first, near, far} <= found
    assert apart not in found


def test_random_tensors_have_their_distributions() -> None:
    found = value(
        [
            backend.random_binomial((4000,), 0.3),
            backend.random_uniform((4000,), 2.0, 3.0),
            backend.truncated_normal((4000,), stddev=0.5),
            backend.random_normal((4000,), mean=1.0),
        ]
    )
    assert set(found[0]) == {0.0, 1.0}
    np.testing.assert_allclose([each.mean() for each in found], [0.3, 2.5, 0, 1], atol=0.06)
    assert abs(found[2]).max() <= 1.0
