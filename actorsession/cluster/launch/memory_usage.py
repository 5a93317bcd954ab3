"""What Linux tells of the memory of a child process: its peak, and whether it was killed for lack of it.

A process that has ended has no peak any more that its parent could ask for, because whoever waits for it is
the event loop; so it is looked at while it lives, and the last look counts. That a kill was for lack of
memory only the cgroup knows, which counts such kills: one more than at the start of a child that died by
SIGKILL is taken for its own.

Owned by a ``WorkerProcess``. Invariant: what the kernel does not tell is 0 or no, never an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["MemoryUsage"]


class MemoryUsage:
    """Looks at the memory of one process.

    Args:
        pid: the process; alive.
        proc: where the kernel shows processes.
        cgroups: where it shows control groups.

    Attributes:
        peak: the most bytes that it was seen to hold; 0 if that is not known.
    """

    def __init__(
        self, pid: int, proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")
    ) -> None:
        self._status = proc / str(pid) / "status"
        self._counter = next(_counters(proc / str(pid) / "cgroup", cgroups), None)
        self._before = self._kills()
        self.peak = 0

    def look(self) -> None:
        """Take in the peak so far."""
        for line in _lines(self._status):
            name, _, value = line.partition(":")
            words = value.split()
            if name == "VmHWM" and words and words[0].isdigit():
                self.peak = max(self.peak, int(words[0]) * 1024)

    @property
    def kills(self) -> int:
        """How many processes of its group were killed for lack of memory since the watch began."""
        return max(0, self._kills() - self._before)

    def _kills(self) -> int:
        if self._counter is not None:
            for line in _lines(self._counter):
                name, _, value = line.partition(" ")
                if name == "oom_kill" and value.strip().isdigit():
                    return int(value)
        return 0


def _counters(membership: Path, cgroups: Path) -> Iterator[Path]:
    """The files that may count the kills of a process's group: of version 2, then of version 1."""
    for line in _lines(membership):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        inner = path.strip().lstrip("/")
        if not controllers:
            # In a container the path may be one that only its host knows.
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
