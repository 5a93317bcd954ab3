"""Ownership: the process that has made an object, and the event loop on which it was first used.

Sessions, clusters and servers hold one ``Owner`` each and ask it before they do anything. Futures, transports
and timers work on one loop only: used on another they wait for ever, or end the loop that they belong to. A
forked child has copies of all objects and none of the threads, and its copies of sockets, pipes and pids are
those of its parent: whatever it closes or kills is its parent's.

Invariant: a call that is refused here has changed nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import sys
import threading
import weakref
from typing import Any

from transports.host import current_host

__all__ = ["Owner", "forks"]

forks = 0
"""Number of forks between the first process and this one. Comparing it costs a run nothing; asking for the
process id is a system call."""

# Those that live objects of this process belong to.
_LOOPS: weakref.WeakSet[asyncio.AbstractEventLoop] = weakref.WeakSet()


class Owner:
    """The process and the event loop that an object belongs to.

    Args:
        kind: what the object is, for messages: ``session``.

    Attributes:
        loop: the event loop; ``None`` while the object has none.
        thread: the thread in which the loop ran then; 0 while there is no loop.
    """

    __slots__ = ("_forks", "_kind", "_named", "_pid", "loop", "thread")

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._forks, self._pid = forks, current_host().processes.getpid()
        self._named = ""
        self.loop: asyncio.AbstractEventLoop | None = None
        self.thread = 0

    @property
    def is_forked(self) -> bool:
        """Whether this is a forked child of the process that has made the object."""
        return self._forks != forks

    @property
    def loop_has_ended(self) -> bool:
        """Whether the object had a loop that is closed."""
        return self.loop is not None and self.loop.is_closed()

    def check_process(self) -> None:
        """Refuse a forked child.

        Raises:
            RuntimeError: says that the object belongs to the parent process.
        """
        if self.is_forked:
            raise RuntimeError(
                f"this {self._kind} was made in process {self._pid} and cannot be used in the forked process "
                f"{current_host().processes.getpid()}: it belongs to the parent process, where its threads, loop and "
                f"connections stayed behind. Make a {self._kind} after the fork, or start processes with the spawn "
                "method"
            )

    def bind(self) -> None:
        """Let the object belong to the running loop, if one runs."""
        here = asyncio._get_running_loop()
        if here is None:
            return
        self.loop, self.thread, self._named = here, threading.get_ident(), _named(here)
        _LOOPS.add(here)

    def check(self, *, moves: bool = False) -> None:
        """Refuse a forked child, and every loop but that of the object; the first one becomes its own.

        Args:
            moves: whether an object whose loop has ended belongs to the next one.

        Raises:
            RuntimeError: names both loops, or says that the object's loop has ended.
        """
        if self._forks != forks:
            self.check_process()
        here = asyncio._get_running_loop()
        if self.loop is None or (moves and self.loop.is_closed()):
            self.bind()
        elif self.loop is not here:
            raise self._wrong_loop(here)

    def _wrong_loop(self, here: asyncio.AbstractEventLoop | None) -> RuntimeError:
        if self.loop_has_ended:
            return RuntimeError(
                f"this {self._kind} belongs to the event loop {self._named}, which has ended: only closing "
                f"the {self._kind} is possible, on any loop. Make another {self._kind} on this one"
            )
        where = "where no event loop runs" if here is None else f"on the event loop {_named(here)}"
        return RuntimeError(
            f"this {self._kind} belongs to the event loop {self._named} and was called {where}: await it on "
            f"its own loop, from other threads by asyncio.run_coroutine_threadsafe, or make another "
            f"{self._kind} here"
        )


def _named(loop: asyncio.AbstractEventLoop) -> str:
    """Return what tells a loop from others: all of one kind may have the same ``repr``."""
    # One text for all objects of a loop.
    return sys.intern(f"{loop!r} ({id(loop):#x}, of thread {threading.current_thread().name!r})")


def _begin_child() -> None:
    """Count a fork, and part the loops of a forked child from those of its parent.

    The two share what tells a loop of readable and writable descriptors. A child that leaves a coroutine by
    an exception runs the loop once more to cancel its tasks, and what it removes there, its parent would
    wait for in vain.
    """
    global forks
    forks += 1
    if _LOOPS:
        # The number of a signal that the child gets would be written to the loop of the parent, which would
        # handle it. From Python 3.12 on asyncio sees to that itself.
        with contextlib.suppress(ValueError):
            signal.set_wakeup_fd(-1)
    for loop in list(_LOOPS):
        if not loop.is_closed():
            with contextlib.suppress(OSError, AttributeError, NotImplementedError):
                _part(loop)
            _silence(loop)
    _LOOPS.clear()


def _part(loop: Any) -> None:
    selector = getattr(loop, "_selector", None)  # of the standard loops
    shared = loop._get_backend_id() if selector is None else selector.fileno()
    with contextlib.closing(select.epoll()) as own:
        os.dup2(own.fileno(), shared, inheritable=False)


def _silence(loop: asyncio.AbstractEventLoop) -> None:
    """Let a forked child say nothing of its parent's tasks, which find no running loop there."""
    former = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, RuntimeError) and str(error) == "no running event loop":
            return
        if former is None:
            loop.default_exception_handler(context)
        else:
            former(loop, context)

    loop.set_exception_handler(handle)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)
