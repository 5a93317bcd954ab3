"""The nonce of a save: it makes the names of its shards unique, and shows whether the save is in progress.

A nonce has 24 hexadecimal digits: eight each for the host (its boot and process namespace), the process that
saves, and a random number. Shards that no index names belong to a save in progress, or to one that has ended
without its index: the nonce distinguishes the two, as far as that is possible on this host.
"""

from __future__ import annotations

import contextlib
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from transports.host import current_host

__all__ = ["FORM", "has_ended", "nonce_held"]

FORM = r"[0-9a-f]{24}"

_PID_MASK = 0xFFFFFFFF


def _under_way() -> set[str]:
    """Return the nonces of the saves of a process that are in progress; there are none yet."""
    return set()


@contextlib.contextmanager
def nonce_held() -> Iterator[str]:
    """Yield a new nonce, whose save is in progress for the length of the block."""
    host = current_host()
    pid = host.processes.getpid() & _PID_MASK
    nonce, under_way = f"{host.own(_host)}{pid:08x}{host.entropy.token_hex(4)}", host.own(_under_way)
    under_way.add(nonce)
    try:
        yield nonce
    finally:
        under_way.discard(nonce)


def has_ended(nonce: str) -> bool:
    """Return whether a save is known to have ended; ``False`` if unknown, such as on another host."""
    host, pid = nonce[:8], int(nonce[8:16], 16)
    if host != current_host().own(_host):
        return False
    if pid == current_host().processes.getpid() & _PID_MASK:
        return nonce not in current_host().own(_under_way)
    if sys.platform == "win32" or not current_host().processes.are_visible:
        return False  # Windows has no harmless way to test whether a process exists, and a simulation none
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it exists, and belongs to another user
    return False


def _host() -> str:
    """Return an identifier of the set of processes within which process numbers are unique."""
    host = current_host()
    parts = [host.network.gethostname()]
    if host.processes.are_visible:
        # The same number may be another process after a boot, and in another container.
        with contextlib.suppress(OSError):
            parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
            parts.append(os.readlink("/proc/self/ns/pid"))
    return f"{zlib.crc32('|'.join(parts).encode()):08x}"
