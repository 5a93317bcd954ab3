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
        lambda zeros: tf.constant(RANDOM.normal(size=zeros.shape.as_list()), tf.float32),
        cell.zero_state(2, tf.float32),
    )
    outputs, after = cell(tf.constant(inputs), state)
    names = {v.op.name: v for v in tf.global_variables()}
    outputs, after, state, values = run([outputs, after, state, names])
    return outputs, (state, after), values


CELLS: dict[str, Any] = {
    "LSTMBlockCell": (lambda: rnn.LSTMBlockCell(4), "lstm_cell/bias lstm_cell/kernel"),
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
    above = (
        "rnn/"
        if name.endswith(("Cell", "V2")) or name == "HighwayWrapper"
        else f"rnn/{snake_case(name)}/"
    )
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


def test_wrappers_map_what_a_cell_reads_and_puts_out() -> None:
    output, (state, _), values = step(rnn.OutputProjectionWrapper(BASIC(4), 2))
    names = sorted(values)
    hidden = np.tanh(np.concatenate([INPUTS[0], state], 1) @ values[names[1]])
    np.testing.assert_allclose(output, hidden @ values[names[3]], rtol=1e-3, atol=1e-5)
    with pytest.raises(ValueError, match="must be > 0"):
        rnn.OutputProjectionWrapper(BASIC(4), 0)


def test_a_cell_reads_the_vectors_of_ids() -> None:
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
    assert sorted(v.op.name for v in tf.global_variables()) == [
        "lstm_fused_cell/bias", "lstm_fused_cell/kernel",
    ]  # fmt: skip
    turned = INPUTS.copy()
    turned[:, 0], turned[:3, 1] = INPUTS[::-1, 0], INPUTS[2::-1, 1]
    again, _ = cell(turned, dtype=tf.float32, sequence_length=lengths)
    found, last, reverse, forward = run([outputs, state, back, again])
    np.testing.assert_allclose(found[4, 0], last.h[0], rtol=1e-5)
    np.testing.assert_array_equal(found[3:, 1], 0)
    np.testing.assert_allclose(reverse[::-1, 0], forward[:, 0], rtol=1e-5)
    np.testing.assert_allclose(reverse[2::-1, 1], forward[:3, 1], rtol=1e-5)


def test_gates_are_convolutions() -> None:
    cell = rnn.Conv2DLSTMCell(input_shape=[4, 4, 2], output_channels=3, kernel_shape=[3, 3])
    frames = tf.constant(RANDOM.normal(size=(2, 5, 4, 4, 2)), tf.float32)
    outputs, state = tf.nn.dynamic_rnn(cell, frames, dtype=tf.float32)
    assert outputs.shape.as_list() == [2, 5, 4, 4, 3]
    assert [v.shape.as_list() for v in tf.global_variables()] == [[3, 3, 5, 12], [12]]
    found, last = run([outputs, state])
    np.testing.assert_allclose(found[:, -1], last.h)


def test_a_linear_map_is_shared_with_its_scope() -> None:
    from actorsession.compat.v1.contrib.rnn_cells import _linear

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
