"""Dimensions as objects: arithmetic and comparisons with what may not be known."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession.graph.dimension import Dimension, as_dimension, dimension_value, size_of
from tests.rows import for_each

UNKNOWN = Dimension(None)


@for_each(
    "given, value",
    [(3, 3), (None, None), (np.int64(4), 4), (Dimension(5), 5), (UNKNOWN, None), (0, 0), (6 / 2, 3)],
    ids=str,
)
def test_a_dimension_is_a_number_or_not_known(given: Any, value: Any) -> None:
    assert Dimension(given).value == value
    assert size_of(given) == dimension_value(Dimension(given)) == value
    assert as_dimension(given).value == value


@for_each("given", ["a", 1.5, [1], np.array([1, 2])], ids=str)
def test_anything_else_is_no_dimension(given: Any) -> None:
    with pytest.raises(TypeError, match="must be integer or None"):
        Dimension(given)
    with pytest.raises(ValueError, match="at least 0"):
        Dimension(-1)


def test_a_value_that_is_none_is_taken_as_it_is() -> None:
    assert dimension_value(7) == 7
    assert dimension_value(None) is None
    with pytest.raises(ValueError, match="got -1"):
        Dimension(2) - 3
    with pytest.raises(ZeroDivisionError):
        Dimension(2) // 0
    for left, right in ((Dimension(4), 2), (4, Dimension(2))):
        with pytest.raises(TypeError, match="use //"):
            operator.truediv(left, right)
    with pytest.raises(TypeError, match="unsupported operand"):
        Dimension(2) + 1.5
    two = Dimension(2)
    assert [two == 2, two != 2, two < 3, two <= 2, two > 2, two >= 3] == [True, False, True, True, False, False]
    compared = [UNKNOWN == 2, two == UNKNOWN, UNKNOWN != UNKNOWN, UNKNOWN < 2, two >= UNKNOWN]
    assert compared == [None] * 5
    assert [two == "a", two != "a"] == [False, True]
    with pytest.raises(TypeError):
        operator.lt(two, "a")


@for_each(
    "function, left, right, result",
    [
        (operator.add, 5, 3, 8),
        (operator.sub, 5, 3, 2),
        (operator.mul, 5, 3, 15),
        (operator.floordiv, 5, 3, 1),
        (operator.mod, 5, 3, 2),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_arithmetic_gives_dimensions_and_is_unknown_if_either_is(
    function: Callable[[Any, Any], Any], left: int, right: int, result: int
) -> None:
    for made in (
        function(Dimension(left), right),
        function(left, Dimension(right)),
        function(Dimension(left), Dimension(right)),
    ):
        assert repr(made) == f"Dimension({result})"
    for unknown in (function(UNKNOWN, right), function(left, UNKNOWN), function(UNKNOWN, None)):
        assert unknown.value is None


def test_a_known_dimension_is_used_as_the_integer_it_is() -> None:
    three = Dimension(3)
    assert (int(three), list(range(three)), [7, 8, 9, 10][three], bool(three)) == (3, [0, 1, 2], 10, True)
    assert np.zeros(three).shape == (3,)
    assert not UNKNOWN
    with pytest.raises(TypeError, match="an unknown dimension"):
        int(UNKNOWN)
    with pytest.raises(TypeError, match="unhashable"):
        hash(three)


def test_dimensions_that_may_be_the_same_are_merged() -> None:
    assert Dimension(3).merge_with(None).value == UNKNOWN.merge_with(3).value == 3
    assert UNKNOWN.merge_with(UNKNOWN).value is None
    assert Dimension(3).is_compatible_with(UNKNOWN)
    with pytest.raises(ValueError, match="Dimensions 3 and 4 are not compatible"):
        Dimension(3).merge_with(4)


def test_a_dimension_is_shown_and_copied() -> None:
    assert (str(Dimension(3)), str(UNKNOWN), repr(UNKNOWN)) == ("3", "?", "Dimension(None)")
    assert copy.deepcopy(Dimension(3)).value == 3
