"""Serialisation of tensors as ``TensorProto`` bytes and back, and decompression of strings.

Owns ``SerializeTensor``, ``ParseTensor`` and ``DecodeCompressed``. The input may be hostile: a shape is
compared with the elements present, and the short form, in which the last element stands for all that follow,
may not grow beyond 2 GiB.
"""

from __future__ import annotations

import functools
import itertools
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.errors import DataLossError, InvalidArgumentError
from actorsession.graph.dtypes import ALL_TYPES, DType, as_dtype, string
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.rows import checked, op, same, scalar
from actorsession.ops.shape_operands import boxed
from actorsession.opsets.parsing.records import COMPRESSIONS
from actorsession.opsets.text.kernels import LONGEST, each, string_array
from actorsession.protobuf.wire import (
    WireError,
    as_bytes,
    as_integer,
    fields,
    integer_field,
    length_field,
    read_varint,
    signed,
    varints,
    write_varint,
)

__all__ = ["decode_compressed", "parse_tensor", "serialize_tensor"]

# The fields of a TensorProto.
_DTYPE, _SHAPE, _CONTENT, _STRINGS = 1, 2, 4, 8
# The field of the elements of a type, if not in one piece, and their type there; varints if empty.
_LISTS: Mapping[str, tuple[int, str]] = {
    "float32": (5, "<f4"),
    "float64": (6, "<f8"),
    "complex64": (9, "<f4"),
    "complex128": (12, "<f8"),
    "float16": (13, ""),
    "bfloat16": (13, ""),
    "int64": (10, ""),
    "bool": (11, ""),
    "uint32": (16, ""),
    "uint64": (17, ""),
    **dict.fromkeys(("int32", "int16", "int8", "uint8", "uint16"), (7, "")),
}
# protobuf messages are limited to 2 GiB, so a tensor written in full is never larger.
_MOST_BYTES = 2**31
_MOST_AXES = 64  # numpy's own limit


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """Return a tensor as the bytes of a ``TensorProto``, a string scalar.

    Args:
        tensor: numbers, bools or strings.
        name: wanted name.

    Raises:
        TypeError: for a resource.
    """
    return raw.SerializeTensor(tensor, name=name)


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """Return the tensor encoded in the bytes of a ``TensorProto``.

    Args:
        serialized: the bytes, a string scalar.
        out_type: dtype of the tensor.
        name: wanted name.

    Returns:
        A tensor of unknown shape. At run time an InvalidArgumentError is raised for bytes that are no such
        message, a tensor of another type, and a shape that does not fit its elements.

    Raises:
        TypeError: for a resource.
    """
    return raw.ParseTensor(serialized, out_type=out_type, name=name)


def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """Decompress each string.

    Args:
        bytes: strings.
        compression_type: empty, ``ZLIB`` or ``GZIP``.
        name: wanted name.

    Returns:
        Strings. At run time a DataLossError is raised for strings not compressed in this form, an
        InvalidArgumentError for another ``compression_type``. Truncated strings are decompressed as far as
        possible.
    """
    return raw.DecodeCompressed(bytes, compression_type=compression_type, name=name)


# -- writing ---------------------------------------------------------------------------------------


def _serialize_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.inputs[0].dtype
    return lambda value: written(np.asarray(boxed(value)), dtype)


def written(array: Array, dtype: DType, *, in_one_piece: bool = False) -> bytes:
    """Return an array as a serialized ``TensorProto``.

    Args:
        array: the elements.
        dtype: their dtype.
        in_one_piece: whether strings are one field, as numbers are, and not one each.
    """
    head = integer_field(_DTYPE, dtype.as_datatype_enum)
    dims = [length_field(2, integer_field(1, size)) for size in array.shape]
    shape = length_field(_SHAPE, b"".join(dims))
    if dtype is string and not in_one_piece:
        return head + shape + b"".join([length_field(_STRINGS, item) for item in array.flat])
    if dtype is string:
        content = b"".join([*[write_varint(len(item)) for item in array.flat], *array.flat])
    else:
        content = array.astype(dtype.np_dtype.newbyteorder("<"), copy=False).tobytes()
    return head + shape + (length_field(_CONTENT, content) if content else b"")


# -- reading ---------------------------------------------------------------------------------------


def _parsed_shape(ctx: InferContext) -> Sequence[TensorShape]:
    dtype = as_dtype(ctx.attrs["out_type"])
    if dtype.kind in "rv":
        raise TypeError(f"{ctx.op}: a tensor of {dtype.name} has no bytes to read")
    return [unknown_shape]


def _parse_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype

    def parse(value: Any) -> Any:
        array = boxed(value)
        if array.ndim:
            raise InvalidArgumentError(
                f"ParseTensor: Expected `serialized` to be a scalar, got shape: {list(array.shape)}"
            )
        try:
            return parsed(array.item(), dtype)
        except (ValueError, TypeError) as exc:
            raise InvalidArgumentError(f"ParseTensor: Could not parse `serialized` as TensorProto: {exc}") from None

    return parse


