"""Protobuf messages as Python objects: fields by name, and conversion to and from bytes.

A subclass of ``Message`` is defined by its ``SCHEMA``, one line per field: ``number name type``. The type is
a scalar, an enumeration, another message or ``map<key, value>``. It ends in ``*`` when the field is repeated,
and may be followed by ``in`` and the name of a oneof. ``protos`` holds the messages.

The API is that of protobuf's own Python classes, as far as programs use it: ``add``, ``extend``,
``CopyFrom``, ``HasField``, ``WhichOneof``, ``SerializeToString`` and ``ParseFromString``. Reading an unset
message field creates an empty message, which does not count as present until something is set in it. Unknown
fields are skipped and not kept. Equal messages serialise to equal bytes: fields in the order of their
numbers, map entries in the order of their keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from actorsession.errors import DataLossError
from actorsession.interop.fields import (
    MESSAGES,
    Field,
    Repeated,
    checked_message,
    empty_value,
    filled_map,
    parse_schema,
)
from actorsession.protobuf import scalars, wire

__all__ = ["Budget", "Message", "new_entry"]

# As in the codec of graphs: more than the largest graph that fits into a message needs.
_MAX_MESSAGES = 2**22


class Budget:
    """The number of messages that one parse may still build; each message takes one from it.

    Args:
        messages: how many messages, map entries included.
    """

    __slots__ = ("_left",)

    def __init__(self, messages: int = _MAX_MESSAGES) -> None:
        self._left = messages

    def enter(self, depth: int) -> None:
        """Count one message.

        Raises:
            DataLossError: if there are too many messages, or the nesting is too deep.
        """
        self._left -= 1
        if depth > wire.MAX_DEPTH:
            raise DataLossError(f"messages are nested more than {wire.MAX_DEPTH} deep")
        if self._left < 0:
            raise DataLossError(f"there are more than {_MAX_MESSAGES} messages in one")


class Message:
    """A protobuf message.

    Args:
        **values: values of fields; lists for repeated fields, mappings for maps.

    Raises:
        ValueError: for an unknown field, or a number out of range.
        TypeError: for a value of the wrong type.
    """

    SCHEMA: ClassVar[str] = ""
    FIELDS: ClassVar[Mapping[str, Field]] = {}
    _BY_NUMBER: ClassVar[Mapping[int, Field]] = {}
    __slots__ = ("_present", "_values")

    _values: dict[str, Any]
    _present: bool

    def __init_subclass__(cls) -> None:
        cls.FIELDS = parse_schema(cls.SCHEMA)
        cls._BY_NUMBER = {field.number: field for field in cls.FIELDS.values()}
        MESSAGES[cls.__qualname__] = cls

    def __init__(self, **values: Any) -> None:
        object.__setattr__(self, "_values", {})
        object.__setattr__(self, "_present", False)
        for name, value in values.items():
            if name not in self.FIELDS:
                raise ValueError(f"{type(self).__name__} has no field {name!r}; {self._known()}")
            if value is not None:
                setattr(self, name, value)

    def _known(self) -> str:
        return f"it has {', '.join(self.FIELDS)}"

    # -- fields --------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        field = self.FIELDS.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}; {self._known()}")
        if name in self._values:
            return self._values[name]
        if field.scalar is not None and not field.repeated and not field.key:
            return field.scalar.default
        made = self._values[name] = empty_value(field)
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        field = self.FIELDS.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}; {self._known()}")
        made: Any
        if field.key:
            made = filled_map(field, value)
        elif field.repeated:
            made = Repeated(field)
            made.extend(value)
        elif field.scalar is not None:
            made = field.scalar.check(value)
        else:
            made = checked_message(field, value).copy()
            object.__setattr__(made, "_present", True)
        self._set(field, made)

    def _set(self, field: Field, value: Any) -> None:
        if field.oneof:
            for other in self.FIELDS.values():
                if other.oneof == field.oneof:
                    self._values.pop(other.name, None)
        self._values[field.name] = value

    def _has(self, field: Field) -> bool:
        """Return whether a field counts as set.

        A member of a oneof counts if it is set; any other field counts if it is not empty or not its default.
        """
        if field.name not in self._values:
            return False
        value = self._values[field.name]
        if isinstance(value, Message):
            return value._present or not value._is_empty()
        if field.oneof:
            return True
        if isinstance(value, float):
            return value != 0 or str(value) == "-0.0"  # the sign of a zero is kept
        return bool(value)

    def _is_empty(self) -> bool:
        return not any(self._has(self.FIELDS[name]) for name in self._values)

    def WhichOneof(self, group: str) -> str | None:
        """Return the name of the field of a oneof that is set, or ``None``.

        Raises:
            ValueError: if the message has no such oneof.
        """
        members = {field.name for field in self.FIELDS.values() if field.oneof == group}
        if not members:
            raise ValueError(f"{type(self).__name__} has no oneof {group!r}")
        # A message field is read first and filled later, so the newest non-empty entry is the valid one.
        for name in reversed(self._values):
            if name in members and self._has(self.FIELDS[name]):
                return name
        return None

    def HasField(self, name: str) -> bool:
        """Return whether a message or a member of a oneof is set.

        Raises:
            ValueError: for a field without presence, and for an unknown field.
        """
        field = self.FIELDS.get(name)
        if field is None or field.repeated or field.key or (field.scalar and not field.oneof):
            raise ValueError(f"{type(self).__name__}.{name} is not a field with presence")
        return self.WhichOneof(field.oneof) == name if field.oneof else self._has(field)

    def ClearField(self, name: str) -> None:
        """Set a field to its default.

        Raises:
            ValueError: if there is no such field.
        """
        if name not in self.FIELDS:
            raise ValueError(f"{type(self).__name__} has no field {name!r}; {self._known()}")
        self._values.pop(name, None)

    def SetInParent(self) -> None:
        """Make the message count as present although nothing is set in it."""
        object.__setattr__(self, "_present", True)

    def ListFields(self) -> list[tuple[Field, Any]]:
        """Return the fields that are set, in the order of their numbers, with their values."""
        chosen: dict[str, str | None] = {}
        found = []
        for field in self.FIELDS.values():
            if not self._has(field):
                continue
            if field.oneof:
                if field.oneof not in chosen:
                    chosen[field.oneof] = self.WhichOneof(field.oneof)
                if chosen[field.oneof] != field.name:
                    continue
            found.append((field, self._values[field.name]))
        return found

    # -- as a whole ----------------------------------------------------------------------------

    def Clear(self) -> None:
        """Set every field to its default."""
        self._values.clear()

    def copy(self) -> Self:
        """Return a deep copy."""
        made = type(self)()
        made.MergeFrom(self)
        object.__setattr__(made, "_present", self._present)
        return made

    def CopyFrom(self, other: Message) -> None:
        """Replace the contents with a copy of another message of the same class.

        Raises:
            TypeError: for a message of another class.
        """
        if other is self:
            return
        self._check_same(other)
        self.Clear()
        self.MergeFrom(other)
        self.SetInParent()

    def MergeFrom(self, other: Message) -> None:
        """Merge in the set fields of another message; lists are appended, messages merged.

        Raises:
            TypeError: for a message of another class.
        """
        self._check_same(other)
        for field, value in other.ListFields():
            if field.key:
                getattr(self, field.name).update(value)
            elif field.repeated:
                getattr(self, field.name).extend(list(value))
            elif field.scalar is not None:
                self._set(field, value)
            else:
                mine = self._submessage(field)
                mine.MergeFrom(value)
                mine.SetInParent()

    def _submessage(self, field: Field) -> Message:
        """Return the message in a field, and make the field the set member of its oneof."""
        value = self._values.get(field.name)
        if value is None or (field.oneof and self.WhichOneof(field.oneof) != field.name):
            value = field.message()
        self._set(field, value)
        made: Message = value
        return made

    def _check_same(self, other: Any) -> None:
        if type(other) is not type(self):
            raise TypeError(f"expected a {type(self).__name__}, got {type(other).__name__}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Message)
        return [(f.name, v) for f, v in self.ListFields()] == [
            (f.name, v) for f, v in other.ListFields()
        ]

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        from actorsession.interop.text_format import MessageToString

        return MessageToString(self)

    # -- bytes ---------------------------------------------------------------------------------

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """Return the message in protobuf's wire format; equal messages always give the same bytes."""
        out: list[bytes] = []
        for field, value in self.ListFields():
            if field.key:
                out.extend(_map_bytes(field, value))
            elif field.packed:
                out.append(
                    wire.length_field(field.number, scalars.write_packed(_scalar(field), value))
                )
            else:
                items = value if field.repeated else (value,)
                out.extend([_field_bytes(field, item) for item in items])
        return b"".join(out)

    def ByteSize(self) -> int:
        """Return the number of bytes of the serialised message."""
        return len(self.SerializeToString())

    @classmethod
    def FromString(cls, data: bytes) -> Self:
        """Return a new message parsed from bytes; see ``ParseFromString``."""
        made = cls()
        made.ParseFromString(data)
        return made

    def ParseFromString(self, data: bytes) -> int:
        """Replace the contents with a message parsed from protobuf's wire format.

        Returns:
            The number of bytes read.

        Raises:
            DataLossError: for bytes that are not a valid message of this class.
        """
        self.Clear()
        return self.MergeFromString(data)

    def MergeFromString(self, data: bytes) -> int:
        """Merge in a message parsed from protobuf's wire format; see ``ParseFromString``."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"expected bytes, got {type(data).__name__}")
        try:
            self._read(bytes(data), 0, len(data), 0, Budget())
        except wire.WireError as exc:
            raise DataLossError(f"the bytes are not a valid {type(self).__name__}: {exc}") from exc
        return len(data)

    def _read(self, data: bytes, pos: int, end: int, depth: int, budget: Budget) -> None:
        budget.enter(depth)
        while pos < end:
            number, wire_type, pos = wire.read_tag(data, pos, end)
            field = self._BY_NUMBER.get(number)
            if field is None:
                pos = wire.skip(data, pos, end, number, wire_type)
            elif field.scalar is not None and not field.key:
                pos = self._read_scalar(field, data, pos, end, wire_type)
            elif wire_type != wire.BYTES:
                raise DataLossError(
                    f"field {field.name!r} is a message, but found wire type {wire_type}"
                )
            else:
                start, pos = wire.read_bytes(data, pos, end)
                if field.key:
                    self._read_entry(field, data, start, pos, depth + 1, budget)
                else:
                    made = field.message() if field.repeated else self._submessage(field)
                    made._read(data, start, pos, depth + 1, budget)
                    made.SetInParent()
                    if field.repeated:
                        list.append(getattr(self, field.name), made)

    def _read_scalar(
        self, field: Field, data: bytes, pos: int, end: int, wire_type: int
    ) -> int:  # fmt: skip
        kind = _scalar(field)
        if field.packed and wire_type == wire.BYTES:
            start, stop = wire.read_bytes(data, pos, end)
            list.extend(getattr(self, field.name), scalars.read_packed(kind, data, start, stop))
            return stop
        if wire_type != kind.wire_type:
            raise DataLossError(
                f"field {field.name!r} is of type {field.kind}, but found wire type "
                f"{wire_type} at byte {pos}"
            )
        value, pos = scalars.read_scalar(kind, data, pos, end)
        if field.repeated:
            list.append(getattr(self, field.name), value)
        else:
            self._set(field, value)
        return pos

    def _read_entry(
        self, field: Field, data: bytes, pos: int, end: int, depth: int, budget: Budget
    ) -> None:
        """Read one entry of a map: a message with the key as field 1 and the value as field 2."""
        entry = new_entry(field)
        entry._read(data, pos, end, depth, budget)
        dict.__setitem__(getattr(self, field.name), entry.key, entry.value)


# -- parts of messages ---------------------------------------------------------------------------


def new_entry(field: Field) -> Message:
    """Return a new entry of a map field: a message with ``key`` and ``value``."""
    name = f"map<{field.key}, {field.kind}>"
    found = MESSAGES.get(name)
    if found is None:
        found = type(name, (Message,), {"SCHEMA": f"1 key {field.key}\n2 value {field.kind}"})
    return found()


def _scalar(field: Field) -> scalars.Scalar:
    assert field.scalar is not None
    return field.scalar


def _field_bytes(field: Field, value: Any) -> bytes:
    if field.scalar is None:
        return wire.length_field(field.number, value.SerializeToString())
    return wire.write_tag(field.number, field.scalar.wire_type) + field.scalar.write(value)


def _map_bytes(field: Field, values: Mapping[Any, Any]) -> Iterator[bytes]:
    fields = new_entry(field).FIELDS
    key_field, value_field = fields["key"], fields["value"]
    for key in sorted(values):
        content = _field_bytes(key_field, key) + _field_bytes(value_field, values[key])
        yield wire.length_field(field.number, content)
