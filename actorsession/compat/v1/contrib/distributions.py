"""``tf.contrib.distributions``: those of ``tf.distributions``, and further ones, of vectors above all.

They follow the rules of ``compat.v1.distributions``.
"""

from __future__ import annotations

import math
from typing import Any

from actorsession import ops, opsets
from actorsession.compat.v1 import distributions as scalars
from actorsession.compat.v1.distributions import *  # noqa: F403
from actorsession.compat.v1.distributions import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    RegisterKL,
    kl_divergence,
)
from actorsession.compat.v1.distributions.checks import logits_and_probs, parameters
from actorsession.compat.v1.distributions.scalar import ScalarDistribution
from actorsession.compat.v1.forms import name_scope
from actorsession.graph.dtypes import as_dtype, int32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.namespaces import nn

__all__ = [
    *scalars.__all__,
    "ExpRelaxedOneHotCategorical", "Independent", "Logistic", "MultivariateNormalDiag",
    "MultivariateNormalDiagWithSoftplusScale", "MultivariateNormalFullCovariance",
    "MultivariateNormalTriL", "NormalWithSoftplusScale", "OneHotCategorical", "Poisson",
    "RelaxedOneHotCategorical", "softplus_inverse",
]  # fmt: skip

_LOG_2_PI = math.log(2.0 * math.pi)


def softplus_inverse(x: Any, name: str | None = None) -> Tensor:
    """Return that of which ``x`` is the softplus.

    Args:
        x: positive numbers.
        name: name scope of the new nodes.
    """
    with name_scope(name, "softplus_inverse", [x]):
        given = ops.convert_to_tensor(x, name="x")
        return given + ops.log(-ops.expm1(-given))


