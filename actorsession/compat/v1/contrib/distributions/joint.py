"""Distributions that are made of others: independent ones together, and mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib.distributions.families import parameter, shared_arguments
from actorsession.compat.v1.distributions.categorical import Categorical
from actorsession.compat.v1.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from actorsession.compat.v1.distributions.kullback_leibler import RegisterKL, kl_divergence
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.namespaces import nn

__all__ = ["Independent", "Mixture", "MixtureSameFamily"]


class Independent(Distribution):
    """Some dimensions of a batch as one distribution of all of them together.

    Args:
        distribution: the distribution.
        reinterpreted_batch_ndims: how many dimensions of its batch, from the last; all but the first if left
            out.
        validate_args: accepted for compatibility.
        name: the prefix of the names of the nodes; from that of the distribution if left out.

    Raises:
        ValueError: if its batch has not so many.
    """

    def __init__(
        self,
        distribution: Any,
        reinterpreted_batch_ndims: int | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        made_with = shared_arguments(locals())
        rank = distribution.batch_shape.rank
        count = reinterpreted_batch_ndims
        if rank is None:
            raise ValueError("the rank of the batch of the distribution must be known")
        self._count = max(rank - 1, 0) if count is None else int(count)
        if self._count > rank:
            raise ValueError(f"reinterpreted_batch_ndims({self._count}) cannot exceed distribution.batch_ndims({rank})")
        self._distribution = distribution
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            made_with,
            distribution._graph_parents,
            name or f"Independent{distribution.name}",
        )

    distribution = parameter("distribution", "The distribution.")

    @property
    def reinterpreted_batch_ndims(self) -> int:
        """How many dimensions of the batch belong to an event."""
        return self._count

    def _batch_shape(self) -> Any:
        shape = self._distribution.batch_shape
        return shape[: shape.rank - self._count]

    def _batch_shape_tensor(self) -> Any:
        shape = self._distribution.batch_shape_tensor()
        return shape[: self._distribution.batch_shape.rank - self._count]

    def _event_shape(self) -> Any:
        shape = self._distribution.batch_shape
        return TensorShape(shape[shape.rank - self._count :]).concatenate(self._distribution.event_shape)

    def _event_shape_tensor(self) -> Any:
        shape = self._distribution.batch_shape_tensor()
        own = shape[self._distribution.batch_shape.rank - self._count :]
        return ops.concat([own, self._distribution.event_shape_tensor()], 0)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        return self._distribution._sample_n(n, seed)

    def _summed(self, value: Tensor) -> Any:
        return ops.reduce_sum(value, list(range(-self._count, 0))) if self._count else value

    def _log_prob(self, x: Tensor) -> Any:
        return self._summed(self._distribution.log_prob(x))

    def _entropy(self) -> Any:
        return self._summed(self._distribution.entropy())

    def _mean(self) -> Any:
        return self._distribution.mean()

    def _variance(self) -> Any:
        return self._distribution.variance()

    def _stddev(self) -> Any:
        return self._distribution.stddev()

    def _mode(self) -> Any:
        return self._distribution.mode()


@RegisterKL(Independent, Independent)
def _kl_of_independent(a: Independent, b: Independent, name: str | None = None) -> Any:
    if a._count != b._count or a.event_shape != b.event_shape:
        raise ValueError("Event shapes do not match.")
    with name_scope(name, "kl_independent"):
        return a._summed(kl_divergence(a._distribution, b._distribution))


class _Mixed(Distribution):
    """The common part of mixtures: what components say, one beside the other, and how much each counts."""

    def _parts(self, what: str, *args: Any) -> tuple[Tensor, Any]:
        """Return what a method of each component gives, and the axis of components in it."""
        raise NotImplementedError

    def _log_shares(self) -> Any:
        raise NotImplementedError

    def _shares(self, parts: Tensor) -> Any:
        """Return the share of each component, with the rank of what components give."""
        shares = ops.exp(self._log_shares())
        for _ in range(self.event_shape.rank or 0):
            shares = shares[..., None]
        return shares

    def _log_prob(self, x: Tensor) -> Any:
        parts, axis = self._parts("log_prob", x)
        return ops.reduce_logsumexp(parts + self._log_shares(), axis)

    def _cdf(self, x: Tensor) -> Any:
        parts, axis = self._parts("cdf", x)
        return ops.reduce_sum(parts * ops.exp(self._log_shares()), axis)

    def _moment(self, parts: Tensor) -> Any:
        axis = -1 - (self.event_shape.rank or 0)
        return ops.reduce_sum(self._shares(parts) * parts, axis)

    def _mean(self) -> Any:
        return self._moment(self._parts("mean")[0])

    def _variance(self) -> Any:
        means, variances = self._parts("mean")[0], self._parts("variance")[0]
        return self._moment(variances + ops.square(means)) - ops.square(self._moment(means))


class MixtureSameFamily(_Mixed):
    """A mixture whose components are the last dimension of a batch.

    Args:
        mixture_distribution: a ``Categorical`` of the components.
        components_distribution: the components.
        validate_args: accepted for compatibility.
        allow_nan_stats: accepted for compatibility.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: if the former is no ``Categorical``.
    """

    def __init__(
        self,
        mixture_distribution: Any,
        components_distribution: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ) -> None:
        made_with = shared_arguments(locals())
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("`mixture_distribution` must be a Categorical distribution")
        self._mixture, self._components = mixture_distribution, components_distribution
        super().__init__(
            components_distribution.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            made_with,
            components_distribution._graph_parents,
            name,
        )

    mixture_distribution = parameter("mixture", "The distribution of components.")
    components_distribution = parameter("components", "The components.")

    def _batch_shape(self) -> Any:
        return self._components.batch_shape[:-1]

    def _batch_shape_tensor(self) -> Any:
        return self._components.batch_shape_tensor()[:-1]

    def _event_shape(self) -> Any:
        return self._components.event_shape

    def _event_shape_tensor(self) -> Any:
        return self._components.event_shape_tensor()

    def _log_shares(self) -> Any:
        return nn.log_softmax(self._mixture.logits)

    def _parts(self, what: str, *args: Any) -> tuple[Tensor, Any]:
        rank = self.event_shape.rank or 0
        spread = [ops.expand_dims(each, -1 - rank) for each in args]
        return getattr(self._components, what)(*spread), -1

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = self._components.sample([n], None if seed is None else seed + 1)
        chosen = self._mixture.sample([n], seed)
        count, rank = ops.shape(self._mixture.logits)[-1], self.event_shape.rank or 0
        mask = ops.one_hot(chosen, count, dtype=self.dtype)
        mask = mask + ops.zeros(ops.concat([ops.reshape(n, [1]), self._components.batch_shape_tensor()], 0), self.dtype)
        for _ in range(rank):
            mask = mask[..., None]
        return ops.reduce_sum(drawn * mask, -1 - rank)


class Mixture(_Mixed):
    """A mixture of distributions.

    Args:
        cat: a ``Categorical`` of the components.
        components: the components, of one batch and event shape.
        validate_args: accepted for compatibility.
        allow_nan_stats: accepted for compatibility.
        use_static_graph: accepted for compatibility.
        name: the prefix of the names of the nodes.

    Raises:
        TypeError: if ``cat`` is no ``Categorical``, or for components that are no distributions or have
            several dtypes.
        ValueError: for no components.
    """

    def __init__(
        self,
        cat: Any,
        components: Sequence[Any],
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ) -> None:
        made_with = shared_arguments(locals())
        if not isinstance(cat, Categorical):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
        if not components:
            raise ValueError("components must be a non-empty list or tuple")
        for each in components:
            if not isinstance(each, Distribution):
                raise TypeError(f"all entries in components must be Distribution instances but saw: {components}")
        if len({each.dtype for each in components}) > 1:
            raise TypeError("All components must have the same dtype")
        self._cat, self._all = cat, list(components)
        super().__init__(
            components[0].dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, made_with, [cat.logits], name
        )

    cat = parameter("cat", "The distribution of components.")
    components = parameter("all", "The components.")

    @property
    def num_components(self) -> int:
        """How many components there are."""
        return len(self._all)

    def _batch_shape(self) -> Any:
        return self._all[0].batch_shape

    def _batch_shape_tensor(self) -> Any:
        return self._all[0].batch_shape_tensor()

    def _event_shape(self) -> Any:
        return self._all[0].event_shape

    def _event_shape_tensor(self) -> Any:
        return self._all[0].event_shape_tensor()

    def _log_shares(self) -> Any:
        return nn.log_softmax(self._cat.logits)

    def _parts(self, what: str, *args: Any) -> tuple[Tensor, Any]:
        rank = 0 if args else self.event_shape.rank or 0
        statistics = [getattr(each, what)(*args) for each in self._all]
        return ops.stack(statistics, -1 - rank), -1

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        rank = self.event_shape.rank or 0
        seeds = [None if seed is None else seed + 1 + i for i in range(len(self._all))]
        drawn = ops.stack([each.sample([n], own) for each, own in zip(self._all, seeds, strict=True)], -1 - rank)
        mask = ops.one_hot(self._cat.sample([n], seed), len(self._all), dtype=self.dtype)
        for _ in range(rank):
            mask = mask[..., None]
        return ops.reduce_sum(drawn * mask, -1 - rank)

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Tensor:
        """Return the mean entropy of the components, which the entropy is not below."""
        with self._name_scope(name):
            parts, axis = self._parts("entropy")
            return ops.reduce_sum(parts * ops.exp(self._log_shares()), axis)
