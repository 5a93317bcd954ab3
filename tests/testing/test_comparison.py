"""A graph is compared in every kind of session, and a difference says where it is and on which way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings

import actorsession as acts
from actorsession import Graph, ops
from actorsession.errors import InvalidArgumentError
from actorsession.testing import assert_same
from actorsession.testing.strategies import Recipe, graphs
from tests.nodes import make_one, op_type

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def by_device(context: Any) -> Callable[[Any], Any]:
    """A kernel that is wrong on the second device of a task."""
    wrong = "CPU:1" in context.device
    return lambda x: x + np.float32(0.5) * (x > 3) if wrong else x


op_type("TestByDevice", by_device)


@settings(max_examples=10)
@given(recipe=graphs())
def test_random_graphs_give_the_answer_of_numpy_on_every_way(recipe: Recipe) -> None:
    graph = Graph()
    expected = recipe.compute()
    assume(all(np.abs(v).max(initial=0) < 1e4 for v in expected))
    placeholders, tensors = recipe.build(graph, lambda _: graph.device(None))
    assert_same(tensors, expected, dict(zip(placeholders, recipe.fed(), strict=True)), tolerance=2e-4)


def test_state_loops_and_functions_stay_whole_when_nodes_are_dealt_out(graph: Graph) -> None:
    x = ops.placeholder("float32", [None, 3])
    weights = ops.Variable(np.ones(3, np.float32))
    with acts.control_dependencies([weights.assign_add(ops.reduce_sum(x, 0), read_value=False)]):
        _, product = ops.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, y * x), (0, x + weights.read_value()))
    chosen = ops.cond(ops.reduce_sum(x) > 0, lambda: product, lambda: -product)
    assert_same([chosen, product], [(X + 1 + X.sum(0)) * X * X] * 2, {x: X})


async def test_a_coroutine_may_compare_too(graph: Graph) -> None:
    assert_same(ops.constant([1, 2]) + 1, [2, 3])
    assert_same([ops.constant(b"a"), ops.constant(2.0) > 1.0], [b"a", True])


def test_a_difference_names_the_way_the_place_and_the_node(graph: Graph) -> None:
    x = ops.placeholder("float32", [2, 3])
    value = make_one("TestByDevice", (x,), name="shifted")
    assert_same(value, X, {x: X}, ways=["one device"])
    with pytest.raises(AssertionError) as refused:
        assert_same(value, X, {x: X}, devices=2, ways=["one device", "several devices"])
    text = str(refused.value)
    assert "several devices: 'shifted:0' is 4.5 at [1, 1], expected 4.0, off by 0.5; 2 of 6 elements differ" in text
    assert "'shifted' (TestByDevice), built at " in text
    assert "device:CPU:1\n  as expected: one device" in text


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        (np.zeros(2, np.float32), r"is float32 of shape \[3\], expected float32 of shape \[2\]"),
        (np.arange(3.0), "expected float64"),
        ([0, 1, np.nan], r"is 2.0 at \[2\], expected nan"),
        ([0, 1, np.inf], r"at \[2\], expected inf, off by inf"),
        ([0, 1.1, 2.1], "2 of 3 elements"),
    ],
)
def test_shapes_types_and_numbers_are_told_apart(graph: Graph, expected: Any, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        assert_same(ops.constant(np.arange(3, dtype=np.float32)), expected, ways=["one device"])


def test_numbers_may_be_off_by_the_tolerance_and_no_number_equals_none(graph: Graph) -> None:
    values = np.array([1000.0, np.nan, np.inf], np.float32)
    assert_same(ops.constant(values), values * np.float32(1.001), tolerance=2e-3, ways=["one device"])
    with pytest.raises(AssertionError, match="off by 1"):
        assert_same(ops.constant(values), values * np.float32(1.001), ways=["one device"])


def test_an_error_of_the_graph_says_on_which_way_it_came(graph: Graph) -> None:
    x = ops.placeholder("int32", [])
    with pytest.raises(InvalidArgumentError) as refused:
        assert_same(ops.floordiv(1, x), 1, {x: 0}, ways=["two tasks"])
    assert refused.value.__notes__[-1] == "while assert_same ran the graph: two tasks"


def test_what_cannot_be_compared_is_refused(graph: Graph) -> None:
    one = ops.constant(1)
    with pytest.raises(ValueError, match=r"the ways are .*, got 'sideways'"):
        assert_same(one, 1, ways=["sideways"])
    with pytest.raises(ValueError, match="1 fetches and 2 expected values"):
        assert_same([one], [1, 2])
