"""Compatibility APIs for programs that were written for other libraries."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {".alias": "install_alias remove_alias"}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
