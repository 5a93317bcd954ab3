"""The logging of commands to standard error: warnings, or the level that ``ACTORSESSION_LOG`` names.

Called once by ``main``. A peer that retries for ever must not fill a disk: each warning about a peer is
logged once a minute, with the number of suppressed repetitions. A program that imports the package sets up
its own logging and receives all records.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable

__all__ = ["LEVEL_VARIABLE", "OncePerMinute", "log_to_stderr"]

LEVEL_VARIABLE = "ACTORSESSION_LOG"
_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_SECONDS = 60.0
# Peers and messages that are remembered; some 200 bytes each.
_REMEMBERED = 4096


def log_to_stderr() -> None:
    """Set up logging of this process to standard error, unless its logging is set up already.

    Raises:
        ValueError: if the environment variable does not name a level.
    """
    level = os.environ.get(LEVEL_VARIABLE, "")
    if level.upper() not in ("", *logging.getLevelNamesMapping()):
        raise ValueError(
            f"{LEVEL_VARIABLE} must be one of debug, info, warning, error and critical, got {level!r:.100}"
        )
    handler = logging.StreamHandler()
    handler.addFilter(OncePerMinute())
    if not level:
        handler.addFilter(lambda record: not hasattr(record, "hint"))
    logging.basicConfig(level=level.upper() or "WARNING", format=_FORMAT, handlers=[handler])


class OncePerMinute(logging.Filter):
    """Passes a warning once a minute for each peer, or for each text if it has no peer.

    Args:
        clock: returns the time in seconds; replaced by tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._logged: dict[
            tuple[str, str, str], list[float]
        ] = {}  # last time, and repetitions since

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
            record.msg = (
                f"{record.getMessage()} (and {entry[1]:.0f} more times since the last such line)"
            )
            record.args = None
        return True
