"""Our messages against TensorFlow's compiled ones: every field, and random values both ways."""

from __future__ import annotations

import importlib
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format as their_text
from hypothesis import given, settings
from hypothesis import strategies as st
from tensorboard.compat.proto import types_pb2

from actorsession.errors import InvalidArgumentError
from actorsession.interop import protos, text_format
from actorsession.interop.enums import DATA_TYPES, ENUMS
from actorsession.interop.fields import Field
from actorsession.interop.message import Message
from actorsession.interop.tabled import message_class, names_of_messages

_FILES = """
    allocation_description attr_value cluster config coordination_config cost_graph debug event full_type
    function graph graph_debug_info histogram meta_graph node_def op_def resource_handle rewriter_config
    rpc_options saved_object_graph saver step_stats struct summary tensor tensor_description tensor_shape
    trackable_object_graph types variable verifier_config versions
"""
_MODULES = [importlib.import_module(f"tensorboard.compat.proto.{name}_pb2") for name in _FILES.split()]

# Younger or older than TensorBoard's copy of the messages.
_YOUNGER: set[str] = {"SignatureDef.defaults"}
_REMOVED: dict[str, set[str]] = {}


def their_class(name: str) -> Any:
    first, *inner = name.split(".")
    found = next(getattr(m, first) for m in _MODULES if hasattr(m, first))
    for part in inner:
        found = getattr(found, part)
    return found


# TensorBoard has no copy of the others; all are compared with TensorFlow's own by ``scripts/differential``.
OURS = [
    name
    for name in names_of_messages()
    if any(hasattr(module, name.partition(".")[0]) for module in _MODULES) and "map<" not in name
]


@pytest.mark.parametrize("name", OURS)
def test_every_field_has_the_number_and_type_of_tensorflows(name: str) -> None:
    theirs = their_class(name).DESCRIPTOR.fields_by_name
    for field in message_class(name).FIELDS.values():
        if f"{name}.{field.name}" in _YOUNGER and field.name not in theirs:
            continue
        found = theirs[field.name]
        assert (field.number, field.kind, field.key) == (found.number, *_kind_of(found))
        group = found.containing_oneof.name if found.containing_oneof else ""
        assert (field.oneof, field.packed) == (group, bool(found.is_packed))
        assert (field.repeated or bool(field.key)) == found.is_repeated


_SCALARS = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    8: "bool",
    9: "string",
    6: "fixed64",
    7: "fixed32",
    12: "bytes",
    13: "uint32",
    18: "sint64",
}


def _kind_of(descriptor: Any) -> tuple[str, str]:
    """Kind and kind of the key, in our words."""
    if descriptor.enum_type is not None:
        return _in_tensorflow(descriptor.enum_type), ""
    inner = descriptor.message_type
    if inner is None:
        return _SCALARS[descriptor.type], ""
    if inner.GetOptions().map_entry:
        entry = inner.fields_by_name
        return _kind_of(entry["value"])[0], _kind_of(entry["key"])[0]
    return _in_tensorflow(inner), ""


def _in_tensorflow(descriptor: Any) -> str:
    """The name of a message or enumeration, in our words."""
    name: str = descriptor.full_name
    for package in ("tensorboard.", "google.protobuf.", "error."):
        name = name.removeprefix(package)
    return name


@pytest.mark.parametrize("name", OURS)
def test_no_field_of_tensorflows_is_left_out(name: str) -> None:
    theirs = {field.name for field in their_class(name).DESCRIPTOR.fields}
    assert theirs - _REMOVED.get(name, set()) <= set(message_class(name).FIELDS)


def test_element_types_have_tensorflows_numbers() -> None:
    theirs = {v.name: v.number for v in types_pb2.DataType.DESCRIPTOR.values}
    assert {name: DATA_TYPES[name] for name in theirs if name in DATA_TYPES} == theirs


# -- random messages -----------------------------------------------------------------------------

# What each scalar may be: the ends of its range, and what lies between.
_VALUES: Mapping[str, Sequence[Any]] = {
    "double": (0.0, -0.0, 1e-300, 1 / 3, float("inf")),
    "float": (0.0, -0.0, 0.1, 3e38, -float("inf")),
    "int64": (0, -1, -(2**63), 2**63 - 1),
    "uint64": (0, 127, 128, 2**64 - 1),
    "int32": (0, -1, -(2**31), 2**31 - 1),
    "uint32": (0, 300, 2**32 - 1),
    "bool": (False, True),
    "fixed64": (0, 2**64 - 1),
    "fixed32": (0, 7),
    "sint64": (0, -1, -(2**63), 2**63 - 1),
    "bytes": (b"", b'\x00\xff"\n', b"plain"),
    "string": ("", "spam", "\u00e9\U0001f40d'"),
}


