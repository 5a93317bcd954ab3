"""Work of one kernel that several threads share, and work that is done beside other work.

``in_shares`` is what kernels call; ``begin`` is for calls whose results are needed later. Helper threads are kept for
the process, because starting a thread takes a tenth of a millisecond, and more on busy cores: the starting thread waits
until the new one has run.

Invariant: nobody waits for a thread that has not begun. Whoever is idle claims the next share, the caller
included; so while other programs hold the cores, the caller does all the work, in hardly more time than
alone.

No helper is in a kernel when the interpreter ends: a thread that comes back to it then is stopped where it is,
and functions of C++ libraries end the process with an error if that happens to theirs.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

import numpy as np

__all__ = ["Begun", "begin", "in_shares", "slices"]

_T = TypeVar("_T")
_R = TypeVar("_R")

# A longer first slice is so by a multiple of this, because BLAS is slower at odd edges.
_ALIGNED = 16
# Seconds for which the end of the interpreter waits for kernels.
_PATIENCE = 5.0


class _Job(Generic[_T, _R]):
    """The shares of one call, claimed one by one.

    Attributes:
        work: called with each share; ``None`` once the call has ended, so that a helper that comes too late
            does not keep arrays alive.
        shares: the shares.
        outcomes: the result of each share, or what it raised.
        ended: receives the number of each share that has ended.
    """

    def __init__(self, work: Callable[[_T], _R], shares: Sequence[_T]) -> None:
        self.work: Callable[[_T], _R] | None = work
        self.shares = shares
        self.outcomes: list[_R | BaseException] = [RuntimeError("not run")] * len(shares)
        self.ended: SimpleQueue[int] = SimpleQueue()
        self._unclaimed: Iterator[int] = iter(range(len(shares)))

    def help(self) -> None:
        """Work on shares until all are claimed."""
        work = self.work
        if work is None:
            return
        for number in self._unclaimed:
            try:
                self.outcomes[number] = work(self.shares[number])
            except BaseException as error:
                self.outcomes[number] = error
            self.ended.put(number)

    def finish(self) -> list[_R]:
        """Work like a helper, wait for the claimed shares, and return all results.

        Raises:
            Exception: the exception of the first share that failed.
        """
        self.help()
        for _ in self.shares:
            self.ended.get()
        self.work = None
        results = []
        for outcome in self.outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
            results.append(outcome)
        return results


class Begun(_Job[Callable[[], _R], _R]):
    """A call that another thread makes when it has time for it, or else who asks for the result."""

    def result(self) -> _R:
        """Return what the call returns, or raise what it raises; may be called once."""
        (result,) = self.finish()
        return result


class _Helpers:
    """The helper threads of the process; each is started when first needed, and ends with the process."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job[Any, Any] | None] = SimpleQueue()  # ``None`` ends a thread
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._count = 0

    def offer(self, job: _Job[Any, Any], helpers: int, most: int = 0) -> None:
        """Offer a job to some helpers, or to as many as there are threads for.

        Args:
            job: the job.
            helpers: how many may work on it.
            most: how many there may be where other jobs wait.
        """
        threads = helpers if self._jobs.empty() else max(helpers, min(most, self._count + 1))
        if self._count < threads:
            self._start(threads)
        for _ in range(min(helpers, self._count)):
            self._jobs.put(job)

    def _start(self, helpers: int) -> None:
        with self._lock:
            while self._count < helpers:
                name = f"actorsession-helper-{self._count + 1}"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # none are left: the others do it, at least the caller
                    return
                self._threads.append(thread)
                self._count += 1

    def _run(self) -> None:
        with np.errstate(all="ignore"):  # of this thread
            while (job := self._jobs.get()) is not None:
                job.help()

    def end(self) -> None:
        """Drop what no helper has begun, and wait for what they are doing, up to a limit."""
        with suppress(Empty):
            while True:
                self._jobs.get_nowait()
        for _ in self._threads:
            self._jobs.put(None)
        limit = time.monotonic() + _PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, limit - time.monotonic()))


_helpers = _Helpers()


def _start_anew() -> None:
    """Forget the helpers in a forked child, which has none."""
    global _helpers
    _helpers = _Helpers()


atexit.register(lambda: _helpers.end())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def slices(length: int, count: int, lead: float = 0.0) -> list[slice]:
    """Cut a range into a number of slices of about equal length; fewer if it is shorter, but at least one.

    Args:
        length: of the range.
        count: how many slices.
        lead: how much longer the first one is, as a part of the whole range.
    """
    count = max(1, min(count, length))
    start = round(length * lead / _ALIGNED) * _ALIGNED if count > 1 else 0
    rest = length - start
    edges = [0, *(start + rest * part // count for part in range(1, count + 1))]
    return [slice(a, b) for a, b in pairwise(edges)]


def in_shares(work: Callable[[Sequence[_T]], _R], items: Sequence[_T], threads: int) -> list[_R]:
    """Distribute items over threads, and wait for all of them.

    How items are divided does not depend on which threads have time for them.

    Args:
        work: called with each share, in the caller's thread or in a helper.
        items: the items to distribute, in order; neighbours stay together.
        threads: how many shares there are at most; never more than there are items.

    Returns:
        The result of each share, in order.

    Raises:
        Exception: the exception of the first share that failed, after all shares have ended.
    """
    if threads <= 1 or len(items) <= 1:
        return [work(items)]
    job = _Job(work, [items[part] for part in slices(len(items), threads)])
    _helpers.offer(job, len(job.shares) - 1)
    return job.finish()


def begin(work: Callable[[], _R], helpers: int = 1) -> Begun[_R]:
    """Have a helper call a function, and go on.

    Args:
        work: the function. It must not wait for anything.
        helpers: how many there may be for calls that were begun and wait.
    """
    begun = Begun(_call, [work])
    _helpers.offer(begun, 1, helpers)
    return begun


def _call(work: Callable[[], _R]) -> _R:
    return work()
