"""Losses of whole batches: weighted, reduced to one number and added to a collection.

Owns the names of ``losses``, as ``losses.mean_squared_error``. Each function builds the loss of every
element, and ``compute_weighted_loss`` from ``weighted_loss`` reduces these to one number. Only composes ops;
the element-wise losses are under ``nn``.

As in TensorFlow, labels and predictions are converted to float32; cross entropies keep the dtype of their
logits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from actorsession.graph.dtypes import float32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.arrays import fills
from actorsession.ops.arrays.array import stop_gradient
from actorsession.ops.arrays.dimensions import rank, shape
from actorsession.ops.arrays.shape import squeeze
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.elements import arithmetic, elementwise
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.quotients import div_no_nan
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.neural.activations import relu
from actorsession.ops.neural.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from actorsession.ops.neural.weighted_loss import (
    Reduction,
    add_loss,
    compute_weighted_loss,
    fitted_weights,
    get_losses,
    get_regularization_loss,
    get_regularization_losses,
    get_total_loss,
    present_elements,
)
from actorsession.ops.reductions.reduction import reduce_sum

__all__ = [
    "Reduction", "absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance",
    "get_losses", "get_regularization_loss", "get_regularization_losses", "get_total_loss",
    "hinge_loss", "huber_loss", "log_loss", "mean_pairwise_squared_error", "mean_squared_error",
    "sigmoid_cross_entropy", "softmax_cross_entropy", "sparse_softmax_cross_entropy",
]  # fmt: skip


# -- losses of predictions -------------------------------------------------------------------------


@contextmanager
def _pair(
    base: str, labels: Any, values: Any, scope: str | None, what: str = "predictions"
) -> Iterator[tuple[Tensor, Tensor, str]]:
    """Enter the name scope with labels and predictions as float32 tensors of one shape.

    Raises:
        ValueError: if one is ``None``, or the shapes differ.
    """
    _check_given(labels=labels, **{what: values})
    graph = graph_of(values, labels)
    with graph.as_default(), graph.name_scope(scope or base) as entered:
        predicted, expected = cast(values, float32), cast(labels, float32)
        _check_same_shape(predicted.shape, expected.shape, what)
        yield expected, predicted, entered


def _check_given(**operands: Any) -> None:
    for name, value in operands.items():
        if value is None:
            raise ValueError(f"{name} must be given, got None")


def _check_same_shape(predicted: TensorShape, expected: TensorShape, what: str) -> None:
    if not predicted.is_compatible_with(expected):
        raise ValueError(f"labels and {what} have one shape, got {expected} and {predicted}")


def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the loss ``abs(predictions - labels)``.

    Args:
        labels: the truth.
        predictions: of the shape of ``labels``.
        weights: as for ``compute_weighted_loss``, like the remaining arguments.
        scope: name scope of the ops.
        loss_collection: collection to which the result is added.
        reduction: how the elements are reduced to one number.

    Raises:
        ValueError: if the shapes differ, or labels or predictions are ``None``.
    """
    with _pair("absolute_difference", labels, predictions, scope) as (expected, predicted, entered):
        each = elementwise.abs(predicted - expected)
        return compute_weighted_loss(each, weights, entered, loss_collection, reduction)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the loss ``(predictions - labels) ** 2``; arguments as for ``absolute_difference``."""
    with _pair("mean_squared_error", labels, predictions, scope) as (expected, predicted, entered):
        each = arithmetic.squared_difference(predicted, expected)
        return compute_weighted_loss(each, weights, entered, loss_collection, reduction)


def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return half the squared difference up to ``delta``, and a linear loss beyond.

    The arguments are those of ``absolute_difference``; ``delta`` is a number or scalar.
    """
    with _pair("huber_loss", labels, predictions, scope) as (expected, predicted, entered):
        error = elementwise.abs(predicted - expected)
        near = arithmetic.minimum(error, delta)
        # Not max(error - delta, 0): where the two are equal, its gradient would be added to that of near.
        each = 0.5 * (near * near) + delta * (error - near)
        return compute_weighted_loss(each, weights, entered, loss_collection, reduction)


def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the cross entropy of labels and predicted probabilities.

    The arguments are those of ``absolute_difference``; ``epsilon`` is added inside the logarithms.
    """
    with _pair("log_loss", labels, predictions, scope) as (expected, predicted, entered):
        each = -(expected * elementwise.log(predicted + epsilon)) - (1.0 - expected) * elementwise.log(
            1.0 - predicted + epsilon
        )
        return compute_weighted_loss(each, weights, entered, loss_collection, reduction)


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return ``1 - sum(predictions * labels)`` along an axis, which is kept with extent 1.

    The vectors along the axis must have length 1. The other arguments are those of ``absolute_difference``.

    Raises:
        ValueError: without an axis, if the shapes differ, or without labels or predictions.
    """
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with _pair("cosine_distance_loss", labels, predictions, scope) as (expected, predicted, entered):
        each = 1.0 - reduce_sum(predicted * expected, axis=[axis], keepdims=True)
        return compute_weighted_loss(each, weights, entered, loss_collection, reduction)


