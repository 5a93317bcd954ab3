"""The encoding of values as bytes: msgpack with tensors, dtypes and shapes as extension types.

This is the only module that uses the wire library. GraphDefs and messages consist of the values that this
module can encode: ``None``, bool, int, float, str, bytes, list (tuples become lists), dict, numpy arrays and
scalars (which are decoded as arrays of rank 0), ``DType``, ``TensorShape``, functions of nodes, and the
values of variant tensors.
Nothing is pickled, and nothing received is executed.

A tensor is encoded as its dtype's *name*, its shape and its bytes in C order and the machine's byte order
(little-endian on all supported machines). Tensors above ``INLINE_LIMIT`` go out of band when the caller
passes a segment list: the message then holds the index of the segment, and the bytes are never copied into
it. Decoded tensors are writable when their bytes came in a writable segment; small ones get a buffer of their
own. String tensors hold bytes.
"""

from __future__ import annotations

import math
import reprlib
import threading
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from io import BytesIO
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgpack
import numpy as np

from actorsession.config.limits import MAX_GRAPH_NODES_VARIABLE, max_graph_nodes
from actorsession.errors import InvalidArgumentError, OpError, ProtocolError, ResourceExhaustedError, from_exception
from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.extension import ExtensionPoint
from actorsession.graph.shape import TensorShape

__all__ = [
    "INLINE_LIMIT", "NESTED_CLASSES", "Buffer", "NestedClass", "Packed", "encoded_ahead",
    "is_long_text", "not_encoded", "opened", "pack", "pack_file", "packed", "tensor_bytes", "unpack",
    "unpack_file", "unpack_start",
]  # fmt: skip

T = TypeVar("T")

Buffer: TypeAlias = "bytes | bytearray | memoryview"

# Below this a copy into the message is cheaper than another buffer on the socket: one more writev entry costs
# about as much as copying 16 KiB.
INLINE_LIMIT = 16 * 1024

# Characters of an integer beyond 64 bits. Reading a decimal number takes quadratic time, so a peer
# must not choose its length.
_BIGINT_DIGITS = 64

_MAX_RANK = 64  # numpy's own limit

# Strings of a tensor that are encoded on a loop at most, in some 10 ms.
_MANY = 2**16

# The beginning of files; four bytes with a checksum follow.
_FILE = b"acts-1\r\n"

_EXT_TENSOR, _EXT_DTYPE, _EXT_SHAPE, _EXT_STRINGS, _EXT_BIGINT, _EXT_FUNCTION = 1, 2, 3, 4, 5, 6
_EXT_VARIANT, _EXT_PACKED, _EXT_DATASET, _EXT_OBJECTS, _EXT_RAGGED = 7, 8, 9, 10, 11

# An empty list or map is one byte on the wire and some sixty in memory, so a header of 64 MiB could take 4
# GiB. Large graphs are packed, and what else a header holds has no more than this of them. An extension type
# counts as one, since it takes as long to read, and so do eight items of a list.
_MAX_CONTAINERS = 2**22
_ITEMS = 8
# Items of one list, which is made in one call, with the interpreter lock: some 10 ms.
_MAX_ITEMS = 2**20
# Bytes of functions inside functions that are held at the same time, since each level is a copy of the next.
_MAX_NESTED_BYTES = 2**30
# Those of a packed graph, for each node that it may have: a node has four, and one for each input and output.
_CONTAINERS_PER_NODE = 16
# Bytes that are decoded between two looks at whether there are more.
_READ = 2**18
# Below this no count is needed, and the messages of steps are not slowed by one.
_COUNT_ABOVE = 2**18

# Element types and shapes that are kept with their encoded forms, and how long one of those may be: nodes have one of
# each for every output, and a program has few different ones.
_KEPT, _LONGEST_KEPT = 1024, 64

# Functions inside functions: a few more levels than planners accept, so that planners can report the error.
# The limit holds for nested lists as well; each loop in a loop adds one.
_MAX_DEPTH = 70


class NestedClass(NamedTuple):
    """A class of values that can be encoded and may be nested.

    Attributes:
        kind: the class, which has ``to_wire()``.
        read: from the result of ``to_wire`` to a value; ProtocolError for any other form.
    """

    kind: type[Any]
    read: Callable[[Any], Any]


