"""The operation types of raw loops and conditionals: signatures, shapes, and what cannot be built."""

from __future__ import annotations

import pytest

import actorsession as acts
from actorsession.errors import UnimplementedError
from actorsession.graph.control_flow_ops import PRIMITIVES
from actorsession.graph.graph import Graph
from actorsession.graph.registry import lookup
from actorsession.ops.flow import dataflow
from actorsession.plan.codegen.node_context import NodeContext
from tests.rows import for_each, refusing


def test_a_switch_has_two_outputs_of_the_type_and_shape_of_its_data() -> None:
    data = acts.placeholder("float32", [2, None])
    ways = dataflow.switch(data, acts.placeholder("bool", []))
    assert [t.spec for t in ways] == [data.spec, data.spec]
    assert [t.name for t in ways] == ["Switch:0", "Switch:1"]
    assert ways.output_true.op.type == "Switch"


def test_a_switch_of_several_ways_has_as_many_outputs() -> None:
    ways = dataflow.switch_n(acts.placeholder("float32", [3]), acts.placeholder("int32", []), 4)
    assert [str(t.shape) for t in ways] == ["(3,)"] * 4
    with pytest.raises(ValueError, match="positive"):
        dataflow.switch_n(1, 0, 0)


@for_each(
    "shapes, merged",
    [([[2], [2]], [2]), ([[2, 3], [2, 4]], [2, None]), ([[2], [2, 3]], None), ([[2], None], None), ([[]], [])],
    ids=str,
)
def test_a_merge_knows_of_its_shape_what_all_inputs_have_in_common(
    shapes: list[list[int] | None], merged: list[int | None] | None
) -> None:
    found = dataflow.merge([acts.placeholder("float32", s) for s in shapes])
    assert found.output.shape.sizes == (None if merged is None else tuple(merged))
    assert (found.value_index.dtype.name, found.value_index.shape.rank) == ("int32", 0)


def test_what_enters_once_may_change_its_shape_and_what_is_constant_may_not() -> None:
    value = acts.placeholder("float32", [2])
    assert dataflow.enter(value, "frame").shape.rank is None
    assert dataflow.enter(value, "frame", is_constant=True).shape.sizes == (2,)


def test_a_loop_condition_is_a_bool_scalar() -> None:
    assert dataflow.loop_cond(acts.placeholder("bool")).shape.rank == 0
    with pytest.raises(TypeError, match="bool"):
        dataflow.loop_cond(1)
    with pytest.raises(ValueError, match="scalar"):
        dataflow.loop_cond(acts.placeholder("bool", [1]))


def test_a_loop_is_closed_by_a_next_iteration_of_the_same_type() -> None:
    entered = dataflow.enter(acts.constant(1), "frame")
    merged = dataflow.merge([entered, entered]).output
    with pytest.raises(ValueError, match="next_iteration"):
        dataflow.close_loop(merged, merged + 1)
    with pytest.raises(TypeError, match="int32"):
        dataflow.close_loop(merged, dataflow.next_iteration(acts.cast(merged, "float32")))
    following = dataflow.next_iteration(merged + 1)
    dataflow.close_loop(merged, following)
    assert merged.op.inputs == (entered, following)
    assert merged.op.plain.inputs[1] == (following.op.name, 0)
    assert following.consumers() == [merged.op]
    assert merged.op not in entered.consumers()[1:]


def test_an_input_is_not_replaced_by_what_is_made_of_it(graph: Graph) -> None:
    one = acts.constant(1)
    two = one + 1
    three = two + 1
    with pytest.raises(ValueError, match="which depends on it"):
        graph.changes.update_input(two.op, 0, three)
    with pytest.raises(IndexError):
        graph.changes.update_input(two.op, 2, one)
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        graph.changes.update_input(two.op, 0, one)


@for_each("op", sorted(PRIMITIVES))
def test_within_a_function_it_says_that_it_runs_in_the_graph_alone(graph: Graph, op: str) -> None:
    node = acts.no_op(name="node").plain
    with pytest.raises(UnimplementedError, match="while_loop or cond"):
        lookup(op).kernel(NodeContext(node, (), (), "/device:CPU:0"))


test_what_does_not_fit_is_refused_by_the_line_that_builds = refusing(
    (lambda: dataflow.switch(1, acts.placeholder("int32", [])), TypeError, "bool"),
    (lambda: dataflow.switch(1, acts.placeholder("bool", [2])), ValueError, "scalar"),
    (
        lambda: dataflow.merge([acts.placeholder("float32", []), acts.placeholder("int32", [])]),
        TypeError,
        "float32 is wanted here",
    ),
    (lambda: dataflow.merge([]), ValueError, "at least one"),
    (lambda: dataflow.merge([1, None]), ValueError, "None"),
    (lambda: dataflow.enter(1, ""), ValueError, "frame_name"),
    (lambda: dataflow.enter(1, "frame", parallel_iterations=0), ValueError, "parallel_iterations"),
)
