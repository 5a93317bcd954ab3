"""Weighted and reduced losses, against the numbers of TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, GraphKeys, constant, float32, float64, gradients, int32, losses
from actorsession.errors import InvalidArgumentError
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each, refused, refusing

LABELS = [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
FOUND = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]
SHARES = [[0.9, 0.2, 0.6], [0.3, 0.8, 0.1]]
WEIGHTS = [[1.0, 0.0, 2.0], [0.5, 0.0, 1.0]]


def value(tensor: Any) -> Any:
    return evaluate([tensor])[0]


CASES: dict[str, tuple[Callable[[], Any], float]] = {
    "log_epsilon": (lambda: losses.log_loss(LABELS, SHARES, epsilon=0.1), 0.13175656),
    "cosine_dim": (lambda: losses.cosine_distance(LABELS, FOUND, 0), 0.08333334),
    "sigmoid_smooth": (lambda: losses.sigmoid_cross_entropy(LABELS, FOUND, label_smoothing=0.2), 0.64641505),
    "sparse_column": (
        lambda: losses.sparse_softmax_cross_entropy([[2], [0]], FOUND, weights=[[0.5], [0.0]]),
        0.12065566,
    ),
    "pairwise": (lambda: losses.mean_pairwise_squared_error(LABELS, FOUND), 5.54166698),
    "pairwise_zero": (lambda: losses.mean_pairwise_squared_error(LABELS, FOUND, [[0.0], [0.5]]), 1.6875),
    "pairwise_elements": (lambda: losses.mean_pairwise_squared_error(LABELS, FOUND, WEIGHTS), 22.875),
}
REDUCED: dict[str, tuple[Any, Any]] = {
    "NONE": ([[0.25, 0.0, 2.0], [1.125, 0.0, 0.5625]], [[0.5, 2.0, 2.0], [0.0, 0.0, 0.0]]),
    "SUM": (3.9375, 4.5),
    "MEAN": (0.875, 0.75),
    "SUM_OVER_BATCH_SIZE": (0.65625, 0.75),
    "SUM_BY_NONZERO_WEIGHTS": (0.984375, 1.5),
    "SUM_OVER_NONZERO_WEIGHTS": (0.984375, 1.5),
}


# -- values --------------------------------------------------------------------------------------


@for_each("name", CASES)
def test_losses_are_those_of_tensorflow(name: str) -> None:
    make, wanted = CASES[name]
    np.testing.assert_allclose(value(make()), wanted, rtol=1e-6)


@for_each("kind", REDUCED)
@for_each("shape", [[2, 3], None], ids=["known", "hidden"])
def test_reductions_are_those_of_tensorflow(kind: str, shape: Any) -> None:
    labels, found = source(float32, shape), source(float32, shape)
    for given, wanted in zip((WEIGHTS, [[2.0], [0.0]]), REDUCED[kind], strict=True):
        weights = source(float32, shape and np.shape(given))
        loss = losses.mean_squared_error(labels, found, weights, reduction=getattr(losses.Reduction, kind))
        [got] = evaluate([loss], {labels: LABELS, found: FOUND, weights: given})
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_pairs_of_examples_of_unknown_rank() -> None:
    labels, found = source(float32), source(float32)
    loss = losses.mean_pairwise_squared_error(labels, found)
    [got] = evaluate([loss], {labels: LABELS, found: FOUND})
    np.testing.assert_allclose(got, CASES["pairwise"][1], rtol=1e-6)


@pytest.mark.parametrize("weights", [0.0, [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]])
def test_a_loss_without_weight_is_zero_and_no_quotient_of_zeros(weights: Any) -> None:
    for kind in ("MEAN", "SUM_BY_NONZERO_WEIGHTS"):
        reduction = getattr(losses.Reduction, kind)
        assert value(losses.mean_squared_error(LABELS, FOUND, weights, reduction=reduction)) == 0.0


def test_a_loss_of_nothing_is_zero() -> None:
    none = np.zeros([0, 3], np.float32)
    assert value(losses.mean_squared_error(none, none)) == 0.0


def test_types_are_those_of_tensorflow() -> None:
    """Differences are taken in float32; cross entropies keep the type of their logits."""
    double = constant(FOUND, float64)
    assert losses.mean_squared_error(LABELS, double).dtype is float32
    assert losses.softmax_cross_entropy(LABELS, double).dtype is float64
    assert losses.absolute_difference([1, 2], constant([2, 4], int32)).dtype is float32


def test_gradients_of_differences() -> None:
    x = source(float32, [2, 3])
    made = [
        losses.mean_squared_error(LABELS, x),
        losses.huber_loss(LABELS, x),
        losses.mean_pairwise_squared_error(LABELS, x),
    ]
    slopes = [gradients(loss, [x])[0] for loss in made]
    square, huber, pairwise = evaluate(slopes, {x: FOUND})
    off = np.array(FOUND) - np.array(LABELS)
    np.testing.assert_allclose(square, 2 * off / 6, rtol=1e-5)
    np.testing.assert_allclose(huber, np.clip(off, -1, 1) / 6, rtol=1e-5)
    apart = off - off.mean(1, keepdims=True)
    np.testing.assert_allclose(pairwise, 2 * apart, rtol=1e-4, atol=1e-6)


# -- names and collections -----------------------------------------------------------------------


def test_losses_are_named_as_in_tensorflow() -> None:
    summed = losses.hinge_loss(LABELS, FOUND, reduction=losses.Reduction.SUM)
    loss = losses.sparse_softmax_cross_entropy([2, 0], FOUND)
    assert [summed.op.name, loss.op.name] == ["hinge_loss/Sum", "sparse_softmax_cross_entropy_loss/value"]


def test_losses_are_collected_and_added_up(graph: Graph) -> None:
    square = losses.mean_squared_error([1.0], [2.0])
    apart = losses.absolute_difference([1.0], [3.0])
    own = constant(5.0)
    losses.add_loss(own)
    losses.mean_squared_error([1.0], [2.0], loss_collection=None)
    assert (losses.get_losses(), losses.get_losses("abs")) == ([square, apart, own], [apart])
    assert (losses.get_total_loss().op.name, value(losses.get_total_loss())) == ("total_loss", 8.0)
    assert value(losses.get_regularization_loss()) == 0.0
    graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, constant(0.5))
    assert value(losses.get_total_loss()) == 8.5
    assert value(losses.get_total_loss(add_regularization_losses=False)) == 8.0
    assert (value(losses.get_regularization_loss()), len(losses.get_regularization_losses())) == (0.5, 1)


def test_the_values_of_the_reductions_are_those_of_tensorflow() -> None:
    assert losses.Reduction.all() == (
        "none",
        "weighted_sum",
        "weighted_mean",
        "weighted_sum_over_batch_size",
        "weighted_sum_by_nonzero_weights",
        "weighted_sum_by_nonzero_weights",
    )


# -- what is refused -----------------------------------------------------------------------------


test_what_does_not_fit_is_refused_by_the_line_that_builds = refusing(
    (lambda: losses.mean_squared_error(None, FOUND), ValueError, "labels must be given, got None"),
    (lambda: losses.log_loss(LABELS, None), ValueError, "predictions must be given, got None"),
    (lambda: losses.hinge_loss(LABELS, None), ValueError, "logits must be given, got None"),
    (lambda: losses.sigmoid_cross_entropy(None, FOUND), ValueError, "multi_class_labels must be given, got None"),
    (lambda: losses.softmax_cross_entropy(None, FOUND), ValueError, "onehot_labels must be given"),
    (lambda: losses.mean_squared_error([1.0], [2.0, 3.0]), ValueError, r"got \(1,\) and \(2,\)"),
    (lambda: losses.cosine_distance([1.0], [1.0]), ValueError, "must specify 'axis'"),
    (
        lambda: losses.mean_squared_error(LABELS, FOUND, [1.0, 2.0, 3.0]),
        ValueError,
        r"got weights of shape \(3,\) for values of shape \(2, 3\)",
    ),
    (
        lambda: losses.mean_squared_error([1.0, 2.0], [2.0, 3.0], [1.0, 2.0, 3.0]),
        ValueError,
        "each dimension 1 or the same",
    ),
    (
        lambda: losses.mean_squared_error([1.0], [2.0], reduction="mean"),
        ValueError,
        "a reduction is one of .* got 'mean'",
    ),
    (lambda: losses.get_total_loss(), ValueError, "one or more tensors"),
)


def test_weights_that_turn_out_not_to_fit_are_refused() -> None:
    weights = source(float32)
    loss = losses.mean_squared_error(LABELS, FOUND, weights)
    refused(lambda: evaluate([loss], {weights: [[1.0, 2.0]]}), InvalidArgumentError)
