"""Watching a silent peer: where its pulse can be seen, and how.

Owns the two ways, and the choice between them by what the peer's hello says. A process on this host is
looked at through ``/proc``, which takes some microseconds; another host's is asked for with a datagram,
which the sidecar of that server answers. A peer that can be seen in neither way is not watched. ``Link``
holds a ``PeerMonitor``, which looks at each beat of a silence and, when the lease is over, has ``verdict``
decide.

Invariant: nothing here holds the loop: the network question is a child of the link, with a limit in time
of its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeAlias

from actorsession.rpc.liveness.heartbeat_memory import MEMORY_NAME, HeartbeatLocation, this_host
from actorsession.rpc.liveness.lease import Look
from actorsession.rpc.liveness.sidecar import (
    NONCE,
    Sighting,
    ask,
    derive_key,
    read_answer,
    read_turns,
    sight,
)
from actorsession.rpc.liveness.verdict import LivenessVerdict
from transports import Connection, parse_address

__all__ = ["PeerMonitor", "PeerProbe", "ProbeFactory", "probe_factory", "probe_for"]

# Beats without a sign of life that two timers which lie badly explain.
_UNREMARKABLE = 1.5

_log = logging.getLogger("actorsession.actors")

# Part of a beat that an answer may take, so that the next beat can ask again.
_LIMIT = 0.8
# A datagram may be lost: it is sent up to so many times, and one question in vain says nothing yet.
_AGAIN = 3
_IN_VAIN = 2


class PeerProbe(Protocol):
    """Sees whether a silent peer lives."""

    def heard(self) -> None:
        """The peer has said something."""

    def look(self, now: float) -> Coroutine[Any, Any, None] | None:
        """Look at the peer, which is silent.

        Returns:
            What is to be run for it, if the look takes time.
        """

    def finding(self, now: float, silence: float) -> str | None:
        """Why the peer is lost, which has been silent for its lease; ``None`` to wait for it."""


ProbeFactory: TypeAlias = Callable[[Connection, float, float], PeerProbe | None]
"""From a connection, beat and lease to a watch over the peer, if there is one."""


def probe_for(
    connection: Connection, beat: float, lease: float, token: str | None = None
) -> PeerProbe | None:
    """A watch over the peer of a connection.

    Args:
        connection: to the peer.
        beat: seconds between looks.
        lease: seconds of silence after which it is judged.
        token: the cluster's; sidecars on other hosts answer nobody who does not have it.

    Returns:
        The watch; ``None`` if the peer says nothing that helps.
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
    """``probe_for`` for the links of a cluster with a token, or with none."""

    def watch(connection: Connection, beat: float, lease: float) -> PeerProbe | None:
        return probe_for(connection, beat, lease, token)

    return watch


class PeerMonitor:
    """What a link makes of the silence of its peer.

    Args:
        watch: sees whether the peer lives; ``None`` if nobody does, so that silence is loss.
        beat: seconds between signs of life.
        peer: who and where it is, for the log.
    """

    def __init__(self, watch: PeerProbe | None, beat: float, peer: str) -> None:
        self._watch = watch
        self._usual = _UNREMARKABLE * beat
        self._peer = peer
        self._looking = self._waiting = False

    def judge(self, look: Look, now: float) -> tuple[str | None, Coroutine[Any, Any, None] | None]:
        """Take in what the lease says.

        Returns:
            Why the peer is lost, if it is; and what is to be run to see more of it, if anything.
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
        found = self._watch.finding(now, look.silence)
        if found is not None:
            return f"{said}: {found}", work
        if not self._waiting:
            self._waiting = True
            _log.info("%s is waited for: %s, but it does not look dead", self._peer, said)
        return None, work


class LocalProbe:
    """A watch over a process of this host.

    Args:
        pid: its number.
        note: what its hello says.
        lease: seconds of silence after which it is judged.
    """

    def __init__(self, pid: int, note: HeartbeatLocation, lease: float) -> None:
        self._pid = pid
        self._note = note
        self._silence = LivenessVerdict(f"process {pid}", lease)

    def sees(self) -> bool:
        """Return whether the process, which must be alive now, can be looked at."""
        try:
            return sight(self._pid, self._note.started) is not None
        except OSError:
            return False

    def heard(self) -> None:
        """Forget what was seen."""
        self._silence.heard()

    def look(self, now: float) -> None:
        """Look at once."""
        try:
            seen = sight(self._pid, self._note.started)
        except OSError:  # no descriptors left here: no news of the peer
            return
        if seen is not None:
            seen = seen._replace(turns=self._turns())
        self._silence.note(now, seen)

    def _turns(self) -> int | None:
        """Return the peer's count of its loop's turns, if we may see it."""
        if self._note.memory < 0:
            return None
        path = f"/proc/{self._pid}/fd/{self._note.memory}"
        try:
            # What else the number may stand for must not be opened: that may wait, or do something.
            if not os.readlink(path).startswith(f"/memfd:{MEMORY_NAME}"):
                return None
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:  # another user's process, as a rule
            return None
        try:
            return read_turns(descriptor)
        finally:
            os.close(descriptor)

    def finding(self, now: float, silence: float) -> str | None:
        """See ``PeerProbe.finding``."""
        return self._silence.finding(now, silence)


class RemoteProbe:
    """A watch over a server of another host, through its sidecar.

    Args:
        host: where the server is.
        port: of its sidecar.
        key: what the sidecar answers to.
        pid: the server's process, for findings.
        beat: seconds for an answer.
        lease: seconds of silence after which it is judged.
    """

    def __init__(
        self, host: str, port: int, key: bytes, pid: int, beat: float, lease: float
    ) -> None:
        self._host = host
        self._port = port
        self._key = key
        self._limit = _LIMIT * beat
        self._silence = LivenessVerdict(f"process {pid}", lease)
        self._asking = False
        self._in_vain = 0  # questions without an answer, one after the other
        self._heard = 0  # how often; an answer from before says nothing of the present silence

    def heard(self) -> None:
        """Forget what was seen."""
        self._heard += 1
        self._in_vain = 0
        self._silence.heard()

    def look(self, now: float) -> Coroutine[Any, Any, None] | None:
        """Ask the sidecar, unless it is being asked."""
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
        """See ``PeerProbe.finding``; a sidecar that does not answer says that its host is lost."""
        if self._in_vain >= _IN_VAIN:
            where = f"{self._host}, udp port {self._port}"
            return f"its sidecar at {where}, does not answer either"
        return self._silence.finding(now, silence)


class _Asker(asyncio.DatagramProtocol):
    """Waits for the answer to one question."""

    def __init__(self, key: bytes, nonce: bytes) -> None:
        self._key = key
        self._nonce = nonce
        self.seen: asyncio.Future[Sighting] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Take the answer; anything else may come from anybody."""
        seen = read_answer(self._key, self._nonce, data)
        if seen is not None and not self.seen.done():
            self.seen.set_result(seen)


async def _question(host: str, port: int, key: bytes, limit: float) -> Sighting | None:
    """Ask a sidecar; ``None`` if no answer comes within ``limit`` seconds."""
    nonce = secrets.token_bytes(NONCE)
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
