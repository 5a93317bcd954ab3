"""``contrib.rnn``, ``seq2seq`` and ``legacy_seq2seq``: losses, decoders, layers, older names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.python.ops import rnn, rnn_cell
from tests.compat.recurrent import basic, gru, names, reals, unrolled, value, wave, waves
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")

cells = tf.contrib.rnn
legacy = tf.contrib.legacy_seq2seq
LOGITS = reals(3, 4, 5) * 2
TARGETS = np.arange(12).reshape(3, 4) % 5
WEIGHTS = np.array([[1, 1, 0.5, 0], [1, 0, 0, 0], [1, 1, 1, 2]], np.float32)


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


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


X = reals(2, 3, 2)


def test_a_decoder_reads_its_inputs() -> None:
    cell = cells.BasicRNNCell(3)
    with tf.variable_scope("", initializer=waves):
        outputs, state = legacy.rnn_decoder([*X.swapaxes(0, 1)], tf.zeros([2, 3]), cell)
    assert names()[0] == "rnn_decoder/basic_rnn_cell/kernel"
    wanted, last = unrolled(basic(wave(5, 3), 0), X, np.zeros([2, 3]))
    found = value([tf.stack(outputs, 1), state])
    close(found[0], wanted)
    close(found[1], last)


def test_a_decoder_may_read_what_is_made_of_its_outputs() -> None:
    seen: list[int] = []

    def next_input(before: Any, number: int) -> Any:
        seen.append(number)
        return before * 2

    cell = cells.BasicRNNCell(2)
    with tf.variable_scope("", initializer=waves):
        outputs, _ = legacy.rnn_decoder([*X.swapaxes(0, 1)], tf.zeros([2, 2]), cell, next_input)
    assert seen == [1, 2]
    step = basic(wave(4, 2), 0)
    first, state = step(X[:, 0], np.zeros([2, 2]))
    second, _ = step(first * 2, state)
    close(value(outputs[1]), second)


def test_an_encoder_gives_its_last_state_to_the_decoder() -> None:
    given = [tf.constant(X[:, t]) for t in range(3)]
    cell = cells.GRUCell(3)
    with tf.variable_scope("", initializer=waves):
        apart, _ = legacy.basic_rnn_seq2seq(given, given[:1], cell)
        tied, _ = legacy.tied_rnn_seq2seq(given, given[:1], cells.GRUCell(3))
    step = gru(wave(5, 6), np.ones(6), wave(5, 3), 0)
    _, state = unrolled(step, X, np.zeros([2, 3]))
    wanted, _ = step(X[:, 0], state)
    found = value([apart[0], tied[0]])
    close(found[0], wanted)
    close(found[1], wanted)
    assert names()[::4] == [
        "basic_rnn_seq2seq/rnn/gru_cell/gates/kernel",
        "basic_rnn_seq2seq/rnn_decoder/gru_cell/gates/kernel",
        "combined_tied_rnn_seq2seq/tied_rnn_seq2seq/gru_cell/gates/kernel",
    ]


# -- layers ----------------------------------------------------------------------------------------


def test_bidirectional_layers_read_both_ways_of_the_layer_below() -> None:
    def layers() -> Any:
        return [cells.GRUCell(3), cells.GRUCell(2)]

    x, lengths = tf.constant(X), [3, 2]
    with tf.variable_scope("", initializer=waves):
        whole, fw, bw = cells.stack_bidirectional_dynamic_rnn(
            layers(), layers(), x, dtype=tf.float32, sequence_length=lengths
        )
        made = names()
        each, static_fw, static_bw = cells.stack_bidirectional_rnn(
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
    for stacked in (cells.stack_bidirectional_rnn, cells.stack_bidirectional_dynamic_rnn):
        with pytest.raises(ValueError, match=words):
            stacked(fw, bw, tf.constant(X), states)


# -- older names -----------------------------------------------------------------------------------


def test_older_names_are_the_newer_things() -> None:
    now = tf.nn.rnn_cell
    for name in now.__all__:
        assert getattr(cells, name) is getattr(now, name)
    assert (tf.nn.rnn, tf.nn.bidirectional_rnn) == (tf.nn.static_rnn, tf.nn.static_bidirectional_rnn)
    assert tf.nn.seq2seq is legacy
    assert cells.static_rnn is tf.nn.static_rnn
    assert rnn.dynamic_rnn is tf.nn.dynamic_rnn
    assert rnn_cell.GRUCell is now.GRUCell
    assert value(cells.transpose_batch_time(tf.constant(X))).shape == (3, 2, 2)
