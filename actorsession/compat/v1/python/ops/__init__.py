"""Modules that programs import from ``tensorflow.python.ops``."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    ".collective_ops": "*=collective_ops",
    ".functional_ops": "*=functional_ops",
    ".rnn": "*=rnn",
    ".rnn_cell": "*=rnn_cell",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
