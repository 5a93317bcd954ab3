"""Values that are known while the graph is built."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, constant, get_static_value, ops
from actorsession.graph import constant_value
from actorsession.graph.constant_value import _PASS_ON, MOST_ELEMENTS
from tests.graph.kit import copy, join, leaf, value
from tests.rows import for_each


def test_a_constant_is_known_and_a_placeholder_is_not() -> None:
    graph = Graph()
    known = constant_value(value(graph, [1, 2]))
    assert known is not None
    assert known.tolist() == [1, 2]
    assert constant_value(leaf(graph)) is None
    graph = Graph()
    a, b = value(graph, 2), value(graph, 3)
    total = graph.create_op("KitSum", [copy(graph, a), b, b]).outputs[0]
    assert constant_value(total) == 8
    assert constant_value(join(graph, a, b)) is None, "KitJoin does not say how"
    assert constant_value(graph.create_op("KitSum", [a, leaf(graph)]).outputs[0]) is None
    # Shape functions see the values of their inputs.
    graph = Graph()
    shape = copy(graph, value(graph, np.array([2, 3])))
    assert graph.create_op("KitSized", [shape]).outputs[0].shape == [2, 3]
    assert graph.create_op("KitSized", [leaf(graph)]).outputs[0].shape.rank is None
    graph = Graph()
    total = graph.create_op("KitSum", [value(graph, 1)]).outputs[0]
    first = constant_value(total)
    leaf(graph, shape=[None]).set_shape([3])
    assert constant_value(total) is first


def test_a_shape_refined_later_makes_more_known() -> None:
    graph = Graph()
    source = leaf(graph, shape=[None])
    extent = graph.create_op("KitExtent", [source]).outputs[0]
    through = copy(graph, extent)
    assert constant_value(through) is None
    source.set_shape([5])
    assert constant_value(through) == 5
    assert constant_value(extent) == 5


def test_a_chain_of_any_length_is_followed() -> None:
    """Longer than Python lets functions call each other, known or not."""
    graph = Graph()
    known, unknown = value(graph, 7), leaf(graph, shape=[None])
    refined = unknown
    for _ in range(3000):
        known, unknown = copy(graph, known), copy(graph, unknown)
    assert constant_value(known) == 7
    assert constant_value(unknown) is None
    refined.set_shape([2])  # all that was not known may be known now, so it is asked again
    assert constant_value(unknown) is None


def test_a_value_that_is_used_twice_everywhere_is_computed_once() -> None:
    """Without remembering, fifty doublings would take a quadrillion evaluations."""
    graph = Graph()
    total = value(graph, 1)
    begin = time.perf_counter()
    for _ in range(50):
        total = graph.create_op("KitSum", [total, total]).outputs[0]
    assert constant_value(total) == 2**50
    assert time.perf_counter() - begin < 5


def test_fills_and_casts_of_what_is_known_are_known() -> None:
    with Graph().as_default():
        assert get_static_value(ops.fill([2], 5)).tolist() == [5, 5]
        assert get_static_value(ops.fill([], 5)).tolist() == 5
        assert get_static_value(ops.cast(constant(3), "float32")) == np.float32(3)
        assert get_static_value(ops.cast(constant([1.5, 2.0]), "float64")).tolist() == [1.5, 2.0]
        assert get_static_value(ops.cast(constant([0, 2]), "bool")).tolist() == [False, True]
        assert get_static_value(ops.fill(ops.placeholder("int32", [1]), 5)) is None
    # A large fill is left to the step.
    with Graph().as_default():
        assert get_static_value(ops.fill([1 << 20, 1 << 20], 1)) is None
    # What only the step says is not known early.
    with Graph().as_default():
        assert get_static_value(ops.cast(constant([float("nan")]), "int32")) is None
        assert get_static_value(ops.cast(constant(1.7), "int32")) is None


# -- bounds ----------------------------------------------------------------------------------------


def kept(graph: Graph) -> int:
    """The elements of the values that were computed and are remembered."""
    made = [t for op in graph.get_operations() if op.type not in _PASS_ON for t in op.outputs]
    values = [t._constant[1] for t in made if t._constant is not None]
    return sum(value.size for value in values if value is not None)


@pytest.mark.parametrize("double", ["concat", "stack", "strings"])
def test_values_that_double_are_computed_while_they_are_small(double: str) -> None:
    """Thirty-two times four bytes and more would be 32 GiB, for which there is no memory."""
    with Graph().as_default() as graph:
        x = constant([b"text", b"more"]) if double == "strings" else constant([1.0, 2.0])
        for _ in range(32):
            x = ops.stack([x, x]) if double == "stack" else ops.concat([x, x], 0)
            ops.shape(x + x if double != "strings" else x)
        assert constant_value(x) is None
        assert x.shape.num_elements() == 2**33
        assert kept(graph) < 2 * MOST_ELEMENTS + 100


@for_each(
    "build",
    [
        lambda large: ops.cast(large, "float64"),
        lambda large: ops.reshape(large, [2, -1]),
        lambda large: ops.stack([large, large]),
        lambda large: large[::2],
        lambda large: ops.fill([MOST_ELEMENTS + 1], 1),
        lambda large: ops.range(MOST_ELEMENTS + 1),
        lambda large: ops.range(1 << 60),
    ],
    ids=["cast", "reshape", "stack", "slice", "fill", "range", "enormous range"],
)
def test_a_value_that_is_large_is_not_computed(build: Any) -> None:
    with Graph().as_default() as graph:
        made = build(constant(np.arange(3 * MOST_ELEMENTS)))
        assert get_static_value(made) is None
        assert kept(graph) <= 10


def test_what_was_given_whole_is_known_at_any_size_and_is_no_copy() -> None:
    given = np.arange(3 * MOST_ELEMENTS)
    with Graph().as_default():
        whole = constant(given)
        found = get_static_value(ops.stop_gradient(ops.identity(whole)))
        assert found.size == given.size
        assert np.shares_memory(found, whole.op.attrs["value"])
        assert get_static_value(whole[5:8]).tolist() == [5, 6, 7]
        assert get_static_value(ops.shape(whole)).tolist() == [given.size]


def test_a_value_that_turns_out_to_be_large_later_is_not_computed() -> None:
    with Graph().as_default():
        x = ops.placeholder("float32", [None])
        numbers = ops.range(ops.shape(x)[0])
        assert get_static_value(numbers) is None
        x.set_shape([MOST_ELEMENTS + 1])
        assert get_static_value(numbers) is None
        y = ops.placeholder("float32", [None])
        few = ops.range(ops.shape(y)[0])
        y.set_shape([MOST_ELEMENTS])
        assert len(get_static_value(few)) == MOST_ELEMENTS


def test_a_stack_that_is_known_in_part_is_bounded_too() -> None:
    with Graph().as_default():
        x = ops.stack([ops.placeholder("int32", []), constant(1)])
        for _ in range(40):
            x = ops.stack([x, x])
        assert get_static_value(x, partial=True) is None
