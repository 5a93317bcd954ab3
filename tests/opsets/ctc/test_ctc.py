"""Labels without alignment: what the loss and its decoders refuse, beyond the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import SparseTensor, constant, gradients, int64, nn, sparse
from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each, refused

INPUTS = np.random.default_rng(6).normal(size=(5, 2, 4)).astype(np.float32)


def labels() -> SparseTensor:
    places = np.array([[0, 0], [0, 1], [1, 0]], np.int64)
    return SparseTensor(places, np.array([0, 2, 1], np.int32), [2, 2])


def test_inputs_may_have_the_batch_first_and_another_name() -> None:
    first = nn.ctc_loss(labels(), INPUTS, [5, 4])
    other = nn.ctc_loss(labels(), INPUTS.swapaxes(0, 1), [5, 4], time_major=False)
    named = nn.ctc_loss(labels(), sequence_length=[5, 4], logits=INPUTS)
    assert (first.op.type, first.shape.as_list()) == ("CTCLoss", [2])
    found = evaluate([first, other, named])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_the_gradient_of_the_loss_has_none() -> None:
    x = constant(INPUTS)
    [slope] = gradients(nn.ctc_loss(labels(), x, [5, 4]), [x])
    assert slope is not None
    refused(lambda: gradients(slope, [x]), LookupError, "that gradient has none")


def test_the_gradient_is_zero_where_a_sequence_has_ended() -> None:
    x = constant(INPUTS)
    [slope] = evaluate(gradients(nn.ctc_loss(labels(), x, [5, 3]), [x]))
    assert slope[:3].any(axis=(0, 2)).all()
    assert not slope[3:, 1].any()
    np.testing.assert_allclose(slope.sum(2), np.zeros((5, 2)), atol=1e-6)


def test_labels_without_enough_time_for_their_blanks_are_impossible() -> None:
    twice = SparseTensor(np.array([[0, 0], [0, 1]], np.int64), np.array([1, 1], np.int32), [1, 2])
    x = constant(INPUTS[:, :1])
    loss = nn.ctc_loss(twice, x, [2])
    found, slope = evaluate([loss, *gradients(loss, [x])])
    assert found.tolist() == [np.inf]
    assert not slope.any()


@pytest.mark.parametrize("decoder", [nn.ctc_greedy_decoder, nn.ctc_beam_search_decoder])
def test_decoders_give_sparse_labels_of_int64(decoder: Any) -> None:
    [paths], scores = decoder(INPUTS, [5, 4])
    assert isinstance(paths, SparseTensor)
    assert paths.dtype is int64
    assert scores.shape.as_list() == [2, 1]
    hidden = source(np.float32, None)
    _, late = decoder(hidden, [5, 6])
    refused(lambda: evaluate([late], {hidden: INPUTS}), FailedPreconditionError, "at most 5")


def test_a_blank_is_one_of_the_classes() -> None:
    _, scores = nn.ctc_greedy_decoder(INPUTS, [5, 4], blank_index=4)
    refused(lambda: evaluate([scores]), InvalidArgumentError, "between -4 and 3 but was 4")


def test_there_are_no_more_paths_than_beginnings() -> None:
    _, scores = nn.ctc_beam_search_decoder(INPUTS, [5, 4], 2, 3)
    refused(lambda: evaluate([scores]), InvalidArgumentError, "requested more paths than the beam width")
    _, none = nn.ctc_beam_search_decoder(INPUTS, [0, 4], 9, 3)
    refused(lambda: evaluate([none]), InvalidArgumentError, "Less leaves")
    refused(lambda: nn.ctc_beam_search_decoder(INPUTS, [5, 4], 0), ValueError, "beam_width is at least 1")


def test_many_paths_come_in_order_of_their_likelihood() -> None:
    paths, scores = nn.ctc_beam_search_decoder_v2(INPUTS, [5, 4], top_paths=4)
    assert len(paths) == 4
    [found] = evaluate([scores])
    assert (np.diff(found) <= 0).all()


LOGITS = np.random.default_rng(0).standard_normal((6, 2, 4)).astype(np.float32)
STEPS = [6, 5]


@for_each(
    "given, wanted",
    [
        ([[[1, 1, 3], [2, 0, 0]], {"blank_index": 0}], [6.44987, 7.36461]),
        ([[[1, 1, 3], [2, 0, 0]], {}], [6.44987, 7.36461]),
        ([[[1, 1, 2], [2, 0, 0]], {"blank_index": -1}], [4.90399, 4.1755]),
    ],
)
def test_any_class_may_be_the_blank_of_a_matrix_of_labels(given: Any, wanted: Any) -> None:
    labels, options = given
    with acts.Graph().as_default(), acts.Session() as session:
        logits = acts.constant(LOGITS)
        found = nn.ctc_loss_v2(np.array(labels, np.int32), logits, [3, 1], STEPS, **options)
        (slope,) = acts.gradients(found, logits)
        losses, back = session.run([found, slope])
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    assert not back[5, 1].any()  # a step after the end


def test_sparse_labels_say_which_class_is_the_blank() -> None:
    with acts.Graph().as_default(), acts.Session() as session:
        labels = sparse.SparseTensor([[0, 0], [0, 1], [1, 0]], np.array([1, 2, 2], np.int32), [2, 3])
        found = nn.ctc_loss_v2(labels, acts.constant(LOGITS), None, STEPS, blank_index=0)
        np.testing.assert_allclose(session.run(found), [5.5748, 7.36462], rtol=1e-5)
        with pytest.raises(ValueError, match="`blank_index` must be provided"):
            nn.ctc_loss_v2(labels, acts.constant(LOGITS), None, STEPS)


def test_different_labels_and_labels_without_repetitions() -> None:
    with acts.Graph().as_default(), acts.Session() as session:
        found, places = session.run(nn.ctc_unique_labels(np.array([[1, 1, 3], [2, 0, 0]])))
        assert (found.tolist(), places.tolist()) == ([[1, 3, 0], [2, 0, 0]], [[0, 0, 1], [0, 1, 1]])
        labels = np.array([[1, 1, 2, 2, 3], [4, 4, 4, 0, 0]])
        left, lengths = session.run(nn.collapse_repeated(labels, [5, 3]))
        assert (left.tolist(), lengths.tolist()) == ([[1, 2, 3], [4, 0, 0]], [3, 1])
