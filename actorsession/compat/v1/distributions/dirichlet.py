"""The Dirichlet distribution: probabilities of several classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import ops, opsets
from actorsession.compat.v1.distributions.checks import checked
from actorsession.compat.v1.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from actorsession.compat.v1.distributions.kullback_leibler import RegisterKL
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.namespaces import math

__all__ = ["Dirichlet"]


class Dirichlet(Distribution):
    """Dirichlet distributions, whose classes are the last dimension of the parameters.

    Args:
        concentration: the concentration parameters of the classes, of a floating dtype.
        validate_args: whether to check parameters and values in each step.
        allow_nan_stats: whether undefined modes are NaN; otherwise they fail the step.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self, concentration: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Dirichlet"
    ) -> None:
        made_with = dict(locals())
        with name_scope(name, values=[concentration]) as name:
            tensor = ops.convert_to_tensor(concentration, name="concentration")
            if validate_args:
                tensor = checked(_parameter_checks(tensor), tensor)
            self._concentration = tensor
            self._total_concentration = ops.reduce_sum(tensor, -1)
        super().__init__(
            tensor.dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            made_with,
            [tensor, self._total_concentration],
            name,
        )

    @property
    def concentration(self) -> Tensor:
        """The concentration parameters of the classes."""
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        """The sum of the concentration parameters."""
        return self._total_concentration

    def _batch_shape(self) -> TensorShape:
        return self.total_concentration.shape

    def _batch_shape_tensor(self) -> Tensor:
        return ops.shape(self.total_concentration)

    def _event_shape(self) -> Any:
        shape = self.concentration.shape
        return [None] if shape.rank is None else shape[-1:]

    def _event_shape_tensor(self) -> Tensor:
        return ops.shape(self.concentration)[-1:]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = ops.random_gamma(ops.reshape(n, [1]), self.concentration, dtype=self.dtype, seed=seed)
        return drawn / ops.reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: Tensor) -> Tensor:
        if self.validate_args:
            one = ops.ones([], self.dtype)
            message = "sample last-dimension must sum to `1`"
            sums = ops.assert_near(one, ops.reduce_sum(x, -1), message=message)
            x = checked([ops.assert_positive(x, message="samples must be positive"), sums], x)
        unnormalised = ops.reduce_sum(math.xlogy(self.concentration - 1.0, x), -1)
        return unnormalised - opsets.lbeta(self.concentration)

    def _classes(self) -> Tensor:
        return ops.cast(self.event_shape_tensor()[0], self.dtype)

    def _entropy(self) -> Tensor:
        total = self.total_concentration
        of_total = (total - self._classes()) * opsets.digamma(total)
        parts = (self.concentration - 1.0) * opsets.digamma(self.concentration)
        return opsets.lbeta(self.concentration) + of_total - ops.reduce_sum(parts, -1)

    def _mean(self) -> Tensor:
        return self.concentration / self.total_concentration[..., None]

    def _scale(self) -> Tensor:
        return ops.rsqrt(1.0 + self.total_concentration[..., None])

    def _variance(self) -> Tensor:
        part = self._scale() * self._mean()
        return part * (self._scale() - part)

    def _covariance(self) -> Tensor:
        part = self._scale() * self._mean()
        outer = ops.matmul(part[..., None], part[..., None, :])
        return ops.matrix_set_diag(-outer, self._variance())

    def _mode(self) -> Tensor:
        divisor = self.total_concentration[..., None] - self._classes()
        mode = (self.concentration - 1.0) / divisor
        if self.allow_nan_stats:
            is_there = ops.reduce_all(self.concentration > 1.0, -1, keepdims=True)
            return ops.where_v2(is_there, mode, np.array(np.nan, self.dtype.np_dtype))
        message = "Mode undefined when any concentration <= 1"
        one = ops.ones([], self.dtype)
        return checked([ops.assert_less(one, self.concentration, message=message)], mode)


def _parameter_checks(concentration: Tensor) -> list[Any]:
    what = "Concentration parameter must"
    return [
        ops.assert_positive(concentration, message=f"{what} be positive."),
        ops.assert_rank_at_least(concentration, 1, message=f"{what} have >=1 dimensions."),
        ops.assert_less(1, ops.shape(concentration)[-1], message=f"{what} have event_size >= 2."),
    ]


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_dirichlet_dirichlet", [a.concentration, b.concentration]):
        total = opsets.digamma(ops.reduce_sum(a.concentration, -1, keepdims=True))
        apart = (a.concentration - b.concentration) * (opsets.digamma(a.concentration) - total)
        return ops.reduce_sum(apart, -1) - opsets.lbeta(a.concentration) + opsets.lbeta(b.concentration)
