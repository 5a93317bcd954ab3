"""Weights and reductions of losses, and the collection that holds them.

``losses`` re-exports all of this module. ``compute_weighted_loss`` reduces the losses of elements to one
number and adds it to ``GraphKeys.LOSSES``, from which ``get_total_loss`` reads it.
"""

from __future__ import annotations

from typing import Any

from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import float32
from actorsession.graph.graph import get_collection
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays import fills
from actorsession.ops.arrays.dimensions import shape, size
from actorsession.ops.arrays.shape import broadcast_to
from actorsession.ops.build import constant, convert_to_tensor, graph_of
from actorsession.ops.elements import arithmetic, comparison
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.quotients import div_no_nan
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.reductions.reduction import reduce_sum

__all__ = [
    "Reduction",
    "add_loss",
    "compute_weighted_loss",
    "fitted_weights",
    "get_losses",
    "get_regularization_loss",
    "get_regularization_losses",
    "get_total_loss",
    "present_elements",
]


class Reduction:
    """The reductions of the losses of elements to one number; the values are TensorFlow's names."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Return all reductions."""
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Check that ``key`` is a reduction.

        Raises:
            ValueError: for another value.
        """
        if key not in cls.all():
            raise ValueError(f"a reduction is one of {sorted(set(cls.all()))}, got {key!r}")


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the weighted losses of elements, reduced to one number.

    Args:
        losses: numbers of any shape.
        weights: a scalar, or of the rank of ``losses`` with each dimension 1 or the same.
        scope: name scope of the ops.
        loss_collection: collection to which the result is added, or ``None``.
        reduction: ``SUM``; ``MEAN``, over the sum of weights; ``SUM_OVER_BATCH_SIZE``, over the number of
            elements; ``SUM_BY_NONZERO_WEIGHTS``, over the number of those with another weight than 0; or
            ``NONE``, which keeps the elements. A quotient by 0 is 0.

    Returns:
        A tensor of the dtype of ``losses``: a scalar, or of their shape for ``NONE``.

    Raises:
        ValueError: for another reduction, or weights that can never fit.
    """
    Reduction.validate(reduction)
    graph = graph_of(losses, weights)
    with graph.as_default(), graph.name_scope(scope or "weighted_loss"):
        tensor = convert_to_tensor(losses)
        values = cast(tensor, float32)
        weight = fitted_weights(cast(weights, float32), values)
        loss = _reduced(values, weight, reduction)
        loss = cast(loss, tensor.dtype)
        add_loss(loss, loss_collection)
        return loss


def _reduced(values: Tensor, weight: Tensor, reduction: str) -> Tensor:
    weighted = arithmetic.multiply(values, weight)
    if reduction == Reduction.NONE:
        return weighted
    total = reduce_sum(weighted)
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.MEAN:
        count = reduce_sum(fills.ones_like(values) * weight)
    elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
        count = cast(size(values), float32)
    else:
        count = _number_present(values, weight)
    return div_no_nan(total, count, name="value")


def _number_present(values: Tensor, weight: Tensor) -> Tensor:
    known = get_static_value(weight) if weight.shape.rank == 0 else None
    if known is not None and known != 0:
        return cast(size(values), float32)
    return reduce_sum(present_elements(values, weight))


def present_elements(values: Tensor, weight: Tensor) -> Tensor:
    """Return 1 for each element of ``values`` whose weight is not 0, and 0 for the others."""
    chosen = cast(comparison.not_equal(weight, 0.0), float32)
    return broadcast_to(chosen, shape(values))


def fitted_weights(weight: Tensor, values: Tensor) -> Tensor:
    """Check that weights fit the values, and return them; broadcast if their shapes are not known yet.

    Raises:
        ValueError: if they can never fit.
    """
    own, whole = weight.shape, values.shape
    if own.rank == 0:
        return weight
    if own.rank is not None and whole.rank is not None:
        fits = own.rank == whole.rank and all(
            h is None or w is None or h in (1, w) for h, w in zip(own, whole, strict=True)
        )
        if not fits:
            raise ValueError(
                "weights are a scalar, or have the rank of the values and each dimension 1 or the "
                f"same; got weights of shape {own} for values of shape {whole}"
            )
        if own.is_fully_defined() and whole.is_fully_defined():
            return weight
    # The op rejects weights that would widen the values instead of being widened to them.
    return broadcast_to(weight, shape(values))


def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss to a collection of its graph; to none if ``loss_collection`` is ``None``."""
    if loss_collection:
        loss.graph.add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """Return the losses that were collected in the default graph.

    Args:
        scope: pattern that the start of a loss's name must match.
        loss_collection: the collection.
    """
    return list(get_collection(loss_collection, scope))


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Return the regularisation losses that were collected in the default graph; see ``get_losses``."""
    return list(get_collection(GraphKeys.REGULARIZATION_LOSSES, scope))


def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """Return the sum of the regularisation losses, 0 if there are none; see ``get_losses``."""
    losses = get_regularization_losses(scope)
    return arithmetic.add_n(losses, name=name) if losses else constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """Return the sum of the losses that were collected.

    Args:
        add_regularization_losses: whether the regularisation losses are added too.
        scope: pattern that the start of a loss's name must match.

    Raises:
        ValueError: if there are none.
    """
    losses = get_losses(scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope)
    return arithmetic.add_n(losses, name=name)
