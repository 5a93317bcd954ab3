"""Building a graph: what goes in, what is refused and found again; default graphs and collections."""

from __future__ import annotations

import asyncio
import operator
import sys
import threading
from typing import Any

import pytest

import actorsession as acts
from actorsession import Graph, Operation, Tensor, get_default_graph, reset_default_graph
from actorsession.graph import graph as defaults
from actorsession.graph.default_stack import DefaultStack
from actorsession.graph.scopes import entered
from tests.graph.kit import join, leaf, op, pair
from tests.rows import for_each


@pytest.fixture
def graph() -> Graph:
    return Graph()


def contents(graph: Graph) -> Any:
    """Everything that an attempt that failed must leave as it was."""
    return (
        [(o.name, o.plain) for o in graph.get_operations()],
        graph.version,
        dict(graph._names._next),
        {name: list(values) for name, values in graph._collections.items()},
    )


# -- adding operations -----------------------------------------------------------------------------


def test_an_operation_has_its_inputs_attributes_and_number(graph: Graph) -> None:
    a = leaf(graph, "a", dtype="int8", shape=[2])
    b = join(graph, a, a, name="b").op
    assert graph.get_operations() == [a.op, b]
    assert (b.name, b.type, b.inputs, b.control_inputs, b.attrs) == ("b", "KitJoin", (a, a), (), {})
    assert [o.number for o in graph.get_operations()] == [0, 1]
    assert a.op.attrs["dtype"].name == "int8"
    assert b.outputs[0].shape == [2]
    assert graph.nodes.order == [a.op, b], "sessions find new operations by their number"
    before = graph.version
    op(graph)
    assert graph.version == before + 1


def test_attributes_left_out_take_their_defaults(graph: Graph) -> None:
    node = graph.create_op("KitLeaf")
    assert node.get_attr("dtype").name == "float32"
    assert node.get_attr("shape") is None
    # Private attributes are passed through.
    node = graph.create_op("KitNothing", attrs={"_class": ("loc:@x",), "_note": 3})
    assert node.groups() == ("loc:@x",)
    assert node.get_attr("_note") == 3


OTHER = leaf(Graph(), "elsewhere")


@for_each(
    "arguments, kind, said",
    [
        (("KitNothin",), ValueError, "'KitNothin' is not registered; did you mean KitNothing"),
        (("KitNothing", (), {"axis": 1}), ValueError, r"no attribute 'axis'; it has \[\]"),
        (("KitValue",), ValueError, r"needs a value for its attributes \['value'\]"),
        (("KitJoin", [3]), TypeError, "inputs of KitJoin are tensors, got int: 3"),
        (("KitJoin", ["a"]), TypeError, "inputs of KitJoin are tensors, got str"),
        (("KitJoin", [OTHER]), ValueError, "elsewhere:0.* belongs to another graph"),
        (("KitNothing", (), None, "bad name"), ValueError, "not a valid node name"),
        (("KitNothing", (), None, "taken/"), ValueError, "'taken' exists"),
        (("KitJoin", ["float32", "int8"]), TypeError, "inputs of one dtype"),
        (("KitJoin", ["float32", "wide"]), ValueError, r"\(2,\) and \(3,\) are not compatible"),
    ],
)
def test_what_can_never_work_fails_on_the_line_that_builds_it_and_changes_nothing(
    graph: Graph, arguments: Any, kind: type[Exception], said: str
) -> None:
    made = {
        "float32": leaf(graph, shape=[2]),
        "int8": leaf(graph, dtype="int8", shape=[2]),
        "wide": leaf(graph, shape=[3]),
    }
    op(graph, "taken")
    graph.add_to_collection("things", 1)
    if len(arguments) > 1:
        inputs = [made.get(i, i) if isinstance(i, str) else i for i in arguments[1]]
        arguments = (arguments[0], inputs, *arguments[2:])
    before = contents(graph)
    with pytest.raises(kind, match=said), graph.name_scope(None):
        graph.create_op(*arguments)
    assert contents(graph) == before


