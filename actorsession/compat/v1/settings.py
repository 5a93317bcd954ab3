"""Settings that can be changed after construction, like TensorFlow's protobuf messages.

This library's own settings are immutable, but TensorFlow programs write
``config.gpu_options.allow_growth = True``. A ``Message`` allows that, and is converted to the library's
settings when a session is created with it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, ClassVar

from actorsession import config as settings

__all__ = [
    "ConfigProto", "GPUOptions", "GraphOptions", "Message", "OptimizerOptions", "as_settings",
]  # fmt: skip

_log = logging.getLogger("actorsession.compat")


class Message:
    """Mutable settings; each unset field has its default.

    Raises:
        ValueError: for a field that does not exist.
    """

    _made_of: ClassVar[Any]
    _messages: ClassVar[Mapping[str, type[Message]]] = {}
    _lists: ClassVar[Mapping[str, type[Message]]] = {}

    def __init__(self, **values: Any) -> None:
        object.__setattr__(self, "_values", {})
        for name, value in values.items():
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        values: dict[str, Any] = self.__dict__["_values"]
        self._check(name)
        if name not in values:
            if name in self._lists:
                values[name] = Repeated(self._lists[name])
            else:
                kind = self._messages.get(name)
                values[name] = kind() if kind is not None else _default(self._made_of, name)
        return values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._check(name)
        if name in self._lists:
            value = Repeated(self._lists[name], value)
        self.__dict__["_values"][name] = value

    def _check(self, name: str) -> None:
        known = [f.name for f in fields(self._made_of)]
        if name not in known:
            raise ValueError(
                f'Protocol message {type(self).__name__} has no "{name}" field; it has '
                f"{', '.join(known)}"
            )

    def CopyFrom(self, other: Message) -> None:
        """Replace the contents with those of another message of the same class."""
        self.__dict__["_values"] = {}
        self.MergeFrom(other)

    def MergeFrom(self, other: Message) -> None:
        """Merge in another message of the same class: lists are appended, maps and messages merged."""
        for name, value in other.__dict__["_values"].items():
            if isinstance(value, Message):
                getattr(self, name).MergeFrom(value)
            elif isinstance(value, list):
                getattr(self, name).extend(value)
            elif isinstance(value, dict):
                getattr(self, name).update(value)
            else:
                setattr(self, name, value)

    def ClearField(self, name: str) -> None:
        """Reset a field to its default."""
        self._check(name)
        self.__dict__["_values"].pop(name, None)

    def HasField(self, name: str) -> bool:
        """Return whether a field is set."""
        self._check(name)
        return name in self.__dict__["_values"]

    def frozen(self) -> Any:
        """Return the library's settings with the same contents."""
        values = self.__dict__["_values"].items()
        return self._made_of(**{name: as_settings(value) for name, value in values})

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.frozen() == self.frozen()

    __hash__ = None  # type: ignore[assignment]  # a mutable object is no key

    def __repr__(self) -> str:
        said = ", ".join(f"{k}={v!r}" for k, v in self.__dict__["_values"].items())
        return f"{type(self).__name__}({said})"


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


def _default(kind: Any, name: str) -> Any:
    value = getattr(kind(), name)
    # A copy of a list or map, because the caller may change it.
    return (
        dict(value)
        if isinstance(value, Mapping)
        else list(value)
        if isinstance(value, tuple)
        else value
    )


def as_settings(value: Any) -> Any:
    """Return a message as the library's settings, and a list of messages as a list of those.

    Any other value is returned as it is.
    """
    if isinstance(value, Repeated):
        return [as_settings(item) for item in value]
    return value.frozen() if isinstance(value, Message) else value


class GPUOptions:
    """Settings of GPUs, which are accepted without effect because there are no GPUs here.

    Args:
        values: any fields of TensorFlow's message.
    """

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class OptimizerOptions(Message):
    """Settings of graph optimisation; the fields are those of ``actorsession.OptimizerOptions``."""

    _made_of = settings.OptimizerOptions
    L0, L1 = settings.OptLevel.L0, settings.OptLevel.L1
    OFF, ON_1, ON_2 = settings.JitLevel.OFF, settings.JitLevel.ON_1, settings.JitLevel.ON_2


class GraphOptions(Message):
    """Settings of planning; the fields are those of ``actorsession.GraphOptions``."""

    _made_of = settings.GraphOptions
    _messages: ClassVar[Mapping[str, type[Message]]] = {"optimizer_options": OptimizerOptions}


class ThreadPoolOptionProto(Message):
    """A thread pool; the fields are those of ``actorsession.config.ThreadPoolOptionProto``."""

    _made_of = settings.ThreadPoolOptionProto


class ConfigProto(Message):
    """Settings of a session; the fields are those of ``actorsession.ConfigProto``."""

    _made_of = settings.ConfigProto
    _messages: ClassVar[Mapping[str, type[Message]]] = {"graph_options": GraphOptions}
    _lists: ClassVar[Mapping[str, type[Message]]] = {
        "session_inter_op_thread_pool": ThreadPoolOptionProto
    }

    def __getattr__(self, name: str) -> Any:
        if name == "gpu_options":
            values = self.__dict__["_values"]
            return values.setdefault(name, GPUOptions())
        return super().__getattr__(name)

    def frozen(self) -> settings.ConfigProto:
        """Return the library's settings with the same contents, without GPUs."""
        values = dict(self.__dict__["_values"])
        gpus = values.pop("gpu_options", None)
        if gpus is not None and vars(gpus):
            _log.info("there are no GPUs here, so gpu_options %s have no effect", vars(gpus))
        made: settings.ConfigProto = self._made_of(
            **{name: as_settings(value) for name, value in values.items()}
        )
        return made
