"""Waits of threads that Ctrl-C can end, always.

A signal that comes between the last look of the interpreter's main thread for signals and its sleep does not
wake it: it is then handled after the sleep only, which may be without end. That moment lasts as long as
another thread takes to get the interpreter lock, so on a loaded machine it is met. Waits of the main thread
are therefore cut in slices; other threads handle no signals and wait in one piece, which a ``CancelScope``
ends.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from actorsession.graph.take import Take

__all__ = ["Begun", "CancelScope", "acquire", "drop", "result_of", "wait_for"]

T = TypeVar("T")
# Seconds after which the main thread looks whether a signal came: less than the 200 ms within which Ctrl-C is
# to be answered, and long beside the 20 us or so that a look takes.
_SLICE = 0.1
_FIRST_LOOK = 0.001


_entered = threading.local()


class CancelScope:
    """A block of one thread whose waits for futures another thread may end.

    It does not end work that the thread does by itself.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._future: concurrent.futures.Future[Any] | None = None
        self._cancelled = False

    def __enter__(self) -> CancelScope:
        _entered.scope = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        _entered.scope = None

    def cancel(self) -> None:
        """Cancel what the thread waits for in the block, now and from now on."""
        with self._lock:
            self._cancelled = True
            future = self._future
        if future is not None:
            future.cancel()

    def hold(self, future: concurrent.futures.Future[Any]) -> None:
        """Take note of what the thread waits for next."""
        with self._lock:
            self._future = future
            cancelled = self._cancelled
        if cancelled:
            future.cancel()


def result_of(future: concurrent.futures.Future[T]) -> T:
    """Wait for a future of another thread.

    Returns:
        Its result.

    Raises:
        BaseException: what the future raises, or ``concurrent.futures.CancelledError``, also where the
            ``CancelScope`` of the thread was cancelled; in the main thread also what a signal handler raises.
    """
    scope: CancelScope | None = getattr(_entered, "scope", None)
    if scope is not None:
        scope.hold(future)
    if _is_main():
        while not future.done():
            # Not result(), whose own TimeoutError could be the future's.
            with contextlib.suppress(TimeoutError):
                future.exception(_SLICE)
    return future.result()


Begun: TypeAlias = "concurrent.futures.Future[Any] | Coroutine[Any, Any, Any]"
"""What the kernel of a node that suspends returns."""


def drop(begun: Begun) -> None:
    """Let go of what was begun for a step that has ended; what was taken goes back."""
    if isinstance(begun, Take):
        begun.abandon()
    elif isinstance(begun, concurrent.futures.Future):
        begun.cancel()
    else:
        begun.close()


def wait_for(
    begun: Begun, check: Callable[[], None], loop: asyncio.AbstractEventLoop | None = None
) -> Any:
    """Wait for what a node hands over later, in code that cannot go on without it.

    Args:
        begun: what its kernel returned; cancelled if the wait ends early.
        check: called every now and then; what it raises ends the wait.
        loop: where a coroutine runs, in another thread; one of this thread's own if left out.

    Returns:
        The values.
    """
    if isinstance(begun, concurrent.futures.Future):
        future = begun
    elif asyncio._get_running_loop() is not None:
        # The caller's thread was asked for, and it is the loop's: another one must run the coroutine.
        threads = concurrent.futures.ThreadPoolExecutor(1, "actorsession-coroutine")
        future = threads.submit(asyncio.run, _checked(begun, check))
        threads.shutdown(wait=False)
    elif loop is not None:
        future = asyncio.run_coroutine_threadsafe(begun, loop)
    else:
        return asyncio.run(_checked(begun, check))
    pause = _FIRST_LOOK
    try:
        while not future.done():
            with contextlib.suppress(TimeoutError):
                future.exception(pause)
            check()
            pause = min(2 * pause, _SLICE)
        return future.result()
    except BaseException:
        drop(future)
        raise


async def _checked(work: Coroutine[Any, Any, T], check: Callable[[], None]) -> T:
    """Await a coroutine on a loop that nobody else uses, and looks every now and then."""
    loop = asyncio.get_running_loop()
    future = asyncio.run_coroutine_threadsafe(work, loop)  # a child that ends with this loop
    waited = asyncio.wrap_future(future)
    try:
        while not waited.done():
            await asyncio.wait([waited], timeout=_SLICE)
            check()
        return await waited
    finally:
        waited.cancel()


def acquire(lock: threading.Lock, seconds: float | None) -> bool:
    """Take a lock that another thread may hold for long.

    Args:
        lock: the lock.
        seconds: how long to wait; ``None`` without limit.

    Returns:
        Whether it was taken.
    """
    if lock.acquire(blocking=False):
        return True
    if not _is_main():
        return lock.acquire(timeout=-1 if seconds is None else seconds)
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        left = _SLICE if end is None else max(min(end - time.monotonic(), _SLICE), 0.0)
        if lock.acquire(timeout=left):
            return True
        if end is not None and time.monotonic() >= end:
            return False


def _is_main() -> bool:
    return threading.get_ident() == threading.main_thread().ident
