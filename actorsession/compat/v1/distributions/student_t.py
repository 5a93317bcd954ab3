"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actorsession import ops, opsets
from actorsession.compat.v1.distributions.checks import checked, next_seed, parameters
from actorsession.compat.v1.distributions.distribution import FULLY_REPARAMETERIZED
from actorsession.compat.v1.distributions.scalar import ScalarDistribution
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.operation import Tensor

__all__ = ["StudentT"]


class StudentT(ScalarDistribution):
    """Student's t distributions.

    Args:
        df: degrees of freedom, of a floating dtype.
        loc: the centres.
        scale: the scales, which are not the standard deviations.
        validate_args: whether to check in each step that the degrees of freedom are positive.
        allow_nan_stats: whether undefined means and variances are NaN; otherwise they fail the step.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: if the parameters are not of one floating dtype.
    """

    _PARAMETERS = ("df", "loc", "scale")

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        made_with = dict(locals())
        with name_scope(name, values=[df, loc, scale]) as name:
            checks = [ops.assert_positive(df)] if validate_args else []
            self._df, self._loc, self._scale = parameters(checks, df=df, loc=loc, scale=scale)
        super().__init__(
            self._scale.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            made_with,
            [self._df, self._loc, self._scale],
            name,
        )

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._df

    @property
    def loc(self) -> Tensor:
        """The centre."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The scale."""
        return self._scale

    def _ones(self) -> Tensor:
        return ops.ones(self.batch_shape_tensor(), self.dtype)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        normal = ops.random_normal(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        df = self.df * self._ones()
        chi_square = ops.random_gamma(ops.reshape(n, [1]), 0.5 * df, 0.5, self.dtype, next_seed(seed, "student_t"))
        return normal * ops.rsqrt(chi_square / df) * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / self.scale
        unnormalised = -0.5 * (self.df + 1.0) * ops.log1p(ops.square(z) / self.df)
        gammas = opsets.lgamma(0.5 * self.df) - opsets.lgamma(0.5 * (self.df + 1.0))
        return unnormalised - (self._log_width() + 0.5 * math.log(math.pi) + gammas)

    def _log_width(self) -> Tensor:
        return ops.log(ops.abs(self.scale)) + 0.5 * ops.log(self.df)

    def _cdf(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / ops.abs(self.scale)
        ones = ops.ones_like(z + self.df)
        within = self.df / (ops.square(z) + self.df)
        lower = 0.5 * opsets.betainc(0.5 * self.df * ones, 0.5 * ones, within)
        return ops.where_v2(z < 0.0, lower, 1.0 - lower)

    def _entropy(self) -> Tensor:
        df, half = self.df * self._ones(), 0.5 * self._ones()
        log_beta = opsets.lgamma(half * df) + opsets.lgamma(half) - opsets.lgamma(half * (df + 1.0))
        between = opsets.digamma(0.5 * (self.df + 1.0)) - opsets.digamma(0.5 * self.df)
        return self._log_width() + log_beta + 0.5 * (self.df + 1.0) * between

    def _mean(self) -> Tensor:
        return self._where_defined(self.loc * self._ones(), "mean")

    def _variance(self) -> Tensor:
        is_finite = self.df > 2.0
        divisor = ops.where_v2(is_finite, self.df - 2.0, ops.ones_like(self.df))
        finite = self._ones() * ops.square(self.scale) * self.df / divisor
        variance = ops.where_v2(is_finite, finite, np.array(np.inf, self.dtype.np_dtype))
        return self._where_defined(variance, "variance")

    def _where_defined(self, statistic: Tensor, what: str) -> Tensor:
        """Return a statistic that is only defined for more than one degree of freedom."""
        if self.allow_nan_stats:
            nan = np.array(np.nan, self.dtype.np_dtype)
            return ops.where_v2(self.df > 1.0, statistic, nan)
        message = f"{what} not defined for components of df <= 1"
        one = ops.ones([], self.dtype)
        return checked([ops.assert_less(one, self.df, message=message)], statistic)

    def _mode(self) -> Tensor:
        return ops.identity(self.loc)
