"""Shares over many steps: precision, recall, and the areas under their curves over thresholds.

They are quotients of the counts of ``metric_hits``. Part of ``metrics``, whose docstring describes the common
form of all metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.metrics.counts import Names, Pair, at_thresholds, publish
from actorsession.compat.v1.metrics.hits import false_negatives, false_positives, true_positives
from actorsession.graph.operation import Tensor

__all__ = ["auc", "precision", "precision_at_thresholds", "recall", "recall_at_thresholds"]

# Keeps quotients of zeros finite, and the outermost thresholds outside the range 0 to 1.
_TINY = 1e-7
# The height assumed for an interval of a curve, by summation method.
_HEIGHTS: Mapping[str, Callable[[Tensor, Tensor], Any]] = {
    "trapezoidal": lambda a, b: (a + b) / 2.0,
    "careful_interpolation": lambda a, b: (a + b) / 2.0,
    "minoring": ops.minimum,
    "majoring": ops.maximum,
}


def precision(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return the share of positive predictions that are correct; 0 without any.

    The arguments are those of ``mean``.
    """
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
    """Return the share of positive labels that are predicted positive; 0 without any.

    The arguments are those of ``mean``.
    """
    with ops.variable_scope(name, "recall"):
        right = true_positives(labels, predictions, weights)
        wrong = false_negatives(labels, predictions, weights)
        return _share(right, wrong, metrics_collections, updates_collections)


def _share(right: Pair, wrong: Pair, metrics: Names, updates: Names) -> Pair:
    value, update = (
        ops.div_no_nan(a, a + b, name=name) for a, b, name in zip(right, wrong, ("value", "update_op"), strict=True)
    )
    return publish(value, update, metrics, updates)


def precision_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Names = None,
    updates_collections: Names = None,
    name: str | None = None,
) -> Pair:
    """Return ``precision`` with predictions above each threshold taken as true."""
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
    """Return ``recall`` with predictions above each threshold taken as true."""
    with ops.variable_scope(name, "recall_at_thresholds"):
        counts = at_thresholds(labels, predictions, thresholds, weights, ("tp", "fn"))
        return _shares(counts, "fn", "recall", metrics_collections, updates_collections)


def _shares(counts: Any, missed: str, name: str, metrics: Names, updates: Names) -> Pair:
    value, update = (
        ops.divide(of["tp"], _TINY + of["tp"] + of[missed], name=f"{name}_{suffix}")
        for of, suffix in zip(counts, ("value", "update_op"), strict=True)
    )
    return publish(value, update, metrics, updates)


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
    """Return the area under a curve of predictions between 0 and 1, approximated with thresholds.

    Args:
        labels: as for ``mean``, like all arguments that are not listed here.
        num_thresholds: the number of evenly spaced thresholds.
        curve: ``"ROC"``, or ``"PR"`` for precision over recall.
        summation_method: ``"trapezoidal"``, ``"minoring"``, ``"majoring"``, or, for precision over recall,
            ``"careful_interpolation"``, which is the correct method there.
        thresholds: the thresholds; they replace ``num_thresholds``.

    Raises:
        ValueError: for an unknown curve or method, or shapes that do not fit.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be 'ROC' or 'PR', got {curve!r}")
    if summation_method not in _HEIGHTS:
        raise ValueError(f"summation_method must be one of {sorted(_HEIGHTS)}, got {summation_method!r}")
    inner = (
        [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        if thresholds is None
        else sorted(thresholds)
    )
    with ops.variable_scope(name, "auc"):
        limits = [-_TINY, *inner, 1.0 + _TINY]
        counts = at_thresholds(labels, predictions, limits, weights, ("tp", "fn", "tn", "fp"))
        careful_interpolation = curve == "PR" and summation_method == "careful_interpolation"
        value, update = (
            _careful_interpolation(of, suffix)
            if careful_interpolation
            else _area(curve, of, _HEIGHTS[summation_method], suffix)
            for of, suffix in zip(counts, ("value", "update_op"), strict=True)
        )
        return publish(value, update, metrics_collections, updates_collections)


def _area(curve: str, counts: Any, height: Callable[[Tensor, Tensor], Any], name: str) -> Tensor:
    tp, fn, tn, fp = (ops.convert_to_tensor(counts[key]) for key in ("tp", "fn", "tn", "fp"))
    small = 1e-6
    x = recalled = ops.divide(tp + small, tp + fn + small)
    if curve == "ROC":
        x, y = ops.divide(fp, fp + tn + small), recalled
    else:
        y = ops.divide(tp + small, tp + fp + small)
    return ops.reduce_sum((x[:-1] - x[1:]) * height(y[:-1], y[1:]), name=name)


def _careful_interpolation(counts: Any, name: str) -> Tensor:
    """Return the area under precision over recall, interpolated between two thresholds.

    Davis and Goadrich, 2006, section 4: true positives grow in proportion to all positives between two
    thresholds, so the area of an interval contains a logarithm.
    """
    tp, fn, fp = (ops.convert_to_tensor(counts[key]) for key in ("tp", "fn", "fp"))
    both = tp + fp
    rise = tp[:-1] - tp[1:]
    slope = ops.div_no_nan(rise, ops.maximum(both[:-1] - both[1:], 0.0))
    offset = tp[1:] - slope * both[1:]
    positive = ops.logical_and(ops.greater(both[:-1], 0.0), ops.greater(both[1:], 0.0))
    ratio = ops.where(positive, ops.div_no_nan(both[:-1], ops.maximum(both[1:], 0.0)), ops.ones_like(both[1:]))
    area = slope * (rise + offset * ops.log(ratio))
    whole = ops.maximum(tp[1:] + fn[1:], 0.0)
    return ops.reduce_sum(ops.div_no_nan(area, whole), name=name)
