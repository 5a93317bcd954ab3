"""The Dirichlet-multinomial distribution: counts of classes whose probabilities are themselves drawn."""

from __future__ import annotations

from typing import Any

from actorsession import ops, opsets
from actorsession.compat.v1.distributions.checks import checked, checked_classes, checked_counts, next_seed
from actorsession.compat.v1.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from actorsession.compat.v1.distributions.multinomial import drawn_counts
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor

__all__ = ["DirichletMultinomial"]


class DirichletMultinomial(Distribution):
    """Dirichlet-multinomial distributions, whose classes are the last dimension of the parameters.

    Args:
        total_count: the number of trials, of the dtype of ``concentration``.
        concentration: the concentration parameters of the classes, of a floating dtype.
        validate_args: whether to check parameters and values in each step.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: for fewer than two classes, if arguments are validated.
    """

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        made_with = dict(locals())
        with name_scope(name, values=[total_count, concentration]) as name:
            count = ops.convert_to_tensor(total_count, name="total_count")
            tensor = ops.convert_to_tensor(concentration, name="concentration")
            if validate_args:
                count = checked_counts(count)
                message = "Concentration parameter must be positive."
                positive = ops.assert_positive(tensor, message=message)
                tensor = checked([positive], checked_classes(tensor))
            self._total_count, self._concentration = count, tensor
            self._total_concentration = ops.reduce_sum(tensor, -1)
            self._mean_val = count[..., None] * (tensor / self._total_concentration[..., None])
        super().__init__(
            tensor.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, made_with, [count, tensor], name
        )

    @property
    def total_count(self) -> Tensor:
        """The number of trials."""
        return self._total_count

    @property
    def concentration(self) -> Tensor:
        """The concentration parameters of the classes."""
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        """The sum of the concentration parameters."""
        return self._total_concentration

    def _batch_shape(self) -> Any:
        shape = self._mean_val.shape
        return None if shape.rank is None else shape[:-1]

    def _batch_shape_tensor(self) -> Tensor:
        return ops.shape(self._mean_val)[:-1]

    def _event_shape(self) -> Any:
        shape = self._mean_val.shape
        return [None] if shape.rank is None else shape[-1:]

    def _event_shape_tensor(self) -> Tensor:
        return ops.shape(self._mean_val)[-1:]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        ones = ops.ones_like(self._mean_val)
        weights = ops.random_gamma(ops.reshape(n, [1]), ones * self.concentration, dtype=self.dtype, seed=seed)
        counts = ops.cast(self.total_count * ops.ones_like(weights[..., 0]), int32)
        rows = ops.reshape(ops.log(weights), ops.stack([-1, self.event_shape_tensor()[0]]))
        drawn = drawn_counts(rows, ops.reshape(counts, [-1]), 1, self.dtype, next_seed(seed, "dirichlet_multinomial"))
        return ops.reshape(drawn, ops.shape(weights))

    def _log_prob(self, counts: Tensor) -> Tensor:
        if self.validate_args:
            counts = checked_counts(counts)
            message = "counts last-dimension must sum to `self.total_count`"
            total = ops.assert_equal(self.total_count, ops.reduce_sum(counts, -1), message=message)
            counts = checked([total], counts)
        ordered = opsets.lbeta(self.concentration + counts) - opsets.lbeta(self.concentration)
        orders = opsets.lgamma(self.total_count + 1.0) - ops.reduce_sum(opsets.lgamma(counts + 1.0), -1)
        return ordered + orders

    def _mean(self) -> Tensor:
        return ops.identity(self._mean_val)

    def _spread(self) -> Tensor:
        """Return the ratio of the variance to that of a multinomial distribution with the same mean."""
        total = self.total_concentration[..., None]
        return (self.total_count[..., None] + total) / (1.0 + total)

    def _variance(self) -> Tensor:
        share = self._mean_val / self.total_count[..., None]
        return self._mean_val * (1.0 - share) * self._spread()

    def _covariance(self) -> Tensor:
        share = self._mean_val / self.total_count[..., None]
        outer = ops.matmul(self._mean_val[..., None], share[..., None, :])
        return ops.matrix_set_diag(-outer * self._spread()[..., None], self._variance())
