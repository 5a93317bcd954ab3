"""Normal distributions of vectors, whose components depend on each other or do not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib.distributions.families import shared_arguments
from actorsession.compat.v1.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from actorsession.compat.v1.distributions.kullback_leibler import RegisterKL
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.graph import control_dependencies
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.namespaces import nn

__all__ = [
    "MultivariateNormal",
    "MultivariateNormalDiag",
    "MultivariateNormalDiagWithSoftplusScale",
    "MultivariateNormalFullCovariance",
    "MultivariateNormalTriL",
]


class MultivariateNormal(Distribution):
    """A normal distribution of vectors ``loc + scale @ z`` of independent normal ``z``.

    The scale is a lower triangular matrix, or the diagonal of one. Subclasses call ``_begin``.
    """

    _diagonal: Tensor | None = None
    _triangle: Tensor | None = None

    def _begin(self, made_with: Mapping[str, Any], loc: Any, diagonal: Any, triangle: Any, name: str) -> None:
        """Do what a constructor does, inside of its name scope."""
        self._diagonal, self._triangle = diagonal, triangle
        scale = diagonal if triangle is None else triangle[..., 0]
        self._loc = None if loc is None else ops.convert_to_tensor(loc, scale.dtype, name="loc")
        # The shape of what is drawn, which loc and scale broadcast to.
        self._zeros = ops.zeros_like(scale if self._loc is None else scale + self._loc)
        kept = shared_arguments(made_with)
        super().__init__(
            scale.dtype, FULLY_REPARAMETERIZED, kept["validate_args"], kept["allow_nan_stats"], kept, [scale], name
        )

    @property
    def loc(self) -> Any:
        """The mean; ``None`` if there is none, which means 0."""
        return self._loc

    def _batch_shape(self) -> Any:
        shape = self._zeros.shape
        return None if shape.rank is None else shape[:-1]

    def _batch_shape_tensor(self) -> Any:
        return ops.shape(self._zeros)[:-1]

    def _event_shape(self) -> Any:
        shape = self._zeros.shape
        return TensorShape([None]) if shape.rank is None else shape[-1:]

    def _event_shape_tensor(self) -> Any:
        return ops.shape(self._zeros)[-1:]

    def _scaled(self, z: Tensor) -> Any:
        if self._triangle is None:
            return self._diagonal * z
        return ops.matmul(self._triangle, z[..., None])[..., 0]

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        shape = ops.concat([ops.reshape(n, [1]), ops.shape(self._zeros)], 0)
        drawn = ops.random_normal(shape, dtype=self.dtype, seed=seed)
        if self._triangle is None:
            return self._mean() + self._scaled(drawn)
        return self._mean() + ops.einsum("...ij,n...j->n...i", *self._alike(drawn))

    def _alike(self, drawn: Tensor) -> tuple[Tensor, Tensor]:
        assert self._triangle is not None
        size = ops.concat([ops.shape(self._zeros), ops.shape(self._zeros)[-1:]], 0)
        return ops.broadcast_to(self._triangle, size), drawn

    def _log_det(self) -> Any:
        diagonal = self._diagonal
        if self._triangle is not None:
            diagonal = ops.matrix_diag_part(self._triangle)
        return ops.reduce_sum(ops.log(ops.abs(diagonal)), -1)

    def _log_prob(self, x: Tensor) -> Any:
        apart = x - self._mean()
        if self._triangle is None:
            z = apart / self._diagonal
        else:
            size = ops.concat([ops.shape(apart), ops.shape(apart)[-1:]], 0)
            matrix = ops.broadcast_to(self._triangle, size)
            z = ops.matrix_triangular_solve(matrix, apart[..., None])[..., 0]
        size = ops.cast(self.event_shape_tensor()[0], self.dtype)
        norm = 0.5 * math.log(2.0 * math.pi) * size + self._log_det()
        return -0.5 * ops.reduce_sum(ops.square(z), -1) - norm

    def _entropy(self) -> Any:
        size = ops.cast(self.event_shape_tensor()[0], self.dtype)
        entropy = 0.5 * size * (1.0 + math.log(2.0 * math.pi)) + self._log_det()
        return entropy + ops.zeros(self.batch_shape_tensor(), self.dtype)

    def _mean(self) -> Any:
        return self._zeros if self._loc is None else self._zeros + self._loc

    _mode = _mean

    def _covariance(self) -> Any:
        if self._triangle is None:
            return ops.matrix_diag(self._variance())
        return ops.matmul(self._triangle, self._triangle, transpose_b=True)

    def _variance(self) -> Any:
        if self._triangle is None:
            return ops.square(self._diagonal)
        return ops.reduce_sum(ops.square(self._triangle), -1)

    def _stddev(self) -> Any:
        if self._diagonal is not None:
            return ops.abs(self._diagonal)
        return ops.sqrt(self._variance())

    def triangle(self) -> Tensor:
        """Return the scale as a matrix."""
        if self._triangle is not None:
            return self._triangle
        return ops.matrix_diag(self._diagonal + self._zeros)


def _log_abs_diagonal(scale_diag: Any, multiplier: Any, loc: Any, name: str) -> Tensor:
    """Return a diagonal from those that users give."""
    if scale_diag is not None:
        diagonal = ops.convert_to_tensor(scale_diag, name="scale_diag")
        if multiplier is not None:
            diagonal = diagonal + ops.convert_to_tensor(multiplier, diagonal.dtype)[..., None]
        return diagonal
    if loc is None:
        raise ValueError(f"{name}: Must specify at least one of loc and scale.")
    ones = ops.ones_like(ops.convert_to_tensor(loc, name="loc"))
    if multiplier is None:
        return ones
    return ones * ops.convert_to_tensor(multiplier, ones.dtype)[..., None]


class MultivariateNormalDiag(MultivariateNormal):
    """Normal distributions of vectors of independent components.

    Args:
        loc: means; 0 if left out.
        scale_diag: standard deviations; 1 if left out.
        scale_identity_multiplier: is added to them, or is all of them.
        validate_args: whether to check in each step that no deviation is 0.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: if neither ``loc`` nor ``scale_diag`` is given.
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
        made_with = locals()
        with name_scope(name, values=[loc, scale_diag]) as scope:
            diagonal = _log_abs_diagonal(scale_diag, scale_identity_multiplier, loc, name)
            if validate_args:
                with control_dependencies([ops.assert_positive(ops.abs(diagonal))]):
                    diagonal = ops.identity(diagonal)
            self._begin(made_with, loc, diagonal, None, scope)