def parsed(data: bytes, dtype: DType) -> Any:
    """Return the array that a message contains; raise ValueError or TypeError for an invalid message."""
    kind, shape, content = 0, [], b""
    parts: list[Any] = []
    field, stored = _LISTS.get(dtype.name, (_STRINGS, ""))
    for number, value in fields(data):
        if number == _DTYPE:
            kind = as_integer(value)
        elif number == _SHAPE:
            shape = [_size(as_bytes(v)) for n, v in fields(as_bytes(value)) if n == 2]
        elif number == _CONTENT:
            content = as_bytes(value)
        elif number == field:
            parts.append(value)
    if kind != dtype.as_datatype_enum:
        raise InvalidArgumentError(
            f"ParseTensor: Type mismatch between parsed tensor ({_named(kind)}) and dtype ({dtype.name})"
        )
    if len(shape) > _MOST_AXES or any(size < 0 for size in shape):
        raise InvalidArgumentError(f"ParseTensor: a tensor cannot have the shape {shape!r:.200}")
    if dtype is string:
        flat = _texts(content, math.prod(shape)) if content else [as_bytes(part) for part in parts]
        return string_array(_repeated(flat, math.prod(shape), dtype, shape), tuple(shape))
    elements = _content(content, dtype) if content else _numbers(parts, dtype, stored)
    whole = _repeated(elements, math.prod(shape), dtype, shape)
    return whole.reshape(shape)[()]


def _named(number: int) -> str:
    names = [dtype.name for dtype in ALL_TYPES if dtype.as_datatype_enum == number]
    return names[0] if names else f"element type {number}"


def _size(data: bytes) -> int:
    sizes = [signed(as_integer(v)) for n, v in fields(data) if n == 1]
    return sizes[-1] if sizes else 0


def _texts(content: bytes, count: int) -> list[bytes]:
    """Return strings that are in one piece: the sizes of all, and behind them all bytes."""
    sizes, pos = [], 0
    for _ in range(count):
        size, pos = read_varint(content, pos)
        sizes.append(size)
    ends = list(itertools.accumulate(sizes, initial=pos))
    if ends[-1] != len(content):
        raise WireError(f"strings of {ends[-1]} bytes are in {len(content)}")
    return [content[begin:end] for begin, end in itertools.pairwise(ends)]


def _content(content: bytes, dtype: DType) -> Array:
    if len(content) % dtype.itemsize:
        raise WireError(f"{len(content)} bytes are no whole number of {dtype.name} elements")
    octets: Array = np.frombuffer(content, np.uint8)
    if dtype.kind == "b":
        return octets.astype(np.bool_)
    elements: Array = octets.view(dtype.np_dtype.newbyteorder("<"))
    return elements


def _numbers(parts: list[Any], dtype: DType, stored: str) -> Array:
    """Return the elements in the list of their type, packed or one by one."""
    if stored:
        size = np.dtype(stored).itemsize
        data = b"".join([p if isinstance(p, bytes) else p.to_bytes(size, "little") for p in parts])
        if len(data) % (size if dtype.kind == "f" else 2 * size):
            raise WireError(f"{len(data)} bytes are no whole number of {dtype.name} elements")
        fixed: Array = np.frombuffer(data, np.uint8).view(dtype.np_dtype.newbyteorder("<"))
        return fixed
    words = varints(b"".join([p if isinstance(p, bytes) else write_varint(p) for p in parts]))
    if dtype.name in ("float16", "bfloat16"):  # the bits of each element
        return words.astype(np.uint16).view(dtype.np_dtype)
    return words.view(np.int64).astype(dtype.np_dtype)


def _repeated(flat: Any, count: int, dtype: DType, shape: list[int]) -> Any:
    """Return as many elements as the shape has: the last one is repeated, zeros if there are none."""
    if len(flat) > count or (len(flat) < count and count * dtype.itemsize > _MOST_BYTES):
        raise InvalidArgumentError(
            f"ParseTensor: a {dtype.name} tensor of shape {shape} cannot have {len(flat)} elements"
        )
    if dtype is string:
        return flat + [flat[-1] if flat else b""] * (count - len(flat))
    out = np.zeros(count, dtype.np_dtype)
    out[: len(flat)] = flat
    if len(flat):
        out[len(flat) :] = flat[-1]
    return out


# -- compressed strings ----------------------------------------------------------------------------


def _inflating(ctx: KernelContext) -> Kernel:
    kind = ctx.attrs["compression_type"]
    if kind not in COMPRESSIONS:
        raise InvalidArgumentError(f"DecodeCompressed: compression_type is empty, ZLIB or GZIP, got {kind!r:.100}")
    wbits = COMPRESSIONS[kind]

    def inflated(data: bytes) -> bytes:
        try:
            text = zlib.decompressobj(wbits).decompress(data, LONGEST + 1)
        except zlib.error as exc:
            raise DataLossError(f"DecodeCompressed: no {kind}: {exc}") from None
        if len(text) > LONGEST:
            raise InvalidArgumentError(
                f"DecodeCompressed: a string has {LONGEST} bytes at most, the result would have more"
            )
        return text

    return functools.partial(each, inflated if wbits else bytes)


op("SerializeTensor", scalar, kernel=_serialize_kernel, grad=NOT_DIFFERENTIABLE)
op("ParseTensor", checked(_parsed_shape), kernel=_parse_kernel, grad=NOT_DIFFERENTIABLE)
op("DecodeCompressed", checked(same), kernel=_inflating, grad=NOT_DIFFERENTIABLE, sized_by=(0,))