class _OfVectors(Distribution):
    """A distribution of vectors: all but the last dimension of a tensor of parameters are the batch's."""

    def _shaped(self) -> Tensor:
        """A tensor of the shape of a sample of the whole batch."""
        raise NotImplementedError

    def _batch_shape(self) -> Any:
        shape = self._shaped().shape
        return None if shape.rank is None else shape[:-1]

    def _event_shape(self) -> Any:
        shape = self._shaped().shape
        return [None] if shape.rank is None else shape[-1:]

    def _batch_shape_tensor(self) -> Tensor:
        return ops.shape(self._shaped())[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return ops.shape(self._shaped())[-1:]

    def _drawn_shape(self, count: Any) -> Tensor:
        return ops.concat([ops.reshape(count, [1]), ops.shape(self._shaped())], 0)


# -- normal distributions of vectors -----------------------------------------------------------------


class _Normal(_OfVectors):
    """A normal distribution of vectors: of ``loc + scale @ z``, with standard normal ``z``."""

    def __init__(
        self, loc: Any, scale: Tensor, given: dict[str, Any], rest: tuple[bool, bool], name: Any
    ) -> None:
        zeros = ops.zeros_like(self._row(scale))
        self._mean_of_all = zeros if loc is None else zeros + loc
        self._given_loc = loc
        self._scale = scale
        super().__init__(
            scale.dtype, FULLY_REPARAMETERIZED, *rest, given, [self._mean_of_all, scale], name
        )

    def _row(self, scale: Tensor) -> Tensor:
        """A tensor of the shape of the batch's samples as far as the scale says it."""
        raise NotImplementedError

    def _times_scale(self, z: Tensor) -> Tensor:
        raise NotImplementedError

    def _without_scale(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _log_abs_det(self) -> Tensor:
        """The logarithm of the determinant of the scale's size."""
        raise NotImplementedError

    @property
    def loc(self) -> Any:
        """The means, as they were given."""
        return self._given_loc

    def _shaped(self) -> Tensor:
        return self._mean_of_all

    def _count(self) -> Tensor:
        return ops.cast(ops.shape(self._mean_of_all)[-1], self.dtype)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = ops.random_normal(self._drawn_shape(n), dtype=self.dtype, seed=seed)
        return self._mean_of_all + self._times_scale(drawn)

    def _log_prob(self, x: Tensor) -> Tensor:
        z = self._without_scale(x - self._mean_of_all)
        squares = ops.reduce_sum(ops.square(z), -1)
        return -0.5 * (squares + self._count() * _LOG_2_PI) - self._log_abs_det()

    def _entropy(self) -> Tensor:
        found = 0.5 * self._count() * (1.0 + _LOG_2_PI) + self._log_abs_det()
        return found + ops.zeros(self.batch_shape_tensor(), self.dtype)

    def _mean(self) -> Tensor:
        return ops.identity(self._mean_of_all)

    def _mode(self) -> Tensor:
        return ops.identity(self._mean_of_all)


class MultivariateNormalDiag(_Normal):
    """Normal distributions of vectors whose components are independent.

    Args:
        loc: the means; zero if omitted.
        scale_diag: the standard deviations; one if omitted.
        scale_identity_multiplier: what is added to all of them, and takes their place without them.
        validate_args: whether to check in each step that the deviations are positive.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: if neither the means nor the deviations are given.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ) -> None:
        made_with = dict(locals())
        del made_with["__class__"]
        with name_scope(name, values=[loc, scale_diag, scale_identity_multiplier]) as name:
            mean = None if loc is None else ops.convert_to_tensor(loc, name="loc")
            scale = _diagonal(mean, scale_diag, scale_identity_multiplier)
            if validate_args:
                (scale,) = parameters([ops.assert_positive(scale)], scale=scale)
            super().__init__(mean, scale, made_with, (validate_args, allow_nan_stats), name)

    def _row(self, scale: Tensor) -> Tensor:
        return scale

    def _times_scale(self, z: Tensor) -> Tensor:
        return z * self._scale

    def _without_scale(self, x: Tensor) -> Tensor:
        return x / self._scale

    def _log_abs_det(self) -> Tensor:
        logs = ops.log(ops.abs(self._scale))
        return ops.reduce_sum(logs + ops.zeros_like(self._mean_of_all), -1)

    def _stddev(self) -> Tensor:
        return ops.abs(self._scale) + ops.zeros_like(self._mean_of_all)

    def _variance(self) -> Tensor:
        return ops.square(self._scale) + ops.zeros_like(self._mean_of_all)

    def _covariance(self) -> Tensor:
        return ops.matrix_diag(self._variance())


def _diagonal(mean: Tensor | None, diagonal: Any, multiplier: Any) -> Tensor:
    """The standard deviations of independent components."""
    dtype = None if mean is None else mean.dtype
    if diagonal is not None:
        found = ops.convert_to_tensor(diagonal, dtype, name="scale_diag")
        return found if multiplier is None else found + ops.expand_dims(multiplier, -1)
    if mean is None:
        raise ValueError("one of loc and scale_diag is needed: they say how long the vectors are")
    ones = ops.ones(ops.shape(mean)[-1:], mean.dtype)
    return ones if multiplier is None else ones * ops.expand_dims(multiplier, -1)


class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
    """``MultivariateNormalDiag`` whose deviations are the softplus of what is given.

    Args:
        loc: the means.
        scale_diag: the deviations before the softplus.
        validate_args: whether to check in each step that the deviations are positive.
        allow_nan_stats: accepted for compatibility.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self,
        loc: Any,
        scale_diag: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagWithSoftplusScale",
    ) -> None:
        made_with = dict(locals())
        del made_with["__class__"]
        with name_scope(name, values=[scale_diag]) as name:
            super().__init__(
                loc, nn.softplus(scale_diag), None, validate_args, allow_nan_stats, name
            )
        self._parameters = made_with


class MultivariateNormalTriL(_Normal):
    """Normal distributions of vectors, by a triangular root of their covariance.

    Args:
        loc: the means; zero if omitted.
        scale_tril: lower triangular matrices whose products with their transposes are the covariances.
        validate_args: whether to check in each step that their diagonals are positive.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: if neither is given.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_tril: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ) -> None:
        made_with = dict(locals())
        del made_with["__class__"]
        with name_scope(name, values=[loc, scale_tril]) as name:
            mean = None if loc is None else ops.convert_to_tensor(loc, name="loc")
            if scale_tril is None:
                scale = ops.matrix_diag(_diagonal(mean, None, None))
            else:
                dtype = None if mean is None else mean.dtype
                given = ops.convert_to_tensor(scale_tril, dtype, name="scale_tril")
                scale = ops.matrix_band_part(given, -1, 0)
            if validate_args:
                checks = [ops.assert_positive(ops.matrix_diag_part(scale))]
                (scale,) = parameters(checks, scale=scale)
            super().__init__(mean, scale, made_with, (validate_args, allow_nan_stats), name)

    def _row(self, scale: Tensor) -> Tensor:
        return ops.matrix_diag_part(scale)

    def _times_scale(self, z: Tensor) -> Tensor:
        return ops.squeeze(ops.matmul(self._spread(z), z[..., None]), -1)

    def _without_scale(self, x: Tensor) -> Tensor:
        found = ops.matrix_triangular_solve(self._spread(x), x[..., None])
        return ops.squeeze(found, -1)

    def _spread(self, x: Tensor) -> Tensor:
        """The matrices, once for each of the vectors ``x``."""
        size = ops.shape(self._scale)[-2:]
        return ops.broadcast_to(self._scale, ops.concat([ops.shape(x)[:-1], size], 0))

    def _log_abs_det(self) -> Tensor:
        logs = ops.log(ops.abs(ops.matrix_diag_part(self._scale)))
        return ops.reduce_sum(logs + ops.zeros_like(self._mean_of_all), -1)

    def _covariance(self) -> Tensor:
        scale = self._spread(self._mean_of_all)
        return ops.matmul(scale, scale, transpose_b=True)

    def _variance(self) -> Tensor:
        return ops.matrix_diag_part(self._covariance())


class MultivariateNormalFullCovariance(MultivariateNormalTriL):
    """Normal distributions of vectors, by their covariance.

    Args:
        loc: the means; zero if omitted.
        covariance_matrix: symmetric positive definite matrices; the identity if omitted.
        validate_args: whether to check in each step that the matrices are symmetric.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self,
        loc: Any = None,
        covariance_matrix: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ) -> None:
        made_with = dict(locals())
        del made_with["__class__"]
        with name_scope(name, values=[loc, covariance_matrix]) as name:
            root = None
            if covariance_matrix is not None:
                given = ops.convert_to_tensor(covariance_matrix, name="covariance_matrix")
                if validate_args:
                    turned = ops.matrix_transpose(given)
                    same = ops.assert_near(given, turned, message="Matrix was not symmetric.")
                    (given,) = parameters([same], covariance_matrix=given)
                root = ops.cholesky(given)
            super().__init__(loc, root, validate_args, allow_nan_stats, name)
        self._parameters = made_with


