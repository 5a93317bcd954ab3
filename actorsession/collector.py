"""Pauses of the garbage collector, for blocks that make many objects which stay.

Graphs, plans and modules exist as long as a session or the process. The collector would traverse them several
times while they are made: a graph of a million objects each time for 100 ms with the interpreter lock held,
and the modules of a server process for an eighth of their import time.

Called by whatever loads modules or plans graphs, in any thread; imports nothing of the package. The collector
is a switch of the whole process, so it is off while any thread is in such a block.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator

__all__ = ["pause_collector"]


class _Pauses:
    """The pauses of a process that are under way."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.was_on = False
        # Whether the program had frozen objects when that was asked last.
        self.beside_frozen = False


_pauses = _Pauses()


@contextlib.contextmanager
def pause_collector() -> Iterator[None]:
    """Switch the garbage collector off for a block, and count the new objects as old afterwards.

    A collector that the program has switched off itself stays off.
    """
    pauses = _pauses
    with pauses.lock:
        if not pauses.count:
            pauses.was_on = gc.isenabled()
            gc.disable()
        pauses.count += 1
    try:
        yield
    finally:
        if pauses is _pauses:  # not in a child that was forked meanwhile, whose collector works again
            _end(pauses)


def _end(pauses: _Pauses) -> None:
    with pauses.lock:
        pauses.count -= 1
        if not pauses.count and pauses.was_on:
            # Objects that the program has frozen stay frozen. Counting them walks over all, so it is done
            # until there are some: half a million take some 80 ms, and each new plan of a graph ends a pause.
            pauses.beside_frozen = pauses.beside_frozen or gc.get_freeze_count() > 0
            if not pauses.beside_frozen:
                # Both only link lists: new objects join the oldest generation without being traversed.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _start_anew() -> None:
    """Reset the state in a forked child, where the threads that hold it do not exist."""
    global _pauses
    if _pauses.count and _pauses.was_on:
        gc.enable()
    _pauses = _Pauses()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
