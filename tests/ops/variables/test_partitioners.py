"""Into how many parts variables are cut; every answer was first had from TensorFlow."""

from __future__ import annotations

from typing import Any

from actorsession.graph.dtypes import float32, string
from actorsession.graph.shape import TensorShape
from actorsession.ops import fixed_size_partitioner, min_max_variable_partitioner, variable_axis_size_partitioner
from tests.rows import for_each, refusing


@for_each(
    "partitioner, shape, dtype, wanted",
    [
        (fixed_size_partitioner(3), [7, 2], float32, [3, 1]),
        (fixed_size_partitioner(9), [4, 5], float32, [4, 1]),
        (fixed_size_partitioner(2, axis=1), [4, 5], float32, [1, 2]),
        (variable_axis_size_partitioner(16), [4, 5], float32, [4, 1]),
        (variable_axis_size_partitioner(16, axis=1), [4, 5], float32, [1, 5]),
        (variable_axis_size_partitioner(1000, max_shards=3), [400, 5], float32, [3, 1]),
        (variable_axis_size_partitioner(64), [4, 5], string, [4, 1]),
        (variable_axis_size_partitioner(1 << 20), [4, 5], float32, [1, 1]),
        (min_max_variable_partitioner(4, min_slice_size=16), [4, 5], float32, [4, 1]),
        (min_max_variable_partitioner(4), [4, 5], float32, [1, 1]),
        (min_max_variable_partitioner(100, min_slice_size=16), [8, 5], float32, [8, 1]),
        (min_max_variable_partitioner(8, axis=1, min_slice_size=16), [8, 5], float32, [1, 5]),
        (fixed_size_partitioner(2), [0, 4], float32, [1, 1]),
        (variable_axis_size_partitioner(16), [0, 4], float32, [1, 1]),
        (min_max_variable_partitioner(2), [0, 4], float32, [1, 1]),
    ],
)
def test_the_number_of_parts(partitioner: Any, shape: Any, dtype: Any, wanted: list[int]) -> None:
    assert partitioner(shape=TensorShape(shape), dtype=dtype) == wanted


ALL: list[Any] = [fixed_size_partitioner, variable_axis_size_partitioner, min_max_variable_partitioner]
NO_AXIS, OPEN, FEW = r"shape \[4, 5\] has no axis", "not fully defined", "is at least 1, got 0"
test_axes_shapes_and_sizes_that_cannot_be_are_refused = refusing(
    *[(lambda make=make: make(16, axis=7)(TensorShape([4, 5]), float32), ValueError, NO_AXIS) for make in ALL],
    *[(lambda make=make: make(16)(TensorShape([4, None]), float32), ValueError, OPEN) for make in ALL],
    (lambda: variable_axis_size_partitioner(0), ValueError, FEW),
    (lambda: variable_axis_size_partitioner(3, bytes_per_string_element=0), ValueError, FEW),
    (lambda: variable_axis_size_partitioner(3, max_shards=0), ValueError, FEW),
    (lambda: min_max_variable_partitioner(0), ValueError, FEW),
    (lambda: min_max_variable_partitioner(3, min_slice_size=0), ValueError, FEW),
)
