"""A process's pulse: what it shows of itself to those who hear nothing from it.

Owns ``HeartbeatMemory``, the showing side, and ``HeartbeatLocation``, the line about it in a hello. A beat
over a link needs the peer's event loop, which a kernel may hold; what is shown here does not. A process is
named by host, pid namespace, number and start time, so a recycled number is not believed and a container's is
not mistaken. And each time its loop comes round it counts in a piece of memory that processes of the same
user can read: that tells a loop which is held from a network which is cut.

Servers have one from start to stop, clients one per connection; ``peer_monitor`` reads it at the other end.
Linux only: elsewhere the note says nothing, and silence means loss.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable
from functools import cache
from types import TracebackType

from actorsession.records import dataclass
from actorsession.rpc.liveness.lease import BEAT_SECONDS
from actorsession.rpc.liveness.sidecar import TURNS

__all__ = ["MEMORY_NAME", "HeartbeatLocation", "HeartbeatMemory", "this_host"]

MEMORY_NAME = "actorsession-pulse"
"""The name of the memory with the count; who is told of a descriptor looks whether it is that."""

# A peer may ask for more beats than we would send, but not for a flood of them.
_LEAST_BEAT = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatLocation:
    """What a hello says of a process's pulse.

    Attributes:
        beat: seconds between signs of life that it wants of its peers; 0 if it does not care.
        host: names host and pid namespace; "" where its process cannot be looked at.
        started: when the process was started, in ticks of the kernel.
        memory: descriptor of its count of turns; -1 for none.
        port: where its sidecar answers datagrams; 0 for none.
        secret: for the sidecar's key.
    """

    beat: float = 0.0
    host: str = ""
    started: int = 0
    memory: int = -1
    port: int = 0
    secret: bytes = b""

    def __str__(self) -> str:
        """Return the line that travels."""
        return (
            f"{self.beat:.6g} {self.host or '-'} {self.started} {self.memory} {self.port} "
            f"{self.secret.hex() or '-'}"
        )

    @classmethod
    def parse(cls, text: str) -> HeartbeatLocation:
        """Read a line; one that makes no sense says nothing."""
        try:
            beat, host, started, memory, port, secret = text.split()
            return cls(
                beat=max(_LEAST_BEAT, float(beat)), host=host.strip("-"), started=int(started),
                memory=int(memory), port=int(port) if int(port) < 2**16 else 0,
                secret=bytes.fromhex(secret.strip("-")),
            )  # fmt: skip
        except ValueError:
            return cls()


@cache
def this_host() -> str:
    """Names this host and the pid namespace that we are in; "" where there is no ``/proc``.

    Not by the machine's own name, which containers and clones share; and not in clear, because strangers
    hear it.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            boot = file.read()
        space = os.readlink("/proc/self/ns/pid").encode()
    except OSError:
        return ""
    return hashlib.blake2b(boot + space, digest_size=12).hexdigest()


def _started(pid: int) -> int | None:
    """When a process was started, in ticks of the kernel."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    return int(text[text.rindex(b")") + 2 :].split()[19])


class HeartbeatMemory:
    """What this process shows, on the running loop, from now until it is closed.

    Args:
        beat: seconds between signs of life on its links; peers are asked for the same.
        on_turn: called each time with the seconds by which the loop came late.

    Attributes:
        note: for the hello.
        lag: seconds by which the loop came late to its last count.
        worst_lag: the most that was, so far.
    """

    def __init__(
        self, beat: float = BEAT_SECONDS, on_turn: Callable[[float], None] | None = None
    ) -> None:
        self._on_turn = on_turn
        self._loop = asyncio.get_running_loop()
        # Twice a beat: a few counts without a beat then prove that beats do not come through.
        self._interval = beat / 2
        self._count = 0
        self.lag = self.worst_lag = 0.0
        self._memory = _make_memory()
        self._due = self._loop.time() + self._interval
        self._timer: asyncio.TimerHandle | None = self._loop.call_at(self._due, self._turn)
        started = _started(os.getpid()) if this_host() else None
        if started is None:
            self.note = HeartbeatLocation(beat=beat)
        else:
            self.note = HeartbeatLocation(
                beat=beat, host=this_host(), started=started, memory=self._memory
            )  # fmt: skip

    @property
    def memory(self) -> int:
        """The descriptor of the count; -1 for none."""
        return self._memory

    def _turn(self) -> None:
        now = self._loop.time()
        self.lag = max(0.0, now - self._due)
        self.worst_lag = max(self.lag, self.worst_lag)
        self._count += 1
        if self._memory >= 0:
            os.pwrite(self._memory, TURNS.pack(self._count), 0)
        self._due = now + self._interval
        self._timer = self._loop.call_at(self._due, self._turn)
        if self._on_turn is not None:
            self._on_turn(self.lag)

    def close(self) -> None:
        """Show nothing any more; may be called twice."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        memory, self._memory = self._memory, -1
        if memory >= 0:
            os.close(memory)

    def __enter__(self) -> HeartbeatMemory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


def _make_memory() -> int:
    """Memory that ends with the process, and that others find among its descriptors."""
    if not hasattr(os, "memfd_create"):
        return -1
    try:
        memory = os.memfd_create(MEMORY_NAME, os.MFD_CLOEXEC)
        os.pwrite(memory, TURNS.pack(0), 0)
    except OSError:  # no descriptors left, or a sandbox: one proof less
        return -1
    return memory
