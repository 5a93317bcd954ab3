"""Messages as JSON, with the names and rules of protobuf's own ``json_format``.

Names are in lower camel case unless asked otherwise, integers of 64 bits are texts, bytes are base64, and
enumerations are names.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from actorsession.errors import InvalidArgumentError, RequestValueError
from actorsession.interop.enums import ENUMS, label_of
from actorsession.interop.fields import Field
from actorsession.interop.message import Message
from actorsession.interop.text_format import shortest
from actorsession.json_text import read_json

__all__ = ["MessageToDict", "MessageToJson", "Parse", "ParseDict", "ParseError"]

M = TypeVar("M", bound=Message)

_LONG = frozenset({"int64", "uint64", "fixed64", "sint64"})
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class ParseError(InvalidArgumentError):
    """The JSON is no message of the class."""


def MessageToDict(
    message: Message,
    always_print_fields_with_no_presence: bool = False,
    preserving_proto_field_name: bool = False,
    use_integers_for_enums: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Return a message as a dict of plain values.

    Args:
        message: the message.
        always_print_fields_with_no_presence: whether fields with their defaults are included.
        preserving_proto_field_name: whether names stay as they are.
        use_integers_for_enums: whether enumerations are numbers.
        options: without effect.
    """
    show_all = always_print_fields_with_no_presence or bool(options.get("including_default_value_fields"))

    def plain(field: Field, value: Any) -> Any:
        if field.scalar is None:
            return of(value)
        if field.kind in ENUMS:
            return value if use_integers_for_enums else label_of(field.kind, value) or value
        return _plain(field.kind, value)

    def of(each: Message) -> dict[str, Any]:
        plain_fields: dict[str, Any] = {}
        present = {field.name: value for field, value in each.ListFields()}
        for name, field in each.FIELDS.items():
            if name not in present and (not show_all or field.is_message or field.oneof):
                continue
            value = present.get(name, getattr(each, name))
            key = name if preserving_proto_field_name else camel_case(name)
            if field.key:
                plain_fields[key] = {_key(k): plain(field, v) for k, v in value.items()}
            elif field.repeated:
                plain_fields[key] = [plain(field, v) for v in value]
            else:
                plain_fields[key] = plain(field, value)
        return plain_fields

    return of(message)


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _plain(kind: str, value: Any) -> Any:
    if kind in _LONG:
        return str(value)
    if kind == "bytes":
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return shortest(value) if kind == "float" else value


def MessageToJson(message: Message, *, indent: int | None = 2, sort_keys: bool = False, **options: Any) -> str:
    """Return a message as JSON text; see ``MessageToDict``.

    Args:
        message: the message.
        indent: number of spaces of each level; one line if ``None``.
        sort_keys: whether names are sorted.
        options: those of ``MessageToDict``.
    """
    return json.dumps(MessageToDict(message, **options), indent=indent, sort_keys=sort_keys)


def camel_case(name: str) -> str:
    """Return the name of a field in lower camel case."""
    first, *rest = name.split("_")
    return first + "".join([part[:1].upper() + part[1:] for part in rest])


def Parse(text: str | bytes, message: M, ignore_unknown_fields: bool = False, **options: Any) -> M:
    """Read JSON text into a message.

    Args:
        text: the text.
        message: the message to read into.
        ignore_unknown_fields: whether fields that the class does not have are skipped.
        options: without effect.

    Raises:
        ParseError: for text that is not a valid message of this class.
    """
    try:
        parsed = read_json(text)
    except ValueError as exc:
        raise ParseError(f"the text is not JSON: {exc}") from exc
    return ParseDict(parsed, message, ignore_unknown_fields)


def ParseDict(js_dict: Mapping[str, Any], message: M, ignore_unknown_fields: bool = False, **options: Any) -> M:
    """Read a dict of plain values into a message; see ``Parse``.

    Args:
        js_dict: the dict, as ``MessageToDict`` returns it.
        message: the message to read into.
        ignore_unknown_fields: whether fields that the class does not have are skipped.
        options: without effect.
    """
    message.SetInParent()
    if not isinstance(js_dict, Mapping):
        raise ParseError(f"{type(message).__name__} is an object, got {js_dict!r:.100}")
    names = {camel_case(name): field for name, field in message.FIELDS.items()}
    for name, value in js_dict.items():
        field = names.get(name) or message.FIELDS.get(name)
        if field is None:
            if ignore_unknown_fields:
                continue
            known = ", ".join(message.FIELDS)
            raise ParseError(f"{type(message).__name__} has no field {name!r}; it has {known}")
        if value is not None:
            try:
                _read(message, field, value, ignore_unknown_fields)
            except (TypeError, ValueError, AttributeError, OverflowError) as exc:
                raise ParseError(f"field {name!r}: {exc}") from exc
    return message


def _read(message: Message, field: Field, value: Any, skips: bool) -> None:
    held = getattr(message, field.name)
    if field.key:
        for key, each in value.items():
            at: Any = key if field.key == "string" else key == "true" if field.key == "bool" else int(key)
            if field.scalar is None:
                ParseDict(each, held[at], skips)
            else:
                held[at] = _value(field, each)
    elif field.repeated:
        for each in value:
            if field.scalar is None:
                ParseDict(each, held.add(), skips)
            else:
                held.append(_value(field, each))
    elif field.scalar is None:
        ParseDict(value, held, skips)
    else:
        setattr(message, field.name, _value(field, value))


def _value(field: Field, value: Any) -> Any:
    kind = field.kind
    if kind == "bytes":
        try:
            return base64.b64decode(value + "=" * (-len(value) % 4))
        except binascii.Error as exc:
            raise RequestValueError(f"{value!r:.100} is not base64") from exc
    if kind in ("float", "double"):
        return _SPECIAL[value] if value in _SPECIAL else float(value)
    whole = kind not in ENUMS and kind not in ("string", "bool")
    if whole and isinstance(value, (str, float)):
        number = int(value)
        if number != float(value):
            raise RequestValueError(f"{value!r} is no integer")
        return number
    return value
