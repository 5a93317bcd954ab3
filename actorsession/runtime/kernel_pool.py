"""The kernel pool: the only place with threads, for segments too dear for the event loop.

Pool threads run generated code and nothing else; they never wait for one another, so the pool cannot
deadlock. What may wait for anything, because it calls the user's code, gets a thread beside them: it may
itself run a step whose segments need the pool.

A ``KernelPool`` is one user's share of some ``PoolThreads``: several sessions may have a share of the same
threads (see ``pools``), and each counts what it submitted itself. Sessions and servers shut their own share
down; the threads end when the last share of them is shut down, whatever still refers to them then (the
traceback of a failed kernel does), or dropped.

Shares take turns: of those that have work each gets one thread after the other, so a session that floods the
pool makes no other wait for more than its share. What runs for the first time, and so may be short, has a
lane of its own where all threads are busy, so it does not stand behind what is known to be dear.

Invariant: nobody but shares holds ``PoolThreads``, so that the threads of a session that was dropped
without being closed end as well.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["LANE", "OFFLOAD_ABOVE", "KernelPool", "PoolThreads", "processors"]

# Seconds above which a segment goes to the pool. Handing work to a thread and back costs about 60 us
# (measured, 2 cores), so below a few hundred it is a loss; the loop should not be held above 5 ms.
OFFLOAD_ABOVE = 1e-3

_THREAD_NAME = "actorsession-kernel"
# Threads for work that blocks; each is started when no other is idle. A program that nests or overlaps more
# calls of its own code than this waits for the first of them.
_MOST_BLOCKED = 256
LANE = 2
"""Threads of the lane of first runs, beside those of the pool: one of them may turn out to be dear."""

_SHUT_DOWN = "the kernel pool is shut down"


def processors() -> int:
    """Return how many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


class PoolThreads:
    """Threads that shares have in common; each is started when it is first needed.

    They end after the work that they have, when all shares are shut down, or else when the last reference
    to this object is gone.

    Args:
        number: how many, at least 1.
        name: what the threads are called, with a number behind it.
    """

    __slots__ = (
        "__weakref__", "_beside", "_executor", "_firsts", "_in_lane", "_lane", "_lines", "_lock", "_pending",
        "_running", "_shares", "number",
    )  # fmt: skip

    def __init__(self, number: int, name: str = _THREAD_NAME) -> None:
        self.number = number
        self._executor = ThreadPoolExecutor(number, name)
        self._beside = ThreadPoolExecutor(_MOST_BLOCKED, f"{name}-blocked")
        self._lane = ThreadPoolExecutor(LANE, f"{name}-first")
        # What each user wants done, the next user to have a turn first; and a call of _run_next for each.
        self._lines: OrderedDict[object, deque[_Work]] = OrderedDict()
        self._pending = 0  # of that and what runs, all that was not taken by the lane
        self._firsts: set[object] = set()  # what the lane has been given and has not ended
        # What each thread that is at work was given: of the ``number``, and of the lane.
        self._running: dict[int, tuple[Any, ...]] = {}
        self._in_lane: dict[int, tuple[Any, ...]] = {}
        self._lock = threading.Lock()
        self._shares: int | None = 0  # None once the last was shut down

    def enter(self) -> None:
        """Count one share more.

        Raises:
            RuntimeError: if the threads have been told to end.
        """
        with self._lock:
            if self._shares is None:
                raise RuntimeError(_SHUT_DOWN)
            self._shares += 1

    def leave(self) -> None:
        """Count one share less; with the last one the threads end. Nobody is waited for."""
        with self._lock:
            if self._shares is None:
                return
            self._shares = self._shares - 1 or None
            if self._shares is not None:
                return
        for executor in (self._executor, self._beside, self._lane):
            executor.shutdown(wait=False)

    def submit(
        self,
        work: Callable[..., Any],
        *args: Any,
        user: object = None,
        blocks: bool = False,
        first: object = None,
    ) -> None:
        """Run ``work(*args)`` in one of the threads.

        Args:
            work: what to run.
            args: what it takes.
            user: for whom; users take turns.
            blocks: whether it may wait for other work of the pool; it does not take one of the
                ``number`` threads then.
            first: what runs for the first time, if that is so. It goes by the lane as well, and runs where
                its turn comes first; but once at a time, so that many runs of one thing do not fill the
                lane.

        Raises:
            RuntimeError: if the interpreter is ending.
        """
        if blocks:
            self._beside.submit(work, *args)
            return
        made = _Work(work, args)
        with self._lock:
            busy = self._pending >= self.number
            self._pending += 1
            self._lines.setdefault(user, deque()).append(made)
            if busy and first is not None and first not in self._firsts:
                self._firsts.add(first)
                made.first = first
        if made.first is not None:
            self._lane.submit(self._run, made, self._in_lane)
        # Not under the lock, for which the thread that this wakes would have to wait. If it is refused, the
        # interpreter is ending, and nothing that stands in line is run any more.
        self._executor.submit(self._run_next)

    def _run_next(self) -> None:
        """Run what the next user wants done, who then is the last."""
        with self._lock:
            user, line = self._lines.popitem(last=False)
            made = line.popleft()
            if line:
                self._lines[user] = line
        self._run(made, self._running)
        with self._lock:
            self._pending -= 1

    def _run(self, made: _Work, running: dict[int, tuple[Any, ...]]) -> None:
        """Run a piece of work, unless another thread has taken it; notes meanwhile what it is."""
        with self._lock:
            work, made.work = made.work, None
            args, made.args = made.args, ()
        if work is None:
            return
        thread = threading.get_ident()
        running[thread] = args
        try:
            work(*args)
        finally:
            del running[thread]
            if made.first is not None:
                with self._lock:
                    self._firsts.discard(made.first)

    def running(self, *, in_lane: bool = False) -> list[tuple[Any, ...]]:
        """Return the arguments of all work that has a thread; callable from any thread.

        Args:
            in_lane: of the lane of first runs; else of the ``number`` threads.
        """
        return list((self._in_lane if in_lane else self._running).values())

    def join(self) -> None:
        """Wait for all work of threads that were told to end."""
        for executor in (self._executor, self._beside, self._lane):
            executor.shutdown(wait=True)


