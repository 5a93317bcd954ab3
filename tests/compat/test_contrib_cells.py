"""Cells of ``tf.contrib.rnn``: names of variables, and values against the equations of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.train.layers.names import snake_case
from tests.rows import for_each

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
    names = {v.op.name: v for v in tf.global_variables()}
    outputs, after, state, values = run([outputs, after, state, names])
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
    cell = rnn.LayerNormBasicLSTMCell(4)
    output, (state, after), values = step(cell)
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
    both = np.concatenate([INPUTS[0], state], 1) @ values["ugrnn_cell/kernel"]
    gate, new = np.split(both, 2, 1)
    wanted = sigmoid(gate + 1) * state + (1 - sigmoid(gate + 1)) * np.tanh(new)
    np.testing.assert_allclose(output, wanted, rtol=1e-4)
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
    table = values["embedding_wrapper/embedding"]
    read = np.concatenate([table[ids], state], 1)
    kernel = values["embedding_wrapper/basic_rnn_cell/kernel"]
    np.testing.assert_allclose(output, np.tanh(read @ kernel), rtol=1e-4)


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
    memory = np.float32(INPUTS[1, :, :1] * [1, 2, 3, 4])
    state = rnn.LSTMStateTuple(tf.constant(memory), tf.ones([2, 4]) / 3)
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
    cell = tf.contrib.cudnn_rnn.CudnnCompatibleGRUCell(4)
    output, (state, _), values = step(cell)
    scope = "cudnn_compatible_gru_cell/"
    gates = sigmoid(np.concatenate([INPUTS[0], state], 1) @ values[scope + "gates/kernel"] + 1)
    reset, update = np.split(gates, 2, 1)
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
