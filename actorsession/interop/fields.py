"""Fields of protobuf messages, and the lists and maps that hold their values.

A ``Field`` is one parsed line of a message's schema. ``Repeated``, ``ScalarMap`` and ``MessageMap`` are
subclasses of ``list`` and ``dict`` that check new values and copy messages, as protobuf does. ``message``
uses this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from actorsession.interop.enums import ENUMS
from actorsession.protobuf.scalars import Scalar, scalar
from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.interop.message import Message

__all__ = [
    "MESSAGES", "Field", "MessageMap", "Repeated", "ScalarMap", "checked_message", "empty_value",
    "filled_map", "parse_schema",
]  # fmt: skip

# Every message class by its name in schemas; ``Message`` registers each subclass.
MESSAGES: dict[str, type[Message]] = {}


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message.

    Attributes:
        number: its number on the wire.
        name: its name.
        kind: name of a scalar, enumeration or message type; for maps, that of the values.
        repeated: whether it holds a list.
        key: name of the scalar type of a map's keys; empty for all other fields.
        oneof: name of the group of which at most one field is set; empty for most fields.
        scalar: the scalar type; ``None`` for messages.
    """

    number: int
    name: str
    kind: str
    repeated: bool = False
    key: str = ""
    oneof: str = ""
    scalar: Scalar | None = None

    @property
    def message(self) -> type[Message]:
        """The class of the values, if they are messages."""
        return MESSAGES[self.kind]

    @property
    def packed(self) -> bool:
        """Whether a list of values is written in packed form."""
        return self.repeated and self.scalar is not None and self.scalar.from_word is not None


def parse_schema(schema: str) -> dict[str, Field]:
    """Return the fields that a schema describes, by name and in the order of their numbers."""
    found = {}
    for line in schema.split("\n"):
        if not line.strip():
            continue
        number, name, rest = line.split(None, 2)
        kind, _, oneof = rest.rpartition(" in ") if " in " in rest else (rest, "", "")
        key = ""
        if kind.startswith("map<"):
            key, kind = kind[4:-1].split(", ")
        repeated = kind.endswith("*")
        kind = kind.rstrip("*")
        of = scalar("enum" if kind in ENUMS else kind)
        found[name] = Field(int(number), name, kind, repeated, key, oneof, of)
    return dict(sorted(found.items(), key=lambda item: item[1].number))


class Repeated(list[Any]):
    """The values of a repeated field: a list that checks new elements."""

    __slots__ = ("_field",)

    def __init__(self, field: Field, values: Iterable[Any] = ()) -> None:
        self._field = field
        super().__init__([self._checked(v) for v in values])

    def _checked(self, value: Any) -> Any:
        kind = self._field.scalar
        if kind is not None:
            return kind.check(value)
        return checked_message(self._field, value)

    def add(self, **values: Any) -> Any:
        """Append a new message and return it."""
        made = self._field.message(**values)
        super().append(made)
        return made

    def append(self, value: Any) -> None:
        """Append a value; a message is copied."""
        super().append(_copied(self._field, self._checked(value)))

    def extend(self, values: Iterable[Any]) -> None:
        """Append values; messages are copied."""
        super().extend([_copied(self._field, self._checked(v)) for v in values])

    def MergeFrom(self, other: Iterable[Any]) -> None:
        """Append copies of all values of another list."""
        self.extend(other)

    def insert(self, index: Any, value: Any) -> None:
        """Insert a value; a message is copied."""
        super().insert(index, _copied(self._field, self._checked(value)))

    def __iadd__(self, values: Iterable[Any]) -> Self:  # type: ignore[misc]
        self.extend(values)
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(index, slice):
            super().__setitem__(index, [_copied(self._field, self._checked(v)) for v in value])
        else:
            super().__setitem__(index, _copied(self._field, self._checked(value)))


class ScalarMap(dict[Any, Any]):
    """A map with scalar values."""

    __slots__ = ("_field",)

    def __init__(self, field: Field, values: Mapping[Any, Any] | None = None) -> None:
        self._field = field
        super().__init__()
        self.update(values or {})

    def __setitem__(self, key: Any, value: Any) -> None:
        assert self._field.scalar is not None
        super().__setitem__(_key(self._field, key), self._field.scalar.check(value))

    def update(self, other: Any = (), /, **more: Any) -> None:
        """Set many entries."""
        for key, value in dict(other, **more).items():
            self[key] = value


class MessageMap(dict[Any, Any]):
    """A map with messages as values; a lookup of a missing key adds an empty message."""

    __slots__ = ("_field",)

    def __init__(self, field: Field, values: Mapping[Any, Any] | None = None) -> None:
        self._field = field
        super().__init__()
        self.update(values or {})

    def __missing__(self, key: Any) -> Any:
        made = self._field.message()
        super().__setitem__(_key(self._field, key), made)
        return made

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(
            _key(self._field, key), _copied(self._field, checked_message(self._field, value))
        )

    def update(self, other: Any = (), /, **more: Any) -> None:
        """Set many entries to copies of messages."""
        for key, value in dict(other, **more).items():
            self[key] = value


def _key(field: Field, key: Any) -> Any:
    kind = scalar(field.key)
    assert kind is not None
    return kind.check(key)


def checked_message(field: Field, value: Any) -> Message:
    """Return the value, which must be a message of the field's class.

    Raises:
        TypeError: for any other value.
    """
    if type(value) is not field.message:
        raise TypeError(
            f"field {field.name!r} must contain {field.kind}, got {type(value).__name__}"
        )
    made: Message = value
    return made


def _copied(field: Field, value: Any) -> Any:
    return value.copy() if field.scalar is None else value


def filled_map(field: Field, values: Any) -> ScalarMap | MessageMap:
    """Return a map with copies of the entries of another map."""
    return MessageMap(field, values) if field.scalar is None else ScalarMap(field, values)


def empty_value(field: Field) -> Any:
    """Return the initial value of a field that is a list, map or message."""
    if field.key:
        return filled_map(field, None)
    return Repeated(field) if field.repeated else field.message()
