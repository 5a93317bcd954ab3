"""The lease of a link: when to send a heartbeat, and when a silent peer's lease has expired.

The decision is plain code without an event loop; ``Link`` calls it once per heartbeat interval. The lease
expires when nothing has arrived from the peer for ``seconds``, not even the bytes of an incomplete frame.
``peer_monitor`` then determines whether the peer is lost or only busy, where it can.

Time in which this process itself stood still does not count: it was stopped, or its event loop was blocked,
and what the peer sent meanwhile is unread. Such a pause shows as a check that comes later than the interval
at which it was due.
"""

from __future__ import annotations

from actorsession.durations import checked_seconds
from actorsession.errors import InvalidArgumentError
from actorsession.records import dataclass

__all__ = ["BEAT_SECONDS", "LEASE_SECONDS", "Lease", "Look", "check_lease"]

BEAT_SECONDS = 1.0

LEASE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Look:
    """The result of a check.

    Attributes:
        beat_due: whether a heartbeat must be sent, because nothing else was.
        silence: seconds since the last bytes from the peer.
        lost: whether the lease has expired.
    """

    beat_due: bool
    silence: float
    lost: bool


def check_lease(beat: float, lease: float) -> tuple[float, float]:
    """Return the seconds of a beat and a lease.

    Raises:
        InvalidArgumentError: the lease is shorter than two beats, or the beat is not positive.
    """
    beat, lease = checked_seconds("beat", beat), checked_seconds("lease", lease)
    if lease < 2 * beat:
        raise InvalidArgumentError(
            f"a lease lasts at least two beats and a beat is above 0 s; got beat {beat} s, lease {lease} s"
        )
    return beat, lease


class Lease:
    """The lease of one link.

    Args:
        beat: seconds between checks, and between heartbeats.
        lease: seconds of silence after which the lease expires; at least two beats.
        now: seconds of the clock that is used for later checks.

    Raises:
        InvalidArgumentError: the lease is shorter than two beats, or the beat is not positive.
    """

    __slots__ = ("_heard", "_looked", "_received", "_sent", "beat", "seconds")

    def __init__(self, *, beat: float, lease: float, now: float) -> None:
        self.beat, self.seconds = check_lease(beat, lease)
        self._looked = self._heard = now
        self._received = self._sent = 0

    def look(self, now: float, *, received: int, sent: int) -> Look:
        """Evaluate the time since the last check.

        Args:
            now: seconds of the clock.
            received: bytes that have arrived from the peer so far.
            sent: frames sent to it so far.
        """
        late = now - self._looked - self.beat
        self._looked = now
        if received != self._received:
            self._received, self._heard = received, now
        elif late > self.beat:
            self._heard += late
        beat_due = sent == self._sent
        self._sent = sent + beat_due  # the heartbeat sent now does not count as other traffic
        silence = now - self._heard
        # After a late check, unread bytes are read first: the lease is extended by one beat for that.
        enough = self.seconds + (self.beat if late > self.beat else 0.0)
        return Look(beat_due, silence, silence >= enough)
