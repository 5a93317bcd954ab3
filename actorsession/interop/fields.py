"""Fields of protobuf messages, and the lists and maps that hold their values.

A ``Field`` is one parsed line of a message's schema. ``Repeated``, ``ScalarMap`` and ``MessageMap`` are
subclasses of ``list`` and ``dict`` that check new values and copy messages, as protobuf does. ``message``
uses this module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from actorsession.interop.enums import ENUMS
from actorsession.protobuf.scalars import Scalar, scalar
from actorsession.protobuf.wire import BYTES
from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.interop.message import Message

__all__ = [
    "MESSAGES",
    "Field",
    "MessageMap",
    "Repeated",
    "ScalarMap",
    "empty_value",
    "filled_map",
    "given_value",
    "key_scalar",
    "parse_schema",
]

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
        wire_type: how one value is written.
    """

    number: int
    name: str
    kind: str
    repeated: bool = False
    key: str = ""
    oneof: str = ""
    scalar: Scalar | None = None
    # What every reader of bytes asks of each field.
    wire_type: int = BYTES

    @property
    def message(self) -> type[Message]:
        """The class of the values, if they are messages."""
        message_type = MESSAGES.get(self.kind)
        if message_type is None:
            from actorsession.interop.tabled import message_class

            message_type = message_class(self.kind)
        return message_type

    # The names that programs read of protobuf's descriptors of fields.

    TYPE_MESSAGE: ClassVar[int] = 11
    TYPE_ENUM: ClassVar[int] = 14
    LABEL_OPTIONAL: ClassVar[int] = 1
    LABEL_REPEATED: ClassVar[int] = 3

    @property
    def type(self) -> int:
        """Protobuf's number of the type."""
        if self.key or self.scalar is None:
            return self.TYPE_MESSAGE
        return _TYPE_NUMBERS[self.scalar.name]

    @property
    def label(self) -> int:
        """Protobuf's number for a single value, or for several."""
        return self.LABEL_REPEATED if self.is_repeated else self.LABEL_OPTIONAL

    @property
    def is_repeated(self) -> bool:
        """Whether the field holds a list or a map."""
        return self.repeated or bool(self.key)

    @property
    def message_type(self) -> Any:
        """The descriptor of the class of the values, if they are messages."""
        return self.message.DESCRIPTOR if self.scalar is None and not self.key else None

    @property
    def packed(self) -> bool:
        """Whether a list of values is written in packed form."""
        return self.repeated and self.scalar is not None and self.scalar.from_word is not None

    @property
    def is_message(self) -> bool:
        """Whether the field holds a single message."""
        return self.scalar is None and not self.repeated and not self.key


_TYPE_NUMBERS = {
    "double": 1,
    "float": 2,
    "int64": 3,
    "uint64": 4,
    "int32": 5,
    "fixed64": 6,
    "fixed32": 7,
    "bool": 8,
    "string": 9,
    "bytes": 12,
    "uint32": 13,
    "enum": 14,
    "sint64": 18,
}


def parse_schema(schema: str) -> dict[str, Field]:
    """Return the fields that a schema describes, by name and in the order of their numbers."""
    fields = {}
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
        of = _enumeration(kind) if kind in ENUMS else scalar(kind)
        written = BYTES if of is None or key else of.wire_type
        fields[name] = Field(int(number), name, kind, repeated, key, oneof, of, written)
    return dict(sorted(fields.items(), key=lambda item: item[1].number))


def key_scalar(field: Field) -> Scalar:
    """Return the scalar type of a map's keys."""
    kind = scalar(field.key)
    assert kind is not None
    return kind


@functools.cache
def _enumeration(kind: str) -> Scalar:
    """Return the scalar type of an enumeration, whose values may be given by name."""
    numbers, plain = ENUMS[kind], scalar("enum")
    assert plain is not None

    def check(value: Any) -> int:
        if not isinstance(value, str):
            number: int = plain.check(value)
            return number
        if value not in numbers:
            raise ValueError(f'unknown enum label "{value}"; {kind} has {", ".join(numbers)}')
        return numbers[value]

    return Scalar("enum", plain.wire_type, 0, check, plain.write, plain.from_word)


