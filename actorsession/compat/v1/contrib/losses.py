"""``tf.contrib.losses``: the losses of ``tf.losses`` with the predictions as the first argument."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib import metric_learning
from actorsession.compat.v1.ops.arguments import older
from actorsession.graph.graph import add_to_collection, get_collection, name_scope
from actorsession.graph.operation import Tensor
from actorsession.ops import GraphKeys
from actorsession.ops.neural import losses
from actorsession.ops.neural.losses import compute_weighted_loss as weighted_loss

__all__ = [
    "absolute_difference",
    "add_loss",
    "compute_weighted_loss",
    "cosine_distance",
    "get_losses",
    "get_regularization_losses",
    "get_total_loss",
    "hinge_loss",
    "log_loss",
    "mean_pairwise_squared_error",
    "mean_squared_error",
    "metric_learning",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "sparse_softmax_cross_entropy",
]


def absolute_difference(predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """Return the mean absolute difference; see ``tf.losses``."""
    return losses.absolute_difference(labels, predictions, weights, scope)


def mean_squared_error(predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """Return the mean squared difference; see ``tf.losses``."""
    return losses.mean_squared_error(labels, predictions, weights, scope)


def mean_pairwise_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None
) -> Tensor:
    """Return the squared error of differences between elements; see ``tf.losses``."""
    return losses.mean_pairwise_squared_error(labels, predictions, weights, scope)


def cosine_distance(
    predictions: Any,
    labels: Any = None,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Return one less the cosine of vectors of length 1; see ``tf.losses``."""
    distance: Tensor = older(losses.cosine_distance)(labels, predictions, axis, weights, scope, dim=dim)
    return distance


def log_loss(
    predictions: Any, labels: Any = None, weights: Any = 1.0, epsilon: float = 1e-7, scope: str | None = None
) -> Tensor:
    """Return the cross entropy of probabilities; see ``tf.losses``."""
    return losses.log_loss(labels, predictions, weights, epsilon, scope)


def hinge_loss(logits: Any, labels: Any = None, scope: str | None = None) -> Tensor:
    """Return the hinge loss of each element, without a mean; the labels are 0 and 1."""
    with name_scope(scope or "hinge_loss"):
        signs = 2.0 * ops.cast(labels, "float32") - 1.0
        return ops.maximum(0.0, 1.0 - signs * ops.cast(logits, "float32"))


def sigmoid_cross_entropy(
    logits: Any, multi_class_labels: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None
) -> Tensor:
    """Return the cross entropy of independent classes; see ``tf.losses``."""
    return losses.sigmoid_cross_entropy(multi_class_labels, logits, weights, label_smoothing, scope)


def softmax_cross_entropy(
    logits: Any, onehot_labels: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: str | None = None
) -> Tensor:
    """Return the cross entropy of distributions over classes; see ``tf.losses``."""
    return losses.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope)


def sparse_softmax_cross_entropy(logits: Any, labels: Any, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """Return the cross entropy of single classes; see ``tf.losses``."""
    return losses.sparse_softmax_cross_entropy(labels, logits, weights, scope)


def compute_weighted_loss(losses: Any, weights: Any = 1.0, scope: str | None = None) -> Tensor:
    """Return the mean of losses over those with a weight, which joins the collection of losses."""
    return weighted_loss(losses, weights, scope)


def add_loss(loss: Any, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss to the collection of losses."""
    if loss_collection:
        add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """Return the losses of a scope."""
    return list(get_collection(loss_collection, scope))


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Return the regularisation losses of a scope."""
    return list(get_collection(GraphKeys.REGULARIZATION_LOSSES, scope))


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss") -> Tensor:
    """Return the sum of all losses of the graph."""
    terms = get_losses()
    if add_regularization_losses:
        terms += get_regularization_losses()
    return ops.add_n(terms, name=name)