def a_message(kind: type[Message], choose: random.Random, depth: int) -> Any:
    """A message with some fields set, and messages in it down to a depth."""
    made = kind()
    for field in kind.FIELDS.values():
        if choose.random() < 0.5 or (depth == 0 and field.scalar is None):
            continue
        count = choose.randrange(3)
        if field.key:
            # Protobuf leaves an empty key or value out of the text of some entries and not of others.
            keys = [choose.choice([k for k in _VALUES[field.key] if k]) for _ in range(count)]
            values = {key: _value(field, choose, depth) for key in keys}
            if field.scalar is not None:
                values = {key: value for key, value in values.items() if value}
            made._fill(**{field.name: values})
        elif field.repeated:
            made._fill(**{field.name: [_value(field, choose, depth) for _ in range(count)]})
        else:
            made._fill(**{field.name: _value(field, choose, depth)})
    return made


def _value(field: Field, choose: random.Random, depth: int) -> Any:
    if field.kind in ENUMS:
        return choose.choice(sorted(ENUMS[field.kind].values()))
    if field.scalar is not None:
        return choose.choice(_VALUES[field.kind])
    return a_message(field.message, choose, depth - 1)


def theirs_of(message: Message) -> Any:
    """Protobuf's own object of a message, without fields that are younger than its copy of the classes."""
    theirs = their_class(type(message).__name__).FromString(message.SerializeToString())
    theirs.DiscardUnknownFields()
    return theirs


ROOTS = [protos.GraphDef, protos.MetaGraphDef, protos.TensorProto, protos.VariableDef]


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.__name__)
@settings(max_examples=30, deadline=None)
@given(choose=st.randoms())
def test_what_we_write_protobuf_reads_and_writes_alike(root: type[Message], choose: random.Random) -> None:
    ours = a_message(root, choose, 4)
    assert root.FromString(ours.SerializeToString()) == ours
    theirs = theirs_of(ours)
    again = root.FromString(theirs.SerializeToString())
    assert theirs_of(again) == theirs
    assert again.ByteSize() == theirs.ByteSize()


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.__name__)
@settings(max_examples=15, deadline=None)
@given(choose=st.randoms())
def test_the_text_is_protobufs_own_and_is_read_back(root: type[Message], choose: random.Random) -> None:
    theirs = theirs_of(a_message(root, choose, 3))
    kept = root.FromString(theirs.SerializeToString())
    text = text_format.MessageToString(kept, as_utf8=False)
    assert text == their_text.MessageToString(theirs, as_utf8=False)
    assert text_format.Parse(text, root()) == kept


# -- text ----------------------------------------------------------------------------------------


def test_text_takes_every_spelling_of_values() -> None:
    text = """
        # a comment
        name: 'a' "b\\x63\\144\\n"  op: "\\u00e9" ;
        input: ["x", "^y"], input: "z"
        attr < key: "f" value { f: 1.5f } >
        attr { key: "g" value: { f: -inf } }
        attr { key: "h" value { i: -0x10 } }
        attr { key: "t" value { type: 3 } }
        attr { key: "n" value { list { b: [true, 0, t] } } }
        experimental_debug_info { original_node_names: "q" }
        spam { eggs: "q" nested < a: [1, 2] > }
    """
    node = text_format.Parse(text, protos.NodeDef(), allow_unknown_field=True)
    assert (node.name, node.op, list(node.input)) == ("abcd\n", "é", ["x", "^y", "z"])
    assert node.attr["f"].f == 1.5
    assert node.attr["g"].f == -np.inf
    assert (node.attr["h"].i, node.attr["t"].type) == (-16, 3)
    assert list(node.attr["n"].list.b) == [True, False, True]
    # Long texts without a word are refused at once.
    for text in (" " * 50_000 + "@", "#" * 50_000 + "\n@", 'name: "' + "a" * 50_000, "-" * 50_000):
        with pytest.raises(InvalidArgumentError, match="not a token of a text message"):
            text_format.Parse(text, protos.NodeDef())
    # Text nested too deep is refused.
    text = "attr { key: '' value { func { " * 60
    with pytest.raises(InvalidArgumentError, match="nested more than 100 deep"):
        text_format.Parse(text, protos.NodeDef())
    skipped = "spam { " + "a {" * 200
    with pytest.raises(InvalidArgumentError, match="nested more than 100 deep"):
        text_format.Parse(skipped, protos.NodeDef(), allow_unknown_field=True)
    with pytest.raises(InvalidArgumentError, match="expected '}', found the end"):
        text_format.Parse("spam { a", protos.NodeDef(), allow_unknown_field=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name 'a'", "line 1: 'name' must be followed by ':'"),
        ("\nnmae: 'a'", "line 2: NodeDef has no field 'nmae'"),
        ("name: 3", "expected a value of type string"),
        ("name: 'a", "not a token of a text message"),
        ("attr { key: 'x'", "expected a field or '}', found 'the end'"),
        ("attr { key: 'x' value { type: DT_SPAM } }", "expected a value of type DataType"),
        ("attr { key: 'x' value { i: 99999999999999999999 } }", "a value of type int64"),
        ("attr { key: 'x' value { i: 1.5 } }", "a value of type int64"),
        ("name: '\\q'", "a value of type string"),
        ("}", "expected a field, found '}'"),
        ("spam { a", "NodeDef has no field 'spam'"),
        ("attr: 3", "expected '{'"),
    ],
)
def test_text_that_is_no_message_is_refused_with_the_line(text: str, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        text_format.Parse(text, protos.NodeDef())
