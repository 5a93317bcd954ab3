"""Generation of the source text that reads a message's fields from the wire, from their annotations.

The module defines which annotations a field may have and what is accepted for each. ``registry`` calls it
once per message class. It imports nothing of this project but the error classes. The text is
made of our own annotations only, never of anything received.

Received values were decoded by msgpack, whose types are exact, so the check of a scalar is one comparison
of types: a subclass cannot occur, and a bool is not accepted as an int. An int is accepted where a float is
declared (Python writes ``5`` for ``5.0``). Lists become tuples where a tuple is declared.
"""

from __future__ import annotations

import reprlib
import types
import typing
from typing import Any, TypeAlias, Union

import numpy as np

from actorsession.errors import ProtocolError

__all__ = ["Tensor", "describe", "field_checks", "wrong_field"]

Tensor: TypeAlias = np.ndarray[Any, Any] | np.generic
"""A value of an operation; numpy scalars arrive as arrays of rank 0."""

_SCALARS = (int, str, bytes)
_TENSOR_PARTS = frozenset({np.ndarray, np.generic})


def describe(hint: Any) -> str:
    """Return an annotation in source notation, such as ``list[str] | None``."""
    if hint is type(None):
        return "None"
    if _is_union(hint):
        parts, optional = _split_union(hint)
        names = ["Tensor"] if _are_tensor(parts) else [describe(part) for part in parts]
        return " | ".join([*names, "None"] if optional else names)
    arguments = typing.get_args(hint)
    if not arguments:
        return getattr(hint, "__name__", str(hint))
    inner = ", ".join("..." if a is Ellipsis else describe(a) for a in arguments)
    return f"{typing.get_origin(hint).__name__}[{inner}]"


def wrong_field(tag: str, field: str, declared: str, expected: str, value: Any) -> ProtocolError:
    """Return the error for a field whose value is not of the declared type.

    Args:
        tag: the tag of the message.
        field: the name of the field.
        declared: its whole annotation.
        expected: the part of the annotation that is violated.
        value: the value found; shown shortened, because a peer chose it.
    """
    actual = type(value).__name__
    return ProtocolError(
        f"message {tag!r}: field {field!r} is declared {declared}; expected "
        f"{expected}, found {actual} {reprlib.repr(value)}"
    )


def field_checks(field: str, hint: Any) -> list[str]:
    """Return the statements that check one field, and convert it where its annotation requires it.

    The statements read and may rebind the local variable ``f_<field>``. They call ``wrong(field, declared,
    expected, value)`` for the error to raise, and use ``TENSOR`` for the tensor types.

    Raises:
        TypeError: the annotation is not allowed in a message.
    """
    return _Writer(field, describe(hint)).check(hint, f"f_{field}", depth=0)


class _Writer:
    """Writes the checks of one field; ``check`` calls itself for the contents of containers."""

    def __init__(self, field: str, declared: str) -> None:
        self._field = field
        self._declared = declared

    def check(self, hint: Any, var: str, *, depth: int) -> list[str]:
        origin = typing.get_origin(hint) or hint
        if hint is Any or hint is object:
            return []
        if hint in _SCALARS:
            return self._require(f"type({var}) is {hint.__name__}", hint, var)
        if hint is bool:
            return self._require(f"{var} is True or {var} is False", hint, var)
        if hint is float:
            return [
                f"if type({var}) is not float:",
                *_indented(self._require(f"type({var}) is int", hint, var)),
                f"    {var} = float({var})",
            ]
        if origin in _TENSOR_PARTS:
            return self._require(f"isinstance({var}, TENSOR)", hint, var)
        if _is_union(hint):
            return self._union(hint, var, depth)
        if origin is list:
            return self._sequence(hint, var, depth)
        if origin is dict:
            return self._mapping(hint, var, depth)
        if origin is tuple:
            return self._tuple(hint, var, depth)
        raise self._unsupported(hint)

    def _require(self, condition: str, hint: Any, var: str) -> list[str]:
        expected = f"{self._field!r}, {self._declared!r}, {describe(hint)!r}"
        return [f"if not ({condition}):", f"    raise wrong({expected}, {var})"]

    def _union(self, hint: Any, var: str, depth: int) -> list[str]:
        parts, optional = _split_union(hint)
        if _are_tensor(parts):
            body = self._require(f"isinstance({var}, TENSOR)", hint, var)
        elif len(parts) == 1:
            body = self.check(parts[0], var, depth=depth)
        else:
            raise self._unsupported(hint)
        if not optional or not body:
            return body
        return [f"if {var} is not None:", *_indented(body)]

    def _sequence(self, hint: Any, var: str, depth: int) -> list[str]:
        lines = self._require(f"type({var}) is list", hint, var)
        arguments = typing.get_args(hint)
        if arguments:
            lines += self._elements(arguments[0], var, depth)
        return lines

    def _elements(self, hint: Any, var: str, depth: int) -> list[str]:
        item, index = f"item{depth}", f"index{depth}"
        body = self.check(hint, item, depth=depth + 1)
        if not body:
            return []
        if not _converts(hint):
            return [f"for {item} in {var}:", *_indented(body)]
        # The decoder has made the list, which has no other owner, so it is changed in place.
        body.append(f"{var}[{index}] = {item}")
        return [f"for {index}, {item} in enumerate({var}):", *_indented(body)]

    def _mapping(self, hint: Any, var: str, depth: int) -> list[str]:
        lines = self._require(f"type({var}) is dict", hint, var)
        arguments = typing.get_args(hint)
        if not arguments:
            return lines
        key, item = f"key{depth}", f"item{depth}"
        keys = self.check(arguments[0], key, depth=depth + 1)
        body = self.check(arguments[1], item, depth=depth + 1)
        if _converts(arguments[1]):
            body.append(f"{var}[{key}] = {item}")
        if body:
            lines += [f"for {key}, {item} in {var}.items():", *_indented(keys + body)]
        elif keys:
            lines += [f"for {key} in {var}:", *_indented(keys)]
        return lines

    def _tuple(self, hint: Any, var: str, depth: int) -> list[str]:
        lines = self._require(f"type({var}) is list", hint, var)
        arguments = typing.get_args(hint)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            lines += self._elements(arguments[0], var, depth)
        elif arguments:
            lines += self._require(f"len({var}) == {len(arguments)}", hint, var)
            names = [f"part{depth}_{i}" for i in range(len(arguments))]
            lines.append(f"{', '.join(names)}, = {var}")
            for name, argument in zip(names, arguments, strict=True):
                lines += self.check(argument, name, depth=depth + 1)
            return [*lines, f"{var} = ({', '.join(names)},)"]
        return [*lines, f"{var} = tuple({var})"]

    def _unsupported(self, hint: Any) -> TypeError:
        return TypeError(
            f"field {self._field!r}: a message cannot declare {describe(hint)}; valid are int, "
            "float, str, bytes, bool, Tensor, Any, list[...], dict[str, ...], tuple[...], X | None"
        )


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (Union, types.UnionType)


def _split_union(hint: Any) -> tuple[list[Any], bool]:
    parts = [part for part in typing.get_args(hint) if part is not type(None)]
    return parts, len(parts) < len(typing.get_args(hint))


def _are_tensor(parts: list[Any]) -> bool:
    return {typing.get_origin(part) or part for part in parts} == _TENSOR_PARTS


def _converts(hint: Any) -> bool:
    """Return whether reading a value of this annotation may yield another object than the decoder made."""
    if hint is float or (typing.get_origin(hint) or hint) is tuple:
        return True
    return _is_union(hint) and any(_converts(part) for part in _split_union(hint)[0])
