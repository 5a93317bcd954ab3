"""Recurrent networks over time: ``dynamic_rnn``, ``raw_rnn``, losses, decoders and layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.python.ops import rnn, rnn_cell
from tests.compat.recurrent import Step, basic, gru, lstm, names, reals, unrolled, value, wave, waves
from tests.rows import for_each, refusing

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


def test_no_member_at_all_gives_nothing() -> None:
    x = tf.placeholder(tf.float32, [None, 5, 2])
    outputs, state = tf.nn.dynamic_rnn(cells.GRUCell(3), x, dtype=tf.float32)
    found = value([outputs, state], {x: np.zeros([0, 5, 2])})
    assert [each.shape for each in found] == [(0, 5, 3), (0, 3)]


def test_no_step_at_all_gives_the_state_back() -> None:
    x, start = tf.placeholder(tf.float32, [None, None, 2]), tf.placeholder(tf.float32, [None, 3])
    outputs, state = tf.nn.dynamic_rnn(cells.GRUCell(3), x, initial_state=start)
    slopes = tf.gradients([outputs, state], [start, *tf.trainable_variables()])
    found, last, (slope, *others) = value([outputs, state, slopes], {x: np.zeros([4, 0, 2]), start: np.ones([4, 3])})
    assert found.shape == (4, 0, 3)
    assert (last == 1).all()
    assert (slope == 1).all()
    assert not any(other.any() for other in others)


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
    tf.nn.dynamic_rnn(cells.MultiRNNCell([cells.BasicRNNCell(3)]), x, dtype=tf.float32, scope=outer)
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
        kernel, found = sess.run(cell.trainable_variables[0]), sess.run(state)
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


test_inputs_that_disagree_are_refused = refusing(
    ([3, 4, 2], "Time steps is not"),
    ([2, 5, 2], "Batch_size is not"),
    of=lambda other: tf.nn.dynamic_rnn(cells.GRUCell(3), (tf.constant(X), tf.zeros(other)), dtype=tf.float32),
)


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


test_lists_that_cannot_be_run_are_refused = refusing(
    (lambda: tf.constant(X), TypeError, "must be a sequence"),
    (list, "must not be empty"),
    (lambda: [tf.zeros([2, 3]), tf.zeros([3, 3])], "not compatible"),
    (lambda: [tf.placeholder(tf.float32, [2, None])], "Input size .dimension 0"),
    of=lambda inputs: tf.nn.static_rnn(cells.GRUCell(3), inputs(), dtype=tf.float32),
)


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


STEPS = [2, 5, 1]


def reading(cell: Any, emitted: Any = None, kept: Any = None) -> Any:
    """A loop function that reads ``X``; ``emitted`` and ``kept`` make of what is there what is given on."""
    array = tf.TensorArray(tf.float32, 5).unstack(tf.constant(X.swapaxes(0, 1)))

    def loop_fn(time: Any, output: Any, state: Any, loop_state: Any) -> Any:
        over = tf.greater_equal(time, STEPS)
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
    return unrolled(gru(wave(5, 6), np.ones(6), wave(5, 3), 0), X, np.zeros([3, 3]), STEPS)


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
    goes_on = np.arange(5)[:, None] < STEPS
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


def test_none_keeps_that_state_as_it_is() -> None:
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
        like, _ = tf.nn.dynamic_rnn(cell, tf.constant(X), STEPS, dtype=tf.float32)
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


contrib_cells = tf.contrib.rnn


legacy = tf.contrib.legacy_seq2seq


LOGITS = reals(3, 4, 5) * 2


TARGETS = np.arange(12).reshape(3, 4) % 5


WEIGHTS = np.array([[1, 1, 0.5, 0], [1, 0, 0, 0], [1, 1, 1, 2]], np.float32)


def entropies() -> Any:
    shares = np.exp(LOGITS) / np.exp(LOGITS).sum(2, keepdims=True)
    return -np.log(np.take_along_axis(shares, TARGETS[..., None], 2)[..., 0]) * WEIGHTS


# -- losses ----------------------------------------------------------------------------------------


@for_each("over_time", [True, False])
@for_each("over_batch", [True, False])
def test_a_loss_is_weighted_and_averaged_as_asked(over_time: bool, over_batch: bool) -> None:
    loss = tf.contrib.seq2seq.sequence_loss(
        tf.constant(LOGITS), tf.constant(TARGETS), tf.constant(WEIGHTS), over_time, over_batch
    )
    axes = tuple(axis for axis, taken in ((0, over_batch), (1, over_time)) if taken)
    wanted = entropies()
    if axes:
        wanted = wanted.sum(axes) / (WEIGHTS.sum(axes) + 1e-12)
    close(value(loss), wanted)


def test_another_loss_can_stand_for_the_cross_entropy() -> None:
    def ones(labels: Any, logits: Any) -> Any:
        assert (labels.shape.as_list(), logits.shape.rank) == ([12], 2)
        return tf.ones([12])

    loss = tf.contrib.seq2seq.sequence_loss(LOGITS, TARGETS, WEIGHTS, softmax_loss_function=ones, name="mine")
    assert loss.op.name.startswith("mine/")
    assert value(loss) == pytest.approx(1.0)
    # No weight at all is no loss.
    assert value(tf.contrib.seq2seq.sequence_loss(LOGITS, TARGETS, np.zeros_like(WEIGHTS))) == 0


@pytest.mark.parametrize("place", range(3))
def test_ranks_are_checked(place: int) -> None:
    given: list[Any] = [LOGITS, TARGETS, WEIGHTS]
    given[place] = given[place][0]
    with pytest.raises(ValueError, match=r"must be a \[batch_size x sequence_length"):
        tf.contrib.seq2seq.sequence_loss(*given)


def listed() -> tuple[list[Any], list[Any], list[Any]]:
    return [*LOGITS.swapaxes(0, 1)], [*TARGETS.T], [*WEIGHTS.T]


def test_a_loss_of_lists_is_by_example() -> None:
    found = value(
        [
            legacy.sequence_loss_by_example(*listed()),
            legacy.sequence_loss_by_example(*listed(), average_across_timesteps=False),
            legacy.sequence_loss(*listed()),
            legacy.sequence_loss(*listed(), average_across_batch=False),
        ]
    )
    sums = entropies().sum(1)
    close(found[0], sums / WEIGHTS.sum(1))
    close(found[1], sums)
    close(found[2], (sums / WEIGHTS.sum(1)).mean())
    close(found[3], (sums / WEIGHTS.sum(1)).sum())
    logits, targets, weights = listed()
    with pytest.raises(ValueError, match="must be the same 4, 4, 3"):
        legacy.sequence_loss_by_example(logits, targets[:3], weights)


# -- decoders --------------------------------------------------------------------------------------


PAIRS = reals(2, 3, 2)


def test_a_decoder_reads_its_inputs() -> None:
    cell = contrib_cells.BasicRNNCell(3)
    with tf.variable_scope("", initializer=waves):
        outputs, state = legacy.rnn_decoder([*PAIRS.swapaxes(0, 1)], tf.zeros([2, 3]), cell)
    assert names()[0] == "rnn_decoder/basic_rnn_cell/kernel"
    wanted, last = unrolled(basic(wave(5, 3), 0), PAIRS, np.zeros([2, 3]))
    found = value([tf.stack(outputs, 1), state])
    close(found[0], wanted)
    close(found[1], last)


def test_a_decoder_may_read_what_is_made_of_its_outputs() -> None:
    seen: list[int] = []

    def next_input(before: Any, number: int) -> Any:
        seen.append(number)
        return before * 2

    cell = contrib_cells.BasicRNNCell(2)
    with tf.variable_scope("", initializer=waves):
        outputs, _ = legacy.rnn_decoder([*PAIRS.swapaxes(0, 1)], tf.zeros([2, 2]), cell, next_input)
    assert seen == [1, 2]
    step = basic(wave(4, 2), 0)
    first, state = step(PAIRS[:, 0], np.zeros([2, 2]))
    second, _ = step(first * 2, state)
    close(value(outputs[1]), second)


def test_an_encoder_gives_its_last_state_to_the_decoder() -> None:
    given = [tf.constant(PAIRS[:, t]) for t in range(3)]
    cell = contrib_cells.GRUCell(3)
    with tf.variable_scope("", initializer=waves):
        apart, _ = legacy.basic_rnn_seq2seq(given, given[:1], cell)
        tied, _ = legacy.tied_rnn_seq2seq(given, given[:1], contrib_cells.GRUCell(3))
    step = gru(wave(5, 6), np.ones(6), wave(5, 3), 0)
    _, state = unrolled(step, PAIRS, np.zeros([2, 3]))
    wanted, _ = step(PAIRS[:, 0], state)
    found = value([apart[0], tied[0]])
    close(found[0], wanted)
    close(found[1], wanted)
    assert names()[::4] == [
        "basic_rnn_seq2seq/rnn/gru_cell/gates/kernel",
        "basic_rnn_seq2seq/rnn_decoder/gru_cell/gates/kernel",
        "combined_tied_rnn_seq2seq/tied_rnn_seq2seq/gru_cell/gates/kernel",
    ]


def test_bidirectional_layers_read_both_ways_of_the_layer_below() -> None:
    def layers() -> Any:
        return [contrib_cells.GRUCell(3), contrib_cells.GRUCell(2)]

    x, lengths = tf.constant(PAIRS), [3, 2]
    with tf.variable_scope("", initializer=waves):
        whole, fw, bw = contrib_cells.stack_bidirectional_dynamic_rnn(
            layers(), layers(), x, dtype=tf.float32, sequence_length=lengths
        )
        made = names()
        each, static_fw, static_bw = contrib_cells.stack_bidirectional_rnn(
            layers(), layers(), tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=lengths, scope="listed"
        )
    assert made[0] == "stack_bidirectional_rnn/cell_0/bidirectional_rnn/fw/gru_cell/gates/kernel"
    assert names()[16] == "listed/cell_0/fw/gru_cell/gates/kernel"
    assert whole.shape.as_list() == [2, 3, 4]
    found = value([whole, tf.stack(each, 1), fw, static_fw, bw, static_bw])
    for one, other in zip(found[::2], found[1::2], strict=True):
        for a, b in zip(one, other, strict=True):
            close(a, b)


@for_each(
    "fw, bw, states, words",
    [
        ([], [1], None, "at least one fw cell"),
        ([1], (1,), None, "cells_bw must be a list"),
        ([1, 2], [1], None, "the same depth"),
        ([1], [1], [1, 2], "initial_states_fw must be a list"),
    ],
)
def test_layers_that_do_not_fit_are_refused(fw: Any, bw: Any, states: Any, words: str) -> None:
    for stacked in (contrib_cells.stack_bidirectional_rnn, contrib_cells.stack_bidirectional_dynamic_rnn):
        with pytest.raises(ValueError, match=words):
            stacked(fw, bw, tf.constant(PAIRS), states)


def test_older_names_are_the_newer_things() -> None:
    now = tf.nn.rnn_cell
    for name in now.__all__:
        assert getattr(contrib_cells, name) is getattr(now, name)
    assert (tf.nn.rnn, tf.nn.bidirectional_rnn) == (tf.nn.static_rnn, tf.nn.static_bidirectional_rnn)
    assert tf.nn.seq2seq is legacy
    assert contrib_cells.static_rnn is tf.nn.static_rnn
    assert rnn.dynamic_rnn is tf.nn.dynamic_rnn
    assert rnn_cell.GRUCell is now.GRUCell
    assert value(contrib_cells.transpose_batch_time(tf.constant(PAIRS))).shape == (3, 2, 2)
