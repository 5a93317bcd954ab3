"""Graphs and functions as plain data: what travels, what is refused of what came in, and functions by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import Graph, GraphDef, NodeDef, TensorShape, as_dtype, float32, int32, ops
from actorsession.config.limits import MAX_GRAPH_NODES
from actorsession.errors import InvalidArgumentError, ProtocolError, ResourceExhaustedError
from actorsession.extend import Partition, TensorSpec
from actorsession.graph import codec
from actorsession.graph.codec import Buffer
from actorsession.graph.function import (
    MAX_LOOPS,
    MAX_NESTING,
    FunctionDef,
    function_fault,
    functions_of,
    nodes_in,
    nodes_inside,
    size_of,
)
from actorsession.graph.function_library import FunctionLibrary, LibraryFunction
from actorsession.graph.node import GRAPH_DEF_VERSION, spec, tensor_name
from actorsession.graph.registry import lookup
from actorsession.plan.place import Placer
from actorsession.plan.prune import GraphView
from actorsession.runtime.planning import LARGE
from tests.graph.kit import join, leaf, value
from tests.plan.kit import CPU, device_set
from tests.rows import for_each

SCALAR = spec("int32", ())
TRUTH = spec("bool", ())


def node(name: str, op: str = "Identity", *inputs: tuple[str, int], **fields: Any) -> NodeDef:
    return NodeDef(name=name, op=op, inputs=inputs, **{"outputs": (SCALAR,), **fields})


def function(*nodes: NodeDef, inputs: int = 1, captures: int = 0, outputs: Any = (("", 0),)) -> FunctionDef:
    return FunctionDef((SCALAR,) * inputs, (SCALAR,) * captures, nodes, tuple(outputs))


TEST = function(node("less", "Less", ("", 0), ("", 0), outputs=(TRUTH,)), outputs=[("less", 0)])
TURN = function(node("add", "AddV2", ("", 0), ("", 0)), outputs=[("add", 0)])


def loop(cond: Any = TEST, body: Any = TURN, **fields: Any) -> NodeDef:
    return node("while", "While", ("x", 0), attrs=fields.pop("attrs", {"cond": cond, "body": body}), **fields)


def branch(then: Any, other: Any, *captured: tuple[str, int]) -> NodeDef:
    return node("cond", "If", ("p", 0), *captured, attrs={"then_branch": then, "else_branch": other})


def graph_def() -> GraphDef:
    """A loop in a branch, with a large constant in each branch."""
    large = np.ones(5000, np.float32)
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [5000], name="x")
        ops.cond(
            ops.constant(1) < 2,
            lambda: ops.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y + large), [0, x])[1],
            lambda: x - large,
        )
    return graph.as_graph_def()


def same(a: Any, b: Any) -> bool:
    return codec.pack(a.to_wire()) == codec.pack(b.to_wire())


def test_a_graph_with_functions_travels() -> None:
    made = graph_def()
    read = GraphDef.from_bytes(made.to_bytes())
    assert same(made, read)
    (construct,) = [n for n in read.nodes if n.op == "If"]
    names = [inner.name for inner, _ in nodes_inside(construct)]
    assert "cond/while" in names
    assert "cond/while/add_1" in names
    assert function_fault(construct) is None


def test_large_constants_of_functions_travel_out_of_band() -> None:
    made = graph_def()
    segments: list[Any] = []
    data = codec.pack(made.to_wire(), segments)
    assert len(segments) == 2
    assert len(data) < 5000
    assert same(made, GraphDef.from_wire(codec.unpack(data, segments)))


def test_a_packer_goes_on_behind_a_function() -> None:
    read = codec.unpack(codec.pack([TURN, np.int32(1), [TEST, "x"], 2**70]))
    assert same(read[0], TURN)
    assert same(read[2][0], TEST)
    assert (read[2][1], read[3]) == ("x", 2**70)


def test_output_specs_are_those_of_the_nodes_and_arguments() -> None:
    made = function(TEST.nodes[0], captures=1, outputs=[("", 1), ("less", 0)])
    assert made.output_specs() == (SCALAR, TRUTH)
    assert made.arguments == (SCALAR, SCALAR)


def wired(value: Any) -> bytes:
    """A function's extension type around any value."""
    return bytes(msgpack.packb(msgpack.ExtType(6, codec.pack(value))))


