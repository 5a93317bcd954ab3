"""``tf.metrics``: means, counts and curves over many steps.

Each function makes local variables, which ``tf.local_variables_initializer`` sets to zero, and gives a pair:
the value so far, and an operation that takes the present batch in and gives the value after it. The names of
variables and results are TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.metric_counts import (
    at_thresholds,
    collected,
    count_where,
    fitted,
    metric_variable,
)
from actorsession.graph.defaults import control_dependencies
from actorsession.graph.dtypes import bool_, float32, float64, int64
from actorsession.graph.operation import Tensor

__all__ = [
    "accuracy", "auc", "false_negatives", "false_negatives_at_thresholds", "false_positives",
    "false_positives_at_thresholds", "mean", "mean_absolute_error", "mean_cosine_distance", "mean_iou",
    "mean_relative_error", "mean_squared_error", "mean_tensor", "percentage_below", "precision",
    "precision_at_thresholds", "recall", "recall_at_thresholds", "root_mean_squared_error",
    "true_negatives", "true_negatives_at_thresholds", "true_positives", "true_positives_at_thresholds",
]  # fmt: skip

Pair = tuple[Tensor, Tensor]
Names = Sequence[str] | None


# -- means ---------------------------------------------------------------------------------------


def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """The weighted mean of all elements of all batches; 0 before the first.

    Args:
        values: numbers.
        weights: of them, of a shape that broadcasts; 1 if left out.
        metrics_collections: names of collections that get the value.
        updates_collections: names of collections that get the operation.
        name: of the variable scope.

    Returns:
        The value, and the operation.

    Raises:
        ValueError: if shapes do not fit.
    """
    with ops.variable_scope(name, "mean"):
        numbers = ops.cast(values, float32)
        total, count = metric_variable([], "total"), metric_variable([], "count")
        if weights is None:
            number = ops.cast(ops.size(numbers), float32)
        else:
            numbers, _, weight = fitted(numbers, None, weights)
            numbers, number = numbers * weight, ops.reduce_sum(weight)
        return _quotient(
            total, count, ops.reduce_sum(numbers), number, numbers,
            metrics_collections, updates_collections,
        )  # fmt: skip


def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """The mean of each element by itself; arguments as ``mean``."""
    with ops.variable_scope(name, "mean"):
        numbers = ops.cast(values, float32)
        total = metric_variable(numbers.shape, "total_tensor")
        count = metric_variable(numbers.shape, "count_tensor")
        number = ops.ones_like(numbers)
        if weights is not None:
            numbers, _, weight = fitted(numbers, None, weights)
            numbers, number = numbers * weight, number * weight
        return _quotient(
            total, count, numbers, number, numbers, metrics_collections, updates_collections
        )


def _quotient(
    total: Any,
    count: Any,
    more: Any,
    number: Any,
    after: Tensor,
    metrics: Names,
    updates: Names,
) -> Pair:
    """``total / count``, and what adds to both before it divides."""
    new_total = ops.assign_add(total, more)
    with control_dependencies([after]):
        new_count = ops.assign_add(count, number)
    value = ops.div_no_nan(total, ops.maximum(count, 0.0), name="value")
    update = ops.div_no_nan(new_total, ops.maximum(new_count, 0.0), name="update_op")
    return collected(value, update, metrics, updates)


def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """How often ``predictions`` are ``labels``; arguments as ``mean``."""
    predicted, wanted, weight = fitted(predictions, labels, weights)
    if predicted.dtype is not wanted.dtype:
        predicted = ops.cast(predicted, wanted.dtype)
    right = ops.cast(ops.equal(predicted, wanted), float32)
    return mean(right, weight, metrics_collections, updates_collections, name or "accuracy")


def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """The mean of ``|predictions - labels|``; arguments as ``mean``."""
    predicted, wanted, weight = fitted(predictions, labels, weights)
    name = name or "mean_absolute_error"
    errors = ops.abs(predicted - wanted)
    return mean(errors, weight, metrics_collections, updates_collections, name)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """The mean of ``(labels - predictions) ** 2``; arguments as ``mean``."""
    predicted, wanted, weight = fitted(predictions, labels, weights)
    name = name or "mean_squared_error"
    errors = ops.squared_difference(wanted, predicted)
    return mean(errors, weight, metrics_collections, updates_collections, name)


def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """The root of ``mean_squared_error``; arguments as ``mean``."""
    name = name or "root_mean_squared_error"
    value, update = mean_squared_error(labels, predictions, weights, None, None, name)
    return collected(ops.sqrt(value), ops.sqrt(update), metrics_collections, updates_collections)


def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """The mean of ``|labels - predictions| / normalizer``, 0 where that is 0; arguments as ``mean``."""
    predicted, wanted, weight = fitted(predictions, labels, weights)
    predicted, by, _ = fitted(predicted, normalizer, None)
    errors = ops.where(
        ops.equal(by, ops.zeros_like(by)), ops.zeros_like(wanted), ops.abs(wanted - predicted) / by
    )
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
    """One less the mean product of unit vectors along ``dim``; arguments as ``mean``."""
    predicted, wanted, weight = fitted(predictions, labels, weights)
    products = ops.reduce_sum(predicted * wanted, axis=[dim], keepdims=True)
    value, update = mean(products, weight, None, None, name or "mean_cosine_distance")
    return collected(
        ops.subtract(1.0, value), ops.subtract(1.0, update), metrics_collections,
        updates_collections,
    )  # fmt: skip


def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """The share of values below ``threshold``; arguments as ``mean``."""
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
    """The mean over classes of intersection by union; arguments as ``mean``.

    Returns:
        The value, and an operation that gives the matrix of counts.
    """
    with ops.variable_scope(name, "mean_iou"):
        total = metric_variable([num_classes, num_classes], "total_confusion_matrix", float64)
        wanted, predicted = (
            ops.reshape(ops.cast(given, int64), [-1]) for given in (labels, predictions)
        )
        weight = None if weights is None else ops.reshape(weights, [-1])
        update = ops.assign_add(
            total,
            ops.confusion_matrix(wanted, predicted, num_classes, weights=weight, dtype=float64),
        )
        matrix = ops.convert_to_tensor(total)
        hits = ops.cast(ops.diag_part(matrix), float32)
        rows, columns = (ops.cast(ops.reduce_sum(matrix, axis), float32) for axis in (0, 1))
        union = rows + columns - hits
        present = ops.reduce_sum(ops.cast(ops.not_equal(union, 0.0), float32))
        shares = hits / ops.where(ops.greater(union, 0.0), union, ops.ones_like(union))
        value = ops.div_no_nan(ops.reduce_sum(shares, name="mean_iou"), present)
        return collected(value, update, metrics_collections, updates_collections)


# -- counts --------------------------------------------------------------------------------------


def _counter(kind: str, says: bool, predicts: bool) -> Callable[..., Pair]:
    """The metric that counts elements of one kind."""

    def count(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Names = None,
        updates_collections: Names = None,
        name: str | None = None,
    ) -> Pair:
        with ops.variable_scope(name, kind):
            predicted, wanted, weight = fitted(
                ops.cast(predictions, bool_), ops.cast(labels, bool_), weights
            )
            found = ops.logical_and(ops.equal(wanted, says), ops.equal(predicted, predicts))
            return count_where(found, weight, metrics_collections, updates_collections)

    count.__name__ = count.__qualname__ = kind
    count.__doc__ = (
        f"The weighted number of {kind.replace('_', ' ')}: labels that are {says}, predicted "
        f"{predicts}; arguments as ``mean``."
    )
    return count


def _counter_at(kind: str, key: str) -> Callable[..., Pair]:
    """The metric that counts elements of one kind for each threshold of predictions."""

    def count(
        labels: Any,
        predictions: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Names = None,
        updates_collections: Names = None,
        name: str | None = None,
    ) -> Pair:
        with ops.variable_scope(name, kind):
            values, updates = at_thresholds(labels, predictions, thresholds, weights, (key,))
            value = ops.convert_to_tensor(values[key])
            return collected(value, updates[key], metrics_collections, updates_collections)

    count.__name__ = count.__qualname__ = f"{kind}_at_thresholds"
    count.__doc__ = f"As ``{kind}``, with predictions above each threshold taken as true."
    return count


true_positives = _counter("true_positives", True, True)
false_positives = _counter("false_positives", False, True)
true_negatives = _counter("true_negatives", False, False)
false_negatives = _counter("false_negatives", True, False)
true_positives_at_thresholds = _counter_at("true_positives", "tp")
false_positives_at_thresholds = _counter_at("false_positives", "fp")
true_negatives_at_thresholds = _counter_at("true_negatives", "tn")
false_negatives_at_thresholds = _counter_at("false_negatives", "fn")


# -- quotients of counts -------------------------------------------------------------------------


def precision(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """The share of what is predicted true that is; 0 without any; arguments as ``mean``."""
    with ops.variable_scope(name, "precision"):
        right = true_positives(labels, predictions, weights)
        wrong = false_positives(labels, predictions, weights)
        return _share(right, wrong, metrics_collections, updates_collections)


def recall(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """The share of what is true that is predicted so; 0 without any; arguments as ``mean``."""
    with ops.variable_scope(name, "recall"):
        right = true_positives(labels, predictions, weights)
        wrong = false_negatives(labels, predictions, weights)
        return _share(right, wrong, metrics_collections, updates_collections)


def _share(right: Pair, wrong: Pair, metrics: Names, updates: Names) -> Pair:
    value, update = (
        ops.div_no_nan(a, a + b, name=name)
        for a, b, name in zip(right, wrong, ("value", "update_op"), strict=True)
    )
    return collected(value, update, metrics, updates)


def precision_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """As ``precision``, with predictions above each threshold taken as true."""
    with ops.variable_scope(name, "precision_at_thresholds"):
        counts = at_thresholds(labels, predictions, thresholds, weights, ("tp", "fp"))
        return _shares(counts, "fp", "precision", metrics_collections, updates_collections)


def recall_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """As ``recall``, with predictions above each threshold taken as true."""
    with ops.variable_scope(name, "recall_at_thresholds"):
        counts = at_thresholds(labels, predictions, thresholds, weights, ("tp", "fn"))
        return _shares(counts, "fn", "recall", metrics_collections, updates_collections)


def _shares(counts: Any, other: str, name: str, metrics: Names, updates: Names) -> Pair:
    value, update = (
        ops.divide(of["tp"], _TINY + of["tp"] + of[other], name=f"{name}_{suffix}")
        for of, suffix in zip(counts, ("value", "update_op"), strict=True)
    )
    return collected(value, update, metrics, updates)


_TINY = 1e-7


def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Pair:
    """The area under a curve of predictions between 0 and 1, approximated by some thresholds.

    Args:
        labels: as ``mean``; so are all that are not named here.
        num_thresholds: how many thresholds, evenly spread.
        curve: ``"ROC"``, or ``"PR"`` for precision over recall.
        summation_method: ``"trapezoidal"``, ``"minoring"``, ``"majoring"``, or for precision over recall
            ``"careful_interpolation"``, which is the right one there.
        thresholds: the thresholds, in place of a number of them.

    Raises:
        ValueError: for another curve or method, or shapes that do not fit.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve is 'ROC' or 'PR', got {curve!r}")
    heights = {
        "trapezoidal": lambda a, b: (a + b) / 2.0,
        "careful_interpolation": lambda a, b: (a + b) / 2.0,
        "minoring": ops.minimum,
        "majoring": ops.maximum,
    }
    if summation_method not in heights:
        raise ValueError(f"summation_method is one of {sorted(heights)}, got {summation_method!r}")
    inner = (
        [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        if thresholds is None
        else sorted(thresholds)
    )
    with ops.variable_scope(name, "auc"):
        limits = [-_TINY, *inner, 1.0 + _TINY]
        counts = at_thresholds(labels, predictions, limits, weights, ("tp", "fn", "tn", "fp"))
        careful = curve == "PR" and summation_method == "careful_interpolation"
        value, update = (
            _careful_area(of, suffix)
            if careful
            else _area(curve, of, heights[summation_method], suffix)
            for of, suffix in zip(counts, ("value", "update_op"), strict=True)
        )
        return collected(value, update, metrics_collections, updates_collections)


def _area(curve: str, counts: Any, height: Callable[[Tensor, Tensor], Any], name: str) -> Tensor:
    tp, fn, tn, fp = (ops.convert_to_tensor(counts[key]) for key in ("tp", "fn", "tn", "fp"))
    small = 1e-6
    x = recalled = ops.divide(tp + small, tp + fn + small)
    if curve == "ROC":
        x, y = ops.divide(fp, fp + tn + small), recalled
    else:
        y = ops.divide(tp + small, tp + fp + small)
    return ops.reduce_sum((x[:-1] - x[1:]) * height(y[:-1], y[1:]), name=name)


def _careful_area(counts: Any, name: str) -> Tensor:
    """The area under precision over recall, both as they run between two thresholds.

    Davis and Goadrich, 2006, section 4: there true positives grow in proportion to all positives, so that the
    area of an interval has a logarithm in it.
    """
    tp, fn, fp = (ops.convert_to_tensor(counts[key]) for key in ("tp", "fn", "fp"))
    both = tp + fp
    rise = tp[:-1] - tp[1:]
    slope = ops.div_no_nan(rise, ops.maximum(both[:-1] - both[1:], 0.0))
    offset = tp[1:] - slope * both[1:]
    positive = ops.logical_and(ops.greater(both[:-1], 0.0), ops.greater(both[1:], 0.0))
    ratio = ops.where(
        positive, ops.div_no_nan(both[:-1], ops.maximum(both[1:], 0.0)), ops.ones_like(both[1:])
    )
    area = slope * (rise + offset * ops.log(ratio))
    whole = ops.maximum(tp[1:] + fn[1:], 0.0)
    return ops.reduce_sum(ops.div_no_nan(area, whole), name=name)