class _Container:
    """What lists and maps share: the message that comes into being when something is put into them."""

    __slots__ = ()
    _field: Field
    _owner: Message | None

    def _touch(self) -> None:
        owner = self._owner
        if owner is not None:
            self._owner = None  # type: ignore[misc]  # subclasses have the slot
            owner.SetInParent()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __copy__(self) -> Any:
        return self.copy()

    def __reduce__(self) -> Any:
        # Another process gets a plain copy: this one checks what is put into a message there is none of.
        plain: Any = list if isinstance(self, list) else dict
        return plain, (plain(self),)

    def copy(self) -> Any:
        """Return the elements, messages copied."""
        raise NotImplementedError


def _touching(base: Any, names: str) -> Any:
    """Return methods of a list or map that change it, which tell the message that holds it."""

    def method(name: str) -> Callable[..., Any]:
        plain = getattr(base, name)

        @functools.wraps(plain)
        def changed(self: Any, *args: Any, **kwargs: Any) -> Any:
            self._touch()
            return plain(self, *args, **kwargs)

        return changed

    return {name: method(name) for name in names.split()}


class Repeated(_Container, list[Any]):
    """The values of a repeated field: a list that checks new elements."""

    __slots__ = ("_field", "_owner")

    def __init__(self, field: Field, values: Iterable[Any] = (), owner: Message | None = None) -> None:
        self._field = field
        self._owner = owner
        super().__init__([self._checked(v) for v in values])

    def _checked(self, value: Any) -> Any:
        kind = self._field.scalar
        if kind is not None:
            return kind.check(value)
        return checked_message(self._field, value).copy()

    def add(self, **values: Any) -> Any:
        """Append a new message and return it."""
        if self._field.scalar is not None:
            raise AttributeError(f"{self._field.name!r} holds {self._field.kind} values: append one")
        message = self._field.message(**values)
        self._touch()
        super().append(message)
        return message

    def append(self, value: Any) -> None:
        """Append a value; a message is copied."""
        checked = self._checked(value)
        self._touch()
        super().append(checked)

    def adopt(self, message: Message) -> None:
        """Append a message without copying it; nothing else may hold it."""
        self._touch()
        super().append(message)

    def extend(self, values: Iterable[Any]) -> None:
        """Append values; messages are copied."""
        try:
            iterator = iter(values)
        except TypeError as exc:
            raise TypeError(
                f"field {self._field.name!r} is repeated and takes an iterable, got "
                f"{type(values).__name__}: {values!r:.100}"
            ) from exc
        checked = [self._checked(v) for v in iterator]
        self._touch()
        super().extend(checked)

    def MergeFrom(self, other: Iterable[Any]) -> None:
        """Append copies of all values of another list."""
        self.extend(other)

    def insert(self, index: Any, value: Any) -> None:
        """Insert a value; a message is copied."""
        checked = self._checked(value)
        self._touch()
        super().insert(index, checked)

    def copy(self) -> list[Any]:
        """Return a list of the elements, messages copied."""
        return list(self) if self._field.scalar is not None else [v.copy() for v in self]

    def __iadd__(self, values: Iterable[Any]) -> NoReturn:  # type: ignore[misc]
        raise TypeError(f"field {self._field.name!r} takes no +=: extend it")

    def __setitem__(self, index: Any, value: Any) -> None:
        if self._field.scalar is None:
            raise TypeError(
                f"field {self._field.name!r} holds messages, which are not assigned: use add, append or "
                "CopyFrom of the element"
            )
        checked = [self._checked(v) for v in value] if isinstance(index, slice) else self._checked(value)
        self._touch()
        super().__setitem__(index, checked)

    vars().update(_touching(list, "pop remove reverse sort clear __delitem__"))


