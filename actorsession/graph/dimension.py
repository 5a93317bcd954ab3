"""A dimension as in TensorFlow 1: a number, or unknown, with arithmetic over both.

This module holds ``Dimension``, for programs that write ``x.shape[0].value``. ``shape`` and the API for users
use it; the library itself computes with plain ints and ``None``. It imports nothing of the library.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

__all__ = ["Dim", "Dimension", "as_dimension", "dimension_value", "size_of"]

Dim: TypeAlias = int | None


def size_of(value: Any) -> Dim:
    """Return the number of a dimension, ``None`` if it is unknown.

    Raises:
        TypeError: for anything but a whole number, a ``Dimension`` or ``None``.
        ValueError: for a negative number.
    """
    if value is None:
        return None
    if isinstance(value, Dimension):
        return value._value
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # as TensorFlow 1 takes what ``units / 2`` gives
    try:
        size = operator.index(value)
    except TypeError:
        raise TypeError(
            "Dimension value must be integer or None or have an __index__ method, got value "
            f"'{value!r}' with type '{type(value)!r}'"
        ) from None
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0: a dimension is at least 0 (None if unknown), got {size}")
    return size


class Dimension:
    """One dimension of a shape: an int, or unknown.

    Arithmetic with something unknown is unknown. A comparison with something unknown is ``None``, so neither
    ``==`` nor ``!=`` holds then; read ``value`` to see whether it is known.

    Args:
        value: an int, another dimension, or ``None`` if it is unknown.

    Raises:
        TypeError: for anything else.
        ValueError: for a negative number.
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = size_of(value)

    @property
    def value(self) -> Dim:
        """The number, or ``None`` if it is unknown."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether both may be the same number."""
        theirs = size_of(other)
        return self._value is None or theirs is None or self._value == theirs

    def assert_is_compatible_with(self, other: Any) -> None:
        """Refuse another number.

        Raises:
            ValueError: if both are known and differ.
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {as_dimension(other)} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """Return the dimension that is known if either is.

        Raises:
            ValueError: if both are known and differ.
        """
        self.assert_is_compatible_with(other)
        return Dimension(other if self._value is None else self._value)

    def __add__(self, other: Any) -> Any:
        return _computed(operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _computed(operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _computed(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _computed(operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return _computed(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _computed(operator.mul, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _computed(operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _computed(operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return _computed(operator.mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _computed(operator.mod, other, self)

    def __truediv__(self, other: Any) -> Any:
        raise TypeError(
            f"unsupported operand type(s) for /: 'Dimension' and '{type(other).__name__}', please use // "
            f"instead: the result of dividing {self!r} would be a fraction"
        )

    __rtruediv__ = __truediv__

    def __eq__(self, other: object) -> Any:
        return _compared(operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return _compared(operator.ne, self, other)

    def __lt__(self, other: Any) -> Any:
        return _compared(operator.lt, self, other)

    def __le__(self, other: Any) -> Any:
        return _compared(operator.le, self, other)

    def __gt__(self, other: Any) -> Any:
        return _compared(operator.gt, self, other)

    def __ge__(self, other: Any) -> Any:
        return _compared(operator.ge, self, other)

    # An unknown dimension equals nothing, so it cannot be a key; TensorFlow's cannot be hashed either.
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self._value)

    def __index__(self) -> int:
        if self._value is None:
            raise TypeError("an unknown dimension cannot be an integer; check whether its value is None")
        return self._value

    __int__ = __index__

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self._value,)

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"


def _computed(function: Callable[[int, int], int], left: Any, right: Any) -> Any:
    try:
        sizes = size_of(left), size_of(right)
    except (TypeError, ValueError):
        return NotImplemented
    if sizes[0] is None or sizes[1] is None:
        return Dimension(None)
    return Dimension(function(sizes[0], sizes[1]))


def _compared(function: Callable[[int, int], bool], left: Any, right: Any) -> Any:
    try:
        sizes = size_of(left), size_of(right)
    except (TypeError, ValueError):
        return NotImplemented
    if sizes[0] is None or sizes[1] is None:
        return None
    return function(sizes[0], sizes[1])


def as_dimension(value: Any) -> Dimension:
    """Return an int or ``None`` as a dimension; a dimension is returned as it is."""
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension: Any) -> Any:
    """Return the number or ``None`` of a dimension, whether or not it is a ``Dimension``.

    Args:
        dimension: one member of a shape: a ``Dimension``, an int or ``None``.
    """
    return dimension._value if isinstance(dimension, Dimension) else dimension
