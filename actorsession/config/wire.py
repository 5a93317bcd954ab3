"""Settings as plain values: how a frozen dataclass of settings is encoded for a master, decoded and merged.

The metadata of a field with nested settings names their class; all other fields must hold plain values.
Only the settings classes of this package use the module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeVar

from actorsession.errors import InvalidArgumentError
from actorsession.records import is_default

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    S = TypeVar("S", bound=DataclassInstance)

__all__ = [
    "at_least",
    "at_most",
    "check_types",
    "from_wire",
    "list_of",
    "merged",
    "one_of",
    "reject",
    "to_wire",
    "whole_number",
]

# The range of the wire form, and of TensorFlow's widest fields.
_LEAST, _MOST = -(2**63), 2**63 - 1
_CLASS, _LIST_OF = "actorsession.class", "actorsession.list_of"


def one_of(cls: type[S]) -> Mapping[str, Any]:
    """Return the metadata of a field that holds settings of class ``cls``."""
    return {_CLASS: cls}


def list_of(cls: type[S]) -> Mapping[str, Any]:
    """Return the metadata of a field that holds any number of settings of class ``cls``."""
    return {_LIST_OF: cls}


def at_least(least: float, name: str, value: float) -> None:
    """Refuse a number below a bound.

    Raises:
        InvalidArgumentError: names the field, the bound and the value.
    """
    if not value >= least:  # nor is NaN
        raise InvalidArgumentError(f"{name} must be at least {least}, got {value}")


def at_most(most: int, name: str, value: int) -> None:
    """Refuse a number above a bound.

    Raises:
        InvalidArgumentError: names the field, the bound and the value.
    """
    if value > most:
        raise InvalidArgumentError(f"{name} must be at most {most}, got {value}")


def reject(name: str, value: Any, neutral: tuple[Any, ...], reason: str) -> None:
    """Refuse a setting that this runtime does not support.

    Args:
        name: name of the field.
        value: the given value.
        neutral: values that request nothing and so are accepted.
        reason: why it is not supported, and what to do instead.

    Raises:
        InvalidArgumentError: the value is not a neutral one.
    """
    if not any(value is n or value == n for n in neutral):
        raise InvalidArgumentError(f"{name}={value!r:.100} is refused: {reason}")


def check_types(settings: DataclassInstance) -> None:
    """Check the type of every field by its default or its class, and convert lists to tuples.

    Raises:
        TypeError: names the field, its type and the given value.
        InvalidArgumentError: a number has more than 64 bits.
    """
    for f in fields(settings):
        value = getattr(settings, f.name)
        if _LIST_OF in f.metadata:
            checked: Any = _instances(f.name, value, f.metadata[_LIST_OF])
        elif _CLASS in f.metadata:
            left_out = value is None and f.default is None
            checked = None if left_out else _instance(f.name, value, f.metadata[_CLASS])
        elif f.default is not MISSING and type(f.default) in (bool, int, float, str):
            checked = _plain_of_type(f.name, value, type(f.default))
        else:
            checked = tuple(value) if isinstance(value, list) else value
        if checked is not value:
            object.__setattr__(settings, f.name, checked)


def _instances(name: str, value: Any, cls: type[Any]) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} must be a list of {cls.__name__}, got {value!r:.100}")
    return tuple(_instance(name, item, cls) for item in value)


def _instance(name: str, value: Any, cls: type[Any]) -> Any:
    if not isinstance(value, cls):
        raise TypeError(f"{name} must contain {cls.__name__}, got {value!r:.100}")
    return value


def _plain_of_type(name: str, value: Any, kind: type[Any]) -> Any:
    """Return the value as a bool, int, float or str, accepting numpy's numbers, and 0 and 1 as a bool."""
    if kind is int:
        return whole_number(name, value)
    if isinstance(value, kind):
        return value
    if kind is float and not isinstance(value, bool) and isinstance(value, Real):
        return float(value)
    if kind is bool and isinstance(value, Integral) and int(value) in (0, 1):
        return bool(value)
    raise TypeError(f"{name} must be of type {kind.__name__}, got {value!r:.100}")


def whole_number(name: str, value: Any) -> int:
    """Return the value of a field as an int, accepting numpy's whole numbers but not truth values.

    Raises:
        TypeError: the value is not a whole number.
        InvalidArgumentError: the number has more than 64 bits.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be of type int, got {value!r:.100}")
    number = int(value)
    if not _LEAST <= number <= _MOST:
        raise InvalidArgumentError(f"{name} must be a number of 64 bits, got one of {number.bit_length()}")
    return number


def to_wire(settings: DataclassInstance) -> dict[str, Any]:
    """Return the settings as plain values."""
    return {f.name: _plain(getattr(settings, f.name)) for f in fields(settings)}


def _plain(value: Any) -> Any:
    if hasattr(value, "to_wire"):
        return value.to_wire()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    # Enumerations of this package are ints; msgpack needs the plain number.
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def from_wire(cls: type[S], value: Any) -> S:
    """Read the result of ``to_wire``.

    Raises:
        InvalidArgumentError: the value has another form, an unknown field or a value that is not allowed.
    """
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(f"the wire form of {cls.__name__} must be a map, got {value!r:.100}")
    known = {f.name: f for f in fields(cls)}
    unknown = sorted(str(name) for name in value if name not in known)
    if unknown:
        raise InvalidArgumentError(f"{cls.__name__} has no field {unknown}; it has {sorted(known)}")
    try:
        return cls(**{name: _read(known[name].metadata, item) for name, item in value.items()})
    except (TypeError, ValueError, AttributeError) as exc:
        raise InvalidArgumentError(f"invalid {cls.__name__}: {exc}") from exc


def merged(defaults: S, given: S) -> S:
    """Merge settings into others as protobuf's ``MergeFrom`` does, and return the result.

    A plain field is set if it differs from the default of its class, which is protobuf's rule for fields
    without presence. So ``given`` cannot set one back to that default.

    Args:
        defaults: the values of the fields that ``given`` does not set.
        given: the plain fields that it sets win; its lists follow those of ``defaults``, its maps are merged
            by key, and nested settings by the same rule.
    """
    pairs = {f: (getattr(defaults, f.name), getattr(given, f.name)) for f in fields(defaults)}
    return replace(defaults, **{f.name: _merged_values(f, *pair) for f, pair in pairs.items()})


def _merged_values(field: Field[Any], default: Any, given: Any) -> Any:
    if default is None or given is None:
        return default if given is None else given
    if _CLASS in field.metadata:
        return merged(default, given)
    if isinstance(given, tuple):
        return (*default, *given)
    if isinstance(given, Mapping):
        return {**default, **given}
    return default if is_default(field, given) else given


def _read(metadata: Mapping[str, Any], value: Any) -> Any:
    if _CLASS in metadata:
        return None if value is None else from_wire(metadata[_CLASS], value)
    if _LIST_OF in metadata:
        return tuple(from_wire(metadata[_LIST_OF], item) for item in value)
    return tuple(value) if isinstance(value, list) else value
