"""Graphs as plain data: what is sent comes back, and nothing else is taken for a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import Graph, GraphDef, NodeDef, TensorShape, as_dtype, float32, int32
from actorsession.errors import ProtocolError
from actorsession.extend import TensorSpec
from actorsession.graph import codec
from actorsession.graph.codec import Buffer
from actorsession.graph.node import GRAPH_DEF_VERSION, spec, tensor_name
from tests.graph.kit import join, leaf, value
from tests.rows import for_each

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
