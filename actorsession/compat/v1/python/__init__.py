"""Modules that programs import from ``tensorflow.python``."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    ".client": "*=client",
    ".framework": "*=framework",
    ".ops": "*=ops",
    ".saved_model": "*=saved_model",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
