"""Protobuf's own modules beside the stand-ins for them: whoever made a message's class serves it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from actorsession.interop.message import Message

__all__ = ["protobuf_module", "serving"]


def serving(name: str, ours: ModuleType) -> Callable[[Any, str], Callable[..., Any]]:
    """Return what finds the function for a message: ours for our messages, protobuf's for its own.

    Args:
        name: the module of ``google.protobuf``, which need not be installed.
        ours: the module of this library with the same functions.
    """

    def function_for(message: Any, function: str) -> Callable[..., Any]:
        theirs = None if isinstance(message, Message) else protobuf_module(name)
        chosen: Callable[..., Any] = getattr(ours if theirs is None else theirs, function)
        return chosen

    return function_for


def protobuf_module(name: str) -> ModuleType | None:
    """Return a module of ``google.protobuf``, loaded under another name; ``None`` if it is not installed."""
    kept = f"{__name__}.{name}"
    if kept not in sys.modules:
        try:
            package: Any = importlib.import_module("google.protobuf")
        except ImportError:
            return None
        spec = PathFinder.find_spec(f"google.protobuf.{name}", package.__path__)
        if spec is None or spec.loader is None:
            return None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[kept] = module
    return sys.modules[kept]
