"""Variance, deviation and counts over axes; properties of all elements of a tensor.

Composed of other ops, as in TensorFlow. Imports ``reduction`` and the modules of element-wise ops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession.graph.dtypes import float32, int64
from actorsession.graph.operation import Tensor
from actorsession.ops import raw
from actorsession.ops.arrays.array import identity
from actorsession.ops.arrays.dimensions import size
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.arithmetic import maximum
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import greater, greater_equal, not_equal
from actorsession.ops.elements.complex_numbers import complex as complex_
from actorsession.ops.elements.complex_numbers import imag, real
from actorsession.ops.elements.elementwise import conj, rsqrt, sqrt, square
from actorsession.ops.operands import scalar_like
from actorsession.ops.reductions.reduction import reduce_all, reduce_mean, reduce_sum

__all__ = [
    "count_nonzero",
    "is_non_decreasing",
    "is_strictly_increasing",
    "l2_normalize",
    "reduce_std",
    "reduce_variance",
    "zero_fraction",
]


def reduce_variance(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Return the mean squared distance from the mean, over axes.

    Args:
        input_tensor: floating or complex numbers; the variance of the latter is real.
        axis: an axis or several; all if left out.
        keepdims: whether reduced axes stay with length 1.

    Raises:
        TypeError: for integers.
    """
    value = convert_to_tensor(input_tensor)
    if value.dtype.is_integer:
        raise TypeError(f"a variance is taken of floating numbers; got {value.dtype.name}")
    with value.graph.name_scope(name or "reduce_variance"):
        apart = value - reduce_mean(value, axis, keepdims=True)
        squares = real(conj(apart) * apart) if apart.dtype.is_complex else square(apart)
        return reduce_mean(squares, axis, keepdims=keepdims)


def reduce_std(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Return the root of the variance over axes; arguments as for ``reduce_variance``."""
    value = convert_to_tensor(input_tensor)
    with value.graph.name_scope(name or "reduce_std"):
        return sqrt(reduce_variance(value, axis, keepdims))


def count_nonzero(
    input: Any, axis: Any = None, keepdims: bool | None = None, dtype: Any = int64, name: str | None = None
) -> Tensor:
    """Return the number of elements that are not 0, over axes.

    Args:
        input: numbers, bools (``True`` counts) or strings (the empty one does not count).
        axis: an axis or several; all if left out.
        keepdims: whether reduced axes stay with length 1.
        dtype: dtype of the result.
    """
    value = convert_to_tensor(input)
    with value.graph.name_scope(name or "count_nonzero"):
        return cast(reduce_sum(cast(_is_something(value), int64), axis, keepdims=keepdims), dtype)


def _is_something(value: Tensor) -> Tensor:
    if value.dtype.is_bool:
        return value
    nothing = convert_to_tensor(b"", graph=value.graph)
    return not_equal(value, nothing if value.dtype.kind == "s" else scalar_like(0, value))


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """Return the fraction of elements that are 0, a float32 scalar; NaN for no elements."""
    tensor = convert_to_tensor(value)
    with tensor.graph.name_scope(name or "zero_fraction"):
        total = size(tensor, out_type=int64)
        zeros = total - reduce_sum(cast(_is_something(tensor), int64))
        return identity(cast(zeros, float32) / cast(total, float32), name="fraction")


def is_non_decreasing(x: Any, name: str | None = None) -> Tensor:
    """Return whether each element is at least as large as the one before, in row-major order."""
    return _in_order(x, name or "is_non_decreasing", greater_equal)


def is_strictly_increasing(x: Any, name: str | None = None) -> Tensor:
    """Return whether each element is larger than the one before, in row-major order."""
    return _in_order(x, name or "is_strictly_increasing", greater)


def _in_order(x: Any, name: str, compare: Callable[..., Tensor]) -> Tensor:
    value = convert_to_tensor(x)
    if not value.dtype.is_numeric:
        raise TypeError(f"{name} compares numbers; got {value.dtype.name}")
    with value.graph.name_scope(name):
        flat = reshape(value, [-1])
        # With fewer than two elements both slices are empty, and nothing is out of order.
        return reduce_all(compare(flat[1:], flat[:-1]))


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None) -> Tensor:
    """Divide ``x`` by its Euclidean norm over axes.

    Args:
        x: floating or complex numbers.
        axis: an axis or several; all if left out.
        epsilon: lower bound of the squared norm.
    """
    value = convert_to_tensor(x)
    with value.graph.name_scope(name or "l2_normalize") as scope:
        if value.dtype.is_complex:
            first, second = real(value), imag(value)
            inverse = _inverse_norm(square(first) + square(second), axis, epsilon)
            return complex_(first * inverse, second * inverse, scope)
        return raw.Mul(value, _inverse_norm(square(value), axis, epsilon), name=scope)


def _inverse_norm(squares: Tensor, axes: Any, epsilon: float) -> Tensor:
    return rsqrt(maximum(reduce_sum(squares, axes, keepdims=True), epsilon))
