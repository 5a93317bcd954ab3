"""``tf.compat``: conversions between text and bytes, and dimensions of either version."""

from __future__ import annotations

import importlib
from types import ModuleType

from actorsession.graph.dimension import dimension_value
from actorsession.graph.shape import dimension_at_index

__all__ = [
    "as_bytes", "as_str", "as_str_any", "as_text", "dimension_at_index", "dimension_value",
]  # fmt: skip


def as_bytes(bytes_or_text: str | bytes | bytearray, encoding: str = "utf-8") -> bytes:
    """Return a string as bytes.

    Raises:
        TypeError: if it is neither text nor bytes.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: str | bytes | bytearray, encoding: str = "utf-8") -> str:
    """Return a string as text; the errors are those of ``as_bytes``."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    return as_bytes(bytes_or_text).decode(encoding)


as_str = as_text


def as_str_any(value: object, encoding: str = "utf-8") -> str:
    """Return any value as text."""
    return as_str(value, encoding) if isinstance(value, (bytes, bytearray)) else str(value)


def __getattr__(name: str) -> ModuleType:
    # Programs from the time of both versions call everything ``tf.compat.v1.NAME``.
    if name == "v1":
        return importlib.import_module("actorsession.compat.v1")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
