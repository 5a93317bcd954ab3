"""Messages as JSON, against protobuf's own; and text forms that messages take."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf import json_format as their_json
from tensorboard.compat.proto import config_pb2, graph_pb2

from actorsession.interop import json_format, protos, text_format
from actorsession.interop.tabled import message_class

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