def test_a_name_that_was_asked_for_in_vain_is_still_free(graph: Graph) -> None:
    narrow, wide = leaf(graph, shape=[2]), leaf(graph, shape=[3])
    with pytest.raises(ValueError, match="not compatible"):
        join(graph, narrow, wide, name="sum")
    assert join(graph, narrow, name="sum").name == "sum:0"


def test_threads_build_side_by_side(graph: Graph) -> None:
    def build() -> None:
        for _ in range(200):
            join(graph, leaf(graph, "x"), name="y")

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    operations = graph.get_operations()
    assert [o.number for o in operations] == list(range(1600))
    assert len({o.name for o in operations}) == 1600
    assert {o.name for o in operations if o.type == "KitJoin"} == {"y", *(f"y_{i}" for i in range(1, 800))}


# -- look-up ---------------------------------------------------------------------------------------


@pytest.fixture
def named(graph: Graph) -> Graph:
    """A graph with ``a``, ``p`` of two outputs, and ``s/x``."""
    leaf(graph, "a")
    pair(graph, "p")
    with graph.name_scope("s"):
        op(graph, "x")
    return graph


@for_each("name", ["a:0", "p:0", "p:1", "a:00"])
def test_a_tensor_is_found_by_name(named: Graph, name: str) -> None:
    found = named.get_tensor_by_name(name)
    assert isinstance(found, Tensor)
    assert (found.op.name, found.value_index) == (name.split(":")[0], int(name.split(":")[1]))
    assert named.as_graph_element(name) is found


@pytest.mark.parametrize("name", ["a", "p", "s/x"])
def test_an_operation_is_found_by_name(named: Graph, name: str) -> None:
    found = named.get_operation_by_name(name)
    assert isinstance(found, Operation)
    assert found.name == name
    assert named.as_graph_element(name) is found


@for_each(
    "name, tensor, operation, either",
    [
        ("a", ValueError, None, None),
        ("b", ValueError, KeyError, KeyError),
        ("", ValueError, KeyError, KeyError),
        ("^a", ValueError, KeyError, KeyError),
        ("A", ValueError, KeyError, KeyError),
        ("a:0", None, ValueError, None),
        ("a:1", KeyError, ValueError, KeyError),
        ("p:2", KeyError, ValueError, KeyError),
        ("b:0", KeyError, ValueError, KeyError),
        (":0", KeyError, ValueError, KeyError),
        ("a:", ValueError, ValueError, ValueError),
        ("a:x", ValueError, ValueError, ValueError),
        ("a:0:0", ValueError, ValueError, ValueError),
        ("a:-1", ValueError, ValueError, ValueError),
        ("a: 0", ValueError, ValueError, ValueError),
        ("a:\u0660", ValueError, ValueError, ValueError),
        (3, TypeError, TypeError, TypeError),
        (None, TypeError, TypeError, TypeError),
        (b"a", TypeError, TypeError, TypeError),
    ],
)
def test_a_vain_look_up_says_what_is_wrong(named: Graph, name: Any, tensor: Any, operation: Any, either: Any) -> None:
    """As TensorFlow, but for negative indices and spaces, which it lets pass."""
    calls = (
        (named.get_tensor_by_name, tensor),
        (named.get_operation_by_name, operation),
        (named.as_graph_element, either),
    )
    for look_up, error in calls:
        if error is None:
            assert look_up(name) is not None
        else:
            with pytest.raises(error):
                look_up(name)


