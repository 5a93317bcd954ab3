"""Building blocks of metrics: local variables, operand checks, and counts of hits and misses.

The other modules of ``metrics`` use them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession import ops
from actorsession.graph.dtypes import bool_, float32
from actorsession.graph.graph import add_to_collections, control_dependencies
from actorsession.graph.operation import Tensor
from actorsession.ops import GraphKeys

__all__ = ["KINDS", "Names", "Pair", "at_thresholds", "count_where", "match_shapes", "metric_variable", "publish"]

Pair = tuple[Tensor, Tensor]
Names = Sequence[str] | None

KINDS = {
    "tp": ("true_positives", True, True),
    "fn": ("false_negatives", True, False),
    "tn": ("true_negatives", False, False),
    "fp": ("false_positives", False, True),
}
"""The kinds of hits and misses: the name, the value of the label, and the predicted value."""


def metric_variable(shape: Any, name: str, dtype: Any = float32) -> Any:
    """Return a new local variable of zeros that is also in the collection of metric variables."""
    return ops.Variable(
        lambda: ops.zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        name=name,
    )


def publish(value: Any, update: Any, metrics: Any, updates: Any) -> tuple[Any, Any]:
    """Add the value and update of a metric to the requested collections, and return both."""
    for names, tensor in ((metrics, value), (updates, update)):
        if names:
            add_to_collections(names, tensor)
    return value, update


def match_shapes(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Return operands of the same rank; a last dimension of 1 is added or removed where needed.

    Args:
        predictions: the predictions.
        labels: the labels, if there are any.
        weights: the weights of the elements, if there are any: a scalar, or of a shape that broadcasts.

    Returns:
        All three, with the weights as float32 of the shape of the predictions.

    Raises:
        ValueError: if shapes do not fit.
    """
    predicted = ops.convert_to_tensor(predictions)
    expected = None if labels is None else ops.convert_to_tensor(labels)
    if expected is not None:
        more = _rank_over(predicted, expected)
        if more == 1:
            predicted = ops.squeeze(predicted, [-1])
        elif more == -1:
            expected = ops.squeeze(expected, [-1])
        if not predicted.shape.is_compatible_with(expected.shape):
            raise ValueError(f"Shapes {predicted.shape} and {expected.shape} are incompatible")
    if weights is None:
        return predicted, expected, None
    weight = ops.cast(weights, float32)
    if weight.shape.rank != 0:
        more = _rank_over(weight, predicted)
        if more == 1:
            weight = ops.squeeze(weight, [-1])
        elif more == -1:
            weight = ops.expand_dims(weight, -1)
    known = predicted.shape
    dims = known.as_list() if known.is_fully_defined() else ops.shape(predicted)
    return predicted, expected, ops.broadcast_to(weight, dims)


def _rank_over(a: Tensor, b: Tensor) -> int:
    """Return the rank of ``a`` less that of ``b``; 0 if one is unknown."""
    return 0 if None in (a.shape.rank, b.shape.rank) else len(a.shape) - len(b.shape)


def count_where(condition: Tensor, weight: Tensor | None, metrics: Any, updates: Any) -> tuple[Tensor, Tensor]:
    """Return the weighted number of true elements as a metric with a variable ``count``."""
    count = metric_variable([], "count")
    numbers = ops.cast(condition, float32)
    if weight is not None:
        numbers = numbers * weight
    value = ops.identity(count)
    update = ops.assign_add(count, ops.reduce_sum(numbers))
    return publish(value, update, metrics, updates)


def at_thresholds(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any, kinds: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the weighted numbers of hits and misses for each threshold above which a prediction is true.

    Args:
        labels: the true values.
        predictions: numbers between 0 and 1; others raise ``InvalidArgumentError`` at run time.
        thresholds: the thresholds.
        weights: as for ``match_shapes``.
        kinds: the requested counts, of tp, fn, tn and fp.

    Returns:
        The variables, and the operations that add to them, by kind.
    """
    numbers = ops.cast(predictions, float32)
    said = "predictions must be in [0, 1]"
    checks = [ops.assert_greater_equal(numbers, 0.0, message=said), ops.assert_less_equal(numbers, 1.0, message=said)]
    with control_dependencies(checks):
        numbers, expected, weight = match_shapes(ops.identity(numbers), ops.cast(labels, bool_), weights)
    limits = ops.constant([[limit] for limit in thresholds], float32)
    positive = ops.greater(ops.reshape(numbers, [1, -1]), limits)
    true = ops.logical_and(ops.reshape(expected, [1, -1]), ops.ones_like(positive))
    row = None if weight is None else ops.reshape(weight, [1, -1])
    values, updates = {}, {}
    for kind in kinds:
        name, says, predicts = KINDS[kind]
        hit = ops.logical_and(
            true if says else ops.logical_not(true), positive if predicts else ops.logical_not(positive)
        )
        counted = ops.cast(hit, float32)
        if row is not None:
            counted = counted * row
        values[kind] = metric_variable([len(thresholds)], name)
        updates[kind] = ops.assign_add(values[kind], ops.reduce_sum(counted, 1))
    return values, updates
