"""Names and what else surrounds a node that is built, answer for answer as TensorFlow 2.21 gives it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import actorsession as acts
import tests.graph.kit  # noqa: F401 - registers KitNothing
from actorsession import DeviceSpec, Graph, Operation
from actorsession.compat import v1 as tf
from actorsession.graph.names import NameTable, check_op_name, check_scope_name
from actorsession.graph.scopes import scope_of
from actorsession.graph.source_location import user_line
from tests.graph.kit import join, leaf, op
from tests.rows import for_each, refusing

pytestmark = pytest.mark.usefixtures("graph")


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
        # A function replaces what inner blocks said, and outer ones fill the rest.
        (("/job:a", lambda op: "/gpu:1"), "/job:a/device:GPU:1"),
        ((lambda op: "/gpu:1", "/job:a"), "/device:GPU:1"),
        ((lambda op: f"{op.device}/task:3", "/job:q"), "/job:q/task:3"),
        (("/cpu:0", lambda op: op.device, "/job:z"), "/job:z/device:CPU:0"),
        ((lambda op: "", "/job:a"), ""),
        ((lambda op: None, "/job:a"), ""),
        ((lambda op: DeviceSpec(task=4), "/job:a"), "/task:4"),
    ],
)
def test_inner_blocks_win_part_by_part_and_none_clears(graph: Graph, blocks: Any, device: str) -> None:
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
def test_a_malformed_name_fails_where_a_block_begins(graph: Graph, bad: Any, kind: type[Exception], match: str) -> None:
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
def test_control_inputs_are_kept_in_order_and_once(graph: Graph, blocks: list[list[str]], inputs: list[str]) -> None:
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
def test_something_else_than_elements_is_refused(graph: Graph, bad: Any, kind: type[Exception], match: str) -> None:
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


GPU = "/job:a/task:0/device:CPU:1"


def in_other_graph() -> AbstractContextManager[Any]:
    return acts.Graph().as_default()


# A scope, and what tells whether an operation that is built now is inside.
SCOPES: dict[str, tuple[Callable[[], AbstractContextManager[Any]], Callable[[acts.Operation], object]]] = {
    "device": (lambda: acts.device(GPU), lambda op: op.device),
    "name_scope": (lambda: acts.name_scope("a"), lambda op: op.name.rpartition("/")[0]),
    "variable_scope": (lambda: tf.variable_scope("v"), lambda op: tf.get_variable_scope().name),
    "variable_op_scope": (lambda: tf.variable_op_scope([], "v"), lambda op: tf.get_variable_scope().name),
    "control_dependencies": (
        lambda: acts.control_dependencies(iter([acts.constant(1.0, name="before")])),
        lambda op: len(op.control_inputs),
    ),
    "colocate_with": (
        lambda: tf.colocate_with(acts.constant(1.0, name="anchor")),
        lambda op: op.colocation_groups() == [b"loc:@anchor"],
    ),
    "gradient_override_map": (
        lambda: tf.get_default_graph().gradient_override_map({"Const": "Other"}),
        lambda op: "_gradient_op_type" in op.node_def.attr,
    ),
    "container": (lambda: tf.container("c"), lambda op: acts.Variable(1.0, name="held").op.get_attr("container")),
    "as_default": (in_other_graph, lambda op: id(op.graph)),
    "default session": (
        lambda: acts.Session(graph=acts.Graph()).as_default(),
        lambda op: acts.get_default_session() is not None,
    ),
}


def built() -> acts.Operation:
    return acts.constant(1.0).op


@for_each("scope", SCOPES)
def test_a_scope_is_entered_again_and_again_and_inside_itself(graph: acts.Graph, scope: str) -> None:
    make, told = SCOPES[scope]
    on = make()
    outside = told(built())
    inside = []
    for _ in range(2):
        with on:
            inside.append(told(built()))
        assert told(built()) == outside
    with on:
        with on:
            inside.append(told(built()))
        inside.append(told(built()))
    assert told(built()) == outside
    assert outside not in inside


def test_a_name_scope_that_is_entered_again_has_another_name() -> None:
    scope = acts.name_scope("layer")
    names = []
    for _ in range(2):
        with scope as name:
            names.append(name)
    assert names == ["layer/", "layer_1/"]
    variables = tf.variable_scope("layer", reuse=tf.AUTO_REUSE)
    with variables:
        first = tf.get_variable("w", [2])
    with variables:
        assert tf.get_variable("w", [2]) is first


def test_a_scope_is_a_decorator() -> None:
    @acts.device(GPU)
    def build() -> str:
        return built().device

    assert [build(), build()] == [GPU, GPU]
    assert built().device == ""


def test_a_block_that_fails_leaves_its_scope() -> None:
    on = acts.device(GPU)
    with pytest.raises(ValueError, match="inside"), on:
        raise ValueError("inside")
    assert built().device == ""
    with on:
        assert built().device == GPU
    with pytest.raises(RuntimeError, match="not entered here"):
        acts.device(GPU).__exit__(None, None, None)


def test_threads_enter_one_scope_at_once(graph: acts.Graph) -> None:
    on, meet, found = acts.device(GPU), threading.Barrier(2, timeout=30), []

    def build(leaves_first: bool) -> None:
        with graph.as_default():
            with on:
                meet.wait()
                if not leaves_first:
                    meet.wait()
                found.append(built().device)
            if leaves_first:
                meet.wait()
            found.append(built().device)

    threads = [threading.Thread(target=build, args=(first,)) for first in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(found) == ["", "", GPU, GPU]


async def test_asyncio_children_enter_one_scope_and_leave_it_in_any_order(graph: acts.Graph) -> None:
    on = acts.device(GPU)
    entered, left = asyncio.Event(), asyncio.Event()

    async def first() -> str:
        with on:
            await entered.wait()
        left.set()
        return built().device

    async def second() -> str:
        with on:
            entered.set()
            await left.wait()
            return built().device

    assert list(await asyncio.gather(first(), second())) == ["", GPU]


def line() -> int:
    """The number of the line that calls this."""
    return sys._getframe(1).f_lineno


def module(name: str, text: str) -> dict[str, Any]:
    """What a module of that name and text would define."""
    namespace: dict[str, Any] = {"__name__": name}
    exec(compile(text, f"{name}.py", "exec"), namespace)  # noqa: S102 - a text of this file
    return namespace


CALL = "def call(f, *args):\n    return f(*args)\n"


def test_a_node_points_at_the_line_that_asked_for_it() -> None:
    op, here = Graph().create_op("KitNothing"), line()
    assert op.source == f"{__file__}:{here}"
    op, here = module("actorsession.ops.made_up", CALL)["call"](Graph().create_op, "KitNothing"), line()
    assert op.source == f"{__file__}:{here}"
    # Calls too deep inside the library have no line.
    text = "def dive(f, depth):\n    return dive(f, depth - 1) if depth else f()\n"
    dive = module("actorsession.made_up", text)["dive"]
    assert dive(user_line, 5) == f"{__file__}:{line()}"
    assert dive(user_line, 60) == ""
    # Who runs a loop has not asked for what its callbacks build.
    assert module("asyncio.events", CALL)["call"](dive, user_line, 5) == ""


def test_what_the_library_calls_itself_through_is_no_user() -> None:
    """A constant made for an operand is built inside a generator that contextlib calls."""
    inside = module(
        "actorsession.ops.made_up",
        "import contextlib\n"
        "@contextlib.contextmanager\n"
        "def building(create):\n"
        "    yield create('KitNothing')\n"
        "def build(create):\n"
        "    with building(create) as op:\n"
        "        return op\n",
    )["build"]
    op, here = inside(functools.partial(Graph().create_op)), line()
    assert op.source == f"{__file__}:{here}"


def test_the_demo_is_a_user_like_any_other() -> None:
    call = module("actorsession.demo.made_up", CALL)["call"]
    assert call(Graph().create_op, "KitNothing").source == "actorsession.demo.made_up.py:2"


def test_a_program_whose_name_begins_like_ours_is_a_user() -> None:
    call = module("actorsession_examples", CALL)["call"]
    assert call(Graph().create_op, "KitNothing").source == "actorsession_examples.py:2"


@for_each(
    "asked, given",
    [
        ("x x x y x", "x x_1 x_2 y x_3"),
        # Case makes no other name but is kept.
        ("x X x", "x X_1 x_2"),
        # Names that look like numbered ones are numbered again.
        ("x x X x_1 x x_1 X_2", "x x_1 X_2 x_1_1 x_3 x_1_2 X_2_1"),
        # Numbers taken by hand are left out.
        ("x_2 x x x x", "x_2 x x_1 x_3 x_4"),
    ],
)
def test_a_name_asked_for_again_gets_numbers_that_go_up(asked: str, given: str) -> None:
    graph = Graph()
    assert [op(graph, name).name for name in asked.split()] == given.split()


def test_without_a_name_an_operation_is_called_by_its_type() -> None:
    graph = Graph()
    assert [op(graph).name, op(graph).name] == ["KitNothing", "KitNothing_1"]
    assert leaf(graph).op.name == "KitLeaf"
    assert op(Graph(), "x").name == op(Graph(), "x").name == "x"


def test_scopes_and_operations_share_one_table() -> None:
    graph = Graph()
    assert op(graph, "x").name == "x"
    with graph.name_scope("x") as scope:
        assert scope == "x_1/"
        assert op(graph, "y").name == "x_1/y"
    assert op(graph, "x/y").name == "x/y"
    assert op(graph, "x_1/y").name == "x_1/y_1"


def test_unique_name_takes_a_name_unless_told_not_to() -> None:
    graph = Graph()
    assert graph.unique_name("u") == "u"
    assert graph.unique_name("u") == "u_1"
    assert graph.unique_name("u", mark_as_used=False) == "u_2"
    assert graph.unique_name("u", mark_as_used=False) == "u_2"
    assert op(graph, "u").name == "u_2"
    assert graph.unique_name("U") == "U_3"


def test_a_name_that_ends_in_a_slash_is_taken_as_it_is() -> None:
    graph = Graph()
    with graph.name_scope("outer"):
        assert op(graph, "a/b/").name == "a/b"
    with pytest.raises(ValueError, match="an operation named 'a/b' exists"):
        op(graph, "a/b/")
    # A name taken literally is taken for those who ask afterwards. TensorFlow forgets to note such names, and then
    # fails on the duplicate.
    graph = Graph()
    op(graph, "a/")
    assert op(graph, "a").name == "a_1"
    assert op(graph, "A/").name == "A", "two names may differ in case when both are literal"


def model(taken: dict[str, int], name: str) -> str:
    """The rule once more, word for word as TensorFlow states it."""
    key = name.lower()
    count = taken.get(key, 0)
    taken[key] = count + 1
    if count > 0:
        base = key
        while key in taken:
            key = f"{base}_{count}"
            count += 1
        taken[key] = 1
        name = f"{name}_{count - 1}"
    return name


@given(st.lists(st.sampled_from(["x", "X", "x_1", "x_2", "X_1", "x_1_1", "y", "x_10"])))
def test_any_sequence_of_wishes_is_answered_by_the_rule(wishes: list[str]) -> None:
    taken: dict[str, int] = {}
    table = NameTable()
    for wanted in wishes:
        given_ = table.unique(wanted)
        table.mark_used(wanted, given_)
        assert given_ == model(taken, wanted)


def test_a_thousand_equal_names_take_no_longer_each_than_one() -> None:
    """The search starts behind the last suffix given, not at the first."""
    table = NameTable()
    for number in range(1000):
        given_ = table.unique("x")
        table.mark_used("x", given_)
        assert given_ == ("x" if number == 0 else f"x_{number}")
    assert table._next["x"] == 1000


ANYWHERE = ["a", "9a", ".a", "a/b", "a//b", "a\\b", "a>b", "a-b", "A_b.c"]


INSIDE_A_SCOPE = ["_a", "/a", "-a", "\\a", ">a"]


NOWHERE = ["a b", "a:0", "é", "a?", "a\n", "a,b", "^a", "a;b", "a#"]


@for_each("name", ANYWHERE)
def test_a_good_name_is_good_everywhere(name: str) -> None:
    graph = Graph()
    assert op(graph, name).name == name
    with graph.name_scope("r"):
        assert op(graph, name).name == f"r/{name}"
        with graph.name_scope(name) as scope:
            assert scope == f"r/{name}_1/"
    with Graph().name_scope(name) as scope:
        assert scope == f"{name}/"


@for_each("name", INSIDE_A_SCOPE)
def test_odd_first_characters_are_allowed_inside_a_scope_only(name: str) -> None:
    graph = Graph()
    with pytest.raises(ValueError, match="not a valid node name"):
        op(graph, name)
    with pytest.raises(ValueError, match=r"not a valid (root )?scope name"), graph.name_scope(name):
        pass
    with graph.name_scope("r"):
        assert op(graph, name).name == f"r/{name}"
        with graph.name_scope(name) as scope:
            assert scope == f"r/{name}_1/"


@for_each("name", NOWHERE)
def test_other_characters_are_refused_everywhere(name: str) -> None:
    graph = Graph()
    for scope in (None, "r"):
        with graph.name_scope(scope):
            with pytest.raises(ValueError, match=r"not a valid node name. Accepted names conform"):
                op(graph, name)
            with pytest.raises(ValueError, match=r"not a valid (root )?scope name"):
                graph.name_scope(name).__enter__()
    assert graph.get_operations() == []


test_a_literal_name_must_be_valid_as_well = refusing(
    *((lambda name=name: op(Graph(), name), "not a valid node name") for name in ("/", "_a/", "a b/")),
    # An empty name is refused by the rule itself.
    (lambda: check_op_name(""), "not a valid node name"),
    (lambda: check_scope_name("", ""), r"not a valid (root )?scope name"),
)