def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return ``max(0, 1 - sign * logits)``, where the sign is 1 for a label of 1 and -1 for a label of 0.

    The arguments are those of ``absolute_difference``.
    """
    with _pair("hinge_loss", labels, logits, scope, "logits") as (expected, scores, entered):
        ones = fills.ones_like(expected)
        each = relu(ones - (2.0 * expected - ones) * scores)
        return compute_weighted_loss(each, weights, entered, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """Return the squared error of the differences between elements of one example.

    Within each example of a batch this is the mean over all pairs of elements of
    ``((p_i - p_j) - (l_i - l_j)) ** 2``; the result is the sum over the batch.

    Args:
        labels: the truth, batch first.
        predictions: of the shape of ``labels``.
        weights: a scalar or a weight for each example, of shape ``[batch, 1, ...]``; elements with weight 0
            form no pairs.
        scope: name scope of the ops.
        loss_collection: collection to which the result is added.

    Raises:
        ValueError: as ``absolute_difference``.
    """
    base = "mean_pairwise_squared_error"
    with _pair(base, labels, predictions, scope) as (expected, predicted, _entered):
        weight = cast(weights, float32)
        fitted_weights(weight, expected)
        diffs = predicted - expected
        known = diffs.shape.rank
        axes: Any = fills.range_(1, rank(diffs)) if known is None else list(range(1, known))
        count = reduce_sum(present_elements(diffs, weight), axis=axes, keepdims=True)
        squares = reduce_sum(elementwise.square(diffs), axis=axes, keepdims=True)
        total = reduce_sum(diffs, axis=axes, keepdims=True)
        fewer = arithmetic.maximum(count - 1.0, 0.0)
        # The result is the third node of this name, as in TensorFlow.
        inner = div_no_nan(squares, fewer, name="value")
        apart = inner - div_no_nan(elementwise.square(total), count * fewer, name="value")
        loss = reduce_sum(2.0 * apart * weight, name="value")
        add_loss(loss, loss_collection)
        return loss


# -- cross entropies -------------------------------------------------------------------------------


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the cross entropy of independent yes-or-no classes; see ``nn``.

    Args:
        multi_class_labels: 0 or 1, of the shape of ``logits``.
        logits: unscaled logarithms of odds.
        weights: as for ``compute_weighted_loss``, like the remaining arguments.
        label_smoothing: above 0, the share of each label that is replaced by one half.
        scope: name scope of the ops.
        loss_collection: collection to which the result is added.
        reduction: how the elements are reduced to one number.

    Raises:
        ValueError: if the shapes differ, or labels or logits are ``None``.
    """
    _check_given(multi_class_labels=multi_class_labels, logits=logits)
    graph = graph_of(logits, multi_class_labels)
    base = "sigmoid_cross_entropy_loss"
    with graph.as_default(), graph.name_scope(scope or base) as entered:
        scores = convert_to_tensor(logits)
        expected = cast(multi_class_labels, scores.dtype)
        _check_same_shape(scores.shape, expected.shape, "logits")
        if label_smoothing > 0:
            expected = expected * (1 - label_smoothing) + 0.5 * label_smoothing
        each = sigmoid_cross_entropy_with_logits(labels=expected, logits=scores, name="xentropy")
        return compute_weighted_loss(each, weights, entered, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the cross entropy between distributions over classes, the last axis.

    The arguments are those of ``sigmoid_cross_entropy``; smoothing spreads its share evenly over all classes.
    The labels have no gradient.
    """
    _check_given(onehot_labels=onehot_labels, logits=logits)
    graph = graph_of(logits, onehot_labels)
    base = "softmax_cross_entropy_loss"
    with graph.as_default(), graph.name_scope(scope or base) as entered:
        scores = convert_to_tensor(logits)
        expected = cast(onehot_labels, scores.dtype)
        _check_same_shape(scores.shape, expected.shape, "logits")
        if label_smoothing > 0:
            classes = cast(shape(expected)[-1], scores.dtype)
            expected = expected * (1.0 - label_smoothing) + label_smoothing / classes
        expected = stop_gradient(expected, name="labels_stop_gradient")
        each = softmax_cross_entropy_with_logits_v2(expected, scores, name="xentropy")
        return compute_weighted_loss(each, weights, entered, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the softmax cross entropy where each label is a single class.

    The arguments are those of ``sigmoid_cross_entropy``. A superfluous last axis of extent 1 of labels or
    weights is dropped, where the ranks are known while the graph is built.
    """
    _check_given(labels=labels, logits=logits)
    graph = graph_of(logits, labels)
    base = "sparse_softmax_cross_entropy_loss"
    with graph.as_default(), graph.name_scope(scope or base) as entered:
        scores, classes = convert_to_tensor(logits), convert_to_tensor(labels)
        classes = _squeezed(classes, None if scores.shape.rank is None else scores.shape.rank - 1)
        weight = _squeezed(convert_to_tensor(weights), classes.shape.rank)
        each = sparse_softmax_cross_entropy_with_logits(labels=classes, logits=scores, name="xentropy")
        return compute_weighted_loss(each, weight, entered, loss_collection, reduction)


def _squeezed(value: Tensor, target_rank: int | None) -> Tensor:
    """Drop the last axis if it has extent 1 and the rank exceeds ``target_rank`` by one."""
    if target_rank is None or value.shape.rank != target_rank + 1 or value.spec.shape[-1] not in (1, None):
        return value
    return squeeze(value, [-1])
