"""The normal distribution."""

from __future__ import annotations

import math
from typing import Any

from actorsession import ops
from actorsession.compat.v1.distributions.checks import parameters
from actorsession.compat.v1.distributions.distribution import FULLY_REPARAMETERIZED
from actorsession.compat.v1.distributions.kullback_leibler import RegisterKL
from actorsession.compat.v1.distributions.normal_functions import log_ndtr, ndtr
from actorsession.compat.v1.distributions.scalar import ScalarDistribution
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.operation import Tensor
from actorsession.ops.elements.error_functions import ndtri

__all__ = ["Normal"]


class Normal(ScalarDistribution):
    """Normal distributions.

    Args:
        loc: means, of a floating dtype.
        scale: standard deviations.
        validate_args: whether to check in each step that the scales are positive.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: if ``loc`` and ``scale`` are not of one floating dtype.
    """

    _PARAMETERS = ("loc", "scale")

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Normal"
    ) -> None:
        made_with = dict(locals())
        with name_scope(name, values=[loc, scale]) as name:
            checks = [ops.assert_positive(scale)] if validate_args else []
            self._loc, self._scale = parameters(checks, loc=loc, scale=scale)
        super().__init__(
            self._scale.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            made_with,
            [self._loc, self._scale],
            name,
        )

    @property
    def loc(self) -> Tensor:
        """The mean."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation."""
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = ops.random_normal(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        return drawn * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        norm = 0.5 * math.log(2.0 * math.pi) + ops.log(self.scale)
        return -0.5 * ops.square(self._z(x)) - norm

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log_ndtr(self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return ndtr(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return log_ndtr(-self._z(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return ndtr(-self._z(x))

    def _quantile(self, p: Tensor) -> Tensor:
        return ndtri(p) * self.scale + self.loc

    def _entropy(self) -> Tensor:
        return 0.5 * math.log(2.0 * math.pi * math.e) + ops.log(self._stddev())

    def _mean(self) -> Tensor:
        return self.loc * ops.ones_like(self.scale)

    def _stddev(self) -> Tensor:
        return self.scale * ops.ones_like(self.loc)

    def _mode(self) -> Tensor:
        return self._mean()

    def _z(self, x: Tensor) -> Tensor:
        with name_scope("standardize"):
            return (x - self.loc) / self.scale


@RegisterKL(Normal, Normal)
def _kl_normal_normal(a: Normal, b: Normal, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        ratio = ops.square(a.scale) / ops.square(b.scale)
        between = ops.squared_difference(a.loc, b.loc) / (2.0 * ops.square(b.scale))
        return between + 0.5 * (ratio - 1.0 - ops.log(ratio))