NESTED_CLASSES: ExtensionPoint[NestedClass] = ExtensionPoint("classes of nested values", "actorsession.ops")
"""The classes ``functions``, which consist of nodes, and the values of variant tensors: ``variants``, which
are lists, ``datasets`` and ``ragged`` tensors."""

_NESTED = {_EXT_FUNCTION: "functions", _EXT_VARIANT: "variants", _EXT_DATASET: "datasets", _EXT_RAGGED: "ragged"}


class Packed:
    """A value that is encoded before it is put into a message, and decoded after it was taken out.

    To encode or decode a graph of 60,000 nodes takes a second, and messages are encoded and decoded on event
    loops. A packed value is sent beside the message, like a large tensor.

    Args:
        data: the result of ``pack``.
        segments: the buffers that belong to it.
    """

    __slots__ = ("data", "segments")

    def __init__(self, data: Buffer, segments: Sequence[Buffer]) -> None:
        self.data = data
        self.segments = tuple(segments)


def packed(items: Collection[T], to_wire: Callable[[T], Any]) -> Packed:
    """Encode a list that will be sent inside another value, as a ``Packed`` for ``opened``.

    The items are encoded one by one, so that no call holds the interpreter lock for long.

    Args:
        items: the items of the list.
        to_wire: from an item to a value that can be encoded.

    Raises:
        InvalidArgumentError: for a value that cannot be encoded.
        ResourceExhaustedError: if ``opened`` would refuse the items.
    """
    segments: list[Buffer] = []
    parts = [msgpack.Packer().pack_array_header(len(items))]
    left = most = _CONTAINERS_PER_NODE * max_graph_nodes()
    for item in items:
        wire = to_wire(item)
        left -= _containers(wire)
        if left < 0:
            raise _too_many_containers(most)
        parts.append(pack(wire, segments))
    return Packed(b"".join(parts), segments)


def _too_many_containers(most: int) -> ResourceExhaustedError:
    """Return the error of a graph whose nodes hold more than ``most`` lists and maps."""
    return ResourceExhaustedError(
        f"the inputs, outputs and attributes of the graph's nodes are more than {most} lists and maps, "
        f"{_CONTAINERS_PER_NODE} for each node that a graph may have; the environment variable "
        f"{MAX_GRAPH_NODES_VARIABLE} says how many those are, here and at the servers"
    )


def _containers(wire: Any) -> int:
    """Return the number of lists and maps in a value, without those of functions."""
    if isinstance(wire, dict):
        wire = wire.values()
    elif not isinstance(wire, (list, tuple)):
        return 0
    return 1 + sum(map(_containers, wire))


def opened(value: Packed, check: Callable[[int], None]) -> Iterator[Any]:
    """Yield the items of a packed list, decoded one by one.

    So no call holds the interpreter lock for long.

    Args:
        value: the result of ``packed``.
        check: called with the number of items before one is decoded; raises if there are too many.

    Raises:
        ProtocolError: for bytes of any other form.
        ResourceExhaustedError: if the items hold more lists and maps than ``max_graph_nodes()`` nodes should.
    """
    most = _CONTAINERS_PER_NODE * max_graph_nodes()
    reader = _Reader(value.segments, most, _too_many_containers(most))
    try:
        yield from reader.items(value.data, check)
    except _BAD_BYTES as exc:
        raise _not_decoded(exc) from exc


def tensor_bytes(value: Any) -> int:
    """Return the number of bytes that a tensor's elements take (object elements count 8 bytes each)."""
    return int(getattr(value, "nbytes", 0))


def pack(value: Any, segments: list[Buffer] | None = None) -> bytes:
    """Encode a value.

    Args:
        value: see the module docstring. Arrays are borrowed: those put into ``segments`` must not change
            until the segments have been sent.
        segments: a list to which large tensors are added; without it all bytes are inside the result.

    Raises:
        InvalidArgumentError: for a value of another type.
        ResourceExhaustedError: if there is no memory for the result.
    """
    return _PACKER.pack(value, segments)


def is_long_text(value: Any) -> bool:
    """Return whether a value is a tensor of so many strings that a loop should not encode them."""
    return isinstance(value, np.ndarray) and value.size > _MANY and value.dtype.hasobject


