"""Several tensors into one: concat, stack, unstack."""

from __future__ import annotations

import numpy as np
import pytest

from actorsession import concat, constant, gradients, shape, stack, unstack
from actorsession.graph.graph import constant_value
from tests.ops.cases import expect, f32
from tests.ops.interpreter import source

A = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


# -- concat ----------------------------------------------------------------------------------------


def test_concat_of_one_tensor_is_that_tensor() -> None:
    expect(lambda x: concat([x], 0), A, A)


def test_plain_values_take_the_type_of_the_tensors_beside_them() -> None:
    expect(lambda x: concat([x, [1, 2]], 0), f32([7, 1, 2]), f32([7]))


def test_concat_of_constants_is_known_early() -> None:
    x = source("float32", [2, 3])
    np.testing.assert_array_equal(constant_value(concat([shape(x), [4]], 0)), [2, 3, 4])


def test_concat_of_nothing_or_of_two_types_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one tensor"):
        concat([], 0)
    with pytest.raises(TypeError):
        concat([constant([1]), constant([1.0])], 0)


# -- stack -----------------------------------------------------------------------------------------


def test_stack_of_plain_values_is_a_constant() -> None:
    assert stack([1, 2]).op.type == "Const"


def test_a_stack_of_constants_is_known_early() -> None:
    x = source("float32", [2, 3])
    vector = stack([shape(x)[1], 7])
    np.testing.assert_array_equal(constant_value(vector), [3, 7])


def test_a_stack_of_nothing_is_an_empty_vector_of_float32() -> None:
    made = stack([])
    assert made.dtype.name == "float32"
    assert made.shape.as_list() == [0]


# -- unstack ---------------------------------------------------------------------------------------


def test_the_number_of_parts_is_taken_from_the_static_shape() -> None:
    assert len(unstack(source("float32", [None, 3]), axis=1)) == 3
    with pytest.raises(ValueError, match="needs num"):
        unstack(source("float32", [None, 3]))


def test_nothing_flows_where_no_part_is_used() -> None:
    x, y = source("float32", [2]), source("float32", [])
    unstack(x)
    assert gradients(y * 2.0, [x]) == [None]


def test_the_old_order_of_concat_is_refused() -> None:
    with pytest.raises(ValueError, match=r"axis is a scalar.*values come first"):
        concat(1, [[1], [2]])
