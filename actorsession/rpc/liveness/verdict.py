"""The judgement of a silent peer: is it busy, stopped, stuck or gone, or does its voice not reach us.

Owns ``LivenessVerdict``, plain code without clock or files: sightings come in, a finding goes out.
``peer_monitor`` feeds it from the operating system, ``Link`` asks it when a lease has run out, and every beat
from then on.

What is found, in this order: a process that is gone or stopped is lost at once. One whose loop turns while
nothing arrives is cut off from us, and lost. One that has used the processor within the last ``PATIENCE``
leases is busy, and waited for. One that has not is stuck, and lost: a deadlock, or a call that holds the
interpreter lock for ever.
"""

from __future__ import annotations

from collections import deque

from actorsession.rpc.liveness.sidecar import Sighting

__all__ = ["PATIENCE", "LivenessVerdict"]

PATIENCE = 3
"""Leases after which a process that neither answers nor uses the processor is lost: long enough for a call
that sleeps with the interpreter lock for twice the time that a stopped peer is given."""

# Turns of the loop that prove that it runs. The peer counts twice a beat, so a loop that is held right
# after a turn shows one or two that brought no beat, depending on how the timers lie.
_TURNS = 3
# Threads that wait for the interpreter lock wake every 5 ms and use some 0.2 % of a processor each.
_SHARE = 0.02
# The kernel counts processor time in steps of 10 ms.
_LEAST = 0.02
_STOPPED = frozenset("Tt")
_ENDED = frozenset("ZXx")
_RUNS = "R"


class LivenessVerdict:
    """What was seen of one peer since it was last heard.

    Args:
        process: what it is called in findings, such as ``process 4711``.
        lease: seconds of silence after which it is judged.
    """

    def __init__(self, process: str, lease: float) -> None:
        self._process = process
        self._lease = lease
        self._seen: deque[tuple[float, Sighting]] = deque()  # of the last lease
        self._gone = False
        self._first_turns: int | None = None
        self._worked = float("-inf")  # when it was last seen to have used the processor

    def heard(self) -> None:
        """Forget what was seen: the peer lives."""
        self._seen.clear()
        self._gone = False
        self._first_turns = None
        self._worked = float("-inf")

    def note(self, now: float, seen: Sighting | None) -> None:
        """Take in a look at the peer.

        Args:
            now: seconds of the clock.
            seen: what was seen; ``None`` if the process is gone.
        """
        if seen is None:
            self._gone = True
            return
        if self._first_turns is None or seen.turns is None:
            self._first_turns = seen.turns
        self._seen.append((now, seen))
        while self._seen[0][0] < now - self._lease:
            self._seen.popleft()
        since, before = self._seen[0]
        used, least = seen.cpu - before.cpu, max(_LEAST, _SHARE * (now - since))
        if used >= least or seen.state == _RUNS:
            self._worked = now

    def finding(self, now: float, silence: float) -> str | None:
        """Judge a peer whose lease has run out.

        Args:
            now: seconds of the clock.
            silence: seconds for which nothing has come from it.

        Returns:
            Why it is lost; ``None`` if it is to be waited for.
        """
        if self._gone:
            return f"{self._process} is gone"
        if not self._seen:
            return None
        seen = self._seen[-1][1]
        if seen.state in _ENDED:
            return f"{self._process} is gone"
        if seen.state in _STOPPED:
            return f"{self._process} is stopped (SIGSTOP?)"
        if (seen.turns or 0) - (self._first_turns or 0) >= _TURNS:
            return f"{self._process} runs, so what it sends does not come through"
        if now - max(self._worked, now - silence) >= PATIENCE * self._lease:
            return f"{self._process} does not answer and uses no processor time"
        return None
