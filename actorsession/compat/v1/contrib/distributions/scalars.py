"""Distributions of numbers beyond those of ``tf.distributions``."""

from __future__ import annotations

import math
from typing import Any

from actorsession import ops, opsets
from actorsession.compat.v1 import distributions as known
from actorsession.compat.v1.contrib.distributions.families import (
    Family,
    nan_unless,
    parameter,
    shared_arguments,
    uniform,
)
from actorsession.compat.v1.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.dtypes import int32
from actorsession.graph.operation import Tensor
from actorsession.namespaces import math as numbers
from actorsession.namespaces import nn

__all__ = [
    "BetaWithSoftplusConcentration",
    "Cauchy",
    "Chi2",
    "Chi2WithAbsDf",
    "Deterministic",
    "ExponentialWithSoftplusRate",
    "GammaWithSoftplusConcentrationRate",
    "HalfNormal",
    "InverseGamma",
    "InverseGammaWithSoftplusConcentrationRate",
    "LaplaceWithSoftplusScale",
    "Logistic",
    "NormalWithSoftplusScale",
    "StudentTWithAbsDfSoftplusScale",
    "VectorDeterministic",
]


class _Located(Family):
    """A distribution with a place and a width."""

    _PARAMETERS = ("loc", "scale")
    _POSITIVE = ("scale",)
    loc = parameter("loc", "The place.")
    scale = parameter("scale", "The width.")

    def _z(self, x: Tensor) -> Any:
        return (x - self.loc) / self.scale

    def _mode(self) -> Any:
        return self._spread(self.loc)


