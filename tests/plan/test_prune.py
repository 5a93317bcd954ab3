"""What a run needs of a graph. Where TensorFlow could be asked, the answers are its own."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import NodeDef
from actorsession.errors import InvalidArgumentError
from actorsession.extend import StepGraph
from actorsession.plan.prune import ARG, GraphView, arg_name, prune, split_name
from actorsession.plan.signature import RunSignature
from tests.plan.kit import node, scalar
from tests.rows import for_each


def pruned(nodes: list[NodeDef], fetches: str = "", feeds: str = "", targets: str = "") -> StepGraph:
    """What is left for a run; names are given as words."""
    return prune(GraphView(nodes), RunSignature(tuple(feeds.split()), tuple(fetches.split()), tuple(targets.split())))


def const(name: str, **more: Any) -> NodeDef:
    return node(name, op="Const", value=1.0, **more)


# -- what is kept ----------------------------------------------------------------------------------


CHAIN = [const("a"), node("b", "a"), node("c", "b"), const("x"), node("y", "x", "c", op="AddV2")]


def test_only_what_the_fetches_need_is_kept() -> None:
    assert list(pruned(CHAIN, "c:0").nodes) == ["a", "b", "c"]
    assert list(pruned(CHAIN, "y:0").nodes) == ["a", "b", "c", "x", "y"]


def test_targets_are_kept_with_their_control_inputs() -> None:
    nodes = [const("a"), node("init", after=["a"]), node("other")]
    step = pruned(nodes, targets="init")
    assert list(step.nodes) == ["a", "init"]
    assert step.targets == ("init",)
    assert step.fetches == ()


def test_nothing_asked_for_needs_nothing() -> None:
    assert pruned(CHAIN) == StepGraph({}, (), (), ())


def test_nodes_stand_in_the_order_they_were_built() -> None:
    nodes = [const("k"), node("b", "k"), node("a", "k"), node("c", "a", "b", op="AddV2")]
    assert list(pruned(nodes, "c:0").nodes) == ["k", "b", "a", "c"]


def test_the_graph_itself_stays_as_it_was() -> None:
    view = GraphView(CHAIN)
    before = dict(view)
    step = prune(view, RunSignature(("b:0",), ("y:0",), ()))
    assert dict(view) == before
    assert step.nodes["c"] is not view["c"], "it reads the feed"
    assert step.nodes["x"] is view["x"]


def test_fetches_are_named_by_node_and_output() -> None:
    nodes = [const("k"), node("p", "k", op="Unpack", outputs=(scalar, scalar))]
    step = pruned(nodes, "p:1 p:0 p")
    assert step.fetches == (("p", 1), ("p", 0), ("p", 0))


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


def test_a_feed_cuts_the_graph_with_everything_behind_it() -> None:
    nodes = [const("c0"), node("x", after=["c0"], op="Const", value=1.0), node("y", "x")]
    step = pruned(nodes, "y:0", feeds="x:0")
    arg = arg_name(("x", 0))
    assert list(step.nodes) == [arg, "y"]
    assert step.nodes["y"].inputs == ((arg, 0),)
    assert step.feeds == (arg,)


def test_a_feed_has_the_static_type_of_what_it_replaces() -> None:
    step = pruned(CHAIN, "c:0", feeds="b")
    arg = step.nodes[arg_name(("b", 0))]
    assert (arg.op, arg.outputs, arg.attrs) == (ARG, (scalar,), {"index": 0})
    assert arg.source == "b.py:1"


def test_feeds_are_numbered_as_asked_and_those_not_needed_have_no_node() -> None:
    step = pruned(CHAIN, "y:0", feeds="x:0 a:0 c:0")
    args = [arg_name((n, 0)) for n in "xac"]
    assert step.feeds == tuple(args)
    assert args[1] not in step.nodes, "a is needed for nothing but c"
    assert [step.nodes[args[i]].attrs["index"] for i in (0, 2)] == [0, 2]


def test_a_fetch_of_a_fed_tensor_gives_the_feed() -> None:
    step = pruned(CHAIN, "b:0", feeds="b:0")
    arg = arg_name(("b", 0))
    assert list(step.nodes) == [arg]
    assert step.fetches == ((arg, 0),)


def test_one_output_can_be_fed_while_another_is_computed() -> None:
    nodes = [const("k"), node("s", "k", op="Unpack", outputs=(scalar, scalar)), node("y", "s:0", "s:1", op="AddV2")]
    step = pruned(nodes, "y:0", feeds="s:1")
    assert list(step.nodes) == [arg_name(("s", 1)), "k", "s", "y"]
    assert step.nodes["y"].inputs == (("s", 0), (arg_name(("s", 1)), 0))


def test_a_control_input_on_a_fed_placeholder_is_satisfied_by_the_feed() -> None:
    nodes = [node("ph", op="Placeholder"), node("w", after=["ph"])]
    step = pruned(nodes, targets="w", feeds="ph:0")
    assert list(step.nodes) == ["w"]
    assert step.nodes["w"].control_inputs == ()


@pytest.mark.parametrize("op", ["Const", "PlaceholderWithDefault"])
def test_a_control_input_on_anything_else_fed_still_makes_it_run(op: str) -> None:
    nodes = [const("c0"), node("x", "c0", op=op, value=1.0), node("z", after=["x"])]
    step = pruned(nodes, targets="z", feeds="x:0")
    assert list(step.nodes) == ["c0", "x", "z"]
    assert step.nodes["z"].control_inputs == ("x",)


def test_a_target_whose_tensor_is_fed_runs_as_well() -> None:
    step = pruned(CHAIN, "c:0", feeds="b:0", targets="b")
    assert list(step.nodes) == [arg_name(("b", 0)), "a", "b", "c"]


def test_a_fed_placeholder_cannot_be_a_target() -> None:
    nodes = [node("ph", op="Placeholder")]
    with pytest.raises(InvalidArgumentError, match="'ph' cannot be a target while it is fed") as e:
        pruned(nodes, feeds="ph:0", targets="ph")
    assert (e.value.node, e.value.source) == ("ph", "ph.py:1")


def test_a_placeholder_that_is_needed_must_be_fed() -> None:
    nodes = [node("ph", op="Placeholder"), node("y", "ph")]
    with pytest.raises(
        InvalidArgumentError,
        match=r"You must feed a value for placeholder tensor 'ph' with dtype float32 and shape \(\)",
    ) as caught:
        pruned(nodes, "y:0")
    assert (caught.value.node, caught.value.source) == ("ph", "ph.py:1")
    assert list(pruned([*nodes, const("k")], "k:0").nodes) == ["k"], "not needed, no error"


@pytest.mark.parametrize("feeds", ["b:0 b:0", "b b:0"])
def test_a_tensor_is_fed_once(feeds: str) -> None:
    with pytest.raises(InvalidArgumentError, match="tensor 'b:0' is fed more than once"):
        pruned(CHAIN, "c:0", feeds=feeds)


# -- names -----------------------------------------------------------------------------------------


@for_each(
    "asked, said",
    [
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
    ],
)
def test_a_name_that_is_not_in_the_graph_is_an_invalid_argument(asked: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        pruned(CHAIN, **asked)


def test_a_tensor_name_without_an_index_is_the_first_output() -> None:
    assert split_name("scope/x") == ("scope/x", 0)
    assert split_name("scope/x:12") == ("scope/x", 12)


# -- cycles ----------------------------------------------------------------------------------------


def test_imported_nodes_may_stand_before_what_they_read() -> None:
    nodes = [node("c", "b"), node("b", "a", after=["d"]), const("d"), const("a")]
    names = list(pruned(nodes, "c:0").nodes)
    assert sorted(names) == ["a", "b", "c", "d"]
    assert names.index("c") > names.index("b") > max(names.index("a"), names.index("d"))


def test_a_cycle_is_named_without_what_only_leads_to_it() -> None:
    nodes = [node("end", "y"), node("x", "w"), node("y", "x"), node("z", "y"), node("w", after=["z"])]
    with pytest.raises(InvalidArgumentError, match="a cycle through ") as caught:
        pruned(nodes, "end:0")
    through = caught.value.message.removeprefix("the graph has a cycle through ").split(", ")
    assert sorted(through) == ["w", "x", "y", "z"]


def test_a_node_that_reads_itself_is_a_cycle() -> None:
    with pytest.raises(InvalidArgumentError, match=r"a cycle through x$"):
        pruned([node("x", "x")], "x:0")


def test_a_cycle_that_is_cut_by_a_feed_or_not_needed_is_no_error() -> None:
    nodes = [node("x", "y"), node("y", "x"), const("k")]
    assert list(pruned(nodes, "k:0").nodes) == ["k"]
    assert list(pruned(nodes, "y:0", feeds="x:0").nodes) == [arg_name(("x", 0)), "y"]


@given(st.randoms(use_true_random=False), st.integers(2, 12))
def test_any_cycle_that_is_named_is_one(rng: random.Random, size: int) -> None:
    nodes = [node(f"n{i}", *{f"n{rng.randrange(size)}" for _ in range(2)}, op="AddN") for i in range(size)]
    view = GraphView(nodes)
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
    with pytest.raises(InvalidArgumentError, match="'c' reads 'b:0'"):
        view.checked([node("c", "b")])


def test_two_new_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="'a' has a name that already exists"):
        GraphView([const("a"), const("a")])
