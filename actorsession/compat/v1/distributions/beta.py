"""The beta distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import ops, opsets
from actorsession.compat.v1.distributions.checks import checked, next_seed, same_float_dtype
from actorsession.compat.v1.distributions.distribution import FULLY_REPARAMETERIZED
from actorsession.compat.v1.distributions.kullback_leibler import RegisterKL
from actorsession.compat.v1.distributions.scalar import ScalarDistribution
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.operation import Tensor
from actorsession.namespaces import math

__all__ = ["Beta"]


class Beta(ScalarDistribution):
    """Beta distributions.

    Args:
        concentration1: the concentration towards 1, of a floating dtype.
        concentration0: the concentration towards 0.
        validate_args: whether to check parameters and values in each step.
        allow_nan_stats: whether undefined modes are NaN; otherwise they fail the step.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: if the parameters are not of one floating dtype.
    """

    _PARAMETERS = ("concentration1", "concentration0")

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        made_with = dict(locals())
        with name_scope(name, values=[concentration1, concentration0]) as name:
            message = "Concentration parameter must be positive."
            both = []
            for key in self._PARAMETERS:
                tensor = ops.convert_to_tensor(made_with[key], name=key)
                if validate_args:
                    tensor = checked([ops.assert_positive(tensor, message=message)], tensor)
                both.append(tensor)
            same_float_dtype(both)
            self._concentration1, self._concentration0 = both
            self._total_concentration = both[0] + both[1]
        super().__init__(
            both[0].dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            made_with,
            [*both, self._total_concentration],
            name,
        )

    @property
    def concentration1(self) -> Tensor:
        """The concentration towards 1."""
        return self._concentration1

    @property
    def concentration0(self) -> Tensor:
        """The concentration towards 0."""
        return self._concentration0

    @property
    def total_concentration(self) -> Tensor:
        """The sum of both concentrations."""
        return self._total_concentration

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        ones, count = ops.ones_like(self.total_concentration), ops.reshape(n, [1])
        first = ops.random_gamma(count, ones * self.concentration1, dtype=self.dtype, seed=seed)
        second = ops.random_gamma(count, ones * self.concentration0, dtype=self.dtype, seed=next_seed(seed, "beta"))
        return first / (first + second)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._checked_value(x)
        towards_0 = (self.concentration0 - 1.0) * ops.log1p(-x)
        return math.xlogy(self.concentration1 - 1.0, x) + towards_0 - self._norm()

    def _norm(self) -> Tensor:
        parts = opsets.lgamma(self.concentration1) + opsets.lgamma(self.concentration0)
        return parts - opsets.lgamma(self.total_concentration)

    def _cdf(self, x: Tensor) -> Tensor:
        ones = ops.ones_like(self.total_concentration + x)  # with the shape to which all of them broadcast
        return opsets.betainc(self.concentration1 * ones, self.concentration0 * ones, x * ones)

    def _entropy(self) -> Tensor:
        a, b, total = self.concentration1, self.concentration0, self.total_concentration
        parts = (a - 1.0) * opsets.digamma(a) + (b - 1.0) * opsets.digamma(b)
        return self._norm() - parts + (total - 2.0) * opsets.digamma(total)

    def _mean(self) -> Tensor:
        return self.concentration1 / self.total_concentration

    def _variance(self) -> Tensor:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration)

    def _mode(self) -> Tensor:
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        both = [self.concentration1, self.concentration0]
        if self.allow_nan_stats:
            is_there = ops.logical_and(both[0] > 1.0, both[1] > 1.0)
            return ops.where_v2(is_there, mode, np.array(np.nan, self.dtype.np_dtype))
        one = ops.ones([], self.dtype)
        return checked(
            [
                ops.assert_less(one, tensor, message=f"Mode undefined for {key} <= 1.")
                for key, tensor in zip(self._PARAMETERS, both, strict=True)
            ],
            mode,
        )

    def _checked_value(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        below_1 = ops.assert_less(x, ops.ones([], self.dtype), message="sample must be less than `1`.")
        return checked([ops.assert_positive(x, message="sample must be positive"), below_1], x)


@RegisterKL(Beta, Beta)
def _kl_beta_beta(a: Beta, b: Beta, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_beta_beta", [a.concentration1, a.concentration0]):
        divergence = b._norm() - a._norm()
        for ours, theirs in ((a.concentration1, b.concentration1), (a.concentration0, b.concentration0)):
            divergence = divergence - opsets.digamma(ours) * (theirs - ours)
        total = a.total_concentration
        return divergence + opsets.digamma(total) * (b.total_concentration - total)
