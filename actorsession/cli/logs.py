"""The log of commands: warnings, or the level that ``ACTORSESSION_LOG`` names, to standard error or a file.

Called once by ``main``. A file is appended to in whole lines, with the process id in each because the
processes of a cluster share it. A file that was renamed or removed is made anew at the next line; SIGHUP,
which programs that rename logs send, therefore needs to do nothing, and does not end a process with a file.
What ``warnings.warn`` says, such as that a plug-in cannot be used, is a line of the log too.

A peer that retries for ever must not fill a disk: each warning about a peer is logged once a minute, with the
number of suppressed repetitions. A program that imports the package sets up its own logging and receives all
records.
"""

from __future__ import annotations

import io
import logging
import os
import signal
import stat
import threading
import time
import warnings
from collections.abc import Callable
from logging.handlers import WatchedFileHandler
from typing import TextIO

from actorsession.cli.console import UsageError, given
from actorsession.terminal_text import VisibleFormatter

__all__ = ["LEVEL_VARIABLE", "OncePerMinute", "set_up_logging"]

LEVEL_VARIABLE = "ACTORSESSION_LOG"
_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_FILE_FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s %(message)s"
_SECONDS = 60.0
# Peers and messages that are remembered; some 200 bytes each.
_REMEMBERED = 4096


def set_up_logging(path: str | None = None) -> None:
    """Set up the logging of this process.

    Args:
        path: the file to append to; ``None`` for standard error, unless logging is set up already.

    Raises:
        UsageError: if the environment variable does not name a level, or the file cannot be opened.
    """
    level = os.environ.get(LEVEL_VARIABLE, "")
    if level.upper() not in ("", *logging.getLevelNamesMapping()):
        raise UsageError(
            f"{LEVEL_VARIABLE} must be one of debug, info, warning, error and critical, got {level!r:.100}"
        )
    with given("--log-file"):
        handler: logging.Handler = logging.StreamHandler() if path is None else _file_handler(path)
    # Also for libraries that give their own loggers a lower level, as Dask does.
    handler.setLevel(level.upper() or "WARNING")
    handler.addFilter(OncePerMinute())
    if not level:
        handler.addFilter(lambda record: not hasattr(record, "hint"))
    handler.setFormatter(VisibleFormatter(_FORMAT if path is None else _FILE_FORMAT))
    logging.basicConfig(level=level.upper() or "WARNING", handlers=[handler], force=path is not None)
    warnings.showwarning = _log_warning


def _log_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Log a warning in one line, without the line of source that Python shows with it."""
    text = f"{message} ({filename}:{lineno})"
    logging.getLogger("py.warnings").warning("%s: %s", category.__name__, text)


class _LogFile(WatchedFileHandler):
    """A file that only its owner may read; flushes each line.

    A FIFO is a log, too, while somebody reads it; without a reader it is refused, and not waited for.
    """

    def _open(self) -> io.TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", opener=_open_log)


def _open_log(path: str, flags: int) -> int:
    from actorsession.checkpoints.atomic import PRIVATE  # not where numpy is missing, for doctor

    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), PRIVATE)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.set_blocking(descriptor, True)
    return descriptor


def _file_handler(path: str) -> logging.Handler:
    handler = _LogFile(path, encoding="utf-8")
    if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGHUP, lambda number, frame: None)
    return handler


class OncePerMinute(logging.Filter):
    """Passes a warning once a minute for each peer, or for each text if it has no peer.

    Args:
        clock: returns the time in seconds; replaced by tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._logged: dict[tuple[str, str, str], list[float]] = {}  # last time, and repetitions since

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record; add the number of suppressed ones to its message."""
        if record.levelno < logging.WARNING:
            return True
        of = getattr(record, "peer", None) or record.getMessage()
        key = record.name, str(record.msg), of
        now = self._clock()
        entry = self._logged.get(key)
        if entry is not None and now - entry[0] < _SECONDS:
            entry[1] += 1
            return False
        self._logged.pop(key, None)  # the latest entries come last
        self._logged[key] = [now, 0]
        if len(self._logged) > _REMEMBERED:
            del self._logged[next(iter(self._logged))]
        if entry is not None and entry[1]:
            record.msg = f"{record.getMessage()} (and {entry[1]:.0f} more times since the last such line)"
            record.args = None
        return True
