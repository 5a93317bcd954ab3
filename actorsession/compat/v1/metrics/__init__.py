"""``tf.metrics``: means, counts and curves over many steps.

Each function creates local variables, which ``tf.local_variables_initializer`` sets to zero, and returns a
pair: the value so far, and an operation that adds the current batch and returns the new value. The names of
variables and results are TensorFlow's.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    ".hits": (
        "false_negatives false_negatives_at_thresholds false_positives "
        "false_positives_at_thresholds true_negatives true_negatives_at_thresholds true_positives "
        "true_positives_at_thresholds"
    ),
    ".means": (
        "accuracy mean mean_absolute_error mean_cosine_distance mean_iou mean_relative_error "
        "mean_squared_error mean_tensor percentage_below root_mean_squared_error"
    ),
    ".ranks": (
        "average_precision_at_k mean_per_class_accuracy precision_at_k precision_at_top_k "
        "recall_at_k recall_at_top_k sensitivity_at_specificity sparse_average_precision_at_k "
        "sparse_precision_at_k specificity_at_sensitivity"
    ),
    ".shares": "auc precision precision_at_thresholds recall recall_at_thresholds",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