@for_each(
    "value",
    [
        None,
        [],
        [[], [], []],
        [[], [], [], [], []],
        [[1], [], [], []],
        [[], [[1, 2]], [], []],
        [[], [], [1], []],
        [[], [], [["n", "Neg"]], []],
        [[], [], [], [["a", "b"]]],
        [[], [], [], [1]],
        {"nodes": []},
        [{}, {}, {}, {}],
    ],
)
def test_anything_else_in_a_functions_place_is_a_protocol_error(value: Any) -> None:
    with pytest.raises(ProtocolError):
        codec.unpack(wired(value))


def test_functions_nested_without_end_are_a_protocol_error() -> None:
    data = codec.pack([[], [], [], []])
    for _ in range(2000):
        data = bytes(msgpack.packb(msgpack.ExtType(6, data)))
    with pytest.raises(ProtocolError, match="nested"):
        codec.unpack(data)


# -- what a peer may get wrong ---------------------------------------------------------------------


def in_loops(depth: int) -> NodeDef:
    made = loop()
    for _ in range(depth - 1):
        made = loop(body=function(replace(made, inputs=(("", 0),)), outputs=[("while", 0)]))
    return made


def in_branches(depth: int) -> NodeDef:
    made = branch(function(inputs=0, captures=1), function(inputs=0, captures=1), ("x", 0))
    for _ in range(depth - 1):
        p = node("p", "Less", ("", 0), ("", 0), outputs=(TRUTH,))
        some = function(p, replace(made, inputs=(("p", 0), ("", 0))), inputs=0, captures=1, outputs=[("cond", 0)])
        made = branch(some, function(inputs=0, captures=1), ("x", 0))
    return made


BAD: dict[str, NodeDef] = {
    "has no function as its attribute 'cond'": loop(attrs={}),
    "has no function as its attribute 'body'": loop(body=[1, 2]),
    "has no function as its attribute 'else_branch'": branch(function(inputs=0, outputs=()), 3),
    "reads 'nobody:0'": loop(body=function(node("n", "Neg", ("nobody", 0)))),
    "reads ':1'": loop(body=function(node("n", "Neg", ("", 1)))),
    "reads ':-1'": loop(body=function(node("n", "Neg", ("", -1)))),
    "reads 'b:0', not made before": loop(body=function(node("a", "Neg", ("b", 0)), node("b", "Neg", ("", 0)))),
    "runs after 'later'": loop(body=function(node("a", "NoOp", control_inputs=("later",)))),
    "runs after ''": loop(body=function(node("a", "NoOp", control_inputs=("",)))),
    "'n' of a node is taken": loop(body=function(node("n", "NoOp"), node("n", "NoOp"))),
    "'' of a node is taken": loop(body=function(node("", "NoOp"))),
    "'_arg/0' of a node is taken or reserved": loop(body=function(node("_arg/0", "NoOp"))),
    "of type 'Nonsense'": loop(body=function(node("n", "Nonsense"))),
    "of type '_Arg'": loop(body=function(node("n", "_Arg", attrs={"index": 0}))),
    "of type '_Send'": loop(body=function(node("n", "_Send", attrs={"key": "k"}))),
    "returns 'nobody:0'": loop(body=function(outputs=[("nobody", 0)])),
    "is no loop over 1": loop(body=function(outputs=[("", 0), ("", 0)])),
    "is no loop over 0": loop(outputs=()),
    "dtypes differ": loop(outputs=(TRUTH,)),
    "condition that is no bool": loop(cond=TURN),
    "has 1 inputs": loop(cond=replace(TEST, captures=(SCALAR,)), body=TURN),
    "has 2 inputs": branch(function(inputs=0, captures=2), function(inputs=0, captures=2), ("x", 0)),
    "branches with inputs of their own": branch(TURN, TURN),
    "'inner' has no function": loop(body=function(node("inner", "If", ("", 0)))),
}


@for_each("message", BAD)
def test_a_wrong_function_is_described(message: str) -> None:
    fault = function_fault(BAD[message])
    assert fault is not None
    assert message in fault


@pytest.mark.parametrize("make", [in_loops, in_branches])
def test_nesting_is_bounded(make: Callable[[int], NodeDef]) -> None:
    limit = MAX_LOOPS if make is in_loops else MAX_NESTING
    assert function_fault(make(limit)) is None
    fault = function_fault(make(limit + 1))
    assert fault is not None
    assert "nested too deep" in fault


@pytest.mark.parametrize("made", [in_loops(MAX_LOOPS), in_branches(MAX_NESTING)])
def test_what_is_nested_as_deep_as_it_may_be_travels(made: NodeDef) -> None:
    read = NodeDef.from_wire(codec.unpack(codec.pack(made.to_wire())))
    assert same(read, made)
    assert function_fault(read) is None


