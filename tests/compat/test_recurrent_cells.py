"""``tf.nn.rnn_cell`` and ``tf.contrib.rnn``: values, variables and how they are shared, dropout, refusals."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.train.layers.names import snake_case
from tests.compat.recurrent import names, reals, value
from tests.rows import for_each, refusing

pytestmark = pytest.mark.usefixtures("graph")


cells = tf.nn.rnn_cell
X, H, C = reals(2, 3), reals(2, 4, seed=1), reals(2, 4, seed=2)


def test_a_cell_can_have_its_device() -> None:
    cell = cells.DeviceWrapper(cells.BasicRNNCell(4), "/cpu:0")
    state = cell.zero_state(2, tf.float32)
    output, _ = cell(tf.constant(X), state)
    assert [t.device for t in (state, output)] == ["/device:CPU:0"] * 2


def test_the_dtype_is_that_of_the_first_inputs() -> None:
    cell = cells.GRUCell(2)
    assert cell.dtype is None
    cell(tf.zeros([1, 3], tf.float64), cell.zero_state(1, tf.float64))
    assert cell.dtype == tf.float64
    assert {v.dtype.base_dtype for v in cell.variables} == {tf.float64}


# -- names -----------------------------------------------------------------------------------------


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


def test_one_cell_in_two_layers_shares_its_weights_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        cell = cells.MultiRNNCell([cells.GRUCell(3)] * 2)
    assert "share weights" in caplog.text
    cell(tf.constant(X), cell.zero_state(2, tf.float32))
    assert len(names()) == len(cell.weights) == 4
    assert cell.weights[0].op.name == "multi_rnn_cell/cell_0/gru_cell/gates/kernel"


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


def test_cells_of_a_program_know_and_share_their_variables() -> None:
    cell = Asking(4)
    for _ in range(2):
        cell(tf.constant(X), tf.constant(H))
    assert names() == ["asking/kernel", "asking/rate", "asking/more"]
    assert [v.op.name for v in cell.trainable_variables] == ["asking/kernel", "asking/more"]
    assert [v.op.name for v in cell.non_trainable_variables] == ["asking/rate"]


def test_they_say_what_they_lack() -> None:
    class Nothing(cells.RNNCell):
        pass

    with pytest.raises(NotImplementedError, match="Nothing has no state_size"):
        _ = Nothing().state_size
    with pytest.raises(NotImplementedError, match="Nothing has no method call"):
        Nothing()(tf.constant(X), None)
    with pytest.raises(ValueError, match="no scope before it is called"):
        _ = Nothing().scope_name


def test_they_share_by_a_scope() -> None:
    for reuse in (None, True):
        with tf.variable_scope("net", reuse=reuse):
            Decaying(4)(tf.constant(X), tf.constant(H))
    assert names() == ["net/decaying/kernel"]


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


test_a_cell_that_cannot_be_is_refused = refusing(
    (lambda: cells.GRUCell(2, units=2), TypeError, "GRUCell has no argument 'units'"),
    (lambda: cells.GRUCell(2, dtype=tf.int32), "only supports floating point"),
    (lambda: cells.GRUCell(2, activation="loud"), "loud. Known names are elu, "),
    (lambda: cells.GRUCell(2, activation=3), TypeError, "a function or the name of one, got 3"),
    (lambda: cells.MultiRNNCell([]), "at least one cell"),
    (lambda: cells.MultiRNNCell(cells.GRUCell(2)), TypeError, "must be a list or tuple"),
    (lambda: cells.MultiRNNCell([cells.LSTMCell(2)], state_is_tuple=False), "the flag state_is_tuple is not set"),
    (lambda: cells.DropoutWrapper(3), TypeError, "'cell' .3. is not an RNNCell: 'output_size'"),
)


test_inputs_that_fit_no_cell_are_refused = refusing(
    ([2], "expected ndim=2, found ndim=1"),
    ([2, None], r"inputs.shape\[-1\] to be known"),
    of=lambda shape: cells.GRUCell(2)(tf.placeholder(tf.float32, shape), tf.zeros([2, 2])),
)


def test_memory_and_output_have_one_dtype() -> None:
    assert cells.LSTMStateTuple(tf.constant(1.0), tf.constant(1.0)).dtype == tf.float32
    with pytest.raises(TypeError, match="float32 vs float64"):
        _ = cells.LSTMStateTuple(tf.constant(1.0), tf.constant(1.0, tf.float64)).dtype


WIDE = 400


class Passing(cells.RNNCell):
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


test_settings_that_make_no_sense_are_refused = refusing(
    ({"input_keep_prob": 1.5}, "input_keep_prob must be between 0 and 1: 1.5"),
    ({"state_keep_prob": -1}, "state_keep_prob must be between 0 and 1: -1"),
    ({"dropout_state_filter_visitor": 3}, TypeError, "must be callable"),
    ({"variational_recurrent": True}, "dtype must be provided"),
    ({"variational_recurrent": True, "dtype": tf.float32, "input_keep_prob": 0.5}, "input_size must be provided"),
    of=lambda settings: cells.DropoutWrapper(Passing(), **settings),
)


rnn = tf.contrib.rnn


RANDOM = np.random.default_rng(7)


INPUTS = RANDOM.normal(size=(5, 2, 3)).astype(np.float32)


BASIC = tf.nn.rnn_cell.BasicRNNCell


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(2)
        yield graph


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def step(cell: Any, inputs: Any = INPUTS[0]) -> tuple[Any, Any, dict[str, Any]]:
    """The output and state of one step from a random state, and the variables by name."""
    state = tf.contrib.framework.nest.map_structure(
        lambda zeros: tf.constant(RANDOM.normal(size=zeros.shape.as_list()), tf.float32), cell.zero_state(2, tf.float32)
    )
    outputs, after = cell(tf.constant(inputs), state)
    outputs, after, state, values = run([outputs, after, state, {v.op.name: v for v in tf.global_variables()}])
    return outputs, (state, after), values


CELLS: dict[str, Any] = {
    "LSTMBlockCell": (lambda: rnn.LSTMBlockCell(4), "lstm_cell/bias lstm_cell/kernel"),
    "GRUBlockCell": (lambda: rnn.GRUBlockCell(4), "gru_cell/b_c gru_cell/b_ru gru_cell/w_c gru_cell/w_ru"),
    "CudnnCompatibleLSTMCell": (
        lambda: tf.contrib.cudnn_rnn.CudnnCompatibleLSTMCell(4),
        "cudnn_compatible_lstm_cell/bias cudnn_compatible_lstm_cell/kernel",
    ),
    "GRUBlockCellV2": (
        lambda: rnn.GRUBlockCellV2(4),
        "gru_cell/candidate/bias gru_cell/candidate/kernel gru_cell/gates/bias gru_cell/gates/kernel",
    ),
    "InputProjectionWrapper": (
        lambda: rnn.InputProjectionWrapper(BASIC(4), 2),
        "basic_rnn_cell/bias basic_rnn_cell/kernel bias kernel",
    ),
    "OutputProjectionWrapper": (
        lambda: rnn.OutputProjectionWrapper(BASIC(4), 2),
        "basic_rnn_cell/bias basic_rnn_cell/kernel bias kernel",
    ),
    "HighwayWrapper": (
        lambda: rnn.HighwayWrapper(BASIC(3)),
        "basic_rnn_cell/bias basic_rnn_cell/kernel carry_b carry_w",
    ),
    "AttentionCellWrapper": (
        lambda: rnn.AttentionCellWrapper(BASIC(4), 3),
        "attention/attn_v attention/attn_w attention/bias attention/kernel "
        "attn_output_projection/bias attn_output_projection/kernel basic_rnn_cell/bias "
        "basic_rnn_cell/kernel bias kernel",
    ),
}


@for_each("name", sorted(CELLS))
def test_a_cell_makes_variables_of_tensorflows_names(name: str) -> None:
    make, wanted = CELLS[name]
    cell = make()
    outputs, _ = tf.nn.dynamic_rnn(cell, INPUTS, dtype=tf.float32, time_major=True)
    assert run(outputs).shape == (5, 2, int(cell.output_size))
    made = sorted(v.op.name for v in tf.global_variables())
    above = "rnn/" if name.endswith(("Cell", "V2")) or name == "HighwayWrapper" else f"rnn/{snake_case(name)}/"
    assert made == [f"{above}{each}" for each in wanted.split()]


def test_a_normalised_lstm() -> None:
    output, (state, after), values = step(rnn.LayerNormBasicLSTMCell(4))
    prefix = "layer_norm_basic_lstm_cell"
    gates = np.concatenate([INPUTS[0], state.h], 1) @ values[f"{prefix}/kernel"]

    def norm(x: Any) -> Any:
        return (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)

    i, j, f, o = map(norm, np.split(gates, 4, 1))
    memory = norm(state.c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j))
    np.testing.assert_allclose(output, np.tanh(memory) * sigmoid(o), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(after.c, memory, rtol=1e-4, atol=1e-5)
    assert f"{prefix}/state/gamma" in values
    assert f"{prefix}/bias" not in values


def test_an_update_gate() -> None:
    output, (state, after), values = step(rnn.UGRNNCell(4))
    gate, new = np.split(np.concatenate([INPUTS[0], state], 1) @ values["ugrnn_cell/kernel"], 2, 1)
    np.testing.assert_allclose(output, sigmoid(gate + 1) * state + (1 - sigmoid(gate + 1)) * np.tanh(new), rtol=1e-4)
    np.testing.assert_array_equal(output, after)
    # Wrappers map what a cell reads and puts out.
    output, (state, _), values = step(rnn.OutputProjectionWrapper(BASIC(4), 2))
    names = sorted(values)
    hidden = np.tanh(np.concatenate([INPUTS[0], state], 1) @ values[names[1]])
    np.testing.assert_allclose(output, hidden @ values[names[3]], rtol=1e-3, atol=1e-5)
    with pytest.raises(ValueError, match="must be > 0"):
        rnn.OutputProjectionWrapper(BASIC(4), 0)
    # A cell reads the vectors of ids.
    cell = rnn.EmbeddingWrapper(BASIC(4), 5, 3)
    ids = np.array([1, 4], np.int32)
    output, (state, _), values = step(cell, ids)
    read = np.concatenate([values["embedding_wrapper/embedding"][ids], state], 1)
    np.testing.assert_allclose(output, np.tanh(read @ values["embedding_wrapper/basic_rnn_cell/kernel"]), rtol=1e-4)


def test_a_fused_cell_reads_whole_sequences_in_both_directions() -> None:
    cell = rnn.LSTMBlockFusedCell(4)
    lengths = [5, 3]
    outputs, state = cell(INPUTS, dtype=tf.float32, sequence_length=lengths)
    back, _ = rnn.TimeReversedFusedRNN(cell)(INPUTS, dtype=tf.float32, sequence_length=lengths)
    assert sorted(v.op.name for v in tf.global_variables()) == ["lstm_fused_cell/bias", "lstm_fused_cell/kernel"]
    turned = INPUTS.copy()
    turned[:, 0], turned[:3, 1] = INPUTS[::-1, 0], INPUTS[2::-1, 1]
    again, _ = cell(turned, dtype=tf.float32, sequence_length=lengths)
    found, last, reverse, forward = run([outputs, state, back, again])
    np.testing.assert_allclose(found[4, 0], last.h[0], rtol=1e-5)
    np.testing.assert_array_equal(found[3:, 1], 0)
    np.testing.assert_allclose(reverse[::-1, 0], forward[:, 0], rtol=1e-5)
    np.testing.assert_allclose(reverse[2::-1, 1], forward[:3, 1], rtol=1e-5)


@pytest.mark.parametrize("peephole", [False, True])
def test_an_lstm_of_one_node_is_that_of_many(peephole: bool) -> None:
    block = rnn.LSTMBlockCell(4, cell_clip=30.0, use_peephole=peephole)
    plain = rnn.LSTMCell(4, peephole, 30.0, name="lstm_cell", reuse=tf.AUTO_REUSE)
    state = rnn.LSTMStateTuple(tf.constant(np.float32(INPUTS[1, :, :1] * [1, 2, 3, 4])), tf.ones([2, 4]) / 3)
    first, after = block(tf.constant(INPUTS[0]), state)
    second, wanted = plain(tf.constant(INPUTS[0]), state)
    assert first.op.type == "LSTMBlockCell"
    slopes = [tf.gradients(y, [state.c, state.h, block.weights[0]]) for y in (first, second)]
    found = run([[first, *after, *slopes[0]], [second, *wanted, *slopes[1]]])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_recurrent_unit_of_one_node_is_that_of_many() -> None:
    block, plain = rnn.GRUBlockCellV2(4), rnn.GRUCell(4, name="gru_cell", reuse=tf.AUTO_REUSE)
    state = tf.ones([2, 4]) / 3
    first, second = (cell(tf.constant(INPUTS[0]), state)[0] for cell in (block, plain))
    assert first.op.type == "GRUBlockCell"
    found, wanted = run([first, second])
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_all_steps_are_one_node_and_the_last_state_is_that_of_the_last_step() -> None:
    cell = rnn.LSTMBlockFusedCell(4)
    outputs, state = cell(tf.constant(INPUTS), dtype=tf.float32)
    plain = rnn.LSTMCell(4, name="lstm_fused_cell", reuse=tf.AUTO_REUSE)
    wanted, last = tf.nn.dynamic_rnn(
        plain, tf.constant(INPUTS), dtype=tf.float32, time_major=True, scope=tf.get_variable_scope()
    )
    assert "BlockLSTM" in [op.type for op in tf.get_default_graph().get_operations()]
    found = run([[outputs, state.c, state.h], [wanted, last.c, last.h]])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    short, ended = cell(tf.constant(INPUTS), dtype=tf.float32, sequence_length=[0, 2])
    parts, memory = run([[short, ended.h, ended.c], tf.zeros([4])])
    assert not parts[0][:, 0].any()
    assert not parts[0][2:, 1].any()
    np.testing.assert_array_equal(parts[1], [memory, parts[0][1, 1]])
    np.testing.assert_array_equal(parts[2][0], memory)


def test_a_unit_of_cudnn_resets_what_the_state_adds() -> None:
    output, (state, _), values = step(tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell(4))
    scope = "cudnn_compatible_gru_cell/"
    reset, update = np.split(sigmoid(np.concatenate([INPUTS[0], state], 1) @ values[scope + "gates/kernel"] + 1), 2, 1)
    kept = reset * (state @ values[scope + "candidate/hidden_projection/kernel"])
    new = np.tanh(INPUTS[0] @ values[scope + "candidate/input_projection/kernel"] + kept)
    np.testing.assert_allclose(output, (1 - update) * new + update * state, rtol=1e-4, atol=1e-6)
    with pytest.raises(AttributeError, match="run on NVIDIA's devices alone"):
        _ = tf.contrib.cudnn_rnn.CudnnLSTM


def test_gates_are_convolutions() -> None:
    cell = rnn.Conv2DLSTMCell(input_shape=[4, 4, 2], output_channels=3, kernel_shape=[3, 3])
    frames = tf.constant(RANDOM.normal(size=(2, 5, 4, 4, 2)), tf.float32)
    outputs, state = tf.nn.dynamic_rnn(cell, frames, dtype=tf.float32)
    assert outputs.shape.as_list() == [2, 5, 4, 4, 3]
    assert [v.shape.as_list() for v in tf.global_variables()] == [[3, 3, 5, 12], [12]]
    found, last = run([outputs, state])
    np.testing.assert_allclose(found[:, -1], last.h)


def test_a_linear_map_is_shared_with_its_scope() -> None:
    from actorsession.train.layers.recurrent.cells.linear import _linear

    a, b = tf.constant(INPUTS[0]), tf.constant(INPUTS[1])
    with tf.variable_scope("s"):
        first = _linear([a, b], 4, True)
    with tf.variable_scope("s", reuse=True):
        second = _linear([b, a], 4, True)
    kernel = tf.global_variables()[0]
    assert kernel.shape.as_list() == [6, 4]
    found, other, weights = run([first, second, kernel])
    np.testing.assert_allclose(found, np.concatenate(INPUTS[:2], 1) @ weights, rtol=1e-4)
    np.testing.assert_allclose(other, np.concatenate(INPUTS[1::-1], 1) @ weights, rtol=1e-4)
    with pytest.raises(ValueError, match="2D arguments"):
        _linear(tf.zeros([2, 3, 4]), 4, True)
