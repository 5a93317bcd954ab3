"""Python values as tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from actorsession.graph.dtypes import float32, float64, int32, int64, uint64
from actorsession.graph.graph import Graph
from actorsession.ops.arrays.fills import fill, range_
from actorsession.ops.build import constant, convert_to_tensor
from tests.ops.interpreter import evaluate, source


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, int32),
        (-(2**31), int32),
        (2**31, int64),
        ([1, 2**40], int64),
        (2**63, uint64),
        ([np.int64(1)], int32),
        (np.int64(1), int64),
        (1.5, float32),
        ([2**40, 1.5], float32),
        (np.float64(1.5), float64),
    ],
    ids=str,
)
def test_numbers_of_python_take_the_narrow_type_unless_they_need_the_wide_one(
    value: Any, dtype: Any
) -> None:
    made = constant(value)
    assert made.dtype is dtype
    [found] = evaluate([made])
    np.testing.assert_array_equal(found, np.array(value, dtype.np_dtype))


@pytest.mark.parametrize("value", [2**64, [1, 2**70], -(2**64)], ids=str)
def test_a_number_that_no_type_holds_is_a_type_error(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot make a tensor of"):
        constant(value)


def test_large_numbers_beside_other_operands() -> None:
    assert fill([2], 2**40).dtype is int64
    assert range_(0, 2**40, 2**38).dtype is int64
    assert (source(float32) + 2**40).dtype is float32
    with pytest.raises(TypeError, match="does not fit int32"):
        _ = source(int32) + 2**40
    with pytest.raises(TypeError, match="does not fit int32"):
        convert_to_tensor(2**40, int32)


def test_none_is_no_value() -> None:
    with pytest.raises(ValueError, match="None values not supported"):
        constant(None)


def test_texts_keep_zero_bytes_at_their_end() -> None:
    [found] = evaluate([constant(["\x01\x00", b"ab\x00\x00"])])
    assert found.tolist() == [b"\x01\x00", b"ab\x00\x00"]


def test_texts_and_numbers_make_no_tensor() -> None:
    with pytest.raises(TypeError, match="cannot make a tensor of list"):
        constant(["a", 1])


@pytest.mark.parametrize("dtype", [float32, int32])
def test_bools_fit_numbers_and_numbers_no_bools(dtype: Any) -> None:
    [found] = evaluate([convert_to_tensor([True, False], dtype) + True])
    np.testing.assert_array_equal(found, np.array([2, 1], dtype.np_dtype))
    with pytest.raises(TypeError, match="expected a value of bool"):
        constant(1, "bool")


def test_an_integer_of_any_size_fits_a_float() -> None:
    [found] = evaluate([constant(2**70, float32)])
    assert found == np.float32(2.0**70)
