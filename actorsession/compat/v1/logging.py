"""TensorFlow's logging functions, for the standard library's logger ``actorsession``."""

from __future__ import annotations

import logging as _logging

__all__ = [
    "DEBUG", "ERROR", "FATAL", "INFO", "WARN", "debug", "error", "fatal", "get_verbosity", "info", "log",
    "set_verbosity", "warn", "warning",
]  # fmt: skip

DEBUG, INFO, WARN, ERROR, FATAL = (
    _logging.DEBUG, _logging.INFO, _logging.WARNING, _logging.ERROR, _logging.CRITICAL,
)  # fmt: skip

_log = _logging.getLogger("actorsession")

debug = _log.debug
info = _log.info
warning = _log.warning
warn = _log.warning
error = _log.error
fatal = _log.critical
log = _log.log


def set_verbosity(v: int) -> None:
    """Set the minimal level of logged messages."""
    _log.setLevel(v)


def get_verbosity() -> int:
    """Return the minimal level of logged messages."""
    return _log.getEffectiveLevel()
