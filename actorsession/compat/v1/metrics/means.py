"""Means over many steps: of values, of correct predictions, and of errors.

Part of ``metrics``, whose docstring describes the common form of all metrics.
"""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.v1.metrics.counts import Names, Pair, match_shapes, metric_variable, publish
from actorsession.graph.dtypes import float32, float64, int64
from actorsession.graph.graph import control_dependencies
from actorsession.graph.operation import Tensor

__all__ = [
    "accuracy",
    "mean",
    "mean_absolute_error",
    "mean_cosine_distance",
    "mean_iou",
    "mean_relative_error",
    "mean_squared_error",
    "mean_tensor",
    "percentage_below",
    "root_mean_squared_error",
]


def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the weighted mean of all elements of all batches; 0 before the first batch.

    Args:
        values: numbers.
        weights: the weights of the values, of a shape that broadcasts; 1 if omitted.
        metrics_collections: names of collections that get the value.
        updates_collections: names of collections that get the update operation.
        name: the name of the variable scope.

    Returns:
        The value, and the update operation.

    Raises:
        ValueError: if shapes do not fit.
    """
    with ops.variable_scope(name, "mean"):
        numbers = ops.cast(values, float32)
        total, count = metric_variable([], "total"), metric_variable([], "count")
        if weights is None:
            number = ops.cast(ops.size(numbers), float32)
        else:
            numbers, _, weight = match_shapes(numbers, None, weights)
            numbers, number = numbers * weight, ops.reduce_sum(weight)
        return _quotient(
            total, count, ops.reduce_sum(numbers), number, numbers, metrics_collections, updates_collections
        )


def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of each element over all batches; the arguments are those of ``mean``."""
    with ops.variable_scope(name, "mean"):
        numbers = ops.cast(values, float32)
        total = metric_variable(numbers.shape, "total_tensor")
        count = metric_variable(numbers.shape, "count_tensor")
        number = ops.ones_like(numbers)
        if weights is not None:
            numbers, _, weight = match_shapes(numbers, None, weights)
            numbers, number = numbers * weight, number * weight
        return _quotient(total, count, numbers, number, numbers, metrics_collections, updates_collections)


def _quotient(total: Any, count: Any, more: Any, number: Any, after: Tensor, metrics: Names, updates: Names) -> Pair:
    """Return ``total / count``, and an update that adds to both before the division."""
    new_total = ops.assign_add(total, more)
    with control_dependencies([after]):
        new_count = ops.assign_add(count, number)
    value = ops.div_no_nan(total, ops.maximum(count, 0.0), name="value")
    update = ops.div_no_nan(new_total, ops.maximum(new_count, 0.0), name="update_op")
    return publish(value, update, metrics, updates)


def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the share of ``predictions`` that equal ``labels``; the arguments are those of ``mean``."""
    predicted, expected, weight = match_shapes(predictions, labels, weights)
    if predicted.dtype is not expected.dtype:
        predicted = ops.cast(predicted, expected.dtype)
    right = ops.cast(ops.equal(predicted, expected), float32)
    return mean(right, weight, metrics_collections, updates_collections, name or "accuracy")


def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of ``|predictions - labels|``; the arguments are those of ``mean``."""
    predicted, expected, weight = match_shapes(predictions, labels, weights)
    name = name or "mean_absolute_error"
    errors = ops.abs(predicted - expected)
    return mean(errors, weight, metrics_collections, updates_collections, name)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of ``(labels - predictions) ** 2``; the arguments are those of ``mean``."""
    predicted, expected, weight = match_shapes(predictions, labels, weights)
    name = name or "mean_squared_error"
    errors = ops.squared_difference(expected, predicted)
    return mean(errors, weight, metrics_collections, updates_collections, name)


def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the square root of ``mean_squared_error``; the arguments are those of ``mean``."""
    name = name or "root_mean_squared_error"
    value, update = mean_squared_error(labels, predictions, weights, None, None, name)
    return publish(ops.sqrt(value), ops.sqrt(update), metrics_collections, updates_collections)


def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of ``|labels - predictions| / normalizer``, with 0 where the normalizer is 0.

    The arguments are those of ``mean``.
    """
    predicted, expected, weight = match_shapes(predictions, labels, weights)
    predicted, by, _ = match_shapes(predicted, normalizer, None)
    errors = ops.where(ops.equal(by, ops.zeros_like(by)), ops.zeros_like(expected), ops.abs(expected - predicted) / by)
    name = name or "mean_relative_error"
    return mean(errors, weight, metrics_collections, updates_collections, name)


def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return 1 minus the mean product of unit vectors along ``dim``.

    The arguments are those of ``mean``.
    """
    predicted, expected, weight = match_shapes(predictions, labels, weights)
    products = ops.reduce_sum(predicted * expected, axis=[dim], keepdims=True)
    value, update = mean(products, weight, None, None, name or "mean_cosine_distance")
    return publish(ops.subtract(1.0, value), ops.subtract(1.0, update), metrics_collections, updates_collections)


def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the share of values below ``threshold``; the arguments are those of ``mean``."""
    below = ops.cast(ops.less(values, threshold), float32)
    name = name or "percentage_below_threshold"
    return mean(below, weights, metrics_collections, updates_collections, name)


def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the mean over classes of intersection over union; the arguments are those of ``mean``.

    Returns:
        The value, and an update operation that returns the confusion matrix.
    """
    with ops.variable_scope(name, "mean_iou"):
        total = metric_variable([num_classes, num_classes], "total_confusion_matrix", float64)
        expected, predicted = (ops.reshape(ops.cast(classes, int64), [-1]) for classes in (labels, predictions))
        weight = None if weights is None else ops.reshape(weights, [-1])
        update = ops.assign_add(
            total, ops.confusion_matrix(expected, predicted, num_classes, weights=weight, dtype=float64)
        )
        matrix = ops.convert_to_tensor(total)
        hits = ops.cast(ops.diag_part(matrix), float32)
        rows, columns = (ops.cast(ops.reduce_sum(matrix, axis), float32) for axis in (0, 1))
        union = rows + columns - hits
        present = ops.reduce_sum(ops.cast(ops.not_equal(union, 0.0), float32))
        shares = hits / ops.where(ops.greater(union, 0.0), union, ops.ones_like(union))
        value = ops.div_no_nan(ops.reduce_sum(shares, name="mean_iou"), present)
        return publish(value, update, metrics_collections, updates_collections)
