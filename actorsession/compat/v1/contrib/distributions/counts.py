"""Distributions of counts."""

from __future__ import annotations

from typing import Any

from actorsession import ops, opsets
from actorsession.compat.v1.contrib.distributions.families import Family, parameter, uniform
from actorsession.compat.v1.distributions.distribution import NOT_REPARAMETERIZED
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.namespaces import math, nn

__all__ = ["Binomial", "Geometric", "NegativeBinomial", "Poisson"]


class Poisson(Family):
    """Poisson distributions.

    Args:
        rate: means, of a floating dtype.
        log_rate: the logarithms of means, instead of ``rate``.
        interpolate_nondiscrete: whether values between whole numbers have the formulas' probabilities; they
            have none otherwise.
        validate_args: whether to check in each step that the rates are positive.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: for both rates or none.
    """

    _PARAMETERS = _POSITIVE = ("rate",)
    _KIND = NOT_REPARAMETERIZED
    rate = parameter("rate", "The mean.")

    def __init__(
        self,
        rate: Any = None,
        log_rate: Any = None,
        interpolate_nondiscrete: bool = True,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        if (rate is None) == (log_rate is None):
            raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
        made_with = locals()
        self.interpolate_nondiscrete = interpolate_nondiscrete
        self._begin(made_with, rate=ops.exp(log_rate) if rate is None else rate)
        self._log_rate = ops.log(self.rate) if log_rate is None else ops.convert_to_tensor(log_rate)

    log_rate = parameter("log_rate", "The logarithm of the mean.")

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        return ops.random_poisson(self.rate, ops.reshape(n, [1]), self.dtype, seed)

    def _log_prob(self, x: Tensor) -> Any:
        log_prob = math.xlogy(x, self.rate) - self.rate - opsets.lgamma(1.0 + x)
        if self.interpolate_nondiscrete:
            return log_prob
        there = ops.logical_and(x >= 0, ops.equal(x, ops.floor(x)))
        return ops.where_v2(there, log_prob, ops.constant(float("-inf"), self.dtype))

    def _cdf(self, x: Tensor) -> Any:
        whole = x if self.interpolate_nondiscrete else ops.floor(x)
        at = ops.maximum(whole, 0) + ops.zeros_like(self.rate)
        probability = opsets.igammac(1.0 + at, self.rate + ops.zeros_like(at))
        return ops.where_v2(whole < 0, ops.zeros_like(probability), probability)

    def _mean(self) -> Any:
        return ops.identity(self.rate)

    _variance = _mean

    def _mode(self) -> Any:
        return ops.floor(self.rate)


class Geometric(Family):
    """Distributions of the number of failures before the first success.

    Args:
        logits: logarithms of the odds of success, of a floating dtype.
        probs: probabilities of success, instead of logits.
        validate_args: whether to check probabilities in each step.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.
    """

    _PARAMETERS = ("probs",)
    probs = parameter("probs", "The probability of success.")
    logits = parameter("logits", "The logarithm of the odds of success.")

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        self._begin_with_odds(locals())

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        return ops.floor(ops.log(uniform(self, n, seed)) / ops.log1p(-self.probs))

    def _log_prob(self, x: Tensor) -> Any:
        return math.xlogy(x, 1.0 - self.probs) + ops.log(self.probs)

    def _cdf(self, x: Tensor) -> Any:
        probability = -math.expm1((1.0 + ops.floor(x)) * ops.log1p(-self.probs))
        return ops.where_v2(x < 0, ops.zeros_like(probability), probability)

    def _entropy(self) -> Any:
        return nn.softplus(self.logits) / self.probs - self.logits

    def _mean(self) -> Any:
        return ops.exp(-self.logits)

    def _variance(self) -> Any:
        return self._mean() / self.probs

    def _mode(self) -> Any:
        return ops.zeros(self.batch_shape_tensor(), self.dtype)


class _Counted(Family):
    """A distribution with a count and a probability."""

    _PARAMETERS = ("total_count", "probs")
    total_count = parameter("total_count", "The count.")
    probs = parameter("probs", "The probability of success.")
    logits = parameter("logits", "The logarithm of the odds of success.")


class Binomial(_Counted):
    """Distributions of the number of successes in some trials.

    Args:
        total_count: numbers of trials.
        logits: logarithms of the odds of success, of a floating dtype.
        probs: probabilities of success, instead of logits.
        validate_args: whether to check probabilities in each step.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ) -> None:
        self._begin_with_odds(locals(), "total_count")

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        # A number for each trial of the largest count, of which each distribution takes as many as it has.
        most = ops.cast(ops.reduce_max(self.total_count), int32)
        shape = ops.concat([self._drawn_shape(n), ops.reshape(most, [1])], 0)
        wins = ops.random_uniform(shape, dtype=self.dtype, seed=seed) < self.probs[..., None]
        takes = ops.cast(ops.range(most), self.dtype) < self.total_count[..., None]
        return ops.reduce_sum(ops.cast(ops.logical_and(wins, takes), self.dtype), -1)

    def _log_prob(self, x: Tensor) -> Any:
        rest = self.total_count - x
        chances = math.xlogy(x, self.probs) + rest * ops.log1p(-self.probs)
        ways = opsets.lgamma(1.0 + rest) + opsets.lgamma(1.0 + x)
        return chances - ways + opsets.lgamma(1.0 + self.total_count)

    def _cdf(self, x: Tensor) -> Any:
        at = x + ops.zeros_like(self.total_count * self.probs)
        rest = self.total_count - at
        inside = opsets.betainc(
            ops.maximum(rest, 1e-6), 1.0 + ops.maximum(at, 0), 1.0 - self.probs + ops.zeros_like(at)
        )
        inside = ops.where_v2(at < 0, ops.zeros_like(at), inside)
        return ops.where_v2(rest <= 0, ops.ones_like(at), inside)

    def _mean(self) -> Any:
        return self.total_count * self.probs

    def _variance(self) -> Any:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Any:
        return ops.floor((1.0 + self.total_count) * self.probs)


class NegativeBinomial(_Counted):
    """Distributions of the number of successes before some failures.

    Args:
        total_count: numbers of failures.
        logits: logarithms of the odds of success, of a floating dtype.
        probs: probabilities of success, instead of logits.
        validate_args: whether to check probabilities in each step.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ) -> None:
        self._begin_with_odds(locals(), "total_count")

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        shape, other = ops.reshape(n, [1]), None if seed is None else seed + 1
        rates = ops.random_gamma(shape, self.total_count, ops.exp(-self.logits), self.dtype, seed)
        return ops.random_poisson(rates, [], self.dtype, other)

    def _log_prob(self, x: Tensor) -> Any:
        chances = self.total_count * ops.log1p(-self.probs) + math.xlogy(x, self.probs)
        ways = opsets.lgamma(self.total_count + x) - opsets.lgamma(1.0 + x)
        return chances + ways - opsets.lgamma(self.total_count)

    def _cdf(self, x: Tensor) -> Any:
        at = ops.maximum(ops.floor(x), 0) + ops.zeros_like(self.total_count * self.probs)
        spread = ops.zeros_like(at)
        probability = opsets.betainc(self.total_count + spread, 1.0 + at, 1.0 - self.probs + spread)
        return ops.where_v2(x < 0, spread, probability)

    def _mean(self) -> Any:
        return self.total_count * ops.exp(self.logits)

    def _variance(self) -> Any:
        return self._mean() / ops.sigmoid(-self.logits)

    def _mode(self) -> Any:
        mode = ops.floor((self.total_count - 1.0) * ops.exp(self.logits))
        return ops.where_v2(self.total_count > 1.0, mode, ops.zeros_like(mode))
