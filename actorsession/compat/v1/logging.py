"""TensorFlow's logging functions, for the standard library's logger ``tensorflow``.

Messages go to standard error as ``LEVEL:tensorflow:message``, from ``WARN`` on. A program that has handlers
of its own on the root logger when this module is imported gets them there alone, as from TensorFlow.
"""

from __future__ import annotations

import logging as _logging
import sys as _sys
from collections import Counter as _Counter
from typing import Any as _Any

from actorsession.plan.placement_log import PLACEMENT_LOG as _PLACEMENT_LOG

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "TaskLevelStatusMessage",
    "debug",
    "error",
    "fatal",
    "flush",
    "get_verbosity",
    "info",
    "log",
    "log_every_n",
    "log_first_n",
    "log_if",
    "set_verbosity",
    "vlog",
    "warn",
    "warning",
]

DEBUG, INFO, WARN, ERROR, FATAL = (_logging.DEBUG, _logging.INFO, _logging.WARNING, _logging.ERROR, _logging.CRITICAL)


class _StandardError(_logging.StreamHandler[_Any]):
    """Writes to what ``sys.stderr`` is at that time."""

    def __init__(self, form: str = "%(levelname)s:%(name)s:%(message)s") -> None:
        _logging.Handler.__init__(self)
        self.setFormatter(_logging.Formatter(form))

    @property
    def stream(self) -> _Any:
        return _sys.stderr

    @stream.setter
    def stream(self, stream: _Any) -> None:
        raise AttributeError("messages go to sys.stderr")


def get_logger() -> _logging.Logger:
    """Return the logger ``tensorflow``."""
    return _log


def show_placement() -> None:
    """Write the devices of sessions and nodes to standard error, from now on, where sessions log them."""
    log = _logging.getLogger(_PLACEMENT_LOG)
    if not log.handlers:
        log.addHandler(_StandardError("%(message)s"))
        log.setLevel(INFO)


_log = _logging.getLogger("tensorflow")
if not _log.level:
    _log.setLevel(WARN)
if not _logging.getLogger().handlers and not _log.handlers:
    _log.addHandler(_StandardError())

debug = _log.debug
info = _log.info
warning = _log.warning
warn = _log.warning
error = _log.error
fatal = _log.critical
log = _log.log
vlog = _log.log

_seen: _Counter[tuple[str, int]] = _Counter()


def _count() -> int:
    """How often the line that calls a function of this module has done so before."""
    frame = _sys._getframe(2)
    line = (frame.f_code.co_filename, frame.f_lineno)
    _seen[line] += 1
    return _seen[line] - 1


def log_every_n(level: int, msg: str, n: int, *args: object) -> None:
    """Log a message the first time that a line of a program calls this, and every ``n`` times after."""
    if _count() % n == 0:
        _log.log(level, msg, *args)


def log_first_n(level: int, msg: str, n: int, *args: object) -> None:
    """Log a message the first ``n`` times that a line of a program calls this."""
    if _count() < n:
        _log.log(level, msg, *args)


def log_if(level: int, msg: str, condition: object, *args: object) -> None:
    """Log a message if a condition is true."""
    if condition:
        _log.log(level, msg, *args)


def TaskLevelStatusMessage(msg: str) -> None:
    """Log a message of the whole task, as an error so that it is seen."""
    error(msg)


def flush() -> None:
    """Write what handlers hold back."""
    for handler in _log.handlers:
        handler.flush()


def set_verbosity(v: int) -> None:
    """Set the minimal level of logged messages."""
    _log.setLevel(v)


def get_verbosity() -> int:
    """Return the minimal level of logged messages."""
    return _log.getEffectiveLevel()
