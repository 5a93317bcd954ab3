"""``tf.compat``: conversions between text and bytes, and dimensions of either version."""

from __future__ import annotations

import importlib
import numbers
from types import ModuleType
from typing import Any

import numpy as np

from actorsession.graph.dimension import dimension_value
from actorsession.graph.shape import dimension_at_index

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "dimension_at_index",
    "dimension_value",
    "integral_types",
    "path_to_bytes",
    "path_to_str",
    "real_types",
]


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

# Classes of values, for ``isinstance``.
bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)


def path_to_str(path: Any) -> Any:
    """Return a path object as text, and any other value as it is."""
    return as_str_any(path.__fspath__()) if hasattr(path, "__fspath__") else path


def path_to_bytes(path: Any) -> bytes:
    """Return a path as bytes."""
    return as_bytes(path_to_str(path))


def as_str_any(value: object, encoding: str = "utf-8") -> str:
    """Return any value as text."""
    return as_str(value, encoding) if isinstance(value, (bytes, bytearray)) else str(value)


def __getattr__(name: str) -> ModuleType:
    # Programs from the time of both versions call everything ``tf.compat.v1.NAME``.
    if name == "v1":
        return importlib.import_module("actorsession.compat.v1")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
