"""The heartbeat of a process in shared memory, which peers can read when nothing arrives from the process.

``HeartbeatMemory`` is the publishing side, and ``HeartbeatLocation`` its description in a hello. A
heartbeat over a link needs the peer's event loop, which a kernel may block; the memory published here can
be read without it. A process is identified by host, pid namespace, pid and start time, so that neither a
recycled pid nor a container's is mistaken for it. The process also increments a counter from its event
loop, in memory that processes of the same user can read. The counter distinguishes a blocked event loop
from an interrupted network.

Servers have one ``HeartbeatMemory`` from start to stop, clients one per connection; ``peer_monitor`` reads
it at the other end. It works on Linux only. Elsewhere the location is empty, and silence means loss.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable
from functools import cache
from types import TracebackType

from actorsession.actors.ownership import Owner
from actorsession.records import dataclass
from actorsession.rpc.liveness.lease import BEAT_SECONDS
from actorsession.rpc.liveness.sidecar import TURNS
from transports.host import current_host

__all__ = ["MEMORY_NAME", "HeartbeatLocation", "HeartbeatMemory", "this_host"]

MEMORY_NAME = "actorsession-pulse"
"""The name of the memory with the counter; a reader checks that the given descriptor has this name."""

# A peer may request more heartbeats than this process would send by itself, but not a flood of them.
_LEAST_BEAT = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatLocation:
    """The description of a process's heartbeat in its hello.

    Attributes:
        beat: seconds between heartbeats that the process requests of its peers; 0 for no request.
        host: identifies host and pid namespace; "" where the process cannot be inspected.
        started: start time of the process, in clock ticks of the kernel.
        memory: descriptor of the memory with its counter; -1 for none.
        port: UDP port of its sidecar; 0 for none.
        secret: input of the sidecar's key.
    """

    beat: float = 0.0
    host: str = ""
    started: int = 0
    memory: int = -1
    port: int = 0
    secret: bytes = b""

    def __str__(self) -> str:
        """Return the text form that a hello carries."""
        return f"{self.beat:.6g} {self.host or '-'} {self.started} {self.memory} {self.port} {self.secret.hex() or '-'}"

    @classmethod
    def parse(cls, text: str) -> HeartbeatLocation:
        """Parse the text form; malformed text gives an empty location."""
        try:
            beat, host, started, memory, port, secret = text.split()
            return cls(
                beat=max(_LEAST_BEAT, float(beat)),
                host=host.strip("-"),
                started=int(started),
                memory=int(memory),
                port=int(port) if int(port) < 2**16 else 0,
                secret=bytes.fromhex(secret.strip("-")),
            )
        except ValueError:
            return cls()


def this_host() -> str:
    """Return an identifier of this host and pid namespace; "" where nobody can look at its processes.

    It is not the machine's name, which containers and clones share. It is a hash, because unauthenticated
    peers receive it.
    """
    return _this_machine() if current_host().processes.are_visible else ""


@cache
def _this_machine() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            boot = file.read()
        space = os.readlink("/proc/self/ns/pid").encode()
    except OSError:
        return ""
    return hashlib.blake2b(boot + space, digest_size=12).hexdigest()


def _started(pid: int) -> int | None:
    """Return the start time of a process in clock ticks of the kernel, or None if it cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    return int(text[text.rindex(b")") + 2 :].split()[19])


class HeartbeatMemory:
    """The published heartbeat of this process, on the running event loop, until it is closed.

    Args:
        beat: seconds between heartbeats on the links of the process; the same interval is requested of
            peers.
        on_turn: called at each count with the seconds by which the event loop was late.

    Attributes:
        note: the description for the hello.
        lag: seconds by which the event loop was late for its last count.
        worst_lag: the largest lag so far.
    """

    def __init__(self, beat: float = BEAT_SECONDS, on_turn: Callable[[float], None] | None = None) -> None:
        self._owner = Owner("heartbeat")
        self._on_turn = on_turn
        self._loop = asyncio.get_running_loop()
        # Twice per heartbeat interval: a few counts without a heartbeat then prove that heartbeats are lost
        # on the way.
        self._interval = beat / 2
        self._count = 0
        self.lag = self.worst_lag = 0.0
        self._memory = _make_memory()
        self._now = current_host().clock.monotonic
        self._due = self._now() + self._interval
        self._timer: asyncio.TimerHandle | None = self._loop.call_later(self._interval, self._turn)
        started = _started(current_host().processes.getpid()) if this_host() else None
        if started is None:
            self.note = HeartbeatLocation(beat=beat)
        else:
            self.note = HeartbeatLocation(beat=beat, host=this_host(), started=started, memory=self._memory)

    @property
    def memory(self) -> int:
        """The descriptor of the memory with the counter; -1 for none."""
        return self._memory

    def _turn(self) -> None:
        if self._owner.is_forked:
            return  # the memory counts the turns of the parent's loop
        now = self._now()
        self.lag = max(0.0, now - self._due)
        self.worst_lag = max(self.lag, self.worst_lag)
        self._count += 1
        if self._memory >= 0:
            os.pwrite(self._memory, TURNS.pack(self._count), 0)
        self._due = now + self._interval
        self._timer = self._loop.call_later(self._interval, self._turn)
        if self._on_turn is not None:
            self._on_turn(self.lag)

    def close(self) -> None:
        """Stop counting and close the memory; may be called twice."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        memory, self._memory = self._memory, -1
        if memory >= 0:
            os.close(memory)

    def __enter__(self) -> HeartbeatMemory:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def _make_memory() -> int:
    """Return a descriptor of memory that ends with the process, or -1 if there is none.

    Other processes find it among the descriptors of this process, where they can look at these.
    """
    if not this_host() or not hasattr(os, "memfd_create"):
        return -1
    try:
        memory = os.memfd_create(MEMORY_NAME, os.MFD_CLOEXEC)
        os.pwrite(memory, TURNS.pack(0), 0)
    except OSError:  # no descriptors left, or a sandbox: peers then have less evidence
        return -1
    return memory
