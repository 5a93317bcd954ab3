"""Sound: files of waves."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {"actorsession.opsets.signals.audio": "decode_wav encode_wav"}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