def encoded_ahead(value: Any) -> Any:
    """Return what ``pack`` soon makes the same of as of a long text; called in a thread."""
    try:
        return msgpack.unpackb(pack(value))
    except Exception as exc:
        return not_encoded(exc)  # which pack() raises


def not_encoded(exc: Exception) -> OpError:
    """Return the error of a value that could not be encoded, for an exception of any class.

    Methods of classes that nobody here knows may run while a value is encoded.
    """
    if isinstance(exc, OpError):
        return exc
    cause = from_exception(exc)
    if isinstance(exc, MemoryError):
        error: OpError = ResourceExhaustedError(f"no memory to encode a value: {cause.message}")
    elif isinstance(exc, (ValueError, OverflowError, TypeError)):
        error = InvalidArgumentError(f"cannot encode a value: {exc}")
    else:
        error = InvalidArgumentError(f"cannot encode a value: {cause.message}")
    error.__cause__ = exc
    return error


class _Packer(threading.local):
    """One msgpack packer per thread: to make one allocates a buffer, which costs more than most messages."""

    def __init__(self) -> None:
        self._segments: list[Buffer] | None = None
        # Strict, or np.float64 would be sent as the float that it also is and lose its type.
        self._outer = msgpack.Packer(default=self._extend, strict_types=True)
        self._inner = msgpack.Packer()

    def pack(self, value: Any, segments: list[Buffer] | None) -> bytes:
        self._segments = segments
        try:
            data: bytes = self._outer.pack(value)
        except BaseException as exc:
            self._outer.reset()
            self._inner.reset()
            if isinstance(exc, OpError) or not isinstance(exc, Exception):
                raise
            raise not_encoded(exc) from exc
        finally:
            self._segments = None
        return data

    def _extend(self, obj: Any) -> Any:
        """Return a value that msgpack cannot encode itself in a form that it can."""
        if isinstance(obj, tuple):
            return list(obj)
        if isinstance(obj, OpError):  # of encoded_ahead()
            raise obj
        if isinstance(obj, (np.ndarray, np.generic)):
            return self._tensor(np.asarray(obj))
        if isinstance(obj, DType):
            return _encoded_dtype(obj.name)
        if isinstance(obj, TensorShape):
            return _encoded_shape(obj.sizes)
        if isinstance(obj, Packed):
            return self._packed(obj)
        if isinstance(obj, int):
            return _integer(int(obj))
        for code, name in _NESTED.items():
            nested = NESTED_CLASSES.find(name)
            if nested is not None and isinstance(obj, nested.kind):
                # A packer of its own, because this one is in the middle of the surrounding value.
                value: Any = obj
                inner = msgpack.Packer(default=self._extend, strict_types=True)
                return msgpack.ExtType(code, inner.pack(value.to_wire()))
        plain = _plain(obj)
        if plain is not None:
            return plain
        raise InvalidArgumentError(
            f"cannot send a {type(obj).__name__}: only plain values, arrays, dtypes and shapes are encoded"
        )

    def _packed(self, value: Packed) -> msgpack.ExtType:
        if self._segments is None:
            raise InvalidArgumentError("a packed value is encoded as segments, and this encoding has none")
        first = len(self._segments)
        self._segments.extend((value.data, *value.segments))
        return msgpack.ExtType(_EXT_PACKED, self._inner.pack([first, len(value.segments)]))

    def _tensor(self, array: np.ndarray[Any, Any]) -> msgpack.ExtType:
        shape = array.shape
        dtype = as_dtype(array.dtype)
        if dtype.kind == "s":
            if any(isinstance(x, np.ndarray) for x in array.flat):
                # A variant tensor that holds others. A packer of its own, as for nested values.
                inner = msgpack.Packer(default=self._extend, strict_types=True)
                return msgpack.ExtType(_EXT_OBJECTS, inner.pack([list(shape), list(array.flat)]))
            items = [_as_bytes(x) for x in array.flat]
            return msgpack.ExtType(_EXT_STRINGS, self._inner.pack([shape, items]))
        array = array.astype(dtype.np_dtype, copy=False)  # in case the byte order is another
        if self._segments is None or array.nbytes <= INLINE_LIMIT:
            content: bytes | int = array.tobytes()
        else:
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            content = len(self._segments)
            self._segments.append(flat.data)  # of bytes: memoryview does not support bfloat16
        return msgpack.ExtType(_EXT_TENSOR, self._inner.pack([dtype.name, shape, content]))


