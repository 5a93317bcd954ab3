"""Messages as Python objects, as bytes and as JSON: presence, lists, maps, oneofs, and hostile input."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf import json_format as their_json
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto import config_pb2, graph_pb2

from actorsession import float32
from actorsession.errors import DataLossError
from actorsession.interop import (
    AttrValue,
    GraphDef,
    MetaGraphDef,
    NodeDef,
    TensorProto,
    TensorShapeProto,
    json_format,
    protos,
    text_format,
)
from actorsession.interop.attributes import attr_of
from actorsession.interop.message import Budget
from actorsession.interop.protos import CollectionDef, FunctionDef
from actorsession.interop.tabled import message_class
from actorsession.protobuf import wire
from actorsession.protobuf.wire import write_varint
from tests.rows import refusing


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


test_values_of_another_type_are_refused = refusing(
    (("name", 3)), (("device", None)), (("name", 1.5)), of=lambda given: setattr(NodeDef(), *given), error=TypeError
)


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


test_bytes_that_are_no_message_are_refused_with_the_place = refusing(
    (b"\x80", "runs over the end"),
    (b"\xff" * 11, "more than ten bytes"),
    (b"\x0a\x05ab", "reaches beyond the end: 2 bytes are left"),
    (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "reaches beyond the end"),
    (b"\x00\x01", "field number 0"),
    (b"\x0f\x01", "wire type 7"),
    (b"\x7c", "a group 15 ends"),
    (b"\x7b\x44", "a group 8 ends"),
    (b"\x7b" * 101, "groups are nested more than 100 deep"),
    (b"\x79\x01\x02", "runs over the end"),
    (b"\x0a\x01\xff", "is not UTF-8"),
    of=NodeDef.FromString,
    error=DataLossError,
)


def test_messages_nested_too_deep_are_refused() -> None:
    """An attribute that is a function with an attribute that is a function ..."""
    inner = b""
    for _ in range(60):
        entry = b"\x0a\x00\x12" + write_varint(len(inner)) + inner
        func = b"\x12" + write_varint(len(entry)) + entry
        inner = b"\x52" + write_varint(len(func)) + func
    with pytest.raises(DataLossError, match="nested more than 100 deep"):
        AttrValue.FromString(inner)
    # A few bytes do not become millions of messages.
    budget = Budget(messages=1000)
    with pytest.raises(DataLossError, match="more than"):
        GraphDef()._read(b"\x0a\x00" * 1000, 0, 2000, 0, budget)
    # A packed row with a rest is refused.
    with pytest.raises(DataLossError, match="no row of float values"):
        TensorProto.FromString(b"\x2a\x03abc")
    # Packed and single values of a list are the same.
    packed, single = b"\x3a\x02\x05\x06", b"\x38\x05\x38\x06"
    assert list(TensorProto.FromString(packed).int_val) == [5, 6]
    assert list(TensorProto.FromString(single).int_val) == [5, 6]
    # Unknown fields of every wire type are skipped.
    unknown = b"\xf8\x07\x05" + b"\xf9\x07" + bytes(8) + b"\xfa\x07\x02ab" + b"\xfd\x07" + bytes(4)
    assert NodeDef.FromString(unknown + b"\xfb\x07\x08\x01\xfc\x07" + b"\x0a\x01n").name == "n"


@given(st.binary(max_size=200))
def test_any_bytes_are_a_graph_or_data_loss(data: bytes) -> None:
    try:
        read = GraphDef.FromString(data)
    except DataLossError:
        return
    assert GraphDef.FromString(read.SerializeToString()) == read


@pytest.mark.parametrize("data", [b"\x08\x01", b"\x2d\x01\x02\x03\x04", b"\xfa\x07\x02ab", b"\x0d\x01\x02\x03\x04"])
def test_a_field_of_another_wire_type_is_kept_as_an_unknown_field(data: bytes) -> None:
    """As protobuf keeps it, in messages around it as well."""
    read = NodeDef.FromString(data)
    assert read.ListFields() == []
    assert NodeDef.FromString(read.SerializeToString()).SerializeToString() == data
    assert GraphDef.FromString(wire.length_field(1, data)).SerializeToString() == wire.length_field(1, data)


ConfigProto: Any = message_class("ConfigProto")


def a_config() -> Any:
    config = ConfigProto(device_count={"CPU": 2}, operation_timeout_in_ms=2**40)
    config.gpu_options.per_process_gpu_memory_fraction = 0.25
    config.gpu_options.experimental.virtual_devices.add(memory_limit_mb=[0.1, float("inf")])
    config.graph_options.optimizer_options.global_jit_level = "ON_1"
    config.experimental.session_metadata.version = 3
    return config


def a_graph() -> Any:
    graph = protos.GraphDef()
    node = graph.node.add(name="é", input=["a", "b"])
    node.attr["s"].s = b"\x00\xff"
    node.attr["b"].b = False
    node.attr["t"].type = 1
    node.attr["l"].list.i.extend([1, -2])
    return graph


@pytest.mark.parametrize(("ours", "theirs"), [(a_config(), config_pb2.ConfigProto), (a_graph(), graph_pb2.GraphDef)])
def test_json_is_protobufs_own_and_is_read_back(ours: Any, theirs: Any) -> None:
    same = theirs.FromString(ours.SerializeToString())
    assert json_format.MessageToDict(ours) == their_json.MessageToDict(same)
    kept = {"preserving_proto_field_name": True}
    assert json_format.MessageToDict(ours, **kept) == their_json.MessageToDict(same, **kept)
    text = json_format.MessageToJson(ours)
    assert json.loads(text) == json.loads(their_json.MessageToJson(same))
    assert json_format.Parse(text, type(ours)()) == ours


def test_fields_without_a_value_are_shown_if_they_are_asked_for() -> None:
    shown = json_format.MessageToDict(protos.VersionDef(), always_print_fields_with_no_presence=True)
    assert shown == {"producer": 0, "minConsumer": 0, "badConsumers": []}
    # A text says a field once unless it is merged.
    text = "producer: 1 producer: 2"
    with pytest.raises(text_format.ParseError, match="VersionDef has 'producer' twice"):
        text_format.Parse(text, protos.VersionDef())
    assert text_format.Merge(text, protos.VersionDef()).producer == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", "is an object"),
        ('{"spam": 1}', "no field 'spam'"),
        ('{"deviceCount": {"CPU": "x"}}', "field 'deviceCount'"),
        ('{"allowSoftPlacement": "x"}', "field 'allowSoftPlacement'"),
        ('{"operationTimeoutInMs": 1.5}', "is no integer"),
    ],
)
def test_json_that_is_no_message_is_refused(text: str, words: str) -> None:
    with pytest.raises(json_format.ParseError, match=words):
        json_format.Parse(text, ConfigProto())
    assert json_format.Parse('{"spam": 1}', ConfigProto(), ignore_unknown_fields=True) == ConfigProto()


def test_a_text_is_written_in_other_forms() -> None:
    graph = a_graph()
    line = text_format.MessageToString(graph, as_one_line=True)
    assert line.startswith('node { name: "é" input: "a"')
    assert text_format.Parse(line, protos.GraphDef()) == graph
    short = text_format.MessageToString(graph.node[0].attr["l"], use_short_repeated_primitives=True)
    assert short == "list {\n  i: [1, -2]\n}\n"
    numbered = text_format.MessageToString(graph, use_field_number=True)
    assert text_format.Parse(numbered, protos.GraphDef(), allow_field_number=True) == graph
    pointed = text_format.MessageToBytes(graph, pointy_brackets=True, as_utf8=False)
    assert text_format.ParseLines(pointed.splitlines(), protos.GraphDef()) == graph
