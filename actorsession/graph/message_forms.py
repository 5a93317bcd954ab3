"""Objects that can be written as messages of other systems, and who writes them.

Variables and queue runners have ``to_proto`` and ``from_proto``, but messages are a matter of a higher room.
It registers its functions here, by class, when it is imported, which importing the package does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from actorsession.graph.extension import ExtensionPoint

__all__ = ["MESSAGE_FORMS", "MessageForm", "read", "written"]


class MessageForm(NamedTuple):
    """How the objects of a class are written and read.

    Attributes:
        write: from an object and the scope to leave off its names, or ``None``, to a message.
        read: from a message and the scope to put before the names in it, or ``None``, to an object.
    """

    write: Callable[..., Any]
    read: Callable[..., Any]


MESSAGE_FORMS: ExtensionPoint[MessageForm] = ExtensionPoint(
    "objects as messages", "actorsession.interop"
)
"""By the name of the class, without its module."""


def written(value: Any, export_scope: str | None) -> Any:
    """Return an object as a message; nothing if it is outside of the scope.

    Raises:
        TypeError: if there is no message for its class.
    """
    return _form_of(type(value)).write(value, export_scope)


def read(kind: type, message: Any, import_scope: str | None) -> Any:
    """Return the object of a class that a message describes, in the default graph.

    Raises:
        TypeError: if there is no message for the class.
    """
    return _form_of(kind).read(message, import_scope)


def _form_of(kind: type) -> MessageForm:
    for base in kind.__mro__:
        form = MESSAGE_FORMS.find(base.__name__)
        if form is not None:
            return form
    raise TypeError(f"there is no message for a {kind.__name__}")
