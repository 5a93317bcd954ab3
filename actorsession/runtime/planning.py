"""Planning of large graphs in threads of its own, so that an event loop goes on meanwhile.

A plan of 60,000 nodes takes seconds of pure Python, and whoever shares the loop would wait for all of them.
In a thread it only competes for the interpreter lock, which costs the loop some milliseconds a turn. Graphs
up to ``LARGE`` nodes are planned at once, where they are asked for: the way to a thread and back is dearer.

Owned by whoever plans on a loop: sessions, their masters and their workers, each with a ``Planning`` of its
own. Its pieces of work run one after the other, so what they work on belongs to one thread at a time. All
plannings of a process share a few threads, which are started when needed and end when nothing is planned.

Invariants: work that has begun runs to its end, whoever still waits for it, unless its planning was closed,
which it sees where it calls ``check``; work that nobody waits for any more before its turn is not begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from actorsession.errors import OpError

__all__ = ["LARGE", "Planning"]

T = TypeVar("T")

LARGE = 250
"""Nodes above which a graph is planned in a thread: a node takes about 50 us, the way there 100 us."""

# Threads at once in the process. Planning is Python, so more of them plan nothing sooner; each makes an event
# loop wait up to 5 ms longer for the interpreter lock.
_MOST = 4


class Planning:
    """The planning of one owner, called on its event loop but for ``close`` and ``check``."""

    def __init__(self) -> None:
        self._line: deque[_Job] = deque()  # the first is under way
        self._shared: dict[Any, asyncio.Future[Any]] = {}
        self._over: OpError | None = None

    @property
    def busy(self) -> bool:
        """Whether a piece of work is under way, so that nothing else may touch what it works on."""
        return bool(self._line)

    def must_wait(self, nodes: float) -> bool:
        """Return whether work on so many nodes is for ``run``; if not, it may be done in the call at hand."""
        return self.busy or nodes > LARGE

    async def run(self, work: Callable[[], T]) -> T:
        """Run a piece of work in a thread after those that came before, and returns its result.

        Cancelling it leaves work that has begun to its end.

        Raises:
            OpError: what ``close`` was given, if the planning was closed; else what the work raises.
        """
        return await self.start(work)

    def shared(self, key: Any, work: Callable[[], T]) -> asyncio.Future[T]:
        """``start``, once for all who ask by the same key before it has ended."""
        found = self._shared.get(key)
        if found is None or found.done():
            found = self._shared[key] = self.start(work)
            found.add_done_callback(lambda ended: self._forget(key, ended))
        return found

    def _forget(self, key: Any, ended: asyncio.Future[Any]) -> None:
        if self._shared.get(key) is ended:
            del self._shared[key]

    def start(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """``run`` for several who wait: the future of its result, to be shielded by each of them."""
        job = _Job(self, work, asyncio.get_running_loop())
        if self._over is not None:
            job.settle(None, _anew(self._over))
            return job.answer
        self._line.append(job)
        if len(self._line) == 1:
            _threads.submit(job.run)
        return job.answer

    def ended(self) -> None:
        """Go on with the next piece of work that anybody waits for."""
        self._line.popleft()
        while self._line and self._line[0].answer.done():
            self._line.popleft()
        if self._line:
            _threads.submit(self._line[0].run)

    def check(self) -> None:
        """End the work that calls it if the planning was closed."""
        if self._over is not None:
            raise _anew(self._over)

    def close(self, error: OpError) -> None:
        """End all waits with an error, and what is under way where it next calls ``check``; any thread."""
        self._over = error
        for job in list(self._line):
            job.call_home(job.settle, None, _anew(error))


class _Job:
    """One piece of work and its future."""

    __slots__ = ("_context", "_loop", "_planning", "_work", "answer")

    def __init__(
        self, planning: Planning, work: Callable[[], Any], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.answer: asyncio.Future[Any] = loop.create_future()
        self._loop = loop
        self._planning = planning
        self._work = work
        self._context = contextvars.copy_context()

    def run(self) -> None:
        """Do the work, in a thread."""
        result, error = None, None
        try:
            self._planning.check()
            with _calm():
                result = self._context.run(self._work)
        except BaseException as exc:
            error = exc
        self.call_home(self._ended, result, error)

    def call_home(self, callback: Callable[[Any, BaseException | None], None], *args: Any) -> None:
        """Have the loop call something; one that is closed has nobody left who waits."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *args)

    def _ended(self, result: Any, error: BaseException | None) -> None:
        # First: who hears of it here does so before the next piece of work can end.
        self.settle(result, error)
        self._planning.ended()

    def settle(self, result: Any, error: BaseException | None) -> None:
        """Give those who wait what came of it, if they still do."""
        if self.answer.done():
            return
        if error is None:
            self.answer.set_result(result)
        else:
            self.answer.set_exception(error)
            self.answer.exception()  # whoever shields it may have left


def _anew(error: OpError) -> OpError:
    """An error for one who waits: what is raised holds on to what raised it."""
    return type(error)(error.message)


class _Threads:
    """The threads that plan in this process. They are daemons: no program waits for a plan to end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: deque[Callable[[], None]] = deque()
        self._running = 0

    def submit(self, work: Callable[[], None]) -> None:
        """Run ``work``, which must not raise, in a thread; in the order of the calls."""
        with self._lock:
            self._line.append(work)
            if self._running == _MOST:
                return
            self._running += 1
        threading.Thread(target=self._main, name="actorsession-planning", daemon=True).start()

    def _main(self) -> None:
        while True:
            with self._lock:
                if not self._line:
                    self._running -= 1
                    return
                work = self._line.popleft()
            work()


_threads = _Threads()


class _Collector:
    """How many pieces of work want the garbage collector to rest."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.resting = 0
        self.was_on = False


_collector = _Collector()


@contextlib.contextmanager
def _calm() -> Iterator[None]:
    """A block in which the garbage collector rests, and whose objects count as old when it ends.

    A graph is a million objects that live as long as its session. The collector would go through all of them
    several times while they are made, each time for 100 ms with the interpreter lock held.
    """
    with _collector.lock:
        if not _collector.resting:
            _collector.was_on = gc.isenabled()
            gc.disable()
        _collector.resting += 1
    try:
        yield
    finally:
        with _collector.lock:
            _collector.resting -= 1
            if not _collector.resting and _collector.was_on:
                if not gc.get_freeze_count():  # those of a program that freezes objects stay so
                    # Both only link lists: what was made joins the oldest generation without a look at it.
                    gc.freeze()
                    gc.unfreeze()
                gc.enable()


def _start_anew() -> None:
    """In a forked child, where the threads and whoever held the locks have stayed behind."""
    global _threads, _collector
    if _collector.resting and _collector.was_on:
        gc.enable()
    _threads, _collector = _Threads(), _Collector()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
