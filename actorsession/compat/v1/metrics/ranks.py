"""Metrics of the best ``k`` predictions of each example, and of single points of curves.

Part of ``metrics``, whose docstring describes the common form of all metrics.
"""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.v1.metrics.counts import Names, Pair, at_thresholds, metric_variable, publish
from actorsession.graph.dtypes import float32, float64, int64
from actorsession.graph.graph import name_scope
from actorsession.graph.operation import Tensor
from actorsession.namespaces import nn, sets
from actorsession.opsets import SparseTensor, SparseTensorValue, sparse_retain

__all__ = [
    "average_precision_at_k",
    "mean_per_class_accuracy",
    "precision_at_k",
    "precision_at_top_k",
    "recall_at_k",
    "recall_at_top_k",
    "sensitivity_at_specificity",
    "sparse_average_precision_at_k",
    "sparse_precision_at_k",
    "specificity_at_sensitivity",
]

# Keeps quotients of zeros finite, and the outermost thresholds outside the range 0 to 1.
_TINY = 1e-7


# -- the best k ------------------------------------------------------------------------------------


def _named(what: str, k: int | None, class_id: int | None = None) -> str:
    name = f"{what}_at_{k}" if k is not None else f"{what}_at_k"
    return name if class_id is None else f"{name}_class{class_id}"


def _labels_of(labels: Any, predictions: Tensor) -> Any:
    """Return labels with an axis for the labels of one example, as int64."""
    if isinstance(labels, SparseTensorValue):
        labels = SparseTensor(*labels)
    if isinstance(labels, SparseTensor):
        return SparseTensor(labels.indices, ops.cast(labels.values, int64), labels.dense_shape)
    value = ops.cast(labels, int64)
    ranks = value.shape.rank, predictions.shape.rank
    if None not in ranks and len(value.shape) == len(predictions.shape) - 1:
        return ops.expand_dims(value, -1)
    return value


def _of_class(ids: Any, class_id: int | None) -> Any:
    """Return the ids that are of a class, as a sparse tensor; all of them without a class."""
    if class_id is None:
        return ids
    number = ops.constant(class_id, int64)
    if isinstance(ids, SparseTensor):
        return sparse_retain(ids, ops.equal(ids.values, number))
    extent = ops.shape(ids, out_type=int64)
    rows = ops.fill(ops.concat([extent[:-1], ops.constant([1], int64)], 0), number)
    members = sets.intersection(rows, ids)
    return SparseTensor(members.indices, members.values, extent)


_KINDS: dict[str, Any] = {
    "true_positive": sets.intersection,
    "false_negative": lambda guesses, labels: sets.difference(guesses, labels, aminusb=False),
    "false_positive": sets.difference,
}


def _sizes(kind: str, labels: Any, guesses: Any, class_id: int | None, weights: Any) -> Tensor:
    """Return the weighted number of hits or misses of a kind of each example."""
    expected, guessed = _of_class(labels, class_id), _of_class(guesses, class_id)
    count = ops.cast(sets.size(_KINDS[kind](guessed, expected)), float64)
    return count if weights is None else count * ops.cast(weights, float64)


def _counted(kind: str, labels: Any, guesses: Any, k: int | None, class_id: int | None, weights: Any) -> Pair:
    """Return the number of hits or misses of a kind over all steps as a metric."""
    with name_scope(_named(kind, k, class_id)) as scope:
        count = ops.reduce_sum(_sizes(kind, labels, guesses, class_id, weights))
        variable = metric_variable([], scope, float64)
        return ops.convert_to_tensor(variable), ops.assign_add(variable, count)


