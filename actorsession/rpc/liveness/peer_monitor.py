"""Monitoring a silent peer: the two probes of its process, and the choice between them.

The choice depends on the peer's hello. A process on this host is inspected through ``/proc``, which takes
some microseconds. For a process on another host the sidecar of that server is queried with a datagram. A
peer that neither probe can reach is not monitored. ``Link`` holds a ``PeerMonitor``, which probes at each
heartbeat interval of a silence. When the lease has expired, ``verdict`` decides.

Invariant: nothing here blocks the event loop. The network query is a child of the link, with a timeout of
its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from actorsession.rpc.liveness.heartbeat_memory import MEMORY_NAME, HeartbeatLocation, this_host
from actorsession.rpc.liveness.lease import Look
from actorsession.rpc.liveness.sidecar import NONCE, Sighting, ask, derive_key, read_answer, read_turns, sight
from actorsession.rpc.liveness.verdict import LivenessVerdict
from transports import Connection, parse_address
from transports.host import current_host

__all__ = ["PeerMonitor", "PeerProbe", "ProbeFactory", "probe_factory", "probe_for"]

# Beats of silence that are explained by the timers of both ends being out of phase.
_UNREMARKABLE = 1.5

# What is read of a process: the places in /proc/PID/stat after its name, and the flag of one that exits.
_FLAGS, _STARTED, _STATUS, _EXITING = 6, 19, 49, 0x4

_log = logging.getLogger("actorsession.actors")

# Fraction of a beat that an answer may take, so that the next beat can query again.
_LIMIT = 0.8
# A datagram may be lost: it is sent up to _AGAIN times, and one unanswered query proves nothing yet.
_AGAIN = 3
_IN_VAIN = 2


class PeerProbe(Protocol):
    """A check of whether a silent peer is alive."""

    def heard(self) -> None:
        """Reset the probe, because the peer has sent something."""

    def look(self, now: float) -> Coroutine[Any, Any, None] | None:
        """Probe the peer, which is silent.

        Returns:
            A coroutine that the caller must run if the probe takes time, else None.
        """

    def finding(self, now: float, silence: float) -> str | None:
        """Return why the peer, whose lease has expired, is lost; ``None`` to keep waiting for it."""


ProbeFactory: TypeAlias = Callable[[Connection, float, float], PeerProbe | None]
"""Makes the probe of a peer from a connection, beat and lease, or returns None if there is none."""


def probe_for(connection: Connection, beat: float, lease: float, token: str | None = None) -> PeerProbe | None:
    """Make the probe of the peer of a connection.

    Args:
        connection: the connection to the peer.
        beat: seconds between checks.
        lease: seconds of silence after which the peer is judged.
        token: the token of the cluster; sidecars on other hosts answer only to its holders.

    Returns:
        The probe; ``None`` if the peer's hello has no usable location.
    """
    peer = connection.peer
    note = HeartbeatLocation.parse(peer.pulse)
    if note.host and note.host == this_host():
        local = LocalProbe(peer.pid, note, lease)
        if local.sees():
            return local
    if not note.port:
        return None
    try:
        host = parse_address(connection.peer_address).host
    except ValueError:
        return None
    if not host:
        return None
    return RemoteProbe(host, note.port, derive_key(token, note.secret), peer.pid, beat, lease)


def probe_factory(token: str | None) -> ProbeFactory:
    """Return ``probe_for`` bound to the token of a cluster, or to None."""

    def watch(connection: Connection, beat: float, lease: float) -> PeerProbe | None:
        return probe_for(connection, beat, lease, token)

    return watch


class PeerMonitor:
    """The evaluation of a peer's silence, for one link.

    Args:
        watch: the probe of the peer; ``None`` if there is none, so that silence means loss.
        beat: seconds between heartbeats.
        peer: name and address of the peer, for the log.
    """

    __slots__ = ("_looking", "_peer", "_usual", "_waiting", "_watch")

    def __init__(self, watch: PeerProbe | None, beat: float, peer: str) -> None:
        self._watch = watch
        self._usual = _UNREMARKABLE * beat
        self._peer = peer
        self._looking = self._waiting = False

    def judge(self, look: Look, now: float) -> tuple[str | None, Coroutine[Any, Any, None] | None]:
        """Evaluate the result of a lease check.

        Returns:
            The reason why the peer is lost, or None; and a coroutine to run for the probe, or None.
        """
        said = f"nothing came from it for {look.silence:.3g} s"
        if self._watch is None:
            return (said if look.lost else None), None
        if look.silence <= self._usual:
            if self._looking:
                self._looking = self._waiting = False
                self._watch.heard()
            return None, None
        self._looking = True
        work = self._watch.look(now)
        if not look.lost:
            return None, work
        finding = self._watch.finding(now, look.silence)
        if finding is not None:
            return f"{finding}; {said}", work
        if not self._waiting:
            self._waiting = True
            _log.info("%s is waited for: %s, but it does not look dead", self._peer, said)
        return None, work

    def fate(self) -> str | None:
        """Return how the peer's process has ended, such as "was killed by SIGKILL".

        Returns:
            The words; "" if it is about to end and can be asked again, ``None`` if it lives or is unknown.
        """
        return self._watch.fate() if isinstance(self._watch, LocalProbe) else None


class LocalProbe:
    """A probe of a process on this host.

    Args:
        pid: the pid of the process.
        note: the location from its hello.
        lease: seconds of silence after which it is judged.
    """

    __slots__ = ("_note", "_pid", "_silence")

    def __init__(self, pid: int, note: HeartbeatLocation, lease: float) -> None:
        self._pid = pid
        self._note = note
        self._silence = LivenessVerdict(f"process {pid}", lease)

    def sees(self) -> bool:
        """Return whether the process, which must be alive now, can be inspected."""
        try:
            return sight(self._pid, self._note.started) is not None
        except OSError:
            return False

    def fate(self) -> str | None:
        """See ``PeerMonitor.fate``; its exit status is known until its parent collects it."""
        try:
            words = Path(f"/proc/{self._pid}/stat").read_bytes().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return "has ended"
        except OSError:
            return None
        state, flags, started = words[0], int(words[_FLAGS]), int(words[_STARTED])
        if started != self._note.started:
            return "has ended"  # another process has its id
        if state not in (b"Z", b"X"):
            return "" if flags & _EXITING else None
        status = int(words[_STATUS])
        if os.WIFSIGNALED(status):
            return f"was killed by {signal.Signals(os.WTERMSIG(status)).name}"
        return f"ended with exit code {os.WEXITSTATUS(status)}"

    def heard(self) -> None:
        """Discard the observations."""
        self._silence.heard()

    def look(self, now: float) -> None:
        """Inspect the process at once."""
        try:
            seen = sight(self._pid, self._note.started)
        except OSError:  # no descriptors left in this process: no observation of the peer
            return
        if seen is not None:
            seen = seen._replace(turns=self._turns())
        self._silence.note(now, seen)

    def _turns(self) -> int | None:
        """Return the peer's counter of event loop iterations, if this process may read it."""
        if self._note.memory < 0:
            return None
        path = f"/proc/{self._pid}/fd/{self._note.memory}"
        try:
            # The descriptor may be another file, which must not be opened: that may block or have side
            # effects.
            if not os.readlink(path).startswith(f"/memfd:{MEMORY_NAME}"):
                return None
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:  # usually a process of another user
            return None
        try:
            return read_turns(descriptor)
        finally:
            os.close(descriptor)

    def finding(self, now: float, silence: float) -> str | None:
        """See ``PeerProbe.finding``."""
        return self._silence.finding(now, silence)