def test_elements_of_the_graph_stand_for_themselves_and_nothing_else_does(named: Graph) -> None:
    tensor = named.get_tensor_by_name("a:0")
    assert named.as_graph_element(tensor) is tensor
    assert named.as_graph_element(tensor.op) is tensor.op
    # Elements of the wrong kind are refused.
    tensor = named.get_tensor_by_name("a:0")
    with pytest.raises(TypeError, match="Can not convert a Tensor into a Operation"):
        named.as_graph_element(tensor, allow_tensor=False)
    with pytest.raises(TypeError, match="Can not convert a Operation into a Tensor"):
        named.as_graph_element(tensor.op, allow_operation=False)
    # Objects are no names.
    tensor = named.get_tensor_by_name("a:0")
    for look_up in (named.get_tensor_by_name, named.get_operation_by_name):
        for element in (tensor, tensor.op):
            with pytest.raises(TypeError, match="names are strings"):
                look_up(element)  # type: ignore[arg-type]
    # Whatever stands for a tensor is taken for it.
    tensor = named.get_tensor_by_name("a:0")

    class Variable:
        def _as_graph_element(self) -> Tensor:
            return tensor

    assert named.as_graph_element(Variable()) is tensor
    # An element of another graph is refused.
    for element in (OTHER, OTHER.op):
        with pytest.raises(ValueError, match=r"is not an element of this graph.*Session\(graph="):
            named.as_graph_element(element)


@for_each("convert", [float, int, complex, operator.index, len, bool, list])
def test_a_tensor_has_no_value_while_the_graph_is_built(convert: Any) -> None:
    with pytest.raises(TypeError, match=r"<Tensor '.*> .* while the graph is built; "):
        convert(OTHER)


def test_a_collection_keeps_everything_in_order(graph: Graph) -> None:
    for value in (1, 2, 1):
        graph.add_to_collection("things", value)
    assert graph.get_collection("things") == [1, 2, 1]
    assert graph.get_collection("nothing") == []
    a, b, t = leaf(graph, "s_a"), leaf(graph, "s_b"), op(graph, "t")
    for member in (a, b, 5, t):
        graph.add_to_collection("v", member)
    assert graph.get_collection("v", "s_a") == [a]
    assert graph.get_collection("v", "s_") == [a, b]
    assert graph.get_collection("v", "t") == [t]
    assert graph.get_collection("v", "_a") == [], "from the beginning"
    assert graph.get_collection("v", ".*_b") == [b], "by a regular expression"
    # What was handed out is a copy.
    graph.get_collection("things").append(2)
    graph.get_operations().append(op(graph))
    assert graph.get_collection("things") == [1, 2, 1]
    assert len(graph.get_operations()) == 4


def test_a_finalized_graph_names_the_line_that_asks_and_the_line_that_closed_it(graph: Graph) -> None:
    a = op(graph)
    graph.finalize()
    closed = sys._getframe().f_lineno - 1
    graph.finalize()
    assert graph.finalized
    with pytest.raises(RuntimeError) as caught:
        graph.create_op("KitNothing")
    asked = sys._getframe().f_lineno - 1
    assert f"a KitNothing was to be created at {__file__}:{asked}" in str(caught.value)
    assert f"finalize() was called at {__file__}:{closed}" in str(caught.value)
    assert graph.get_operations() == [a]
    assert repr(graph).startswith("<Graph with 1 operations at 0x")


# -- default graphs --------------------------------------------------------------------------------


def test_the_innermost_default_graph_counts(graph: Graph) -> None:
    inner = Graph()
    outside = get_default_graph()
    with graph.as_default() as entered_:
        assert entered_ is graph
        with inner.as_default():
            assert get_default_graph() is inner
        assert get_default_graph() is graph
    assert get_default_graph() is outside
    # A graph can be the default twice.
    with graph.as_default(), Graph().as_default(), graph.as_default():
        assert get_default_graph() is graph
    # The default ends with the block even on an error.
    outside = get_default_graph()
    with pytest.raises(RuntimeError), graph.as_default():
        raise RuntimeError
    assert get_default_graph() is outside


def test_a_reset_starts_an_empty_graph(graph: Graph) -> None:
    before = get_default_graph()
    reset_default_graph()
    after = get_default_graph()
    assert after is not before
    assert after.get_operations() == []
    with graph.as_default():
        with pytest.raises(AssertionError, match="inside a block"):
            reset_default_graph()
        assert get_default_graph() is graph