def _at_top_k(
    what: str,
    other: str,
    labels: Any,
    predictions_idx: Any,
    k: int | None,
    class_id: int | None,
    weights: Any,
    collections: tuple[Names, Names],
    name: Any,
) -> Pair:
    with name_scope(name or _named(what, k, class_id)):
        guesses = ops.cast(predictions_idx, int64)
        expected = _labels_of(labels, guesses)
        hits = _counted("true_positive", expected, guesses, k, class_id, weights)
        misses = _counted(other, expected, guesses, k, class_id, weights)
        value, update = (ops.divide(hit, hit + miss) for hit, miss in zip(hits, misses, strict=True))
        return publish(value, update, *collections)


def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the share of labels that are among the given classes; see ``recall_at_k``.

    ``predictions_idx`` are the best classes of each example, ``k`` of them.
    """
    return _at_top_k(
        "recall",
        "false_negative",
        labels,
        predictions_idx,
        k,
        class_id,
        weights,
        (metrics_collections, updates_collections),
        name,
    )


def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the share of the given classes that are labels; see ``recall_at_top_k``."""
    return _at_top_k(
        "precision",
        "false_positive",
        labels,
        predictions_idx,
        k,
        class_id,
        weights,
        (metrics_collections, updates_collections),
        name,
    )


def recall_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the share of labels that are among the best ``k`` classes.

    Args:
        labels: classes, integers ``[..., labels]``, or ``[...]`` for one; or a ``SparseTensor``.
        predictions: the score of each class, ``[..., classes]``.
        k: the number of best classes.
        class_id: the only class that counts; all if left out.
        weights: the weights of examples.
        metrics_collections: collections of the value.
        updates_collections: collections of the update.
        name: the scope of the variables.
    """
    with name_scope(name or _named("recall", k, class_id)) as scope:
        best = nn.top_k(predictions, k)[1]
        return recall_at_top_k(labels, best, k, class_id, weights, metrics_collections, updates_collections, scope)


def precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the share of the best ``k`` classes that are labels; see ``recall_at_k``."""
    with name_scope(name or _named("precision", k, class_id)) as scope:
        best = nn.top_k(predictions, k)[1]
        return precision_at_top_k(labels, best, k, class_id, weights, metrics_collections, updates_collections, scope)


sparse_precision_at_k = precision_at_k


def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the mean over examples of the precision at each label among the best ``k`` classes.

    The arguments are those of ``recall_at_k``.
    """
    with name_scope(name or _named("average_precision", k)) as scope:
        guesses = ops.cast(nn.top_k(predictions, k)[1], int64)
        expected = _labels_of(labels, guesses)
        each = _average_precision(expected, guesses, k)
        if weights is None:
            most = ops.cast(ops.size(each), float64)
        else:
            factors = ops.cast(weights, float64) * ops.ones_like(each)
            each, most = each * factors, ops.reduce_sum(factors)
        pairs = []
        for what, batch in (("max", most), ("total", ops.reduce_sum(each))):
            with name_scope(what) as inner:
                variable = metric_variable([], inner, float64)
                pairs.append((ops.convert_to_tensor(variable), ops.assign_add(variable, batch)))
        (most_so_far, more), (total, added) = pairs
        value = ops.div_no_nan(total, most_so_far, name="mean")
        update = ops.div_no_nan(added, more, name=scope)
        return publish(value, update, metrics_collections, updates_collections)


sparse_average_precision_at_k = average_precision_at_k


def _average_precision(labels: Any, guesses: Tensor, k: int) -> Tensor:
    """Return for each example the mean of the precisions at its labels."""
    if isinstance(labels, SparseTensor):
        relevant = ops.cast(ops.minimum(sets.size(labels), k), float64)
        hit = ops.stack(
            [_sizes("true_positive", labels, guesses[..., place : place + 1], None, None) for place in range(k)],
            axis=-1,
        )
    else:
        count = ops.reduce_sum(ops.cast(ops.greater_equal(labels, 0), int64), axis=-1)
        relevant = ops.cast(ops.minimum(count, k), float64)
        same = ops.equal(ops.expand_dims(guesses, -1), ops.expand_dims(labels, -2))
        hit = ops.cast(ops.reduce_any(same, axis=-1), float64)
    so_far = ops.cumsum(hit, axis=-1) / ops.cumsum(ops.ones_like(hit), axis=-1)
    return ops.divide(ops.reduce_sum(so_far * hit, axis=-1), relevant)


# -- classes ---------------------------------------------------------------------------------------


def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the mean over classes of the share of a class's examples that are predicted correctly.

    The arguments are those of ``mean``; ``num_classes`` is the number of classes.

    Returns:
        The value, and an update operation that returns the share of each class.
    """
    with ops.variable_scope(name, "mean_accuracy"):
        expected, guesses = (ops.reshape(ops.cast(classes, int64), [-1]) for classes in (labels, predictions))
        total, count = (metric_variable([num_classes], what) for what in ("total", "count"))
        right = ops.cast(ops.equal(guesses, expected), float32)
        ones = ops.ones_like(right)
        if weights is not None:
            factors = ops.reshape(ops.cast(weights, float32), [-1])
            right, ones = right * factors, ones * factors
        added = ops.scatter_add(total, expected, ones), ops.scatter_add(count, expected, right)
        shares = ops.div_no_nan(ops.convert_to_tensor(count), ops.convert_to_tensor(total))
        value = ops.reduce_mean(shares, name="mean_accuracy")
        totals, counts = map(ops.convert_to_tensor, added)
        update = ops.div_no_nan(counts, totals, name="update_op")
        return publish(value, update, metrics_collections, updates_collections)


