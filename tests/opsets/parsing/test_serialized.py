"""Serialized tensors: any bytes are read or refused, and the forms of TensorFlow's messages are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import actorsession as acts
from actorsession import errors, ops, opsets
from actorsession.interop import TensorProto
from tests.rows import for_each, refused


def parsed(data: bytes, dtype: Any) -> Any:
    with acts.Graph().as_default(), acts.Session() as session:
        return session.run(opsets.parse_tensor(data, dtype))


@given(st.binary(max_size=40))
def test_any_bytes_are_a_tensor_or_refused(rest: bytes) -> None:
    with acts.Graph().as_default(), acts.Session() as session:
        made = opsets.parse_tensor(b"\x08\x09\x12\x04\x12\x02\x08\x02" + rest, "int64")
        try:
            value = session.run(made)
        except errors.InvalidArgumentError:
            return
        assert value.dtype == np.int64


@for_each(
    "dtype, field, values",
    [
        ("float64", "double_val", [1.5, 2.5]),
        ("int8", "int_val", [-1, 2]),
        ("uint64", "uint64_val", [2**64 - 1, 2]),
        ("uint32", "uint32_val", [1, 2]),
        ("int64", "int64_val", [-(2**63), 2]),
        ("bool", "bool_val", [True, False]),
        ("float16", "half_val", [0x3C00, 0x4000]),
        ("complex64", "scomplex_val", [1.0, 2.0, 3.0, 4.0]),
        ("string", "string_val", [b"a", b""]),
    ],
)
def test_elements_may_stand_one_by_one(dtype: str, field: str, values: list[Any]) -> None:
    kind = acts.as_dtype(dtype)
    proto = TensorProto(dtype=kind.as_datatype_enum, **{field: values})
    proto.tensor_shape.dim.add(size=2)
    found = parsed(proto.SerializeToString(), kind)
    np.testing.assert_array_equal(found, acts.io.make_ndarray(proto))
    assert found.dtype == kind.np_dtype


def test_a_tensor_comes_back_as_it_was() -> None:
    with acts.Graph().as_default(), acts.Session() as session:
        for value in (np.arange(6.0).reshape(2, 3), np.array([b"a", b"\0"], object)):
            data = session.run(opsets.serialize_tensor(value, name="data"))
            back = session.run(opsets.parse_tensor(data, ops.constant(value).dtype))
            assert back.tolist() == value.tolist()


def test_resources_have_no_bytes() -> None:
    with acts.Graph().as_default():
        refused(lambda: opsets.parse_tensor(b"", "resource"), TypeError, "resource")
        refused(lambda: opsets.serialize_tensor(ops.Variable(1.0).handle), TypeError, "resource")


def test_what_is_not_compressed_as_said_is_refused() -> None:
    with acts.Graph().as_default(), acts.Session() as session:
        refused(lambda: session.run(opsets.decode_compressed([b"xx"], "ZLIB")), errors.DataLossError, "no ZLIB")
        refused(lambda: session.run(opsets.decode_compressed([b"xx"], "LZ4")), errors.InvalidArgumentError, "'LZ4'")
