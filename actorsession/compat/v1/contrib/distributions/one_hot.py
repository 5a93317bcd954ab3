"""Classes as vectors with a one, and distributions near to them whose samples have gradients."""

from __future__ import annotations

from typing import Any

from actorsession import ops, opsets
from actorsession.compat.v1.contrib.distributions.families import Family, parameter, shared_arguments, uniform
from actorsession.compat.v1.distributions.categorical import Categorical
from actorsession.compat.v1.distributions.checks import logits_and_probs
from actorsession.compat.v1.distributions.distribution import FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, Distribution
from actorsession.compat.v1.distributions.kullback_leibler import RegisterKL, kl_divergence
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.namespaces import math, nn

__all__ = ["ExpRelaxedOneHotCategorical", "OneHotCategorical", "RelaxedBernoulli", "RelaxedOneHotCategorical"]


class _OfClasses(Distribution):
    """A distribution of vectors with a number for each class."""

    logits = parameter("logits", "The logarithms of the weights.")
    probs = parameter("probs", "The probabilities.")

    def _batch_shape(self) -> Any:
        shape = self._logits.shape
        return None if shape.rank is None else shape[:-1]

    def _batch_shape_tensor(self) -> Any:
        return ops.shape(self._logits)[:-1]

    def _event_shape(self) -> Any:
        shape = self._logits.shape
        return [None] if shape.rank is None else shape[-1:]

    def _event_shape_tensor(self) -> Any:
        return ops.shape(self._logits)[-1:]

    @property
    def event_size(self) -> Tensor:
        """The number of classes, an int32 scalar."""
        return ops.shape(self._logits)[-1]

    def _classes(self, made_with: Any, kind: Any, dtype: Any) -> None:
        """Do what a constructor does."""
        kept = shared_arguments(made_with)
        with name_scope(kept["name"]) as name:
            self._logits, self._probs = logits_and_probs(
                kept["logits"], kept["probs"], name, multidimensional=True, validate_args=kept["validate_args"]
            )
            if "temperature" in kept:
                temperature = kept["temperature"]
                self._temperature = ops.convert_to_tensor(temperature, self._logits.dtype)
        super().__init__(
            dtype or self._logits.dtype,
            kind,
            kept["validate_args"],
            kept["allow_nan_stats"],
            kept,
            [self._logits, self._probs],
            name,
        )


class OneHotCategorical(_OfClasses):
    """Distributions of classes, each as a vector with a one in its place.

    Args:
        logits: logarithms of weights, of a floating dtype; the classes are the last dimension.
        probs: probabilities, instead of logits.
        dtype: the dtype of samples.
        validate_args: whether to check probabilities in each step.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        self._classes(locals(), NOT_REPARAMETERIZED, dtype)
        self._plain = Categorical(self._logits)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = self._plain._sample_n(n, seed)
        return ops.one_hot(drawn, self.event_size, dtype=self.dtype)

    def _log_prob(self, x: Tensor) -> Any:
        x = ops.cast(x, self.logits.dtype)
        return ops.reduce_sum(x * nn.log_softmax(self.logits), -1)

    def _entropy(self) -> Any:
        return self._plain._entropy()

    def _mode(self) -> Any:
        return ops.one_hot(ops.argmax(self.logits, -1), self.event_size, dtype=self.dtype)

    def _mean(self) -> Any:
        return ops.identity(self.probs)

    def _variance(self) -> Any:
        return self.probs * (1.0 - self.probs)

    def _covariance(self) -> Any:
        outer = ops.matmul(self.probs[..., None], self.probs[..., None, :])
        return ops.matrix_set_diag(-outer, self._variance())


@RegisterKL(OneHotCategorical, OneHotCategorical)
def _kl_of_classes(a: OneHotCategorical, b: OneHotCategorical, name: str | None = None) -> Tensor:
    return kl_divergence(a._plain, b._plain, name=name)


class ExpRelaxedOneHotCategorical(_OfClasses):
    """Logarithms of the samples of ``RelaxedOneHotCategorical``; the arguments are the same."""

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExpRelaxedOneHotCategorical",
    ) -> None:
        self._classes(locals(), FULLY_REPARAMETERIZED, None)

    temperature = parameter("temperature", "The temperature.")

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        import numpy as np

        shape = ops.concat([ops.reshape(n, [1]), ops.shape(self._logits)], 0)
        least = float(np.finfo(self.dtype.np_dtype).tiny)
        drawn = ops.random_uniform(shape, least, 1.0, self.dtype, seed)
        noisy = (self._logits - ops.log(-ops.log(drawn))) / self._temperature[..., None]
        return nn.log_softmax(noisy)

    def _log_prob(self, x: Tensor) -> Any:
        count = ops.cast(self.event_size, self.dtype)
        norm = opsets.lgamma(count) + (count - 1.0) * ops.log(self._temperature)
        apart = nn.log_softmax(self._logits - x * self._temperature[..., None])
        return ops.reduce_sum(apart, -1) + norm


class RelaxedOneHotCategorical(ExpRelaxedOneHotCategorical):
    """Distributions of vectors near to classes, whose samples have gradients (Gumbel's softmax).

    Args:
        temperature: the lower, the nearer.
        logits: logarithms of weights, of a floating dtype; the classes are the last dimension.
        probs: probabilities, instead of logits.
        dtype: accepted for compatibility.
        validate_args: whether to check probabilities in each step.
        allow_nan_stats: accepted for compatibility.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedOneHotCategorical",
    ) -> None:
        self._classes(locals(), FULLY_REPARAMETERIZED, None)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        return ops.exp(super()._sample_n(n, seed))

    def _log_prob(self, x: Tensor) -> Any:
        logarithms = ops.log(x)
        return super()._log_prob(logarithms) - ops.reduce_sum(logarithms, -1)


class RelaxedBernoulli(Family):
    """Distributions of numbers near to 0 or 1, whose samples have gradients.

    Args:
        temperature: the lower, the nearer.
        logits: logarithms of the odds of 1, of a floating dtype.
        probs: probabilities of 1, instead of logits.
        validate_args: whether to check probabilities in each step.
        allow_nan_stats: accepted for compatibility.
        name: the prefix of the names of the nodes.
    """

    _PARAMETERS = ("logits", "temperature")
    logits = parameter("logits", "The logarithm of the odds of 1.")
    probs = parameter("probs", "The probability of 1.")
    temperature = parameter("temperature", "The temperature.")

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        self._begin_with_odds(locals(), "temperature")
        self._reparameterization_type = FULLY_REPARAMETERIZED

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = uniform(self, n, seed)
        noisy = self.logits + ops.log(drawn) - ops.log1p(-drawn)
        return ops.sigmoid(noisy / self.temperature)

    def _log_prob(self, x: Tensor) -> Any:
        apart = self.logits - self.temperature * (ops.log(x) - ops.log1p(-x))
        density = ops.log(self.temperature) + apart - 2.0 * nn.softplus(apart)
        return density - ops.log(x) - ops.log1p(-x)

    def _cdf(self, x: Tensor) -> Any:
        at = self.temperature * (ops.log(x) - ops.log1p(-x))
        return math.sigmoid(at - self.logits)
