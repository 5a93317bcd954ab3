"""How far the clock of a peer is from that of this process, by the least round trip, as NTP does it.

A request and its answer are four moments: sent and returned by the clock here, arrived and answered by that of
the peer. If both ways took as long, the offset is the mean of their differences; else it is wrong by half of
what the ways took together at most. The estimate is kept, and is taken to be less exact as it grows older. A
new one replaces it that is more exact than it is by then, or that contradicts it: a clock was set, or another
process answers.

Masters and sessions own one for each process whose reports they read. Plain data; no clock is read here.
"""

from __future__ import annotations

import math

__all__ = ["ClockOffset"]

# Seconds by which two clocks part in a second: oscillators of hosts are within 50 millionths of the truth.
_DRIFT = 1e-4
# Seconds by which the sum of both ways may be negative because clocks are read to some digits only.
_ROUNDING = 1e-4


class ClockOffset:
    """The offset of one clock."""

    __slots__ = ("_at", "_error", "_offset")

    def __init__(self) -> None:
        self._at = self._offset = 0.0
        self._error = math.inf

    def learn(self, sent: float, arrived: float, answered: float, returned: float) -> None:
        """Take the moments of one request and its answer; ignore those that cannot be true.

        Args:
            sent: when the request was sent, in seconds of the clock here.
            arrived: when the peer had read it, in seconds of its clock.
            answered: when it sent the answer, likewise.
            returned: when the answer was read, in seconds of the clock here.
        """
        both = (returned - sent) - (answered - arrived)
        if not (sent <= returned and arrived <= answered and both >= -_ROUNDING):
            return
        offset, error = (sent - arrived + returned - answered) / 2, max(both, 0.0) / 2
        known, wrong = self.at(returned)
        if error <= wrong or abs(offset - known) > error + wrong:
            self._at, self._offset, self._error = returned, offset, error

    def at(self, moment: float) -> tuple[float, float]:
        """Return the seconds to add to a time of the peer, and by how many they may be wrong.

        Args:
            moment: when that is asked, by the clock here.

        Returns:
            Both; 0 and infinity without an estimate.
        """
        return self._offset, self._error + abs(moment - self._at) * _DRIFT
