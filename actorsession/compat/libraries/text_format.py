"""``google.protobuf.text_format``: for our messages the library's own, for protobuf's that of protobuf.

The text form of a message is written and read by whoever made the message's class. ``protobuf`` itself need
not be installed.
"""

from __future__ import annotations

from typing import Any

from actorsession.compat.libraries.protobufs import protobuf_module, serving
from actorsession.errors import InvalidArgumentError
from actorsession.interop import text_format as ours

__all__ = [
    "Merge",
    "MergeLines",
    "MessageToBytes",
    "MessageToString",
    "Parse",
    "ParseError",
    "ParseLines",
    "PrintMessage",
]


_of = serving("text_format", ours)


def MessageToString(message: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the text form of a message."""
    return _of(message, "MessageToString")(message, *args, **kwargs)


def MessageToBytes(message: Any, **kwargs: Any) -> Any:
    """Return the text form of a message as UTF-8."""
    return _of(message, "MessageToBytes")(message, **kwargs)


def PrintMessage(message: Any, out: Any, *args: Any, **kwargs: Any) -> None:
    """Write the text form of a message to a file."""
    out.write(MessageToString(message, *args, **kwargs))


def Parse(text: Any, message: Any, *args: Any, **kwargs: Any) -> Any:
    """Read a text form into a message, and return that.

    Raises:
        ParseError: for a text that is none, and for a field that is given twice.
    """
    return _of(message, "Parse")(text, message, *args, **kwargs)


def Merge(text: Any, message: Any, *args: Any, **kwargs: Any) -> Any:
    """Read a text form into a message, and return that; the last value of a field counts.

    Raises:
        ParseError: for a text that is none.
    """
    return _of(message, "Merge")(text, message, *args, **kwargs)


def ParseLines(lines: Any, message: Any, *args: Any, **kwargs: Any) -> Any:
    """Read the lines of a text form into a message; see ``Parse``."""
    return _of(message, "ParseLines")(lines, message, *args, **kwargs)


def MergeLines(lines: Any, message: Any, *args: Any, **kwargs: Any) -> Any:
    """Read the lines of a text form into a message; see ``Merge``."""
    return Merge("\n".join(_text(line) for line in lines), message, *args, **kwargs)


def _text(line: str | bytes) -> str:
    return line.decode() if isinstance(line, bytes) else line


ParseError: Any = getattr(ours, "ParseError", InvalidArgumentError)


def __getattr__(name: str) -> Any:
    theirs = None if name.startswith("__") else protobuf_module("text_format")
    if theirs is None or not hasattr(theirs, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(theirs, name)
