"""Arrays as tensors of a file: every form that TensorFlow writes, and hostile shapes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import actorsession as acts
from actorsession.errors import InvalidArgumentError
from actorsession.interop import TensorProto
from actorsession.interop.enums import DATA_TYPES

NUMBERS = [
    np.float16, np.float32, np.float64, ml_dtypes.bfloat16, np.int8, np.int16, np.int32, np.int64, np.uint8,
    np.uint16, np.uint32, np.uint64, np.bool_, np.complex64, np.complex128,
]  # fmt: skip


def tensor(dtype: str, shape: list[int], **values: Any) -> TensorProto:
    made = TensorProto(dtype=DATA_TYPES[dtype], **values)
    for size in shape:
        made.tensor_shape.dim.add(size=size)
    return made


@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)], ids=str)
def test_arrays_come_back_as_they_were(dtype: Any, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    proto = TensorProto.FromString(acts.io.make_tensor_proto(array).SerializeToString())
    found = acts.io.make_ndarray(proto)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.flags.writeable
    np.testing.assert_array_equal(found, array)


def test_strings_and_numbers_come_back_as_tensorflow_reads_them() -> None:
    array = np.array([["a", b"\xff\x00"]], dtype=object)
    found = acts.io.make_ndarray(acts.io.make_tensor_proto(array))
    assert found.tolist() == [[b"a", b"\xff\x00"]]
    assert acts.io.make_ndarray(acts.io.make_tensor_proto("é")).item() == "é".encode()
    assert acts.io.make_ndarray(tensor("DT_STRING", [3], string_val=[b"a", b"b"])).tolist() == [b"a", b"b", b"b"]
    assert acts.io.make_ndarray(tensor("DT_STRING", [1])).tolist() == [b""]
    assert acts.io.make_tensor_proto(1).dtype == DATA_TYPES["DT_INT32"]
    assert acts.io.make_tensor_proto(2**40).dtype == DATA_TYPES["DT_INT64"]
    assert acts.io.make_tensor_proto([1.5]).dtype == DATA_TYPES["DT_FLOAT"]
    assert acts.io.make_tensor_proto(np.float64(1)).dtype == DATA_TYPES["DT_DOUBLE"]
    assert acts.io.make_tensor_proto(1, "int8").dtype == DATA_TYPES["DT_INT8"]
    # Fewer values than the shape has are repeated.
    assert acts.io.make_ndarray(acts.io.make_tensor_proto([1, 2], shape=[4])).tolist() == [1, 2, 2, 2]
    with pytest.raises(ValueError, match="has 1 elements, got 2"):
        acts.io.make_tensor_proto([1, 2], shape=[1])
    with pytest.raises(TypeError, match=r"shape \(4,\) were requested"):
        acts.io.make_tensor_proto([1, 2], shape=[4], verify_shape=True)


@pytest.mark.parametrize(
    ("proto", "expected"),
    [
        (tensor("DT_FLOAT", [3], float_val=[1.5]), np.full(3, 1.5, np.float32)),
        (tensor("DT_FLOAT", [4], float_val=[1.0, 2.0]), np.array([1, 2, 2, 2], np.float32)),
        (tensor("DT_INT32", [2, 2]), np.zeros((2, 2), np.int32)),
        (tensor("DT_INT8", [2], int_val=[-1, 3]), np.array([-1, 3], np.int8)),
        (tensor("DT_UINT16", [1], int_val=[65535]), np.array([65535], np.uint16)),
        (tensor("DT_INT64", [], int64_val=[-(2**63)]), np.array(-(2**63))),
        (tensor("DT_UINT64", [1], uint64_val=[2**64 - 1]), np.array([2**64 - 1], np.uint64)),
        (tensor("DT_UINT32", [1], uint32_val=[2**32 - 1]), np.array([2**32 - 1], np.uint32)),
        (tensor("DT_BOOL", [2], bool_val=[True]), np.array([True, True])),
        (tensor("DT_HALF", [2], half_val=[0x3E00, 0xC000]), np.array([1.5, -2], np.float16)),
        (tensor("DT_BFLOAT16", [2], half_val=[0x3FC0]), np.array([1.5, 1.5], ml_dtypes.bfloat16)),
        (tensor("DT_DOUBLE", [1], double_val=[0.1]), np.array([0.1])),
        (tensor("DT_COMPLEX64", [2], scomplex_val=[1, 2]), np.full(2, 1 + 2j, np.complex64)),
        (tensor("DT_COMPLEX128", [1], dcomplex_val=[1, -2]), np.array([1 - 2j])),
        (tensor("DT_FLOAT_REF", [1], float_val=[2.0]), np.array([2.0], np.float32)),
    ],
    ids=lambda value: "",
)
def test_lists_of_elements_are_read_and_the_last_one_repeats(proto: TensorProto, expected: Any) -> None:
    found = acts.io.make_ndarray(proto)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("proto", "words"),
    [
        (tensor("DT_FLOAT", [2], tensor_content=bytes(9)), "needs 8 bytes, got 9"),
        (tensor("DT_FLOAT", [1], float_val=[1, 2]), "has 1 elements, got 2"),
        (tensor("DT_FLOAT", [-1], float_val=[1]), "must be fully known"),
        (tensor("DT_FLOAT", [-2], float_val=[1]), "each at least -1"),
        (tensor("DT_FLOAT", [1] * 65, float_val=[1]), "at most 64 sizes"),
        (tensor("DT_FLOAT", [2**40], float_val=[1]), "the limit for such tensors is 2147483648 bytes"),
        (tensor("DT_FLOAT", [2**62, 2**62]), "the limit for such tensors is 2147483648 bytes"),
        (tensor("DT_STRING", [1], tensor_content=b"abcdefgh"), "cannot be stored in tensor_content"),
        (tensor("DT_COMPLEX64", [1], scomplex_val=[1]), "needs pairs of values"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_shapes_and_elements_that_do_not_fit_are_refused(proto: TensorProto, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        acts.io.make_ndarray(proto)


@pytest.mark.parametrize("dtype", ["DT_VARIANT", "DT_RESOURCE", "DT_INVALID"])
def test_element_types_that_do_not_exist_here_are_refused(dtype: str) -> None:
    with pytest.raises(TypeError, match="a tensor of"):
        acts.io.make_ndarray(tensor(dtype, []))


@pytest.mark.parametrize("value", [object(), [1, "a", object()]], ids=["object", "mixed"])
def test_what_is_no_tensor_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="numbers or strings"):
        acts.io.make_tensor_proto(value)


def test_none_is_refused_and_a_message_is_returned_as_it_is() -> None:
    with pytest.raises(ValueError, match="None cannot be converted"):
        acts.io.make_tensor_proto(None)
    proto = acts.io.make_tensor_proto(3)
    assert acts.io.make_tensor_proto(proto) is proto


@given(st.lists(st.integers(-1, 2**62), max_size=3), st.binary(max_size=20))
def test_any_shape_and_content_is_an_array_or_an_error(shape: list[int], content: bytes) -> None:
    proto = tensor("DT_INT32", [min(s, 2**20) if not content else s for s in shape[:1]])
    proto.tensor_content = content
    fits = len(content) == 4 * int(np.prod([float(d.size) for d in proto.tensor_shape.dim]))
    known = all(dim.size >= 0 for dim in proto.tensor_shape.dim)
    if known and (fits or not content):
        assert acts.io.make_ndarray(proto).dtype == np.int32
    else:
        with pytest.raises(InvalidArgumentError, match="shape"):
            acts.io.make_ndarray(proto)
