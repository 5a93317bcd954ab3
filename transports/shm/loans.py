"""What one end of a connection lends to the other beside segments: objects that the peer reads by means of its own.

``lane`` makes ``Loans`` where the peer has opened the arena. The peer has a lock on a byte of the arena then, which
ends with its end of the connection or with its process: it can no longer read what was lent to it. So loans that are
left at the end of a connection are kept until that lock is gone. The module imports ``arena``.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from contextlib import suppress

from transports.shm.arena import is_locked


class Loans:
    """What is lent over one connection.

    Attributes:
        lent: The objects by number; who lends them adds and removes them.
    """

    def __init__(self, descriptor: int, number: int) -> None:
        """Make loans without an object.

        Args:
            descriptor: Of the arena, which may be closed before the loans end.
            number: That of the peer among the readers of the arena.

        Raises:
            OSError: There are no descriptors left.
        """
        self.lent: dict[int, object] = {}
        self._number = number
        self._descriptor = os.dup(descriptor)
        weakref.finalize(self, os.close, self._descriptor).atexit = False

    def end(self, every: float) -> None:
        """Drop what is lent as soon as the peer, whose connection has ended here, cannot read it any more.

        Args:
            every: Seconds between looks at that.
        """
        if self.lent and is_locked(self._descriptor, self._number):
            with suppress(RuntimeError):  # the loop is closed
                asyncio.get_running_loop().call_later(every, self.end, every)
        else:
            self.lent.clear()
