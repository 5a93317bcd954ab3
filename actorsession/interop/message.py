"""Protobuf messages as Python objects: fields by name, and conversion to and from bytes.

A subclass of ``Message`` is defined by its ``SCHEMA``, one line per field: ``number name type``. The type is
a scalar, an enumeration, another message or ``map<key, value>``. It ends in ``*`` when the field is repeated,
and may be followed by ``in`` and the name of a oneof. ``protos`` holds the messages of graphs, and ``tabled``
makes others from tables.

The API is that of protobuf's own Python classes. Reading an unset message field creates an empty message,
which does not count as present until something is set in it; it then becomes part of the message that was
read, and so do the messages above. Fields that a class does not have, or has as another
wire type, are kept as bytes. Equal messages
serialise to equal bytes: fields in the order of their numbers, map entries in the order of their keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from actorsession.checkpoints.seals import open_message
from actorsession.errors import DataLossError
from actorsession.interop.enums import ENUMS, EnumType
from actorsession.interop.fields import MESSAGES, Field, empty_value, given_value, key_scalar, parse_schema
from actorsession.protobuf import scalars, wire

__all__ = ["Budget", "DecodeError", "Message", "new_entry"]

# As in the codec of graphs: more than the largest graph that fits into a message needs.
_MAX_MESSAGES = 2**22
# Values of maps of up to so many bytes are compared with those that were read before.
_SHORT = 64


class DecodeError(DataLossError):
    """The bytes are no message of the class."""


class Budget:
    """The number of messages that one parse may still build; each message takes one from it.

    Args:
        messages: how many messages, map entries included.
    """

    __slots__ = ("_left", "_taken")

    def __init__(self, messages: int = _MAX_MESSAGES) -> None:
        self._left = messages
        # By the bytes of a map's value, its class and depth: how many messages it takes.
        self._taken: dict[tuple[bytes, str, int], int] = {}

    def enter(self, depth: int) -> None:
        """Count one message.

        Raises:
            DecodeError: if there are too many messages, or the nesting is too deep.
        """
        self._left -= 1
        if depth > wire.MAX_DEPTH:
            raise DecodeError(f"messages are nested more than {wire.MAX_DEPTH} deep")
        if self._left < 0:
            raise DecodeError(f"there are more than {_MAX_MESSAGES} messages in one")

    def read_value(self, kind: str, message: Message, content: bytes, depth: int) -> None:
        """Read the value of a map's entry; one that is known to be valid is read when it is looked at.

        A graph has few different attributes in many nodes.
        """
        key = content, kind, depth
        taken = self._taken.get(key)
        if taken is None or taken > self._left:
            left = self._left
            message._read(content, 0, len(content), depth, self)
            self._taken[key] = left - self._left
        else:
            self._left -= taken
            _delay(message, content)


class _DescriptorOf:
    """Gives each class of messages its descriptor."""

    def __get__(self, message: Message | None, kind: type[Message]) -> Descriptor:
        return Descriptor(kind)


class Descriptor:
    """What programs ask of a class of messages: its names and fields.

    Args:
        kind: the class.
    """

    def __init__(self, kind: type[Message]) -> None:
        self._kind = kind
        self.name = kind.__name__
        self.full_name = f"{kind.PACKAGE}.{kind.__qualname__}"
        self.fields_by_name = dict(kind.FIELDS)
        self.fields = list(kind.FIELDS.values())
        self.fields_by_number = {field.number: field for field in self.fields}
        self.oneofs_by_name = {name: list(members.values()) for name, members in kind._ONEOFS.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descriptor) and other._kind is self._kind

    def __hash__(self) -> int:
        return hash(self._kind)

    def __repr__(self) -> str:
        return f"<descriptor of {self.full_name}>"


class Message:
    """A protobuf message.

    Args:
        **values: values of fields; lists for repeated fields, mappings for maps. A message may be given as
            a dict of its fields, and a value of an enumeration by its name.

    Raises:
        ValueError: for an unknown field, or a number out of range.
        TypeError: for a value of the wrong type.
    """

    SCHEMA: ClassVar[str] = ""
    PACKAGE: ClassVar[str] = "tensorflow"
    FIELDS: ClassVar[Mapping[str, Field]] = {}
    DESCRIPTOR: ClassVar[Descriptor] = _DescriptorOf()  # type: ignore[assignment]
    _BY_NUMBER: ClassVar[Mapping[int, Field]] = {}
    _ONEOFS: ClassVar[Mapping[str, Mapping[str, Field]]] = {}
    __slots__ = ("_owner", "_unknown", "_unread", "_values")

    # Both are unset while nobody has looked at the message.
    _values: dict[str, Any]
    # Bytes of fields that the class does not have.
    _unknown: bytes
    # While the message is an unset field of another one: that message, and the field.
    _owner: tuple[Message, Field] | None
    # The bytes of a message that nobody has looked at; empty for all others.
    _unread: bytes

    def __init_subclass__(cls) -> None:
        cls.FIELDS = parse_schema(cls.SCHEMA)
        cls._BY_NUMBER = {field.number: field for field in cls.FIELDS.values()}
        oneofs: dict[str, dict[str, Field]] = {}
        for field in cls.FIELDS.values():
            if field.oneof:
                oneofs.setdefault(field.oneof, {})[field.name] = field
        cls._ONEOFS = oneofs
        name = cls.__qualname__
        MESSAGES[name] = cls
        for field in cls.FIELDS.values():
            setattr(cls, f"{field.name.upper()}_FIELD_NUMBER", field.number)
            if field.kind in ENUMS and field.kind.startswith(f"{name}."):
                cls._add_enum(field.kind)

    @classmethod
    def _add_enum(cls, kind: str) -> None:
        """Give the class an enumeration of its own, and the values of that."""
        setattr(cls, kind.rpartition(".")[2], EnumType(kind))
        for label, number in ENUMS[kind].items():
            setattr(cls, label, number)

    def __init__(self, **values: Any) -> None:
        _set_values(self, {})
        _set_owner(self, None)
        _set_unknown(self, b"")
        _set_unread(self, b"")
        if values:
            self._fill(**values)

    def _fill(self, **values: Any) -> None:
        """Set fields to copies of whole messages, lists and maps, too, as the arguments of the class do."""
        for name, value in values.items():
            field = self.FIELDS.get(name)
            if field is None:
                raise ValueError(self._no_field(name))
            if value is not None:
                self._set(field, given_value(field, value))

    @classmethod
    def _no_field(cls, name: str) -> str:
        known = ", ".join(cls.FIELDS) or "no fields"
        return f'Protocol message {cls.__name__} has no "{name}" field; it has {known}'

    # -- fields --------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        field = self.FIELDS.get(name)
        if field is None:
            if name in ("_values", "_unknown"):
                return self._looked_at(name)
            raise AttributeError(self._no_field(name))
        value = self._values.get(name)
        if value is not None:
            return value
        if field.scalar is not None and not field.repeated and not field.key:
            return field.scalar.default
        empty = self._values[name] = empty_value(field, self if self._owner is not None else None)
        if field.is_message:
            _set_owner(empty, (self, field))
        return empty

    def _looked_at(self, name: str) -> Any:
        """Read the bytes that were left unread, and return an attribute that follows from them."""
        parsed = _new(type(self))
        parsed._read(self._unread, 0, len(self._unread), 0, Budget())
        _set_unknown(self, parsed._unknown)
        _set_values(self, parsed._values)
        _set_unread(self, b"")
        return parsed._values if name == "_values" else parsed._unknown

    def __setattr__(self, name: str, value: Any) -> None:
        field = self.FIELDS.get(name)
        if field is None:
            raise AttributeError(self._no_field(name))
        if field.key or field.repeated or field.scalar is None:
            kind = "message" if field.is_message else "map, or repeated"
            how = "CopyFrom" if field.is_message else "update" if field.key else "extend"
            raise AttributeError(
                f'Assignment not allowed to {kind} field "{name}" in protocol message object '
                f"{type(self).__name__}: use {name}.{how}"
            )
        self._set(field, field.scalar.check(value))

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete {name!r}: use ClearField")

    def _set(self, field: Field, value: Any) -> None:
        if self._owner is not None:
            self.SetInParent()
        if field.oneof and self._values:
            self._leave_oneof(field)
        self._values[field.name] = value

    def _leave_oneof(self, field: Field) -> None:
        """Unset the other members of a field's oneof; messages that were only read stay."""
        members = self._ONEOFS[field.oneof]
        for name in self._values:
            if name in members and name != field.name and self._has(members[name]):
                del self._values[name]
                return

    def SetInParent(self) -> None:
        """Make the message count as present although nothing is set in it."""
        if self._owner is not None:
            parent, field = self._owner
            _set_owner(self, None)
            parent._set(field, self)

    def _has(self, field: Field) -> bool:
        """Return whether a field counts as set.

        A message and a member of a oneof count if they were set; any other field counts if it is not empty or
        not its default.
        """
        value = self._values.get(field.name)
        if value is None:
            return False
        if field.is_message:
            return value._owner is None
        if field.oneof:
            return True
        if isinstance(value, float):
            return value != 0 or str(value) == "-0.0"  # the sign of a zero is kept
        return bool(value)

    def WhichOneof(self, group: str) -> str | None:
        """Return the name of the field of a oneof that is set, or ``None``.

        Raises:
            ValueError: if the message has no such oneof.
        """
        members = self._ONEOFS.get(group)
        if members is None:
            if group in self.FIELDS:
                raise ValueError(f"expected the name of a oneof, got the field {group!r}")
            raise ValueError(f'Protocol message {type(self).__name__} has no oneof "{group}" field')
        for name in self._values:
            if name in members and self._has(members[name]):
                return name
        return None

    def HasField(self, name: str) -> bool:
        """Return whether a message or a member of a oneof is set; for a oneof, whether any member is.

        Raises:
            ValueError: for a field without presence, and for an unknown field.
        """
        field = self.FIELDS.get(name)
        if field is None:
            if name in self._ONEOFS:
                return self.WhichOneof(name) is not None
            raise ValueError(self._no_field(name))
        if not field.is_message and not field.oneof:
            raise ValueError(f"Field {type(self).__qualname__}.{name} does not have presence")
        return self._has(field)

    def __contains__(self, name: str) -> bool:
        return self.HasField(name)

    def ClearField(self, name: str) -> None:
        """Set a field, or the set member of a oneof, to its default.

        Raises:
            ValueError: if there is no such field.
        """
        if name not in self.FIELDS:
            if name not in self._ONEOFS:
                raise ValueError(self._no_field(name))
            name = self.WhichOneof(name) or name
        self.SetInParent()
        self._drop(name)

    def _drop(self, name: str) -> None:
        value = self._values.pop(name, None)
        if isinstance(value, Message):
            _set_owner(value, None)  # no longer a part of this message

    def ListFields(self) -> list[tuple[Field, Any]]:
        """Return the fields that are set, in the order of their numbers, with their values."""
        values = self._values
        if not values:
            return []
        return [(field, values[name]) for name, field in self.FIELDS.items() if name in values and self._has(field)]

    # -- as a whole ----------------------------------------------------------------------------

    def Clear(self) -> None:
        """Set every field to its default."""
        self.SetInParent()
        for name in list(self._values):
            self._drop(name)
        _set_unknown(self, b"")

    def copy(self) -> Self:
        """Return a deep copy."""
        copied = type(self)()
        copied._merge(self)
        return copied

    def CopyFrom(self, other: Message) -> None:
        """Replace the contents with a copy of another message of the same class.

        Raises:
            TypeError: for a message of another class.
        """
        self._check_same(other, "CopyFrom")
        if other is not self:
            self.Clear()
            self._merge(other)

    def MergeFrom(self, other: Message) -> None:
        """Merge in the set fields of another message; lists are appended, messages merged.

        Raises:
            TypeError: for a message of another class.
        """
        self._check_same(other, "MergeFrom")
        self.SetInParent()
        self._merge(other)

    def _merge(self, other: Message) -> None:
        for field, value in other.ListFields():
            if field.key or field.repeated:
                getattr(self, field.name).MergeFrom(value)
            elif field.scalar is not None:
                self._set(field, value)
            else:
                self._submessage(field)._merge(value)
        if other._unknown:
            _set_unknown(self, self._unknown + other._unknown)

    def _submessage(self, field: Field) -> Message:
        """Return the message in a field, which is then set."""
        message: Message | None = self._values.get(field.name)
        if message is None:
            message = _new(field.message)
            self._set(field, message)
        else:
            message.SetInParent()
        return message

    def _check_same(self, other: Any, method: str) -> None:
        if type(other) is not type(self):
            raise TypeError(
                f"Parameter to {method}() must be instance of same class: expected a "
                f"{type(self).__name__}, got {type(other).__name__}"
            )

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Message)
        return self._unknown == other._unknown and [(f.name, v) for f, v in self.ListFields()] == [
            (f.name, v) for f, v in other.ListFields()
        ]

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        from actorsession.interop.text_format import shown

        return shown(self)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *self.FIELDS})

    def __deepcopy__(self, memo: Any) -> Self:
        return self.copy()

    __copy__ = copy

    def __reduce__(self) -> Any:
        return _unpickled, (type(self).__qualname__, self.SerializeToString())

    def IsInitialized(self, errors: Any = None) -> bool:
        """Return true: no field is required."""
        return True

    def FindInitializationErrors(self) -> list[str]:
        """Return the required fields that are missing: none."""
        return []

    def DiscardUnknownFields(self) -> None:
        """Drop the fields that the classes do not have, here and in all messages below."""
        _set_unknown(self, b"")
        for field, value in self.ListFields():
            if field.scalar is None:
                each = value.values() if field.key else value if field.repeated else (value,)
                for message in each:
                    message.DiscardUnknownFields()

    # -- bytes ---------------------------------------------------------------------------------

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """Return the message in protobuf's wire format; equal messages always give the same bytes."""
        out: list[bytes] = []
        for field, value in self.ListFields():
            if field.key:
                out.extend(_map_bytes(field, value))
            elif field.packed:
                out.append(wire.length_field(field.number, scalars.write_packed(_scalar(field), value)))
            else:
                items = value if field.repeated else (value,)
                out.extend([_field_bytes(field, item) for item in items])
        out.append(self._unknown)
        return b"".join(out)

    SerializePartialToString = SerializeToString

    def ByteSize(self) -> int:
        """Return the number of bytes of the serialised message."""
        return len(self.SerializeToString())

    @classmethod
    def FromString(cls, data: bytes) -> Self:
        """Return a new message parsed from bytes; see ``ParseFromString``."""
        message = cls()
        message.MergeFromString(data)
        return message

    def ParseFromString(self, data: bytes) -> int:
        """Replace the contents with a message parsed from protobuf's wire format.

        Returns:
            The number of bytes read.

        Raises:
            DecodeError: for bytes that are not a valid message of this class.
            DataLossError: if they do not have the checksum that they were written with.
        """
        _check_bytes(data)
        self.Clear()
        return self.MergeFromString(data)

    def MergeFromString(self, data: bytes) -> int:
        """Merge in a message parsed from protobuf's wire format; see ``ParseFromString``."""
        _check_bytes(data)
        self.SetInParent()
        content = open_message(bytes(data), f"the {type(self).__name__}")
        try:
            self._read(content, 0, len(content), 0, Budget())
        except wire.WireError as exc:
            raise DecodeError(f"the bytes are not a valid {type(self).__name__}: {exc}") from exc
        return len(data)

    def _read(self, data: bytes, pos: int, end: int, depth: int, budget: Budget) -> None:
        budget.enter(depth)
        unknown: list[bytes] = []
        known, values = self._BY_NUMBER, self._values
        while pos < end:
            begin = pos
            tag = data[pos]
            if tag < 0x80 and tag >> 3:  # as most are; a call takes three times as long
                number, wire_type, pos = tag >> 3, tag & 7, pos + 1
            else:
                number, wire_type, pos = wire.read_tag(data, pos, end)
            field = known.get(number)
            if field is None or not (wire_type == field.wire_type or _is_packed(field, wire_type)):
                pos = wire.skip(data, pos, end, number, wire_type)
                unknown.append(data[begin:pos])
            elif field.scalar is not None and not field.key:
                pos = self._read_scalar(field, data, pos, end, wire_type)
            else:
                start, pos = wire.read_bytes(data, pos, end)
                if field.key:
                    self._read_entry(field, data, start, pos, depth + 1, budget)
                elif field.repeated:
                    message = _new(field.message)
                    message._read(data, start, pos, depth + 1, budget)
                    listed = values.get(field.name)
                    list.append(getattr(self, field.name) if listed is None else listed, message)
                else:
                    self._submessage(field)._read(data, start, pos, depth + 1, budget)
        if unknown:
            _set_unknown(self, self._unknown + b"".join(unknown))

    def _read_scalar(self, field: Field, data: bytes, pos: int, end: int, wire_type: int) -> int:
        kind = _scalar(field)
        if wire_type != field.wire_type:
            start, stop = wire.read_bytes(data, pos, end)
            list.extend(getattr(self, field.name), scalars.read_packed(kind, data, start, stop))
            return stop
        value, pos = scalars.read_scalar(kind, data, pos, end)
        if field.repeated:
            list.append(getattr(self, field.name), value)
        elif field.oneof or self._owner is not None:
            self._set(field, value)
        else:
            self._values[field.name] = value
        return pos

    def _read_entry(self, field: Field, data: bytes, pos: int, end: int, depth: int, budget: Budget) -> None:
        """Read one entry of a map: a message with the key as field 1 and the value as field 2."""
        budget.enter(depth)
        key_kind, kind = key_scalar(field), field.scalar
        value_wire_type = wire.BYTES if kind is None else kind.wire_type
        key = key_kind.default
        value, is_new = _new(field.message) if kind is None else kind.default, True
        while pos < end:
            number, wire_type, pos = wire.read_tag(data, pos, end)
            if number == 1 and wire_type == key_kind.wire_type:
                key, pos = scalars.read_scalar(key_kind, data, pos, end)
            elif number != 2 or wire_type != value_wire_type:
                pos = wire.skip(data, pos, end, number, wire_type)
            elif kind is None:
                start, pos = wire.read_bytes(data, pos, end)
                if is_new and 0 < pos - start <= _SHORT:
                    budget.read_value(field.kind, value, data[start:pos], depth + 1)
                else:
                    value._read(data, start, pos, depth + 1, budget)
                is_new = False
            else:
                value, pos = scalars.read_scalar(kind, data, pos, end)
        dict.__setitem__(getattr(self, field.name), key, value)