class _Map(_Container, dict[Any, Any]):
    """What the maps share."""

    __slots__ = ("_field", "_owner")

    def __init__(self, field: Field, values: Mapping[Any, Any] | None = None, owner: Message | None = None) -> None:
        self._field = field
        self._owner = owner
        super().__init__()
        self._fill(values or {})

    def _fill(self, values: Any) -> None:
        if not isinstance(values, Mapping):
            raise TypeError(f"field {self._field.name!r} is a map, got {type(values).__name__}: {values!r:.100}")
        for key, value in values.items():
            self._put(key, value)

    def _put(self, key: Any, value: Any) -> None:
        raise NotImplementedError

    def _key(self, key: Any) -> Any:
        return key_scalar(self._field).check(key)

    def MergeFrom(self, other: Any) -> None:
        """Set copies of all entries of another map of messages or values.

        Raises:
            AttributeError: for anything but a map of a message.
        """
        if not isinstance(other, _Map):
            raise AttributeError(f"a map of a message is merged, got {type(other).__name__}")
        self._touch()
        self._fill(other)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key; if it is missing, set it to the default."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, other: Any = (), /, **more: Any) -> None:
        """Set many entries."""
        for key, value in dict(other, **more).items():
            self[key] = value

    vars().update(_touching(dict, "pop popitem clear __delitem__"))


class ScalarMap(_Map):
    """A map with scalar values; a lookup of a missing key adds the default, as in protobuf."""

    __slots__ = ()

    def __missing__(self, key: Any) -> Any:
        assert self._field.scalar is not None
        self[key] = self._field.scalar.default
        return self._field.scalar.default

    def _put(self, key: Any, value: Any) -> None:
        assert self._field.scalar is not None
        super().__setitem__(self._key(key), self._field.scalar.check(value))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._put(key, value)
        self._touch()

    def copy(self) -> dict[Any, Any]:
        """Return the entries as a dict."""
        return dict(self)


class MessageMap(_Map):
    """A map with messages as values; a lookup of a missing key adds an empty message."""

    __slots__ = ()

    def __missing__(self, key: Any) -> Any:
        message = self._field.message()
        super().__setitem__(self._key(key), message)
        self._touch()
        return message

    def get_or_create(self, key: Any) -> Any:
        """Return the message of a key, which is added if it is missing."""
        return self[key]

    def adopt(self, key: Any, message: Message) -> None:
        """Set an entry to a message without copying it; nothing else may hold it."""
        super().__setitem__(key, message)
        self._touch()

    def _put(self, key: Any, value: Any) -> None:
        super().__setitem__(self._key(key), checked_message(self._field, value).copy())

    def __setitem__(self, key: Any, value: Any) -> None:
        raise ValueError(
            f"field {self._field.name!r} maps to messages, which are not assigned: use CopyFrom of the entry {key!r}"
        )

    def copy(self) -> dict[Any, Any]:
        """Return the entries as a dict, messages copied."""
        return {key: value.copy() for key, value in self.items()}


def checked_message(field: Field, value: Any, *, made_of: bool = False) -> Message:
    """Return the value, which must be a message of the field's class.

    Args:
        field: the field.
        value: the value.
        made_of: whether it may be a dict of fields, too.

    Raises:
        TypeError: for any other value.
    """
    kind = field.message
    if made_of and isinstance(value, dict):
        return kind(**value)
    if type(value) is not kind:
        raise TypeError(f"field {field.name!r} must contain {field.kind}, got {type(value).__name__}: {value!r:.100}")
    return value


def given_value(field: Field, value: Any) -> Any:
    """Return what an argument of a message's class stands for: a new list or map, or a checked value."""
    if field.key:
        if field.scalar is None and isinstance(value, Mapping):
            value = {key: checked_message(field, each, made_of=True) for key, each in value.items()}
        return filled_map(field, value)
    if field.repeated:
        repeated = Repeated(field)
        if field.scalar is None:
            value = [checked_message(field, each, made_of=True) for each in value]
        repeated.extend(value)
        return repeated
    if field.scalar is not None:
        return field.scalar.check(value)
    return checked_message(field, value, made_of=True).copy()


def filled_map(field: Field, values: Any, owner: Message | None = None) -> ScalarMap | MessageMap:
    """Return a map with copies of the entries of another map."""
    kind = MessageMap if field.scalar is None else ScalarMap
    return kind(field, values, owner)


def empty_value(field: Field, owner: Message | None = None) -> Any:
    """Return the initial value of a field that is a list, map or message.

    Args:
        field: the field.
        owner: the message that is set when something is put into the list or map; ``None`` if it is already.
    """
    if field.key:
        return filled_map(field, None, owner)
    return Repeated(field, (), owner) if field.repeated else field.message()
