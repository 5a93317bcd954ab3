"""Objects that can be written as messages of other systems, and the functions that do it.

Variables and queue runners have ``to_proto`` and ``from_proto``, but messages belong to a higher package. It
registers its functions here, by class, when it is imported, which importing ``actorsession`` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["read", "register_message_form", "written"]

_FORMS: dict[type, tuple[Callable[..., Any], Callable[..., Any]]] = {}


def register_message_form(kind: type, write: Callable[..., Any], read: Callable[..., Any]) -> None:
    """Register the functions that write and read the objects of a class.

    Args:
        kind: the class.
        write: from an object and the scope to strip from its names, or ``None``, to a message.
        read: from a message and the scope to put before the names in it, or ``None``, to an object.
    """
    _FORMS[kind] = (write, read)


def written(value: Any, export_scope: str | None) -> Any:
    """Return an object as a message; ``None`` if it is outside of the scope.

    Raises:
        TypeError: if no function is registered.
    """
    return _form_of(type(value))[0](value, export_scope)


def read(kind: type, message: Any, import_scope: str | None) -> Any:
    """Return the object of a class that a message describes, in the default graph.

    Raises:
        TypeError: if no function is registered.
    """
    return _form_of(kind)[1](message, import_scope)


def _form_of(kind: type) -> tuple[Callable[..., Any], Callable[..., Any]]:
    for base in kind.__mro__:
        if base in _FORMS:
            return _FORMS[base]
    raise TypeError(f"nobody has said how a {kind.__name__} is written as a message")
