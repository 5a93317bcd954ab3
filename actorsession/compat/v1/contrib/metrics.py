"""``tf.contrib.metrics``: metrics of ``tf.metrics`` with the predictions as the first argument."""

from __future__ import annotations

from typing import Any

from actorsession.compat.v1 import metrics

__all__ = ["streaming_accuracy", "streaming_auc"]


def streaming_accuracy(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Any:
    """Return the share of correct predictions; see ``tf.metrics.accuracy``."""
    return metrics.accuracy(
        labels, predictions, weights, metrics_collections, updates_collections, name
    )


def streaming_auc(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
) -> Any:
    """Return the area under the curve of a classifier; see ``tf.metrics.auc``."""
    return metrics.auc(
        labels, predictions, weights, num_thresholds, metrics_collections, updates_collections,
        curve, name,
    )  # fmt: skip