_PACKER = _Packer()


@lru_cache(_KEPT)
def _encoded_dtype(name: str) -> msgpack.ExtType:
    return msgpack.ExtType(_EXT_DTYPE, name.encode())


@lru_cache(_KEPT)
def _encoded_shape(sizes: tuple[int | None, ...] | None) -> msgpack.ExtType:
    return msgpack.ExtType(_EXT_SHAPE, msgpack.packb(sizes))


def _plain(obj: Any) -> Any:
    """Return a value of a subclass of a plain type as one of the type itself; ``None`` for other values."""
    if isinstance(obj, str):
        return str.__str__(obj)  # str() of an enum member returns its name
    kinds: tuple[type[Any], ...] = (float, bytes, dict, list)
    return next((kind(obj) for kind in kinds if isinstance(obj, kind)), None)


def _integer(number: int) -> int | msgpack.ExtType:
    if -(2**63) <= number < 2**64:
        return number  # an int of a subclass
    digits = str(number).encode()
    if len(digits) > _BIGINT_DIGITS:
        raise InvalidArgumentError(f"an encoded int has at most {_BIGINT_DIGITS} digits, got {len(digits)}")
    return msgpack.ExtType(_EXT_BIGINT, digits)


def _as_bytes(item: Any) -> bytes:
    if isinstance(item, bytes):
        return bytes(item)
    if isinstance(item, str):
        return item.encode()
    raise InvalidArgumentError(
        f"an object tensor is encoded if its elements are bytes or str, found {type(item).__name__}"
    )


def unpack(
    data: Buffer,
    segments: Sequence[Buffer] = (),
    *,
    max_containers: int = _MAX_CONTAINERS,
    max_nested_bytes: int = _MAX_NESTED_BYTES,
) -> Any:
    """Decode the result of ``pack``.

    Args:
        data: the encoded value; hostile input is expected and bounded.
        segments: the buffers that came with it; arrays are views of them.
        max_containers: the most lists and maps that a long message may hold.
        max_nested_bytes: the most bytes that are read of values inside each other.

    Raises:
        ProtocolError: for bytes of any other form.
    """
    if len(data) > _COUNT_ABOVE:
        error = ProtocolError(f"a message has at most {max_containers} lists and maps in it")
        reader = _Reader(segments, max_containers, error, max_nested_bytes)
    else:
        reader = _Reader(segments, max_nested_bytes=max_nested_bytes)
    try:
        return reader.read(data)
    except ProtocolError:
        raise
    except _BAD_BYTES as exc:
        raise _not_decoded(exc) from exc


def _not_decoded(exc: Exception) -> ProtocolError:
    return ProtocolError(f"cannot decode a message: {type(exc).__name__}: {exc}")


def pack_file(value: Any) -> bytes:
    """Encode a value for a file, with a checksum; the errors are those of ``pack``."""
    content = pack(value)
    return b"%b%b%b" % (_FILE, zlib.crc32(content).to_bytes(4, "little"), content)


def unpack_file(data: bytes) -> Any:
    """Decode the result of ``pack_file``, or of ``pack``, as earlier versions wrote it.

    Raises:
        ProtocolError: for bytes of any other form, or another checksum.
    """
    if not data.startswith(_FILE):  # what ``pack`` makes of a list or map begins otherwise
        return unpack(data)
    content = memoryview(data)[len(_FILE) + 4 :]
    if zlib.crc32(content) != int.from_bytes(data[len(_FILE) : len(_FILE) + 4], "little"):
        raise ProtocolError("the file is damaged: it does not have its checksum")
    return unpack(content)


def unpack_start(data: Buffer, count: int) -> list[Any]:
    """Decode the first items of a list of which only the beginning is there.

    Args:
        data: the first bytes of an encoded list, or all of it.
        count: how many items to return.

    Raises:
        ProtocolError: for bytes of any other form.
    """
    reader = msgpack.Unpacker()
    try:
        reader.feed(data)
        reader.read_array_header()
        return [reader.unpack() for _ in range(count)]
    except _BAD_BYTES as exc:
        raise ProtocolError(f"cannot decode the start of a message: {exc!r:.200}") from exc


