"""The registry of messages: wire tags, their classes, and how their fields are read.

The module holds the decorator ``message`` and, per class, two generated functions: one writes the wire form
(a list of the tag and the field values in declared order) and the other reads and checks it. The vocabulary
modules call the decorator at import, and ``codec`` calls the functions for each message.

Invariants: a tag stands for one class for ever. Received data can only raise ``ProtocolError``. A message
that was read has exactly the declared types. The functions are generated because calls are frequent:
reading six fields takes 0.5 us, and took 3 us with a loop over one checker per field.
"""

from __future__ import annotations

import dataclasses
import linecache
import reprlib
import typing
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from actorsession.errors import InvalidArgumentError, ProtocolError
from actorsession.messages.checks import field_checks, wrong_field
from actorsession.records import is_frozen

__all__ = ["VOCABULARY", "Registry", "Spec", "message"]

T = TypeVar("T")


class Spec:
    """The description of one message class.

    Its functions are generated when the first message is written or read: most processes use a few of the
    classes, and generating all took a tenth of the time in which a process starts.

    Attributes:
        tag: the name of the class on the wire.
        cls: the message class.
        reply: tag of the message that answers it; ``None`` for one that can only be told.
        write: makes the wire form of an instance.
        read: makes an instance of a wire form, or raises ``ProtocolError``.
    """

    __slots__ = ("cls", "read", "reply", "tag", "write")

    def __init__(self, cls: type[Any], tag: str, reply: str | None) -> None:
        self.cls = cls
        self.tag = tag
        self.reply = reply
        self.write: Callable[[Any], list[Any]] = self._write_first
        self.read: Callable[[list[Any]], Any] = self._read_first

    def _write_first(self, value: Any) -> list[Any]:
        self.generate()
        return self.write(value)

    def _read_first(self, wire: list[Any]) -> Any:
        self.generate()
        return self.read(wire)

    @property
    def hints(self) -> Mapping[str, Any]:
        """Field name to annotation, in declared order."""
        declared = typing.get_type_hints(self.cls)
        return {field.name: declared[field.name] for field in dataclasses.fields(self.cls)}

    def generate(self) -> None:
        """Generate ``write`` and ``read`` from the annotations of the fields.

        Raises:
            TypeError: a field's annotation is not allowed in a message.
        """
        hints = self.hints
        namespace: dict[str, Any] = {
            "TENSOR": (np.ndarray, np.generic),
            "wrong": partial(wrong_field, self.tag),
            "miscounted": partial(_miscounted, self.tag, tuple(hints)),
            "new": partial(object.__new__, self.cls),
            # The setters of the slots: the class is frozen, and its __init__ would take 0.7 us where these
            # take 0.3 us.
            **{f"set_{name}": getattr(self.cls, name).__set__ for name in hints},
        }
        name = f"<message {self.cls.__module__}.{self.cls.__qualname__}>"
        _define(_source(self.tag, hints), name, namespace)
        self.write, self.read = namespace["write"], namespace["read"]