@for_each("message", BAD)
def test_whoever_receives_a_wrong_function_refuses_it_and_keeps_nothing(message: str) -> None:
    x = node("x", "Const", attrs={"value": np.int32(1)})
    p = node("p", "Const", attrs={"value": np.bool_(True)}, outputs=(TRUTH,))
    wrong = BAD[message]
    view = GraphView()
    with pytest.raises(InvalidArgumentError) as refused:
        view.extend([x, p, wrong])
    assert refused.value.node == wrong.name
    assert not view
    placer = Placer(device_set())
    with pytest.raises(InvalidArgumentError):
        placer.place([x, p, wrong])
    assert not placer.placed
    part = Partition(CPU[0], (x, p, wrong), ())
    with pytest.raises(ProtocolError):
        Partition.from_wire(codec.unpack(codec.pack(part.to_wire())))


def test_other_nodes_have_no_functions() -> None:
    plain = node("n", "Neg", ("x", 0), attrs={"body": TURN})
    assert functions_of(plain) == ()
    assert function_fault(plain) is None
    assert list(nodes_inside(plain)) == []


# -- sizes -------------------------------------------------------------------------------------------


def calls(body: FunctionDef, count: int = 2) -> FunctionDef:
    nodes = [node(f"call{k}", "PartitionedCall", ("", 0), attrs={"f": body}) for k in range(count)]
    return function(*nodes)


def test_the_size_of_a_function_counts_what_each_call_in_it_has() -> None:
    inner = calls(TURN)
    assert (TURN.size, inner.size, calls(inner, 3).size) == (1, 4, 15)
    graph = [loop(), node("call", "PartitionedCall", attrs={"f": inner}), node("alone")]
    assert size_of(graph) == 3 + TEST.size + TURN.size + inner.size
    for each in graph:
        lookup(each.op)
    assert nodes_in([each.to_wire() for each in graph]) == size_of(graph)


def test_functions_that_call_each_other_twice_are_refused_before_they_are_written_out() -> None:
    body = TURN
    while body.size <= MAX_GRAPH_NODES // 4:
        body = calls(body)
    with pytest.raises(ResourceExhaustedError, match=r"a function has .* ACTORSESSION_MAX_GRAPH_NODES"):
        calls(calls(body))


@for_each(
    "one",
    [
        node("n", "AddN", *[("a", 0)] * 5000),
        node("n", "NoOp", control_inputs=("a",) * 5000),
        node("n", "Unpack", outputs=(SCALAR,) * 5000),
        node("n", attrs={"_class": ["loc:@a"] * 5000}),
        node("n", attrs={"value": "x" * 2**20}),
    ],
    ids=["inputs", "control inputs", "outputs", "groups", "text"],
)
def test_a_node_that_holds_very_much_counts_as_many(one: NodeDef) -> None:
    lookup(one.op)
    assert size_of([one]) == nodes_in([one.to_wire()]) > LARGE


@for_each("wire", [codec.Packed(b"\x90", ()), [None] * 2000, "nodes", None])
def test_what_cannot_be_counted_at_a_glance_is_taken_for_many(wire: Any) -> None:
    assert nodes_in(wire) > LARGE


def test_a_node_whose_type_has_to_be_imported_is_taken_for_many() -> None:
    assert nodes_in([node("n", "TypeOfSomePlugIn").to_wire()]) > LARGE
    assert nodes_in([node("_recv", "_Recv").to_wire()]) == 1


EMPTY = FunctionDef((), (), (), ())


def test_a_name_stands_for_one_function() -> None:
    library = FunctionLibrary()
    first = LibraryFunction("f", EMPTY)
    library.add(first)
    library.add(first)
    assert (library.get("f"), library.get("g"), library.names()) == (first, None, ("f",))
    with pytest.raises(ValueError, match="a different function with the same name"):
        library.add(LibraryFunction("f", EMPTY))


def test_names_are_given_once() -> None:
    library = FunctionLibrary()
    assert [library.unique_name("f") for _ in range(3)] == ["f", "f_1", "f_2"]
    library.add(LibraryFunction("g", EMPTY))
    assert library.unique_name("g") == "g_1"


def test_every_graph_has_a_library_of_its_own() -> None:
    assert Graph().library is not Graph().library
    assert Graph().library.names() == ()


text = st.text(max_size=8)


specs = st.builds(
    TensorSpec,
    st.sampled_from([as_dtype(n) for n in ("float32", "string", "resource", "bool")]),
    st.builds(TensorShape, st.none() | st.lists(st.none() | st.integers(0, 9), max_size=3)),
)


