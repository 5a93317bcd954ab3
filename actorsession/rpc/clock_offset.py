"""How far the clock of a peer is from that of this process, by the quickest messages of each direction, as in NTP.

A message arrives after it was sent. So one to the peer is a lower bound of what has to be added to the times of
the peer, and one from the peer an upper bound; a request and its answer are one of each. The offset is taken to
be in the middle, as if the quickest messages of both directions had been on their way as long, and is wrong by
half of the distance at most. A bound is taken to be less exact as it grows older. Bounds that contradict each
other are forgotten: a clock was set, or another process answers.

Masters and sessions own one for each process whose reports they read. Plain data; no clock is read here.
"""

from __future__ import annotations

import math

__all__ = ["ClockOffset"]

# Seconds by which two clocks part in a second: oscillators of hosts are within 50 millionths of the truth.
_DRIFT = 1e-4
# Seconds by which bounds may contradict each other because clocks are read to some digits only.
_ROUNDING = 1e-4


class ClockOffset:
    """The offset of one clock."""

    __slots__ = ("_high", "_high_at", "_low", "_low_at")

    def __init__(self) -> None:
        self._low, self._high = -math.inf, math.inf
        self._low_at = self._high_at = 0.0

    def learn(self, sent: float, arrived: float, answered: float, returned: float) -> None:
        """Take the moments of one request and its answer; ignore those that cannot be true.

        Args:
            sent: when the request was sent, in seconds of the clock here.
            arrived: when the peer had read it, in seconds of its clock.
            answered: when it sent the answer, likewise.
            returned: when the answer was read, in seconds of the clock here.
        """
        low, high = sent - arrived, returned - answered
        if not (sent <= returned and arrived <= answered and low <= high + _ROUNDING and math.isfinite(high - low)):
            return
        self.sent(sent, arrived)
        self.received(answered, returned)
        known_low, known_high = self._bounds(returned)
        if known_low > high + _ROUNDING or known_high < low - _ROUNDING:
            self._low, self._high = low, max(low, high)
            self._low_at = self._high_at = returned

    def sent(self, sent: float, arrived: float) -> None:
        """Take a message to the peer: when it was sent by the clock here, and arrived by that of the peer."""
        low, (known, high) = sent - arrived, self._bounds(sent)
        if known <= low <= high + _ROUNDING:
            self._low, self._low_at = low, sent

    def received(self, sent: float, arrived: float) -> None:
        """Take a message of the peer: when it was sent by its clock, and arrived by the clock here."""
        high, (low, known) = arrived - sent, self._bounds(arrived)
        if low - _ROUNDING <= high <= known:
            self._high, self._high_at = high, arrived

    def at(self, moment: float) -> tuple[float, float]:
        """Return the seconds to add to a time of the peer, and by how many they may be wrong.

        Args:
            moment: when that is asked, by the clock here.

        Returns:
            Both; 0 and infinity without a message of each direction.
        """
        low, high = self._bounds(moment)
        if not math.isfinite(high - low):
            return 0.0, math.inf
        return (low + high) / 2, max(high - low, 0.0) / 2

    def _bounds(self, moment: float) -> tuple[float, float]:
        return self._low - abs(moment - self._low_at) * _DRIFT, self._high + abs(moment - self._high_at) * _DRIFT
