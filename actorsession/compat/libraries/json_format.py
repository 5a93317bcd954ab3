"""``google.protobuf.json_format``: for our messages the library's own, for protobuf's that of protobuf."""

from __future__ import annotations

from typing import Any

from actorsession.compat.libraries.protobufs import protobuf_module, serving
from actorsession.interop import json_format as ours
from actorsession.interop.json_format import ParseError

__all__ = ["MessageToDict", "MessageToJson", "Parse", "ParseDict", "ParseError"]


_of = serving("json_format", ours)


def MessageToDict(message: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a message as a dict of plain values."""
    return _of(message, "MessageToDict")(message, *args, **kwargs)


def MessageToJson(message: Any, **kwargs: Any) -> Any:
    """Return a message as JSON text."""
    return _of(message, "MessageToJson")(message, **kwargs)


def Parse(text: Any, message: Any, *args: Any, **kwargs: Any) -> Any:
    """Read JSON text into a message, and return that.

    Raises:
        ParseError: for a text that is no such message.
    """
    return _of(message, "Parse")(text, message, *args, **kwargs)


def ParseDict(js_dict: Any, message: Any, *args: Any, **kwargs: Any) -> Any:
    """Read a dict of plain values into a message, and return that; see ``Parse``."""
    return _of(message, "ParseDict")(js_dict, message, *args, **kwargs)


def __getattr__(name: str) -> Any:
    theirs = None if name.startswith("__") else protobuf_module("json_format")
    if theirs is None or not hasattr(theirs, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(theirs, name)