def _is_packed(field: Field, wire_type: int) -> bool:
    return wire_type == wire.BYTES and field.packed


def _new(kind: type[Message]) -> Message:
    """Return an empty message, as ``kind()`` does in twice the time."""
    message = kind.__new__(kind)
    _set_values(message, {})
    _set_owner(message, None)
    _set_unknown(message, b"")
    _set_unread(message, b"")
    return message


def _delay(message: Message, content: bytes) -> None:
    """Let a new message read its bytes when it is looked at."""
    _set_unread(message, content)
    _unset_values(message)
    _unset_unknown(message)


# Faster than ``object.__setattr__``.
_set_values = Message.__dict__["_values"].__set__
_set_owner = Message.__dict__["_owner"].__set__
_set_unknown = Message.__dict__["_unknown"].__set__
_set_unread = Message.__dict__["_unread"].__set__
_unset_values = Message.__dict__["_values"].__delete__
_unset_unknown = Message.__dict__["_unknown"].__delete__


# -- parts of messages ---------------------------------------------------------------------------


def _check_bytes(data: Any) -> None:
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"expected bytes, got {type(data).__name__}")


def _unpickled(name: str, data: bytes) -> Message:
    """Return a message that was pickled."""
    kind = MESSAGES.get(name)
    if kind is None:
        from actorsession.interop.tabled import message_class

        kind = message_class(name)
    return kind.FromString(data)


def new_entry(field: Field) -> Message:
    """Return a new entry of a map field: a message with ``key`` and ``value``."""
    name = f"map<{field.key}, {field.kind}>"
    entry_type = MESSAGES.get(name)
    if entry_type is None:
        entry_type = type(name, (Message,), {"SCHEMA": f"1 key {field.key}\n2 value {field.kind}"})
    return entry_type()


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
