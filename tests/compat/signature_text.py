"""How a function is called, as text: of this library, and in ``collect_signatures.py``, without it, of TensorFlow."""

from __future__ import annotations

import enum
import inspect
from typing import Any

__all__ = ["parameters"]


def text(default: Any) -> str:
    """A default as text that is the same everywhere."""
    if hasattr(default, "as_datatype_enum") and not isinstance(default, type):
        return f"dtype {default.name}"
    if isinstance(default, enum.Enum):
        return f"enum {default.name}"
    if isinstance(default, type):
        return f"class {default.__name__}"
    known = type(default).__module__.startswith(("actorsession", "tensorflow"))
    if callable(default) or known or repr(default).startswith("<"):
        return f"a {type(default).__name__}"
    if isinstance(default, tuple):
        return repr(list(default))  # theirs are lists, which nobody should change
    return repr(default)


def parameters(found: Any) -> list[list[str]] | None:
    """The parameters of a function or class; ``None`` if it has no signature."""
    try:
        signature = inspect.signature(found.__init__ if inspect.isclass(found) else found)
    except (TypeError, ValueError):
        return None
    listed = []
    for name, p in signature.parameters.items():
        if name == "self":
            continue
        mark = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        listed.append([mark + name] if p.default is p.empty else [mark + name, text(p.default)])
    return listed
