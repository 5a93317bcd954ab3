"""Settings that can be changed after construction, like TensorFlow's protobuf messages.

This library's own settings are immutable, but TensorFlow programs write
``config.gpu_options.allow_growth = True``. A ``Message`` allows that, and is converted to the library's
settings when a session is created with it.

As in protobuf, reading a field that holds a message creates an empty one, which does not count as set until
something is set in it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, ClassVar

from actorsession import config as settings
from actorsession.compat.v1.logging import get_logger
from actorsession.interop.cluster_protos import ClusterDef
from actorsession.interop.message import Message as ProtoMessage

__all__ = [
    "ConfigProto", "GPUOptions", "GraphOptions", "Message", "OptimizerOptions", "as_settings",
    "field_names", "unknown_field",
]  # fmt: skip

_log = get_logger()


def field_names(kind: Any) -> list[str]:
    """Return the names of the fields of a class of settings."""
    return [f.name for f in fields(kind)]


def unknown_field(message: str, name: str, known: Iterable[str]) -> str:
    """Return the text of the error for a field that a message does not have."""
    return f'Protocol message {message} has no "{name}" field; it has {", ".join(known)}'


class Message:
    """Mutable settings; each unset field has its default.

    A field that does not exist is an ``AttributeError`` where it is read or set, as in protobuf.

    Raises:
        ValueError: for an argument that is no field.
    """

    _made_of: ClassVar[Any]
    _messages: ClassVar[Mapping[str, type[Message | ProtoMessage]]] = {}
    _lists: ClassVar[Mapping[str, type[Message]]] = {}

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(_values={}, _present=False)
        for name, value in values.items():
            self._check(name, ValueError)
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self._check(name, AttributeError)
        values: dict[str, Any] = self.__dict__["_values"]
        if name in values:
            return values[name]
        made = self._empty(name)
        if name in self._messages or isinstance(made, (list, dict)):
            values[name] = made  # the caller may change it
        return made

    def _empty(self, name: str) -> Any:
        """Return the value of a field that is not set."""
        if name in self._lists:
            return Repeated(self._lists[name])
        if name in self._messages:
            return self._messages[name]()
        value = getattr(self._made_of(), name)
        if isinstance(value, Mapping):
            return dict(value)
        return list(value) if isinstance(value, tuple) else value

    def __setattr__(self, name: str, value: Any) -> None:
        self._check(name, AttributeError)
        if name in self._lists:
            value = Repeated(self._lists[name], value)
        self.__dict__["_values"][name] = list(value) if isinstance(value, tuple) else value

    def _check(self, name: str, error: type[Exception]) -> None:
        known = field_names(self._made_of)
        if name not in known:
            raise error(unknown_field(type(self).__name__, name, known))

    def _set(self) -> dict[str, Any]:
        """Return the fields that are set."""
        values: dict[str, Any] = self.__dict__["_values"]
        return {name: value for name, value in values.items() if _is_set(value)}

    def SetInParent(self) -> None:
        """Make the message count as set although nothing is set in it."""
        self.__dict__["_present"] = True

    def CopyFrom(self, other: Message) -> None:
        """Replace the contents with a copy of those of another message of the same class.

        Raises:
            TypeError: for a message of another class.
        """
        if other is self:
            return
        self._check_same(other)
        self.__dict__["_values"] = {}
        self.MergeFrom(other)
        self.SetInParent()

    def MergeFrom(self, other: Message) -> None:
        """Merge in another message of the same class: lists are appended, maps and messages merged.

        Raises:
            TypeError: for a message of another class.
        """
        self._check_same(other)
        for name, value in other._set().items():
            mine: Any = getattr(self, name, None)
            if type(mine) is not type(value):
                setattr(self, name, value)
            elif isinstance(value, (Message, ProtoMessage)):
                mine.MergeFrom(value)
                mine.SetInParent()
            elif isinstance(value, list):
                mine.extend(copy.deepcopy(value))
            elif isinstance(value, dict):
                mine.update(value)
            else:
                setattr(self, name, copy.deepcopy(value))

    def _check_same(self, other: object) -> None:
        if type(other) is not type(self):
            raise TypeError(f"expected a {type(self).__name__}, got {type(other).__name__}")

    def ClearField(self, name: str) -> None:
        """Reset a field to its default.

        Raises:
            ValueError: for a field that does not exist.
        """
        self._check(name, ValueError)
        self.__dict__["_values"].pop(name, None)

    def HasField(self, name: str) -> bool:
        """Return whether a field is set.

        Raises:
            ValueError: for a field that does not exist.
        """
        self._check(name, ValueError)
        return name in self._set()

    def frozen(self) -> Any:
        """Return the library's settings with the same contents."""
        return self._made_of(**{name: as_settings(value) for name, value in self._set().items()})

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.frozen() == self.frozen()

    __hash__ = None  # type: ignore[assignment]  # a mutable object is no key

    def __repr__(self) -> str:
        said = ", ".join(f"{k}={v!r}" for k, v in self._set().items())
        return f"{type(self).__name__}({said})"


