"""Element-wise losses composed of other ops: weighted cross entropy and Poisson."""

from __future__ import annotations

import math
from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops import raw
from actorsession.ops.arrays import fills
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.elements import comparison, elementwise
from actorsession.ops.neural.activations import softplus

__all__ = ["log_poisson_loss", "weighted_cross_entropy_with_logits"]


def weighted_cross_entropy_with_logits(labels: Any, logits: Any, pos_weight: Any, name: str | None = None) -> Tensor:
    """Return the sigmoid cross entropy with positive labels weighted.

    Args:
        labels: probabilities, of the dtype and shape of ``logits``.
        logits: unscaled logarithms of odds.
        pos_weight: factor for the terms of positive labels.

    Returns:
        The loss of each element, of the shape of ``logits``.

    Raises:
        ValueError: if the shapes differ.
    """
    graph = graph_of(logits, labels)
    with graph.as_default(), graph.name_scope(name or "logistic_loss") as scope:
        x = convert_to_tensor(logits, name="logits")
        z = convert_to_tensor(labels, x.dtype, name="labels")
        if not z.shape.is_compatible_with(x.shape):
            raise ValueError(f"logits and labels have one shape, got {x.shape} and {z.shape}")
        weight = 1 + (pos_weight - 1) * z
        # softplus has the right gradient at 0 too, where max(-x, 0) and abs(x) have none.
        return raw.AddV2((1 - z) * x, weight * softplus(-x), name=scope)


def log_poisson_loss(targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None) -> Tensor:
    """Return the negative log-probability of Poisson counts, given the logarithm of their mean.

    Args:
        targets: the counts.
        log_input: logarithm of the mean, of the dtype and shape of ``targets``.
        compute_full_loss: whether to include the logarithm of the factorial, by Stirling's formula for counts
            above 1. It changes no gradient.

    Raises:
        ValueError: if the shapes differ.
    """
    graph = graph_of(log_input, targets)
    with graph.as_default(), graph.name_scope(name or "log_poisson_loss"):
        mean = convert_to_tensor(log_input, name="log_input")
        count = convert_to_tensor(targets, mean.dtype, name="targets")
        if not count.shape.is_compatible_with(mean.shape):
            raise ValueError(f"log_input and targets have one shape, got {mean.shape} and {count.shape}")
        loss = elementwise.exp(mean) - mean * count
        if not compute_full_loss:
            return loss
        stirling = count * elementwise.log(count) - count
        stirling = stirling + 0.5 * elementwise.log(2 * math.pi * count)
        small = comparison.logical_and(comparison.greater_equal(count, 0.0), comparison.less_equal(count, 1.0))
        return loss + comparison.where(small, fills.zeros_like(count), stirling)
