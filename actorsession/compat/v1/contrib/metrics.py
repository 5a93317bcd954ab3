"""``tf.contrib.metrics``: metrics of ``tf.metrics`` with the predictions as the first argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from actorsession import ops
from actorsession.compat.v1 import metrics
from actorsession.compat.v1.metrics.counts import at_thresholds, match_shapes, metric_variable, publish
from actorsession.graph.dtypes import float32
from actorsession.graph.graph import control_dependencies
from actorsession.graph.operation import Tensor
from actorsession.namespaces.math import confusion_matrix
from actorsession.namespaces.sets import set_difference, set_intersection, set_size, set_union
from actorsession.ops import GraphKeys

__all__ = [
    "accuracy", "aggregate_metric_map", "aggregate_metrics", "confusion_matrix", "count", "f1_score",
    "set_difference", "set_intersection", "set_size", "set_union", "streaming_accuracy",
    "streaming_auc", "streaming_concat", "streaming_false_negatives",
    "streaming_false_negatives_at_thresholds", "streaming_false_positives",
    "streaming_false_positives_at_thresholds", "streaming_mean", "streaming_mean_absolute_error",
    "streaming_mean_cosine_distance", "streaming_mean_iou", "streaming_mean_relative_error",
    "streaming_mean_squared_error", "streaming_mean_tensor", "streaming_percentage_less",
    "streaming_precision", "streaming_precision_at_thresholds", "streaming_recall",
    "streaming_recall_at_k", "streaming_recall_at_thresholds", "streaming_root_mean_squared_error",
    "streaming_sensitivity_at_specificity", "streaming_sparse_average_precision_at_k",
    "streaming_sparse_precision_at_k", "streaming_sparse_recall_at_k",
    "streaming_specificity_at_sensitivity", "streaming_true_negatives",
    "streaming_true_negatives_at_thresholds", "streaming_true_positives",
    "streaming_true_positives_at_thresholds",
]  # fmt: skip


def accuracy(predictions: Any, labels: Any, weights: Any = None, name: str | None = None) -> Tensor:
    """Return the share of correct predictions of one batch.

    Args:
        predictions: the predictions: integers, bools or strings.
        labels: the labels, of the same dtype and shape.
        weights: the weights of elements.
        name: the name scope.

    Raises:
        ValueError: for other dtypes or shapes.
    """
    guesses, truth = ops.convert_to_tensor(predictions), ops.convert_to_tensor(labels)
    if guesses.dtype.is_floating or guesses.dtype != truth.dtype:
        raise ValueError(
            "Labels should be of type bool, integer or string, and predictions of the same; got "
            f"{truth.dtype.name} and {guesses.dtype.name}"
        )
    if not guesses.shape.is_compatible_with(truth.shape):
        raise ValueError(f"Shapes {guesses.shape} and {truth.shape} are incompatible")
    with guesses.graph.name_scope(name or "accuracy"):
        right = ops.cast(ops.equal(guesses, truth), float32)
        if weights is None:
            return ops.reduce_mean(right)
        factors = ops.cast(weights, float32) * ops.ones_like(right)
        return ops.div_no_nan(ops.reduce_sum(right * factors), ops.reduce_sum(factors))


def aggregate_metrics(*value_update_tuples: tuple[Any, Any]) -> tuple[list[Any], list[Any]]:
    """Return the values and the updates of several metrics.

    Raises:
        ValueError: for none.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: Mapping[str, tuple[Any, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values and the updates of several metrics by their names."""
    return (
        {name: pair[0] for name, pair in names_to_tuples.items()},
        {name: pair[1] for name, pair in names_to_tuples.items()},
    )


def _turned(metric: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a metric that takes the predictions first."""

    def streaming(predictions: Any, labels: Any, *args: Any, **kwargs: Any) -> Any:
        return metric(labels, predictions, *args, **kwargs)

    streaming.__name__ = streaming.__qualname__ = f"streaming_{name}"
    streaming.__doc__ = f"Return what ``tf.metrics.{metric.__name__}`` does; the predictions are first."
    return streaming


streaming_mean = metrics.mean
streaming_mean_tensor = metrics.mean_tensor
streaming_accuracy = _turned(metrics.accuracy, "accuracy")
streaming_auc = _turned(metrics.auc, "auc")
streaming_false_negatives = _turned(metrics.false_negatives, "false_negatives")
streaming_false_positives = _turned(metrics.false_positives, "false_positives")
streaming_mean_absolute_error = _turned(metrics.mean_absolute_error, "mean_absolute_error")
streaming_mean_cosine_distance = _turned(metrics.mean_cosine_distance, "mean_cosine_distance")
streaming_mean_iou = _turned(metrics.mean_iou, "mean_iou")
streaming_mean_relative_error = _turned(metrics.mean_relative_error, "mean_relative_error")
streaming_mean_squared_error = _turned(metrics.mean_squared_error, "mean_squared_error")
streaming_precision = _turned(metrics.precision, "precision")
streaming_precision_at_thresholds = _turned(metrics.precision_at_thresholds, "precision_at_thresholds")
streaming_recall = _turned(metrics.recall, "recall")
streaming_recall_at_thresholds = _turned(metrics.recall_at_thresholds, "recall_at_thresholds")
streaming_root_mean_squared_error = _turned(metrics.root_mean_squared_error, "root_mean_squared_error")
streaming_true_negatives = _turned(metrics.true_negatives, "true_negatives")
streaming_true_positives = _turned(metrics.true_positives, "true_positives")
streaming_recall_at_k = streaming_sparse_recall_at_k = _turned(metrics.recall_at_k, "recall_at_k")
streaming_sparse_precision_at_k = _turned(metrics.precision_at_k, "sparse_precision_at_k")
streaming_sparse_average_precision_at_k = _turned(metrics.average_precision_at_k, "sparse_average_precision_at_k")
streaming_sensitivity_at_specificity = _turned(metrics.sensitivity_at_specificity, "sensitivity_at_specificity")
streaming_specificity_at_sensitivity = _turned(metrics.specificity_at_sensitivity, "specificity_at_sensitivity")
streaming_false_negatives_at_thresholds = _turned(
    metrics.false_negatives_at_thresholds, "false_negatives_at_thresholds"
)
streaming_false_positives_at_thresholds = _turned(
    metrics.false_positives_at_thresholds, "false_positives_at_thresholds"
)
streaming_true_negatives_at_thresholds = _turned(metrics.true_negatives_at_thresholds, "true_negatives_at_thresholds")
streaming_true_positives_at_thresholds = _turned(metrics.true_positives_at_thresholds, "true_positives_at_thresholds")


def count(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Return the number of values so far, or the sum of their weights."""
    with ops.variable_scope(name, "count", [values]):
        number = metric_variable([], "count")
        if weights is None:
            batch = ops.cast(ops.size(values), float32)
        else:
            value, _, factors = match_shapes(values, None, weights)
            batch = ops.reduce_sum(ops.cast(factors, float32) * ops.ones_like(value, float32))
        update = ops.assign_add(number, batch)
        return publish(ops.identity(number), update, metrics_collections, updates_collections)


def f1_score(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Return the greatest harmonic mean of precision and recall over thresholds.

    The arguments are those of ``tf.metrics.auc``.
    """
    little = 1e-7
    inner = [(place + 1) / (num_thresholds - 1) for place in range(num_thresholds - 2)]
    with ops.variable_scope(name, "f1"):
        values, updates = at_thresholds(
            labels, predictions, [-little, *inner, 1.0 + little], weights, ("tp", "fp", "fn")
        )

        def best(of: Any) -> Tensor:
            hits, wrong, missed = (ops.convert_to_tensor(of[key]) for key in ("tp", "fp", "fn"))
            precision = ops.divide(hits, little + hits + wrong)
            recall = ops.divide(hits, little + hits + missed)
            return ops.reduce_max(2.0 * precision * recall / (precision + recall + little))

        return publish(best(values), best(updates), metrics_collections, updates_collections)


def streaming_percentage_less(
    values: Any,
    threshold: float,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Return the share of values below a limit; see ``tf.metrics.percentage_below``."""
    return metrics.percentage_below(values, threshold, weights, metrics_collections, updates_collections, name)


def streaming_concat(
    values: Any,
    axis: int = 0,
    max_size: int | None = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Return all values so far, joined along an axis, and an update that returns their number.

    Args:
        values: the values of a batch.
        axis: the axis.
        max_size: the greatest number of values that are kept.
        metrics_collections: collections of the value.
        updates_collections: collections of the update.
        name: the scope of the variable.

    Raises:
        ValueError: for values whose other axes have unknown sizes.
    """
    batch = ops.convert_to_tensor(values)
    rank = batch.shape.rank
    if rank is None or not -rank <= axis < rank:
        raise ValueError(f"axis = {axis} is not an axis of values of shape {batch.shape}")
    along = axis % rank
    sizes = batch.shape.as_list()
    if any(size is None for place, size in enumerate(sizes) if place != along):
        raise ValueError("all dimensions of values other than `axis` must have known size")
    sizes[along] = 0
    with ops.variable_scope(name, "streaming_concat", [batch]):
        kept = ops.Variable(
            lambda: ops.zeros(sizes, batch.dtype),
            trainable=False,
            validate_shape=False,
            collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
            name="array",
        )
        sizes[along] = None
        joined = ops.concat([kept.read_value(), batch], along)
        if max_size is not None:
            most = ops.minimum(ops.shape(joined)[along], max_size)
            size: list[Any] = [most if place == along else -1 for place in range(rank)]
            joined = ops.slice(joined, [0] * rank, ops.stack(size))
        with control_dependencies([ops.assign(kept, joined, validate_shape=False)]):
            update = ops.identity(ops.shape(joined)[along])
        value = kept.read_value()
        value.set_shape(sizes)
        return publish(value, update, metrics_collections, updates_collections)
