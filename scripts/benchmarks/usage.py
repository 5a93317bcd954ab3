"""What processes take of the machine, read from Linux's ``/proc``."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from .case import Effort

__all__ = ["grown_bytes", "processor_seconds", "watch_idle"]

_PROC = Path("/proc")
# How many times as long as other rows take steps an idle cluster is watched: heartbeats come each second.
_WATCHED = 12


def watch_idle(effort: Effort) -> float:
    """Return what this process and all that it has started take while nobody calls, in percent of a core."""
    pids = _tree(os.getpid())
    before, began = processor_seconds(pids), time.perf_counter()
    time.sleep(effort.seconds * _WATCHED)
    spent, took = processor_seconds(pids) - before, time.perf_counter() - began
    return 100.0 * spent / took


def grown_bytes(pid: int, grow: Callable[[], None]) -> int:
    """Return by how many bytes the memory of a process has grown after a call."""
    gc.collect()
    before = _resident_bytes(pid)
    grow()
    gc.collect()
    return _resident_bytes(pid) - before


def _resident_bytes(pid: int) -> int:
    pages = int((_PROC / str(pid) / "statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _tree(root: int) -> list[int]:
    """Return a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # it has ended meanwhile
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    out = [root]
    for pid in out:
        out += children.get(pid, ())
    return out


def processor_seconds(pids: Sequence[int]) -> float:
    """Return the processor time of all threads, in nanoseconds in ``schedstat`` and in ticks in ``stat``."""
    total = 0
    for pid in pids:
        for thread in (_PROC / str(pid) / "task").iterdir():
            with suppress(OSError):
                total += int((thread / "schedstat").read_text(encoding="ascii").split()[0])
    return total / 1e9
