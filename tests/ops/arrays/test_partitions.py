"""Rows dealt out and put together: static shapes, empty parts, and the way back and forth."""

from __future__ import annotations

import numpy as np
import pytest

import actorsession as acts
from actorsession import range as range_
from tests.ops.cases import expect, i32
from tests.ops.interpreter import check_gradient, source

M = np.arange(8, dtype=np.float32).reshape(4, 2)


def test_what_was_dealt_out_can_be_stitched_together() -> None:
    def there_and_back(x: object) -> object:
        parts = i32([1, 0, 1, 2])
        places = acts.arrays.dynamic_partition(range_(4), parts, 3)
        return acts.arrays.dynamic_stitch(places, acts.arrays.dynamic_partition(x, parts, 3))

    expect(there_and_back, M, M)
    check_gradient(there_and_back, M)


def test_the_number_of_rows_is_known_if_all_indices_are() -> None:
    rows = source("float32", [2, 3])
    assert acts.arrays.dynamic_stitch([[0, 5]], [rows]).shape.as_list() == [6, 3]
    assert acts.arrays.dynamic_stitch([source("int32", [2])], [rows]).shape.as_list() == [None, 3]
    part, _ = acts.arrays.dynamic_partition(source("float32", [None, 3]), source("int32", [None]), 2)
    assert part.shape.as_list() == [None, 3]
    hidden, _ = acts.arrays.dynamic_partition(source("float32"), source("int32", [None]), 2)
    assert hidden.shape.rank is None


def test_lists_of_one_length_and_parts_above_0_are_taken() -> None:
    with pytest.raises(ValueError, match="got 2 and 1"):
        acts.arrays.dynamic_stitch([[0], [1]], [M[:1]])
    with pytest.raises(ValueError, match="at least one"):
        acts.arrays.dynamic_stitch([], [])
    with pytest.raises(ValueError, match="at least 1, got 0"):
        acts.arrays.dynamic_partition(M, [0, 0, 0, 0], 0)
    with pytest.raises(TypeError, match="int64"):
        acts.arrays.dynamic_partition(M, source("int64", [4]), 2)
