"""``tf.nn.rnn_cell``: what a step of each cell computes, how its variables are called, what is refused."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from tests.compat.recurrent import Step, basic, gru, lstm, names, reals, sigmoid, value, wave, waves
from tests.rows import for_each

cells = tf.nn.rnn_cell
X, H, C = reals(2, 3), reals(2, 4, seed=1), reals(2, 4, seed=2)


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as graph:
        yield graph


def called(cell: Any, state: Any, x: Any = X) -> Any:
    with tf.variable_scope("", initializer=waves):
        return value(cell(tf.constant(x), state))


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


# -- values ----------------------------------------------------------------------------------------


ONES, ZEROS = np.ones(8), np.zeros(4)
ONE_STATE: dict[str, tuple[Any, Step]] = {
    "basic": (lambda: cells.BasicRNNCell(4), basic(wave(7, 4), ZEROS)),
    "gru": (lambda: cells.GRUCell(4), gru(wave(7, 8), ONES, wave(7, 4), ZEROS)),
    "gru-bias": (
        lambda: cells.GRUCell(4, bias_initializer=tf.constant_initializer(0.5)),
        gru(wave(7, 8), 0.5, wave(7, 4), 0.5),
    ),
    "gru-kernel": (
        lambda: cells.GRUCell(4, kernel_initializer="ones"),
        gru(np.ones([7, 8]), ONES, np.ones([7, 4]), ZEROS),
    ),
}


@for_each("name", ONE_STATE)
def test_a_cell_with_one_state_puts_its_state_out(name: str) -> None:
    make, step = ONE_STATE[name]
    output, state = called(make(), tf.constant(H))
    close(output, step(X, H)[0])
    close(state, output)


GATES = wave(7, 16)
PEEP = [wave(4)] * 3
TWO_STATES: dict[str, tuple[Any, Step]] = {
    "basic": (lambda: cells.BasicLSTMCell(4), lstm(GATES, 0)),
    "basic-forgets": (lambda: cells.BasicLSTMCell(4, forget_bias=0.0), lstm(GATES, 0, 0.0)),
    "plain": (lambda: cells.LSTMCell(4), lstm(GATES, 0)),
    "peepholes": (lambda: cells.LSTMCell(4, use_peepholes=True), lstm(GATES, 0, peepholes=PEEP)),
    "clip": (lambda: cells.LSTMCell(4, cell_clip=0.1), lstm(GATES, 0, clip=0.1)),
    "initializer": (
        lambda: cells.LSTMCell(4, initializer=tf.constant_initializer(0.1), use_peepholes=True),
        lstm(np.full([7, 16], 0.1), 0, peepholes=[0.1] * 3),
    ),
}


@for_each("name", TWO_STATES)
def test_a_cell_with_a_memory_gives_memory_and_output(name: str) -> None:
    make, step = TWO_STATES[name]
    output, state = called(make(), (tf.constant(C), tf.constant(H)))
    assert isinstance(state, cells.LSTMStateTuple)
    wanted, after = step(X, (C, H))
    close(output, wanted)
    close(state.c, after[0])
    close(state.h, wanted)


def test_a_projection_has_its_own_width_and_limit() -> None:
    cell = cells.LSTMCell(4, num_proj=2, proj_clip=0.05)
    output, state = called(cell, (tf.constant(C), tf.constant(H[:, :2])))
    step = lstm(wave(5, 16), 0, projection=wave(4, 2), projection_clip=0.05)
    close(output, step(X, (C, H[:, :2]))[0])
    assert np.abs(output).max() <= 0.05
    assert (cell.state_size, cell.output_size) == ((4, 2), 2)
    assert state.h.shape == (2, 2)


@pytest.mark.parametrize("kind", ["BasicLSTMCell", "LSTMCell"])
def test_a_state_in_one_piece_has_memory_and_output_beside_each_other(kind: str) -> None:
    cell = getattr(cells, kind)(4, state_is_tuple=False)
    output, state = called(cell, tf.constant(np.concatenate([C, H], 1)))
    wanted, (memory, _) = lstm(GATES, 0)(X, (C, H))
    close(output, wanted)
    close(state, np.concatenate([memory, wanted], 1))
    assert cell.state_size == 8


def test_an_activation_is_a_function_or_its_name() -> None:
    for number, activation in enumerate((tf.nn.relu, "relu")):
        output, _ = called(cells.BasicRNNCell(4, activation, name=f"c{number}"), tf.constant(H))
        close(output, np.maximum(np.concatenate([X, H], 1) @ wave(7, 4), 0))


def test_cells_on_top_of_each_other_pass_outputs_on() -> None:
    cell = cells.MultiRNNCell([cells.GRUCell(4), cells.BasicRNNCell(2)])
    output, state = called(cell, (tf.constant(H), tf.constant(C[:, :2])))
    below, _ = gru(wave(7, 8), ONES, wave(7, 4), ZEROS)(X, H)
    above, _ = basic(wave(6, 2), 0)(below, C[:, :2])
    close(output, above)
    assert isinstance(state, tuple)
    close(state[0], below)
    close(state[1], above)


def test_states_of_such_cells_may_be_one_matrix() -> None:
    cell = cells.MultiRNNCell([cells.GRUCell(4), cells.GRUCell(2)], state_is_tuple=False)
    assert cell.state_size == 6
    output, state = called(cell, tf.constant(np.concatenate([H, C[:, :2]], 1)))
    assert (output.shape, state.shape) == ((2, 2), (2, 6))
    close(state[:, 4:], output)


def test_a_residual_cell_adds_its_inputs() -> None:
    cell = cells.ResidualWrapper(cells.BasicRNNCell(3))
    output, state = called(cell, tf.constant(H[:, :3]))
    close(output, X + state)


def test_what_is_made_of_inputs_and_outputs_can_be_said() -> None:
    cell = cells.ResidualWrapper(cells.BasicRNNCell(4), lambda x, y: tf.concat([y, x], 1))
    output, state = called(cell, tf.constant(H))
    close(output, np.concatenate([state, X], 1))


def test_a_cell_can_have_its_device() -> None:
    cell = cells.DeviceWrapper(cells.BasicRNNCell(4), "/cpu:0")
    state = cell.zero_state(2, tf.float32)
    output, _ = cell(tf.constant(X), state)
    assert [t.device for t in (state, output)] == ["/device:CPU:0"] * 2


def test_a_zero_state_is_of_any_batch() -> None:
    batch = tf.placeholder(tf.int32, [])
    cell = cells.MultiRNNCell([cells.BasicLSTMCell(2), cells.GRUCell(3)])
    state = cell.zero_state(batch, tf.float64)
    assert [t.shape.as_list() for t in (*state[0], state[1])] == [[None, 2], [None, 2], [None, 3]]
    (c, h), last = value(state, {batch: 5})
    assert [x.shape for x in (c, h, last)] == [(5, 2), (5, 2), (5, 3)]
    assert last.dtype == np.float64
    assert not last.any()


def test_the_dtype_is_that_of_the_first_inputs() -> None:
    cell = cells.GRUCell(2)
    assert cell.dtype is None
    cell(tf.zeros([1, 3], tf.float64), cell.zero_state(1, tf.float64))
    assert cell.dtype == tf.float64
    assert {v.dtype.base_dtype for v in cell.variables} == {tf.float64}


# -- names -----------------------------------------------------------------------------------------


@for_each(
    "make, wanted",
    [
        (lambda: cells.BasicRNNCell(2), ["basic_rnn_cell/kernel", "basic_rnn_cell/bias"]),
        (
            lambda: cells.GRUCell(2),
            [
                "gru_cell/gates/kernel", "gru_cell/gates/bias", "gru_cell/candidate/kernel",
                "gru_cell/candidate/bias",
            ],
        ),
        (lambda: cells.BasicLSTMCell(2), ["basic_lstm_cell/kernel", "basic_lstm_cell/bias"]),
        (
            lambda: cells.LSTMCell(2, use_peepholes=True, num_proj=2),
            [
                "lstm_cell/kernel", "lstm_cell/bias", "lstm_cell/w_f_diag", "lstm_cell/w_i_diag",
                "lstm_cell/w_o_diag", "lstm_cell/projection/kernel",
            ],
        ),
        (lambda: cells.BasicRNNCell(2, name="mine"), ["mine/kernel", "mine/bias"]),
        (
            lambda: cells.MultiRNNCell(
                [cells.DropoutWrapper(cells.BasicRNNCell(2), 0.5), cells.BasicRNNCell(2)]
            ),
            [
                f"multi_rnn_cell/cell_{n}/basic_rnn_cell/{part}"
                for n in (0, 1)
                for part in ("kernel", "bias")
            ],
        ),
    ],
    ids=["basic", "gru", "basic-lstm", "lstm", "named", "stack"],
)  # fmt: skip
def test_variables_are_called_as_in_checkpoints_of_tensorflow(make: Any, wanted: Any) -> None:
    cell = make()
    with tf.variable_scope("net"):
        cell(tf.constant(X), cell.zero_state(2, tf.float32))
    assert names() == [f"net/{name}" for name in wanted]
    assert [v.op.name for v in cell.trainable_variables] == names()


def test_two_cells_in_one_scope_have_variables_of_their_own() -> None:
    for _ in range(2):
        cell = cells.BasicRNNCell(2)
        cell(tf.constant(X), cell.zero_state(2, tf.float32))
    assert names()[::2] == ["basic_rnn_cell/kernel", "basic_rnn_cell_1/kernel"]
    assert cell.scope_name == "basic_rnn_cell_1"


def test_a_cell_has_the_same_variables_wherever_it_is_called() -> None:
    cell = cells.BasicRNNCell(2)
    for scope in ("a", "b"):
        with tf.variable_scope(scope):
            cell(tf.constant(X), cell.zero_state(2, tf.float32))
    assert names() == ["a/basic_rnn_cell/kernel", "a/basic_rnn_cell/bias"]


@pytest.mark.parametrize("how", ["scope", "argument", "auto"])
def test_another_cell_can_share_them(how: str) -> None:
    made = []
    for number in range(2):
        again: Any = {"scope": bool(number), "argument": False, "auto": tf.AUTO_REUSE}[how]
        with tf.variable_scope("net", reuse=again):
            cell = cells.GRUCell(2, reuse=bool(number) if how == "argument" else None)
            cell(tf.constant(X), cell.zero_state(2, tf.float32))
        made.append(cell.variables)
    assert all(a is b for a, b in zip(*made, strict=True))
    assert len(names()) == 4


def test_settings_of_the_scope_are_those_of_the_cell() -> None:
    halves = tf.constant_initializer(0.5)
    with tf.variable_scope("net", initializer=halves, regularizer=tf.nn.l2_loss):
        cell = cells.BasicRNNCell(2)
        cell(tf.constant(X), cell.zero_state(2, tf.float32))
    assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 2
    kernel, bias = value(cell.variables)
    assert (kernel.min(), bias.max()) == (0.5, 0)


def test_a_kernel_can_be_in_parts() -> None:
    cell = cells.LSTMCell(2, num_unit_shards=2)
    cell(tf.constant(X), cell.zero_state(2, tf.float32))
    assert names() == ["lstm_cell/kernel/part_0", "lstm_cell/kernel/part_1", "lstm_cell/bias"]
    assert [v.op.name for v in cell.weights] == names()


def test_a_cell_need_not_be_trained() -> None:
    cell = cells.BasicRNNCell(2, trainable=False)
    cell(tf.constant(X), cell.zero_state(2, tf.float32))
    assert (tf.trainable_variables(), cell.trainable_weights) == ([], [])
    assert cell.non_trainable_weights == cell.variables == tf.global_variables()


def test_a_copy_of_a_cell_that_was_not_called_has_its_own_variables() -> None:
    keep = tf.placeholder_with_default(1.0, [])
    cell = cells.DropoutWrapper(cells.BasicRNNCell(2), output_keep_prob=keep)
    for each in (cell, copy.deepcopy(cell)):
        each(tf.constant(X), each.zero_state(2, tf.float32))
    assert names()[::2] == ["basic_rnn_cell/kernel", "basic_rnn_cell_1/kernel"]


def test_one_cell_in_two_layers_shares_its_weights_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        cell = cells.MultiRNNCell([cells.GRUCell(3)] * 2)
    assert "share weights" in caplog.text
    cell(tf.constant(X), cell.zero_state(2, tf.float32))
    assert len(names()) == len(cell.weights) == 4
    assert cell.weights[0].op.name == "multi_rnn_cell/cell_0/gru_cell/gates/kernel"


# -- cells of programs -----------------------------------------------------------------------------


class Decaying(cells.RNNCell):
    """Its variables are made by ``build``."""

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._units = units

    @property
    def state_size(self) -> int:
        return self._units

    @property
    def output_size(self) -> int:
        return self._units

    def build(self, inputs_shape: Any) -> None:
        self._kernel = self.add_weight("kernel", [int(inputs_shape[1]), self._units])
        self.built = True

    def call(self, inputs: Any, state: Any) -> Any:
        state = 0.5 * state + tf.matmul(inputs, self._kernel)
        return tf.sigmoid(state), state


class Asking(Decaying):
    """Its variables are made by ``get_variable`` in ``call``."""

    def build(self, inputs_shape: Any) -> None:
        pass

    def call(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        assert scope.name.endswith("asking")
        self._kernel = tf.get_variable("kernel", [3, self._units])
        self._rate = tf.get_variable("rate", [], trainable=False)
        self._more = self.add_variable("more", [])
        return super().call(inputs, state)


class Alone(cells.RNNCell):
    """Does everything itself, and never asks the class above for anything."""

    def __init__(self) -> None:
        self._units = 4

    state_size = property(lambda self: self._units)
    output_size = property(lambda self: self._units)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        with tf.variable_scope(scope or type(self).__name__):
            kernel = tf.get_variable("kernel", [3, 4])
            state = 0.5 * state + tf.matmul(inputs, kernel)
            return tf.sigmoid(state), state


@pytest.mark.parametrize("make", [lambda: Decaying(4), lambda: Asking(4), Alone])
def test_programs_write_cells_of_their_own(make: Any) -> None:
    output, state = called(make(), tf.constant(H))
    close(state, 0.5 * H + X @ wave(3, 4))
    close(output, sigmoid(state))


def test_such_cells_know_their_variables() -> None:
    cell = Asking(4)
    for _ in range(2):
        cell(tf.constant(X), tf.constant(H))
    assert names() == ["asking/kernel", "asking/rate", "asking/more"]
    assert [v.op.name for v in cell.trainable_variables] == ["asking/kernel", "asking/more"]
    assert [v.op.name for v in cell.non_trainable_variables] == ["asking/rate"]


def test_they_share_by_a_scope() -> None:
    for reuse in (None, True):
        with tf.variable_scope("net", reuse=reuse):
            Decaying(4)(tf.constant(X), tf.constant(H))
    assert names() == ["net/decaying/kernel"]


def test_they_say_what_they_lack() -> None:
    class Nothing(cells.RNNCell):
        pass

    with pytest.raises(NotImplementedError, match="Nothing has no state_size"):
        _ = Nothing().state_size
    with pytest.raises(NotImplementedError, match="Nothing has no method call"):
        Nothing()(tf.constant(X), None)
    with pytest.raises(ValueError, match="no scope before it is called"):
        _ = Nothing().scope_name


def test_a_first_state_can_come_from_inputs() -> None:
    cell = Decaying(4)
    state = cell.get_initial_state(inputs=tf.zeros([5, 3], tf.float64))
    assert (state.shape.as_list(), state.dtype) == ([5, 4], tf.float64)
    with pytest.raises(ValueError, match="inputs have batch size 5, but batch_size is 2"):
        cell.get_initial_state(inputs=tf.zeros([5, 3]), batch_size=2)
    with pytest.raises(ValueError, match="inputs have dtype float32"):
        cell.get_initial_state(inputs=tf.zeros([5, 3]), dtype=tf.float64)
    with pytest.raises(ValueError, match="batch_size and dtype cannot be None"):
        cell.get_initial_state(batch_size=2)


# -- refusals --------------------------------------------------------------------------------------


@for_each(
    "make, kind, words",
    [
        (lambda: cells.GRUCell(2, units=2), TypeError, "GRUCell has no argument 'units'"),
        (lambda: cells.GRUCell(2, dtype=tf.int32), ValueError, "only supports floating point"),
        (lambda: cells.GRUCell(2, activation="loud"), ValueError, "loud. Known names are elu, "),
        (lambda: cells.GRUCell(2, activation=3), TypeError, "a function or the name of one, got 3"),
        (lambda: cells.MultiRNNCell([]), ValueError, "at least one cell"),
        (lambda: cells.MultiRNNCell(cells.GRUCell(2)), TypeError, "must be a list or tuple"),
        (
            lambda: cells.MultiRNNCell([cells.LSTMCell(2)], state_is_tuple=False),
            ValueError,
            "the flag state_is_tuple is not set",
        ),
        (lambda: cells.DropoutWrapper(3), TypeError, "'cell' .3. is not an RNNCell: 'output_size'"),
    ],
)
def test_a_cell_that_cannot_be_is_refused(make: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        make()


@pytest.mark.parametrize(
    ("shape", "words"),
    [([2], "expected ndim=2, found ndim=1"), ([2, None], r"inputs.shape\[-1\] to be known")],
)
def test_inputs_that_fit_no_cell_are_refused(shape: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        cells.GRUCell(2)(tf.placeholder(tf.float32, shape), tf.zeros([2, 2]))


def test_memory_and_output_have_one_dtype() -> None:
    assert cells.LSTMStateTuple(tf.constant(1.0), tf.constant(1.0)).dtype == tf.float32
    with pytest.raises(TypeError, match="float32 vs float64"):
        _ = cells.LSTMStateTuple(tf.constant(1.0), tf.constant(1.0, tf.float64)).dtype
