"""``tf.metrics``: means, counts and curves over many steps.

Each function creates local variables, which ``tf.local_variables_initializer`` sets to zero, and returns a
pair: the value so far, and an operation that adds the current batch and returns the new value. The names of
variables and results are TensorFlow's.
"""

from __future__ import annotations

from actorsession.compat.v1.metric_hits import (
    false_negatives,
    false_negatives_at_thresholds,
    false_positives,
    false_positives_at_thresholds,
    true_negatives,
    true_negatives_at_thresholds,
    true_positives,
    true_positives_at_thresholds,
)
from actorsession.compat.v1.metric_means import (
    accuracy,
    mean,
    mean_absolute_error,
    mean_cosine_distance,
    mean_iou,
    mean_relative_error,
    mean_squared_error,
    mean_tensor,
    percentage_below,
    root_mean_squared_error,
)
from actorsession.compat.v1.metric_ranks import (
    average_precision_at_k,
    mean_per_class_accuracy,
    precision_at_k,
    precision_at_top_k,
    recall_at_k,
    recall_at_top_k,
    sensitivity_at_specificity,
    sparse_average_precision_at_k,
    sparse_precision_at_k,
    specificity_at_sensitivity,
)
from actorsession.compat.v1.metric_shares import (
    auc,
    precision,
    precision_at_thresholds,
    recall,
    recall_at_thresholds,
)

__all__ = [
    "accuracy", "auc", "average_precision_at_k", "false_negatives", "false_negatives_at_thresholds",
    "false_positives", "false_positives_at_thresholds", "mean", "mean_absolute_error",
    "mean_cosine_distance", "mean_iou", "mean_per_class_accuracy", "mean_relative_error",
    "mean_squared_error", "mean_tensor", "percentage_below", "precision", "precision_at_k",
    "precision_at_thresholds", "precision_at_top_k", "recall", "recall_at_k", "recall_at_thresholds",
    "recall_at_top_k", "root_mean_squared_error", "sensitivity_at_specificity",
    "sparse_average_precision_at_k", "sparse_precision_at_k", "specificity_at_sensitivity",
    "true_negatives", "true_negatives_at_thresholds", "true_positives", "true_positives_at_thresholds",
]  # fmt: skip