class _Reader:
    """The decoder of one value.

    It does not consist of closures that refer to each other: such a cycle would keep arrays after their use.

    Args:
        segments: the buffers that came with it.
        most: lists and maps that it may hold; not counted without an error.
        error: raised if there are more.
        max_nested_bytes: the most bytes that are read of values inside each other.
    """

    __slots__ = ("_depth", "_error", "_left", "_max_nested", "_nested_bytes", "_segments")

    def __init__(
        self,
        segments: Sequence[Buffer],
        most: int = 0,
        error: OpError | None = None,
        max_nested_bytes: int = _MAX_NESTED_BYTES,
    ) -> None:
        self._segments = segments
        self._max_nested = max_nested_bytes
        self._depth = self._nested_bytes = 0
        self._left = most
        self._error = error

    def read(self, data: Buffer) -> Any:
        # timestamp=1: msgpack's own extension type becomes a plain float, not an object.
        hook, counting = self._extension, _UNCOUNTED if self._error is None else self._counting()
        return msgpack.unpackb(data, ext_hook=hook, strict_map_key=False, timestamp=1, **counting)

    def _counting(self) -> Mapping[str, Any]:
        """Return the arguments for msgpack with which too many lists and maps end the decoding."""
        most = min(_ITEMS * self._left + _ITEMS, _MAX_ITEMS)
        hook = self._count
        return {"list_hook": hook, "object_hook": hook, "max_array_len": most, "max_map_len": most}

    def _count(self, container: Any) -> Any:
        self._left -= 1 + len(container) // _ITEMS
        if self._left < 0:
            assert self._error is not None
            raise self._error
        return container

    def items(self, data: Buffer, check: Callable[[int], None]) -> Iterator[Any]:
        """Yield the items of a list; see ``opened``."""
        unpacker = msgpack.Unpacker(
            BytesIO(data),
            read_size=_READ,
            max_buffer_size=0,
            ext_hook=self._extension,
            strict_map_key=False,
            timestamp=1,
            **self._counting(),
        )
        count = unpacker.read_array_header()
        check(count)
        for _ in range(count):
            yield unpacker.unpack()
        if unpacker.tell() != len(data):
            raise ProtocolError(f"a packed list ends {len(data) - unpacker.tell()} bytes too early")

    def _extension(self, code: int, body: bytes) -> Any:
        if self._error is not None:
            self._count(())
        if code == _EXT_TENSOR:
            return _unpack_tensor(body, self._segments)
        if code == _EXT_DTYPE:
            return as_dtype(str(body, "ascii"))
        if code == _EXT_SHAPE:
            return _kept_shape(body) if len(body) <= _LONGEST_KEPT else _unpack_shape(body)
        if code == _EXT_STRINGS:
            return _unpack_strings(body)
        if code == _EXT_BIGINT and len(body) <= _BIGINT_DIGITS:
            return int(body)
        if code in _NESTED:
            return self._nested(_NESTED[code], body)
        if code == _EXT_OBJECTS:
            return _unpack_objects(self._inside("tensors", body))
        if code == _EXT_PACKED:
            return _unpack_packed(msgpack.unpackb(body), self._segments)
        raise ProtocolError(f"unknown extension type {code} in a message")

    def _nested(self, name: str, body: bytes) -> Any:
        nested = NESTED_CLASSES.find(name)
        if nested is None:
            raise ProtocolError(f"{name} are unknown here")
        return nested.read(self._inside(name, body))

    def _inside(self, name: str, body: bytes) -> Any:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ProtocolError(f"{name} are nested more than {_MAX_DEPTH} deep")
        self._nested_bytes += len(body)
        if self._nested_bytes > self._max_nested:
            raise ResourceExhaustedError(
                f"{name} inside each other, {self._depth} deep, take more than {self._max_nested} bytes to "
                "read: make them smaller, or nest fewer"
            )
        value = self.read(body)
        self._nested_bytes -= len(body)
        self._depth -= 1
        return value


