"""What a run needs of a graph, also one whose tensors are connected. TensorFlow was asked where it could be."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import ConfigProto, Graph, NodeDef, ops
from actorsession.errors import InvalidArgumentError, NotFoundError
from actorsession.extend import DeviceAttributes, DeviceSet, StepGraph
from actorsession.plan.execution_state import GraphExecutionState
from actorsession.plan.prune import ARG, PINNED, GraphView, arg_name, prune, split_name
from actorsession.plan.signature import PLAIN, RunSignature, Wiring
from tests.plan.kit import node, scalar
from tests.rows import for_each, refusing


def pruned(nodes: list[NodeDef], fetches: str = "", feeds: str = "", targets: str = "") -> StepGraph:
    """What is left for a run; names are given as words."""
    return prune(GraphView(nodes), RunSignature(tuple(feeds.split()), tuple(fetches.split()), tuple(targets.split())))


def const(name: str, **more: Any) -> NodeDef:
    return node(name, op="Const", value=1.0, **more)


# -- what is kept ----------------------------------------------------------------------------------


CHAIN = [const("a"), node("b", "a"), node("c", "b"), const("x"), node("y", "x", "c", op="AddV2")]
UNPACK = [const("k"), node("p", "k", op="Unpack", outputs=(scalar, scalar)), node("y", "p:0", "p:1", op="AddV2")]
PLACEHOLDER = [node("ph", op="Placeholder"), node("w", after=["ph"]), node("y", "ph"), const("k")]
CYCLE = [node("x", "y"), node("y", "x"), const("k")]


@for_each(
    "nodes, asked, kept",
    [
        (CHAIN, {"fetches": "c:0"}, "a b c"),
        (CHAIN, {"fetches": "y:0"}, "a b c x y"),
        (CHAIN, {}, ""),
        ([const("a"), node("init", after=["a"]), node("other")], {"targets": "init"}, "a init"),
        # In the order in which they were built.
        ([const("k"), node("b", "k"), node("a", "k"), node("c", "a", "b")], {"fetches": "c:0"}, "k b a c"),
        (UNPACK, {"fetches": "p:1 p:0 p"}, "k p"),
        # A feed cuts the graph with everything behind it.
        ([const("c0"), const("x", after=["c0"]), node("y", "x")], {"fetches": "y:0", "feeds": "x:0"}, "_arg/x/0 y"),
        (CHAIN, {"fetches": "b:0", "feeds": "b:0"}, "_arg/b/0"),
        (CHAIN, {"fetches": "c:0", "feeds": "b:0", "targets": "b"}, "_arg/b/0 a b c"),
        # Of feeds that are not needed there is no node.
        (CHAIN, {"fetches": "y:0", "feeds": "x:0 a:0 c:0"}, "_arg/c/0 _arg/x/0 y"),
        # A placeholder need not be fed where it is not needed, and what is no placeholder runs for what waits for it.
        (PLACEHOLDER, {"fetches": "k:0"}, "k"),
        (PLACEHOLDER, {"targets": "w", "feeds": "ph:0"}, "w"),
        # A cycle that is cut by a feed or not needed is no error.
        (CYCLE, {"fetches": "k:0"}, "k"),
        (CYCLE, {"fetches": "y:0", "feeds": "x:0"}, "_arg/x/0 y"),
    ],
)
def test_only_what_a_run_needs_is_kept(nodes: list[NodeDef], asked: dict[str, str], kept: str) -> None:
    step = pruned(nodes, **asked)
    feeds, fetches = ([split_name(name) for name in asked.get(key, "").split()] for key in ("feeds", "fetches"))

    def read(ref: tuple[str, int]) -> tuple[str, int]:
        return (arg_name(ref), 0) if ref in feeds else ref

    assert " ".join(step.nodes) == kept
    assert step.feeds == tuple(map(arg_name, feeds))
    assert step.fetches == tuple(map(read, fetches))
    assert step.targets == tuple(asked.get("targets", "").split())
    for original in nodes:
        if original.name in step.nodes:
            assert step.nodes[original.name].inputs == tuple(map(read, original.inputs))


def test_the_graph_itself_stays_as_it_was() -> None:
    view = GraphView(CHAIN)
    before = dict(view)
    step = prune(view, RunSignature(("b:0",), ("y:0",), ()))
    assert dict(view) == before
    assert step.nodes["c"] is not view["c"], "it reads the feed"
    assert step.nodes["x"] is view["x"]


@given(st.randoms(use_true_random=False), st.integers(1, 30))
def test_the_result_depends_on_the_names_alone(rng: random.Random, size: int) -> None:
    nodes = [const("n0")]
    for i in range(1, size):
        producers = [f"n{rng.randrange(i)}" for _ in range(rng.randint(1, 3))]
        after = [f"n{rng.randrange(i)}" for _ in range(rng.randint(0, 2))]
        nodes.append(node(f"n{i}", *producers, op="AddN", after=after))
    fetches = tuple(f"n{rng.randrange(size)}:0" for _ in range(3))
    feeds = (f"n{rng.randrange(size)}:0",)
    asked = RunSignature(feeds, fetches, ())
    once, again = prune(GraphView(nodes), asked), prune(GraphView(nodes), asked)
    assert list(once.nodes.items()) == list(again.nodes.items())
    assert once == again
    made: set[str] = set()
    for name, kept in once.nodes.items():
        assert made.issuperset(p for p, _ in kept.inputs)
        assert made.issuperset(kept.control_inputs)
        made.add(name)


# -- feeds -----------------------------------------------------------------------------------------


def test_a_feed_has_the_static_type_of_what_it_replaces() -> None:
    arg = pruned(CHAIN, "c:0", feeds="b").nodes[arg_name(("b", 0))]
    assert (arg.op, arg.outputs, arg.attrs) == (ARG, (scalar,), {"index": 0})
    assert arg.source == "b.py:1"


def test_feeds_are_numbered_as_asked() -> None:
    step = pruned(CHAIN, "y:0", feeds="x:0 a:0 c:0")
    assert [step.nodes[arg_name((n, 0))].attrs["index"] for n in "xc"] == [0, 2]


def test_one_output_can_be_fed_while_another_is_computed() -> None:
    step = pruned(UNPACK, "y:0", feeds="p:1")
    assert list(step.nodes) == [arg_name(("p", 1)), "k", "p", "y"]
    assert step.nodes["y"].inputs == (("p", 0), (arg_name(("p", 1)), 0))


def test_a_control_input_on_a_fed_placeholder_is_satisfied_by_the_feed() -> None:
    assert pruned(PLACEHOLDER, targets="w", feeds="ph:0").nodes["w"].control_inputs == ()


@for_each("op", ["Const", "PlaceholderWithDefault"])
def test_a_control_input_on_anything_else_fed_still_makes_it_run(op: str) -> None:
    step = pruned([const("c0"), node("x", "c0", op=op, value=1.0), node("z", after=["x"])], targets="z", feeds="x:0")
    assert list(step.nodes) == ["c0", "x", "z"]
    assert step.nodes["z"].control_inputs == ("x",)


@for_each(
    "asked, said",
    [
        ({"feeds": "ph:0", "targets": "ph"}, "'ph' cannot be a target while it is fed"),
        ({"fetches": "y:0"}, r"You must feed a value for placeholder tensor 'ph' with dtype float32 and shape \(\)"),
    ],
)
def test_a_placeholder_that_is_needed_must_be_fed_and_cannot_be_a_target_then(asked: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said) as caught:
        pruned(PLACEHOLDER, **asked)
    assert (caught.value.node, caught.value.source) == ("ph", "ph.py:1")


test_a_name_that_is_not_in_the_graph_or_fed_twice_is_refused = refusing(
    ({"fetches": "c:0", "feeds": "b:0 b:0"}, "tensor 'b:0' is fed more than once"),
    ({"fetches": "c:0", "feeds": "b b:0"}, "tensor 'b:0' is fed more than once"),
    ({"fetches": "nope:0"}, "fetch 'nope:0' is not a tensor of the graph"),
    ({"fetches": "a:1"}, "fetch 'a:1' is not a tensor of the graph"),
    ({"feeds": "nope:0"}, "feed 'nope:0' is not a tensor of the graph"),
    ({"feeds": "a:7"}, "feed 'a:7' is not a tensor of the graph"),
    ({"targets": "nope"}, "target 'nope' is not an operation of the graph"),
    ({"targets": "a:0"}, "target 'a:0' is not an operation of the graph"),
    ({"fetches": "a:-1"}, "malformed tensor name 'a:-1'"),
    ({"fetches": "a:x"}, "malformed tensor name 'a:x'"),
    ({"feeds": "a:"}, "malformed tensor name 'a:'"),
    ({"fetches": arg_name(("a", 0))}, "fetch '_arg/a/0' is not a tensor"),
    of=lambda asked: pruned(CHAIN, **asked),
    error=InvalidArgumentError,
)


def test_a_tensor_name_without_an_index_is_the_first_output() -> None:
    assert split_name("scope/x") == ("scope/x", 0)
    assert split_name("scope/x:12") == ("scope/x", 12)


# -- cycles ----------------------------------------------------------------------------------------


def test_imported_nodes_may_stand_before_what_they_read() -> None:
    names = list(pruned([node("c", "b"), node("b", "a", after=["d"]), const("d"), const("a")], "c:0").nodes)
    assert sorted(names) == ["a", "b", "c", "d"]
    assert names.index("c") > names.index("b") > max(names.index("a"), names.index("d"))


def test_a_cycle_is_named_without_what_only_leads_to_it() -> None:
    nodes = [node("end", "y"), node("x", "w"), node("y", "x"), node("z", "y"), node("w", after=["z"])]
    with pytest.raises(InvalidArgumentError, match="a cycle through ") as caught:
        pruned(nodes, "end:0")
    through = caught.value.message.removeprefix("the graph has a cycle through ").split(", ")
    assert sorted(through) == ["w", "x", "y", "z"]

    with pytest.raises(InvalidArgumentError, match=r"a cycle through x$"):
        pruned([node("x", "x")], "x:0")


@given(st.randoms(use_true_random=False), st.integers(2, 12))
def test_any_cycle_that_is_named_is_one(rng: random.Random, size: int) -> None:
    view = GraphView([node(f"n{i}", *{f"n{rng.randrange(size)}" for _ in range(2)}, op="AddN") for i in range(size)])
    with pytest.raises(InvalidArgumentError, match="a cycle through ") as caught:
        prune(view, RunSignature((), ("n0:0",), ()))
    path = caught.value.message.removeprefix("the graph has a cycle through ").split(", ")
    for reader, read in zip(path, [*path[1:], path[0]], strict=True):
        assert read in [p for p, _ in view[reader].inputs]


# -- the view --------------------------------------------------------------------------------------


def test_a_view_grows_and_keeps_the_order() -> None:
    view = GraphView([const("a")])
    view.extend([node("b", "a"), node("c", "b")])
    assert list(view) == ["a", "b", "c"]
    assert view.position == {"a": 0, "b": 1, "c": 2}


@for_each(
    "bad, said",
    [
        (const("a"), "'a' has a name that already exists"),
        (const("_arg/a/0"), "'_arg/a/0' has a name that is reserved for nodes of plans"),
        (node("n", op="NoSuchOp"), "'n' is of type 'NoSuchOp', which is not registered"),
        (node("n", op=ARG), f"'n' is of type '{ARG}', which is not registered"),
        (node("n", "nope"), "'n' reads 'nope:0', which the graph does not contain"),
        (node("n", "a:1"), "'n' reads 'a:1', which the graph does not contain"),
        (NodeDef(name="n", op="Identity", inputs=(("a", -1),)), "'n' reads 'a:-1'"),
        (node("n", after=["nope"]), "'n' has the control input 'nope', which the graph does not contain"),
    ],
)
def test_a_node_that_cannot_be_in_the_graph_is_named_and_nothing_is_added(bad: NodeDef, said: str) -> None:
    view = GraphView([const("a")])
    with pytest.raises(InvalidArgumentError, match=said) as caught:
        view.extend([const("good"), bad])
    assert caught.value.node == bad.name
    assert list(view) == ["a"]
    assert view.position == {"a": 0}


def test_nodes_can_be_checked_before_anything_else_is_told_of_them() -> None:
    view = GraphView([const("a")])
    assert list(view.checked([node("b", "a")])) == ["b"]
    assert list(view) == ["a"]
    for more, said in ((node("c", "b"), "'c' reads 'b:0'"), (const("a"), "'a' has a name that already exists")):
        with pytest.raises(InvalidArgumentError, match=said):
            view.checked([const("d"), more])


test_two_new_nodes_of_one_name_are_refused = refusing(
    (lambda: GraphView([const("a")] * 2), InvalidArgumentError, "'a' has a name that already exists")
)


CPU = "/job:localhost/replica:0/task:0/device:CPU:{}"


@pytest.fixture
def graph() -> Graph:
    """y = x * 2, z = y + a."""
    graph = Graph()
    with graph.as_default():
        x, a = ops.placeholder("float32", [2], name="x"), ops.placeholder("float32", None, name="a")
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
def test_a_planner_refuses_any_client_s_connections(graph: Graph, pairs: Any, kind: type[Exception], said: str) -> None:
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