attrs = st.dictionaries(
    text,
    st.integers()
    | text
    | st.booleans()
    | st.none()
    | st.sampled_from([float32, int32])
    | st.lists(st.integers(), max_size=3)
    | st.builds(TensorShape, st.none() | st.integers(0, 5)),
    max_size=3,
)


nodes = st.builds(
    NodeDef,
    name=text,
    op=text,
    inputs=st.lists(st.tuples(text, st.integers(0, 5)), max_size=3).map(tuple),
    control_inputs=st.lists(text, max_size=3).map(tuple),
    device=text,
    attrs=attrs,
    outputs=st.lists(specs, max_size=3).map(tuple),
    source=text,
)


@given(st.lists(nodes, max_size=4), st.none() | st.integers(0, 2**62))
def test_a_graph_comes_back_as_it_was_written(items: list[NodeDef], seed: int | None) -> None:
    graph = GraphDef(tuple(items), seed=seed)
    assert GraphDef.from_bytes(graph.to_bytes()) == graph


def test_constants_come_back_with_their_bytes() -> None:
    graph = Graph()
    value(graph, np.arange(6, dtype=np.float32).reshape(2, 3), "k")
    (node,) = GraphDef.from_bytes(graph.as_graph_def().to_bytes()).nodes
    assert node.attrs["value"].dtype == np.float32
    assert node.attrs["value"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensor_name("scope/x", 3) == "scope/x:3"


def test_a_large_constant_of_a_message_travels_beside_it() -> None:
    graph = Graph()
    value(graph, np.ones(100_000, np.float32), "k")
    segments: list[Buffer] = []
    data = codec.pack(graph.as_graph_def().to_wire(), segments)
    assert len(data) < 1000
    (node,) = GraphDef.from_wire(codec.unpack(data, segments)).nodes
    assert np.array_equal(node.attrs["value"], np.ones(100_000))


def test_a_built_graph_is_written_node_by_node() -> None:
    graph = Graph()
    graph.seed = 87654321
    a = leaf(graph, "a", shape=[None, 2])
    with graph.device("/cpu:1"), graph.control_dependencies([leaf(graph, "c")]):
        join(graph, a, a, name="b")
    written = GraphDef.from_bytes(graph.as_graph_def().to_bytes())
    assert written.seed == 87654321
    assert written.version == GRAPH_DEF_VERSION
    b = written.nodes[2]
    assert (b.name, b.op, b.device) == ("b", "KitJoin", "/device:CPU:1")
    assert b.inputs == (("a", 0), ("a", 0))
    assert b.control_inputs == ("c",)
    assert b.outputs == (spec("float32", [None, 2]),)
    assert b.source == graph.get_operation_by_name("b").source


def test_a_graph_of_another_version_is_refused() -> None:
    wire: list[Any] = [GRAPH_DEF_VERSION + 1, None, []]
    said = f"version {GRAPH_DEF_VERSION + 1}; this library reads {GRAPH_DEF_VERSION}"
    with pytest.raises(ProtocolError, match=said):
        GraphDef.from_wire(wire)
    with pytest.raises(ProtocolError, match=said):
        GraphDef.from_bytes(codec.pack(wire))


GOOD = ["n", "Op", [["a", 0]], ["c"], "", {}, [[float32, TensorShape([2])]], "file:1"]


def test_the_example_below_is_good() -> None:
    assert NodeDef.from_wire(GOOD).to_wire() == GOOD


@for_each(
    "position, bad",
    [(0, 1), (1, None), (2, [["a"]]), (2, [["a", "0"]]), (2, [[0, "a"]]), (2, "a"), (2, ["a"]),
     (3, [1]), (3, None), (4, 0), (5, []), (6, [[float32]]), (6, [[TensorShape([2]), float32]]),
     (6, [["float32", [2]]]), (7, None)],
)  # fmt: skip
def test_a_node_of_another_form_is_a_protocol_error(position: int, bad: Any) -> None:
    wire = [*GOOD[:position], bad, *GOOD[position + 1 :]]
    with pytest.raises(ProtocolError):
        NodeDef.from_wire(wire)


@for_each("wire", [None, [], {}, [1], [1, None], ["1", None, []], [1, "seed", []], [1, None, [[]]]])
def test_anything_else_is_no_graph(wire: Any) -> None:
    with pytest.raises(ProtocolError):
        GraphDef.from_wire(wire)


@given(st.binary(max_size=100))
def test_any_bytes_are_a_graph_or_a_protocol_error(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        GraphDef.from_bytes(data)
