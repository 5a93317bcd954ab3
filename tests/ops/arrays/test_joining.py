"""Several tensors into one: concat, stack, unstack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph, constant_value
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.joining import concat, stack, unstack
from actorsession.ops.build import constant, make_one
from actorsession.ops.derivatives.gradients import gradients
from tests.ops.cases import computed, expect, f32, i32, i64, static_shape
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
B = -A
WORDS = np.array([[b"a", b"bc"], [b"", b"d"]], object)


# -- concat ----------------------------------------------------------------------------------------


@for_each("axis", [0, 1, 2, -1, -3])
def test_concat_joins_along_an_axis(axis: Any) -> None:
    expect(lambda x, y: concat([x, y], axis), np.concatenate([A, B], axis), A, B)
    expect(lambda x, y, a: concat([x, y], a), np.concatenate([A, B], axis), A, B, i32(axis))


def test_concat_joins_different_extents_and_empty_tensors() -> None:
    parts = [A, A[:, :1], A[:, :0]]
    expect(lambda *xs: concat(xs, 1), np.concatenate(parts, 1), *parts)


def test_concat_of_strings() -> None:
    expect(lambda x, y: concat([x, y], 1), np.concatenate([WORDS, WORDS], 1), WORDS, WORDS)


def test_concat_of_one_tensor_is_that_tensor() -> None:
    expect(lambda x: concat([x], 0), A, A)


def test_plain_values_take_the_type_of_the_tensors_beside_them() -> None:
    expect(lambda x: concat([x, [1, 2]], 0), f32([7, 1, 2]), f32([7]))


@for_each(
    "shapes, axis, expected",
    [
        (([2, 3], [4, 3]), 0, [6, 3]),
        (([None, 3], [4, None]), 0, [None, 3]),
        (([None, 3], [4, None]), 1, [4, None]),
        ((None, [4, 3]), 1, [4, None]),
        ((None, None), 1, None),
    ],
)
def test_the_static_shape_of_a_concat(shapes: Any, axis: Any, expected: Any) -> None:
    assert static_shape(lambda *xs: concat(xs, axis), *shapes) == expected


def test_a_concat_along_an_unknown_axis_has_a_known_rank() -> None:
    with Graph().as_default():
        x, axis = source("float32", [2, 3]), source("int32", [])
        assert concat([x, x], axis).shape.as_list() == [None, None]


def test_concat_of_constants_is_known_early() -> None:
    with Graph().as_default():
        x = source("float32", [2, 3])
        np.testing.assert_array_equal(constant_value(concat([shape(x), [4]], 0)), [2, 3, 4])


@for_each(
    "shapes, axis, message",
    [
        (([2, 3], [2, 1]), 0, "axis 0 only"),
        (([2, 3], [2]), 0, "one rank"),
        (([], []), 0, "at least 1"),
        (([2, 3], [2, 3]), 2, r"axis 2 is not in \[-2, 2\)"),
    ],
)
def test_tensors_that_can_never_be_joined_are_refused(shapes: Any, axis: Any, message: Any) -> None:
    with Graph().as_default(), pytest.raises(ValueError, match=message):
        concat([source("float32", s) for s in shapes], axis)


def test_tensors_that_do_not_fit_fail_in_the_step_with_their_shapes() -> None:
    with pytest.raises(InvalidArgumentError, match=r"shapes \[2, 3, 4\], \[1\] along axis 0"):
        computed(lambda x, y: concat([x, y], 0), A, f32([1]), known=False)


def test_concat_of_nothing_or_of_two_types_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one tensor"):
        concat([], 0)
    with Graph().as_default(), pytest.raises(TypeError):
        concat([constant([1]), constant([1.0])], 0)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_gradient_of_a_concat_is_cut_up(axis: Any) -> None:
    check_gradient(lambda x, y: concat([x, y, x], axis), A, B)


def test_the_gradient_of_a_concat_of_different_extents() -> None:
    check_gradient(lambda x, y: concat([x, y], 1), A, A[:, :1])
    check_gradient(lambda x, y: concat([x, y], -2), A, A[:, :1])


# -- stack -----------------------------------------------------------------------------------------


@for_each("axis", [0, 1, 3, -1, -4])
def test_stack_adds_an_axis(axis: Any) -> None:
    expect(lambda x, y: stack([x, y], axis), np.stack([A, B], axis), A, B)


def test_stack_of_scalars_is_a_vector() -> None:
    expect(lambda x, y: stack([x, y, x]), i64([1, 2, 1]), i64(1), i64(2))
    expect(lambda x, y: stack([x, y], -1), f32([1, 2]), f32(1), f32(2))


def test_stack_of_strings() -> None:
    expect(lambda x, y: stack([x, y], 1), np.stack([WORDS, WORDS], 1), WORDS, WORDS)
    with Graph().as_default():
        word = source("string", [])
        (found,) = evaluate([stack([word, b"x"])], {word: b"abc"})
    assert found.tolist() == [b"abc", b"x"]


def test_stack_of_plain_values_is_a_constant() -> None:
    with Graph().as_default():
        assert stack([1, 2]).op.type == "Const"


@pytest.mark.parametrize(
    ("shapes", "axis", "expected"),
    [
        (([2, None], [None, 3]), 0, [2, 2, 3]),
        (([2, None], None), 2, [2, None, 2]),
        ((None, None), 0, None),
    ],
)
def test_the_static_shape_of_a_stack(shapes: Any, axis: Any, expected: Any) -> None:
    assert static_shape(lambda *xs: stack(xs, axis), *shapes) == expected


def test_a_stack_of_constants_is_known_early() -> None:
    with Graph().as_default():
        x = source("float32", [2, 3])
        vector = stack([shape(x)[1], 7])
        np.testing.assert_array_equal(constant_value(vector), [3, 7])


def test_a_stack_of_nothing_is_an_empty_vector_of_float32() -> None:
    with Graph().as_default():
        made = stack([])
    assert made.dtype.name == "float32"
    assert made.shape.as_list() == [0]


def test_tensors_that_can_never_be_stacked_are_refused() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match=r"one shape are stacked"):
        stack([source("float32", [2]), source("float32", [3])])
    with Graph().as_default(), pytest.raises(ValueError, match=r"axis 3 is not in \[-2, 2\)"):
        stack([source("float32", [2]), source("float32", [2])], 3)
    with Graph().as_default(), pytest.raises(TypeError, match="inputs of one dtype"):
        make_one("Pack", [constant(1), constant(1.0)])


def test_tensors_of_different_shapes_fail_in_the_step() -> None:
    with pytest.raises(InvalidArgumentError, match=r"shapes \[2, 3, 4\], \[1\]"):
        computed(lambda x, y: stack([x, y]), A, f32([1]), known=False)


def test_the_gradient_of_a_stack_is_taken_apart() -> None:
    check_gradient(lambda x, y: stack([x, y, x], 1), A, B)
    check_gradient(lambda x, y: stack([x, y]), f32(1), f32(2))


# -- unstack ---------------------------------------------------------------------------------------


@for_each("axis, num", [(0, 2), (1, 3), (-1, 4), (-3, 2)])
def test_unstack_takes_an_axis_apart(axis: Any, num: Any) -> None:
    expect(lambda x: unstack(x, num, axis), list(np.moveaxis(A, axis, 0)), A)


def test_unstack_of_a_vector_gives_scalars() -> None:
    expect(lambda x: unstack(x, 3), [i32(4), i32(5), i32(6)], i32([4, 5, 6]))


def test_unstack_into_one_part_is_a_list_of_one() -> None:
    expect(lambda x: unstack(x, 1), [A[0]], A[:1])
    expect(lambda x: unstack(x, 1, axis=1), [A[:, 0]], A[:, :1])


def test_unstack_of_strings() -> None:
    expect(lambda x: unstack(x, 2), [WORDS[0], WORDS[1]], WORDS)
    with Graph().as_default():
        words = source("string", [2])
        assert evaluate(unstack(words), {words: np.array([b"a", b"b"], object)}) == [b"a", b"b"]


def test_the_number_of_parts_is_taken_from_the_static_shape() -> None:
    with Graph().as_default():
        assert len(unstack(source("float32", [None, 3]), axis=1)) == 3
        with pytest.raises(ValueError, match="needs num"):
            unstack(source("float32", [None, 3]))


def test_the_static_shape_of_a_part() -> None:
    assert static_shape(lambda x: unstack(x, 2)[1], [2, None, 3]) == [None, 3]
    assert static_shape(lambda x: unstack(x, 2)[1], None) is None


def test_a_wrong_number_of_parts_is_refused() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="has not 3 positions"):
        unstack(source("float32", [2, 3]), 3)
    with pytest.raises(InvalidArgumentError, match=r"axis 0 .* \[2, 3, 4\] has not 3 positions"):
        computed(lambda x: unstack(x, 3), A, known=False)


def test_the_gradient_of_unstack_is_stacked_with_zeros_for_parts_not_used() -> None:
    check_gradient(lambda x: unstack(x, 3, 1), A)
    check_gradient(lambda x: unstack(x, 3, 1)[2], A)


def test_nothing_flows_where_no_part_is_used() -> None:
    with Graph().as_default():
        x, y = source("float32", [2]), source("float32", [])
        unstack(x)
        assert gradients(y * 2.0, [x]) == [None]


def test_the_old_order_of_concat_is_refused() -> None:
    with (
        Graph().as_default(),
        pytest.raises(ValueError, match=r"axis is a scalar.*values come first"),
    ):
        concat(1, [[1], [2]])