class MultivariateNormalDiagWithSoftplusScale(MultivariateNormal):
    """``MultivariateNormalDiag`` with deviations that are made positive first."""

    def __init__(
        self,
        loc: Any,
        scale_diag: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagWithSoftplusScale",
    ) -> None:
        made_with = locals()
        with name_scope(name, values=[loc, scale_diag]) as scope:
            diagonal = nn.softplus(ops.convert_to_tensor(scale_diag, name="scale_diag"))
            self._begin(made_with, loc, diagonal, None, scope)


class MultivariateNormalTriL(MultivariateNormal):
    """Normal distributions of vectors ``loc + scale_tril @ z``.

    Args:
        loc: means; 0 if left out.
        scale_tril: lower triangular matrices; what is above their diagonals is ignored. The identity if left
            out.
        validate_args: accepted for compatibility.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: if neither of the two is given.
    """

    def __init__(
        self,
        loc: Any = None,
        scale_tril: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ) -> None:
        made_with = locals()
        with name_scope(name, values=[loc, scale_tril]) as scope:
            if scale_tril is None:
                self._begin(made_with, loc, _log_abs_diagonal(None, None, loc, name), None, scope)
            else:
                scale = ops.convert_to_tensor(scale_tril, name="scale_tril")
                self._begin(made_with, loc, None, ops.matrix_band_part(scale, -1, 0), scope)


class MultivariateNormalFullCovariance(MultivariateNormal):
    """Normal distributions of vectors with some covariance.

    Args:
        loc: means; 0 if left out.
        covariance_matrix: symmetric, positive definite matrices; the identity if left out.
        validate_args: whether to check in each step that they are symmetric.
        allow_nan_stats: accepted for compatibility; all statistics are defined.
        name: the prefix of the names of the nodes.

    Raises:
        ValueError: if neither of the two is given.
    """

    def __init__(
        self,
        loc: Any = None,
        covariance_matrix: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ) -> None:
        made_with = locals()
        with name_scope(name, values=[loc, covariance_matrix]) as scope:
            if covariance_matrix is None:
                self._begin(made_with, loc, _log_abs_diagonal(None, None, loc, name), None, scope)
                return
            covariance = ops.convert_to_tensor(covariance_matrix, name="covariance_matrix")
            checks = []
            if validate_args:
                message = "Matrix was not symmetric."
                checks = [ops.assert_equal(covariance, ops.matrix_transpose(covariance), message=message)]
            with control_dependencies(checks):
                self._begin(made_with, loc, None, ops.cholesky(covariance), scope)


@RegisterKL(MultivariateNormal, MultivariateNormal)
def _kl_of_normals(a: MultivariateNormal, b: MultivariateNormal, name: str | None = None) -> Any:
    with name_scope(name, "kl_mvn_mvn"):
        if a._diagonal is not None and b._diagonal is not None:
            ratio = ops.square(a._diagonal / b._diagonal)
            apart = ops.square((b._mean() - a._mean()) / b._diagonal)
            size = ops.cast(a.event_shape_tensor()[0], a.dtype)
            total = ops.reduce_sum(ratio + ops.zeros_like(apart), -1) + ops.reduce_sum(apart, -1)
            return 0.5 * (total - size) + b._log_det() - a._log_det()
        inner = ops.matrix_triangular_solve(*_batched(b.triangle(), a.triangle()))
        apart = (b._mean() - a._mean())[..., None]
        z = ops.matrix_triangular_solve(*_batched(b.triangle(), apart))
        size = ops.cast(a.event_shape_tensor()[0], a.dtype)
        squares = ops.reduce_sum(ops.square(inner), [-2, -1]) + ops.reduce_sum(ops.square(z), [-2, -1])
        return 0.5 * (squares - size) + b._log_det() - a._log_det()


def _batched(matrix: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Return two batches of matrices with one shape of batch."""
    batch = ops.broadcast_dynamic_shape(ops.shape(matrix)[:-2], ops.shape(right)[:-2])
    return (
        ops.broadcast_to(matrix, ops.concat([batch, ops.shape(matrix)[-2:]], 0)),
        ops.broadcast_to(right, ops.concat([batch, ops.shape(right)[-2:]], 0)),
    )