def test_each_thread_has_its_own_default_graph(graph: Graph) -> None:
    seen: list[Graph] = []
    with graph.as_default():
        for _ in range(2):
            thread = threading.Thread(target=lambda: seen.append(get_default_graph()))
            thread.start()
            thread.join()
    assert len({id(g) for g in (*seen, graph, get_default_graph())}) == 4


async def test_a_hundred_children_build_a_hundred_graphs() -> None:
    """All are inside their blocks at the same time, and take turns between two operations."""
    barrier = asyncio.Barrier(100)

    async def build(number: int) -> Graph:
        with Graph().as_default() as mine:
            await barrier.wait()
            for _ in range(number % 7 + 1):
                op(get_default_graph(), "n")
                await asyncio.sleep(0)
            assert get_default_graph() is mine
            return mine

    async with asyncio.TaskGroup() as group:
        children = [group.create_task(build(number)) for number in range(100)]
    graphs = [child.result() for child in children]
    assert len(set(map(id, graphs))) == 100
    assert [len(g.get_operations()) for g in graphs] == [n % 7 + 1 for n in range(100)]


async def test_a_child_starts_with_the_default_graph_of_its_parent(graph: Graph) -> None:
    async def ask() -> Graph:
        return get_default_graph()

    with graph.as_default():
        child = asyncio.create_task(ask())
    assert await child is graph
    assert await asyncio.create_task(ask()) is not graph


def test_scopes_of_a_graph_hold_on_to_nothing_after_their_block(graph: Graph) -> None:
    import gc
    import weakref

    watched = weakref.ref(graph)
    other = Graph()
    with entered(other, name="x"), other.as_default():
        inner = Graph()
        gone = weakref.ref(inner)
        with inner.as_default(), inner.name_scope("s"):
            op(inner)
        del inner
        gc.collect()
        assert gone() is None
    assert watched() is graph


def test_a_program_may_hang_attributes_on_tensors_and_operations(graph: Graph) -> None:
    made: Any = leaf(graph).op
    made.note, made.outputs[0].layer = "mine", [1]
    assert (made.note, made.outputs[0].layer) == ("mine", [1])


def test_scopes_are_those_of_the_default_graph(graph: Graph) -> None:
    other = Graph()
    with graph.as_default():
        first = op(graph, "first")
        with defaults.name_scope("s") as scope, defaults.device("/cpu:1"), defaults.control_dependencies([first]):
            assert scope == "s/"
            node, elsewhere = op(graph, "n"), op(other, "n")
        with defaults.colocate_with(node):
            third = op(graph, "third")
    assert (node.name, node.device, node.control_inputs) == ("s/n", "/device:CPU:1", (first,))
    assert third.groups() == ("loc:@s/n",)
    assert (elsewhere.name, elsewhere.device, elsewhere.control_inputs) == ("n", "", ())


def test_collections_are_those_of_the_default_graph(graph: Graph) -> None:
    with graph.as_default():
        defaults.add_to_collection("v", 1)
        assert defaults.get_collection("v") == [1]
        assert defaults.get_collection("v", "name") == []
    assert Graph().get_collection("v") == []
    assert graph.get_collection("v") == [1]


def test_the_innermost_default_counts() -> None:
    stack: DefaultStack[str] = DefaultStack("test")
    assert stack.get() is None
    with stack.entered("outer"):
        with stack.entered("inner"):
            assert stack.get() == "inner"
        assert stack.get() == "outer"
    assert stack.get() is None


def test_what_was_pushed_is_removed_wherever_it_is() -> None:
    stack: DefaultStack[list[int]] = DefaultStack("test")
    first, second = [1], [1]
    stack.push(first)
    stack.push(second)
    stack.remove(first)
    assert stack.get() is second, "equal is not the same"
    stack.remove(second)
    stack.remove(second)
    assert stack.get() is None


