"""What surrounds the building of a node, answer for answer as TensorFlow 2.21 gives it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import pytest

from actorsession import DeviceSpec, Graph, Operation
from actorsession.graph.scopes import scope_of
from tests.graph.kit import join, leaf, op
from tests.rows import for_each


@pytest.fixture
def graph() -> Graph:
    return Graph()


def device_in(graph: Graph, *blocks: Any) -> str:
    """The device of a node built inside device blocks, outermost first."""
    with contextlib.ExitStack() as stack:
        for block in blocks:
            stack.enter_context(graph.device(block))
        return op(graph).device


def controls(node: Operation) -> list[str]:
    return [c.name for c in node.control_inputs]


# -- name scopes -----------------------------------------------------------------------------------


def test_a_scope_used_again_gets_a_number(graph: Graph) -> None:
    seen = []
    for name in ("s", "s", "S", "s_1", "s"):
        with graph.name_scope(name) as scope:
            seen += [scope, op(graph, "c").name]
    assert seen == ["s/", "s/c", "s_1/", "s_1/c", "S_2/", "S_2/c", "s_1_1/", "s_1_1/c", "s_3/", "s_3/c"]


def test_a_scope_is_entered_again_by_its_name_with_a_slash(graph: Graph) -> None:
    with graph.name_scope("s") as scope:
        op(graph, "c")
    with graph.name_scope(scope) as again:
        assert again == "s/"
        assert [op(graph, "c").name, op(graph, "d").name] == ["s/c_1", "s/d"]
    with graph.name_scope("other"), graph.name_scope("s/t/") as literal:
        assert literal == "s/t/", "literally, whatever is around it"
        assert op(graph, "x").name == "s/t/x"
    # A scope ends with its block even on an error.
    with contextlib.suppress(RuntimeError), graph.name_scope("s"):
        raise RuntimeError
    assert op(graph, "c").name == "c"


def test_scopes_nest_and_nothing_leaves_them_all(graph: Graph) -> None:
    with graph.name_scope("s"):
        with graph.name_scope("t") as scope:
            assert scope == "s/t/"
        with graph.name_scope("t") as scope:
            assert scope == "s/t_1/"
        for outside in (None, ""):
            with graph.name_scope(outside) as scope:
                assert scope == ""
                assert op(graph, f"top_{outside}").name == f"top_{outside}"
        assert op(graph, "after").name == "s/after"


# -- device blocks ---------------------------------------------------------------------------------


@for_each(
    "blocks, device",
    [
        ((), ""),
        (("/cpu:0",), "/device:CPU:0"),
        (("/job:a", "/task:2"), "/job:a/task:2"),
        (("/job:a/cpu:0", "/job:b"), "/job:b/device:CPU:0"),
        (("/gpu:1", "/device:CPU:*"), "/device:CPU:1"),
        (("/gpu:1", ""), "/device:GPU:1"),
        (("/gpu:1", None), ""),
        (("/gpu:1", None, "/job:c"), "/job:c"),
        ((DeviceSpec(job="w", device_type="CPU"),), "/job:w/device:CPU:*"),
    ],
)
def test_inner_blocks_win_part_by_part_and_none_clears(graph: Graph, blocks: Any, device: str) -> None:
    assert device_in(graph, *blocks) == device


@for_each(
    "blocks, device",
    [
        (("/job:a", lambda op: "/gpu:1"), "/job:a/device:GPU:1"),
        ((lambda op: "/gpu:1", "/job:a"), "/device:GPU:1"),
        ((lambda op: f"{op.device}/task:3", "/job:q"), "/job:q/task:3"),
        (("/cpu:0", lambda op: op.device, "/job:z"), "/job:z/device:CPU:0"),
        ((lambda op: "", "/job:a"), ""),
        ((lambda op: None, "/job:a"), ""),
        ((lambda op: DeviceSpec(task=4), "/job:a"), "/task:4"),
    ],
)
def test_a_function_replaces_what_inner_blocks_said_and_outer_ones_fill_the_rest(
    graph: Graph, blocks: Any, device: str
) -> None:
    assert device_in(graph, *blocks) == device


def test_a_function_sees_the_operation_with_the_device_so_far(graph: Graph) -> None:
    seen = []

    def look(node: Operation) -> str:
        seen.append((node.name, node.type, node.device, node.inputs))
        return ""

    with graph.device(look), graph.device("/cpu:1"):
        op(graph, "k")
    assert seen == [("k", "KitNothing", "/device:CPU:1", ())]


def test_a_block_is_merged_where_it_is_entered_not_where_it_was_made(graph: Graph) -> None:
    block = graph.device("/cpu:0")
    with graph.device("/job:a"), block:
        assert op(graph).device == "/job:a/device:CPU:0"
    assert op(graph).device == ""


@for_each(
    "bad, kind, match",
    [
        ("junk junk", ValueError, "malformed device name"),
        ("/cpu:x", ValueError, "malformed device name"),
        (3, TypeError, "a device is a name"),
    ],
)
def test_a_malformed_name_fails_on_the_line_of_the_block(
    graph: Graph, bad: Any, kind: type[Exception], match: str
) -> None:
    with pytest.raises(kind, match=match), graph.device(bad):
        pytest.fail("the block was entered")


@for_each("answer, kind", [("junk junk", ValueError), (3, TypeError), (RuntimeError(), RuntimeError)])
def test_a_function_that_fails_leaves_the_graph_as_it_was(graph: Graph, answer: Any, kind: type[Exception]) -> None:
    def choose(node: Operation) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    with graph.device(choose), pytest.raises(kind):
        op(graph, "k")
    assert graph.get_operations() == []
    assert op(graph, "k").name == "k", "its name is free again"


# -- control dependencies --------------------------------------------------------------------------


@for_each(
    "blocks, inputs",
    [
        ([["b:0", "a", "b", "a"]], ["b", "a"]),
        ([["a", "a:0"]], ["a"]),
        ([[]], []),
        ([["a", "b"], ["c", "a"]], ["a", "b", "c"]),
    ],
)
def test_control_inputs_of_all_blocks_are_kept_in_order_and_once(
    graph: Graph, blocks: list[list[str]], inputs: list[str]
) -> None:
    for name in "abc":
        leaf(graph, name)
    for ask in (str, graph.as_graph_element):
        with contextlib.ExitStack() as stack:
            for block in blocks:
                stack.enter_context(graph.control_dependencies([ask(name) for name in block]))
            assert controls(op(graph)) == inputs


def test_none_clears_what_is_outside_and_only_that(graph: Graph) -> None:
    a, c = op(graph, "a"), op(graph, "c")
    with graph.name_scope("s"), graph.control_dependencies([a]):
        with graph.control_dependencies(None):
            node = op(graph, "k")
            assert (controls(node), node.name) == ([], "s/k")
            with graph.control_dependencies([c]):
                assert controls(op(graph)) == ["c"]
        assert controls(op(graph)) == ["a"]


def test_what_a_data_input_implies_is_not_stored_again(graph: Graph) -> None:
    a, b, c = leaf(graph, "a"), leaf(graph, "b"), leaf(graph, "c")
    with graph.control_dependencies([a, b]):
        d = leaf(graph, "d")
        assert controls(d.op) == ["a", "b"]
        assert controls(join(graph, d).op) == [], "d was built here, so it runs after a and b"
        assert controls(join(graph, a).op) == ["b"], "it reads a itself"
        with graph.control_dependencies([c, a]):
            h = leaf(graph, "h")
            assert controls(h.op) == ["a", "b", "c"]
            assert controls(join(graph, d).op) == ["c"], "a comes with d"
            assert controls(join(graph, h).op) == []
        with graph.control_dependencies(None):
            k = leaf(graph, "k")
        assert controls(join(graph, k).op) == ["a", "b"], "k was built outside in spirit"
        assert controls(join(graph, h).op) == [], "h was built inside this block too"


def test_an_operation_that_was_built_elsewhere_implies_nothing(graph: Graph) -> None:
    a = leaf(graph, "a")
    b = join(graph, a, name="b")
    with graph.control_dependencies([a]):
        assert controls(join(graph, b).op) == ["a"], "only what is seen in the block is known"


@for_each(
    "bad, kind, match",
    [
        *((bad, TypeError, "Can not convert") for bad in (Graph(), 3, None, object())),
        (op(Graph()), ValueError, "not an element of this graph"),
    ],
)
def test_something_else_than_elements_of_the_graph_is_refused(
    graph: Graph, bad: Any, kind: type[Exception], match: str
) -> None:
    with pytest.raises(kind, match=match), graph.control_dependencies([bad]):
        pytest.fail("the block was entered")


# -- colocation ------------------------------------------------------------------------------------


@pytest.fixture
def two(graph: Graph) -> tuple[Graph, Operation, Operation]:
    """A graph with ``a`` on the second processor and ``b`` anywhere."""
    with graph.device("/cpu:1"):
        a = op(graph, "a")
    return graph, a, op(graph, "b")


def test_a_colocated_node_has_the_device_and_names_the_other(two: Any) -> None:
    graph, a, b = two
    for other, device in ((a, "/device:CPU:1"), (b, "")):
        with graph.colocate_with(other):
            node = op(graph)
        assert (node.device, node.groups()) == (device, (f"loc:@{other.name}",))
        with graph.device("/cpu:2"), graph.colocate_with(other):
            assert op(graph).device == device, "it beats blocks around"
    with graph.colocate_with(a), graph.device("/cpu:2"):
        assert op(graph).device == "/device:CPU:1", "and inside"
    with graph.device("/cpu:1"), graph.colocate_with(None):
        node = op(graph)
    assert (node.device, node.groups()) == ("/device:CPU:1", ())


def test_while_the_other_has_no_device_a_block_inside_may_name_one(two: Any) -> None:
    graph, _, b = two
    with graph.colocate_with(b), graph.device("/cpu:2"):
        assert op(graph).device == "/device:CPU:2"
        with graph.colocate_with(b):
            assert op(graph).device == ""


def test_nested_colocation_joins_all_groups_on_the_innermost_device_named(two: Any) -> None:
    graph, a, b = two
    with graph.device("/job:x/cpu:2"):
        c = op(graph, "c")
    for outer, inner, device in ((a, b, a), (b, a, a), (a, c, c), (c, a, a)):
        with graph.colocate_with(outer), graph.colocate_with(inner):
            node = op(graph)
        assert node.device == device.device
        assert set(node.groups()) == {f"loc:@{outer.name}", f"loc:@{inner.name}"}


def test_groups_are_passed_on(two: Any) -> None:
    graph, a, b = two
    with graph.colocate_with(a), graph.colocate_with(b):
        x = op(graph, "x")
    with graph.colocate_with(x):
        assert op(graph).groups() == ("loc:@a", "loc:@b")


# -- containers ------------------------------------------------------------------------------------


def test_a_container_lasts_as_long_as_its_block(graph: Graph) -> None:
    with graph.container("outer"):
        with graph.container("inner"):
            assert scope_of(graph).container == "inner"
        assert scope_of(graph).container == "outer"
    assert scope_of(graph).container == ""


# -- who sees a scope ------------------------------------------------------------------------------


def test_scopes_of_one_graph_are_not_those_of_another(graph: Graph) -> None:
    other = Graph()
    with graph.name_scope("s"), graph.device("/cpu:1"):
        node = op(other, "n")
        with other.name_scope("t"):
            assert op(graph, "m").name == "s/m"
    assert (node.name, node.device) == ("n", "")


def test_another_thread_does_not_see_the_scopes_of_this_one(graph: Graph) -> None:
    graph.switch_to_thread_local()  # TensorFlow's way to ask for it
    built: list[Operation] = []
    with graph.name_scope("s"), graph.device("/cpu:1"), graph.control_dependencies([op(graph)]):
        thread = threading.Thread(target=lambda: built.append(op(graph, "n")))
        thread.start()
        thread.join()
    (node,) = built
    assert (node.name, node.device, controls(node)) == ("n", "", [])


async def test_children_of_one_loop_each_have_their_own_scopes(graph: Graph) -> None:
    """Each enters its scope, waits until all have, and builds."""
    barrier = asyncio.Barrier(10)

    async def build(number: int) -> str:
        with graph.name_scope(f"child{number}"), graph.device(f"/cpu:{number}"):
            await barrier.wait()
            node = op(graph, "n")
            assert node.device == f"/device:CPU:{number}"
            return node.name

    async with asyncio.TaskGroup() as group:
        children = [group.create_task(build(number)) for number in range(10)]
    assert [child.result() for child in children] == [f"child{i}/n" for i in range(10)]


async def test_a_child_inherits_the_scopes_in_which_it_was_started(graph: Graph) -> None:
    async def build() -> str:
        return op(graph, "n").name

    with graph.name_scope("s"):
        child = asyncio.create_task(build())
    assert await child == "s/n"
