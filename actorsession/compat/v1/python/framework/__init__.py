"""Modules that programs import from ``tensorflow.python.framework``."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {".function": "*=function"}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
