"""The memory of a process as the operating system reports it.

Read by servers for their statistics, and by the parent of a process for its peak. Imports nothing of this
project but its host. Invariant: what the system does not report is 0, never an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from transports.host import current_host

__all__ = ["ProcessMemory", "process_memory"]

_OWN = Path("/proc/self/status")


class ProcessMemory(NamedTuple):
    """The memory of a process.

    Attributes:
        resident: the bytes that it holds now.
        peak: the most bytes that it has held.
    """

    resident: int = 0
    peak: int = 0


def process_memory(status: Path | None = None) -> ProcessMemory:
    """Return the memory of a process.

    Args:
        status: the status file of the process; by default that of this one.
    """
    if status is None and not current_host().processes.are_visible:
        return ProcessMemory()
    try:
        text = (status or _OWN).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ProcessMemory()
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return ProcessMemory(_bytes(fields.get("VmRSS", "")), _bytes(fields.get("VmHWM", "")))


def _bytes(text: str) -> int:
    """Return the bytes of a value such as ``  123 kB``."""
    words = text.split()
    return int(words[0]) * 1024 if words and words[0].isdigit() else 0
