"""What Python's operators do between a sparse tensor and a dense one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import SparseTensor, constant
from actorsession.errors import InvalidArgumentError
from tests.ops.interpreter import evaluate
from tests.rows import for_each

PLACES = [[0, 0], [1, 2]]


def run(tensor: Any) -> Any:
    return evaluate([tensor])[0]


def sparse(values: Any = (1.0, 2.0)) -> SparseTensor:
    return SparseTensor(PLACES, np.array(values), [2, 3])


@pytest.mark.parametrize(
    ("dense", "expected"),
    [(2.0, [2, 4]), ([[1.0, 2.0, 3.0]], [1, 6]), ([[4.0], [5.0]], [4, 10])],
    ids=["number", "row", "column"],
)
def test_a_sparse_tensor_times_a_dense_one_keeps_its_places(dense: Any, expected: Any) -> None:
    left, right = sparse() * dense, constant(np.array(dense)) * sparse()
    for made in (left, right, np.array(dense) * sparse()):
        assert isinstance(made, SparseTensor)
        assert made.op.type == "SparseDenseCwiseMul"
        assert made.shape.as_list() == [2, 3]
        np.testing.assert_allclose(run(made.values), expected)
        np.testing.assert_array_equal(run(made.indices), PLACES)


def test_whole_numbers_become_floating_ones_when_they_are_divided() -> None:
    halves = sparse([1, 3]) / 2
    assert halves.dtype.name == "float64"
    np.testing.assert_array_equal(run(halves.values), [0.5, 1.5])


@for_each(
    "mistaken",
    [
        lambda s: 2.0 * s,
        lambda s: s + 1.0,
        operator.neg,
        lambda s: s * s,
        lambda s: constant(1.0, "float64") + s,
        lambda s: constant(1.0, "float64") / s,
    ],
    ids=["number-first", "sum", "negative", "two-sparse", "dense-plus", "dense-over"],
)
def test_other_operators_are_a_type_error(mistaken: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        mistaken(sparse())


def test_a_dense_tensor_that_does_not_broadcast_is_refused_in_the_step() -> None:
    made = sparse() * constant(np.ones([4, 3]))
    with pytest.raises(InvalidArgumentError, match=r"of shape \[2, 3\]; got shape \[4, 3\]"):
        run(made.values)
