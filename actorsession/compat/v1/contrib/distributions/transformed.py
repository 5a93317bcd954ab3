"""The distribution of a function of samples of another one."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib.distributions.families import parameter, shared_arguments
from actorsession.compat.v1.distributions.distribution import Distribution
from actorsession.graph.operation import Tensor

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of a bijector of samples of a distribution.

    Args:
        distribution: the distribution.
        bijector: the bijector; see ``bijectors``.
        batch_shape: makes a batch of a single distribution.
        event_shape: makes vectors or more of a distribution of numbers.
        validate_args: accepted for compatibility.
        name: the prefix of the names of the nodes; of those of the two if left out.
    """

    def __init__(
        self,
        distribution: Any,
        bijector: Any = None,
        batch_shape: Any = None,
        event_shape: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        from actorsession.compat.v1.contrib.distributions.bijectors import Identity

        made_with = shared_arguments(locals())
        del made_with["Identity"]
        self._distribution, self._bijector = distribution, bijector or Identity()
        self._more = [*_sizes(batch_shape), *_sizes(event_shape)]
        self._own_event = len(_sizes(event_shape))
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            made_with,
            distribution._graph_parents,
            name or f"{self._bijector.name}{str(distribution.name).split('/', maxsplit=1)[0]}",
        )

    distribution = parameter("distribution", "The distribution.")
    bijector = parameter("bijector", "The bijector.")

    def _batch_shape(self) -> Any:
        if self._more:
            return self._more[: len(self._more) - self._own_event]
        return self._distribution.batch_shape

    def _batch_shape_tensor(self) -> Any:
        return self._distribution.batch_shape_tensor()

    def _event_shape(self) -> Any:
        if self._own_event:
            return self._more[-self._own_event :]
        return self._distribution.event_shape

    def _event_shape_tensor(self) -> Any:
        return self._distribution.event_shape_tensor()

    def _event_rank(self) -> int:
        rank = self.event_shape.rank
        return max(rank or 0, self._bijector.forward_min_event_ndims or 0)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        return self._bijector.forward(self._distribution.sample([n, *self._more], seed))

    def _log_prob(self, y: Tensor) -> Any:
        x = self._bijector.inverse(y)
        log_prob = self._distribution.log_prob(x)
        summed = self._event_rank() - (self._distribution.event_shape.rank or 0)
        if summed > 0:
            log_prob = ops.reduce_sum(log_prob, list(range(-summed, 0)))
        return log_prob + self._bijector.inverse_log_det_jacobian(y, self._event_rank())

    def _of_numbers(self, what: str) -> None:
        """Refuse what is not defined for events that are made of those of the distribution."""
        if self._more or (self._bijector.forward_min_event_ndims or 0) > 0:
            raise NotImplementedError(f"{what} is not implemented when overriding event_shape")

    def _cdf(self, y: Tensor) -> Any:
        self._of_numbers("cdf")
        return self._distribution.cdf(self._bijector.inverse(y))

    def _survival_function(self, y: Tensor) -> Any:
        self._of_numbers("survival_function")
        return self._distribution.survival_function(self._bijector.inverse(y))

    def _quantile(self, p: Tensor) -> Any:
        self._of_numbers("quantile")
        return self._bijector.forward(self._distribution.quantile(p))

    def _constant(self, what: str) -> None:
        if not self._bijector.is_constant_jacobian:
            raise NotImplementedError(f"{what} is not implemented")

    def _mean(self) -> Any:
        self._constant("mean")
        mean = self._distribution.mean()
        if self._more:
            mean = mean + ops.zeros(self._more, self.dtype)
        return self._bijector.forward(mean)

    def _entropy(self) -> Any:
        self._constant("entropy")
        entropy = self._distribution.entropy()
        if self._more:
            entropy = entropy + ops.zeros(self._more, self.dtype)
        if self._own_event:
            entropy = ops.reduce_sum(entropy, list(range(-self._own_event, 0)))
        somewhere = ops.zeros([*(self.batch_shape.as_list()), *(self.event_shape.as_list())], self.dtype)
        return entropy + self._bijector.forward_log_det_jacobian(somewhere, self._event_rank())


def _sizes(shape: Any) -> list[int]:
    if shape is None:
        return []
    listed = shape.as_list() if hasattr(shape, "as_list") else list(shape)
    return [int(size) for size in listed]
