"""Kullback-Leibler divergences, as functions that are registered for pairs of classes.

The function of the closest pair of base classes applies: the one with the smallest sum of the positions in
both method resolution orders. Of equal pairs, the one closer to the first class wins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from actorsession import ops
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.graph import control_dependencies
from actorsession.graph.operation import Tensor

__all__ = ["RegisterKL", "cross_entropy", "kl_divergence"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_DIVERGENCES: dict[tuple[type, type], Callable[..., Any]] = {}


def kl_divergence(
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """Return the Kullback-Leibler divergence of two distributions in nats.

    Args:
        distribution_a: the first distribution.
        distribution_b: the second distribution.
        allow_nan_stats: whether the result may be NaN; otherwise NaN fails the step.
        name: name scope of the new nodes.

    Raises:
        NotImplementedError: if no function is registered for their classes.
    """
    function = _registered(type(distribution_a), type(distribution_b))
    if function is None:
        kinds = [type(d).__name__ for d in (distribution_a, distribution_b)]
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{kinds[0]} and distribution_b type {kinds[1]}"
        )
    with name_scope("KullbackLeibler"):
        divergence: Tensor = function(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return divergence
        is_number = ops.logical_not(ops.reduce_any(ops.is_nan(divergence)))
        complaint = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN values "
            "(and was called with allow_nan_stats=False). Values:"
        )
        with control_dependencies([ops.Assert(is_number, [complaint, divergence])]):
            return ops.identity(divergence, name="checked_kl")


def cross_entropy(ref: Any, other: Any, allow_nan_stats: bool = True) -> Tensor:
    """Return the cross entropy of ``ref`` with another distribution in nats."""
    entropy: Tensor = ref.entropy()
    return entropy + kl_divergence(ref, other, allow_nan_stats)


def _registered(kind_a: type, kind_b: type) -> Callable[..., Any] | None:
    pairs = [
        (i + j, _DIVERGENCES[a, b])
        for i, a in enumerate(kind_a.__mro__)
        for j, b in enumerate(kind_b.__mro__)
        if (a, b) in _DIVERGENCES
    ]
    return min(pairs, key=lambda pair: pair[0])[1] if pairs else None


class RegisterKL:
    """A decorator that registers a function for a pair of classes.

    The function takes a distribution of each class, and ``name``.

    Args:
        dist_cls_a: the class of the first distribution.
        dist_cls_b: the class of the second distribution.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: _Function) -> _Function:
        """Register the function.

        Raises:
            TypeError: if it is not callable.
            ValueError: if a function is registered for the pair already.
        """
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _DIVERGENCES:
            names = " || ".join(kind.__name__ for kind in self._key)
            raise ValueError(f"KL({names}) has already been registered to: {_DIVERGENCES[self._key]}")
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn
