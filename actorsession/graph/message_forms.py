"""Objects that can be written as messages of other systems, and who writes them.

Variables and queue runners have ``to_proto`` and ``from_proto``, but messages are a matter of a higher room.
It registers its functions here, by class, when it is imported, which importing the package does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["read", "register_message_form", "written"]

_FORMS: dict[type, tuple[Callable[..., Any], Callable[..., Any]]] = {}


def register_message_form(kind: type, write: Callable[..., Any], read: Callable[..., Any]) -> None:
    """Say how the objects of a class are written and read.

    Args:
        kind: the class.
        write: from an object and the scope to leave off its names, or ``None``, to a message.
        read: from a message and the scope to put before the names in it, or ``None``, to an object.
    """
    _FORMS[kind] = (write, read)


def written(value: Any, export_scope: str | None) -> Any:
    """An object as a message; nothing if it is outside of the scope.

    Raises:
        TypeError: if nobody says how.
    """
    return _form_of(type(value))[0](value, export_scope)


def read(kind: type, message: Any, import_scope: str | None) -> Any:
    """Return the object of a class that a message describes, in the default graph.

    Raises:
        TypeError: if nobody says how.
    """
    return _form_of(kind)[1](message, import_scope)


def _form_of(kind: type) -> tuple[Callable[..., Any], Callable[..., Any]]:
    for base in kind.__mro__:
        if base in _FORMS:
            return _FORMS[base]
    raise TypeError(f"nobody has said how a {kind.__name__} is written as a message")
