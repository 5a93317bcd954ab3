"""Regularisers of ``tf.contrib.layers``, and what applies them."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from typing import Any

from actorsession import ops
from actorsession.graph.graph import add_to_collection, get_collection, name_scope
from actorsession.graph.operation import Tensor
from actorsession.namespaces import nn
from actorsession.ops import GraphKeys

__all__ = ["apply_regularization", "l1_l2_regularizer", "l1_regularizer", "l2_regularizer", "sum_regularizer"]

_Regularizer = Callable[[Any], Tensor | None]


def l1_regularizer(scale: float, scope: str | None = None) -> _Regularizer:
    """Return a regulariser that adds ``scale`` times the sum of absolute weights to the loss.

    Args:
        scale: the factor; 0 for no loss at all.
        scope: the name scope of the operations.

    Raises:
        ValueError: for an integer or a negative number.
    """
    return _regularizer(scale, scope or "l1_regularizer", lambda w: ops.reduce_sum(ops.abs(w)))


def l2_regularizer(scale: float, scope: str | None = None) -> _Regularizer:
    """Return a regulariser that adds ``scale`` times half the sum of squared weights.

    The arguments are those of ``l1_regularizer``.
    """
    return _regularizer(scale, scope or "l2_regularizer", nn.l2_loss)


def _regularizer(scale: float, scope: str, loss: Callable[[Any], Tensor]) -> _Regularizer:
    whole: Any = scale  # An argument annotated as float may be an int.
    if isinstance(whole, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale}.")
    if scale == 0.0:
        return lambda _: None

    def regularize(weights: Any) -> Tensor:
        with name_scope(scope) as inner:
            # The factor has the element type of the weights.
            factor = ops.convert_to_tensor(scale, weights.dtype.base_dtype, name="scale")
            return ops.multiply(factor, loss(weights), name=inner)

    return regularize


def l1_l2_regularizer(scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None) -> _Regularizer:
    """Return a regulariser that adds the losses of ``l1_regularizer`` and ``l2_regularizer``.

    Args:
        scale_l1: the factor of the first.
        scale_l2: the factor of the second.
        scope: the name scope of the operations.

    Raises:
        ValueError: for an integer or a negative number.
    """
    both = [l1_regularizer(scale_l1), l2_regularizer(scale_l2)]
    return sum_regularizer(both, scope or "l1_l2_regularizer")


def sum_regularizer(regularizer_list: Iterable[_Regularizer | None], scope: str | None = None) -> _Regularizer:
    """Return a regulariser that adds the losses of several; ``None`` among them counts as none."""
    parts = [each for each in regularizer_list if each is not None]

    def regularize(weights: Any) -> Tensor | None:
        with name_scope(scope or "sum_regularizer") as inner:
            losses = [loss for loss in (each(weights) for each in parts) if loss is not None]
            return ops.add_n(losses, name=inner) if losses else None

    return regularize


def apply_regularization(regularizer: _Regularizer, weights_list: Iterable[Any] | None = None) -> Tensor:
    """Return the sum of a regulariser's losses, which joins the collection of such losses.

    Args:
        regularizer: the regulariser.
        weights_list: the weights; those of the collection ``GraphKeys.WEIGHTS`` if left out.

    Raises:
        ValueError: for no weights, or a loss that is not scalar.
    """
    weights = list(get_collection(GraphKeys.WEIGHTS) if weights_list is None else weights_list)
    if not weights:
        raise ValueError("No weights to regularize.")
    with name_scope("get_regularization_penalty") as inner:
        losses = [regularizer(each) for each in weights]
        terms = [ops.constant(0.0) if each is None else each for each in losses]
        for each in terms:
            if each.shape.rank != 0:
                raise ValueError(f"regularizer must return a scalar Tensor, got one of rank {each.shape.rank}.")
        total = ops.add_n(terms, name=inner)
        add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total
