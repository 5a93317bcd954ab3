"""Wiring: connected tensors and places of feeds and fetches, in the plan of a step."""

from __future__ import annotations

from typing import Any

import pytest

from actorsession import ConfigProto, Graph, ops
from actorsession.errors import InvalidArgumentError, NotFoundError
from actorsession.extend import DeviceAttributes, DeviceSet
from actorsession.plan.execution_state import GraphExecutionState
from actorsession.plan.prune import PINNED, GraphView, prune
from actorsession.plan.signature import PLAIN, RunSignature, Wiring
from tests.rows import for_each

CPU = "/job:localhost/replica:0/task:0/device:CPU:{}"


@pytest.fixture
def graph() -> Graph:
    """y = x * 2, z = y + a."""
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [2], name="x")
        a = ops.placeholder("float32", None, name="a")
        ops.add(ops.multiply(x, 2.0, name="y"), a, name="z")
    return graph


def view(graph: Graph) -> GraphView:
    return GraphView(op.plain for op in graph.get_operations())


def connected(*pairs: tuple[str, str]) -> Wiring:
    return Wiring(connections=pairs)


def test_what_is_replaced_is_not_needed(graph: Graph) -> None:
    step = prune(view(graph), RunSignature(("x:0",), ("z:0",), (), connected(("y:0", "a:0"))))
    assert "a" not in step.nodes
    assert step.nodes["z"].inputs == (("y", 0), ("y", 0))


def test_what_runs_after_a_replaced_placeholder_runs_after_what_replaces_it(graph: Graph) -> None:
    with graph.as_default(), graph.control_dependencies([graph.get_operation_by_name("a")]):
        ops.no_op("after")
    signature = RunSignature(("x:0",), (), ("after",), connected(("y:0", "a:0")))
    step = prune(view(graph), signature)
    assert step.nodes["after"].control_inputs == ("y",)
    assert "y" in step.nodes


def test_a_shape_that_may_not_fit_is_checked_once_and_one_that_fits_is_not(graph: Graph) -> None:
    with graph.as_default():
        ops.add(graph.get_tensor_by_name("x:0"), 1.0, name="also")
    names = RunSignature(("a:0",), ("also:0", "y:0"), (), connected(("a:0", "x:0")))
    step = prune(view(graph), names)
    checks = [node for node in step.nodes.values() if node.op == "EnsureShape"]
    assert [node.name for node in checks] == ["_connected/x/0"]
    assert checks[0].inputs == (("_arg/a/0", 0),)
    other = RunSignature(("x:0",), ("z:0",), (), connected(("x:0", "a:0")))
    assert not [n for n in prune(view(graph), other).nodes.values() if n.op == "EnsureShape"]


@for_each(
    "pairs, kind, said",
    [
        ((("z:0", "x:0"),), InvalidArgumentError, "'z:0' to 'x:0' would create a cycle"),
        ((("nine:0", "x:0"),), InvalidArgumentError, "'nine:0' is not a tensor of the graph"),
        ((("y:0", "nine:0"),), NotFoundError, "'nine:0' is not a tensor of the graph"),
        ((("y:0", "a:0"), ("x:0", "a:0")), InvalidArgumentError, "'a:0' is fed more than once"),
        ((("y:0", "z:0"),), InvalidArgumentError, "'z:0' is both fed and fetched"),
        ((("y:b", "a:0"),), InvalidArgumentError, "malformed tensor name 'y:b'"),
    ],
)
def test_a_planner_refuses_connections_from_clients_of_any_kind(
    graph: Graph, pairs: Any, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        prune(view(graph), RunSignature((), ("z:0",), (), connected(*pairs)))


def state(graph: Graph) -> GraphExecutionState:
    devices = [DeviceAttributes(name=CPU.format(i), device_type="CPU", incarnation=i + 1) for i in range(3)]
    supports = lambda device, op: device != CPU.format(2) or op != "Identity"  # noqa: E731
    made = GraphExecutionState(ConfigProto(), DeviceSet(devices, supports=supports), lambda: None)
    made.extend([op.plain for op in graph.get_operations()])
    return made


def test_a_pinned_feed_is_in_one_partition_and_any_other_in_those_that_read_it(graph: Graph) -> None:
    pinned = Wiring(feed_devices=(("x:0", CPU.format(1)),))
    for wiring, where in ((PLAIN, CPU.format(0)), (pinned, CPU.format(1))):
        step, parts = state(graph).partitions(RunSignature(("x:0",), ("y:0",), (), wiring))
        assert [part.device for part in parts if part.feeds] == [where]
        assert (PINNED in step.nodes["_arg/x/0"].attrs) == (wiring is pinned)
    # A fetch leaves at its device.
    placed = Wiring(fetch_devices=(("y:0", CPU.format(1)),))
    _, parts = state(graph).partitions(RunSignature(("x:0",), ("y:0",), (), placed))
    assert {part.device: part.fetches for part in parts} == {CPU.format(0): (), CPU.format(1): ((0, "_fetch/y/0", 0),)}
    # A device must exist and be able to hand out what is fetched.
    for field in ("feed_devices", "fetch_devices"):
        wiring = Wiring(**{field: (("y:0", CPU.format(7)),)})
        with pytest.raises(InvalidArgumentError, match=f"{field} names .*CPU:7.* does not exist"):
            state(graph).partitions(RunSignature((), ("y:0",), (), wiring))
    unable = Wiring(fetch_devices=(("y:0", CPU.format(2)),))
    with pytest.raises(InvalidArgumentError, match="no kernel for Identity"):
        state(graph).partitions(RunSignature(("x:0",), ("y:0",), (), unable))


# -- as values -------------------------------------------------------------------------------------


def test_a_wiring_survives_the_wire_and_is_part_of_the_signature() -> None:
    wiring = Wiring((("a:0", "x:0"),), (("y:0", CPU.format(0)),), (("z:0", CPU.format(1)),))
    assert Wiring.from_wire(wiring.to_wire()) == wiring
    assert Wiring.from_wire(PLAIN.to_wire()) is PLAIN
    assert PLAIN.to_wire() == []
    plain, wired = RunSignature(("b:0", "a:0")), RunSignature(("b:0", "a:0"), wiring=wiring)
    assert plain != wired
    assert wired.sorted() == RunSignature(("a:0", "b:0"), wiring=wiring)
    assert str(plain) == "b:0,a:0->/"
    assert str(wired).startswith("b:0,a:0->/ with a:0 for x:0, y:0 at /job:localhost")


@for_each("value", [[1], [[], []], [[["a"]], [], []], [[["a", 3]], [], []], "abc", 7])
def test_other_forms_are_refused(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="not the wire form of a wiring"):
        Wiring.from_wire(value)
