"""Functions that have an inverse, and the logarithms of the determinants of their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.graphs.forms import name_scope
from actorsession.graph.operation import Tensor
from actorsession.namespaces import math, nn

__all__ = [
    "Affine",
    "AffineScalar",
    "Bijector",
    "Chain",
    "Exp",
    "Identity",
    "Inline",
    "Invert",
    "Sigmoid",
    "Softplus",
    "softplus_inverse",
]


def softplus_inverse(x: Any, name: str | None = None) -> Tensor:
    """Return the number whose ``softplus`` is a positive number."""
    with name_scope(name, "softplus_inverse", values=[x]):
        value = ops.convert_to_tensor(x, name="x")
        return value + ops.log(-math.expm1(-value))


class Bijector:
    """A function with an inverse; subclasses define ``_forward`` and ``_inverse``.

    They define one of the two methods ``_forward_log_det_jacobian`` and ``_inverse_log_det_jacobian``, too,
    for as many dimensions as one event has at least.

    Args:
        graph_parents: accepted for compatibility.
        is_constant_jacobian: whether the derivative is the same everywhere.
        validate_args: accepted for compatibility.
        dtype: the dtype of what it takes; ``None`` for any.
        forward_min_event_ndims: how many dimensions an event has at least.
        inverse_min_event_ndims: the same of what it returns.
        name: the prefix of the names of the nodes; that of the class if left out.
    """

    def __init__(
        self,
        graph_parents: Any = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: Any = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:
        if forward_min_event_ndims is None and inverse_min_event_ndims is None:
            raise ValueError("Must specify at least one of `forward_min_event_ndims` and `inverse_min_event_ndims`.")
        least = [forward_min_event_ndims, inverse_min_event_ndims]
        self.forward_min_event_ndims = least[1] if least[0] is None else least[0]
        self.inverse_min_event_ndims = least[0] if least[1] is None else least[1]
        self.graph_parents = list(graph_parents or ())
        self.is_constant_jacobian, self.validate_args = is_constant_jacobian, validate_args
        self.dtype, self.name = dtype, name or type(self).__name__.lower()

    def forward(self, x: Any, name: str = "forward") -> Tensor:
        """Return the function of a value."""
        return self._named(name, self._forward, x)

    def inverse(self, y: Any, name: str = "inverse") -> Tensor:
        """Return the value that a value is the function of."""
        return self._named(name, self._inverse, y)

    def forward_log_det_jacobian(self, x: Any, event_ndims: int, name: str = "forward_log_det_jacobian") -> Tensor:
        """Return the logarithm of the determinant of the derivative.

        Args:
            x: where.
            event_ndims: how many dimensions an event has.
            name: name scope of the new nodes.
        """
        x = ops.convert_to_tensor(x)
        with name_scope(f"{self.name}/{name}"):
            try:
                logarithms = self._forward_log_det_jacobian(x)
            except NotImplementedError:
                logarithms = -self._inverse_log_det_jacobian(self._forward(x))
            total: Tensor = _summed(logarithms, x, event_ndims, self.forward_min_event_ndims)
            return total

    def inverse_log_det_jacobian(self, y: Any, event_ndims: int, name: str = "inverse_log_det_jacobian") -> Tensor:
        """Return the logarithm of the determinant of the derivative of the inverse; see the other one."""
        y = ops.convert_to_tensor(y)
        with name_scope(f"{self.name}/{name}"):
            try:
                logarithms = self._inverse_log_det_jacobian(y)
            except NotImplementedError:
                logarithms = -self._forward_log_det_jacobian(self._inverse(y))
            total: Tensor = _summed(logarithms, y, event_ndims, self.inverse_min_event_ndims)
            return total

    def _named(self, name: str, function: Callable[[Any], Any], value: Any) -> Tensor:
        with name_scope(f"{self.name}/{name}"):
            result: Tensor = function(ops.convert_to_tensor(value, self.dtype))
            return result

    def _forward(self, x: Any) -> Any:
        raise NotImplementedError("forward not implemented.")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError("inverse not implemented.")

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        raise NotImplementedError("forward_log_det_jacobian not implemented.")

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        raise NotImplementedError("inverse_log_det_jacobian not implemented.")


def _summed(logarithms: Any, value: Any, event_ndims: Any, least: Any) -> Any:
    """Return the logarithms of events that have more dimensions than the function needs."""
    logarithms = ops.convert_to_tensor(logarithms, value.dtype)
    more = int(event_ndims) - least
    if more < 0:
        raise ValueError(f"event_ndims ({event_ndims}) must be larger than min_event_ndims ({least})")
    if not more:
        return logarithms
    rank = value.shape.rank
    if rank is not None and logarithms.shape.rank is not None and logarithms.shape.rank < rank - least:
        # A constant derivative is that of each element of an event.
        if logarithms.shape.rank == 0:
            sizes = ops.shape(value)[rank - int(event_ndims) : rank - least]
            return logarithms * ops.cast(ops.reduce_prod(sizes), value.dtype)
        logarithms = logarithms + ops.zeros(ops.shape(value)[: rank - least], value.dtype)
    return ops.reduce_sum(logarithms, list(range(-more, 0)))


class _Elementwise(Bijector):
    """A function of numbers."""

    _CONSTANT = False

    def __init__(self, validate_args: bool = False, name: str | None = None) -> None:
        super().__init__(None, self._CONSTANT, validate_args, None, 0, name=name)


class Identity(_Elementwise):
    """The identity."""

    _CONSTANT = True

    def _forward(self, x: Any) -> Any:
        return x

    def _inverse(self, y: Any) -> Any:
        return y

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return ops.zeros([], x.dtype)


class Exp(_Elementwise):
    """The exponential function."""

    def _forward(self, x: Any) -> Any:
        return ops.exp(x)

    def _inverse(self, y: Any) -> Any:
        return ops.log(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return x

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -ops.log(y)


class Sigmoid(_Elementwise):
    """``1 / (1 + exp(-x))``."""

    def _forward(self, x: Any) -> Any:
        return ops.sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return ops.log(y) - ops.log1p(-y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -nn.softplus(-x) - nn.softplus(x)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -ops.log(y) - ops.log1p(-y)


class Softplus(Bijector):
    """``c * log(1 + exp(x / c))``.

    Args:
        hinge_softness: ``c``; 1 if left out.
        validate_args: accepted for compatibility.
        name: the prefix of the names of the nodes.
    """

    def __init__(self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus") -> None:
        super().__init__(None, False, validate_args, None, 0, name=name)
        self._softness = 1.0 if hinge_softness is None else hinge_softness

    def _forward(self, x: Any) -> Any:
        return self._softness * nn.softplus(x / self._softness)

    def _inverse(self, y: Any) -> Any:
        return self._softness * softplus_inverse(y / self._softness)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -nn.softplus(-x / self._softness)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -ops.log(-math.expm1(-y / self._softness))


class AffineScalar(Bijector):
    """``scale * x + shift`` of numbers.

    Args:
        shift: the shift; 0 if left out.
        scale: the factor; 1 if left out.
        validate_args: accepted for compatibility.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self, shift: Any = None, scale: Any = None, validate_args: bool = False, name: str = "affine_scalar"
    ) -> None:
        super().__init__(None, True, validate_args, None, 0, name=name)
        self.shift = None if shift is None else ops.convert_to_tensor(shift)
        self.scale = None if scale is None else ops.convert_to_tensor(scale)

    def _forward(self, x: Any) -> Any:
        y = x if self.scale is None else x * self.scale
        return y if self.shift is None else y + self.shift

    def _inverse(self, y: Any) -> Any:
        x = y if self.shift is None else y - self.shift
        return x if self.scale is None else x / self.scale

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return ops.zeros([], x.dtype) if self.scale is None else ops.log(ops.abs(self.scale))


