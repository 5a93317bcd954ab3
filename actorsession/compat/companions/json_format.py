"""``google.protobuf.json_format``: for our messages the library's own, for protobuf's that of protobuf."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from actorsession.interop import json_format as ours
from actorsession.interop.json_format import ParseError
from actorsession.interop.message import Message

__all__ = ["MessageToDict", "MessageToJson", "Parse", "ParseDict", "ParseError"]


def _theirs() -> ModuleType | None:
    """Protobuf's own module, loaded under another name; ``None`` if it is not installed."""
    name = "actorsession.compat.companions.protobuf_json_format"
    if name not in sys.modules:
        try:
            package: Any = importlib.import_module("google.protobuf")
        except ImportError:
            return None
        spec = PathFinder.find_spec("google.protobuf.json_format", package.__path__)
        if spec is None or spec.loader is None:
            return None
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
        sys.modules[name] = made
    return sys.modules[name]


def _of(message: Any, name: str) -> Callable[..., Any]:
    theirs = None if isinstance(message, Message) else _theirs()
    found: Callable[..., Any] = getattr(ours if theirs is None else theirs, name)
    return found


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
    theirs = None if name.startswith("__") else _theirs()
    if theirs is None or not hasattr(theirs, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(theirs, name)
