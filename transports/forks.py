"""Sockets that stay with the process that has opened them: a forked child gets a dead one in place of each.

A child shares the sockets of its parent. A frame that it sends would come between two of the parent's, and a
stream that it ends has ended for its parent too. Connections and listeners register here; the module imports
nothing of this package.
"""

from __future__ import annotations

import os
import socket
import weakref
from contextlib import suppress
from typing import Protocol


class Holder(Protocol):
    """What has a socket."""

    def descriptor(self) -> int:
        """Return the descriptor of the socket, or -1 once it is closed."""


_HOLDERS: weakref.WeakSet[Holder] = weakref.WeakSet()


def keep_from_children(holder: Holder) -> None:
    """Give forked children a dead socket in place of that of ``holder``."""
    _HOLDERS.add(holder)


def _start_anew() -> None:
    holders = list(_HOLDERS)
    _HOLDERS.clear()
    if not holders:
        return
    with suppress(OSError):  # no descriptors are left for two more
        dead, other = socket.socketpair()
        other.close()
        with dead:
            for holder in holders:
                with suppress(OSError):
                    if (number := holder.descriptor()) >= 0:
                        os.dup2(dead.fileno(), number, inheritable=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
