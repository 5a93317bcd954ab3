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
delay others by more than its share. Work that runs for the first time, and so may be short, does not queue
behind work that is known to be expensive: every other work that begins is such a first run, if there is one.

A pool never runs more at once than its number. A thread whose work waits for something, such as a dequeue in
a loop, lets another thread run meanwhile (``lend_turn``), and goes on when it is its turn again.

Invariant: only shares refer to ``PoolThreads``, so that the threads of a session that was dropped without
being closed end too.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from actorsession.metrics import Histogram, HistogramCounts
from transports.host import current_host

__all__ = ["KernelPool", "PoolThreads", "lend_turn"]

_THREAD_NAME = "actorsession-kernel"
# Threads for work that blocks, and as many whose work waits; each is started when no other is idle. A program
# that nests or overlaps more calls of its own code than this waits for the first of them.
_MOST_BLOCKED = 256
_SHUT_DOWN = "the kernel pool is shut down"


class PoolThreads:
    """Threads that shares have in common; each is started when first needed.

    They finish the work that they have and end, when all shares are shut down or the last reference to this
    object is gone.

    Args:
        number: number of threads, at least 1.
        name: prefix of the threads' names, followed by a number.

    Attributes:
        number: number of threads.
        waits: how long work waited for one of them.
    """

    __slots__ = (
        "__weakref__",
        "_beside",
        "_executor",
        "_firsts",
        "_is_first_next",
        "_lines",
        "_lock",
        "_now",
        "_resuming",
        "_running",
        "_shares",
        "_turns",
        "number",
        "waits",
    )

    def __init__(self, number: int, name: str = _THREAD_NAME) -> None:
        self.number = number
        self.waits = Histogram()
        host = current_host()
        self._now = host.clock.monotonic
        self._executor = host.processes.workers(number + _MOST_BLOCKED, name)
        self._beside = host.processes.workers(_MOST_BLOCKED, f"{name}-blocked")
        # The queued work of each user, next user first, and of it one first run of each identity.
        self._lines: OrderedDict[object, deque[_Work]] = OrderedDict()
        self._firsts: OrderedDict[object, _Work] = OrderedDict()
        self._is_first_next = False
        # The threads that run work or are about to, at most ``number``, and those that want to go on.
        self._turns: set[_Turn] = set()
        self._resuming: deque[_Turn] = deque()
        self._running: dict[int, tuple[Any, ...]] = {}  # the arguments of the work of each thread
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
        for executor in (self._executor, self._beside):
            executor.shutdown(wait=False)

    def submit(
        self, work: Callable[..., Any], *args: Any, user: object = None, blocks: bool = False, first: object = None
    ) -> None:
        """Run ``work(*args)`` in one of the threads.

        Args:
            work: the function to run.
            args: its arguments.
            user: the user for whom it runs; users take turns.
            blocks: whether it may wait for other work of the pool. It then takes none of the ``number``
                threads.
            first: identifies work that runs for the first time. It need not queue behind work that does not,
                but for one identity only one work at a time.

        Raises:
            RuntimeError: if the interpreter is ending, or no thread can be started.
        """
        if blocks:
            call: list[Callable[[], object]] = [partial(work, *args)]
            try:
                self._beside.submit(_once, call)
            except RuntimeError:
                # The executor may have kept the call, for a thread that it does start later.
                with contextlib.suppress(IndexError):
                    call.pop()
                    raise
            return
        queued = _Work(work, args, first, self._now())
        with self._lock:
            self._lines.setdefault(user, deque()).append(queued)
            if first is not None:
                self._firsts.setdefault(first, queued)
        try:
            self._call_thread()
        except RuntimeError:
            with self._lock:
                if not (self._turns or queued.taken):  # else another thread does it
                    self._take(queued)
                    raise

    def _call_thread(self) -> None:
        """Let one more thread run what is queued, unless as many do as may.

        Raises:
            RuntimeError: if the interpreter is ending, or no thread can be started.
        """
        with self._lock:
            if not self._lines or len(self._turns) >= self.number:
                return
            turn = _Turn(self)
            self._turns.add(turn)
        # Outside the lock, for which the thread that this wakes would have to wait.
        try:
            self._executor.serve(partial(self._next, turn))
        except RuntimeError:
            # The executor may have kept the call, for a thread that it does start later.
            with self._lock:
                self._turns.discard(turn)
            raise

    def _next(self, turn: _Turn) -> Callable[[], None] | None:
        """Return the next work of a thread, or end its turn."""
        with self._lock:
            if turn not in self._turns:
                return None
            if len(self._turns) <= self.number and not self._resuming:
                call = self._first()
                if call is not None:
                    self.waits.observe(self._now() - call.since)
                    return partial(self._run, turn, call)
            self._turns.discard(turn)
            self._pass_turn()
            return None

    def _pass_turn(self) -> None:
        """Let a thread go on whose wait has ended, if there is room for it; the lock is held."""
        if self._resuming and len(self._turns) < self.number:
            turn = self._resuming.popleft()
            self._turns.add(turn)
            turn.gate.release()

    def _first(self) -> _Work | None:
        """Return the next first run, or the next work of the next user; the lock is held."""
        self._is_first_next = not self._is_first_next
        if self._is_first_next and self._firsts:
            return self._take(next(iter(self._firsts.values())))
        while self._lines:
            user, line = self._lines.popitem(last=False)
            call = line.popleft()
            if line:
                self._lines[user] = line  # who is the last then
            if not call.taken:
                return self._take(call)
        return None

    def _take(self, call: _Work) -> _Work:
        """Take work out of its queues, one of which skips it later; the lock is held."""
        call.taken = True
        if call.first is not None and self._firsts.get(call.first) is call:
            del self._firsts[call.first]
        return call

    def _run(self, turn: _Turn, call: _Work) -> None:
        """Run a piece of work; register it while it runs."""
        thread, work, args = threading.get_ident(), call.work, call.args
        call.args = ()  # which a queue may still hold
        self._running[thread] = args
        _here.turn = turn
        try:
            work(*args)
        finally:
            _here.turn = None
            del self._running[thread]

    def running(self) -> list[tuple[Any, ...]]:
        """Return the arguments of all work that has a thread; callable from any thread."""
        return list(self._running.values())

    @property
    def queued(self) -> int:
        """How much work waits for a thread."""
        with self._lock:
            return sum(not work.taken for line in self._lines.values() for work in line)

    def lend(self, turn: _Turn) -> None:
        """Give up the turn of this thread, whose work is about to wait."""
        with self._lock:
            self._turns.discard(turn)
            self._pass_turn()
        with contextlib.suppress(RuntimeError):  # then others run as their turns come
            self._call_thread()

    def resume(self, turn: _Turn, *, at_once: bool) -> None:
        """Wait for the next turn of this thread.

        Args:
            turn: what it has given up.
            at_once: whether it may go on without, because its work is about to end.
        """
        with self._lock:
            if at_once or (len(self._turns) < self.number and not self._resuming):
                self._turns.add(turn)
                return
            self._resuming.append(turn)
            turn.gate.acquire(blocking=False)
        with turn.gate:  # released with the turn
            pass

    def join(self) -> None:
        """Wait for all work of threads that were shut down."""
        for executor in (self._executor, self._beside):
            executor.shutdown(wait=True)


