"""Planning of large graphs in threads, so that an event loop stays responsive.

A plan of 60,000 nodes takes seconds of pure Python, during which nothing else on the loop could run. A thread
only competes for the interpreter lock, which costs the loop some milliseconds per iteration. Graphs of up to
``LARGE`` nodes are planned in the calling thread, because going to a thread and back is more expensive.

Sessions, masters and workers that plan on a loop have a ``Planning`` of their own each. The work items of one
``Planning`` run one after the other, so that their data belongs to one thread at a time. All of them share a
few threads in the process, which are started when needed and end when nothing is planned.

Invariants: work that has begun runs to its end, with or without waiters, unless its planning was closed,
which it notices when it calls ``check``, or ``check_wanted`` of ``plan.abandonment``; work without waiters
is not begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from actorsession.collector import pause_collector
from actorsession.errors import OpError, from_exception
from actorsession.plan.abandonment import CHECK
from transports.host import current_host

__all__ = ["LARGE", "Planning"]

T = TypeVar("T")

LARGE = 250
"""Nodes above which a graph is planned in a thread: a node takes about 50 us, a thread 100 us."""

# Most planning threads in the process. Planning is Python, so more threads finish nothing sooner, and each
# makes an event loop wait up to 5 ms longer for the interpreter lock.
_MOST = 4


class Planning:
    """The planning of one owner; called on its event loop, except ``close`` and ``check``."""

    def __init__(self) -> None:
        self._line: list[_Job] = []  # few; the first is under way
        self._shared: dict[Any, asyncio.Future[Any]] = {}
        self._over: OpError | None = None

    @property
    def busy(self) -> bool:
        """Whether work is under way, so that nothing else may touch its data."""
        return bool(self._line)

    def must_wait(self, nodes: float) -> bool:
        """Return whether work on so many nodes needs ``run``; otherwise it may be done in the call."""
        return self.busy or nodes > LARGE

    async def run(self, work: Callable[[], T]) -> T:
        """Run work in a thread, after all earlier work, and return its result.

        Cancelling the call does not stop work that has begun.

        Raises:
            OpError: the error of ``close``, if the planning was closed; else the error of the work.
        """
        return await self.start(work)

    def shared(self, key: Any, work: Callable[[], T]) -> asyncio.Future[T]:
        """Start work once for all callers with the same key, until it has ended; see ``start``."""
        job = self._shared.get(key)
        if job is None or job.done():
            job = self._shared[key] = self.start(work)
            job.add_done_callback(lambda ended: self._forget(key, ended))
        return job

    def _forget(self, key: Any, ended: asyncio.Future[Any]) -> None:
        if self._shared.get(key) is ended:
            del self._shared[key]

    def start(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Start work for several waiters; return the future of its result, which each must shield."""
        job = _Job(self, work, asyncio.get_running_loop())
        if self._over is not None:
            job.settle(None, _anew(self._over))
            return job.answer
        self._line.append(job)
        if len(self._line) == 1:
            self._begin()
        return job.answer

    def ended(self) -> None:
        """Start the next work that has waiters."""
        del self._line[0]
        self._begin()

    def _begin(self) -> None:
        """Start the first work that has waiters; work for which there is no thread fails."""
        while self._line:
            job = self._line[0]
            if not job.answer.done():
                try:
                    current_host().own(_Threads).submit(job.run)
                    return
                except RuntimeError as exc:
                    job.settle(None, from_exception(exc))
            del self._line[0]

    def check(self) -> None:
        """Raise if the planning was closed, so that the work that calls it ends."""
        if self._over is not None:
            raise _anew(self._over)

    def close(self, error: OpError) -> None:
        """End all waits with an error, and running work at its next ``check``; callable from any thread."""
        self._over = error
        for job in list(self._line):
            job.call_home(job.settle, None, _anew(error))


class _Job:
    """One work item and its future."""

    __slots__ = ("_context", "_loop", "_planning", "_work", "answer")

    def __init__(self, planning: Planning, work: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.answer: asyncio.Future[Any] = loop.create_future()
        self._loop = loop
        self._planning = planning
        self._work = work
        self._context = contextvars.copy_context()
        self._context.run(CHECK.set, planning.check)

    def run(self) -> None:
        """Do the work; called in a thread."""
        result, error = None, None
        try:
            self._planning.check()
            with pause_collector():  # a plan stays as long as its session
                result = self._context.run(self._work)
        except BaseException as exc:
            error = exc
        self.call_home(self._ended, result, error)

    def call_home(self, callback: Callable[[Any, BaseException | None], None], *args: Any) -> None:
        """Schedule a callback on the loop; ignore a closed loop, which has no waiters."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *args)

    def _ended(self, result: Any, error: BaseException | None) -> None:
        # First, so that waiters are notified before the next work can end.
        self.settle(result, error)
        self._planning.ended()

    def settle(self, result: Any, error: BaseException | None) -> None:
        """Give waiters, if there are any left, the result or the error."""
        if self.answer.done():
            return
        if error is None:
            self.answer.set_result(result)
        else:
            self.answer.set_exception(error)
            self.answer.exception()  # marks it as retrieved, because waiters may have left


def _anew(error: OpError) -> OpError:
    """Return a copy of an error for one waiter, because a raised error refers to its traceback."""
    return type(error)(error.message)


class _Threads:
    """The planning threads of this process. They are daemons: no program waits for a plan at its end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: deque[Callable[[], None]] = deque()
        self._running = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Run ``work``, which must not raise, in a thread; in the order of the calls.

        Raises:
            RuntimeError: if no thread can be started and none is running.
        """
        with self._lock:
            self._line.append(work)
            if self._running == _MOST:
                return
            self._running += 1
        try:
            current_host().processes.start_thread(self._next, "actorsession-planning")
        except RuntimeError:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._line.remove(work)
                    raise

    def _next(self) -> bool:
        """Do the next work in this thread; return whether there was any."""
        with self._lock:
            if not self._line:
                self._running -= 1
                return False
            work = self._line.popleft()
        work()
        return True
