"""The sidecar of a server: a small process that reports to other hosts whether the server is alive.

On one host the operating system shows whether a silent server is stopped, busy or gone. Other hosts have to
ask, and a server whose interpreter is held by a kernel cannot answer; its sidecar can. Owned by a server
through ``Vitals``, and started when the server listens beyond loopback. The program itself is
``rpc.liveness.sidecar``; ``rpc.liveness.peer_monitor`` sends it requests.

Invariant: the sidecar ends with the server. Its standard input is a pipe that no other process holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import socket
import sys
from dataclasses import replace

from actorsession.cluster.launch.interpreter import flags
from actorsession.rpc.liveness import sidecar as program
from actorsession.rpc.liveness.heartbeat_memory import HeartbeatLocation, HeartbeatMemory
from actorsession.runtime.watchdog import watchdog
from transports import Address, parse_address
from transports.host import current_host

__all__ = ["Sidecar", "Vitals", "start_sidecar"]

_log = logging.getLogger("actorsession.cluster")
_SECRET = 16
# Seconds for a process that ends at once, on a busy machine.
_GRACE = 2.0


class Vitals:
    """The heartbeat memory and the sidecar of a server.

    Args:
        beat: seconds between heartbeats.
        always: whether to start a sidecar on loopback too.
    """

    def __init__(self, beat: float, *, always: bool) -> None:
        self._beat = beat
        self._always = always
        self._pulse: HeartbeatMemory | None = None
        self.sidecar: Sidecar | None = None

    async def start(self, address: str, token: str | None) -> str:
        """Start the heartbeat on the running loop, and the sidecar.

        Args:
            address: the address that the server is to listen at.
            token: the token of the cluster, if it has one.

        Returns:
            The heartbeat location for the server's hello.
        """
        self._pulse = pulse = HeartbeatMemory(self._beat, watchdog().late)
        where = parse_address(address)
        self.sidecar = await start_sidecar(where, pulse, token, always=self._always)
        return str(pulse.note if self.sidecar is None else self.sidecar.note)

    @property
    def lag(self) -> tuple[float, float]:
        """Seconds by which the loop was late, last and at worst."""
        return (0.0, 0.0) if self._pulse is None else (self._pulse.lag, self._pulse.worst_lag)

    def drop(self) -> None:
        """Do what ``aclose`` does without waiting, when the loop has ended."""
        if self._pulse is not None:
            self._pulse.close()
        sidecar, self.sidecar = self.sidecar, None
        if sidecar is not None:
            sidecar.kill()

    async def aclose(self) -> None:
        """Stop the heartbeat and the sidecar; may be called twice."""
        if self._pulse is not None:
            self._pulse.close()
        sidecar, self.sidecar = self.sidecar, None
        if sidecar is not None:
            await sidecar.aclose()


class Sidecar:
    """A running sidecar.

    Args:
        process: the process of the sidecar.
        note: the heartbeat location for the server's hello.
    """

    def __init__(self, process: asyncio.subprocess.Process, note: HeartbeatLocation) -> None:
        self._process = process
        self.note = note

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def kill(self) -> None:
        """Kill the process without waiting for its end."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def aclose(self) -> None:
        """End the process and wait until it is gone."""
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
        if transport is not None:  # asyncio leaves the pipe open until the transport is collected
            transport.close()


async def start_sidecar(address: Address, pulse: HeartbeatMemory, token: str | None, *, always: bool) -> Sidecar | None:
    """Start the sidecar of this process, if its server needs one.

    The sidecar is not waited for: the socket at which it answers is bound here.

    Args:
        address: the address that the server is to listen at.
        pulse: the heartbeat memory of the server.
        token: the token of the cluster, if it has one.
        always: whether to start one on loopback too, and to have it asked on this host as well.

    Returns:
        The sidecar; ``None`` if none is needed, or it cannot be started. In that case peers on other hosts
        declare the server lost when it is silent.
    """
    if not address.host or not pulse.note.host or not sys.executable:
        return None
    try:
        sock = await _bind(address.host, always=always)
        if sock is None:
            return None
        with sock:
            secret = current_host().entropy.token_bytes(_SECRET)
            process = await _spawn(sock, pulse)
            assert process.stdin is not None
            process.stdin.write(program.derive_key(token, secret))
            known = HeartbeatLocation(beat=pulse.note.beat) if always else pulse.note
            return Sidecar(process, replace(known, port=sock.getsockname()[1], secret=secret))
    except OSError as exc:
        _log.warning("the server at %s has no sidecar: %s", address, exc)
        return None


async def _bind(host: str, *, always: bool) -> socket.socket | None:
    """Return a datagram socket bound to a host's address; ``None`` if that is loopback."""
    loop = asyncio.get_running_loop()
    resolved = await loop.getaddrinfo(host, 0, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE)
    family, kind, number, _, where = resolved[0]
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
    numbers = (current_host().processes.getpid(), pulse.note.started, sock.fileno(), memory)
    return await current_host().processes.start(
        # Isolated and without site: it starts in 30 ms, and no installed code is loaded.
        sys.executable,
        "-I",
        "-S",
        *flags(),
        program.__file__,
        *map(str, numbers),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        pass_fds=[sock.fileno(), *([memory] if memory >= 0 else [])],
        start_new_session=True,  # signals of our terminal must not reach it
    )
