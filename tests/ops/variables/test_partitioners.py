"""Into how many parts variables are cut; every answer was first had from TensorFlow."""

from __future__ import annotations

from typing import Any

import actorsession as acts
from actorsession import TensorShape, float32, string
from tests.rows import for_each, refusing


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
        (acts.variables.fixed_size_partitioner(2), [0, 4], float32, [1, 1]),
        (acts.variables.variable_axis_size_partitioner(16), [0, 4], float32, [1, 1]),
        (acts.variables.min_max_variable_partitioner(2), [0, 4], float32, [1, 1]),
    ],
)
def test_the_number_of_parts(partitioner: Any, shape: Any, dtype: Any, wanted: list[int]) -> None:
    assert partitioner(shape=TensorShape(shape), dtype=dtype) == wanted


ALL: list[Any] = [
    acts.variables.fixed_size_partitioner,
    acts.variables.variable_axis_size_partitioner,
    acts.variables.min_max_variable_partitioner,
]
NO_AXIS, OPEN, FEW = r"shape \[4, 5\] has no axis", "not fully defined", "is at least 1, got 0"
test_axes_shapes_and_sizes_that_cannot_be_are_refused = refusing(
    *[(lambda make=make: make(16, axis=7)(TensorShape([4, 5]), float32), ValueError, NO_AXIS) for make in ALL],
    *[(lambda make=make: make(16)(TensorShape([4, None]), float32), ValueError, OPEN) for make in ALL],
    (lambda: acts.variables.variable_axis_size_partitioner(0), ValueError, FEW),
    (lambda: acts.variables.variable_axis_size_partitioner(3, bytes_per_string_element=0), ValueError, FEW),
    (lambda: acts.variables.variable_axis_size_partitioner(3, max_shards=0), ValueError, FEW),
    (lambda: acts.variables.min_max_variable_partitioner(0), ValueError, FEW),
    (lambda: acts.variables.min_max_variable_partitioner(3, min_slice_size=0), ValueError, FEW),
)