class Cauchy(_Located):
    """Cauchy distributions, which have no mean.

    Args:
        loc: medians, of a floating dtype.
        scale: half the widths at half of the greatest density.
        validate_args: whether to check in each step that the scales are positive.
        allow_nan_stats: whether the mean, which is not defined, is NaN; otherwise it fails the step.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Cauchy"
    ) -> None:
        self._begin(locals())

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        return self._quantile(uniform(self, n, seed))

    def _log_prob(self, x: Tensor) -> Any:
        return -ops.log1p(ops.square(self._z(x))) - math.log(math.pi) - ops.log(self.scale)

    def _cdf(self, x: Tensor) -> Any:
        return ops.atan(self._z(x)) / math.pi + 0.5

    def _quantile(self, p: Tensor) -> Any:
        return self.loc + self.scale * ops.tan(math.pi * (p - 0.5))

    def _entropy(self) -> Any:
        return self._spread(math.log(4 * math.pi) + ops.log(self.scale))

    def _undefined(self) -> Any:
        nowhere = ops.zeros_like(self._mode()) > 1
        return nan_unless(self, nowhere, self._mode(), "a Cauchy distribution has no moments")

    _mean = _variance = _stddev = _undefined


class Logistic(_Located):
    """Logistic distributions.

    Args:
        loc: means, of a floating dtype.
        scale: widths.
        validate_args: whether to check in each step that the scales are positive.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Logistic"
    ) -> None:
        self._begin(locals())

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = uniform(self, n, seed)
        return self.loc + self.scale * (ops.log(drawn) - ops.log1p(-drawn))

    def _log_prob(self, x: Tensor) -> Any:
        z = self._z(x)
        return -z - 2.0 * nn.softplus(-z) - ops.log(self.scale)

    def _log_cdf(self, x: Tensor) -> Any:
        return -nn.softplus(-self._z(x))

    def _cdf(self, x: Tensor) -> Any:
        return ops.sigmoid(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Any:
        return -nn.softplus(self._z(x))

    def _survival_function(self, x: Tensor) -> Any:
        return ops.sigmoid(-self._z(x))

    def _quantile(self, p: Tensor) -> Any:
        return self.loc + self.scale * (ops.log(p) - ops.log1p(-p))

    def _entropy(self) -> Any:
        return self._spread(2.0 + ops.log(self.scale))

    def _mean(self) -> Any:
        return self._mode()

    def _stddev(self) -> Any:
        return self._spread(self.scale * math.pi / math.sqrt(3.0))


class HalfNormal(Family):
    """Normal distributions around 0 without the sign.

    Args:
        scale: the standard deviations of the normal distributions.
        validate_args: whether to check in each step that the scales are positive.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.
    """

    _PARAMETERS = _POSITIVE = ("scale",)
    scale = parameter("scale", "The standard deviation of the normal distribution.")

    def __init__(
        self, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "HalfNormal"
    ) -> None:
        self._begin(locals())

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        drawn = ops.random_normal(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        return ops.abs(drawn * self.scale)

    def _prob(self, x: Tensor) -> Any:
        top = math.sqrt(2.0 / math.pi) / self.scale
        return top * ops.exp(-0.5 * ops.square(x / self.scale)) * ops.cast(x >= 0, self.dtype)

    def _cdf(self, x: Tensor) -> Any:
        return ops.erf(nn.relu(x) / self.scale / math.sqrt(2.0))

    def _quantile(self, p: Tensor) -> Any:
        return math.sqrt(2.0) * self.scale * numbers.erfinv(p)

    def _entropy(self) -> Any:
        return 0.5 * ops.log(math.pi * ops.square(self.scale) / 2.0) + 0.5

    def _mean(self) -> Any:
        return self.scale * math.sqrt(2.0 / math.pi)

    def _mode(self) -> Any:
        return ops.zeros_like(self.scale)

    def _variance(self) -> Any:
        return ops.square(self.scale) * (1.0 - 2.0 / math.pi)


class InverseGamma(Family):
    """Distributions of what is 1 divided by a number of a gamma distribution.

    Args:
        concentration: shapes, of a floating dtype.
        rate: the inverse scales of the gamma distributions.
        validate_args: whether to check parameters and values in each step.
        allow_nan_stats: whether undefined statistics are NaN; otherwise they fail the step.
        name: the prefix of the names of the nodes.
    """

    _PARAMETERS = _POSITIVE = ("concentration", "rate")
    _KIND = NOT_REPARAMETERIZED
    concentration = parameter("concentration", "The shape.")
    rate = parameter("rate", "The inverse scale of the gamma distribution.")

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:
        self._begin(locals())

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        shape = ops.reshape(n, [1])
        drawn = ops.random_gamma(shape, self.concentration, self.rate, self.dtype, seed)
        return 1.0 / drawn

    def _log_prob(self, x: Tensor) -> Any:
        norm = opsets.lgamma(self.concentration) - self.concentration * ops.log(self.rate)
        return -(1.0 + self.concentration) * ops.log(x) - self.rate / x - norm

    def _cdf(self, x: Tensor) -> Any:
        shape = self.concentration + ops.zeros_like(x * self.rate)
        return opsets.igammac(shape, self.rate / x + ops.zeros_like(shape))

    def _entropy(self) -> Any:
        shape = self.concentration
        digamma = (1.0 + shape) * opsets.digamma(shape)
        return shape + ops.log(self.rate) + opsets.lgamma(shape) - digamma

    def _mean(self) -> Any:
        mean = self.rate / (self.concentration - 1.0)
        return nan_unless(self, self._spread(self.concentration) > 1.0, mean, "mean undefined")

    def _variance(self) -> Any:
        less = self.concentration - 1.0
        value = ops.square(self.rate) / ops.square(less) / (less - 1.0)
        return nan_unless(self, self._spread(self.concentration) > 2.0, value, "variance undefined")

    def _mode(self) -> Any:
        return self.rate / (1.0 + self.concentration)


class Chi2(known.Gamma):
    """Chi-squared distributions.

    Args:
        df: degrees of freedom, of a floating dtype.
        validate_args: whether to check parameters and values in each step.
        allow_nan_stats: whether undefined modes are NaN; otherwise they fail the step.
        name: the prefix of the names of the nodes.
    """

    def __init__(self, df: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2") -> None:
        made_with = shared_arguments(locals())
        with name_scope(name, values=[df]) as name:
            self._df = ops.convert_to_tensor(df, name="df")
            half = ops.constant(0.5, self._df.dtype, name="half")
        super().__init__(half * self._df, half, validate_args, allow_nan_stats, name)
        self._parameters = made_with

    df = parameter("df", "The degrees of freedom.")


# -- points ----------------------------------------------------------------------------------------


class _Point(Distribution):
    """The distribution of one value."""

    _RANK = 0

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = None,
    ) -> None:
        made_with = shared_arguments(locals())
        with name_scope(name or type(self).__name__, values=[loc, atol, rtol]) as scope:
            self._loc = ops.convert_to_tensor(loc, name="loc")
            zero = ops.zeros([], self._loc.dtype)
            atol = zero if atol is None else ops.convert_to_tensor(atol, self._loc.dtype)
            rtol = zero if rtol is None else ops.convert_to_tensor(rtol, self._loc.dtype)
            self._slack = atol + rtol * ops.abs(self._loc)
        super().__init__(
            self._loc.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, made_with, [self._loc], scope
        )

    loc = parameter("loc", "The value.")

    def _batch_shape(self) -> Any:
        shape = self._loc.shape
        return None if shape.rank is None else shape[: shape.rank - self._RANK]

    def _batch_shape_tensor(self) -> Any:
        shape = ops.shape(self._loc)
        return shape[: ops.rank(self._loc) - self._RANK]

    def _event_shape(self) -> Any:
        shape = self._loc.shape
        return None if shape.rank is None else shape[shape.rank - self._RANK :]

    def _event_shape_tensor(self) -> Any:
        if not self._RANK:
            return ops.constant([], int32)
        return ops.shape(self._loc)[-self._RANK :]

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        shape = ops.concat([ops.reshape(n, [1]), ops.shape(self._loc)], 0)
        return ops.broadcast_to(self._loc, shape)

    def _prob(self, x: Tensor) -> Any:
        near: Any = ops.abs(x - self._loc) <= self._slack
        if self._RANK:
            near = ops.reduce_all(near, -1)
        return ops.cast(near, self.dtype)

    def _mean(self) -> Any:
        return ops.identity(self._loc)

    _mode = _mean

    def _variance(self) -> Any:
        return ops.zeros_like(self._loc)

    def _entropy(self) -> Any:
        return ops.zeros(self.batch_shape_tensor(), self.dtype)


class Deterministic(_Point):
    """The distribution of one number.

    Args:
        loc: the number.
        atol: how far a value may be from it to be equal.
        rtol: the same as a share of the number.
        validate_args: accepted for compatibility.
        allow_nan_stats: accepted for compatibility.
        name: the prefix of the names of the nodes.
    """

    def _cdf(self, x: Tensor) -> Any:
        return ops.cast(x >= self._loc - self._slack, self.dtype)


class VectorDeterministic(_Point):
    """The distribution of one vector; arguments as for ``Deterministic``."""

    _RANK = 1


# -- parameters of any sign ------------------------------------------------------------------------


def _with(kind: Any, name: str, **changed: Any) -> Any:
    """Return a class whose parameters are made positive.

    Args:
        kind: the class of distributions that it makes.
        name: its name.
        changed: what makes each parameter positive.
    """
    import inspect

    signature = inspect.signature(kind.__init__)
    renamed = [each.replace(default=name) if each.name == "name" else each for each in signature.parameters.values()]
    signature = signature.replace(parameters=renamed)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        del arguments["self"]
        with name_scope(arguments["name"]) as scope:
            positive = {each: make(ops.convert_to_tensor(arguments[each])) for each, make in changed.items()}
        kind.__init__(self, **{**arguments, **positive, "name": scope})
        self._parameters = arguments

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    text = f"``{kind.__name__}`` with {', '.join(changed)} made positive first."
    return type(name, (kind,), {"__init__": __init__, "__doc__": text, "__module__": __name__})


_soft = nn.softplus


def _whole(df: Any) -> Any:
    return ops.floor(ops.abs(df))


NormalWithSoftplusScale = _with(known.Normal, "NormalWithSoftplusScale", scale=_soft)
LaplaceWithSoftplusScale = _with(known.Laplace, "LaplaceWithSoftplusScale", scale=_soft)
ExponentialWithSoftplusRate = _with(known.Exponential, "ExponentialWithSoftplusRate", rate=_soft)
GammaWithSoftplusConcentrationRate = _with(
    known.Gamma, "GammaWithSoftplusConcentrationRate", concentration=_soft, rate=_soft
)
BetaWithSoftplusConcentration = _with(
    known.Beta, "BetaWithSoftplusConcentration", concentration1=_soft, concentration0=_soft
)
InverseGammaWithSoftplusConcentrationRate = _with(
    InverseGamma, "InverseGammaWithSoftplusConcentrationRate", concentration=_soft, rate=_soft
)
StudentTWithAbsDfSoftplusScale = _with(known.StudentT, "StudentTWithAbsDfSoftplusScale", df=_whole, scale=_soft)
Chi2WithAbsDf = _with(Chi2, "Chi2WithAbsDf", df=_whole)
