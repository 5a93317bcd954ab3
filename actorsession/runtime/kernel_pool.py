"""The kernel pool: the threads for segments that are too expensive for the event loop.

Pool threads run generated code and nothing else. They never wait for one another, so the pool cannot
deadlock.
A segment that may wait for anything, because it calls user code, gets a thread beside them: it may itself run
a step whose segments need the pool.

A ``KernelPool`` is one user's share of some ``PoolThreads``. Several sessions may have a share of the same
threads (see ``session_pools``), and each counts its own submissions. Sessions and servers shut down their own
share. The threads end when their last share is shut down, whatever still refers to them then (such as the
traceback of a failed kernel), or dropped.

Shares take turns: those with work get one thread after the other, so a session that floods the pool does not
delay others by more than its share. When all threads are busy, work that runs for the first time, and so may
be short, has a lane of its own and does not queue behind work that is known to be expensive.

Invariant: only shares refer to ``PoolThreads``, so that the threads of a session that was dropped without
being closed end too.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["LANE", "KernelPool", "PoolThreads", "processors"]

_THREAD_NAME = "actorsession-kernel"
# Threads for work that blocks; each is started when no other is idle. A program that nests or overlaps more
# calls of its own code than this waits for the first of them.
_MOST_BLOCKED = 256
LANE = 2
"""Threads of the lane of first runs, beside those of the pool: one first run may prove expensive."""

_SHUT_DOWN = "the kernel pool is shut down"


def processors() -> int:
    """Return the number of processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


class PoolThreads:
    """Threads that shares have in common; each is started when first needed.

    They finish the work that they have and end, when all shares are shut down or the last reference to this
    object is gone.

    Args:
        number: number of threads, at least 1.
        name: prefix of the threads' names, followed by a number.
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
        # The queued work of each user, next user first; each item has one call of ``_run_next``.
        self._lines: OrderedDict[object, deque[_Work]] = OrderedDict()
        self._pending = 0  # queued and running work, without what the lane has taken
        self._firsts: set[object] = set()  # given to the lane and not ended
        # The arguments of the work of each busy thread: of the ``number`` threads, and of the lane.
        self._running: dict[int, tuple[Any, ...]] = {}
        self._in_lane: dict[int, tuple[Any, ...]] = {}
        self._lock = threading.Lock()
        self._shares: int | None = 0  # None once the last one was shut down

    def enter(self) -> None:
        """Add a share.

        Raises:
            RuntimeError: if the threads have been shut down.
        """
        with self._lock:
            if self._shares is None:
                raise RuntimeError(_SHUT_DOWN)
            self._shares += 1

    def leave(self) -> None:
        """Remove a share; shut the threads down with the last one, without waiting."""
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
            work: the function to run.
            args: its arguments.
            user: the user for whom it runs; users take turns.
            blocks: whether it may wait for other work of the pool. It then takes none of the ``number``
                threads.
            first: identifies work that runs for the first time. It is queued in the lane as well, and runs
                where a thread is free first. One identity is in the lane only once, so that many runs of it
                do not fill the lane.

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
        # Outside the lock, for which the thread that this wakes would have to wait. If it is refused, the
        # interpreter is shutting down and queued work is not run any more.
        self._executor.submit(self._run_next)

    def _run_next(self) -> None:
        """Run the next work of the next user, who then becomes the last."""
        with self._lock:
            user, line = self._lines.popitem(last=False)
            made = line.popleft()
            if line:
                self._lines[user] = line
        self._run(made, self._running)
        with self._lock:
            self._pending -= 1

    def _run(self, made: _Work, running: dict[int, tuple[Any, ...]]) -> None:
        """Run a piece of work unless another thread has taken it; register it while it runs."""
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
            in_lane: whether to return the work of the lane of first runs; else of the ``number`` threads.
        """
        return list((self._in_lane if in_lane else self._running).values())

    def join(self) -> None:
        """Wait for all work of threads that were shut down."""
        for executor in (self._executor, self._beside, self._lane):
            executor.shutdown(wait=True)


class _Work:
    """A call in one queue, or in two, until a thread takes it."""

    __slots__ = ("args", "first", "work")

    def __init__(self, work: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.work: Callable[..., Any] | None = work
        self.args = args
        self.first: object = None


class KernelPool:
    """One user's share of kernel threads.

    Args:
        threads: number of its own threads, 0 for one per processor; or the threads to share.

    Raises:
        RuntimeError: if the threads to share have ended, with all their earlier shares.
    """

    def __init__(self, threads: int | PoolThreads = 0) -> None:
        self._owned = isinstance(threads, int)
        self._threads: PoolThreads | None = (
            PoolThreads(threads or processors()) if isinstance(threads, int) else threads
        )
        self._threads.enter()
        self.threads = self._threads.number
        self.submitted = 0
        self._user = object()  # not the share itself, which may be dropped while work is queued
        self._lock = threading.Lock()

    def submit(
        self, work: Callable[..., Any], *args: Any, blocks: bool = False, first: object = None
    ) -> None:
        """Run ``work(*args)``, which must not raise, in a pool thread.

        Args:
            work: the function to run.
            args: its arguments.
            blocks: whether it may wait for other work of the pool; see ``PoolThreads.submit``.
            first: identifies work that runs for the first time; see ``PoolThreads.submit``.

        Raises:
            RuntimeError: if the share is shut down.
        """
        with self._lock:
            threads = self._threads
            if threads is None:
                raise RuntimeError(_SHUT_DOWN)
            self.submitted += 1
            # Under this lock, which no pool thread takes, so that the threads are not shut down in between.
            threads.submit(work, *args, user=self._user, blocks=blocks, first=first)

    def beside(self, work: Callable[[], None]) -> None:
        """Run ``work``, which is no kernel and must not raise, in a thread that no kernel waits for.

        Raises:
            RuntimeError: if the share is shut down.
        """
        with self._lock:
            if self._threads is None:
                raise RuntimeError(_SHUT_DOWN)
            self._threads.submit(work, blocks=True)

    def running(self, *, in_lane: bool = False) -> list[tuple[Any, ...]]:
        """Return the arguments of all running work of all shares; see ``PoolThreads.running``."""
        threads = self._threads
        return [] if threads is None else threads.running(in_lane=in_lane)

    def share(self) -> KernelPool:
        """Return another share of the same threads.

        Raises:
            RuntimeError: if this share is shut down.
        """
        with self._lock:
            if self._threads is None:
                raise RuntimeError(_SHUT_DOWN)
            return KernelPool(self._threads)

    def shutdown(self, *, wait: bool = True) -> None:
        """Release the share; submitted work is still done. May be called twice.

        Args:
            wait: whether to wait for that work; ignored if the threads are shared.
        """
        with self._lock:
            threads, self._threads = self._threads, None
        if threads is None:
            return
        threads.leave()
        if wait and self._owned:
            threads.join()

    def shares_threads_with(self, other: KernelPool) -> bool:
        """Return whether two pools that are not shut down run kernels on the same threads."""
        return self._threads is not None and self._threads is other._threads