# -- points of curves ------------------------------------------------------------------------------


def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the share of positives that are found where a share of negatives is.

    The arguments are those of ``auc``; ``specificity`` is the share of negatives that are found.

    Raises:
        ValueError: for a share outside [0, 1].
    """
    _check_share("specificity", specificity)
    with ops.variable_scope(name, "sensitivity_at_specificity"):
        counts = at_thresholds(labels, predictions, _limits(num_thresholds), weights, ("tp", "fn", "tn", "fp"))

        def at(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor, name: str) -> Tensor:
            specificities = ops.divide(tn, tn + fp + _TINY)
            place = ops.argmin(ops.abs(specificities - specificity), 0)
            return ops.divide(tp[place], tp[place] + fn[place] + _TINY, name=name)

        return _points(counts, at, metrics_collections, updates_collections)


def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the share of negatives that are found where a share of positives is.

    The arguments are those of ``auc``; ``sensitivity`` is the share of positives that are found.

    Raises:
        ValueError: for a share outside [0, 1].
    """
    _check_share("sensitivity", sensitivity)
    with ops.variable_scope(name, "specificity_at_sensitivity"):
        counts = at_thresholds(labels, predictions, _limits(num_thresholds), weights, ("tp", "fn", "tn", "fp"))

        def at(tp: Tensor, fn: Tensor, tn: Tensor, fp: Tensor, name: str) -> Tensor:
            apart = ops.abs(ops.divide(tp, tp + fn + _TINY) - sensitivity)
            # Of several that are as near, the last one.
            nearest = ops.cast(ops.equal(apart, ops.reduce_min(apart)), int64)
            place = ops.argmax(ops.cumsum(nearest), 0)
            return ops.divide(tn[place], tn[place] + fp[place] + _TINY, name=name)

        return _points(counts, at, metrics_collections, updates_collections)


def _check_share(what: str, share: float) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"`{what}` must be in the range [0, 1]. Currently, `{what}` got {share}.")


def _limits(count: int) -> list[float]:
    inner = [(place + 1) / (count - 1) for place in range(count - 2)]
    return [-_TINY, *inner, 1.0 + _TINY]


def _points(counts: Any, at: Any, metrics: Names, updates: Names) -> Pair:
    value, update = (
        at(*(ops.convert_to_tensor(of[key]) for key in ("tp", "fn", "tn", "fp")), name)
        for of, name in zip(counts, ("value", "update_op"), strict=True)
    )
    return publish(value, update, metrics, updates)
