"""Waits of threads that Ctrl-C can always end.

A signal that arrives between the main thread's last check for signals and its sleep does not wake the thread:
it is handled only after the sleep, which may be endless. That window lasts as long as another thread takes to
get the interpreter lock, so it does occur on a loaded machine. Therefore waits of the main thread are cut
into slices. Other threads handle no signals and wait in one piece, which a ``CancelScope`` can end.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from types import TracebackType
from typing import Any, TypeVar

from actorsession.graph.completion import Completion
from actorsession.plan.codegen.segment_context import PendingValues
from actorsession.runtime.kernel_pool import lend_turn
from transports.host import current_host

__all__ = ["CancelScope", "acquire", "cancel_pending", "result_of", "wait_for"]

T = TypeVar("T")
# Seconds after which the main thread checks for signals: less than the 200 ms within which Ctrl-C must be
# answered, and much more than the 20 us or so that a check takes.
_SLICE = 0.1

_entered = threading.local()


class CancelScope:
    """A block of one thread in which another thread may end the waits for futures.

    It does not end work that the thread does itself.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancel: Callable[[], object] | None = None
        self._cancelled = False

    def __enter__(self) -> CancelScope:
        _entered.scope = self
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        _entered.scope = None

    def cancel(self) -> None:
        """Cancel the current wait of the thread in the block, and all later ones."""
        with self._lock:
            self._cancelled = True
            cancel = self._cancel
        if cancel is not None:
            cancel()

    def hold(self, cancel: Callable[[], object]) -> None:
        """Register the function that ends the next wait of the thread."""
        with self._lock:
            self._cancel = cancel
            cancelled = self._cancelled
        if cancelled:
            cancel()


def result_of(future: concurrent.futures.Future[T]) -> T:
    """Wait for a future of another thread.

    Returns:
        Its result.

    Raises:
        BaseException: the exception of the future, or ``concurrent.futures.CancelledError``, which is also
            raised if the ``CancelScope`` of the thread was cancelled; in the main thread also the exception
            of a signal handler.
    """
    scope: CancelScope | None = getattr(_entered, "scope", None)
    if scope is not None:
        scope.hold(future.cancel)
    if not future.done():
        current_host().processes.check_wait()
    if _is_main():
        while not future.done():
            # Not ``result()``, because its own TimeoutError could not be told from the future's.
            with contextlib.suppress(TimeoutError):
                future.exception(_SLICE)
    return future.result()


def cancel_pending(pending: PendingValues) -> None:
    """Cancel a node that suspends, because its step has ended; put back what it has taken."""
    if isinstance(pending, Completion):
        pending.abandon()
    elif isinstance(pending, concurrent.futures.Future):
        pending.cancel()
    else:
        pending.close()


def wait_for(pending: PendingValues, check: Callable[[], None], loop: asyncio.AbstractEventLoop | None = None) -> Any:
    """Wait for the values of a node that suspends, in code that cannot continue without them.

    Args:
        pending: the result of the kernel; cancelled if the wait ends early.
        check: called from time to time; its exception ends the wait.
        loop: the loop, in another thread, that runs a coroutine; a loop of this thread's own if left out.

    Returns:
        The values.
    """
    if isinstance(pending, Completion):
        completion = pending
    elif isinstance(pending, concurrent.futures.Future):
        completion = Completion.of(pending)
    elif asyncio._get_running_loop() is not None:
        # The wait blocks this thread, which is the loop's, so another thread must run the coroutine.
        threads = current_host().processes.workers(1, "actorsession-coroutine")
        completion = Completion.of(threads.submit(copy_context().run, asyncio.run, _checked(pending, check)))
        threads.shutdown(wait=False)
    elif loop is not None:
        completion = Completion.of(asyncio.run_coroutine_threadsafe(pending, loop))
    else:
        return asyncio.run(_checked(pending, check))
    if completion.done and completion.error is None:
        return completion.values
    with lend_turn():
        return completion.wait(check)


async def _checked(work: Coroutine[Any, Any, T], check: Callable[[], None]) -> T:
    """Await a coroutine on a private loop, and call ``check`` from time to time."""
    loop = asyncio.get_running_loop()
    future = asyncio.run_coroutine_threadsafe(work, loop)  # an asyncio task that ends with this loop
    waited = asyncio.wrap_future(future)
    try:
        while not waited.done():
            await asyncio.wait([waited], timeout=_SLICE)
            check()
        return await waited
    finally:
        waited.cancel()


def acquire(lock: threading.Lock, seconds: float | None, cancel: Callable[[], object] | None = None) -> bool:
    """Acquire a lock that another thread may hold for long.

    Args:
        lock: the lock.
        seconds: how long to wait; ``None`` for no limit.
        cancel: makes the other thread release the lock, if the ``CancelScope`` of this one is cancelled.

    Returns:
        Whether it was acquired.
    """
    if cancel is not None:
        scope: CancelScope | None = getattr(_entered, "scope", None)
        if scope is not None:
            scope.hold(cancel)
    if lock.acquire(blocking=False):
        return True
    current_host().processes.check_wait()
    if not _is_main():
        return lock.acquire(timeout=-1 if seconds is None else seconds)
    monotonic = current_host().clock.monotonic
    end = None if seconds is None else monotonic() + seconds
    while True:
        left = _SLICE if end is None else max(min(end - monotonic(), _SLICE), 0.0)
        if lock.acquire(timeout=left):
            return True
        if end is not None and monotonic() >= end:
            return False


def _is_main() -> bool:
    return threading.get_ident() == threading.main_thread().ident
