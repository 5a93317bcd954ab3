"""How often a task is started again: the limit, the window that it applies to, and the pauses.

The models are systemd (the burst and the interval of its start limit) and the restart intensity of Erlang's
supervisors. Pure: the caller passes the time. Used by ``task_restarts``.
"""

from __future__ import annotations

import operator
from collections import deque

__all__ = ["WINDOW", "RestartLimit", "checked_restart"]

WINDOW = 60.0
"""Seconds for which a restart counts."""

_FIRST_PAUSE = 0.1
_GROWTH = 4.0
# Restarts that may be allowed; pauses of microseconds would keep a core busy.
_MOST = 1_000_000
# Attempts for which the pause grows; by then it is longer than the window.
_GROWS = 5


class RestartLimit:
    """The restarts of one task within the last ``WINDOW`` seconds.

    Each attempt counts, whether the process came up or not. The pause before an attempt is 0.1 s, and four
    times as long for each attempt that counts, but at most as long as lets pauses fill half of the window:
    otherwise long pauses would keep a task that ends at once below its limit for ever.

    Args:
        most: the attempts that are allowed within the window.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._attempts: deque[float] = deque()

    def pause(self, now: float) -> float | None:
        """Return the seconds to wait before the next attempt; ``None`` if the limit is reached."""
        while self._attempts and self._attempts[0] <= now - WINDOW:
            self._attempts.popleft()
        if len(self._attempts) >= self.most:
            return None
        grown = _FIRST_PAUSE * _GROWTH ** min(len(self._attempts), _GROWS)
        return float(min(grown, WINDOW / 2 / self.most))

    def record(self, now: float) -> None:
        """Count an attempt that begins now."""
        self._attempts.append(now)

    @property
    def counted(self) -> int:
        """The attempts that counted at the last call of ``pause``, and those since."""
        return len(self._attempts)


def checked_restart(restart: object) -> int:
    """Return a number of restarts.

    Raises:
        TypeError: if it is no integer; a bool is none.
        ValueError: if it is below 0.
    """
    expected = f"restart is how often a task may be started again within {WINDOW:g} s, 0 or more"
    try:
        number = operator.index(restart)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(restart, bool):
        raise TypeError(f"{expected}; got {restart!r:.100}")
    if not 0 <= number <= _MOST:
        shown = number if abs(number) < 2**64 else "a larger integer"  # which may be too long to show
        raise ValueError(f"{expected}; got {shown}, and the most is {_MOST}")
    return number
