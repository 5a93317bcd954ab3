"""Counts over many steps of true and false positives and negatives.

Part of ``metrics``, whose docstring describes the common form of all metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.metrics.counts import KINDS, Names, Pair, at_thresholds, count_where, match_shapes, publish
from actorsession.graph.dtypes import bool_

__all__ = [
    "false_negatives",
    "false_negatives_at_thresholds",
    "false_positives",
    "false_positives_at_thresholds",
    "true_negatives",
    "true_negatives_at_thresholds",
    "true_positives",
    "true_positives_at_thresholds",
]


def _counter(key: str) -> Callable[..., Pair]:
    """Return the metric that counts elements of one kind."""
    kind, says, predicts = KINDS[key]

    def count(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Names = None,
        updates_collections: Names = None,
        name: str | None = None,
    ) -> Pair:
        """Return the weighted number of elements of the kind in the name; arguments as ``mean``."""
        with ops.variable_scope(name, kind):
            predicted, expected, weight = match_shapes(ops.cast(predictions, bool_), ops.cast(labels, bool_), weights)
            hits = ops.logical_and(ops.equal(expected, says), ops.equal(predicted, predicts))
            return count_where(hits, weight, metrics_collections, updates_collections)

    count.__name__ = count.__qualname__ = kind
    return count


def _counter_at(key: str) -> Callable[..., Pair]:
    """Return the metric that counts elements of one kind for each threshold of predictions."""
    kind, _, _ = KINDS[key]

    def count(
        labels: Any,
        predictions: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Names = None,
        updates_collections: Names = None,
        name: str | None = None,
    ) -> Pair:
        """Return the same for predictions that are true above each threshold."""
        with ops.variable_scope(name, kind):
            values, updates = at_thresholds(labels, predictions, thresholds, weights, (key,))
            value = ops.identity(values[key])
            return publish(value, updates[key], metrics_collections, updates_collections)

    count.__name__ = count.__qualname__ = f"{kind}_at_thresholds"
    return count


true_positives = _counter("tp")
false_positives = _counter("fp")
true_negatives = _counter("tn")
false_negatives = _counter("fn")
true_positives_at_thresholds = _counter_at("tp")
false_positives_at_thresholds = _counter_at("fp")
true_negatives_at_thresholds = _counter_at("tn")
false_negatives_at_thresholds = _counter_at("fn")
