"""Tensors with some places changed: names, indices outside, and shared gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import constant, gradients, ops
from tests.ops.cases import expect, f32, i32
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each

X = f32([1, 5, 3])


def test_older_names_are_the_same_functions() -> None:
    assert ops.tensor_scatter_update is ops.tensor_scatter_nd_update
    assert ops.tensor_scatter_add is ops.tensor_scatter_nd_add
    assert ops.tensor_scatter_sub is ops.tensor_scatter_nd_sub


def test_the_last_of_several_updates_stays() -> None:
    expect(lambda x: ops.tensor_scatter_nd_update(x, [[1], [1]], f32([7, 8])), f32([1, 8, 3]), X)


@for_each(
    "build, wanted",
    [
        (ops.tensor_scatter_nd_add, [3, 5, 3]),
        (ops.tensor_scatter_nd_sub, [-1, 5, 3]),
        (ops.tensor_scatter_nd_min, [1, 5, 3]),
        (ops.tensor_scatter_nd_max, [2, 5, 3]),
    ],
)
def test_positions_outside_may_be_left_out(build: Any, wanted: Any) -> None:
    expect(lambda x: build(x, [[0], [9], [-1]], f32([2, 2, 2]), "IGNORE"), f32(wanted), X)
    with pytest.raises(ValueError, match="bad_indices_policy"):
        build(X, [[0]], [1.0], "PERHAPS")


def test_those_that_share_the_least_value_share_its_gradient() -> None:
    x, updates = constant(f32([2, 7])), constant(f32([2, 2, 9]))
    least = ops.tensor_scatter_nd_min(x, [[0], [0], [1]], updates)
    by_x, by_updates = evaluate(gradients(least, [x, updates]))
    np.testing.assert_allclose(by_x, [1 / 3, 1])
    np.testing.assert_allclose(by_updates, [1 / 3, 1 / 3, 0])


def test_dtypes_that_cannot_be_combined_are_refused() -> None:
    with pytest.raises(TypeError, match="TensorScatterAdd"):
        ops.tensor_scatter_nd_add(np.array([True]), i32([[0]]), np.array([True]))
    with pytest.raises(TypeError, match="int32"):
        ops.tensor_scatter_nd_add(X, i32([[0]]), source("int32", [1]))
    with pytest.raises(ValueError, match="rank at least 1"):
        ops.tensor_scatter_nd_add(constant(1.0), i32([[0]]), f32([1]))
