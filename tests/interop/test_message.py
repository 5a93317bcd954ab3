"""Messages as Python objects: presence, lists, maps, oneofs and copies."""

from __future__ import annotations

import pytest

from actorsession import float32
from actorsession.interop import AttrValue, GraphDef, MetaGraphDef, NodeDef, TensorShapeProto, protos
from actorsession.interop.attributes import attr_of
from actorsession.interop.protos import CollectionDef, FunctionDef


def test_fields_that_were_not_set_have_their_defaults() -> None:
    node = NodeDef()
    assert (node.name, list(node.input), dict(node.attr)) == ("", [], {})
    assert node.SerializeToString() == b""
    # Reading a message field does not set it.
    graph = GraphDef()
    assert graph.versions.producer == 0
    assert not graph.HasField("versions")
    graph.versions.producer = 3
    assert graph.HasField("versions")
    # An empty message counts once it is set.
    graph = GraphDef()
    graph.versions.SetInParent()
    assert graph.HasField("versions")
    assert GraphDef.FromString(graph.SerializeToString()).HasField("versions")


def test_setting_a_member_of_a_oneof_clears_the_others() -> None:
    attr = AttrValue(i=3)
    attr.s = b"x"
    assert (attr.WhichOneof("value"), attr.i, attr.HasField("i")) == ("s", 0, False)
    attr.list.i.append(1)
    assert attr.WhichOneof("value") == "list"
    attr.b = False
    assert attr.WhichOneof("value") == "b"
    assert AttrValue.FromString(attr.SerializeToString()).WhichOneof("value") == "b"
    # Asking what a oneof does not hold changes nothing.
    attr = AttrValue(i=3)
    assert list(attr.list.i) == []
    assert attr.WhichOneof("value") == "i"
    # The last member of a oneof on the wire wins.
    data = AttrValue(i=3).SerializeToString() + AttrValue(b=True).SerializeToString()
    assert AttrValue.FromString(data) == AttrValue(b=True)


def test_a_map_makes_the_message_that_is_asked_for() -> None:
    node = NodeDef()
    node.attr["T"].type = 1
    assert "T" in node.attr
    assert node.attr["T"].type == 1
    del node.attr["T"]
    assert not node.attr


def test_lists_and_maps_hold_copies_of_messages() -> None:
    node = NodeDef(name="a")
    graph = GraphDef(node=[node])
    graph.node.append(node)
    node.name = "b"
    assert [n.name for n in graph.node] == ["a", "a"]
    function = FunctionDef()
    value = AttrValue(i=1)
    function.attr["x"].CopyFrom(value)
    value.i = 2
    assert function.attr["x"].i == 1
    graph = GraphDef()
    graph.node.add(name="a", input=["x"])
    other = GraphDef()
    other.CopyFrom(graph)
    other.node[0].input.append("y")
    assert list(graph.node[0].input) == ["x"]
    assert graph != other
    graph, more = GraphDef(), GraphDef()
    graph.node.add(name="a")
    graph.versions.producer = 1
    more.node.add(name="b")
    more.versions.min_consumer = 2
    graph.MergeFrom(more)
    assert [n.name for n in graph.node] == ["a", "b"]
    assert (graph.versions.producer, graph.versions.min_consumer) == (1, 2)


@pytest.mark.parametrize(("field", "value"), [("name", 3), ("device", None), ("name", 1.5)])
def test_values_of_another_type_are_refused(field: str, value: object) -> None:
    with pytest.raises(TypeError):
        setattr(NodeDef(), field, value)


@pytest.mark.parametrize(
    ("field", "value"), [("input", [3]), ("input", 3), ("attr", {"T": 3}), ("attr", {3: AttrValue()}), ("attr", [3])]
)
def test_arguments_of_another_type_are_refused(field: str, value: object) -> None:
    with pytest.raises(TypeError):
        NodeDef(**{field: value})


@pytest.mark.parametrize("field", ["input", "attr", "experimental_debug_info"])
def test_lists_maps_and_messages_are_not_assigned(field: str) -> None:
    with pytest.raises(AttributeError, match="Assignment not allowed"):
        setattr(NodeDef(), field, ["x"])
    with pytest.raises(ValueError, match="not assigned"):
        NodeDef().attr["x"] = AttrValue()
    graph = GraphDef(node=[{"name": "a"}])
    with pytest.raises(TypeError, match="not assigned"):
        graph.node[0] = NodeDef()


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="out of the range of int32"):
        GraphDef().versions.producer = 2**31
    with pytest.raises(ValueError, match="out of the range of int64"):
        AttrValue(i=-(2**63) - 1)
    with pytest.raises(TypeError, match="same class: expected a GraphDef, got NodeDef"):
        GraphDef().CopyFrom(NodeDef())
    with pytest.raises(AttributeError, match='NodeDef has no "nmae" field; it has name, op'):
        NodeDef().nmae = "x"
    with pytest.raises(ValueError, match='has no "nmae" field'):
        NodeDef(nmae="x")
    with pytest.raises(ValueError, match="does not have presence"):
        NodeDef().HasField("name")
    with pytest.raises(ValueError, match="has no oneof"):
        NodeDef().WhichOneof("value")


def test_equal_messages_give_equal_bytes_whatever_the_order_of_entries() -> None:
    one, two = NodeDef(), NodeDef()
    for name in ("a", "b"):
        one.attr[name].i = 1
    for name in ("b", "a"):
        two.attr[name].i = 1
    assert one.SerializeToString() == two.SerializeToString()
    # The text form is how a message shows itself.
    shape = TensorShapeProto()
    shape.dim.add(size=-1)
    assert repr(shape) == "dim {\n  size: -1\n}\n"
    # Values of maps with equal bytes are messages of their own.
    kind = protos.AttrValue(type=1)
    data = b"".join(
        protos.GraphDef(node=[protos.NodeDef(name=name, attr={"T": kind, "U": kind})]).SerializeToString()
        for name in "ab"
    )
    graph = protos.GraphDef.FromString(data)
    assert [attr_of(node.attr[key]) for node in graph.node for key in "TU"] == [float32] * 4
    assert graph.SerializeToString() == data
    graph = protos.GraphDef.FromString(data)
    graph.node[1].attr["T"].type = 3
    assert [node.attr[key].type for node in graph.node for key in "TU"] == [1, 1, 3, 1]
    assert graph.node[0] == protos.GraphDef.FromString(data).node[0]


def test_a_meta_graph_keeps_each_kind_of_collection() -> None:
    meta = MetaGraphDef()
    meta.collection_def["a"].node_list.value.append("x:0")
    meta.collection_def["b"].int64_list.value.append(-3)
    meta.collection_def["c"].float_list.value.append(0.5)
    meta.collection_def["d"].any_list.value.add(type_url="t", value=b"\x01")
    read = MetaGraphDef.FromString(meta.SerializeToString())
    assert read == meta
    kinds = {key: value.WhichOneof("kind") for key, value in read.collection_def.items()}
    assert kinds == {"a": "node_list", "b": "int64_list", "c": "float_list", "d": "any_list"}
    assert CollectionDef().WhichOneof("kind") is None
