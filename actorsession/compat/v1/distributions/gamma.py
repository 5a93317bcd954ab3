"""The gamma distribution, and the exponential distribution as a special case."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import ops, opsets
from actorsession.compat.v1.distributions.checks import checked, parameters, same_float_dtype
from actorsession.compat.v1.distributions.distribution import FULLY_REPARAMETERIZED
from actorsession.compat.v1.distributions.kullback_leibler import RegisterKL
from actorsession.compat.v1.distributions.scalar import ScalarDistribution
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.operation import Tensor
from actorsession.namespaces import math

__all__ = ["Exponential", "Gamma"]


class Gamma(ScalarDistribution):
    """Gamma distributions.

    Args:
        concentration: the shapes of the distributions, of a floating dtype.
        rate: the inverse scales.
        validate_args: whether to check in each step that parameters and values are positive.
        allow_nan_stats: whether undefined modes are NaN; otherwise they fail the step.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: if the parameters are not of one floating dtype.
    """

    _PARAMETERS = ("concentration", "rate")

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        made_with = dict(locals())
        with name_scope(name, values=[concentration, rate]) as name:
            checks = [ops.assert_positive(concentration), ops.assert_positive(rate)] if validate_args else []
            self._concentration, self._rate = parameters(checks, concentration=concentration, rate=rate)
        super().__init__(
            self._concentration.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            made_with,
            [self._concentration, self._rate],
            name,
        )

    @property
    def concentration(self) -> Tensor:
        """The shape parameter."""
        return self._concentration

    @property
    def rate(self) -> Tensor:
        """The inverse scale."""
        return self._rate

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return ops.random_gamma(ops.reshape(n, [1]), self.concentration, self.rate, self.dtype, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._checked_value(x)
        norm = opsets.lgamma(self.concentration) - self.concentration * ops.log(self.rate)
        return math.xlogy(self.concentration - 1.0, x) - self.rate * x - norm

    def _cdf(self, x: Tensor) -> Tensor:
        return opsets.igamma(self.concentration, self.rate * self._checked_value(x))

    def _entropy(self) -> Tensor:
        a = self.concentration
        return a - ops.log(self.rate) + opsets.lgamma(a) + (1.0 - a) * opsets.digamma(a)

    def _mean(self) -> Tensor:
        return self.concentration / self.rate

    def _variance(self) -> Tensor:
        return self.concentration / ops.square(self.rate)

    def _stddev(self) -> Tensor:
        return ops.sqrt(self.concentration) / self.rate

    def _mode(self) -> Tensor:
        mode = (self.concentration - 1.0) / self.rate
        if self.allow_nan_stats:
            nan = np.array(np.nan, self.dtype.np_dtype)
            return ops.where_v2(self.concentration > 1.0, mode, nan)
        message = "mode not defined when any concentration <= 1"
        one = ops.ones([], self.dtype)
        return checked([ops.assert_less(one, self.concentration, message=message)], mode)

    def _checked_value(self, x: Tensor) -> Tensor:
        same_float_dtype([x], self.dtype)
        return checked([ops.assert_positive(x)], x) if self.validate_args else x


class Exponential(Gamma):
    """Exponential distributions.

    Args:
        rate: inverse means, of a floating dtype.
        validate_args: whether to check in each step that rates and values are positive.
        allow_nan_stats: whether undefined modes are NaN; otherwise they fail the step.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential"
    ) -> None:
        made_with = {k: v for k, v in locals().items() if k != "__class__"}
        with name_scope(name, values=[rate]) as name:
            rate = ops.convert_to_tensor(rate, name="rate")
        super().__init__(ops.ones([], rate.dtype), rate, validate_args, allow_nan_stats, name)
        self._parameters = made_with
        self._graph_parents.append(rate)

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Tensor]:
        return {"rate": super()._param_shapes(sample_shape)["rate"]}

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return self._log_prob(value) - ops.log(self.rate)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        # Excludes 0, which has no logarithm.
        least = np.finfo(self.dtype.np_dtype).tiny
        drawn = ops.random_uniform(self._drawn_shape(n), least, 1.0, self.dtype, seed)
        return -ops.log(drawn) / self.rate


@RegisterKL(Gamma, Gamma)
def _kl_gamma_gamma(a: Gamma, b: Gamma, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_gamma_gamma", [a.concentration, a.rate]):
        shapes = (a.concentration - b.concentration) * opsets.digamma(a.concentration)
        norms = opsets.lgamma(b.concentration) - opsets.lgamma(a.concentration)
        rates = b.concentration * (ops.log(a.rate) - ops.log(b.rate))
        return shapes + norms + rates + a.concentration * (b.rate / a.rate - 1.0)
