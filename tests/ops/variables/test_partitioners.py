"""Into how many parts variables are cut; every answer was first had from TensorFlow."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession as acts
from actorsession import TensorShape, float32, string
from tests.rows import for_each


@for_each(
    "partitioner, shape, dtype, wanted",
    [
        (acts.variables.fixed_size_partitioner(3), [7, 2], float32, [3, 1]),
        (acts.variables.fixed_size_partitioner(9), [4, 5], float32, [4, 1]),
        (acts.variables.fixed_size_partitioner(2, axis=1), [4, 5], float32, [1, 2]),
        (acts.variables.variable_axis_size_partitioner(16), [4, 5], float32, [4, 1]),
        (acts.variables.variable_axis_size_partitioner(16, axis=1), [4, 5], float32, [1, 5]),
        (acts.variables.variable_axis_size_partitioner(1000, max_shards=3), [400, 5], float32, [3, 1]),
        (acts.variables.variable_axis_size_partitioner(64), [4, 5], string, [4, 1]),
        (acts.variables.variable_axis_size_partitioner(1 << 20), [4, 5], float32, [1, 1]),
        (acts.variables.min_max_variable_partitioner(4, min_slice_size=16), [4, 5], float32, [4, 1]),
        (acts.variables.min_max_variable_partitioner(4), [4, 5], float32, [1, 1]),
        (acts.variables.min_max_variable_partitioner(100, min_slice_size=16), [8, 5], float32, [8, 1]),
        (acts.variables.min_max_variable_partitioner(8, axis=1, min_slice_size=16), [8, 5], float32, [1, 5]),
    ],
)
def test_the_number_of_parts(partitioner: Any, shape: Any, dtype: Any, wanted: list[int]) -> None:
    assert partitioner(shape=TensorShape(shape), dtype=dtype) == wanted


@pytest.mark.parametrize(
    "partitioner",
    [
        acts.variables.fixed_size_partitioner(2),
        acts.variables.variable_axis_size_partitioner(16),
        acts.variables.min_max_variable_partitioner(2),
    ],
)
def test_nothing_is_cut_into_no_parts(partitioner: Any) -> None:
    assert partitioner(shape=TensorShape([0, 4]), dtype=float32) == [1, 1]


@pytest.mark.parametrize(
    "partitioner",
    [
        acts.variables.fixed_size_partitioner(2, axis=4),
        acts.variables.variable_axis_size_partitioner(16, axis=7),
        acts.variables.min_max_variable_partitioner(2, axis=5),
    ],
)
def test_an_axis_must_exist_and_the_shape_be_known(partitioner: Any) -> None:
    with pytest.raises(ValueError, match=r"shape \[4, 5\] has no axis"):
        partitioner(shape=TensorShape([4, 5]), dtype=float32)
    with pytest.raises(ValueError, match="not fully defined"):
        partitioner(shape=TensorShape([4, None]), dtype=float32)


@for_each(
    "make",
    [
        lambda: acts.variables.variable_axis_size_partitioner(0),
        lambda: acts.variables.variable_axis_size_partitioner(3, bytes_per_string_element=0),
        lambda: acts.variables.variable_axis_size_partitioner(3, max_shards=0),
        lambda: acts.variables.min_max_variable_partitioner(0),
        lambda: acts.variables.min_max_variable_partitioner(3, min_slice_size=0),
    ],
)
def test_sizes_and_numbers_are_at_least_one(make: Any) -> None:
    with pytest.raises(ValueError, match="is at least 1, got 0"):
        make()