def test_the_fallback_is_made_once_per_thread() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    stack: DefaultStack[object] = DefaultStack("test", make)
    here = stack.get()
    assert stack.get() is here
    seen: list[object] = []
    thread = threading.Thread(target=lambda: seen.append(stack.get()))
    thread.start()
    thread.join()
    assert made == [here, *seen]
    assert seen[0] is not here


def test_a_fallback_is_reset_outside_of_blocks_only() -> None:
    stack: DefaultStack[object] = DefaultStack("test", object)
    first = stack.get()
    with stack.entered("block"), pytest.raises(AssertionError, match="inside a block"):
        stack.reset_fallback()
    assert stack.get() is first
    stack.reset_fallback()
    assert stack.get() is not first


def test_what_is_kept_is_the_default_of_all_threads_beneath_what_they_pushed() -> None:
    stack: DefaultStack[object] = DefaultStack("test", object)
    first, second = object(), object()
    stack.keep(first)
    stack.keep(second)
    seen: list[object] = []
    thread = threading.Thread(target=lambda: seen.append(stack.get()))
    thread.start()
    thread.join()
    assert seen == [second]
    with stack.entered("block"):
        assert stack.get() == "block"
    stack.remove(second)
    stack.remove(second)
    assert stack.get() is first
    with pytest.raises(AssertionError, match="inside a block"):
        stack.reset_fallback()
    stack.remove(first)
    assert stack.get() not in (first, second)


class Named:
    def __init__(self, name: str) -> None:
        self.name = name


def test_a_collection_keeps_values_in_order_and_gives_copies() -> None:
    graph = Graph()
    for value in (3, 1, 3):
        graph.add_to_collection("a", value)
    graph.get_collection("a").append(4)
    assert graph.get_collection("a") == [3, 1, 3]
    assert graph.get_collection("none") == []
    graph = Graph()
    graph.add_to_collections(["a", "b", "a"], 1)
    graph.add_to_collections("ab", 2)
    assert [graph.get_collection(name) for name in ("a", "b", "ab")] == [[1], [1], [2]]
    graph = Graph()
    graph.add_to_collection("a", 1)
    graph.clear_collection("a")
    graph.clear_collection("none")
    assert graph.get_collection("a") == graph.get_all_collection_keys() == []
    # The list behind a collection can be changed.
    graph = Graph()
    graph.get_collection_ref("a").append(1)
    graph.add_to_collection("a", 2)
    del graph.get_collection_ref("a")[0]
    assert graph.get_collection("a") == [2]


def test_a_scope_is_a_pattern_that_names_begin_with() -> None:
    graph, one, two = Graph(), Named("scope/one"), Named("scoped/two")
    for value in (one, two, "nameless"):
        graph.add_to_collection("a", value)
    assert graph.get_collection("a", "scope") == [one, two]
    assert graph.get_collection("a", "scope/") == [one]
    assert graph.get_collection("a", ".*two") == [two]


def test_keys_that_are_no_strings_are_kept_but_not_listed() -> None:
    graph = Graph()
    key: Any = ("mine", 1)
    graph.add_to_collection(key, 1)
    graph.add_to_collection("a", 1)
    assert graph.get_collection(key) == [1]
    assert graph.get_all_collection_keys() == graph.collections == ["a"]
    with Graph().as_default() as graph:
        for name in ("a", "b"):
            acts.add_to_collection(name, 1)
        acts.add_to_collection("a", 2)
        graph.get_collection_ref("b").append(3)
        assert (acts.get_collection("a"), acts.get_collection("b")) == ([1, 2], [1, 3])
        assert graph.get_collection("a") == [1, 2]


def test_a_finalized_graph_takes_nothing_more() -> None:
    graph = Graph()
    graph.finalize()
    with pytest.raises(RuntimeError, match="collection 'a' was added to"):
        graph.add_to_collection("a", 1)
    with pytest.raises(RuntimeError, match="collection 'a' was cleared"):
        graph.clear_collection("a")