class _Turn:
    """The right of one thread to run work of a pool."""

    __slots__ = ("gate", "threads")

    def __init__(self, threads: PoolThreads) -> None:
        self.threads = threads
        self.gate = threading.Lock()  # held while the thread waits for the turn


class _Work:
    """A call in one queue, or in two, until a thread takes it."""

    __slots__ = ("args", "first", "since", "taken", "work")

    def __init__(self, work: Callable[..., Any], args: tuple[Any, ...], first: object, since: float) -> None:
        self.work = work
        self.args = args
        self.first = first
        self.since = since
        self.taken = False


def _once(call: list[Callable[[], object]]) -> None:
    """Make a call, unless it was withdrawn."""
    with contextlib.suppress(IndexError):
        work = call.pop()
        work()


# The turn of this thread, if it is one of a pool.
_here = threading.local()


@contextlib.contextmanager
def lend_turn() -> Iterator[None]:
    """Let another thread of the pool run while this one waits in the block for something.

    Outside the threads of a pool it does nothing.
    """
    turn: _Turn | None = getattr(_here, "turn", None)
    if turn is None:
        yield
        return
    turn.threads.lend(turn)
    failed = True
    try:
        yield
        failed = False
    finally:
        turn.threads.resume(turn, at_once=failed)


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
            PoolThreads(threads or current_host().processes.processors()) if isinstance(threads, int) else threads
        )
        self._threads.enter()
        self.threads = self._threads.number
        self.submitted = 0
        self._user = object()  # not the share itself, which may be dropped while work is queued
        self._lock = threading.Lock()

    def submit(self, work: Callable[..., Any], *args: Any, blocks: bool = False, first: object = None) -> None:
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

    def running(self) -> list[tuple[Any, ...]]:
        """Return the arguments of all running work of all shares; see ``PoolThreads.running``."""
        threads = self._threads
        return [] if threads is None else threads.running()

    @property
    def queued(self) -> int:
        """How much work of all shares waits for a thread; 0 once the share is shut down."""
        threads = self._threads
        return 0 if threads is None else threads.queued

    @property
    def waits(self) -> HistogramCounts:
        """How long the work of all shares waited for a thread; nothing once the share is shut down."""
        threads = self._threads
        return HistogramCounts() if threads is None else threads.waits.snapshot()

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
