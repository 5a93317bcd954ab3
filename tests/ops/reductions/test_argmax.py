from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph import Graph
from actorsession.graph.dtypes import as_dtype, float32, int32, int64
from actorsession.ops.build import constant
from actorsession.ops.derivatives.gradients import gradients
from actorsession.ops.reductions.argmax import arg_max, arg_min, argmax, argmin
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each

Op = Callable[..., Any]

SEARCHES: dict[Op, Op] = {argmax: np.argmax, argmin: np.argmin}

both = for_each("op", SEARCHES, ids=lambda op: op.__name__)


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


@both
@for_each("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "uint8"])
@for_each("axis", [0, 1, -1])
@for_each("output", [np.int32, np.int64])
def test_a_search_is_numpys(op: Op, dtype: str, axis: int, output: Any) -> None:
    given = np.random.default_rng(0).permutation(12).reshape(3, 4)
    given = given.astype(as_dtype(dtype).np_dtype)
    x, along = source(dtype), source(int32, ())
    results = [op(constant(given), axis, output_type=output), op(x, along, output_type=output)]
    expected = SEARCHES[op](given.astype(float), axis).astype(output)
    for found in evaluate(results, {x: given, along: axis}):
        np.testing.assert_array_equal(found, expected, strict=True)


@both
def test_a_vector_gives_a_scalar_and_the_first_of_equals_counts(op: Op) -> None:
    result = op(constant([2.0, 2.0, 2.0]))
    [found] = evaluate([result])
    assert (result.shape, result.dtype, found) == ((), int64, 0)


def test_older_names_do_the_same() -> None:
    x = constant([[1.0, 3.0], [2.0, 0.0]])
    ops = [arg_max(x, 1), argmax(x, axis=1), arg_min(x, 1)]
    for found, expected in zip(evaluate(ops), ([1, 0], [1, 0], [0, 1]), strict=True):
        np.testing.assert_array_equal(found, expected)


@both
@for_each(
    "shape, axis, expected",
    [([None, 3], 0, [3]), ([None, 3], -1, [None]), ([2, 3], None, [None]), (None, 0, None)],
    ids=str,
)
def test_unknown_dimensions_give_what_can_be_known(
    op: Op, shape: Any, axis: Any, expected: Any
) -> None:
    along = source(int32, ()) if axis is None else axis
    assert op(source(float32, shape), along).shape == expected


@both
def test_an_axis_that_is_not_there_is_an_error_early_and_late(op: Op) -> None:
    with pytest.raises(ValueError, match=r"axis 2 is not in \[-2, 2\)"):
        op(source(float32, [2, 3]), 2)
    assert op(source(float32, [2]), 1).shape == []  # of a vector TensorFlow finds it late alone
    x = source(float32)
    with pytest.raises(InvalidArgumentError, match="axis 1"):
        evaluate([op(x, 1)], {x: np.ones(2)})


@both
def test_nothing_has_no_extreme(op: Op) -> None:
    x = source(float32)
    with pytest.raises(InvalidArgumentError, match="no elements along axis 0"):
        evaluate([op(x, 0)], {x: np.ones((0, 2))})


@both
def test_wrong_dtypes_are_a_type_error(op: Op) -> None:
    with pytest.raises(TypeError, match="complex64"):
        op(source("complex64", [2]))
    with pytest.raises(TypeError, match="as output; got float32"):
        op(source(float32, [2]), 0, output_type=float32)


@both
def test_nothing_flows_back(op: Op) -> None:
    x = source(float32, [2])
    assert gradients(op(x), x) == [None]
