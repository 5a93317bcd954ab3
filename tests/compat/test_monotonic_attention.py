"""Attention that never goes back, by numbers that TensorFlow 1.15 gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")

seq2seq: Any = tf.contrib.seq2seq

CHANCES = np.array([[0.2, 0.5, 0.9, 0.1], [0.6, 0.1, 0.3, 0.8]], np.float32)
BEFORE = np.array([[0.5, 0.3, 0.1, 0.1], [1, 0, 0, 0]], np.float32)
MEMORY = np.sin(np.arange(24)).reshape(2, 4, 3).astype(np.float32)


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


@pytest.mark.parametrize("mode", ["recursive", "parallel"])
def test_attention_goes_on_from_where_it_was(mode: str) -> None:
    found = run(seq2seq.monotonic_attention(CHANCES, BEFORE, mode))
    wanted = [[0.1, 0.35, 0.405, 0.0145], [0.6, 0.04, 0.108, 0.2016]]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_hard_attention_is_on_the_next_chosen_step() -> None:
    chosen = np.array([[0, 1, 1, 0], [1, 0, 0, 1]], np.float32)
    before = np.array([[0, 0, 1, 0], [0, 1, 0, 0]], np.float32)
    found = run(seq2seq.monotonic_attention(chosen, before, "hard"))
    assert found.tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]
    with pytest.raises(ValueError, match="mode must be"):
        seq2seq.monotonic_attention(chosen, before, "soft")


def test_products_of_zeros_have_gradients() -> None:
    x = tf.constant([[0.0, 0.5, 0.5]])
    products = seq2seq.safe_cumprod(x, axis=1)
    found, slope = run([products, tf.gradients(products, x)[0]])
    np.testing.assert_allclose(found, [[0, 0, 0]], atol=1e-6)
    assert np.isfinite(slope).all()


# The mechanism, its weights, the outputs of the third step and its distribution.
CASES: dict[str, Any] = {
    "Luong": (
        lambda **settings: seq2seq.LuongMonotonicAttention(5, scale=True, **settings),
        ["luong_monotonic_attention/attention_g", "luong_monotonic_attention/attention_score_bias"],
        [0.25372, 0.15599],
        [[0.08419, 0.07465, 0.15918, 0.10209], [0.06409, 0.09263, 0.0, 0.0]],
    ),
    "Bahdanau": (
        lambda **settings: seq2seq.BahdanauMonotonicAttention(5, normalize=True, **settings),
        [
            "bahdanau_monotonic_attention/query_layer/kernel",
            "bahdanau_monotonic_attention/attention_v",
            "bahdanau_monotonic_attention/attention_g",
            "bahdanau_monotonic_attention/attention_b",
            "bahdanau_monotonic_attention/attention_score_bias",
        ],
        [0.33623, 0.18108],
        [[0.1445, 0.08009, 0.19994, 0.09866], [0.10095, 0.10075, 0.0, 0.0]],
    ),
    "hard": (
        lambda **settings: seq2seq.BahdanauMonotonicAttention(5, mode="hard", **settings),
        [
            "bahdanau_monotonic_attention/query_layer/kernel",
            "bahdanau_monotonic_attention/attention_v",
            "bahdanau_monotonic_attention/attention_score_bias",
        ],
        [0.82789, 0.53692],
        [[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_cell_with_monotonic_attention(case: str) -> None:
    make, weights, outputs, alignments = CASES[case]
    with tf.variable_scope("root", initializer=tf.constant_initializer(0.3)):
        attention = make(memory=tf.constant(MEMORY), memory_sequence_length=[4, 2], score_bias_init=-0.5)
        cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(5), attention, attention_layer_size=4)
        made, state = tf.nn.dynamic_rnn(cell, tf.constant(MEMORY[:, :3]), dtype=tf.float32)
    within = "root/rnn/attention_wrapper/"
    names = [v.op.name.removeprefix(within) for v in tf.trainable_variables()]
    assert [name for name in names if "monotonic" in name] == weights
    found, last = run([made[:, -1], state.alignments])
    np.testing.assert_allclose(found, np.repeat(np.array(outputs)[:, None], 4, 1), atol=2e-5)
    np.testing.assert_allclose(last, alignments, atol=2e-5)


def test_noise_has_a_seed() -> None:
    attention = seq2seq.LuongMonotonicAttention(
        3, tf.constant(MEMORY), sigmoid_noise=1.0, sigmoid_noise_seed=4, mode="hard"
    )
    first = attention.initial_state(2, tf.float32)
    found, begins = run([attention(tf.ones([2, 3]), first)[0], first])
    assert begins.tolist() == [[1, 0, 0, 0]] * 2
    assert set(found.ravel()) <= {0.0, 1.0}
