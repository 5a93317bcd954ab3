"""Static shapes: partly known, merged, and broadcast as numpy does it; dimensions as objects."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import TensorShape
from actorsession.graph.dimension import Dimension, as_dimension, dimension_value, size_of
from actorsession.graph.shape import (
    as_shape,
    broadcast_shapes,
    dimension_at_index,
    dimensions_are_used,
    merge_all,
    shown,
    unknown_shape,
    use_dimensions,
)
from actorsession.testing.strategies import shapes, static_shapes
from tests.rows import for_each

tensor_shapes = static_shapes()
full_shapes = shapes()


def forget(data: st.DataObject, full: tuple[int, ...]) -> TensorShape:
    """What somebody who does not know everything knows of a shape."""
    if data.draw(st.booleans(), label="rank unknown") and data.draw(st.booleans()):
        return unknown_shape
    return TensorShape([d if data.draw(st.booleans()) else None for d in full])


# -- making shapes ---------------------------------------------------------------------------------


@for_each(
    "given_, shown",
    [
        (None, "TensorShape(None)"),
        ([], "TensorShape([])"),
        ((2, 3), "TensorShape([2, 3])"),
        ([None, 3], "TensorShape([None, 3])"),
        (5, "TensorShape([5])"),
        (np.int64(5), "TensorShape([5])"),
        (np.array([2, 3]), "TensorShape([2, 3])"),
        (TensorShape([7]), "TensorShape([7])"),
        (range(3), "TensorShape([0, 1, 2])"),
    ],
)
def test_a_shape_is_made_of_whatever_lists_dimensions(given_: Any, shown: str) -> None:
    assert repr(TensorShape(given_)) == shown
    assert repr(as_shape(given_)) == shown


@pytest.mark.parametrize("bad", [[-1], -1, [2, -3]])
def test_a_negative_dimension_is_a_value_error(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"at least 0 \(None if unknown\)"):
        TensorShape(bad)


@for_each("bad", ["ab", [1.5], [np.float32(2)], [[1]], [np.array([1, 2])], 2.0])
def test_a_dimension_that_is_no_integer_is_a_type_error(bad: Any) -> None:
    with pytest.raises(TypeError):
        TensorShape(bad)


# -- what is known ---------------------------------------------------------------------------------


@for_each(
    "shape, rank, full, elements, text",
    [
        (None, None, False, None, "<unknown>"),
        ([], 0, True, 1, "()"),
        ([3], 1, True, 3, "(3,)"),
        ([2, 3], 2, True, 6, "(2, 3)"),
        ([2, None], 2, False, None, "(2, None)"),
        ([0, 5], 2, True, 0, "(0, 5)"),
        ([0, None], 2, False, None, "(0, None)"),
    ],
)
def test_a_shape_tells_what_it_knows(shape: Any, rank: int | None, full: bool, elements: int | None, text: str) -> None:
    made = TensorShape(shape)
    assert (made.rank, made.ndims) == (rank, rank)
    assert made.is_fully_defined() is full
    assert made.num_elements() == elements
    assert str(made) == text
    assert bool(made) is (rank is not None)


def test_dimensions_of_an_unknown_rank_cannot_be_listed() -> None:
    for ask in (len, list, TensorShape.as_list, TensorShape.as_tuple):
        with pytest.raises(ValueError, match=r"unknown|not fully defined"):
            ask(unknown_shape)
    # A tuple is given of full shapes only.
    assert TensorShape([2, 3]).as_tuple() == (2, 3)
    with pytest.raises(ValueError, match=r"\(2, None\) is not fully defined"):
        TensorShape([2, None]).as_tuple()


def test_dimensions_and_slices_are_taken_by_index() -> None:
    shape = TensorShape([1, None, 3])
    assert (shape[0], shape[1], shape[-1]) == (1, None, 3)
    assert shape[1:] == [None, 3]
    assert unknown_shape[7] is None
    assert unknown_shape[1:] == unknown_shape
    with pytest.raises(IndexError):
        shape[3]


@given(tensor_shapes)
def test_a_shape_lists_the_dimensions_it_was_made_of(shape: TensorShape) -> None:
    if shape.rank is not None:
        assert shape.as_list() == list(shape)
        assert len(shape) == shape.rank
        assert TensorShape(shape.as_list()) == shape


@given(tensor_shapes, tensor_shapes)
def test_equal_shapes_know_the_same_and_hash_alike(a: TensorShape, b: TensorShape) -> None:
    assert (a == b) is (a.sizes == b.sizes)
    if a == b:
        assert hash(a) == hash(b)


def test_a_shape_equals_lists_tuples_and_nothing() -> None:
    assert TensorShape([2, None]) == [2, None]
    assert TensorShape([2]) == (2,)
    assert TensorShape(None) == None  # noqa: E711 - what programs write
    assert TensorShape([2]) != [3]
    assert TensorShape([2]) != ["x"]
    assert TensorShape([2]) != "2"
    assert TensorShape([3]) == 3
    assert TensorShape([2, 3]) == np.array([2, 3])
    assert TensorShape([2, 3]) == (d for d in (2, 3))


# -- merging ---------------------------------------------------------------------------------------


@given(tensor_shapes, tensor_shapes)
def test_two_shapes_are_compatible_when_they_merge_in_either_order(a: TensorShape, b: TensorShape) -> None:
    assert a.is_compatible_with(b) is b.is_compatible_with(a)
    if a.is_compatible_with(b):
        assert a.merge_with(b) == b.merge_with(a)
    else:
        with pytest.raises(ValueError, match="are not compatible"):
            a.merge_with(b)


@given(st.data(), full_shapes)
def test_what_two_know_of_one_shape_merges_to_something_that_fits_it(
    data: st.DataObject, full: tuple[int, ...]
) -> None:
    a, b = forget(data, full), forget(data, full)
    merged = a.merge_with(b)
    assert merged.is_compatible_with(full)
    for dim, known in enumerate(merged.sizes or ()):
        assert known == (full[dim] if full[dim] in _known(a, b, dim) else None)


def _known(a: TensorShape, b: TensorShape, dim: int) -> set[int | None]:
    return {s.sizes[dim] for s in (a, b) if s.sizes is not None}


@given(tensor_shapes)
def test_merging_with_nothing_or_itself_changes_nothing(shape: TensorShape) -> None:
    assert shape.merge_with(None) == shape
    assert unknown_shape.merge_with(shape) == shape
    assert shape.merge_with(shape) == shape


@given(tensor_shapes, tensor_shapes, tensor_shapes)
def test_the_order_of_merging_makes_no_difference(a: TensorShape, b: TensorShape, c: TensorShape) -> None:
    def merged(*order: TensorShape) -> TensorShape | None:
        try:
            return merge_all(order)
        except ValueError:
            return None

    assert merged(a, b, c) == merged(c, a, b) == merged(b, c, a)


def test_a_rank_is_added_to_what_is_known() -> None:
    assert unknown_shape.with_rank(2) == [None, None]
    assert TensorShape([3, None]).with_rank(2) == [3, None]
    with pytest.raises(ValueError, match="must have rank 2"):
        TensorShape([3]).with_rank(2)
    # Shapes are joined by plus.
    two = [2, None]
    assert TensorShape([1]) + two == operator.add([1], TensorShape(two)) == [1, 2, None]
    assert (TensorShape([1]) + unknown_shape).rank is None


@given(tensor_shapes, tensor_shapes)
def test_shapes_in_a_row_have_the_dimensions_of_both(a: TensorShape, b: TensorShape) -> None:
    row = a.concatenate(b)
    if a.sizes is None or b.sizes is None:
        assert row == unknown_shape
    else:
        assert row.sizes == a.sizes + b.sizes


# -- broadcasting ----------------------------------------------------------------------------------


@given(full_shapes, full_shapes)
def test_full_shapes_broadcast_as_in_numpy(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    try:
        expected: Any = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="cannot be broadcast"):
            broadcast_shapes(TensorShape(a), TensorShape(b))
    else:
        assert broadcast_shapes(TensorShape(a), TensorShape(b)).as_tuple() == expected


@given(st.data(), full_shapes, full_shapes)
def test_partly_known_shapes_broadcast_to_what_fits_the_full(
    data: st.DataObject, a: tuple[int, ...], b: tuple[int, ...]
) -> None:
    try:
        full = np.broadcast_shapes(a, b)
    except ValueError:
        return
    assert broadcast_shapes(forget(data, a), forget(data, b)).is_compatible_with(full)


@given(tensor_shapes, tensor_shapes)
def test_a_refusal_to_broadcast_means_that_no_full_shapes_could(a: TensorShape, b: TensorShape) -> None:
    try:
        broadcast_shapes(a, b)
    except ValueError:
        pairs = zip(reversed(a.as_list()), reversed(b.as_list()), strict=False)
        assert any(None not in (x, y) and x != y and 1 not in (x, y) for x, y in pairs)


@for_each(
    "a, b, result",
    [
        ([None], [1], [None]),
        ([None], [4], [4]),
        ([None], [None], [None]),
        ([None, 1], [3], [None, 3]),
        ([0], [1], [0]),
        ([None], [0], [0]),
        (None, [2], None),
    ],
)
def test_an_unknown_dimension_is_one_or_fits(a: Any, b: Any, result: Any) -> None:
    assert broadcast_shapes(TensorShape(a), TensorShape(b)) == TensorShape(result)
    assert broadcast_shapes(TensorShape(b), TensorShape(a)) == TensorShape(result)


def test_shapes_are_held_against_what_is_demanded() -> None:
    shape = TensorShape([2, None])
    assert shape.with_rank_at_least(2) is shape
    shape.assert_is_compatible_with([None, 3])
    with pytest.raises(ValueError, match="rank at least 3"):
        shape.with_rank_at_least(3)
    with pytest.raises(ValueError, match="are incompatible"):
        shape.assert_is_compatible_with([3, 3])
    with pytest.raises(ValueError, match="not fully defined"):
        shape.assert_is_fully_defined()
    shape = TensorShape([2, None])
    assert shape.with_rank_at_most(2) is shape
    assert unknown_shape.with_rank_at_most(0) is unknown_shape
    shape.assert_has_rank(2)
    shape.assert_same_rank([5, 6])
    shape.assert_same_rank(None)
    for refused, match in (
        (lambda: shape.with_rank_at_most(1), "rank at most 1"),
        (lambda: shape.assert_has_rank(1), "must have rank 1"),
        (lambda: shape.assert_same_rank([1]), "must have the same rank"),
    ):
        with pytest.raises(ValueError, match=match):
            refused()


@given(tensor_shapes, tensor_shapes)
def test_what_two_shapes_have_in_common_fits_both(a: TensorShape, b: TensorShape) -> None:
    common = a.most_specific_compatible_shape(b)
    assert common.is_compatible_with(a)
    assert common.is_compatible_with(b)
    assert common == b.most_specific_compatible_shape(a)
    if a.sizes is not None and b.sizes is not None and len(a) == len(b):
        assert [d is None for d in common] == [x is None or x != y for x, y in zip(a, b, strict=True)]
    else:
        assert common == unknown_shape


@for_each(
    "part, dims",
    [
        (slice(2), [None, None]),
        (slice(1, 3), [None, None]),
        (slice(3, 1), []),
        (slice(1, None), None),
        (slice(None, -1), None),
        (slice(-2, None), None),
        (slice(0, 4, 2), None),
    ],
    ids=str,
)
def test_a_slice_of_an_unknown_rank_has_the_dimensions_that_it_says(part: slice, dims: Any) -> None:
    assert unknown_shape[part] == TensorShape(dims)


@given(tensor_shapes)
def test_a_shape_comes_back_from_its_message(shape: TensorShape) -> None:
    assert TensorShape(shape.as_proto()) == shape


# -- dimensions as objects -------------------------------------------------------------------------


@pytest.fixture
def of_dimensions() -> Iterator[None]:
    use_dimensions(True)
    yield
    use_dimensions(False)


def test_dims_are_objects_always() -> None:
    shape = TensorShape([2, None])
    assert [d.value for d in shape.dims or ()] == [2, None]
    assert unknown_shape.dims is None
    assert dimension_at_index(shape, -2).value == 2
    assert dimension_at_index(unknown_shape, 5).value is None
    assert TensorShape(shape.dims) == shape
    assert TensorShape(Dimension(3)) == [3]
    shape = TensorShape([1])
    assert as_shape(shape) is shape
    # Numpy dimensions become plain ints.
    shape = TensorShape(list(np.array([2, 3], np.int32)))
    assert [type(d) for d in shape] == [int, int]


def test_a_shape_that_is_shown_has_the_members_that_were_chosen(of_dimensions: None) -> None:
    assert dimensions_are_used()
    made: Any = shown(TensorShape([2, None]))
    assert [d.value for d in made] == [made[0].value, made[1].value] == [2, None]
    assert (str(made), repr(made)) == ("(2, ?)", "TensorShape([Dimension(2), Dimension(None)])")
    assert made == [2, None]
    assert hash(made) == hash(TensorShape([2, None]))
    assert made.as_list() == [2, None]
    assert shown(unknown_shape)[3].value is None
    use_dimensions(False)
    assert shown(TensorShape([2]))[0] == 2


def test_what_is_made_of_a_shape_of_dimensions_is_one(of_dimensions: None) -> None:
    made = shown(TensorShape([2, None]))
    row = made.concatenate([3]), operator.add([3], made), made[1:]
    for other in (*row, made.merge_with([2, 4]), made.with_rank(2)):
        assert isinstance(other[0], Dimension)
    assert type(as_shape(made)) is TensorShape


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
    assert [UNKNOWN == 2, two == UNKNOWN, UNKNOWN != UNKNOWN, UNKNOWN < 2, two >= UNKNOWN] == [None] * 5
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
def test_arithmetic_gives_dimensions(function: Callable[[Any, Any], Any], left: int, right: int, result: int) -> None:
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