class RemoteProbe:
    """A probe of a server on another host, through its sidecar.

    Args:
        host: the host of the server.
        port: the UDP port of its sidecar.
        key: the key that authenticates queries to the sidecar.
        pid: the server's process, for findings.
        beat: seconds between checks; an answer may take a fraction of it.
        lease: seconds of silence after which the server is judged.
    """

    def __init__(self, host: str, port: int, key: bytes, pid: int, beat: float, lease: float) -> None:
        self._host = host
        self._port = port
        self._key = key
        self._limit = _LIMIT * beat
        self._silence = LivenessVerdict(f"process {pid}", lease)
        self._asking = False
        self._in_vain = 0  # consecutive queries without an answer
        self._heard = 0  # counts resets; an answer from before a reset is ignored

    def heard(self) -> None:
        """Discard the observations."""
        self._heard += 1
        self._in_vain = 0
        self._silence.heard()

    def look(self, now: float) -> Coroutine[Any, Any, None] | None:
        """Query the sidecar, unless a query is in progress."""
        if self._asking:
            return None
        self._asking = True
        return self._ask(now, self._heard)

    async def _ask(self, now: float, heard: int) -> None:
        try:
            seen = await _question(self._host, self._port, self._key, self._limit)
        finally:
            self._asking = False
        if heard != self._heard:
            return
        if seen is None:
            self._in_vain += 1
        else:
            self._in_vain = 0
            self._silence.note(now, seen)

    def finding(self, now: float, silence: float) -> str | None:
        """See ``PeerProbe.finding``; if the sidecar does not answer, its host is considered lost."""
        if self._in_vain >= _IN_VAIN:
            where = f"{self._host}, udp port {self._port}"
            return f"its sidecar at {where}, does not answer either"
        return self._silence.finding(now, silence)


class _Asker(asyncio.DatagramProtocol):
    """Receives the answer to one query."""

    def __init__(self, key: bytes, nonce: bytes) -> None:
        self._key = key
        self._nonce = nonce
        self.seen: asyncio.Future[Sighting] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Accept the answer; ignore any other datagram, which may come from any sender."""
        seen = read_answer(self._key, self._nonce, data)
        if seen is not None and not self.seen.done():
            self.seen.set_result(seen)


async def _question(host: str, port: int, key: bytes, limit: float) -> Sighting | None:
    """Query a sidecar; return ``None`` if no answer arrives within ``limit`` seconds."""
    nonce = current_host().entropy.token_bytes(NONCE)
    try:
        async with asyncio.timeout(limit):
            transport, asker = await asyncio.get_running_loop().create_datagram_endpoint(
                lambda: _Asker(key, nonce), remote_addr=(host, port)
            )
            try:
                while not asker.seen.done():
                    transport.sendto(ask(key, nonce))
                    await asyncio.wait({asker.seen}, timeout=limit / _AGAIN)
                return asker.seen.result()
            finally:
                transport.close()
    except (OSError, TimeoutError):
        return None
