"""How values become bytes: msgpack with tensors, dtypes and shapes as extension types.

The one seam to the wire library. GraphDefs and messages are made of the values that this module can
carry: ``None``, bool, int, float, str, bytes, list (tuples become lists), dict, numpy arrays and
scalars, ``DType`` and ``TensorShape``. Nothing is pickled, and nothing received is executed.

A tensor travels as its dtype's *name*, its shape and its bytes in C order. Tensors above
``INLINE_LIMIT`` go out of band when the caller passes a segment list: the message then holds the index
of the segment, and the bytes are never copied into it. Unpacked tensors are writable when their bytes
came in a writable segment; small ones get a buffer of their own.
"""

from __future__ import annotations

import threading
from typing import Any, TypeAlias

import msgpack
import numpy as np

from actorsession.errors import InvalidArgumentError, ProtocolError
from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.shape import TensorShape

__all__ = ["INLINE_LIMIT", "Buffer", "pack", "tensor_bytes", "unpack"]

Buffer: TypeAlias = "bytes | bytearray | memoryview"

# Below this a copy into the message is cheaper than another buffer on the socket: one more writev entry
# costs about as much as copying 16 KiB.
INLINE_LIMIT = 16 * 1024

_EXT_TENSOR, _EXT_DTYPE, _EXT_SHAPE, _EXT_STRINGS, _EXT_BIGINT = 1, 2, 3, 4, 5


def tensor_bytes(value: Any) -> int:
    """The number of bytes that a tensor's elements take (object elements count 8 bytes each)."""
    return int(getattr(value, "nbytes", 0))


def pack(value: Any, segments: list[Buffer] | None = None) -> bytes:
    """Encodes a value.

    Args:
        value: see the module's text. Arrays are borrowed: those put into ``segments`` must not change
            until the segments have been sent.
        segments: where large tensors are put; without it all bytes are inside the result.

    Raises:
        InvalidArgumentError: for a value of another type.
    """
    return _PACKER.pack(value, segments)


class _Packer(threading.local):
    """One msgpack packer per thread: making one allocates a buffer, which costs more than most messages."""

    def __init__(self) -> None:
        self._segments: list[Buffer] | None = None
        self._outer = msgpack.Packer(default=self._extend)
        self._inner = msgpack.Packer()

    def pack(self, value: Any, segments: list[Buffer] | None) -> bytes:
        self._segments = segments
        try:
            data: bytes = self._outer.pack(value)
        except BaseException as exc:
            self._outer.reset()
            self._inner.reset()
            if isinstance(exc, (ValueError, OverflowError)):
                raise InvalidArgumentError(f"cannot encode a value: {exc}") from exc
            raise
        finally:
            self._segments = None
        return data

    def _extend(self, obj: Any) -> Any:
        if isinstance(obj, (np.ndarray, np.generic)):
            return self._tensor(np.asarray(obj))
        if isinstance(obj, DType):
            return msgpack.ExtType(_EXT_DTYPE, obj.name.encode())
        if isinstance(obj, TensorShape):
            return msgpack.ExtType(_EXT_SHAPE, self._inner.pack(obj.dims))
        if isinstance(obj, int):
            return msgpack.ExtType(_EXT_BIGINT, str(obj).encode())
        raise InvalidArgumentError(
            f"cannot send a {type(obj).__name__}: only plain values, arrays, dtypes and shapes travel"
        )

    def _tensor(self, array: np.ndarray[Any, Any]) -> msgpack.ExtType:
        shape = array.shape
        if array.dtype == object:
            items = [_as_bytes(x) for x in array.flat]
            return msgpack.ExtType(_EXT_STRINGS, self._inner.pack([shape, items]))
        name = as_dtype(array.dtype).name
        nbytes = array.nbytes
        if self._segments is None or nbytes <= INLINE_LIMIT:
            return msgpack.ExtType(_EXT_TENSOR, self._inner.pack([name, shape, array.tobytes()]))
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)  # memoryview has no bfloat16
        self._segments.append(memoryview(flat))
        return msgpack.ExtType(
            _EXT_TENSOR, self._inner.pack([name, shape, len(self._segments) - 1])
        )


_PACKER = _Packer()


def _as_bytes(item: Any) -> bytes:
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        return item.encode()
    raise InvalidArgumentError(
        f"an object tensor holds bytes or str when it travels, found {type(item).__name__}"
    )


def unpack(data: Buffer, segments: tuple[Buffer, ...] | list[Buffer] = ()) -> Any:
    """Decodes what ``pack`` made.

    Args:
        data: the encoded value; hostile input is expected and bounded.
        segments: the buffers that came with it; arrays are views of them.

    Raises:
        ProtocolError: for bytes of any other form.
    """

    def extension(code: int, body: bytes) -> Any:
        if code == _EXT_TENSOR:
            return _unpack_tensor(body, segments)
        if code == _EXT_DTYPE:
            return as_dtype(str(body, "ascii"))
        if code == _EXT_SHAPE:
            return TensorShape(msgpack.unpackb(body))
        if code == _EXT_STRINGS:
            return _unpack_strings(body)
        if code == _EXT_BIGINT and len(body) <= 64:
            return int(body)
        raise ProtocolError(f"unknown extension type {code} in a message")

    try:
        return msgpack.unpackb(data, ext_hook=extension, strict_map_key=False)
    except ProtocolError:
        raise
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        RecursionError,
        msgpack.UnpackException,
    ) as exc:
        raise ProtocolError(f"cannot decode a message: {type(exc).__name__}: {exc}") from exc


def _unpack_tensor(
    body: bytes, segments: tuple[Buffer, ...] | list[Buffer]
) -> np.ndarray[Any, Any]:
    name, shape, content = msgpack.unpackb(body)
    dtype = as_dtype(name)
    if dtype.kind in "sr":
        raise ProtocolError(f"a {name} tensor does not travel as raw bytes")
    if not all(isinstance(d, int) and d >= 0 for d in shape):
        raise ProtocolError(f"a tensor's shape holds sizes, got {shape!r:.100}")
    if isinstance(content, int):
        if not 0 <= content < len(segments):
            raise ProtocolError(f"segment {content} of {len(segments)} was asked for")
        content = segments[content]
    else:
        content = bytearray(content)  # so that the array is writable, as one from a segment is
    needed = dtype.itemsize
    for dim in shape:
        needed *= dim
    if len(content) != needed:
        raise ProtocolError(
            f"a {name} tensor of shape {shape} takes {needed} bytes, got {len(content)}"
        )
    return np.frombuffer(content, np.uint8).view(dtype.np_dtype).reshape(shape)


def _unpack_strings(body: bytes) -> np.ndarray[Any, Any]:
    shape, items = msgpack.unpackb(body)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)