class _Work:
    """A call that stands in line, maybe in two lines, until a thread takes it."""

    __slots__ = ("args", "first", "work")

    def __init__(self, work: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.work: Callable[..., Any] | None = work
        self.args = args
        self.first: object = None


class KernelPool:
    """A share of threads for kernels.

    Args:
        threads: how many threads of its own, 0 for one per processor; or threads to share.

    Raises:
        RuntimeError: if the threads to share have ended, with all earlier shares of them.
    """

    def __init__(self, threads: int | PoolThreads = 0) -> None:
        self._owned = isinstance(threads, int)
        self._threads: PoolThreads | None = (
            PoolThreads(threads or processors()) if isinstance(threads, int) else threads
        )
        self._threads.enter()
        self.threads = self._threads.number
        self.submitted = 0
        self._user = object()  # not the share itself, which may be dropped while work waits
        self._lock = threading.Lock()

    def submit(
        self, work: Callable[..., Any], *args: Any, blocks: bool = False, first: object = None
    ) -> None:
        """Run ``work(*args)``, which must not raise, in a pool thread.

        Args:
            work: what to run.
            args: what it takes.
            blocks: whether it may wait for other work of the pool; see ``PoolThreads.submit``.
            first: what runs for the first time, if that is so; likewise.

        Raises:
            RuntimeError: if the share is shut down.
        """
        with self._lock:
            threads = self._threads
            if threads is None:
                raise RuntimeError(_SHUT_DOWN)
            self.submitted += 1
            # Under this lock, which no pool thread takes: the threads must not end in between.
            threads.submit(work, *args, user=self._user, blocks=blocks, first=first)

    def beside(self, work: Callable[[], None]) -> None:
        """Run ``work``, which is no kernel and must not raise, in a thread that kernels do not wait for.

        Raises:
            RuntimeError: if the share is shut down.
        """
        with self._lock:
            if self._threads is None:
                raise RuntimeError(_SHUT_DOWN)
            self._threads.submit(work, blocks=True)

    def running(self, *, in_lane: bool = False) -> list[tuple[Any, ...]]:
        """Return the arguments of what runs now in the threads, whoever has submitted it; see
        ``PoolThreads``."""
        threads = self._threads
        return [] if threads is None else threads.running(in_lane=in_lane)

    def share(self) -> KernelPool:
        """Return one more share of the same threads.

        Raises:
            RuntimeError: if this one is shut down.
        """
        with self._lock:
            if self._threads is None:
                raise RuntimeError(_SHUT_DOWN)
            return KernelPool(self._threads)

    def shutdown(self, *, wait: bool = True) -> None:
        """Give the share up; work that was submitted is still done. May be called twice.

        Args:
            wait: whether to wait for that work; threads that others share are never waited for.
        """
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is None:
            return
        threads.leave()
        if wait and self._owned:
            threads.join()

    def shares_threads_with(self, other: KernelPool) -> bool:
        """Return whether two pools that are not shut down run kernels in the same threads."""
        return self._threads is not None and self._threads is other._threads
