"""Which loops and conditionals of single operations become one operation, and which are left alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import actorsession as acts
from actorsession import GraphOptions, NodeDef, Operation, OptimizerOptions, Tensor
from actorsession.config import OptLevel
from actorsession.errors import InvalidArgumentError
from actorsession.extend import DeviceAttributes, DeviceSet, RunSignature, StepGraph
from actorsession.graph.control_flow_ops import PRIMITIVES
from actorsession.graph.device import LOCAL_TASK
from actorsession.graph.function import FunctionDef
from actorsession.ops.flow import dataflow
from actorsession.plan.control_flow.functionalize import functionalize
from actorsession.plan.place import Placer
from actorsession.plan.prune import GraphView, prune
from tests.nodes import make
from tests.ops.raw_control import raw_cond, raw_while

pytestmark = pytest.mark.usefixtures("graph")

CPUS = [f"{LOCAL_TASK}/device:CPU:{k}" for k in range(2)]
DEVICES = DeviceSet([DeviceAttributes(name=name, device_type="CPU", incarnation=7) for name in CPUS])
Values = Sequence[Tensor]


def planned(
    fetches: Sequence[Tensor], feeds: Sequence[Tensor] = (), targets: Sequence[Operation] = ()
) -> tuple[StepGraph, dict[str, str]]:
    nodes = [op.plain for op in acts.get_default_graph().get_operations()]
    placed = Placer(DEVICES).place(nodes)
    fed, fetched, run = (tuple([t.name for t in given]) for given in (feeds, fetches, targets))
    step = prune(GraphView(nodes), RunSignature(fed, fetched, run))
    client = DEVICES.client_device
    return step, {n: placed[n].device if n in placed else client for n in step.nodes}


def lifted(*fetches: Tensor, feeds: Sequence[Tensor] = (), **asked: Any) -> dict[str, NodeDef]:
    made, device_of = functionalize(*planned(fetches, feeds, **asked))
    assert made.nodes.keys() == device_of.keys()
    return dict(made.nodes)


def ops_of(nodes: dict[str, NodeDef]) -> list[str]:
    return [node.op for node in nodes.values()]


def is_left(*fetches: Tensor, **asked: Any) -> bool:
    """Whether the pass gives back the very graph that it was given."""
    step, device_of = planned(fetches, **asked)
    return functionalize(step, device_of)[0] is step


def counted(n: Tensor, **options: Any) -> Tensor:
    return raw_while(lambda v, c: v[0] < c[0], lambda v, _: [v[0] + 1], [acts.constant(0)], [n], **options)[0]


def engine_session() -> acts.Session:
    options = GraphOptions(optimizer_options=OptimizerOptions(opt_level=OptLevel.L0))
    return acts.Session(config=acts.ConfigProto(graph_options=options))


# -- what is lifted --------------------------------------------------------------------------------


def test_a_loop_becomes_one_node_under_the_name_of_its_first_switch() -> None:
    n = acts.placeholder("int32", [])
    count = counted(n)
    nodes = lifted(count, feeds=[n])
    assert PRIMITIVES.isdisjoint(ops_of(nodes))
    loop = nodes["raw_while/Switch"]
    assert (loop.op, nodes["raw_while/Exit"].op) == ("While", "Identity")
    assert nodes["raw_while/Exit"].inputs == (("raw_while/Switch", 0),)
    assert "raw_control.py:" in loop.source
    test, turn = loop.attrs["cond"], loop.attrs["body"]
    assert [node.op for node in test.nodes] == ["Less"]
    assert [node.op for node in turn.nodes] == ["Const", "AddV2"]
    # A loop on one device is lifted there.
    n = acts.placeholder("int32", [])
    with acts.device("/cpu:1"):
        count = counted(n)
    made, device_of = functionalize(*planned([count], [n]))
    assert made.nodes["raw_while_1/Switch"].op == "While"
    assert device_of["raw_while_1/Switch"] == CPUS[1]


def test_a_graph_without_such_operations_is_the_same_graph() -> None:
    total: Any = acts.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    assert is_left(total)


def test_a_conditional_becomes_one_node_whose_merges_keep_their_names() -> None:
    x, taken = acts.placeholder("int32", []), acts.placeholder("bool", [])
    (y,) = raw_cond(taken, lambda v: [v[0] + 1], lambda v: [v[0] * 2], [x])
    nodes = lifted(y, feeds=[x, taken])
    assert sorted(ops_of(nodes)) == ["Identity", "If", "_Arg", "_Arg"]
    assert nodes["raw_cond/Merge"].op == "Identity"


def test_the_index_that_a_merge_gives_is_made_where_somebody_reads_it() -> None:
    x, taken = acts.placeholder("int32", []), acts.placeholder("bool", [])
    ways = dataflow.switch(x, taken)
    merged = dataflow.merge([ways.output_true + 1, ways.output_false * 2])
    assert PRIMITIVES.isdisjoint(ops_of(lifted(*merged, feeds=[x, taken])))
    index = merged.value_index + 10
    assert PRIMITIVES.isdisjoint(ops_of(lifted(index, feeds=[x, taken])))
    with acts.Session() as session:
        assert session.run([*merged, index], {x: 5, taken: True}) == [6, 0, 10]
        assert session.run([*merged, index], {x: 5, taken: False}) == [10, 1, 11]


def test_loops_and_conditionals_within_each_other_are_lifted_whole() -> None:
    n = acts.placeholder("int32", [])

    def body(values: Values, _: Values) -> list[Tensor]:
        (inner,) = raw_cond(values[0] < 2, lambda v: [counted(v[0])], lambda v: [v[0] * 10], [values[0]])
        return [values[0] + 1, values[1] + inner]

    start = [acts.constant(0), acts.constant(0)]
    nodes = lifted(raw_while(lambda v, c: v[0] < c[0], body, start, [n])[1], feeds=[n])
    assert [op for op in ops_of(nodes) if op not in ("Const", "Identity")] == ["_Arg", "While"]


def test_two_conditionals_on_one_predicate_stay_two() -> None:
    x, taken = acts.placeholder("int32", []), acts.placeholder("bool", [])
    one = raw_cond(taken, lambda v: [v[0] + 1], lambda v: [v[0] * 2], [x])
    (two,) = raw_cond(taken, lambda v: [v[0] + 3], lambda v: [v[0] * 4], one)
    nodes = lifted(two, feeds=[x, taken])
    assert ops_of(nodes).count("If") == 2
    assert PRIMITIVES.isdisjoint(ops_of(nodes))


# -- what is known of shapes -----------------------------------------------------------------------


def test_variables_have_the_shapes_that_follow_from_what_enters() -> None:
    x = acts.placeholder("float32", [3, 4])
    start = [acts.constant(0), x, acts.constant([1.0]), acts.placeholder("float32")]
    results = raw_while(
        lambda v, _: v[0] < 2, lambda v, _: [v[0] + 1, acts.tanh(v[1]), acts.concat([v[2], v[2]], 0), v[3]], start
    )
    nodes = lifted(*results, feeds=[x, start[3]])
    assert [spec.shape.sizes for spec in nodes["raw_while/Switch"].outputs] == [(), (3, 4), (None,), None]
    assert [nodes[t.op.name].outputs[0].shape for t in results] == [t.shape for t in results]


def test_what_is_known_goes_from_one_loop_to_the_next() -> None:
    n = acts.placeholder("int32", [])
    body = lifted(counted(counted(n) - 1, name="second"), feeds=[n])["second/Switch"].attrs["body"]
    assert isinstance(body, FunctionDef)
    assert [spec.shape.sizes for spec in body.captures] == [()]


def test_shapes_that_do_not_fit_leave_the_graph_alone_and_fail_when_it_runs() -> None:
    x = acts.placeholder("float32", [2, 3])
    start = [acts.constant(0), x]
    results = raw_while(lambda v, _: v[0] < 1, lambda v, _: [v[0] + 1, acts.matmul(v[1], v[1])], start)
    assert is_left(*results, feeds=[x])
    with acts.Session() as session, pytest.raises(InvalidArgumentError) as info:
        session.run(results, {x: [[1, 2, 3], [4, 5, 6]]})
    assert info.value.node == "raw_while/MatMul"


# -- what is left ----------------------------------------------------------------------------------


def test_a_loop_of_which_something_inside_is_asked_for_is_left() -> None:
    inner: list[Tensor] = []

    def body(values: Values, _: Values) -> list[Tensor]:
        inner.append(values[0] + 1)
        return inner

    (count,) = raw_while(lambda v, _: v[0] < 3, body, [acts.constant(0)])
    assert is_left(count, targets=[inner[0].op])
    assert is_left(count, inner[0])
    assert not is_left(count)


def test_a_loop_within_one_that_is_left_is_lifted() -> None:
    inner: list[Tensor] = []

    def body(values: Values, _: Values) -> list[Tensor]:
        inner.append(counted(values[0], name="inner"))
        return [values[0] + 1]

    (count,) = raw_while(lambda v, _: v[0] < 3, body, [acts.constant(0)])
    nodes = lifted(count, targets=[inner[0].op])
    assert nodes["raw_while/inner/Switch"].op == "While"
    assert ops_of(nodes).count("Merge") == 1
    with acts.Session() as session:
        assert session.run([count, inner[0].op]) == [3, None]


def test_a_loop_over_two_devices_is_left() -> None:
    def body(values: Values, _: Values) -> list[Tensor]:
        with acts.device("/cpu:1"):
            return [values[0] + 1]

    (count,) = raw_while(lambda v, _: v[0] < 3, body, [acts.constant(0)])
    assert is_left(count)


def test_what_waits_or_is_the_users_is_left() -> None:
    queue = acts.FIFOQueue(10, "int32", [[]])
    attrs = queue.dequeue().op.attrs
    (taking,) = raw_while(
        lambda v, _: v[0] < 3,
        lambda v, c: [v[0] + make("QueueDequeueV2", [c[0]], attrs).outputs[0]],
        [acts.constant(0)],
        [queue.queue_ref],
    )
    assert is_left(taking)
    x, taken = acts.placeholder("int32", []), acts.placeholder("bool", [])

    def call(values: Values) -> list[Tensor]:
        return [acts.convert_to_tensor(acts.py_func(int, values, "int32"))]

    (called,) = raw_cond(taken, call, lambda v: [v[0] * 2], [x])
    assert is_left(called, feeds=[x, taken])


def test_what_runs_once_more_than_the_body_is_left_unless_the_condition_needs_it() -> None:
    """A division in each iteration, the last one included, whose quotient only the body reads."""
    entered = dataflow.enter(acts.constant(3), "frame")
    merged = dataflow.merge([entered, entered]).output
    quotient = dataflow.enter(acts.constant(6), "frame", is_constant=True) // merged
    zero = dataflow.enter(acts.constant(0), "frame", is_constant=True)
    ways = dataflow.switch(merged, dataflow.loop_cond(merged > zero))
    dataflow.close_loop(merged, dataflow.next_iteration(ways.output_true - quotient // quotient))
    result = dataflow.exit_(ways.output_false)
    assert is_left(result)
    with acts.Session() as session, pytest.raises(InvalidArgumentError, match="zero"):
        session.run(result)


def test_state_that_condition_and_body_read_together_is_left() -> None:
    """Read twice in an iteration it could be two values."""
    n, variable = acts.placeholder("int32", []), acts.Variable(0)
    read = next(op for op in n.graph.get_operations() if op.type == "ReadVariableOp").attrs
    shared: list[Tensor] = []

    def condition(values: Values, given: Values) -> Tensor:
        shared.append(make("ReadVariableOp", [given[1]], read).outputs[0])
        return values[0] + shared[0] < given[0]

    (result,) = raw_while(condition, lambda v, _: [v[0] + shared[0] + 1], [acts.constant(0)], [n, variable.handle])
    assert is_left(result, feeds=[n])


def test_a_loop_that_begins_with_what_it_gave_is_left() -> None:
    """Of two variables one enters when the other has left: two loops under one name."""
    entered = dataflow.enter(acts.constant(0), "frame")
    merged = dataflow.merge([entered, entered]).output
    goes_on = dataflow.loop_cond(merged < dataflow.enter(acts.constant(3), "frame", is_constant=True))
    ways = dataflow.switch(merged, goes_on)
    one = dataflow.enter(acts.constant(1), "frame", is_constant=True)
    dataflow.close_loop(merged, dataflow.next_iteration(ways.output_true + one))
    again = dataflow.enter(dataflow.exit_(ways.output_false), "frame")
    other = dataflow.merge([again, again]).output
    ways = dataflow.switch(other, goes_on)
    dataflow.close_loop(other, dataflow.next_iteration(ways.output_true + one))
    assert is_left(dataflow.exit_(ways.output_false))


def test_a_loop_that_lives_in_part_is_left_and_gives_that_part() -> None:
    """One variable is on a way not taken; the other counts all the same."""
    taken = acts.placeholder("bool", [])
    sometimes = dataflow.switch(acts.constant(5), taken).output_true
    start = [acts.constant(0), sometimes]
    count, other = raw_while(lambda v, _: v[0] < 3, lambda v, _: [v[0] + 1, v[1] * 2], start)
    assert is_left(count, other, feeds=[taken])
    with acts.Session() as session:
        assert session.run([count, other], {taken: True}) == [3, 40]
        assert session.run([count, other.op], {taken: False}) == [3, None]


def test_a_loop_on_a_way_that_nobody_merges_is_lifted_and_dead_as_a_whole() -> None:
    n, taken = acts.placeholder("int32", []), acts.placeholder("bool", [])
    way = dataflow.switch(n, taken).output_true
    (total,) = raw_while(lambda v, _: v[0] < 9, lambda v, _: [v[0] + v[0]], [way])
    nodes = lifted(total, feeds=[n, taken])
    assert [op for op in ops_of(nodes) if op in PRIMITIVES] == ["Switch"]
    assert "While" in ops_of(nodes)
    with acts.Session() as session:
        assert session.run(total, {n: 3, taken: True}) == 12
        with pytest.raises(InvalidArgumentError, match="dead"):
            session.run(total, {n: 3, taken: False})


def test_more_loops_within_each_other_than_python_compiles_are_left() -> None:
    def nested(depth: int, start: Tensor) -> Tensor:
        def body(values: Values, _: Values) -> list[Tensor]:
            inner = nested(depth - 1, values[0]) if depth else values[0]
            return [inner + 1]

        return raw_while(lambda v, _: v[0] < 3, body, [start])[0]

    result = nested(16, acts.constant(0))
    assert is_left(result)
    with acts.Session() as session:
        assert session.run(result) >= 3


def test_level_zero_lifts_nothing() -> None:
    n = acts.placeholder("int32", [])
    count = counted(n)
    with acts.Session() as compiled, engine_session() as engine:
        assert compiled.run(count, {n: 7}) == engine.run(count, {n: 7}) == 7
        changes = [
            {p.name: p.changes for p in session.statistics().graph_passes}["functionalize"]
            for session in (compiled, engine)
        ]
    assert changes == [1, 0]
