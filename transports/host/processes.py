"""The processes and threads of a host."""

from __future__ import annotations

import mmap
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio

if sys.platform != "win32":
    import resource

__all__ = ["Processes", "StartedThread", "Workers"]

# Bytes of the stack of a thread where the system sets no limit, and of what a thread needs beside it to begin.
_USUAL_STACK = 8 * 2**20
_FIRST_CALLS = 2**20


class StartedThread(Protocol):
    """A thread as those see it who have started it."""

    def is_alive(self) -> bool:
        """Return whether it has not ended."""

    def join(self, timeout: float | None = None) -> None:
        """Wait until it has ended."""


class Workers(Executor):
    """A pool of threads."""

    def serve(self, take: Callable[[], Callable[[], object] | None]) -> None:
        """Let a thread do one work after the other, until ``take``, called in it as well, returns None.

        Raises:
            RuntimeError: the pool is shut down, or there can be no more threads.
        """
        self.submit(_serve, take)


class _WorkerThreads(ThreadPoolExecutor, Workers):
    """Threads of this machine, each started when no other is idle."""

    def _adjust_thread_count(self) -> None:
        # ``submit`` asks for a thread here. One is started where none is idle, up to the most.
        if not self._idle_semaphore._value and len(self._threads) < self._max_workers:
            _check_room()
        super()._adjust_thread_count()


class Processes:
    """The processes of this machine; a derived class runs the work of threads on the event loop.

    Attributes:
        are_visible: Whether others on the same machine may find them in ``/proc``, if it has that.
    """

    are_visible = True

    getpid = staticmethod(os.getpid)

    async def start(self, *words: str, **options: Any) -> asyncio.subprocess.Process:
        """Start a program; the arguments are those of ``asyncio.create_subprocess_exec``."""
        import asyncio  # a process without an event loop does not load it

        return await asyncio.create_subprocess_exec(*words, **options)

    def check_wait(self) -> None:
        """Raise if a thread must not wait for another one."""

    def processors(self) -> int:
        """Return the number of processors that this process may use."""
        try:
            return len(os.sched_getaffinity(0))
        except AttributeError:  # not Linux
            return os.cpu_count() or 1

    def start_thread(self, work: Callable[[], object], name: str) -> StartedThread:
        """Start a thread for which the end of the process does not wait.

        Args:
            work: is called in the thread, and again for as long as it returns True.
            name: of the thread.

        Raises:
            RuntimeError: there can be no more threads.
        """
        _check_room()
        thread = threading.Thread(target=_repeat, args=(work,), name=name, daemon=True)
        thread.start()
        return thread

    def every(self, seconds: float, work: Callable[[], object], name: str) -> Callable[[], None]:
        """Start a thread that calls ``work`` every so many seconds, for as long as it returns True.

        Returns:
            What ends it; called by another thread, it waits for a call that is under way.

        Raises:
            RuntimeError: there can be no more threads.
        """
        ended = threading.Event()
        thread = self.start_thread(lambda: not ended.wait(seconds) and work(), name)

        def end() -> None:
            ended.set()
            if threading.current_thread() is not thread:
                thread.join(seconds)

        return end

    def workers(self, number: int, name: str) -> Workers:
        """Return a pool of threads.

        Args:
            number: how many there are at most.
            name: prefix of their names.
        """
        return _WorkerThreads(number, name)


def _check_room() -> None:
    """Raise where a new thread would have no memory.

    A thread that has none for its first call ends without a word, and ``Thread.start`` waits for its word for ever.
    """
    if sys.platform != "win32":
        stack = threading.stack_size() or resource.getrlimit(resource.RLIMIT_STACK)[0]
        needed = (_USUAL_STACK if stack == resource.RLIM_INFINITY else stack) + _FIRST_CALLS
        try:
            mmap.mmap(-1, needed, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        except (OSError, MemoryError):
            raise RuntimeError("can't start new thread: there is no memory for it") from None


def _serve(take: Callable[[], Callable[[], object] | None]) -> None:
    while (work := take()) is not None:
        work()


def _repeat(work: Callable[[], object]) -> None:
    while work() is True:
        pass
