"""``Distribution``: the base class of all distributions.

A subclass implements sampling, the logarithmic probability and other statistics in methods whose names start
with an underscore. The public methods convert values, open name scopes and derive one statistic from another.
The batch shape is that of the parameters, with one distribution for each element. The event shape is that of
one sample of one distribution.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.distributions import kullback_leibler
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import DType, as_dtype, int32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape, as_shape

__all__ = ["FULLY_REPARAMETERIZED", "NOT_REPARAMETERIZED", "Distribution", "ReparameterizationType"]


class ReparameterizationType:
    """Whether samples have gradients by the parameters; compared by identity.

    Args:
        rep_type: the name of the type.
    """

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
"""Samples are differentiable functions of the parameters."""

NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")
"""Samples have no gradients."""


def _missing(name: str) -> Callable[..., Any]:
    """Return a method of ``Distribution`` that fails because the subclass does not implement it."""

    def method(self: Distribution, *_: Any) -> Any:
        raise NotImplementedError(f"{name} is not implemented: {type(self).__name__}")

    return method


class Distribution:
    """A distribution, or a batch of them.

    Args:
        dtype: the dtype of samples.
        reparameterization_type: whether samples have gradients.
        validate_args: whether to check parameters and values in each step.
        allow_nan_stats: whether undefined statistics are NaN; otherwise they fail the step.
        parameters: the arguments of the constructor.
        graph_parents: the tensors of which it consists.
        name: the prefix of the names of its nodes.

    Raises:
        ValueError: for a graph parent that is no tensor.
    """

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: Mapping[str, Any] | None = None,
        graph_parents: Sequence[Any] | None = None,
        name: str | None = None,
    ) -> None:
        parents = list(graph_parents or ())
        for i, parent in enumerate(parents):
            if not isinstance(parent, Tensor):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        if not name or not name.endswith("/"):
            with name_scope(name or type(self).__name__) as name:
                pass
        self._dtype = as_dtype(dtype)
        self._reparameterization_type = reparameterization_type
        self._validate_args = validate_args
        self._allow_nan_stats = allow_nan_stats
        self._parameters = dict(parameters or {})
        self._graph_parents = parents
        self._name = name

    # -- properties ------------------------------------------------------------------------------

    @property
    def name(self) -> Any:
        """The prefix of the names of its nodes, slash included."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        kept = {k: v for k, v in self._parameters.items() if not k.startswith("__")}
        kept.pop("self", None)
        return kept

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """Whether samples have gradients."""
        return self._reparameterization_type

    @property
    def validate_args(self) -> bool:
        """Whether parameters and values are checked in each step."""
        return self._validate_args

    @property
    def allow_nan_stats(self) -> bool:
        """Whether undefined statistics are NaN."""
        return self._allow_nan_stats

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """Return a distribution of the same class, with some parameters replaced."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    @classmethod
    def param_shapes(cls, sample_shape: Any, name: str = "DistributionParamShapes") -> dict[str, Tensor]:
        """Return the shapes of parameters for samples of a shape, by parameter.

        Args:
            sample_shape: the shape of a sample.
            name: name scope of the new nodes.
        """
        with name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, TensorShape]:
        """Return ``param_shapes`` for a static shape.

        Raises:
            ValueError: if the shape is not static.
        """
        if isinstance(sample_shape, TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sample_shape = sample_shape.as_list()
        shapes = {k: get_static_value(v) for k, v in cls.param_shapes(sample_shape).items()}
        if any(shape is None for shape in shapes.values()):
            raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
        return {k: TensorShape([int(n) for n in shape]) for k, shape in shapes.items()}

    @classmethod
    def _param_shapes(cls, sample_shape: Any) -> dict[str, Tensor]:
        raise NotImplementedError("_param_shapes not implemented")

    # -- shapes --------------------------------------------------------------------------------

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape of the batch."""
        return as_shape(self._batch_shape())

    @property
    def event_shape(self) -> TensorShape:
        """The static shape of one sample of one distribution."""
        return as_shape(self._event_shape())

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return the shape of the batch as an int32 vector."""
        return self._shape_tensor(self.batch_shape, self._batch_shape_tensor, name)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """Return the shape of one sample of one distribution as an int32 vector."""
        return self._shape_tensor(self.event_shape, self._event_shape_tensor, name)

    def _shape_tensor(self, static: TensorShape, make: Callable[[], Any], name: str) -> Tensor:
        with self._name_scope(name):
            if static.is_fully_defined():
                return ops.convert_to_tensor(static.as_list(), int32, name="shape")
            return ops.convert_to_tensor(make())

    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Return whether samples of one distribution are scalars."""
        with self._name_scope(name):
            return self._is_scalar(self.event_shape, self.event_shape_tensor)

    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Return whether it is a single distribution, not a batch."""
        with self._name_scope(name):
            return self._is_scalar(self.batch_shape, self.batch_shape_tensor)

    @staticmethod
    def _is_scalar(static: TensorShape, tensor: Callable[[], Tensor]) -> Tensor:
        if static.rank is not None:
            return ops.convert_to_tensor(static.rank == 0)
        return ops.equal(ops.size(tensor()), 0)

    # -- draws and values ----------------------------------------------------------------------

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Tensor:
        """Return samples.

        Args:
            sample_shape: the shape of the samples, an int32 scalar or vector; it precedes the batch shape and
                the event shape in that of the result.
            seed: the operation's seed.
            name: name scope of the new nodes.
        """
        with self._name_scope(name):
            shape = ops.convert_to_tensor(sample_shape, int32, name="sample_shape")
            if shape.shape.rank not in (None, 0, 1):
                raise ValueError(f"Input is neither scalar nor vector: sample_shape has shape {shape.shape}.")
            shape = ops.reshape(shape, [-1])
            known = get_static_value(shape)
            count = ops.reduce_prod(shape) if known is None else int(known.prod())
            drawn = self._sample_n(count, seed)
            samples: Tensor = ops.reshape(drawn, ops.concat([shape, ops.shape(drawn)[1:]], 0))
            if known is not None:
                parts = [TensorShape([int(n) for n in known]), self.batch_shape, self.event_shape]
                samples.set_shape(parts[0].concatenate(parts[1]).concatenate(parts[2]))
            return samples

    def log_prob(self, value: Any, name: str = "log_prob") -> Tensor:
        """Return the logarithm of the density or probability of a value."""
        return self._first(name, value, (self._log_prob, None), (self._prob, ops.log))

    def prob(self, value: Any, name: str = "prob") -> Tensor:
        """Return the density or probability of a value."""
        return self._first(name, value, (self._prob, None), (self._log_prob, ops.exp))

    def log_cdf(self, value: Any, name: str = "log_cdf") -> Tensor:
        """Return the logarithm of the probability of a value or a lower one."""
        return self._first(name, value, (self._log_cdf, None), (self._cdf, ops.log))

    def cdf(self, value: Any, name: str = "cdf") -> Tensor:
        """Return the probability of a value or a lower one."""
        return self._first(name, value, (self._cdf, None), (self._log_cdf, ops.exp))

    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Tensor:
        """Return the logarithm of the probability of a higher value."""
        return self._first(
            name, value, (self._log_survival_function, None), (self.cdf, lambda below: ops.log1p(-below))
        )

    def survival_function(self, value: Any, name: str = "survival_function") -> Tensor:
        """Return the probability of a higher value."""
        return self._first(name, value, (self._survival_function, None), (self.cdf, lambda below: 1.0 - below))

    def quantile(self, value: Any, name: str = "quantile") -> Tensor:
        """Return the value that is not exceeded with the given probability."""
        return self._first(name, value, (self._quantile, None))

    def _first(
        self, scope: str, value: Any, *alternatives: tuple[Callable[[Any], Any], Callable[[Any], Any] | None]
    ) -> Tensor:
        """Return the result of the first method that the class implements, converted as requested."""
        with self._name_scope(scope):
            tensor = ops.convert_to_tensor(value, name="value", dtype_hint=self.dtype)
            return self._first_defined([(functools.partial(find, tensor), make) for find, make in alternatives])

    @staticmethod
    def _first_defined(alternatives: Sequence[tuple[Callable[[], Any], Callable[[Any], Any] | None]]) -> Tensor:
        missing: NotImplementedError | None = None
        for method, make in alternatives:
            try:
                value = method()
            except NotImplementedError as exc:
                missing = missing or exc
            else:
                transformed: Tensor = value if make is None else make(value)
                return transformed
        assert missing is not None
        raise missing

    # -- statistics ------------------------------------------------------------------------------

    def mean(self, name: str = "mean") -> Tensor:
        """Return the mean."""
        with self._name_scope(name):
            return self._first_defined([(self._mean, None)])

    def mode(self, name: str = "mode") -> Tensor:
        """Return the most probable value."""
        with self._name_scope(name):
            return self._first_defined([(self._mode, None)])

    def variance(self, name: str = "variance") -> Tensor:
        """Return the variance of each component."""
        with self._name_scope(name):
            return self._first_defined([(self._variance, None), (self._stddev, ops.square)])

    def stddev(self, name: str = "stddev") -> Tensor:
        """Return the standard deviation of each component."""
        with self._name_scope(name):
            return self._first_defined([(self._stddev, None), (self._variance, ops.sqrt)])

    def covariance(self, name: str = "covariance") -> Tensor:
        """Return the covariance of the components of a vector."""
        with self._name_scope(name):
            return self._first_defined([(self._covariance, None)])

    def entropy(self, name: str = "entropy") -> Tensor:
        """Return Shannon's entropy in nats."""
        with self._name_scope(name):
            return self._first_defined([(self._entropy, None)])

    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """Return the cross entropy with another distribution in nats."""
        with self._name_scope(name):
            return kullback_leibler.cross_entropy(self, other, self.allow_nan_stats)

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """Return the Kullback-Leibler divergence from another distribution in nats."""
        with self._name_scope(name):
            return kullback_leibler.kl_divergence(self, other, self.allow_nan_stats)

    def __str__(self) -> str:
        shapes = "".join(
            f", {what}={shape}"
            for what, shape in (("batch_shape", self.batch_shape), ("event_shape", self.event_shape))
            if shape.rank is not None
        )
        return f'{type(self).__name__}("{self.name}"{shapes}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} '{self.name}' batch_shape={self.batch_shape} "
            f"event_shape={self.event_shape} dtype={self.dtype.name}>"
        )

    @contextlib.contextmanager
    def _name_scope(self, name: str) -> Iterator[None]:
        with name_scope(self.name), name_scope(name):
            yield

    # -- methods of subclasses -------------------------------------------------------------------

    _batch_shape_tensor = _missing("batch_shape_tensor")
    _event_shape_tensor = _missing("event_shape_tensor")
    _sample_n = _missing("sample_n")
    _log_prob = _missing("log_prob")
    _prob = _missing("prob")
    _log_cdf = _missing("log_cdf")
    _cdf = _missing("cdf")
    _log_survival_function = _missing("log_survival_function")
    _survival_function = _missing("survival_function")
    _quantile = _missing("quantile")
    _entropy = _missing("entropy")
    _mean = _missing("mean")
    _mode = _missing("mode")
    _variance = _missing("variance")
    _stddev = _missing("stddev")
    _covariance = _missing("covariance")

    def _batch_shape(self) -> Any:
        return None

    def _event_shape(self) -> Any:
        return None