def _is_set(value: Any) -> bool:
    """Return whether a value that a message holds was set, or only created for a reader."""
    if isinstance(value, Message):
        return value.__dict__["_present"] or bool(value._set())
    if isinstance(value, ProtoMessage):
        return value._present or bool(value.ListFields())
    return bool(value) if isinstance(value, (list, dict)) else True


class Repeated(list[Any]):
    """A list of messages that can create its elements.

    Args:
        kind: the class of the messages.
        messages: the initial elements.
    """

    def __init__(self, kind: type[Message], messages: Iterable[Any] = ()) -> None:
        super().__init__(messages)
        self._kind = kind

    def add(self, **values: Any) -> Any:
        """Append a new message and return it."""
        made = self._kind(**values)
        self.append(made)
        return made


def as_settings(value: Any) -> Any:
    """Return a message of settings as the library's own, and a list of such messages as a list of those.

    Any other value is returned as it is.
    """
    if isinstance(value, Repeated):
        return [as_settings(item) for item in value]
    return value.frozen() if isinstance(value, Message) else value


class GPUOptions(Message):
    """Settings of GPUs, which are accepted without effect because there are no GPUs here.

    Args:
        values: any fields of TensorFlow's message.
    """

    def _check(self, name: str, error: type[Exception]) -> None:
        """Accept any field."""

    def _empty(self, name: str) -> Any:
        raise AttributeError(f"GPUOptions: {name!r} is not set, and has no default here")

    def frozen(self) -> None:
        """Return no settings, and log those that have no effect."""
        if self._set():
            _log.info("there are no GPUs here, so gpu_options %s have no effect", self._set())


class OptimizerOptions(Message):
    """Settings of graph optimisation; the fields are those of ``actorsession.OptimizerOptions``."""

    _made_of = settings.OptimizerOptions
    L0, L1 = settings.OptLevel.L0, settings.OptLevel.L1
    OFF, ON_1, ON_2 = settings.JitLevel.OFF, settings.JitLevel.ON_1, settings.JitLevel.ON_2


class GraphOptions(Message):
    """Settings of planning; the fields are those of ``actorsession.GraphOptions``."""

    _made_of = settings.GraphOptions
    _messages: ClassVar[Mapping[str, type[Message | ProtoMessage]]] = {
        "optimizer_options": OptimizerOptions
    }


class ThreadPoolOptionProto(Message):
    """A thread pool; the fields are those of ``actorsession.config.ThreadPoolOptionProto``."""

    _made_of = settings.ThreadPoolOptionProto


class RPCOptions(Message):
    """Settings of the connection to a master; the fields are those of ``actorsession.config.RPCOptions``."""

    _made_of = settings.RPCOptions


class SessionMetadata(Message):
    """Name and version of a session; the fields are those of ``actorsession.config.SessionMetadata``."""

    _made_of = settings.SessionMetadata


class _Experimental(Message):
    """Settings that TensorFlow calls experimental; the fields are those of ``actorsession``'s."""

    _made_of = settings.Experimental
    _messages: ClassVar[Mapping[str, type[Message | ProtoMessage]]] = {
        "session_metadata": SessionMetadata
    }


class ConfigProto(Message):
    """Settings of a session; the fields are those of ``actorsession.ConfigProto``."""

    Experimental = _Experimental

    _made_of = settings.ConfigProto
    _messages: ClassVar[Mapping[str, type[Message | ProtoMessage]]] = {
        "gpu_options": GPUOptions, "graph_options": GraphOptions, "rpc_options": RPCOptions,
        "experimental": _Experimental, "cluster_def": ClusterDef,
    }  # fmt: skip
    _lists: ClassVar[Mapping[str, type[Message]]] = {
        "session_inter_op_thread_pool": ThreadPoolOptionProto
    }
