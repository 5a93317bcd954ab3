"""Asking for shapes, and changing them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph, constant_value
from actorsession.ops.arrays.array import ones, zeros
from actorsession.ops.arrays.dimensions import rank, shape, shape_tensor, size
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import broadcast_to, expand_dims, reshape, squeeze
from actorsession.ops.build import constant
from tests.ops.cases import computed, expect, f32, i32, i64, static_shape
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

A = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
WORDS = np.array([[b"a", b"bc"], [b"", b"d"]], object)


# -- Shape, Size, Rank -----------------------------------------------------------------------------


@for_each("value", [A, f32(2), np.zeros((0, 3)), WORDS], ids=str)
def test_shape_size_and_rank_tell_what_numpy_tells(value: Any) -> None:
    expect(
        lambda x: [shape(x), size(x), rank(x)],
        [np.array(value.shape, np.int32), i32(value.size), i32(value.ndim)],
        value,
    )


def test_a_scalar_string_has_the_empty_shape() -> None:
    with Graph().as_default():
        word = source("string")
        dims, count = evaluate([shape(word), size(word)], {word: b"abc"})
    assert dims.shape == (0,)
    assert count == 1


def test_out_type_chooses_int64() -> None:
    expect(
        lambda x: [shape(x, out_type="int64"), size(x, out_type="int64")],
        [np.array([3, 4, 5]), i64(60)],
        A,
    )


def test_an_out_type_that_is_no_index_is_refused() -> None:
    with Graph().as_default(), pytest.raises(TypeError, match="as output; got float32"):
        shape(constant(1.0), out_type="float32")


def test_answers_about_known_shapes_are_known_early() -> None:
    with Graph().as_default():
        x = source("float32", [3, 4])
        np.testing.assert_array_equal(constant_value(shape(x)), [3, 4])
        assert constant_value(size(x)) == 12
        assert constant_value(rank(x)) == 2


def test_of_a_partly_known_shape_only_the_rank_is_known_early() -> None:
    with Graph().as_default():
        x = source("float32", [None, 4])
        assert constant_value(shape(x)) is None
        assert constant_value(size(x)) is None
        assert constant_value(rank(x)) == 2
        assert shape(x).shape == [2]


def test_shape_tensor_builds_a_constant_only_where_it_can() -> None:
    with Graph().as_default():
        assert shape_tensor(source("float32", [3, 4])).op.type == "Const"
        assert shape_tensor(source("float32", [None, 4])).op.type == "Shape"


# -- Reshape ---------------------------------------------------------------------------------------


@for_each("dims", [[60], [4, 15], [-1, 6], [5, -1, 2], [60, 1], [1, -1, 1]], ids=str)
def test_reshape_keeps_the_order_of_the_elements(dims: Any) -> None:
    expect(lambda x: reshape(x, dims), A.reshape(dims), A)
    expect(lambda x, d: reshape(x, d), A.reshape(dims), A, np.array(dims, np.int64))


def test_reshape_to_and_from_a_scalar() -> None:
    expect(lambda x: reshape(x, []), f32(3), f32([[3]]))
    expect(lambda x: reshape(x, [1, 1]), f32([[3]]), f32(3))


def test_reshape_takes_a_single_int() -> None:
    expect(lambda x: reshape(x, -1), A.reshape(-1), A)


@pytest.mark.parametrize(("dims", "expected"), [([0, -1], (0, 3)), ([3, -1], (3, 0)), ([-1], (0,))])
def test_reshape_of_an_empty_tensor_follows_tensorflow(dims: Any, expected: Any) -> None:
    empty = np.zeros((0, 3), np.float32)
    expect(lambda x, d: reshape(x, d), np.zeros(expected, np.float32), empty, i32(dims))


def test_reshape_of_strings() -> None:
    expect(lambda x: reshape(x, [4]), WORDS.reshape(4), WORDS)


def test_reshape_of_a_scalar_string() -> None:
    with Graph().as_default():
        word = source("string", [])
        (found,) = evaluate([reshape(word, [1, 1])], {word: b"abc"})
    assert found.tolist() == [[b"abc"]]


@for_each(
    "given, dims, expected",
    [
        ([3, 4], [-1], [12]),
        ([3, 4], [2, -1, 2], [2, 3, 2]),
        ([None, 4], [-1, 2], [None, 2]),
        ([None, 4], [3, 2], [3, 2]),
        (None, [-1, 7], [None, 7]),
        ([0, 3], [0, -1], [0, None]),
    ],
)
def test_the_static_shape_of_a_reshape(given: Any, dims: Any, expected: Any) -> None:
    assert static_shape(lambda x: reshape(x, dims), given) == expected


def test_a_shape_made_of_parts_is_known_part_by_part() -> None:
    assert static_shape(lambda x: reshape(x, [shape(x)[0], 10, -1]), None) == [None, 10, None]
    assert static_shape(lambda x: reshape(x, [shape(x)[1], 10]), [None, 7]) == [7, 10]
    assert static_shape(lambda x: reshape(x, concat([shape(x)[:-1], [2]], 0)), [None, 3, 8]) == [
        None, 3, 2,
    ]  # fmt: skip


def test_the_static_shape_of_a_fed_shape_has_its_length_as_rank() -> None:
    with Graph().as_default():
        x, dims = source("float32"), source("int32", [3])
        assert reshape(x, dims).shape.as_list() == [None, None, None]


@for_each(
    "dims, message",
    [
        ([7], "60 elements"),
        ([-1, 7], "60 elements"),
        ([-1, -1], "one dimension"),
        ([-2], "at least"),
    ],
)
def test_a_reshape_that_can_never_fit_is_refused_when_it_is_built(dims: Any, message: Any) -> None:
    with Graph().as_default(), pytest.raises(ValueError, match=message):
        reshape(constant(A), dims)


def test_a_reshape_that_does_not_fit_fails_in_the_step_with_both_shapes() -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"60 values, .* multiple of 7: .* \[3, 4, 5\] to \[7, -1\]"
    ):
        computed(lambda x, d: reshape(x, d), A, i32([7, -1]), known=False)


def test_a_shape_of_floats_is_refused() -> None:
    with Graph().as_default(), pytest.raises(TypeError, match="int32, int64 as shape; got float32"):
        reshape(constant(A), [1.5])


def test_reshape_has_the_gradient_reshaped_back() -> None:
    check_gradient(lambda x: reshape(x, [5, -1]), A)


# -- ExpandDims, Squeeze ---------------------------------------------------------------------------


@for_each("axis", [0, 1, 3, -1, -4])
def test_expand_dims_adds_an_axis(axis: Any) -> None:
    expect(lambda x: expand_dims(x, axis), np.expand_dims(A, axis), A)
    expect(lambda x, a: expand_dims(x, a), np.expand_dims(A, axis), A, i32(axis))


def test_expand_dims_of_a_scalar() -> None:
    expect(lambda x: expand_dims(x, 0), f32([3]), f32(3))


@pytest.mark.parametrize("axis", [[1], [[1]], [-3]], ids=str)
def test_the_axis_of_expand_dims_is_a_tensor_of_one_element(axis: Any) -> None:
    wanted = np.expand_dims(A, 1)
    expect(lambda x: expand_dims(x, axis), wanted, A)
    expect(lambda x, a: expand_dims(x, a), wanted, A, i32(axis))


@pytest.mark.parametrize("axes", [[], [0, 1]], ids=str)
def test_expand_dims_takes_no_other_number_of_axes(axes: Any) -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="the axis is a single number"):
        expand_dims(A, i32(axes))
    with Graph().as_default(), pytest.raises(ValueError, match="the axis is a single number"):
        expand_dims(source("float32"), i32(axes))
    with pytest.raises(InvalidArgumentError, match="the axis is a single number, got one of shape"):
        computed(expand_dims, A, i32(axes))


def test_expand_dims_outside_the_rank_is_refused() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match=r"axis 4 is not in \[-4, 4\)"):
        expand_dims(source("float32", [1, 2, 3]), 4)
    with pytest.raises(InvalidArgumentError, match=r"axis 4 is not in \[-4, 4\)"):
        computed(lambda x: expand_dims(x, 4), A, known=False)


@pytest.mark.parametrize(
    ("given", "axis", "expected"),
    [([None, 2], 1, [None, 1, 2]), ([None, 2], -1, [None, 2, 1]), (None, 0, None)],
)
def test_the_static_shape_of_expand_dims(given: Any, axis: Any, expected: Any) -> None:
    assert static_shape(lambda x: expand_dims(x, axis), given) == expected


def test_expand_dims_at_an_unknown_place_has_a_known_rank() -> None:
    with Graph().as_default():
        assert expand_dims(source("float32", [2, 3]), source("int32", [])).shape.rank == 3


@for_each("axis", [None, 0, [0], [0, 2], -1, [-1, 0]], ids=str)
def test_squeeze_drops_axes_of_extent_one(axis: Any) -> None:
    x = A[:1, :, :1]
    wanted = np.squeeze(x, tuple(axis) if isinstance(axis, list) else axis)
    expect(lambda x: squeeze(x, axis), wanted, x)


def test_squeezing_a_longer_axis_is_refused() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="extent 1"):
        squeeze(source("float32", [1, 3]), 1)
    with pytest.raises(InvalidArgumentError, match=r"axes \[1\] .* shape \[1, 3\]"):
        computed(lambda x: squeeze(x, 1), np.zeros((1, 3)), known=False)


@for_each(
    "given, axis, expected",
    [
        ([1, None, 3], None, None),
        ([1, None, 3], 0, [None, 3]),
        ([1, None, 3], 1, [1, 3]),
        ([1, 2, 1], None, [2]),
        (None, 0, None),
    ],
)
def test_the_static_shape_of_squeeze(given: Any, axis: Any, expected: Any) -> None:
    assert static_shape(lambda x: squeeze(x, axis), given) == expected


def test_adding_and_dropping_axes_have_the_gradient_reshaped_back() -> None:
    check_gradient(lambda x: expand_dims(x, 1), A)
    check_gradient(lambda x: squeeze(x, [0]), A[:1])


# -- BroadcastTo -----------------------------------------------------------------------------------


@for_each(
    "given, dims",
    [((), (2, 3)), ((3, 1), (2, 3, 4)), ((2, 3), (2, 3)), ((1, 1), (0, 3)), ((3,), (400, 200, 3))],
)
def test_broadcast_to_repeats_as_numpy_does(given: Any, dims: Any) -> None:
    x = np.arange(np.prod(given), dtype=np.float32).reshape(given)
    expect(lambda x: broadcast_to(x, dims), np.broadcast_to(x, dims), x)
    expect(lambda x, d: broadcast_to(x, d), np.broadcast_to(x, dims), x, i32(dims))


def test_a_broadcast_that_can_never_fit_is_refused() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="does not broadcast"):
        broadcast_to(source("float32", [2, 2]), [2, 3])
    with pytest.raises(InvalidArgumentError, match=r"\[2, 2\] does not broadcast to \[2, 3\]"):
        computed(lambda x: broadcast_to(x, [2, 3]), np.zeros((2, 2)), known=False)
    with pytest.raises(InvalidArgumentError, match="does not broadcast"):
        computed(lambda x: broadcast_to(x, [400, 400, 3]), np.zeros((2, 2)), known=False)


@pytest.mark.parametrize(("given", "dims"), [((), (2, 3)), ((3, 1), (2, 3, 4)), ((2, 3), (2, 3))])
def test_the_gradient_of_a_broadcast_is_summed_over_the_repeats(given: Any, dims: Any) -> None:
    x = np.arange(np.prod(given), dtype=np.float32).reshape(given)
    check_gradient(lambda x: broadcast_to(x, dims), x)


def test_a_scalar_tensor_is_the_length_of_a_vector_of_zeros_or_ones() -> None:
    for make, number in ((zeros, 0.0), (ones, 1.0)):
        assert computed(make, i32(3), known=False).tolist() == [number] * 3
