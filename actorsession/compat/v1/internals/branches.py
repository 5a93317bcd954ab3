"""Decisions that are made while the graph is built where they can be, and helpers of modules of ``ops``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession import ops
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.compat.v1.metrics.counts import KINDS, at_thresholds
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.operation import Tensor
from actorsession.ops.variables.variable import Variable

__all__ = [
    "_confusion_matrix_at_thresholds",
    "_remove_squeezable_dimensions",
    "metric_variable",
    "remove_squeezable_dimensions",
    "smart_cond",
    "smart_constant_value",
]


def metric_variable(shape: Any, dtype: Any, validate_shape: bool = True, name: str | None = None) -> Any:
    """Return a new local variable of zeros that is also in the collection of metric variables.

    Args:
        shape: its shape.
        dtype: its dtype.
        validate_shape: whether later values must have that shape.
        name: its name.
    """
    return ops.Variable(
        lambda: ops.zeros(shape, dtype),
        trainable=False,
        collections=[ops.GraphKeys.LOCAL_VARIABLES, ops.GraphKeys.METRIC_VARIABLES],
        validate_shape=validate_shape,
        name=name,
    )


def remove_squeezable_dimensions(
    labels: Any, predictions: Any, expected_rank_diff: int = 0, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return labels and predictions without a last dimension of one that makes their ranks differ.

    Args:
        labels: the labels.
        predictions: the predictions.
        expected_rank_diff: by how much the rank of the predictions is to be the higher one.
        name: name scope of the new nodes.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        labels, predictions = ops.convert_to_tensor(labels), ops.convert_to_tensor(predictions)
        ours, theirs = labels.shape.rank, predictions.shape.rank
        if ours is None or theirs is None:
            return labels, predictions
        apart = theirs - ours - expected_rank_diff
        if apart == 1 and predictions.shape.as_list()[-1] in (1, None):
            return labels, ops.squeeze(predictions, [-1])
        if apart == -1 and labels.shape.as_list()[-1] in (1, None):
            return ops.squeeze(labels, [-1]), predictions
        return labels, predictions


def _confusion_matrix_at_thresholds(
    labels: Any, predictions: Any, thresholds: Any, weights: Any = None, includes: Any = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return hits and misses of both kinds at several thresholds, and the operations that count them.

    Args:
        labels: the labels.
        predictions: the predictions.
        thresholds: the thresholds.
        weights: the weights of the elements.
        includes: which of ``tp``, ``fn``, ``tn`` and ``fp``; all if omitted.
    """
    return at_thresholds(labels, predictions, thresholds, weights, includes or tuple(KINDS))


def smart_constant_value(pred: Any) -> bool | None:
    """Return the value of a condition if it is known; ``None`` otherwise.

    Args:
        pred: a bool, 0, 1, or a tensor.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(pred, int) and pred in (0, 1):
        return bool(pred)
    if isinstance(pred, Variable):
        return None
    if not isinstance(pred, Tensor):
        raise TypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {type(pred)}")
    known = get_static_value(pred)
    return None if known is None else bool(known)


def smart_cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """Call one of two functions if the condition is known, and build a ``cond`` otherwise.

    Args:
        pred: the condition.
        true_fn: called if it is true.
        false_fn: called if it is false.
        name: name of the ``cond``.

    Raises:
        TypeError: for something that cannot be called.
    """
    if not callable(true_fn):
        raise TypeError("`true_fn` must be callable.")
    if not callable(false_fn):
        raise TypeError("`false_fn` must be callable.")
    known = smart_constant_value(pred)
    if known is None:
        return ops.cond(pred, true_fn, false_fn, name=name)
    return true_fn() if known else false_fn()


def _remove_squeezable_dimensions(predictions: Any, labels: Any, weights: Any) -> tuple[Tensor, Tensor | None, Any]:
    """Return predictions, labels and weights without a last dimension of size one that only one of them has.

    Args:
        predictions: the predictions.
        labels: the labels, or ``None``.
        weights: the weights, or ``None``.
    """
    predictions = ops.convert_to_tensor(predictions)
    rank = predictions.shape.rank
    if labels is not None:
        labels = ops.convert_to_tensor(labels)
        if rank is not None and labels.shape.rank is not None:
            if rank - labels.shape.rank == 1 and predictions.shape.as_list()[-1] in (1, None):
                predictions = ops.squeeze(predictions, [-1])
            elif rank - labels.shape.rank == -1 and labels.shape.as_list()[-1] in (1, None):
                labels = ops.squeeze(labels, [-1])
        predictions.shape.assert_is_compatible_with(labels.shape)
    if weights is None:
        return predictions, labels, None
    weights = ops.convert_to_tensor(weights)
    ours, theirs = predictions.shape.rank, weights.shape.rank
    if ours is not None and theirs not in (None, 0):
        if theirs - ours == 1:
            weights = ops.squeeze(weights, [-1])
        elif ours - theirs == 1:
            weights = ops.expand_dims(weights, -1)
    return predictions, labels, weights
