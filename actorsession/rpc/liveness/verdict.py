"""The verdict over a silent peer: busy, stopped, stuck, gone or unreachable.

``LivenessVerdict`` is plain code without clock or files: it receives observations and returns a finding.
``peer_monitor`` passes observations from the operating system to it. ``PeerMonitor`` requests a finding
when a lease has expired, and at every beat from then on.

The rules, in this order. A process that is gone or stopped is lost at once. One whose event loop runs while
nothing arrives is disconnected from this host, and lost. One that has used the processor within the last
``PATIENCE`` leases is busy, and is waited for. One that has not is stuck, and lost: a deadlock, or a call
that holds the interpreter lock for ever.
"""

from __future__ import annotations

from actorsession.rpc.liveness.sidecar import Sighting

__all__ = ["PATIENCE", "LivenessVerdict"]

PATIENCE = 3
"""Leases after which a process that neither answers nor uses the processor is lost.

It is long enough for a call that sleeps with the interpreter lock for twice the time allowed to a stopped
peer.
"""

# Iterations that prove that the event loop runs. The peer counts twice a beat, so an event loop that is
# blocked right after a count shows one or two counts without a heartbeat, depending on the phase of the
# timers.
_TURNS = 3
# Threads that wait for the interpreter lock wake every 5 ms and use some 0.2 % of a processor each.
_SHARE = 0.02
# The kernel counts processor time in steps of 10 ms.
_LEAST = 0.02
_STOPPED = frozenset("Tt")
_ENDED = frozenset("ZXx")
_RUNS = "R"


class LivenessVerdict:
    """The observations of one peer since something last arrived from it.

    Args:
        process: the name of the process in findings, such as ``process 4711``.
        lease: seconds of silence after which it is judged.
    """

    def __init__(self, process: str, lease: float) -> None:
        self._process = process
        self._lease = lease
        self._seen: list[tuple[float, Sighting]] = []  # of the last lease
        self._gone = False
        self._first_turns: int | None = None
        self._worked = float("-inf")  # when it was last observed using the processor

    def heard(self) -> None:
        """Discard the observations, because something arrived from the peer."""
        self._seen.clear()
        self._gone = False
        self._first_turns = None
        self._worked = float("-inf")

    def note(self, now: float, seen: Sighting | None) -> None:
        """Record an observation of the peer.

        Args:
            now: seconds of the clock.
            seen: the observation; ``None`` if the process is gone.
        """
        if seen is None:
            self._gone = True
            return
        if self._first_turns is None or seen.turns is None:
            self._first_turns = seen.turns
        self._seen.append((now, seen))
        while self._seen[0][0] < now - self._lease:
            del self._seen[0]
        since, before = self._seen[0]
        used, least = seen.cpu - before.cpu, max(_LEAST, _SHARE * (now - since))
        if used >= least or seen.state == _RUNS:
            self._worked = now

    def finding(self, now: float, silence: float) -> str | None:
        """Judge a peer whose lease has expired.

        Args:
            now: seconds of the clock.
            silence: seconds for which nothing has arrived from it.

        Returns:
            The reason why it is lost; ``None`` if it is to be waited for.
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
