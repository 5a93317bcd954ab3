"""Who listens at a tcp port of this machine, as far as Linux tells.

For the error of a port that is taken: whoever reads it wants to know whom to stop. `/proc/net` says
which socket listens there, and `/proc/PID/fd` which process holds it, for processes that we may look
at. Imports nothing of ours; called where binding has failed, never otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

# As `/proc/net/tcp` writes the state of a socket that listens.
_LISTENS = "0A"
# Of the columns of `/proc/net/tcp`.
_LOCAL, _STATE, _INODE = 1, 3, 9


def port_owner(port: int, proc: Path = Path("/proc")) -> tuple[int, str] | None:
    """Return pid and name of a process that listens at a port, or None where that cannot be told.

    Args:
        port: A tcp port of this machine, at whichever of its addresses.
        proc: Where the kernel shows its processes.
    """
    wanted = {f"socket:[{inode}]" for inode in _listening_inodes(port, proc)}
    if not wanted:
        return None
    for pid in _pids(proc):
        folder = proc / str(pid)
        try:
            if not wanted.isdisjoint(_links(folder / "fd")):
                return pid, (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:  # it is another user's, or has ended meanwhile
            continue
    return None


def _links(folder: Path) -> Iterator[str]:
    """What the descriptors of a process are; those that are closed meanwhile are left out."""
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
