"""``HParams``: settings by name, with values from a line of text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["HParams", "parse_values"]

# A name, perhaps with a place in brackets, and a value: a list in brackets, or text up to a comma.
_ASSIGNMENT = re.compile(
    r"\s*(?P<name>[a-zA-Z][\w.]*)\s*(\[\s*(?P<index>\d+)\s*\])?\s*=\s*"
    r"(\[(?P<values>[^\]]*)\]|(?P<value>[^,\[]*))\s*($|,)"
)
_TRUE, _FALSE = ("true", "True", "1"), ("false", "False", "0")


def parse_values(
    values: str, type_map: Mapping[str, type[Any]], ignore_unknown: bool = False
) -> dict[str, Any]:
    """Return the settings that a line of text gives: ``rate=0.1,layers=[1,2],name=x``.

    Args:
        values: the line.
        type_map: the type of each setting; of the elements for lists.
        ignore_unknown: whether other names are passed over.

    Raises:
        ValueError: for a line of another form, an unknown name, a name twice, or a value of another type.
    """
    found: dict[str, Any] = {}
    at = 0
    while at < len(values):
        match = _ASSIGNMENT.match(values, at)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
        at = match.end()
        name = match["name"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        kind = type_map[name]
        if match["index"] is not None:
            if match["values"] is not None:
                raise ValueError(f"Could not parse list index of a list for {name}: {values}")
            places = found.setdefault(name, {})
            if not isinstance(places, dict) or int(match["index"]) in places:
                raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
            places[int(match["index"])] = _read(name, match["value"], kind, values)
            continue
        if name in found:
            raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
        if match["values"] is not None:
            parts = [part for part in match["values"].split(",") if part.strip()]
            found[name] = [_read(name, part, kind, values) for part in parts]
        else:
            found[name] = _read(name, match["value"], kind, values)
    return found


def _read(name: str, text: str, kind: type[Any], line: str) -> Any:
    text = text.strip()
    try:
        if kind is bool:
            if text in _TRUE:
                return True
            if text in _FALSE:
                return False
            raise ValueError(text)
        return kind(text)
    except ValueError:
        raise ValueError(
            f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{text}' in {line}"
        ) from None


class HParams:
    """Settings of a model, each an attribute of a type that stays.

    Args:
        hparam_def: refused; a message that held the settings.
        model_structure: kept as it is.
        kwargs: the settings. A list has elements of one type.

    Raises:
        ValueError: for an empty list, or a name that is taken.
    """

    _model_structure: Any

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            raise ValueError("HParams from a message is not included; give the settings by name")
        self._hparam_types: dict[str, tuple[type[Any], bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Add a setting.

        Raises:
            ValueError: for a name that is taken, or an empty list.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        if isinstance(value, (list, tuple)):
            if not value:
                raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
            self._hparam_types[name] = (type(value[0]), True)
        else:
            self._hparam_types[name] = (type(value), False)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Give a setting another value of its type.

        Raises:
            ValueError: for a list in the place of a value or the other way round, or a value of another type.
            KeyError: for a name that there is not.
        """
        kind, listed = self._hparam_types[name]
        if isinstance(value, list) != listed and not (listed and isinstance(value, tuple)):
            said = "list" if listed else "single value"
            raise ValueError(f"Must pass a {said} for hyperparameter {name!r}")
        setattr(
            self,
            name,
            [_cast(name, kind, each) for each in value] if listed else _cast(name, kind, value),
        )

    def del_hparam(self, name: str) -> None:
        """Remove a setting, if there is one of the name."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Give settings the values of a line of text; see ``parse_values``."""
        kinds = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, kinds))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Give settings the values of a dict; a dict among these is of places in a list."""
        for name, value in values_dict.items():
            if isinstance(value, dict):
                changed = list(getattr(self, name))
                for place, each in value.items():
                    changed[place] = each
                value = changed
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: str) -> HParams:
        """Give settings the values of a JSON object."""
        return self.override_from_dict(json.loads(values_json))

    def to_json(
        self,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        """Return the settings as a JSON object; see ``json.dumps``."""
        plain = {name: value for name, value in self.values().items() if not _is_function(value)}
        return json.dumps(plain, indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """Return a setting, or the default if there is none.

        Raises:
            ValueError: if the default is of another type.
        """
        if key not in self._hparam_types:
            return default
        kind, listed = self._hparam_types[key]
        if default is not None and isinstance(default, list) != listed:
            raise ValueError(f"Hparam '{key}' is of type {kind}, while default={default}")
        return getattr(self, key)

    def get_model_structure(self) -> Any:
        """Return the structure that was given."""
        return self._model_structure

    def set_model_structure(self, model_structure: Any) -> None:
        """Keep another structure."""
        self._model_structure = model_structure

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


def _is_function(value: Any) -> bool:
    return isinstance(value, Callable)  # type: ignore[arg-type]


def _cast(name: str, kind: type[Any], value: Any) -> Any:
    """Return a value as one of the type, if it is one or stands for one.

    Raises:
        ValueError: if it does not.
    """
    if (
        value is None
        or kind is type(None)
        or (isinstance(value, kind) and (kind is bool) == isinstance(value, bool))
    ):
        return value
    fits = (kind is float and isinstance(value, int) and not isinstance(value, bool)) or (
        issubclass(kind, str) and isinstance(value, bytes)
    )
    if not fits:
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    return value.decode() if isinstance(value, bytes) else kind(value)
