"""``dynamic_rnn`` and its kin: outputs and states against steps in numpy, ends of sequences, refusals.

Both directions, lists of inputs and states that go on are compared with TensorFlow in the family ``rnn`` of
the differential programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from tests.compat.recurrent import Step, basic, gru, lstm, names, reals, unrolled, value, wave, waves
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")

cells = tf.nn.rnn_cell
X = reals(3, 5, 2)
GRU: Step = gru(wave(5, 6), np.ones(6), wave(5, 3), 0)
LSTM: Step = lstm(wave(5, 12), 0)
ZERO = np.zeros([3, 3])
LENGTHS = [None, [2, 5, 0], [1, 2, 2]]


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def waving() -> Any:
    return tf.variable_scope("", initializer=waves)


# -- dynamic ---------------------------------------------------------------------------------------


@for_each("lengths", LENGTHS, ids=["none", "some", "short"])
@for_each("known", [True, False], ids=["known", "unknown"])
def test_outputs_and_states_are_those_of_the_steps(lengths: Any, known: bool) -> None:
    x = tf.placeholder(tf.float32, [3, 5, 2] if known else [None, None, 2])
    with waving():
        outputs, state = tf.nn.dynamic_rnn(cells.BasicLSTMCell(3), x, lengths, dtype=tf.float32)
    assert outputs.shape.as_list() == ([3, 5, 3] if known else [None, None, 3])
    assert state.c.shape.as_list() == [3 if known else None, 3]
    wanted, (c, h) = unrolled(LSTM, X, (ZERO, ZERO), lengths)
    found, last = value([outputs, state], {x: X})
    close(found, wanted)
    close(last.c, c)
    close(last.h, h)


def test_time_can_come_first() -> None:
    x = tf.placeholder(tf.float32, [None, None, 2])
    with waving():
        outputs, state = tf.nn.dynamic_rnn(cells.GRUCell(3), x, [2, 5, 0], dtype=tf.float32, time_major=True)
    wanted, last = unrolled(GRU, X, ZERO, [2, 5, 0])
    found = value([outputs, state], {x: X.swapaxes(0, 1)})
    close(found[0], wanted.swapaxes(0, 1))
    close(found[1], last)
    # No step at all gives the state back.
    x = tf.placeholder(tf.float32, [None, None, 2])
    start = tf.placeholder(tf.float32, [None, 3])
    outputs, state = tf.nn.dynamic_rnn(cells.GRUCell(3), x, initial_state=start)
    slopes = tf.gradients([outputs, state], [start, *tf.trainable_variables()])
    fed = {x: np.zeros([4, 0, 2]), start: np.ones([4, 3])}
    found, last, (slope, *others) = value([outputs, state, slopes], fed)
    assert found.shape == (4, 0, 3)
    assert (last == 1).all()
    assert (slope == 1).all()
    assert not any(other.any() for other in others)
    # No member at all gives nothing.
    x = tf.placeholder(tf.float32, [None, 5, 2])
    outputs, state = tf.nn.dynamic_rnn(cells.GRUCell(3), x, dtype=tf.float32)
    found = value([outputs, state], {x: np.zeros([0, 5, 2])})
    assert [each.shape for each in found] == [(0, 5, 3), (0, 3)]


def test_inputs_states_and_outputs_can_be_structures() -> None:
    class Pair(cells.RNNCell):
        state_size = property(lambda self: {"far": 3, "near": tf.TensorShape([2])})
        output_size = property(lambda self: (3, [2]))

        def call(self, inputs: Any, state: Any) -> Any:
            far, near = state["far"] + inputs["b"], inputs["a"] - state["near"]
            return (far, [near]), {"far": far, "near": near}

    a, b = reals(2, 4, 2), reals(2, 4, 3, seed=1)
    outputs, state = value(
        tf.nn.dynamic_rnn(Pair(), {"b": tf.constant(b), "a": tf.constant(a)}, [4, 2], dtype=tf.float32)
    )
    sums = np.cumsum(b, 1)
    close(outputs[0][0], sums[0])
    close(outputs[0][1, :2], sums[1, :2])
    assert not outputs[0][1, 2:].any()
    close(outputs[1][0][0, 1], a[0, 1] - a[0, 0])
    close(state["far"], [sums[0, 3], sums[1, 1]])
    close(state["near"][1], a[1, 1] - a[1, 0])


def test_inputs_may_have_more_axes() -> None:
    class Summing(cells.RNNCell):
        state_size = output_size = property(lambda self: tf.TensorShape([2, 3]))

        def call(self, inputs: Any, state: Any) -> Any:
            return inputs + state, inputs + state

    x = reals(2, 4, 2, 3)
    outputs, state = value(tf.nn.dynamic_rnn(Summing(), tf.constant(x), [4, 1], dtype=tf.float32))
    close(outputs[0], np.cumsum(x[0], 0))
    close(state[1], x[1, 0])


def test_a_state_may_hold_an_array_and_a_counter() -> None:
    class Recording(cells.RNNCell):
        state_size = property(lambda self: (2, tf.TensorShape([]), tf.TensorShape([])))
        output_size = property(lambda self: 2)

        def call(self, inputs: Any, state: Any) -> Any:
            before, count, array = state
            array = array.write(count, inputs)
            return inputs, (before + inputs, count + 1, array)

    x = reals(2, 3, 2)
    start = (tf.zeros([2, 2]), tf.constant(0), tf.TensorArray(tf.float32, 3))
    _, (total, count, array) = tf.nn.dynamic_rnn(
        Recording(), tf.constant(x), [3, 2], initial_state=start, dtype=tf.float32
    )
    found = value([total, count, array.stack()])
    close(found[0], [x[0].sum(0), x[1, :2].sum(0)])
    assert found[1] == 3
    close(found[2], x.swapaxes(0, 1))


def test_variables_are_below_the_scope_that_was_asked_for() -> None:
    x = tf.constant(X)
    for scope in (None, "mine"):
        tf.nn.dynamic_rnn(cells.BasicRNNCell(3), x, dtype=tf.float32, scope=scope)
    with tf.variable_scope("outer") as outer:
        pass
    cell = cells.MultiRNNCell([cells.BasicRNNCell(3)])
    tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, scope=outer)
    assert names()[::2] == [
        "rnn/basic_rnn_cell/kernel",
        "mine/basic_rnn_cell/kernel",
        "outer/multi_rnn_cell/cell_0/basic_rnn_cell/kernel",
    ]


def test_operations_are_called_as_in_tensorflow() -> None:
    outputs, state = tf.nn.dynamic_rnn(cells.GRUCell(3), tf.constant(X), [1, 2, 3], dtype=tf.float32)
    assert (outputs.op.name, state.op.name) == ("rnn/transpose_1", "rnn/while/Exit_3")
    graph = tf.get_default_graph()
    for name in ("rnn/sequence_length", "rnn/CheckSeqLen", "rnn/GRUCellZeroState/zeros"):
        assert graph.get_operation_by_name(name) is not None
    # Variables are read once before the loop.
    tf.nn.dynamic_rnn(cells.BasicLSTMCell(3), tf.constant(X), dtype=tf.float32)
    loop = tf.get_default_graph().get_operation_by_name("rnn/while")
    assert tf.resource not in [t.dtype for t in loop.inputs]
    assert tf.get_variable_scope().caching_device is None


def test_inside_of_another_loop_they_are_read_where_they_are_used() -> None:
    x, cell = tf.constant(X), cells.BasicRNNCell(3)

    def body(count: Any, state: Any) -> Any:
        _, state = tf.nn.dynamic_rnn(cell, x, initial_state=state)
        bias = cell.trainable_variables[1]
        with tf.control_dependencies([state]), tf.control_dependencies([bias.assign_add([1.0] * 3)]):
            return count + 1, tf.identity(state)

    _, state = tf.while_loop(lambda count, _: count < 2, body, (0, tf.constant(ZERO, tf.float32)))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        kernel = sess.run(cell.trainable_variables[0])
        found = sess.run(state)
    _, first = unrolled(basic(kernel, 0), X, ZERO)
    close(found, unrolled(basic(kernel, 1), X, first)[1])


def test_a_pair_may_stand_for_memory_and_output() -> None:
    start = (tf.zeros([3, 3]), tf.zeros([3, 3]))
    for number, lengths in enumerate(LENGTHS):
        _, state = tf.nn.dynamic_rnn(cells.BasicLSTMCell(3), tf.constant(X), lengths, start, scope=f"s{number}")
        assert len(state) == 2
    with pytest.raises(TypeError, match="a pair of memory and output"):
        tf.nn.dynamic_rnn(cells.LSTMCell(3), tf.constant(X), initial_state=tf.zeros([3, 3]))


@pytest.mark.parametrize("lengths", LENGTHS, ids=["none", "some", "short"])
def test_arrays_of_numpy_will_do(lengths: Any) -> None:
    start = cells.LSTMStateTuple(*[np.float32(ZERO)] * 2)
    cell = cells.BasicLSTMCell(3)
    with waving():
        whole, _ = tf.nn.dynamic_rnn(cell, X, lengths, initial_state=start)
        each, _ = tf.nn.static_rnn(cell, [*X.swapaxes(0, 1)], start, sequence_length=lengths)
    wanted, _ = unrolled(LSTM, X, (ZERO, ZERO), lengths)
    found = value([whole, tf.stack(each, 1)])
    close(found[0], wanted)
    close(found[1], wanted)


def test_the_next_network_in_the_scope_has_to_share() -> None:
    x = tf.constant(X)
    first, _ = tf.nn.dynamic_rnn(cells.GRUCell(3), x, dtype=tf.float32)
    with pytest.raises(ValueError, match="rnn/gru_cell/gates/kernel already exists"):
        tf.nn.dynamic_rnn(cells.GRUCell(3), x, dtype=tf.float32)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        second, _ = tf.nn.dynamic_rnn(cells.GRUCell(3), x, dtype=tf.float32)
    close(*value([first, second]))
    assert len(names()) == 4


# -- static ----------------------------------------------------------------------------------------


def test_steps_that_no_member_takes_are_not_computed() -> None:
    calls: list[int] = []

    class Counting(cells.RNNCell):
        state_size = output_size = property(lambda self: 2)

        def _seen(self, x: Any) -> Any:
            calls.append(1)
            return x

        def call(self, inputs: Any, state: Any) -> Any:
            seen: Any = tf.py_func(self._seen, [inputs], tf.float32)
            seen.set_shape(inputs.shape)
            return seen, state

    x = tf.unstack(tf.constant(X), axis=1)
    outputs, _ = tf.nn.static_rnn(Counting(), x, dtype=tf.float32, sequence_length=[2, 1, 0])
    assert not value(outputs)[3].any()
    assert len(calls) == 2


def test_symbols_may_be_looked_up_by_the_cell() -> None:
    class Embedding(cells.RNNCell):
        state_size = output_size = property(lambda self: 2)

        def call(self, inputs: Any, state: Any) -> Any:
            state = state + tf.nn.embedding_lookup(tf.get_variable("table", [4, 2]), inputs)
            return state, state

    with waving():
        _, state = tf.nn.static_rnn(Embedding(), [tf.constant([0, 1]), tf.constant([3, 3])], dtype=tf.float32)
    table = wave(4, 2)
    close(value(state), [table[0] + table[3], table[1] + table[3]])


def test_states_are_kept_by_whoever_saves_them() -> None:
    kept: dict[str, Any] = {}

    class Saver:
        def state(self, name: str) -> Any:
            kept[name] = tf.Variable(tf.zeros([3, 3]), trainable=False)
            return kept[name].read_value()

        def save_state(self, name: str, state: Any) -> Any:
            return kept[name].assign(state)

    x = tf.placeholder(tf.float32, [3, 1, 2])
    with waving():
        outputs, _ = tf.nn.static_state_saving_rnn(cells.BasicLSTMCell(3), [x[:, 0]], Saver(), ("c", "h"))
    wanted, _ = unrolled(LSTM, X, (ZERO, ZERO))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for time in range(5):
            close(sess.run(outputs[0], {x: X[:, time : time + 1]}), wanted[:, time])
    with pytest.raises(ValueError, match="should be the same type"):
        tf.nn.static_state_saving_rnn(cells.BasicLSTMCell(3), [x[:, 0]], Saver(), "c")
    with pytest.raises(ValueError, match="mismatched"):
        tf.nn.static_state_saving_rnn(cells.BasicLSTMCell(3), [x[:, 0]], Saver(), ("c",))


# -- refusals --------------------------------------------------------------------------------------


@for_each(
    "inputs, settings, words",
    [
        ([3, 5, 2], {"dtype": None}, "argument `dtype` must be specified"),
        ([3, 2], {}, "must have rank at least 3"),
        ([3], {}, "should have rank >= 2"),
        (None, {}, "the rank of inputs must be known"),
        ([3, 5, None], {}, "must be accessible via shape inference"),
        ([3, 5, 2], {"sequence_length": 3}, "must be a vector of length batch_size"),
        ([3, 5, 2], {"sequence_length": [1, 2]}, "2 lengths for a batch of 3"),
    ],
    ids=["dtype", "matrix", "vector", "rank", "depth", "scalar", "lengths"],
)
def test_what_cannot_run_is_refused_where_it_is_built(inputs: Any, settings: Any, words: str) -> None:
    x = tf.placeholder(tf.float32, inputs)
    with pytest.raises(ValueError, match=words):
        tf.nn.dynamic_rnn(cells.GRUCell(3), x, **{"dtype": tf.float32, **settings})


@pytest.mark.parametrize(("other", "words"), [([3, 4, 2], "Time steps is not"), ([2, 5, 2], "Batch_size is not")])
def test_inputs_that_disagree_are_refused(other: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tf.nn.dynamic_rnn(cells.GRUCell(3), (tf.constant(X), tf.zeros(other)), dtype=tf.float32)


def test_lengths_of_another_batch_are_an_error_of_the_step() -> None:
    x, lengths = tf.placeholder(tf.float32, [None, 5, 2]), tf.placeholder(tf.int64, [None])
    outputs, _ = tf.nn.dynamic_rnn(cells.GRUCell(3), x, lengths, dtype=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected shape for Tensor"):
        value(outputs, {x: X, lengths: [1, 2]})

    # States in another structure are refused.
    class Losing(cells.RNNCell):
        state_size = property(lambda self: (2, 2))
        output_size = property(lambda self: 2)

        def call(self, inputs: Any, state: Any) -> Any:
            return inputs, state[0]

    for given in (None, [1, 2, 3]):
        with pytest.raises((TypeError, ValueError), match="have different"):
            tf.nn.dynamic_rnn(Losing(), tf.constant(X), given, dtype=tf.float32)


@for_each(
    "inputs, kind, words",
    [
        (lambda: tf.constant(X), TypeError, "must be a sequence"),
        (list, ValueError, "must not be empty"),
        (lambda: [tf.zeros([2, 3]), tf.zeros([3, 3])], ValueError, "not compatible"),
        (lambda: [tf.placeholder(tf.float32, [2, None])], ValueError, "Input size .dimension 0"),
    ],
    ids=["tensor", "empty", "batches", "depth"],
)
def test_lists_that_cannot_be_run_are_refused(inputs: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        tf.nn.static_rnn(cells.GRUCell(3), inputs(), dtype=tf.float32)


def test_what_is_no_cell_is_refused_everywhere() -> None:
    x, cell = tf.constant(X), cells.BasicRNNCell(3)
    for call in (
        lambda: tf.nn.dynamic_rnn(3, x, dtype=tf.float32),
        lambda: tf.nn.static_rnn(3, [x[0]], dtype=tf.float32),
        lambda: tf.nn.raw_rnn(3, lambda *_: None),
        lambda: tf.nn.bidirectional_dynamic_rnn(cell, 3, x, dtype=tf.float32),
        lambda: tf.nn.static_bidirectional_rnn(3, cell, [x[0]], dtype=tf.float32),
    ):
        with pytest.raises(TypeError, match=r"\(3\) is not an RNNCell"):
            call()
