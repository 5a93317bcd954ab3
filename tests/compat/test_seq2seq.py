"""``tf.contrib.seq2seq``: decoding with the truth, greedily, by draws and by beams, and attention."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


seq2seq: Any = tf.contrib.seq2seq
RANDOM = np.random.default_rng(3)
INPUTS = RANDOM.normal(size=(2, 4, 3)).astype(np.float32)
LENGTHS = np.array([4, 2], np.int32)
WORDS = 4
END = 3
TABLE = RANDOM.normal(size=(WORDS, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        yield graph


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def cell_of(units: int = 5) -> Any:
    return tf.nn.rnn_cell.LSTMCell(units)


def test_the_truth_gives_what_a_recurrent_network_does() -> None:
    cell = cell_of()
    decoder = seq2seq.BasicDecoder(cell, seq2seq.TrainingHelper(INPUTS, LENGTHS), cell.zero_state(2, tf.float32))
    made, state, lengths = seq2seq.dynamic_decode(decoder, impute_finished=True, scope="net")
    with tf.variable_scope("net", reuse=True):
        wanted, last = tf.nn.dynamic_rnn(cell, INPUTS, LENGTHS, dtype=tf.float32)
    assert made.rnn_output.shape.as_list() == [2, None, 5]
    found = run([made, state, lengths, wanted, last])
    np.testing.assert_allclose(found[0].rnn_output, found[3], rtol=1e-5)
    np.testing.assert_array_equal(found[0].sample_id[0], found[3][0].argmax(-1))
    np.testing.assert_allclose(found[1].h, found[4].h, rtol=1e-5)
    assert found[2].tolist() == [4, 2]


class Table(tf.nn.rnn_cell.RNNCell):
    """A cell whose outputs are given for each last symbol: a row of chances."""

    def __init__(self, rows: Any) -> None:
        super().__init__()
        self._rows = tf.constant(np.log(rows), tf.float32)

    state_size = property(lambda self: 1)
    output_size = property(lambda self: WORDS)

    def call(self, inputs: Any, state: Any) -> Any:
        return tf.matmul(inputs, self._rows), state + 1.0


ONE_HOT = np.eye(WORDS, dtype=np.float32)
ROWS = np.array(
    [[0.05, 0.40, 0.45, 0.10], [0.10, 0.15, 0.05, 0.70], [0.30, 0.30, 0.25, 0.15], [0.25, 0.25, 0.25, 0.25]]
)


def test_a_greedy_decoder_follows_its_best_symbol_to_the_end() -> None:
    helper = seq2seq.GreedyEmbeddingHelper(tf.constant(ONE_HOT), [0, 1], END)
    decoder = seq2seq.BasicDecoder(Table(ROWS), helper, tf.zeros([2, 1]))
    made, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=5)
    found = run([made.sample_id, lengths])
    assert found[0][0].tolist() == [2, 0, 2, 0, 2]
    assert found[0][1][0] == END
    assert found[1].tolist() == [5, 1]


def test_a_layer_is_applied_to_outputs() -> None:
    layer = tf.layers.Dense(WORDS, use_bias=False)
    cell = cell_of()
    helper = seq2seq.GreedyEmbeddingHelper(lambda ids: tf.nn.embedding_lookup(TABLE, ids), [0], END)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(1, tf.float32), layer)
    made, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=3, output_time_major=True)
    assert made.rnn_output.shape.as_list() == [None, 1, WORDS]
    assert [v.op.name for v in tf.global_variables()] == [
        "decoder/lstm_cell/kernel",
        "decoder/lstm_cell/bias",
        "decoder/dense/kernel",
    ]
    assert run(made.rnn_output).shape[1:] == (1, WORDS)


def test_drawn_and_scheduled_symbols_are_read() -> None:
    sure = np.where(np.arange(WORDS) == np.array([[1], [2], [3], [3]]), 1.0, 1e-30)
    drawn = seq2seq.SampleEmbeddingHelper(tf.constant(ONE_HOT), [0], END, seed=1)
    made, _, _ = seq2seq.dynamic_decode(
        seq2seq.BasicDecoder(Table(sure), drawn, tf.zeros([1, 1])), maximum_iterations=6
    )
    steps = tf.constant(ONE_HOT[[[0, 0, 0]]])
    own = seq2seq.ScheduledEmbeddingTrainingHelper(steps, [3], ONE_HOT, 1.0, seed=1)
    truth = seq2seq.ScheduledEmbeddingTrainingHelper(steps, [3], ONE_HOT, 0.0, seed=1)
    outputs = seq2seq.ScheduledOutputTrainingHelper(
        steps, [3], 1.0, next_inputs_fn=lambda out: tf.one_hot(tf.argmax(out, -1), WORDS)
    )
    found = [
        seq2seq.dynamic_decode(seq2seq.BasicDecoder(Table(sure), helper, tf.zeros([1, 1])))[0]
        for helper in (own, truth, outputs)
    ]
    ids, *scheduled = run([made.sample_id, *(each.rnn_output for each in found)])
    assert ids.tolist() == [[1, 2, 3]]
    assert [each.argmax(-1).tolist() for each in scheduled] == [[[1, 2, 3]], [[1, 1, 1]], [[1, 2, 3]]]


# -- attention ------------------------------------------------------------------------------------


def test_attention_is_a_mean_of_the_memory_by_products() -> None:
    memory = RANDOM.normal(size=(2, 3, 4)).astype(np.float32)
    cell = tf.nn.rnn_cell.BasicRNNCell(5)
    mechanism = seq2seq.LuongAttention(5, memory, [3, 2], scale=True)
    wrapper = seq2seq.AttentionWrapper(cell, mechanism, attention_layer_size=6, name="attention")
    state = wrapper.zero_state(2, tf.float32)
    output, after = wrapper(INPUTS[:, 0], state)
    names = {v.op.name: v for v in tf.global_variables()}
    assert sorted(names) == [
        "attention/attention_layer/kernel",
        "attention/basic_rnn_cell/bias",
        "attention/basic_rnn_cell/kernel",
        "attention/luong_attention/attention_g",
        "memory_layer/kernel",
    ]
    out, alignments, time, values = run([output, after.alignments, after.time, names])
    joined = np.concatenate([INPUTS[:, 0], np.zeros((2, 6))], 1)
    query = np.tanh(joined @ values["attention/basic_rnn_cell/kernel"][:9])
    seen = memory * np.array([[1, 1, 1], [1, 1, 0]])[..., None]
    scores = np.einsum("bu,btu->bt", query, seen @ values["memory_layer/kernel"])
    scores[1, 2] = -np.inf
    wanted = softmax(scores)
    np.testing.assert_allclose(alignments, wanted, rtol=1e-4)
    context = np.einsum("bt,btd->bd", wanted, seen)
    layer = values["attention/attention_layer/kernel"]
    np.testing.assert_allclose(out, np.concatenate([query, context], 1) @ layer, rtol=1e-3, atol=1e-5)
    assert time == 1


def test_a_small_network_scores_the_memory_and_history_is_kept() -> None:
    memory = RANDOM.normal(size=(2, 3, 4)).astype(np.float32)
    mechanism = seq2seq.BahdanauAttention(5, memory, normalize=True)
    wrapper = seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.BasicRNNCell(5), mechanism, alignment_history=True, output_attention=False
    )
    decoder = seq2seq.BasicDecoder(wrapper, seq2seq.TrainingHelper(INPUTS, LENGTHS), wrapper.zero_state(2, tf.float32))
    made, state, _ = seq2seq.dynamic_decode(decoder)
    names = {v.op.name: v for v in tf.global_variables()}
    history, last, outputs, values = run([state.alignment_history.stack(), state.alignments, made.rnn_output, names])
    where = "decoder/attention_wrapper/bahdanau_attention"
    vector, bias = values[f"{where}/attention_v"], values[f"{where}/attention_b"]
    scale = values[f"{where}/attention_g"] / np.linalg.norm(vector)
    keys, query = memory @ values["memory_layer/kernel"], outputs[:, -1] @ values[f"{where}/query_layer/kernel"]
    scores = (scale * vector * np.tanh(keys + query[:, None] + bias)).sum(-1)
    np.testing.assert_allclose(last, softmax(scores), rtol=1e-4)
    assert history.shape == (4, 2, 3)
    np.testing.assert_allclose(history[-1], last)


def test_several_mechanisms_are_looked_at_side_by_side() -> None:
    memories = [tf.constant(RANDOM.normal(size=(2, n, 4)), tf.float32) for n in (3, 5)]
    mechanisms = [seq2seq.LuongAttention(5, memories[0]), seq2seq.BahdanauAttention(6, memories[1])]
    wrapper = seq2seq.AttentionWrapper(cell_of(), mechanisms, [2, 3])
    output, state = wrapper(tf.constant(INPUTS[:, 0]), wrapper.zero_state(2, tf.float32))
    assert output.shape.as_list() == [2, 5]
    assert [each.shape.as_list() for each in state.alignments] == [[2, 3], [2, 5]]
    with pytest.raises(ValueError, match="exactly one integer per attention_mechanism"):
        seq2seq.AttentionWrapper(cell_of(), mechanisms, [2])


def test_a_memory_of_another_batch_is_refused() -> None:
    wrapper = seq2seq.AttentionWrapper(cell_of(), seq2seq.LuongAttention(5, INPUTS))
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="Non-matching batch sizes"):
        run(wrapper.zero_state(tf.constant(3), tf.float32).cell_state)


# -- beams ----------------------------------------------------------------------------------------


def best_sequences(start: int, steps: int, count: int) -> list[tuple[float, list[int]]]:
    """The most likely sequences, by trying all."""
    found: dict[tuple[int, ...], float] = {}
    for words in itertools.product(range(WORDS), repeat=steps):
        chance, last, kept = 0.0, start, []
        for word in words:
            chance += float(np.log(ROWS[last][word]))
            kept.append(word)
            last = word
            if word == END:
                break
        found[tuple(kept)] = chance
    ranked = sorted(found.items(), key=lambda item: -item[1])
    return [(chance, list(words)) for words, chance in ranked[:count]]


def test_beams_find_the_most_likely_sequences() -> None:
    beams, steps = 16, 3
    state = seq2seq.tile_batch(tf.zeros([2, 1]), beams)
    decoder = seq2seq.BeamSearchDecoder(Table(ROWS), tf.constant(ONE_HOT), [0, 2], END, state, beams)
    made, last, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
    ids, chances, sizes = run([made.predicted_ids, last.log_probs, last.lengths])
    assert made.predicted_ids.shape.as_list() == [2, None, beams]
    assert lengths.shape.as_list() == [2, beams]
    for member, start in enumerate((0, 2)):
        for place, (chance, words) in enumerate(best_sequences(start, steps, 4)):
            assert chances[member, place] == pytest.approx(chance, rel=1e-4)
            assert ids[member, : len(words), place].tolist() == words
            assert (ids[member, len(words) :, place] == END).all()
            assert sizes[member, place] == len(words)


def test_longer_sequences_are_penalised_less() -> None:
    state = seq2seq.tile_batch(tf.zeros([1, 1]), 3)
    decoder = seq2seq.BeamSearchDecoder(
        Table(ROWS), tf.constant(ONE_HOT), [0], END, state, 3, length_penalty_weight=1.0
    )
    made, last, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=2)
    scores, chances = run([made.beam_search_decoder_output.scores, last.log_probs])
    ends = np.array([5 + 1, 5 + 2]) / 6.0
    for score, chance in zip(scores[0, -1], chances[0], strict=True):
        assert min(abs(score * ends - chance)) < 1e-4


def test_beams_read_attention_of_a_tiled_memory() -> None:
    beams = 3
    memory = seq2seq.tile_batch(tf.constant(INPUTS), beams)
    wrapper = seq2seq.AttentionWrapper(
        cell_of(), seq2seq.LuongAttention(5, memory, seq2seq.tile_batch(LENGTHS, beams)), 4
    )
    decoder = seq2seq.BeamSearchDecoder(
        wrapper,
        tf.constant(TABLE),
        [0, 0],
        END,
        wrapper.zero_state(2 * beams, tf.float32),
        beams,
        output_layer=tf.layers.Dense(WORDS),
    )
    made, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=4)
    assert run(made.predicted_ids).shape[0::2] == (2, beams)


def test_sequences_of_a_search_are_gathered() -> None:
    ids = np.array([[[1, 2, 4]], [[4, 5, 6]], [[7, 8, 9]]], np.int32)
    parents = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]], np.int32)
    assert run(seq2seq.gather_tree(ids, parents, [3], 10)).tolist() == [[[2, 2, 2]], [[6, 5, 6]], [[7, 8, 9]]]
    assert run(seq2seq.gather_tree(ids, parents, [2], 6)).tolist() == [[[1, 2, 2]], [[4, 5, 6]], [[6, 6, 6]]]


CHANCES = np.array([[0.2, 0.5, 0.9, 0.1], [0.6, 0.1, 0.3, 0.8]], np.float32)


BEFORE = np.array([[0.5, 0.3, 0.1, 0.1], [1, 0, 0, 0]], np.float32)


MEMORY = np.sin(np.arange(24)).reshape(2, 4, 3).astype(np.float32)


@pytest.mark.parametrize("mode", ["recursive", "parallel"])
def test_attention_goes_on_from_where_it_was(mode: str) -> None:
    found = run(seq2seq.monotonic_attention(CHANCES, BEFORE, mode))
    np.testing.assert_allclose(found, [[0.1, 0.35, 0.405, 0.0145], [0.6, 0.04, 0.108, 0.2016]], atol=1e-5)


def test_hard_attention_is_on_the_next_chosen_step() -> None:
    chosen = np.array([[0, 1, 1, 0], [1, 0, 0, 1]], np.float32)
    before = np.array([[0, 0, 1, 0], [0, 1, 0, 0]], np.float32)
    assert run(seq2seq.monotonic_attention(chosen, before, "hard")).tolist() == [[0, 0, 1, 0], [0, 0, 0, 1]]
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
