"""The Bernoulli distribution: one of two outcomes."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.v1.distributions.checks import checked_events, logits_and_probs
from actorsession.compat.v1.distributions.distribution import NOT_REPARAMETERIZED
from actorsession.compat.v1.distributions.kullback_leibler import RegisterKL
from actorsession.compat.v1.distributions.scalar import ScalarDistribution
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.namespaces import nn

__all__ = ["Bernoulli"]


class Bernoulli(ScalarDistribution):
    """Bernoulli distributions.

    Args:
        logits: logarithms of the odds of 1, of a floating dtype.
        probs: probabilities of 1, instead of logits.
        dtype: the dtype of samples.
        validate_args: whether to check probabilities and values in each step.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: for both logits and probabilities, or neither.
        TypeError: if they are not floating.
    """

    _PARAMETERS = ("logits",)

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        made_with = dict(locals())
        with name_scope(name) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, name, validate_args=validate_args)
        super().__init__(
            dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, made_with, [self._logits, self._probs], name
        )

    @property
    def logits(self) -> Tensor:
        """The logarithm of the odds of 1."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self._probs

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = ops.random_uniform(self._drawn_shape(n), dtype=self.probs.dtype, seed=seed)
        return ops.cast(drawn < self.probs, self.dtype)

    def _log_prob(self, event: Tensor) -> Tensor:
        if self.validate_args:
            event = checked_events(event, 1, "bool")
        event = ops.cast(event, self.logits.dtype)
        return -nn.sigmoid_cross_entropy_with_logits(
            labels=event * ops.ones_like(self.logits), logits=self.logits * ops.ones_like(event)
        )

    def _entropy(self) -> Tensor:
        return self.logits * (1.0 - ops.sigmoid(self.logits)) + nn.softplus(-self.logits)

    def _mean(self) -> Tensor:
        return ops.identity(self.probs)

    def _variance(self) -> Tensor:
        return self.probs * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return ops.cast(self.probs > 0.5, self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_bernoulli_bernoulli", [a.logits, b.logits]):
        # The logarithms of the ratios of the probabilities of 1 and of 0.
        of_one = nn.softplus(-b.logits) - nn.softplus(-a.logits)
        of_none = nn.softplus(b.logits) - nn.softplus(a.logits)
        return ops.sigmoid(a.logits) * of_one + ops.sigmoid(-a.logits) * of_none
