"""The sidecar of a server: a small process that says of it, to other hosts, whether it lives.

On one host the operating system tells everybody whether a silent server is stopped, busy or gone. Other hosts
have to ask, and a server whose interpreter is held by a kernel cannot answer; its sidecar can. Owned by a
server through ``Vitals``, and started when it listens beyond loopback; the program itself, and who asks it,
are in ``actors``.

Invariant: the sidecar ends with the server. Its standard input is a pipe that nobody else holds.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import secrets
import socket
import sys
from dataclasses import replace

from actorsession.rpc.liveness import sidecar as program
from actorsession.rpc.liveness.heartbeat_memory import HeartbeatLocation, HeartbeatMemory
from actorsession.runtime.watchdog import WATCHDOG
from transports import Address, parse_address

__all__ = ["Sidecar", "Vitals", "start_sidecar"]

_log = logging.getLogger("actorsession.cluster")
_SECRET = 16
# Seconds for a process that ends at once, on a machine that is busy.
_GRACE = 2.0


class Vitals:
    """All that a server shows of its life: its pulse and its sidecar.

    Args:
        beat: seconds between signs of life.
        always: whether to have a sidecar on loopback too.
    """

    def __init__(self, beat: float, *, always: bool) -> None:
        self._beat = beat
        self._always = always
        self._pulse: HeartbeatMemory | None = None
        self.sidecar: Sidecar | None = None

    async def start(self, address: str, token: str | None) -> str:
        """Begin to show it, on the running loop.

        Args:
            address: where the server is to listen.
            token: the cluster's, if it has one.

        Returns:
            The line about it for the server's hello.
        """
        self._pulse = pulse = HeartbeatMemory(self._beat, WATCHDOG.late)
        where = parse_address(address)
        self.sidecar = await start_sidecar(where, pulse, token, always=self._always)
        return str(pulse.note if self.sidecar is None else self.sidecar.note)

    @property
    def lag(self) -> tuple[float, float]:
        """Seconds by which the loop came late, last and at worst."""
        return (0.0, 0.0) if self._pulse is None else (self._pulse.lag, self._pulse.worst_lag)

    async def aclose(self) -> None:
        """Show nothing any more; may be called twice."""
        if self._pulse is not None:
            self._pulse.close()
        sidecar, self.sidecar = self.sidecar, None
        if sidecar is not None:
            await sidecar.aclose()


class Sidecar:
    """A sidecar that runs.

    Args:
        process: it.
        note: what the server's hello says of it.
    """

    def __init__(self, process: asyncio.subprocess.Process, note: HeartbeatLocation) -> None:
        self._process = process
        self.note = note

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def aclose(self) -> None:
        """End it and waits until it is gone."""
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(_GRACE):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        transport = getattr(process, "_transport", None)
        if transport is not None:  # asyncio leaves the pipe open until that is collected
            transport.close()


async def start_sidecar(
    address: Address, pulse: HeartbeatMemory, token: str | None, *, always: bool
) -> Sidecar | None:
    """Start the sidecar of this process, if its server is to have one.

    It is not waited for: the socket at which it answers is bound here.

    Args:
        address: where the server is to listen.
        pulse: what the server shows.
        token: the cluster's, if it has one.
        always: whether to have one on loopback too, and to have it asked on this host as well.

    Returns:
        The sidecar; ``None`` if there is no need for one, or it cannot be had: then those on other
        hosts take silence for loss.
    """
    if not address.host or not pulse.note.host or not sys.executable:
        return None
    try:
        sock = await _bind(address.host, always=always)
        if sock is None:
            return None
        with sock:
            secret = secrets.token_bytes(_SECRET)
            process = await _spawn(sock, pulse)
            assert process.stdin is not None
            process.stdin.write(program.derive_key(token, secret))
            known = HeartbeatLocation(beat=pulse.note.beat) if always else pulse.note
            return Sidecar(process, replace(known, port=sock.getsockname()[1], secret=secret))
    except OSError as exc:
        _log.warning("the server at %s has no sidecar: %s", address, exc)
        return None


async def _bind(host: str, *, always: bool) -> socket.socket | None:
    """A datagram socket at a host's address; ``None`` if that is loopback."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, 0, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE)
    family, kind, number, _, where = found[0]
    if not always and ipaddress.ip_address(str(where[0]).partition("%")[0]).is_loopback:
        return None
    sock = socket.socket(family, kind, number)
    try:
        sock.setblocking(False)
        sock.bind(where)
    except OSError:
        sock.close()
        raise
    return sock


async def _spawn(sock: socket.socket, pulse: HeartbeatMemory) -> asyncio.subprocess.Process:
    memory = pulse.note.memory
    numbers = (os.getpid(), pulse.note.started, sock.fileno(), memory)
    return await asyncio.create_subprocess_exec(
        # Isolated and without site: it starts in 30 ms, and nothing that is installed gets into it.
        sys.executable, "-I", "-S", program.__file__, *map(str, numbers),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        pass_fds=[sock.fileno(), *([memory] if memory >= 0 else [])],
        start_new_session=True,  # what stops or ends us at the terminal is not for it
    )  # fmt: skip
