"""Boxes, strided slices and square brackets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import constant, gradients, shape
from actorsession import slice as slice_
from actorsession.graph.graph import constant_value
from tests.ops.cases import expect, f32, i32, i64
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

A = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


class _Index:
    """Makes square brackets a value."""

    def __getitem__(self, index: Any) -> Any:
        return index


at = _Index()

INDICES = [
    at[0], at[-1], at[1:], at[:-1], at[::2], at[::-1], at[2:0:-1], at[...], at[..., 1],
    at[1, ..., 2], at[:, 1], at[:, None], at[None, ..., None], at[0, 1, 2], at[1:2, 0:3:2, -2:],
    at[5:2], at[..., ::-2], at[:, 2:1], at[10:], at[-10:2], at[..., None, 1], at[None],
    at[()], at[i64(1), 1:i32(3)],
]  # fmt: skip


# -- square brackets -------------------------------------------------------------------------------


@for_each("index", INDICES, ids=str)
def test_brackets_mean_what_they_mean_to_numpy(index: Any) -> None:
    expect(lambda x: x[index], A[index], A)


@for_each("index", INDICES, ids=str)
def test_the_gradient_of_brackets_is_spread_into_zeros(index: Any) -> None:
    check_gradient(lambda x: x[index], A[:, :, :3])


def test_brackets_take_tensors_as_bounds() -> None:
    expect(
        lambda x, i, j: [x[i], x[i:], x[:i, ::j], x[i, ..., j], x[..., i:None], x[-i, None, j]],
        [A[1], A[1:], A[:1, ::2], A[1, ..., 2], A[..., 1:None], A[-1, None, 2]],
        A,
        i32(1),
        i32(2),
    )


def test_brackets_take_int64_tensors_beside_int32_ones() -> None:
    expect(lambda x, i, j: x[i:, j], A[1:, 2], A, i64(1), i32(2))


def test_brackets_on_strings() -> None:
    words = np.array([[b"a", b"bc"], [b"", b"d"]], object)
    expect(lambda x: x[:, 1], words[:, 1], words)
    x = source("string", [2, 2])
    assert evaluate([x[0, 1]], {x: words}) == [b"bc"]


def test_the_gradient_of_brackets_with_tensors_as_bounds() -> None:
    check_gradient(lambda x, i: x[i:, i], A[:, :, :3], i32(1))


@for_each("index", [1.5, "a", (True, 0), np.bool_(True), [0, 1], (0, slice(1.0))], ids=str)
def test_what_is_no_position_is_refused(index: Any) -> None:
    with pytest.raises(TypeError, match="Only integers, slices"):
        source("float32", [3, 4])[index]


@pytest.mark.parametrize("mask", [[True, False, True], [[True, False]] * 3], ids=str)
def test_a_mask_between_brackets_chooses_as_boolean_mask_does(mask: Any) -> None:
    chosen = np.array(mask)
    words = np.array([[b"a", b"bc"], [b"", b"d"], [b"e", b"f"]], object)
    for x in (words, A[:3, :2]):
        expect(lambda t: t[chosen], x[chosen], x)
    expect(lambda t: t[constant(mask)], A[:3, :2][chosen], A[:3, :2])
    found = source("float32", [3, 2])[source("bool", chosen.shape)]
    assert found.op.type == "GatherV2"
    assert found.shape.sizes == (None, 2)[: 3 - chosen.ndim]


def test_one_bool_and_a_mask_of_unknown_rank_are_no_masks() -> None:
    x = source("float32", [3, 4])
    for index in (True, source("bool"), source("bool", [])):
        with pytest.raises(ValueError, match="a mask of known rank, at least 1"):
            x[index]
    with pytest.raises(TypeError, match="Only integers, slices"):
        x[source("bool", [3]), 0]


def test_a_vector_or_a_float_tensor_is_no_position() -> None:
    x = source("float32", [3, 4])
    for index in (constant([0, 1]), constant(1.0)):
        with pytest.raises(TypeError, match="Only integers, slices"):
            x[index]


@for_each(
    "index, message",
    [
        (at[3], r"position 3 on axis 0 is not in \[-3, 3\)"),
        (at[:, -5], r"position -5 on axis 1 is not in \[-4, 4\)"),
        (at[0, 0, 0, 0], "too many"),
        (at[::0], "strides must not be 0"),
        (at[..., ...], "only one ellipsis"),
    ],
)
def test_an_index_that_can_never_fit_is_refused(index: Any, message: Any) -> None:
    with pytest.raises(ValueError, match=message):
        source("float32", [3, 4, 5])[index]


def test_one_unknown_bound_hides_only_its_own_axis() -> None:
    x, i = source("float32", [3, 4, 5]), source("int32", [])
    assert x[i, 0:2].shape.as_list() == [2, 5]
    assert x[i:, 0:2].shape.as_list() == [None, 2, 5]


def test_an_entry_of_a_known_shape_is_known_early() -> None:
    x = source("float32", [3, 4])
    assert constant_value(shape(x)[1]) == 4
    np.testing.assert_array_equal(constant_value(shape(x)[::-1]), [4, 3])


# -- the sparse form -------------------------------------------------------------------------------


def test_strided_slice_without_strides_goes_step_by_step() -> None:
    expect(lambda x: acts.arrays.strided_slice(x, [1, 0], [3, 2]), A[1:3, 0:2], A)


@for_each(
    "masks, index",
    [
        ({}, at[1:2, 1:3]),
        ({"begin_mask": 1}, at[:2, 1:3]),
        ({"end_mask": 2}, at[1:2, 1:]),
        ({"ellipsis_mask": 1}, at[..., 1:3]),
        ({"new_axis_mask": 1}, at[None, 1:3]),
        ({"shrink_axis_mask": 3}, at[1, 1]),
        # An entry with several meanings: the ellipsis wins, then the new axis.
        ({"new_axis_mask": 1, "ellipsis_mask": 1}, at[..., 1:3]),
        ({"new_axis_mask": 1, "shrink_axis_mask": 1}, at[None, 1:3]),
        ({"begin_mask": 1, "shrink_axis_mask": 1}, at[1, 1:3]),
        # Bits behind the last entry mean nothing.
        ({"shrink_axis_mask": 8, "begin_mask": 4}, at[1:2, 1:3]),
    ],
)
def test_each_bit_of_a_mask_speaks_for_its_entry(masks: Any, index: Any) -> None:
    expect(lambda x: acts.arrays.strided_slice(x, [1, 1], [2, 3], [1, 1], **masks), A[index], A)
    expect(
        lambda x, b, e, s: acts.arrays.strided_slice(x, b, e, s, **masks),
        A[index],
        A,
        i32([1, 1]),
        i32([2, 3]),
        i32([1, 1]),
    )


def test_bounds_of_floats_are_refused() -> None:
    with pytest.raises(TypeError, match="int32 or int64, got float32"):
        acts.arrays.strided_slice(source("float32", [3]), [1.0], [2.0], [1.0])


def test_the_second_derivative_of_a_slice() -> None:
    check_gradient(lambda x: gradients(x[1:, 0] ** 3.0, [x]), f32([[2, 3], [4, 5], [6, 7]]))


# -- slice -----------------------------------------------------------------------------------------


def test_slice_takes_plain_numbers_beside_int64_tensors() -> None:
    expect(lambda x, b: slice_(x, b, [1, 1, 2]), A[1:2, 1:2, 1:3], A, i64([1, 1, 1]))
