# Written by scripts/generated.py.
"""``tf.metrics``: means, counts and curves over many steps.

Each function creates local variables, which ``tf.local_variables_initializer`` sets to zero, and returns a
pair: the value so far, and an operation that adds the current batch and returns the new value. The names of
variables and results are TensorFlow's.
"""

from actorsession.compat.v1.metrics.hits import false_negatives as false_negatives
from actorsession.compat.v1.metrics.hits import false_negatives_at_thresholds as false_negatives_at_thresholds
from actorsession.compat.v1.metrics.hits import false_positives as false_positives
from actorsession.compat.v1.metrics.hits import false_positives_at_thresholds as false_positives_at_thresholds
from actorsession.compat.v1.metrics.hits import true_negatives as true_negatives
from actorsession.compat.v1.metrics.hits import true_negatives_at_thresholds as true_negatives_at_thresholds
from actorsession.compat.v1.metrics.hits import true_positives as true_positives
from actorsession.compat.v1.metrics.hits import true_positives_at_thresholds as true_positives_at_thresholds
from actorsession.compat.v1.metrics.means import accuracy as accuracy
from actorsession.compat.v1.metrics.means import mean as mean
from actorsession.compat.v1.metrics.means import mean_absolute_error as mean_absolute_error
from actorsession.compat.v1.metrics.means import mean_cosine_distance as mean_cosine_distance
from actorsession.compat.v1.metrics.means import mean_iou as mean_iou
from actorsession.compat.v1.metrics.means import mean_relative_error as mean_relative_error
from actorsession.compat.v1.metrics.means import mean_squared_error as mean_squared_error
from actorsession.compat.v1.metrics.means import mean_tensor as mean_tensor
from actorsession.compat.v1.metrics.means import percentage_below as percentage_below
from actorsession.compat.v1.metrics.means import root_mean_squared_error as root_mean_squared_error
from actorsession.compat.v1.metrics.ranks import average_precision_at_k as average_precision_at_k
from actorsession.compat.v1.metrics.ranks import mean_per_class_accuracy as mean_per_class_accuracy
from actorsession.compat.v1.metrics.ranks import precision_at_k as precision_at_k
from actorsession.compat.v1.metrics.ranks import precision_at_top_k as precision_at_top_k
from actorsession.compat.v1.metrics.ranks import recall_at_k as recall_at_k
from actorsession.compat.v1.metrics.ranks import recall_at_top_k as recall_at_top_k
from actorsession.compat.v1.metrics.ranks import sensitivity_at_specificity as sensitivity_at_specificity
from actorsession.compat.v1.metrics.ranks import sparse_average_precision_at_k as sparse_average_precision_at_k
from actorsession.compat.v1.metrics.ranks import sparse_precision_at_k as sparse_precision_at_k
from actorsession.compat.v1.metrics.ranks import specificity_at_sensitivity as specificity_at_sensitivity
from actorsession.compat.v1.metrics.shares import auc as auc
from actorsession.compat.v1.metrics.shares import precision as precision
from actorsession.compat.v1.metrics.shares import precision_at_thresholds as precision_at_thresholds
from actorsession.compat.v1.metrics.shares import recall as recall
from actorsession.compat.v1.metrics.shares import recall_at_thresholds as recall_at_thresholds

__all__ = [
"accuracy", "auc", "average_precision_at_k", "false_negatives", "false_negatives_at_thresholds",
"false_positives", "false_positives_at_thresholds", "mean", "mean_absolute_error",
"mean_cosine_distance", "mean_iou", "mean_per_class_accuracy", "mean_relative_error",
"mean_squared_error", "mean_tensor", "percentage_below", "precision", "precision_at_k",
"precision_at_thresholds", "precision_at_top_k", "recall", "recall_at_k", "recall_at_thresholds",
"recall_at_top_k", "root_mean_squared_error", "sensitivity_at_specificity",
"sparse_average_precision_at_k", "sparse_precision_at_k", "specificity_at_sensitivity",
"true_negatives", "true_negatives_at_thresholds", "true_positives", "true_positives_at_thresholds"
]
