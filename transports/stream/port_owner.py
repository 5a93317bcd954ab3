"""The process that listens at a tcp port of this machine, as far as Linux reports it.

The error for a port that is taken names this process, so that it can be stopped. ``/proc/net`` lists the
listening sockets, and ``/proc/PID/fd`` the process that holds one, for processes that we may inspect. The
module imports nothing of this project and is called only after binding has failed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# The state of a listening socket in ``/proc/net/tcp``.
_LISTENS = "0A"
# Columns of ``/proc/net/tcp``.
_LOCAL, _STATE, _INODE = 1, 3, 9


def port_owner(port: int, proc: Path = Path("/proc")) -> tuple[int, str] | None:
    """Return pid and name of a process that listens at a port, or None where it cannot be determined.

    Args:
        port: A tcp port of this machine, at any of its addresses.
        proc: The folder of the proc file system.
    """
    links = {f"socket:[{inode}]" for inode in _listening_inodes(port, proc)}
    if not links:
        return None
    for pid in _pids(proc):
        folder = proc / str(pid)
        try:
            if not links.isdisjoint(_links(folder / "fd")):
                return pid, (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:  # it belongs to another user, or has ended meanwhile
            continue
    return None


def _links(folder: Path) -> Iterator[str]:
    """Yield the targets of a process's descriptors, except those that are closed meanwhile."""
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):
            yield os.readlink(folder / name)


def _listening_inodes(port: int, proc: Path) -> Iterator[str]:
    for name in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / name).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            columns = line.split()
            if len(columns) > _INODE and columns[_STATE] == _LISTENS:
                _, _, digits = columns[_LOCAL].rpartition(":")
                if int(digits, 16) == port:
                    yield columns[_INODE]


def _pids(proc: Path) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(proc) if name.isdigit())
    except OSError:
        return []
