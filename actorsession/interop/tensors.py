"""Conversion of arrays to ``TensorProto`` and back.

``make_tensor_proto`` writes the bytes of the array, and strings one by one. ``make_ndarray`` reads every form
that TensorFlow writes. This includes the short form: if there are fewer elements than the shape has, the last
one is repeated. The input may be hostile, so the shape is checked against the elements, and a short form may
not expand beyond ``MAX_REPEATED_BYTES``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype, float32, int32, string
from actorsession.graph.registry import Array
from actorsession.graph.shape import TensorShape
from actorsession.interop.enums import dtype_number, dtype_of
from actorsession.interop.protos import TensorProto, TensorShapeProto

__all__ = ["MAX_REPEATED_BYTES", "make_ndarray", "make_tensor_proto", "repeated_bytes", "shape_of", "shape_proto"]

# protobuf limits messages to 2 GiB, so a tensor written in full never has more.
MAX_REPEATED_BYTES = 2**31
_MAX_RANK = 64  # numpy's own

# The field with the elements of each type, and the numpy type as which they are read.
_LISTS = {
    "float32": ("float_val", "<f4"),
    "float64": ("double_val", "<f8"),
    "int32": ("int_val", "<i8"),
    "int16": ("int_val", "<i8"),
    "int8": ("int_val", "<i8"),
    "uint8": ("int_val", "<i8"),
    "uint16": ("int_val", "<i8"),
    "int64": ("int64_val", "<i8"),
    "uint32": ("uint32_val", "<u8"),
    "uint64": ("uint64_val", "<u8"),
    "bool": ("bool_val", "?"),
    "complex64": ("scomplex_val", "<f4"),
    "complex128": ("dcomplex_val", "<f8"),
    "float16": ("half_val", "<i8"),
    "bfloat16": ("half_val", "<i8"),
    **dict.fromkeys(("qint8", "quint8", "qint16", "quint16", "qint32"), ("int_val", "<i8")),
}


# -- shapes --------------------------------------------------------------------------------------


def shape_proto(shape: TensorShape) -> TensorShapeProto:
    """Return a static shape as a message."""
    if shape.sizes is None:
        return TensorShapeProto(unknown_rank=True)
    proto = TensorShapeProto()
    for dim in shape.sizes:
        proto.dim.add(size=-1 if dim is None else dim)
    return proto


def shape_of(proto: TensorShapeProto) -> TensorShape:
    """Return the static shape of a message.

    Raises:
        InvalidArgumentError: for a size below -1 or too many dimensions.
    """
    if proto.unknown_rank:
        return TensorShape(None)
    sizes = [dim.size for dim in proto.dim]
    if len(sizes) > _MAX_RANK or any(size < -1 for size in sizes):
        raise InvalidArgumentError(f"a shape must have at most {_MAX_RANK} sizes, each at least -1, got {sizes!r:.100}")
    return TensorShape([None if size < 0 else size for size in sizes])


# -- writing -------------------------------------------------------------------------------------


def make_tensor_proto(values: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False) -> TensorProto:
    """Return a tensor as a message.

    Args:
        values: an array, a number, a string, or nested lists of them; a message is returned as it is.
        dtype: element type; that of the values if omitted, with float32 and int32 for Python's numbers.
        shape: the shape of the tensor; if there are fewer values, the last one is repeated, as in
            ``constant``.
        verify_shape: whether the values must have ``shape`` already.

    Raises:
        TypeError: for values that are no tensor or do not have the requested type; with ``verify_shape`` also
            for values of another shape.
        ValueError: for more values than the shape has elements.
    """
    if isinstance(values, TensorProto):
        return values
    if hasattr(values, "_as_graph_element"):
        raise TypeError("Expected any non-tensor type, but got a tensor instead.")
    array = _array(values, None if dtype is None else as_dtype(dtype))
    flat = array.reshape(-1)
    if shape is not None:
        array = _shaped(array, tuple(int(d) for d in shape), verify_shape)
    kind = as_dtype(array.dtype)
    proto = TensorProto(dtype=dtype_number(kind), tensor_shape=shape_proto(TensorShape(array.shape)))
    proto.tensor_shape.SetInParent()
    if kind is string:
        proto.string_val.extend([_as_bytes(item) for item in array.flat])
    elif flat.size <= 1 and kind.name in _LISTS:
        _add_to_list(proto, kind, flat)  # it is repeated where the shape has more elements
    else:
        proto.tensor_content = array.astype(kind.np_dtype.newbyteorder("<"), copy=False).tobytes()
    return proto


def _add_to_list(proto: TensorProto, kind: DType, values: Array) -> None:
    """Add elements to the list of their type."""
    name, _ = _LISTS[kind.name]
    if name == "half_val":
        values = values.view(np.uint16)
    elif kind.kind == "q":
        values = values.view(kind.integers)
    elif kind.kind == "c":
        values = np.stack([values.real, values.imag], axis=-1).reshape(-1)
    getattr(proto, name).extend(values.tolist())


def _array(values: Any, dtype: DType | None) -> Array:
    if values is None:
        raise ValueError("None cannot be converted to a tensor")
    array: Array = np.asarray(values)
    if array.dtype == object:
        if not all(isinstance(item, (str, bytes)) for item in array.flat):
            raise TypeError(f"a tensor must contain numbers or strings, got {values!r:.100}")
    elif not isinstance(values, (np.ndarray, np.generic)) and dtype is None:
        # numpy gives Python's own numbers its widest types.
        if array.dtype == np.float64:
            array = array.astype(float32.np_dtype)
        elif array.dtype == np.int64 and _fits(array):
            array = array.astype(int32.np_dtype)
    element_type = as_dtype(array.dtype) if dtype is None else dtype
    if (element_type is string) != (array.dtype.kind in "OSU"):
        raise TypeError(f"values of {array.dtype} cannot be converted to {element_type.name}: {values!r:.100}")
    if element_type is string:
        # Converted from the original values to objects, because numpy's strings lose trailing zero bytes.
        return np.asarray(values if array.dtype == object else array, dtype=object)
    return array.astype(element_type.np_dtype, copy=False)


def _fits(array: Array) -> bool:
    return not array.size or bool(array.min() >= -(2**31) and array.max() < 2**31)


def _shaped(array: Array, shape: tuple[int, ...], verify: bool) -> Array:
    if array.shape == shape:
        return array
    if verify:
        raise TypeError(f"values of shape {shape} were requested, got shape {array.shape}")
    count, flat = math.prod(shape), array.reshape(-1)
    if flat.size > count or (count and not flat.size):
        raise ValueError(f"a tensor of shape {shape} has {count} elements, got {flat.size}")
    full = np.empty(count, array.dtype)
    full[: flat.size] = flat
    full[flat.size :] = flat[-1] if flat.size else 0
    return full.reshape(shape)


def _as_bytes(item: Any) -> bytes:
    return item.encode() if isinstance(item, str) else bytes(item)


# -- reading -------------------------------------------------------------------------------------


def make_ndarray(tensor: TensorProto) -> Array:
    """Return the array that a message holds; strings are returned as an object array of bytes.

    Returns:
        A new, writable array.

    Raises:
        InvalidArgumentError: if shape and elements do not fit, or the shape is not fully known.
        TypeError: for an element type that this library does not have.
    """
    try:
        dtype = dtype_of(tensor.dtype)
    except ValueError as exc:
        raise TypeError(f"a tensor of an unsupported element type: {exc}") from exc
    shape = _full_shape(tensor)
    count = math.prod(shape)
    if tensor.tensor_content:
        flat = _from_content(tensor.tensor_content, dtype, shape)
    elif dtype is string:
        flat = np.empty(len(tensor.string_val), dtype=object)
        flat[:] = tensor.string_val
    elif dtype.name in _LISTS:
        flat = _from_list(tensor, dtype)
    else:
        raise TypeError(f"a tensor of {dtype.name} has no elements that could be read")
    return _repeated(flat, dtype, shape, count).reshape(shape)


def repeated_bytes(tensor: TensorProto) -> int:
    """Return how many bytes a message in short form takes as an array; 0 for other forms."""
    if tensor.tensor_content or tensor.tensor_shape.unknown_rank or not tensor.tensor_shape.dim:
        return 0
    count: int = math.prod([max(dim.size, 0) for dim in tensor.tensor_shape.dim[:_MAX_RANK]])
    return count * 8  # an upper bound for every type


def _full_shape(tensor: TensorProto) -> tuple[int, ...]:
    shape = shape_of(tensor.tensor_shape)
    if not shape.is_fully_defined():
        raise InvalidArgumentError(f"the shape of a tensor must be fully known, got {shape}")
    return shape.as_tuple()


def _from_content(content: bytes, dtype: DType, shape: tuple[int, ...]) -> Array:
    if dtype.kind in "srv":
        raise InvalidArgumentError(f"a tensor of {dtype.name} cannot be stored in tensor_content")
    needed = math.prod(shape) * dtype.itemsize
    if len(content) != needed:
        raise InvalidArgumentError(f"a {dtype.name} tensor of shape {shape} needs {needed} bytes, got {len(content)}")
    stored = np.frombuffer(content, np.uint8).view(dtype.np_dtype.newbyteorder("<"))
    return stored.astype(dtype.np_dtype)


def _from_list(tensor: TensorProto, dtype: DType) -> Array:
    name, stored = _LISTS[dtype.name]
    values = np.array(getattr(tensor, name), np.dtype(stored))
    if name == "half_val":  # the bits of each, in an integer
        return values.astype(np.uint16).view(dtype.np_dtype)
    if dtype.kind == "c":
        if values.size % 2:
            raise InvalidArgumentError(f"{dtype.name} needs pairs of values, got {values.size}")
        return values.view(dtype.np_dtype.newbyteorder("<")).astype(dtype.np_dtype)
    if dtype.kind == "q":
        return values.astype(dtype.integers).view(dtype.np_dtype)
    return values.astype(dtype.np_dtype)


def _repeated(flat: Array, dtype: DType, shape: tuple[int, ...], count: int) -> Array:
    """Return the elements of the shape.

    The last given element is repeated; without any, the elements are zero.
    """
    if flat.size == count:
        return flat
    if flat.size > count:
        raise InvalidArgumentError(f"a {dtype.name} tensor of shape {shape} has {count} elements, got {flat.size}")
    if count * dtype.itemsize > MAX_REPEATED_BYTES:
        raise InvalidArgumentError(
            f"a {dtype.name} tensor of shape {shape} would be filled from {flat.size} "
            f"elements; the limit for such tensors is {MAX_REPEATED_BYTES} bytes"
        )
    nothing: Any = b"" if dtype is string else 0
    full: Array = np.empty(count, dtype.np_dtype)
    full[: flat.size] = flat
    full[flat.size :] = flat[-1] if flat.size else nothing
    return full
