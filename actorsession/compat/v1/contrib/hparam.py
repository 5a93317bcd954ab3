"""``HParams``: the settings of a model by name, which command lines and files of JSON override."""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Iterator, Mapping
from typing import Any

from actorsession.json_text import read_json_object

__all__ = ["HParams", "parse_values"]

# ``name``, perhaps ``[index]``, and ``=`` with either a list in brackets or the text up to a comma.
_ASSIGNMENT = re.compile(
    r"\s*(?P<name>[a-zA-Z][\w.]*)\s*(\[\s*(?P<index>\d+)\s*\])?\s*=\s*"
    r"(?P<value>\[[^\]]*\]|[^,\[]*)\s*($|,)"
)


class HParams:
    """Settings by name, which are attributes too; the type of a value is that of the first one.

    Args:
        hparam_def: not supported, as there is no message of that kind.
        model_structure: an object of the model, which is kept.
        **kwargs: the settings: numbers, truths, strings or lists of one type.

    Raises:
        ValueError: for a name that is an attribute of this class, or an empty list.
    """

    _HAS_DYNAMIC_ATTRIBUTES = True

    def __init__(self, hparam_def: Any = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            raise ValueError("hparam_def is a message of TensorFlow's; pass the values by name")
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
        several = isinstance(value, (list, tuple))
        if several and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._hparam_types[name] = (type(value[0] if several else value), several)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Change a setting.

        Raises:
            KeyError: if it does not exist.
            ValueError: for a value of another type, or a list in the place of one value.
        """
        if name not in self._hparam_types:
            raise KeyError(f"there is no setting {name!r}; there are {sorted(self._hparam_types)}")
        kind, several = self._hparam_types[name]
        if isinstance(value, list):
            if not several:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_cast(name, kind, one) for one in value])
        elif several:
            raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
        else:
            setattr(self, name, _cast(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Remove a setting, if it exists."""
        if name in self._hparam_types:
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Change settings as a text says: ``name=value``, ``name=[a,b]`` or ``name[1]=b``, with commas.

        Returns:
            This object.

        Raises:
            ValueError: for a name that does not exist, or a value that has another type.
        """
        types = {name: kind for name, (kind, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, types))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Change settings; a dict as a value changes members of a list by their index.

        Returns:
            This object.
        """
        for name, value in values_dict.items():
            if isinstance(value, dict):
                members = list(getattr(self, name))
                for index, member in value.items():
                    members[index] = member
                value = members
            self.set_hparam(name, value)
        return self

    def parse_json(self, values_json: str) -> HParams:
        """Change settings as an object in JSON says.

        Returns:
            This object.
        """
        return self.override_from_dict(read_json_object(values_json, "values_json"))

    def set_model_structure(self, model_structure: Any) -> None:
        """Keep an object of the model."""
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """Return the object of the model."""
        return self._model_structure

    def to_json(self, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
        """Return the settings as an object in JSON; functions are left out."""
        values = {name: value for name, value in self.values().items() if not callable(value)}
        return json.dumps(values, indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """Return a setting; ``default`` if it does not exist.

        Raises:
            ValueError: if the type of the default is not that of the setting.
        """
        if key not in self._hparam_types:
            return default
        kind, several = self._hparam_types[key]
        if default is not None:
            listed = isinstance(default, list)
            if listed != several:
                raise ValueError(
                    f"Hparam {key!r} is {'' if several else 'not '}multi-valued, but the default is "
                    f"{'' if listed else 'not '}a list"
                )
            try:
                for one in default if listed else [default]:
                    _cast(key, kind, one)
            except ValueError:
                raise ValueError(
                    f"Hparam {key!r} has type {kind.__name__}, which the default {default!r} has not"
                ) from None
        return getattr(self, key)

    def __contains__(self, key: object) -> bool:
        return key in self._hparam_types

    def __iter__(self) -> Iterator[str]:
        return iter(self._hparam_types)

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"

    def __getattr__(self, name: str) -> Any:
        # The settings are attributes whose names only the program knows; this says so to type checkers.
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def parse_values(values: str, type_map: Mapping[str, type[Any]], ignore_unknown: bool = False) -> dict[str, Any]:
    """Return the settings that a text assigns; see ``HParams.parse``.

    Args:
        values: the text.
        type_map: the type of each setting.
        ignore_unknown: whether to pass over names without a type.

    Returns:
        Values and lists by name; for ``name[index]`` a dict from indices to values.

    Raises:
        ValueError: for a name without a type, a name that is assigned twice, a value of another type, or
            text of another form.
    """
    settings: dict[str, Any] = {}
    at = 0
    while at < len(values):
        match = _ASSIGNMENT.match(values, at)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[at:]}")
        at = match.end()
        name, index, text = match["name"], match["index"], match["value"].strip()
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        kind = type_map[name]
        if text.startswith("["):
            if index is not None:
                raise ValueError(f"Could not parse {values!r}: {name}[{index}] is one value, not a list")
            value: Any = [_read(name, kind, one.strip()) for one in text[1:-1].split(",") if one.strip()]
        else:
            value = _read(name, kind, text)
        if index is not None:
            members = settings.setdefault(name, {})
            if not isinstance(members, dict) or int(index) in members:
                raise ValueError(f"Multiple assignments to variable {name!r} in {values}")
            members[int(index)] = value
        elif name in settings:
            raise ValueError(f"Multiple assignments to variable {name!r} in {values}")
        else:
            settings[name] = value
    return settings


def _read(name: str, kind: type[Any], text: str) -> Any:
    """One value from its text."""
    try:
        if issubclass(kind, bool):
            known = {"true": True, "True": True, "false": False, "False": False}
            return known[text] if text in known else bool(int(text))
        if text == "None" and kind is type(None):
            return None
        return text if issubclass(kind, str) else kind(text)
    except (TypeError, ValueError):
        raise ValueError(f"Could not parse hparam of type {kind.__name__!r}: {name}={text}") from None


def _cast(name: str, kind: type[Any], value: Any) -> Any:
    """A value as the type of its setting has it."""
    if kind is type(None) or value is None:
        return value
    wrong = (
        isinstance(value, bool) != issubclass(kind, bool)
        or isinstance(value, (str, bytes)) != issubclass(kind, (str, bytes))
        or (issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral))
    )
    if not wrong:
        try:
            return value if isinstance(value, kind) else kind(value)
        except (TypeError, ValueError):
            pass
    raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
