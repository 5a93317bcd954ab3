"""The nonce of a save: what makes the names of its shards its own, and tells whether it is still under way.

Owns its form: 24 hexadecimal digits, of which eight each stand for the host (its boot and process namespace),
the process that saves, and chance. Shards that no index names belong to a save that is under way, or to one
that has ended without its index: the nonce tells which, as far as that can be known here.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import secrets
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

__all__ = ["FORM", "has_ended", "nonce_held"]

FORM = r"[0-9a-f]{24}"

_PID_MASK = 0xFFFFFFFF
# Those of saves of this process that are under way.
_under_way: set[str] = set()


@contextlib.contextmanager
def nonce_held() -> Iterator[str]:
    """A new nonce, of a save that is under way for as long as the block lasts."""
    nonce = f"{_host()}{os.getpid() & _PID_MASK:08x}{secrets.token_hex(4)}"
    _under_way.add(nonce)
    try:
        yield nonce
    finally:
        _under_way.discard(nonce)


def has_ended(nonce: str) -> bool:
    """Return whether a save is known to have ended; ``False`` if it may be under way, such as on another
    host."""
    host, pid = nonce[:8], int(nonce[8:16], 16)
    if host != _host():
        return False
    if pid == os.getpid() & _PID_MASK:
        return nonce not in _under_way
    if sys.platform == "win32":
        return False  # where nothing asks for a process without hurting it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it lives, and is another user's
    return False


@functools.cache
def _host() -> str:
    """Return what processes have in common that know each other by number."""
    parts = [platform.node()]
    # The same number may be another process after a boot, and in another container.
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        parts.append(os.readlink("/proc/self/ns/pid"))
    return f"{zlib.crc32('|'.join(parts).encode()):08x}"
