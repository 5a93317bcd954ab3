"""Distinct elements and differences: names, dtypes and static shapes."""

from __future__ import annotations

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, int32, int64
from tests.ops.cases import i32
from tests.ops.interpreter import evaluate, source


def test_results_have_the_names_of_tensorflow() -> None:
    with Graph().as_default():
        found = acts.arrays.unique_with_counts(i32([3, 1, 3]))
        assert [t.tolist() for t in evaluate([found.y, found.idx, found.count])] == [[3, 1], [0, 1, 0], [2, 1]]
        y, idx = acts.arrays.unique([5, 5])
        assert [t.tolist() for t in evaluate([y, idx])] == [[5], [0, 0]]
        left = acts.arrays.setdiff1d([1, 2, 1], [2])
        assert [t.tolist() for t in evaluate([left.out, left.idx])] == [[1, 1], [0, 2]]


def test_indices_are_int32_or_int64() -> None:
    assert acts.arrays.unique([1]).idx.dtype is int32
    assert acts.arrays.unique_with_counts([1], out_idx="int64").count.dtype is int64
    assert acts.arrays.setdiff1d([1], [2], index_dtype="int64").idx.dtype is int64
    with pytest.raises(TypeError, match="int32, int64 as idx; got float32"):
        acts.arrays.unique([1], out_idx="float32")


def test_how_many_elements_there_are_is_not_known_early() -> None:
    y, idx = acts.arrays.unique(source("float32", [4]))
    assert (y.shape.as_list(), idx.shape.as_list()) == ([None], [4])
    assert acts.arrays.setdiff1d(np.zeros(3), np.zeros(2)).out.shape.as_list() == [None]


def test_a_difference_is_between_vectors_of_one_dtype() -> None:
    with pytest.raises(TypeError, match="float32"):
        acts.arrays.setdiff1d(source("float32", [2]), source("int32", [2]))