class Registry:
    """A registry of message classes by wire tag."""

    def __init__(self) -> None:
        self._by_tag: dict[str, Spec] = {}
        self._by_class: dict[type[Any], Spec] = {}

    @property
    def specs(self) -> Mapping[str, Spec]:
        """Every registered message by tag, as a read-only view."""
        return MappingProxyType(self._by_tag)

    def message(self, tag: str, *, reply: str | None = None) -> Callable[[type[T]], type[T]]:
        """Return a decorator that registers a message class.

        Args:
            tag: the class's name on the wire.
            reply: tag of the message that answers an ask; it may be registered later. Without it the
                message can be told but not asked.

        Raises:
            ValueError: the tag is taken (raised when the class is decorated, at import).
            TypeError: the class is not a frozen keyword-only dataclass.
        """

        def register(cls: type[T]) -> type[T]:
            if tag in self._by_tag:
                taken = self._by_tag[tag].cls.__qualname__
                raise ValueError(f"message tag {tag!r} of {cls.__qualname__} is already registered by {taken}")
            _check_class(cls)
            self._by_tag[tag] = self._by_class[cls] = Spec(cls, tag, reply)
            return cls

        return register

    def spec_of(self, message_class: type[Any]) -> Spec:
        """Return the description of a message class.

        Raises:
            InvalidArgumentError: the class is not registered.
        """
        spec = self._by_class.get(message_class)
        if spec is None:
            name = message_class.__qualname__
            raise InvalidArgumentError(f"{name} is not a message; decorate it with @message(tag)")
        return spec

    def reply_of(self, message_class: type[Any]) -> type[Any] | None:
        """Return the class that answers a message, or ``None`` for one that can only be told.

        Raises:
            InvalidArgumentError: the class, or the tag of its reply, is not registered.
        """
        spec = self.spec_of(message_class)
        if spec.reply is None:
            return None
        reply = self._by_tag.get(spec.reply)
        if reply is None:
            raise InvalidArgumentError(f"message {spec.tag!r} names reply {spec.reply!r}, which is not registered")
        return reply.cls

    def to_wire(self, value: object) -> list[Any]:
        """Return the wire form of a message, its tag and its fields, without copying.

        Raises:
            InvalidArgumentError: the class of the message is not registered.
        """
        return self.spec_of(type(value)).write(value)

    def from_wire(self, wire: object) -> Any:
        """Return the message of a wire form, taking ownership of lists and dicts inside.

        Raises:
            ProtocolError: the value has another form: not a list, an unknown tag, a wrong number of fields,
                or a field of the wrong type.
        """
        if type(wire) is not list or not wire:
            raise ProtocolError(f"a message must be a list of a tag and its fields, found {reprlib.repr(wire)}")
        try:
            spec = self._by_tag[wire[0]]
        except (KeyError, TypeError):
            known = ", ".join(sorted(self._by_tag))
            raise ProtocolError(f"unknown message tag {reprlib.repr(wire[0])}; known tags are {known}") from None
        return spec.read(wire)


def _check_class(cls: type[Any]) -> None:
    if not is_frozen(cls) or "__slots__" not in vars(cls):
        kind = "@dataclass(frozen=True, slots=True, kw_only=True)"
        raise TypeError(f"message {cls.__qualname__} must be a {kind}")
    if hasattr(cls, "__post_init__"):
        raise TypeError(f"message {cls.__qualname__} has a __post_init__, which the decoder would skip")


def _source(tag: str, hints: Mapping[str, Any]) -> str:
    count = len(hints) + 1
    body = [f"if len(wire) != {count}:", "    raise miscounted(wire)"]
    if hints:
        # The prefix prevents a field called `type` or `wire` from shadowing the names that the checks use.
        body.append(f"_, {', '.join(f'f_{name}' for name in hints)} = wire")
    for name, hint in hints.items():
        body += field_checks(name, hint)
    body += ["made = new()", *(f"set_{name}(made, f_{name})" for name in hints), "return made"]
    values = "".join(f", made.{name}" for name in hints)
    lines = ["def read(wire):", *(f"    {line}" for line in body)]
    lines += ["def write(made):", f"    return [{tag!r}{values}]", ""]
    return "\n".join(lines)


def _define(source: str, filename: str, namespace: dict[str, Any]) -> None:
    # linecache lets a traceback show the generated line.
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), namespace)


def _miscounted(tag: str, names: tuple[str, ...], wire: list[Any]) -> ProtocolError:
    expected = f"{len(names)} fields ({', '.join(names)})" if names else "no fields"
    return ProtocolError(f"message {tag!r} has {expected}, found {len(wire) - 1}")


VOCABULARY = Registry()
"""The messages of the runtime; tests that need others make a registry of their own."""

message = VOCABULARY.message