@RegisterKL(_Normal, _Normal)
def _kl_normals(a: Any, b: Any, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_mvn"):
        if isinstance(a, MultivariateNormalDiag) and isinstance(b, MultivariateNormalDiag):
            ratio = ops.square(a._scale / b._scale) + ops.zeros_like(b._mean_of_all)
            spread = ops.reduce_sum(ratio, -1)
        else:
            root = _matrix(a)
            apart = ops.matrix_triangular_solve(_matrix(b), root)
            spread = ops.reduce_sum(ops.square(apart), [-2, -1])
        z = b._without_scale(a._mean_of_all - b._mean_of_all)
        squares = ops.reduce_sum(ops.square(z), -1)
        found: Tensor = 0.5 * (spread + squares - a._count())
        return found + b._log_abs_det() - a._log_abs_det()


def _matrix(normal: Any) -> Tensor:
    is_full = isinstance(normal, MultivariateNormalTriL)
    found: Tensor = normal._spread(normal._mean_of_all) if is_full else normal._stddev()
    return found if is_full else ops.matrix_diag(found)


# -- classes as vectors --------------------------------------------------------------------------------


class OneHotCategorical(_OfVectors):
    """Distributions of classes, each a vector with a one at its place.

    Args:
        logits: logarithms of weights of the classes; or
        probs: their probabilities.
        dtype: the dtype of samples.
        validate_args: whether to check parameters.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: unless exactly one of ``logits`` and ``probs`` is given.
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
        made_with = dict(locals())
        with name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = logits_and_probs(
                logits, probs, name, multidimensional=True, validate_args=validate_args
            )
        super().__init__(
            as_dtype(dtype), NOT_REPARAMETERIZED, validate_args, allow_nan_stats, made_with,
            [self._logits, self._probs], name,
        )  # fmt: skip

    @property
    def logits(self) -> Tensor:
        """Logarithms of weights of the classes."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._probs

    @property
    def event_size(self) -> Tensor:
        """The number of classes."""
        return ops.shape(self._logits)[-1]

    def _shaped(self) -> Tensor:
        return self._logits

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        classes = self.event_size
        rows = ops.reshape(self._logits, ops.stack([-1, classes]))
        drawn = ops.transpose(ops.multinomial(rows, n, seed=seed))
        hot = ops.one_hot(drawn, classes, dtype=self.dtype)
        return ops.reshape(hot, self._drawn_shape(n))

    def _log_prob(self, x: Tensor) -> Tensor:
        logs = nn.log_softmax(self._logits)
        return ops.reduce_sum(logs * ops.cast(x, logs.dtype), -1)

    def _entropy(self) -> Tensor:
        return -ops.reduce_sum(nn.log_softmax(self._logits) * self._probs, -1)

    def _mean(self) -> Tensor:
        return ops.identity(self._probs)

    def _variance(self) -> Tensor:
        return self._probs * (1.0 - self._probs)

    def _covariance(self) -> Tensor:
        outer = ops.matmul(self._probs[..., None], self._probs[..., None, :])
        return ops.matrix_set_diag(-outer, self._variance())

    def _mode(self) -> Tensor:
        return ops.one_hot(ops.argmax(self._logits, -1), self.event_size, dtype=self.dtype)


@RegisterKL(OneHotCategorical, OneHotCategorical)
def _kl_classes(a: OneHotCategorical, b: OneHotCategorical, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_categorical_categorical"):
        apart = nn.log_softmax(a.logits) - nn.log_softmax(b.logits)
        return ops.reduce_sum(a.probs * apart, -1)


class ExpRelaxedOneHotCategorical(_OfVectors):
    """Distributions of logarithms of points that are nearly classes: of softened, noisy logits.

    Args:
        temperature: how soft they are; close to zero they are classes.
        logits: logarithms of weights of the classes; or
        probs: their probabilities.
        validate_args: whether to check parameters.
        allow_nan_stats: accepted for compatibility.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: unless exactly one of ``logits`` and ``probs`` is given.
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExpRelaxedOneHotCategorical",
    ) -> None:
        made_with = dict(locals())
        with name_scope(name, values=[logits, probs, temperature]) as name:
            self._logits, self._probs = logits_and_probs(
                logits, probs, name, multidimensional=True, validate_args=validate_args
            )
            self._temperature = ops.convert_to_tensor(temperature, self._logits.dtype)
            self._heat = self._temperature[..., None]
        super().__init__(
            self._logits.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, made_with,
            [self._logits, self._probs, self._temperature], name,
        )  # fmt: skip

    @property
    def temperature(self) -> Tensor:
        """How soft the classes are."""
        return self._temperature

    @property
    def logits(self) -> Tensor:
        """Logarithms of weights of the classes."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._probs

    def _shaped(self) -> Tensor:
        return self._logits

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        tiny = float(self.dtype.np_dtype.type(0) + 1.2e-38)
        uniform = ops.random_uniform(
            self._drawn_shape(n), minval=tiny, maxval=1.0, dtype=self.dtype, seed=seed
        )
        noisy = (self._logits - ops.log(-ops.log(uniform))) / self._heat
        return nn.log_softmax(noisy)

    def _log_prob(self, x: Tensor) -> Tensor:
        count = ops.cast(ops.shape(self._logits)[-1], self.dtype)
        norm = opsets.lgamma(count) + (count - 1.0) * ops.log(self._temperature)
        softened = nn.log_softmax(self._logits - x * self._heat)
        return ops.reduce_sum(softened, -1) + norm


class RelaxedOneHotCategorical(ExpRelaxedOneHotCategorical):
    """Distributions of points that are nearly classes, with positive components whose sum is one.

    Args:
        temperature: how soft they are; close to zero they are classes.
        logits: logarithms of weights of the classes; or
        probs: their probabilities.
        validate_args: whether to check parameters.
        allow_nan_stats: accepted for compatibility.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedOneHotCategorical",
    ) -> None:
        super().__init__(temperature, logits, probs, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return ops.exp(super()._sample_n(n, seed))

    def _log_prob(self, x: Tensor) -> Tensor:
        logs = ops.log(x)
        return super()._log_prob(logs) - ops.reduce_sum(logs, -1)


# -- scalars ---------------------------------------------------------------------------------------------


class NormalWithSoftplusScale(scalars.Normal):
    """``Normal`` whose scale is the softplus of what is given.

    Args:
        loc: the means.
        scale: the deviations before the softplus.
        validate_args: whether to check in each step that the scales are positive.
        allow_nan_stats: accepted for compatibility.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        made_with = dict(locals())
        del made_with["__class__"]
        with name_scope(name, values=[scale]) as name:
            super().__init__(loc, nn.softplus(scale), validate_args, allow_nan_stats, name)
        self._parameters = made_with


class Logistic(ScalarDistribution):
    """Logistic distributions.

    Args:
        loc: the means.
        scale: the scales.
        validate_args: whether to check in each step that the scales are positive.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.
    """

    _PARAMETERS = ("loc", "scale")

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Logistic",
    ) -> None:
        made_with = dict(locals())
        with name_scope(name, values=[loc, scale]) as name:
            checks = [ops.assert_positive(scale)] if validate_args else []
            self._loc, self._scale = parameters(checks, loc=loc, scale=scale)
        super().__init__(
            self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, made_with,
            [self._loc, self._scale], name,
        )  # fmt: skip

    @property
    def loc(self) -> Tensor:
        """The mean."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The scale."""
        return self._scale

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = ops.random_uniform(
            self._drawn_shape(n), minval=1.2e-38, maxval=1.0, dtype=self.dtype, seed=seed
        )
        return (ops.log(drawn) - ops.log1p(-drawn)) * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return -z - 2.0 * nn.softplus(-z) - ops.log(self.scale)

    def _log_cdf(self, x: Tensor) -> Tensor:
        return -nn.softplus(-self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return ops.sigmoid(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return -nn.softplus(self._z(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return ops.sigmoid(-self._z(x))

    def _entropy(self) -> Tensor:
        return 2.0 + ops.log(self.scale + ops.zeros_like(self.loc))

    def _mean(self) -> Tensor:
        return self.loc + ops.zeros_like(self.scale)

    def _stddev(self) -> Tensor:
        return (self.scale + ops.zeros_like(self.loc)) * math.pi / math.sqrt(3.0)

    def _mode(self) -> Tensor:
        return self._mean()


class Poisson(ScalarDistribution):
    """Poisson distributions.

    Args:
        rate: the rates; or
        log_rate: their logarithms.
        interpolate_nondiscrete: whether values between whole numbers have probabilities too.
        validate_args: whether to check in each step that rates are positive.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: unless exactly one of ``rate`` and ``log_rate`` is given.
    """

    _PARAMETERS = ("rate",)

    def __init__(
        self,
        rate: Any = None,
        log_rate: Any = None,
        interpolate_nondiscrete: bool = True,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        made_with = dict(locals())
        if (rate is None) == (log_rate is None):
            raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
        with name_scope(name, values=[rate, log_rate]) as name:
            if log_rate is None:
                checks = [ops.assert_positive(rate)] if validate_args else []
                (self._rate,) = parameters(checks, rate=rate)
                self._log_rate = ops.log(self._rate, name="log_rate")
            else:
                (self._log_rate,) = parameters([], log_rate=log_rate)
                self._rate = ops.exp(self._log_rate, name="rate")
        self._between = interpolate_nondiscrete
        super().__init__(
            self._rate.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, made_with,
            [self._rate], name,
        )  # fmt: skip

    @property
    def rate(self) -> Tensor:
        """The rate."""
        return self._rate

    @property
    def log_rate(self) -> Tensor:
        """The logarithm of the rate."""
        return self._log_rate

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return ops.random_poisson(self._rate, ops.reshape(n, [1]), dtype=self.dtype, seed=seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        found = x * self._log_rate - opsets.lgamma(1.0 + x) - self._rate
        if self._between:
            return found
        whole = ops.logical_and(ops.greater_equal(x, 0.0), ops.equal(ops.floor(x), x))
        return ops.where_v2(whole, found, ops.constant(-math.inf, self.dtype))

    def _mean(self) -> Tensor:
        return ops.identity(self._rate)

    def _variance(self) -> Tensor:
        return ops.identity(self._rate)

    def _mode(self) -> Tensor:
        return ops.floor(self._rate)


# -- batches as events -------------------------------------------------------------------------------------


class Independent(Distribution):
    """A distribution of several values of another one, which are independent of each other.

    Args:
        distribution: the other one.
        reinterpreted_batch_ndims: how many of the last dimensions of its batch become those of a value; all
            but the first if omitted.
        validate_args: accepted for compatibility.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self,
        distribution: Distribution,
        reinterpreted_batch_ndims: int | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        made_with = dict(locals())
        self._of = distribution
        rank = distribution.batch_shape.rank
        if reinterpreted_batch_ndims is None:
            if rank is None:
                raise ValueError("reinterpreted_batch_ndims is needed: the batch's rank is unknown")
            reinterpreted_batch_ndims = max(0, rank - 1)
        if rank is not None and reinterpreted_batch_ndims > rank:
            raise ValueError(
                f"reinterpreted_batch_ndims({reinterpreted_batch_ndims}) cannot exceed "
                f"distribution.batch_ndims({rank})"
            )
        self._dimensions = int(reinterpreted_batch_ndims)
        super().__init__(
            distribution.dtype, distribution.reparameterization_type, validate_args,
            distribution.allow_nan_stats, made_with, distribution._graph_parents,
            name or f"Independent{str(distribution.name).rstrip('/')}",
        )  # fmt: skip

    @property
    def distribution(self) -> Distribution:
        """The distribution of one of the values."""
        return self._of

    @property
    def reinterpreted_batch_ndims(self) -> int:
        """How many dimensions of its batch are those of a value."""
        return self._dimensions

    def _split(self) -> tuple[TensorShape, TensorShape] | None:
        shape = self._of.batch_shape
        if shape.rank is None:
            return None
        at = shape.rank - self._dimensions
        return shape[:at], shape[at:]

    def _batch_shape(self) -> Any:
        parts = self._split()
        return None if parts is None else parts[0]

    def _event_shape(self) -> Any:
        parts = self._split()
        return None if parts is None else parts[1].concatenate(self._of.event_shape)

    def _batch_shape_tensor(self) -> Tensor:
        shape = self._of.batch_shape_tensor()
        return shape[: ops.size(shape) - self._dimensions]

    def _event_shape_tensor(self) -> Tensor:
        shape = self._of.batch_shape_tensor()
        own = shape[ops.size(shape) - self._dimensions :]
        return ops.concat([own, self._of.event_shape_tensor()], 0)

    def _summed(self, values: Tensor) -> Tensor:
        if not self._dimensions:
            return values
        return ops.reduce_sum(values, list(range(-self._dimensions, 0)))

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return self._of.sample(n, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._summed(self._of.log_prob(x))

    def _entropy(self) -> Tensor:
        return self._summed(self._of.entropy())

    def _mean(self) -> Tensor:
        return self._of.mean()

    def _variance(self) -> Tensor:
        return self._of.variance()

    def _stddev(self) -> Tensor:
        return self._of.stddev()

    def _mode(self) -> Tensor:
        return self._of.mode()


@RegisterKL(Independent, Independent)
def _kl_independent(a: Independent, b: Independent, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_independent"):
        return a._summed(kl_divergence(a.distribution, b.distribution))
