"""Modules that programs import from ``tensorflow.core.profiler``."""

from __future__ import annotations

from actorsession.compat.v1.core import files_of

__all__, __getattr__, __dir__ = files_of("profiler")
