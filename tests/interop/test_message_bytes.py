"""Messages as bytes: packed lists, unknown fields, and hostile input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession.errors import DataLossError
from actorsession.interop import AttrValue, GraphDef, NodeDef, TensorProto
from actorsession.interop.message import Budget
from actorsession.protobuf import wire
from actorsession.protobuf.wire import write_varint


@pytest.mark.parametrize(
    ("data", "words"),
    [
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
    ],
)
def test_bytes_that_are_no_message_are_refused_with_the_place(data: bytes, words: str) -> None:
    with pytest.raises(DataLossError, match=words):
        NodeDef.FromString(data)


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
    group = b"\xfb\x07\x08\x01\xfc\x07"
    assert NodeDef.FromString(unknown + group + b"\x0a\x01n").name == "n"


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
    around = GraphDef.FromString(wire.length_field(1, data))
    assert around.SerializeToString() == wire.length_field(1, data)
