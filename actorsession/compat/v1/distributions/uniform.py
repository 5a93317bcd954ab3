"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

from actorsession import ops
from actorsession.compat.v1.distributions.checks import parameters
from actorsession.compat.v1.distributions.distribution import FULLY_REPARAMETERIZED
from actorsession.compat.v1.distributions.scalar import ScalarDistribution
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.operation import Tensor

__all__ = ["Uniform"]


class Uniform(ScalarDistribution):
    """Uniform distributions from ``low``, inclusive, to ``high``, exclusive.

    Args:
        low: the lower bounds, of a floating dtype.
        high: the upper bounds.
        validate_args: whether to check in each step that ``low`` is below ``high``.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: if the bounds are not of one floating dtype.
    """

    _PARAMETERS = ("low", "high")

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        made_with = dict(locals())
        with name_scope(name, values=[low, high]) as name:
            message = "uniform not defined when low >= high."
            checks = [ops.assert_less(low, high, message=message)] if validate_args else []
            self._low, self._high = parameters(checks, low=low, high=high)
        super().__init__(
            self._low.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            made_with,
            [self._low, self._high],
            name,
        )

    @property
    def low(self) -> Tensor:
        """The lower bound."""
        return self._low

    @property
    def high(self) -> Tensor:
        """The upper bound."""
        return self._high

    def range(self, name: str = "range") -> Tensor:
        """Return the difference between the bounds."""
        with self._name_scope(name):
            return self.high - self.low

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = ops.random_uniform(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        return self.low + self.range() * drawn

    def _prob(self, x: Tensor) -> Tensor:
        spread = x * ops.ones(self.batch_shape_tensor(), x.dtype)
        outside = ops.logical_or(spread < self.low, spread >= self.high)
        density = ops.where_v2(outside, ops.zeros_like(spread), ops.ones_like(spread) / self.range())
        return ops.where_v2(ops.is_nan(spread), spread, density)

    def _cdf(self, x: Tensor) -> Tensor:
        shape = ops.broadcast_dynamic_shape(ops.shape(x), self.batch_shape_tensor())
        ones = ops.ones(shape, self.dtype)
        part = (x * ones - self.low) / self.range()
        within = ops.where_v2(x < self.low, ops.zeros(shape, self.dtype), part)
        return ops.where_v2(x >= self.high, ones, within)

    def _entropy(self) -> Tensor:
        return ops.log(self.range())

    def _mean(self) -> Tensor:
        return (self.low + self.high) / 2.0

    def _variance(self) -> Tensor:
        return ops.square(self.range()) / 12.0

    def _stddev(self) -> Tensor:
        return self.range() / math.sqrt(12.0)
