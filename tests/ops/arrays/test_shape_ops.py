"""Asking for shapes, and changing them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import concat, constant, expand_dims, ones, reshape, shape, size, zeros
from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import constant_value
from actorsession.ops.arrays.dimensions import shape_tensor
from tests.ops.cases import computed, expect, i32, static_shape
from tests.ops.interpreter import source

A = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


# -- Shape, Size, Rank -----------------------------------------------------------------------------


def test_an_out_type_that_is_no_index_is_refused() -> None:
    with pytest.raises(TypeError, match="as output; got float32"):
        shape(constant(1.0), out_type="float32")


def test_answers_about_known_shapes_are_known_early() -> None:
    x = source("float32", [3, 4])
    np.testing.assert_array_equal(constant_value(shape(x)), [3, 4])
    assert constant_value(size(x)) == 12
    assert constant_value(acts.arrays.rank(x)) == 2


def test_of_a_partly_known_shape_only_the_rank_is_known_early() -> None:
    x = source("float32", [None, 4])
    assert constant_value(shape(x)) is None
    assert constant_value(size(x)) is None
    assert constant_value(acts.arrays.rank(x)) == 2
    assert shape(x).shape == [2]


def test_shape_tensor_builds_a_constant_only_where_it_can() -> None:
    assert shape_tensor(source("float32", [3, 4])).op.type == "Const"
    assert shape_tensor(source("float32", [None, 4])).op.type == "Shape"


# -- Reshape ---------------------------------------------------------------------------------------


def test_reshape_takes_a_single_int() -> None:
    expect(lambda x: reshape(x, -1), A.reshape(-1), A)


def test_a_shape_made_of_parts_is_known_part_by_part() -> None:
    assert static_shape(lambda x: reshape(x, [shape(x)[0], 10, -1]), None) == [None, 10, None]
    assert static_shape(lambda x: reshape(x, [shape(x)[1], 10]), [None, 7]) == [7, 10]
    assert static_shape(lambda x: reshape(x, concat([shape(x)[:-1], [2]], 0)), [None, 3, 8]) == [None, 3, 2]


# -- ExpandDims, Squeeze ---------------------------------------------------------------------------


@pytest.mark.parametrize("axes", [[], [0, 1]], ids=str)
def test_expand_dims_takes_no_other_number_of_axes(axes: Any) -> None:
    with pytest.raises(ValueError, match="the axis is a single number"):
        expand_dims(A, i32(axes))
    with pytest.raises(ValueError, match="the axis is a single number"):
        expand_dims(source("float32"), i32(axes))
    with pytest.raises(InvalidArgumentError, match="the axis is a single number, got one of shape"):
        computed(expand_dims, A, i32(axes))


# -- BroadcastTo -----------------------------------------------------------------------------------


def test_a_scalar_tensor_is_the_length_of_a_vector_of_zeros_or_ones() -> None:
    for make, number in ((zeros, 0.0), (ones, 1.0)):
        assert computed(make, i32(3), known=False).tolist() == [number] * 3
