"""``tensorflow.core``: the modules of messages."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {".protobuf": "*=protobuf"}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
