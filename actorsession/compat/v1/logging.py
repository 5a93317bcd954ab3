"""TensorFlow's log under its names: the logger ``actorsession`` of the standard library."""

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
    """Set from which level on messages are logged."""
    _log.setLevel(v)


def get_verbosity() -> int:
    """From which level on messages are logged."""
    return _log.getEffectiveLevel()
