"""Conversion of attribute values between messages and the form in which operations hold them.

Operations hold an attribute as a bool, int, float, string, ``DType``, ``TensorShape``, array, or a tuple of
them. TensorFlow's strings are bytes; here they are text where they are valid UTF-8. The functions of datasets
are plain data of this library, which stands as an attribute in a function's reference.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, ProtocolError
from actorsession.graph import codec
from actorsession.graph.dtypes import DType
from actorsession.graph.function import FunctionDef
from actorsession.graph.shape import TensorShape
from actorsession.interop.enums import dtype_number, dtype_of
from actorsession.interop.message import Budget
from actorsession.interop.protos import AttrValue, NameAttrList
from actorsession.interop.tensors import make_ndarray, make_tensor_proto, shape_of, shape_proto

__all__ = ["FunctionName", "attr_of", "attr_proto", "is_of_kind", "same"]

# The attribute of a reference to a function that holds the function itself.
_BODY = "_actorsession_body"


def _reference(function: FunctionDef) -> NameAttrList:
    """Return a function as a reference that has it within."""
    reference = NameAttrList(name="function")
    reference.attr[_BODY].s = codec.pack(function)
    return reference


# The field of the message and the converter to its value, by TensorFlow's name of the attribute type.
_WRITE: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "string": ("s", lambda v: v.encode() if isinstance(v, str) else v),
    "int": ("i", int),
    "float": ("f", float),
    "bool": ("b", bool),
    "type": ("type", dtype_number),
    "shape": ("shape", lambda v: shape_proto(TensorShape(v))),
    "tensor": ("tensor", make_tensor_proto),
    "func": ("func", lambda v: NameAttrList(name=v) if isinstance(v, str) else _reference(v)),
}


class FunctionName(str):
    """The name of a function in the library of the graph."""

    __slots__ = ()


def attr_proto(value: Any, kind: str | None = None) -> AttrValue:
    """Return an attribute as a message.

    Args:
        value: the value that the operation holds.
        kind: TensorFlow's name of the attribute's type, such as ``list(int)``; derived from the value if
            omitted.

    Raises:
        TypeError: for a value that no message can hold.
    """
    if isinstance(value, FunctionName):
        message = AttrValue()
        message.func.name = value
        return message
    kind = _kind_of(value) if kind is None else kind
    inner = kind[5:-1] if kind.startswith("list(") else kind
    if inner not in _WRITE:
        raise TypeError(f"an attribute of type {kind} cannot be exported: {value!r:.100}")
    name, write = _WRITE[inner]
    proto = AttrValue()
    if isinstance(value, FunctionDef):
        proto.func.CopyFrom(write(value))
        return proto
    if inner == kind:
        proto._fill(**{name: write(value)})
        return proto
    getattr(proto.list, name).extend([write(item) for item in value])
    proto.list.SetInParent()
    return proto


def _kind_of(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        kinds = {_kind_of(item) for item in value} or {"int"}
        if len(kinds) != 1:
            raise TypeError(f"all values of a list attribute must have the same type, got {value!r:.100}")
        return f"list({kinds.pop()})"
    kinds_of: tuple[tuple[str, Any], ...] = (
        ("bool", (bool, np.bool_)),
        ("int", (int, np.integer)),
        ("float", (float, np.floating)),
        ("string", (str, bytes)),
        ("type", DType),
        ("shape", TensorShape),
        ("tensor", np.ndarray),
        ("func", FunctionDef),
    )
    for kind, types in kinds_of:
        if isinstance(value, types):
            return kind
    raise TypeError(f"an attribute that is a {type(value).__name__} cannot be exported")


_KINDS = {
    "s": "string",
    "i": "int",
    "f": "float",
    "b": "bool",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}


def same(proto: AttrValue) -> AttrValue:
    """Return an attribute that is equal to one and must not be changed.

    All that have the same few bytes and that nobody has looked at are one message; graphs have many such.
    """
    return _seen(proto._unread) if proto._unread else proto


@functools.lru_cache(1 << 12)
def _seen(content: bytes) -> AttrValue:
    proto = AttrValue()
    proto._read(content, 0, len(content), 0, Budget())
    return proto


def is_of_kind(proto: AttrValue, kind: str) -> bool:
    """Return whether an attribute has a value of the given TensorFlow attribute type.

    An empty list is a value of every list type.
    """
    if proto._unread:
        return _is_of_kind(proto._unread, kind)
    field_name = proto.WhichOneof("value")
    if field_name != "list":
        return field_name is not None and _KINDS.get(field_name) == kind
    inner = [f"list({_KINDS[field.name]})" for field, _ in proto.list.ListFields()]
    return kind.startswith("list(") and inner in ([], [kind])


@functools.lru_cache(1 << 12)
def _is_of_kind(content: bytes, kind: str) -> bool:
    return is_of_kind(_seen(content), kind)


def attr_of(proto: AttrValue) -> Any:
    """Return the value of an attribute as operations hold it.

    Raises:
        ValueError: for an empty message, a placeholder, or a type that does not exist here.
    """
    if proto._unread:
        shared = _shared(proto._unread)
        return _value(_seen(proto._unread)) if shared is _NOT_SHARED else shared
    return _value(proto)


_NOT_SHARED = object()


@functools.lru_cache(1 << 12)
def _shared(content: bytes) -> Any:
    """Return the value of an attribute if it cannot be changed."""
    value = _value(_seen(content))
    each = value if isinstance(value, tuple) else (value,)
    return value if all(isinstance(item, _CONSTANT) for item in each) else _NOT_SHARED


_CONSTANT = (bool, int, float, str, bytes, DType, TensorShape)


def _value(proto: AttrValue) -> Any:
    kind = proto.WhichOneof("value")
    if kind is None:
        raise ValueError("the attribute has no value")
    if kind == "list":
        for field, values in proto.list.ListFields():
            return tuple([_read(field.name, value) for value in values])
        return ()
    return _read(kind, getattr(proto, kind))


def _read(kind: str, value: Any) -> Any:
    if kind in ("i", "f", "b"):
        return value
    if kind == "s":
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value
    if kind == "type":
        return dtype_of(value)
    try:
        if kind == "shape":
            return shape_of(value)
        if kind == "tensor":
            return make_ndarray(value)
    except (InvalidArgumentError, TypeError) as exc:
        raise ValueError(f"{exc}") from exc
    if kind == "func":
        return _body_of(value) if _BODY in value.attr else FunctionName(value.name)
    raise ValueError(f"an attribute that is a {kind} is not supported here")


def _body_of(reference: NameAttrList) -> FunctionDef:
    try:
        body = codec.unpack(reference.attr[_BODY].s)
    except ProtocolError as exc:
        raise ValueError(f"the function {reference.name!r} cannot be read: {exc.message}") from exc
    if not isinstance(body, FunctionDef):
        raise ValueError(f"the function {reference.name!r} is no function")
    return body
