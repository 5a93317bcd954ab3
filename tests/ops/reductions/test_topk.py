"""The largest entries of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph
from actorsession.ops.build import constant
from actorsession.ops.reductions.topk import in_top_k, top_k
from tests.ops.cases import computed, expect, f32, i32
from tests.ops.interpreter import check_gradient, source
from tests.rows import for_each

RNG = np.random.default_rng(0)


def _top(x: Any, k: int) -> Any:
    """By a stable sort in Python, on (descending value, index)."""
    rows = x.reshape(-1, x.shape[-1])
    order = [[i for _, i in sorted((-int(v), i) for i, v in enumerate(r))][:k] for r in rows]
    chosen = np.array(order, np.int32).reshape(*x.shape[:-1], k)
    return [np.take_along_axis(x, chosen, -1), chosen]


@for_each("dims", [(7,), (3, 7), (2, 3, 7), (3, 200), (5, 64)])
@for_each("k", [0, 1, 3, 7])
@for_each("dtype", [np.float32, np.int32, np.int64, np.float64])
@for_each("span", [4, 1000])  # with many equal entries, and with few
def test_the_largest_come_first_and_the_lower_index_among_equals(
    dims: Any, k: Any, dtype: Any, span: Any
) -> None:
    x = RNG.integers(-span, span, dims).astype(dtype)
    expect(lambda x: list(top_k(x, k)), _top(x, k), x)
    expect(lambda x, k: list(top_k(x, k)), _top(x, k), x, i32(k))


def test_the_ends_of_integer_types_are_in_order() -> None:
    x = i32([[0, -(2**31), 2**31 - 1]])
    expect(lambda x: list(top_k(x, 3)), [i32([[2**31 - 1, 0, -(2**31)]]), i32([[2, 0, 1]])], x)
    y = np.array([0, 255, 3], np.uint8)
    expect(lambda x: list(top_k(x, 2)), [np.array([255, 3], np.uint8), i32([1, 2])], y)


def test_nan_counts_as_the_smallest() -> None:
    x = f32([[np.nan, 1, np.inf, -np.inf]])
    for k in (1, 3):
        wanted = [f32([[np.inf, 1, -np.inf]])[:, :k], i32([[2, 1, 3]])[:, :k]]
        expect(lambda x, k=k: list(top_k(x, k)), wanted, x)


def test_the_fields_have_names() -> None:
    with Graph().as_default():
        found = top_k(constant([1.0, 2.0]))
    assert found.values.shape == [1]
    assert found.indices.dtype.name == "int32"


def test_the_static_shape_of_the_largest() -> None:
    with Graph().as_default():
        x, k = source("float32", [None, 7]), source("int32", [])
        assert top_k(x, 3).values.shape.as_list() == [None, 3]
        assert top_k(x, k).indices.shape.as_list() == [None, None]
        assert top_k(source("float32"), 3).values.shape.rank is None


def test_more_than_there_are_is_refused() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="too few"):
        top_k(source("float32", [3]), 4)
    with Graph().as_default(), pytest.raises(ValueError, match="too few"):
        top_k(source("float32", []), 1)
    with pytest.raises(InvalidArgumentError, match=r"shape \[3\] has no 4 largest"):
        computed(lambda x: top_k(x, 4).values, f32([1, 2, 3]), known=False)
    with Graph().as_default(), pytest.raises(TypeError, match="as input; got bool"):
        top_k(constant([True]), 1)


@pytest.mark.parametrize("dims", [(7,), (3, 7), (2, 3, 7)])
def test_the_gradient_goes_to_where_the_largest_stood(dims: Any) -> None:
    x = RNG.permutation(int(np.prod(dims))).reshape(dims).astype(np.float32)
    check_gradient(lambda x: top_k(x, 3).values, x)


# -- in_top_k --------------------------------------------------------------------------------------


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_a_target_is_among_the_k_largest_or_not(index_type: Any) -> None:
    predictions = f32([[1, 2, 3, 4]] * 4)
    targets = np.array([3, 2, 1, 0], index_type)
    for k, wanted in ((1, [1, 0, 0, 0]), (2, [1, 1, 0, 0]), (4, [1, 1, 1, 1]), (0, [0, 0, 0, 0])):
        expect(
            lambda p, t, k=k: in_top_k(p, t, k), np.array(wanted, np.bool_), predictions, targets
        )


def test_classes_that_tie_with_the_target_do_not_stand_before_it() -> None:
    expect(
        lambda p, t: in_top_k(p, t, 1),
        np.array([True, True, False]),
        f32([[1, 1, 0]] * 3), i32([0, 1, 2]),
    )  # fmt: skip


def test_where_nothing_can_be_said_the_answer_is_false() -> None:
    predictions = f32([[1, 2], [np.nan, 2], [np.inf, 2], [1, 2]])
    expect(
        lambda p, t: in_top_k(p, t, 2),
        np.array([False, False, False, False]),
        predictions, i32([2, 1, 1, -1]),
    )  # fmt: skip


def test_predictions_that_can_never_work_are_refused() -> None:
    with Graph().as_default():
        with pytest.raises(TypeError, match="float32, got float64"):
            in_top_k(source("float64", [2, 2]), [0, 1], 1)
        with pytest.raises(ValueError, match="not compatible"):
            in_top_k(source("float32", [2, 2]), [0, 1, 1], 1)
    with pytest.raises(InvalidArgumentError, match=r"got \[2, 2\] and \[3\]"):
        computed(
            lambda p, t: in_top_k(p, t, 1),
            np.zeros((2, 2), np.float32),
            i32([0, 1, 1]),
            known=False,
        )