_UNCOUNTED: Mapping[str, Any] = {}
_BAD_BYTES = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    OverflowError,
    RecursionError,
    EOFError,
    msgpack.UnpackException,
)


def _unpack_tensor(body: bytes, segments: Sequence[Buffer]) -> np.ndarray[Any, Any]:
    name, shape, content = msgpack.unpackb(body)
    dtype = as_dtype(name)
    if dtype.kind in "srv":
        raise ProtocolError(f"a {name} tensor is not encoded as raw bytes")
    is_inside = False
    if isinstance(content, int):
        if not 0 <= content < len(segments):
            raise ProtocolError(f"a message refers to its segment {content} and has {len(segments)}")
        content = segments[content]
    else:
        # So that the array is writable, as one from a segment is.
        content, is_inside = bytearray(content), True
    needed = dtype.itemsize * _count(shape)
    if len(content) != needed:
        raise ProtocolError(f"a {name} tensor of shape {shape} takes {needed} bytes, got {len(content)}")
    if is_inside:  # half the memory of a view
        return np.ndarray(tuple(shape), dtype.np_dtype, content)
    return np.frombuffer(content, np.uint8).view(dtype.np_dtype).reshape(shape)


def _unpack_strings(body: bytes) -> np.ndarray[Any, Any]:
    if len(body) <= _COUNT_ABOVE:
        shape, items = msgpack.unpackb(body)
    else:
        shape, items = _unpack_many(body)
    if not isinstance(items, list) or not all(type(item) is bytes for item in items):
        raise ProtocolError("the elements of a string tensor are a list of bytes")
    if len(items) != _count(shape):
        raise ProtocolError(f"a string tensor of shape {shape} does not have {len(items)} elements")
    array = np.empty(len(items), dtype=object)
    for first in range(0, len(items), _MAX_ITEMS):  # each with the interpreter lock
        array[first : first + _MAX_ITEMS] = items[first : first + _MAX_ITEMS]
    return array.reshape(shape)


def _unpack_many(body: bytes) -> tuple[Any, list[Any]]:
    """Do what unpacking a pair of a value and a long list does, in calls that let other threads go on."""
    unpacker = msgpack.Unpacker(BytesIO(body), read_size=_READ, max_buffer_size=0)
    if unpacker.read_array_header() != 2:
        raise ProtocolError("a string tensor is a shape and its elements")
    shape, count = unpacker.unpack(), unpacker.read_array_header()
    return shape, [unpacker.unpack() for _ in range(count)]


def _unpack_objects(value: Any) -> np.ndarray[Any, Any]:
    match value:
        case [list() as shape, list() as items] if len(items) == _count(shape):
            array = np.empty(len(items), dtype=object)
            for k, item in enumerate(items):
                array[k] = item
            return array.reshape(shape)
    raise ProtocolError("a tensor of tensors is a shape and its elements")


def _unpack_shape(body: bytes) -> TensorShape:
    dims = msgpack.unpackb(body)
    if isinstance(dims, list) and len(dims) > _MAX_RANK:
        raise ProtocolError(f"a static shape has at most {_MAX_RANK} dimensions, got {len(dims)}")
    return TensorShape(dims)


_kept_shape = lru_cache(_KEPT)(_unpack_shape)


def _unpack_packed(place: Any, segments: Sequence[Buffer]) -> Packed:
    match place:
        case [int() as first, int() as count] if first >= 0 and 0 <= count < len(segments) - first:
            return Packed(segments[first], segments[first + 1 : first + 1 + count])
    raise ProtocolError(f"a packed value has a place among the {len(segments)} segments, got {reprlib.repr(place)}")


def _count(shape: Any) -> int:
    """Return the number of elements of a received shape."""
    # The rank is checked first: a product of thousands of large numbers takes seconds.
    if not isinstance(shape, list) or len(shape) > _MAX_RANK:
        raise ProtocolError(f"a tensor's shape is a list of at most {_MAX_RANK} sizes, got {reprlib.repr(shape)}")
    for size in shape:
        if type(size) is not int or size < 0:
            raise ProtocolError(f"a tensor's shape holds sizes, got {reprlib.repr(shape)}")
    return math.prod(shape)
