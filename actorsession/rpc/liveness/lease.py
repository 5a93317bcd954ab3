"""The lease of a link: when to give a sign of life, and when to give up on the peer.

Owns the decision as plain code without a loop: ``Link`` asks it once per beat. The lease is over when
nothing has come from the peer for ``seconds``, not even the bytes of an unfinished frame. Whether
the peer is lost then, or only busy, is for ``peer_monitor`` to see, where it can.

Time in which our own process stood still does not count: it was stopped, or its loop was held, and
what the peer sent meanwhile lies unread. It shows as a look that comes later than the beat it was
due.
"""

from __future__ import annotations

from actorsession.errors import InvalidArgumentError
from actorsession.records import dataclass

__all__ = ["BEAT_SECONDS", "LEASE_SECONDS", "Lease", "Look"]

BEAT_SECONDS = 1.0

LEASE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Look:
    """What is to be done.

    Attributes:
        beat_due: whether a beat must be sent, because nothing else was.
        silence: seconds since the peer was last heard.
        lost: whether the lease has run out.
    """

    beat_due: bool
    silence: float
    lost: bool


class Lease:
    """The signs of life on one link.

    Args:
        beat: seconds between looks, and between signs of life.
        lease: seconds of silence after which the peer counts as lost; at least two beats.
        now: seconds of the clock that later looks are taken by.

    Raises:
        InvalidArgumentError: if the lease is shorter than two beats, or the beat is not positive.
    """

    def __init__(self, *, beat: float, lease: float, now: float) -> None:
        if not (beat > 0 and lease >= 2 * beat):
            raise InvalidArgumentError(
                f"a lease lasts at least two beats and a beat is above 0 s; got beat {beat} s, "
                f"lease {lease} s"
            )
        self.beat = beat
        self.seconds = lease
        self._looked = self._heard = now
        self._received = self._sent = 0

    def look(self, now: float, *, received: int, sent: int) -> Look:
        """Judge the time since the last look.

        Args:
            now: seconds of the clock.
            received: bytes that have come from the peer so far.
            sent: frames sent to it so far.
        """
        late = now - self._looked - self.beat
        self._looked = now
        if received != self._received:
            self._received, self._heard = received, now
        elif late > self.beat:
            self._heard += late
        beat_due = sent == self._sent
        self._sent = sent + beat_due  # the beat that is sent now is no sign of other traffic
        silence = now - self._heard
        # After a late look, what lies unread is read first: a beat more for that.
        enough = self.seconds + (self.beat if late > self.beat else 0.0)
        return Look(beat_due, silence, silence >= enough)