class Affine(Bijector):
    """``scale @ x + shift`` of vectors.

    Args:
        shift: the shift; 0 if left out.
        scale_identity_multiplier: a factor of all components.
        scale_diag: a factor of each component.
        scale_tril: a lower triangular matrix; the scale is the sum of these three.
        validate_args: accepted for compatibility.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self,
        shift: Any = None,
        scale_identity_multiplier: Any = None,
        scale_diag: Any = None,
        scale_tril: Any = None,
        validate_args: bool = False,
        name: str = "affine",
    ) -> None:
        super().__init__(None, True, validate_args, None, 1, name=name)
        self.shift = None if shift is None else ops.convert_to_tensor(shift)
        many = None if scale_identity_multiplier is None else scale_identity_multiplier
        diagonal = None if scale_diag is None else ops.convert_to_tensor(scale_diag)
        if many is not None:
            more = ops.convert_to_tensor(many)[..., None]
            diagonal = more if diagonal is None else diagonal + more
        self._diagonal, self._triangle = diagonal, None
        if scale_tril is not None:
            self._triangle = ops.matrix_band_part(ops.convert_to_tensor(scale_tril), -1, 0)
            if diagonal is not None:
                whole = ops.matrix_diag_part(self._triangle) + diagonal
                self._triangle = ops.matrix_set_diag(self._triangle, whole)

    def _forward(self, x: Any) -> Any:
        if self._triangle is not None:
            x = ops.matmul(_spread(self._triangle, x), x[..., None])[..., 0]
        elif self._diagonal is not None:
            x = x * self._diagonal
        return x if self.shift is None else x + self.shift

    def _inverse(self, y: Any) -> Any:
        x = y if self.shift is None else y - self.shift
        if self._triangle is not None:
            matrix = _spread(self._triangle, x)
            return ops.matrix_triangular_solve(matrix, x[..., None])[..., 0]
        return x if self._diagonal is None else x / self._diagonal

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        diagonal = self._diagonal
        if self._triangle is not None:
            diagonal = ops.matrix_diag_part(self._triangle)
        if diagonal is None:
            return ops.zeros([], x.dtype)
        return ops.reduce_sum(ops.log(ops.abs(diagonal)) + ops.zeros_like(x), -1)


def _spread(matrix: Any, x: Any) -> Any:
    return ops.broadcast_to(matrix, ops.concat([ops.shape(x), ops.shape(x)[-1:]], 0))


class Invert(Bijector):
    """The inverse of a bijector.

    Args:
        bijector: the bijector.
        validate_args: accepted for compatibility.
        name: the prefix of the names of the nodes.
    """

    def __init__(self, bijector: Bijector, validate_args: bool = False, name: str | None = None) -> None:
        super().__init__(
            None,
            bijector.is_constant_jacobian,
            validate_args,
            bijector.dtype,
            bijector.inverse_min_event_ndims,
            bijector.forward_min_event_ndims,
            name or f"invert_{bijector.name}",
        )
        self.bijector = bijector

    def _forward(self, x: Any) -> Any:
        return self.bijector.inverse(x)

    def _inverse(self, y: Any) -> Any:
        return self.bijector.forward(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return self.bijector.inverse_log_det_jacobian(x, self.forward_min_event_ndims or 0)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return self.bijector.forward_log_det_jacobian(y, self.inverse_min_event_ndims or 0)


class Chain(Bijector):
    """Several bijectors, of which the last is applied first.

    Args:
        bijectors: the bijectors; none mean the identity.
        validate_args: accepted for compatibility.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self, bijectors: Sequence[Bijector] | None = None, validate_args: bool = False, name: str | None = None
    ) -> None:
        self.bijectors = list(bijectors or ())
        least = max([each.forward_min_event_ndims or 0 for each in self.bijectors], default=0)
        constant = all(each.is_constant_jacobian for each in self.bijectors)
        of_all = "_of_".join(["chain", *(each.name for each in self.bijectors)]) or "identity"
        super().__init__(None, constant, validate_args, None, least, name=name or of_all)

    def _forward(self, x: Any) -> Any:
        for each in reversed(self.bijectors):
            x = each.forward(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for each in self.bijectors:
            y = each.inverse(y)
        return y

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        total: Any = ops.zeros([], x.dtype)
        for each in reversed(self.bijectors):
            total = total + each.forward_log_det_jacobian(x, self.forward_min_event_ndims or 0)
            x = each.forward(x)
        return total

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        total: Any = ops.zeros([], y.dtype)
        for each in self.bijectors:
            total = total + each.inverse_log_det_jacobian(y, self.inverse_min_event_ndims or 0)
            y = each.inverse(y)
        return total


class Inline(Bijector):
    """A bijector of functions.

    Args:
        forward_fn: the function.
        inverse_fn: its inverse.
        inverse_log_det_jacobian_fn: the logarithm of the determinant of the inverse's derivative.
        forward_log_det_jacobian_fn: the same of the function.
        forward_event_shape_fn: accepted for compatibility, as are the following three.
        forward_event_shape_tensor_fn: see there.
        inverse_event_shape_fn: see there.
        inverse_event_shape_tensor_fn: see there.
        is_constant_jacobian: whether the derivative is the same everywhere.
        validate_args: accepted for compatibility.
        forward_min_event_ndims: how many dimensions an event has at least.
        inverse_min_event_ndims: the same of what it returns.
        name: the prefix of the names of the nodes.
    """

    def __init__(
        self,
        forward_fn: Callable[[Any], Any] | None = None,
        inverse_fn: Callable[[Any], Any] | None = None,
        inverse_log_det_jacobian_fn: Callable[[Any], Any] | None = None,
        forward_log_det_jacobian_fn: Callable[[Any], Any] | None = None,
        forward_event_shape_fn: Any = None,
        forward_event_shape_tensor_fn: Any = None,
        inverse_event_shape_fn: Any = None,
        inverse_event_shape_tensor_fn: Any = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ) -> None:
        super().__init__(
            None, is_constant_jacobian, validate_args, None, forward_min_event_ndims, inverse_min_event_ndims, name
        )
        for attribute, function in (
            ("_forward", forward_fn),
            ("_inverse", inverse_fn),
            ("_forward_log_det_jacobian", forward_log_det_jacobian_fn),
            ("_inverse_log_det_jacobian", inverse_log_det_jacobian_fn),
        ):
            if function is not None:
                setattr(self, attribute, function)
