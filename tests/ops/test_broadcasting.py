from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph import Graph
from actorsession.graph.dtypes import float32
from actorsession.ops.broadcasting import broadcast_gradient_args
from actorsession.ops.build import constant
from actorsession.ops.derivatives.gradients import gradients
from actorsession.ops.elements import arithmetic
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each


@for_each(
    "s0, s1, r0, r1",
    [
        ([2, 3, 5], [2, 3, 5], [], []),
        ([2, 3, 5], [1], [], [0, 1, 2]),
        ([1], [2, 3, 5], [0, 1, 2], []),
        ([2, 3, 5], [5], [], [0, 1]),
        ([2, 3, 5], [3, 1], [], [0, 2]),
        ([3, 1], [2, 1, 5], [0, 2], [1]),
        ([2, 3, 5], [], [], [0, 1, 2]),
        ([], [], [], []),
        ([0, 3], [1, 1], [], [0, 1]),
        ([1, 4], [1, 4], [], []),
        ([1], [1, 1], [0, 1], [0, 1]),
        ([2, 1, 3], [2, 1, 1], [1], [1, 2]),
    ],
    ids=str,
)
@for_each("dtype", [np.int32, np.int64])
def test_the_axes_to_sum_are_those_that_were_broadcast(
    s0: list[int], s1: list[int], r0: list[int], r1: list[int], dtype: Any
) -> None:
    first, second = (constant(np.array(s, dtype)) for s in (s0, s1))
    found = evaluate(broadcast_gradient_args(first, second))
    for axes, expected in zip(found, (r0, r1), strict=True):
        np.testing.assert_array_equal(axes, np.array(expected, dtype), strict=True)


def test_shapes_that_do_not_broadcast_are_an_error_of_the_step() -> None:
    args = broadcast_gradient_args(constant([2]), constant([3]))
    with pytest.raises(InvalidArgumentError, match=r"\[2\] and \[3\]"):
        evaluate(args)


@for_each(
    "x, y, dynamic",
    [
        ([None, 3], [3], False),
        ([None, 3], [1, 3], False),
        ([None, 3], (), False),
        ([None, 3], [None, 1], True),
        ([None], [None], True),
        (None, [3], True),
    ],
    ids=str,
)
def test_static_shapes_decide_where_they_can(x: Any, y: Any, dynamic: bool, graph: Graph) -> None:
    a, b = source(float32, x), source(float32, y)
    gradients(arithmetic.multiply(a, b), [a, b])
    built = {op.type for op in graph.get_operations()}
    assert ("BroadcastGradientArgs" in built) is dynamic


def test_operands_of_one_shape_need_no_sum(graph: Graph) -> None:
    a, b = source(float32, [2, 3]), source(float32, [2, 3])
    gradients(arithmetic.multiply(a, b), [a, b])
    assert not {op.type for op in graph.get_operations()} & {"Sum", "Reshape", "Shape"}
