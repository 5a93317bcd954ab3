"""The Laplace distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1.distributions.checks import parameters
from actorsession.compat.v1.distributions.distribution import FULLY_REPARAMETERIZED
from actorsession.compat.v1.distributions.normal_functions import log_cdf_laplace
from actorsession.compat.v1.distributions.scalar import ScalarDistribution
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.operation import Tensor

__all__ = ["Laplace"]


class Laplace(ScalarDistribution):
    """Laplace distributions.

    Args:
        loc: means, of a floating dtype.
        scale: the mean absolute deviations.
        validate_args: whether to check in each step that the scales are positive.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: if ``loc`` and ``scale`` are not of one floating dtype.
    """

    _PARAMETERS = ("loc", "scale")

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Laplace"
    ) -> None:
        made_with = dict(locals())
        with name_scope(name, values=[loc, scale]) as name:
            checks = [ops.assert_positive(scale)] if validate_args else []
            self._loc, self._scale = parameters(checks, loc=loc, scale=scale)
        super().__init__(
            self._loc.dtype,
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
        """The mean absolute deviation."""
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        kind = self.dtype.np_dtype.type
        # Excludes -1, for which the logarithm below would be infinite.
        drawn = ops.random_uniform(self._drawn_shape(n), np.nextafter(kind(-1.0), kind(0.0)), 1.0, self.dtype, seed)
        distance = ops.sign(drawn) * ops.log1p(-ops.abs(drawn))
        return self.loc - self.scale * distance

    def _log_prob(self, x: Tensor) -> Tensor:
        return -ops.abs(self._z(x)) - math.log(2.0) - ops.log(self.scale)

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log_cdf_laplace(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return log_cdf_laplace(-self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return 0.5 - 0.5 * ops.sign(z) * ops.expm1(-ops.abs(z))

    def _entropy(self) -> Tensor:
        return math.log(2.0) + 1.0 + ops.log(self.scale + ops.zeros_like(self.loc))

    def _mean(self) -> Tensor:
        return self.loc + ops.zeros_like(self.scale)

    def _stddev(self) -> Tensor:
        return math.sqrt(2.0) * self.scale + ops.zeros_like(self.loc)

    def _mode(self) -> Tensor:
        return self._mean()

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale
