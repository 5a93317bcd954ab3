"""The memory of a child process as Linux reports it: its peak, and whether it was killed for lack of memory.

The peak of a process cannot be read any more once it has ended, because the event loop reaps it. Therefore it
is sampled while the process runs, and the last sample counts. Only the cgroup shows that a kill was for lack
of memory, because it counts such kills: if there is one more than at the start of a child that ended by
SIGKILL, that kill is attributed to the child.

Owned by a ``WorkerProcess``. Invariant: what the kernel does not report is 0 or ``False``, never an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from actorsession.cluster.server.process_memory import process_memory

__all__ = ["MemoryUsage"]


class MemoryUsage:
    """Samples the memory of one process.

    Args:
        pid: the process; it must be alive.
        proc: the mount point of the proc file system.
        cgroups: the mount point of the control groups.

    Attributes:
        peak: the most bytes that the process was seen to hold; 0 if unknown.
    """

    def __init__(self, pid: int, proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> None:
        self._status = proc / str(pid) / "status"
        self._counter = next(_counters(proc / str(pid) / "cgroup", cgroups), None)
        self._before = self._kills()
        self.peak = 0

    def look(self) -> None:
        """Update the peak."""
        self.peak = max(self.peak, process_memory(self._status).peak)

    @property
    def kills(self) -> int:
        """The number of processes of its cgroup that were killed for lack of memory since the start."""
        return max(0, self._kills() - self._before)

    def _kills(self) -> int:
        if self._counter is not None:
            for line in _lines(self._counter):
                name, _, value = line.partition(" ")
                if name == "oom_kill" and value.strip().isdigit():
                    return int(value)
        return 0


def _counters(membership: Path, cgroups: Path) -> Iterator[Path]:
    """Yield the files that may count the kills of a process's cgroup, as of version 2 or of version 1."""
    for line in _lines(membership):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        inner = path.strip().lstrip("/")
        if not controllers:
            # In a container the path may be one that exists only on its host.
            roots, name = [cgroups, cgroups / "unified"], "memory.events"
        elif "memory" in controllers.split(","):
            roots, name = [cgroups / "memory"], "memory.oom_control"
        else:
            continue
        for root in roots:
            for folder in (root / inner, root):
                if _lines(folder / name):
                    yield folder / name


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
