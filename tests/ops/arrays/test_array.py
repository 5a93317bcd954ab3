"""Placeholders, copies, fills and ranges."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession import (
    TensorShape,
    constant,
    fill,
    gradients,
    identity,
    ones,
    ones_like,
    placeholder,
    placeholder_with_default,
    shape,
    stop_gradient,
    zeros,
    zeros_like,
)
from actorsession import range as range_
from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import constant_value
from tests.ops.cases import expect, i64, static_shape
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

A = np.arange(6, dtype=np.float32).reshape(2, 3)


# -- placeholders ----------------------------------------------------------------------------------


def test_a_placeholder_has_the_type_it_was_given() -> None:
    x = placeholder("float32", [None, 3], name="x")
    assert x.op.name == "x"
    assert x.dtype.name == "float32"
    assert x.shape.as_list() == [None, 3]
    assert x.op.attrs["shape"] == [None, 3]


def test_a_placeholder_without_a_shape_takes_any() -> None:
    assert placeholder("int32").shape.rank is None


def test_a_placeholder_that_is_not_fed_says_which_it_is() -> None:
    x = placeholder("float32", [None, 3], name="pixels")
    message = "You must feed a value for placeholder tensor 'pixels' with dtype float32"
    with pytest.raises(InvalidArgumentError, match=message):
        evaluate([identity(x)])


def test_a_default_stands_in_for_a_feed() -> None:
    x = placeholder_with_default(A, [None, None])
    (unfed,) = evaluate([identity(x)])
    (fed,) = evaluate([identity(x)], {x: A[:, :1]})
    np.testing.assert_array_equal(unfed, A)
    np.testing.assert_array_equal(fed, A[:, :1])
    assert x.shape.as_list() == [None, None]


def test_a_default_is_no_constant_of_the_graph() -> None:
    assert constant_value(placeholder_with_default(3, [])) is None


def test_a_default_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(2, 3\) does not fit \(None, 4\)"):
        placeholder_with_default(A, [None, 4])


# -- identity, stop_gradient -----------------------------------------------------------------------


def test_copies_of_constants_are_known_early() -> None:
    assert constant_value(identity(constant(3))) == 3
    assert constant_value(stop_gradient(constant(3))) == 3


def test_the_gradient_passes_through_identity_and_stops_where_it_is_told() -> None:
    check_gradient(identity, A)
    x = source("float32", [])
    assert gradients(stop_gradient(x) * 2.0, [x]) == [None]
    (grad,) = gradients(x * stop_gradient(x), [x])
    assert evaluate([grad], {x: 5.0}) == [5.0]


# -- zeros, ones, fill -----------------------------------------------------------------------------


@for_each("dims", [[], [2, 3], [0], [40, 50]], ids=str)
@for_each("dtype", ["float32", "int64", "bool", "bfloat16", "complex64"])
def test_zeros_and_ones_of_every_kind(dims: Any, dtype: Any) -> None:
    nothing, all_ones = evaluate([zeros(dims, dtype), ones(dims, dtype)])
    wanted = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    np.testing.assert_array_equal(nothing, np.zeros(dims, wanted))
    np.testing.assert_array_equal(all_ones, np.ones(dims, wanted))
    assert nothing.dtype == all_ones.dtype == np.dtype(wanted)


@pytest.mark.parametrize("form", [(2, 3), np.array([2, 3]), TensorShape([2, 3])], ids=str)
def test_a_shape_may_be_given_in_any_form(form: Any) -> None:
    (found,) = evaluate([zeros(form)])
    np.testing.assert_array_equal(found, np.zeros((2, 3), np.float32))


def test_a_shape_may_be_a_number_or_a_tensor() -> None:
    expect(
        lambda x: [ones(4), zeros(shape(x)), ones([shape(x)[0], 2])],
        [np.ones(4, np.float32), np.zeros((2, 3), np.float32), np.ones((2, 2), np.float32)],
        A,
    )


def test_a_small_fill_of_known_shape_is_a_constant() -> None:
    assert zeros([10, 100]).op.type == "Const"
    assert zeros([10, 101]).op.type == "Fill"
    assert ones(shape(source("float32", [2, 3]))).op.type == "Const"


def test_zeros_of_strings_are_empty_and_ones_are_refused() -> None:
    (found,) = evaluate([zeros([2], "string")])
    assert found.tolist() == [b"", b""]
    with pytest.raises(TypeError, match="no string of ones"):
        ones([2], "string")


def test_zeros_like_may_have_another_type() -> None:
    expect(
        lambda x: [zeros_like(x, "int64"), ones_like(x, "bool")],
        [np.zeros((2, 3), np.int64), np.ones((2, 3), np.bool_)],
        A,
    )


def test_the_static_shape_of_a_fill_is_known_part_by_part() -> None:
    assert static_shape(lambda x: fill([shape(x)[0], 3], 0.0), [None, 2]) == [None, 3]
    assert static_shape(lambda x: fill([shape(x)[1], 3], 0.0), [None, 2]) == [2, 3]


# -- range -----------------------------------------------------------------------------------------


@for_each("arguments", [(5,), (2, 5), (0, 10, 3), (5, 0, -2), (0,), (3, 3), (5, 5, -1), (-3, 4, 2)], ids=str)
def test_range_counts_as_numpy_does(arguments: Any) -> None:
    (found,) = evaluate([range_(*arguments)])
    wanted = np.arange(*arguments, dtype=np.int32)
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == np.int32


def test_range_takes_the_widest_type() -> None:
    assert range_(3).dtype.name == "int32"
    assert range_(i64(3)).dtype.name == "int64"
    assert range_(3.0).dtype.name == "float32"
    assert range_(0, np.float64(3)).dtype.name == "float64"
    assert range_(constant(3), 7.5).dtype.name == "float32"
    assert range_(3, dtype="float64").dtype.name == "float64"


def test_range_is_known_early_when_its_ends_are() -> None:
    np.testing.assert_array_equal(constant_value(range_(1, 4)), [1, 2, 3])
    assert range_(0, 10, 3).shape == [4]
    assert range_(source("int32", [])).shape.as_list() == [None]
