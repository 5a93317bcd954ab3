"""Waits of threads that Ctrl-C can end, always.

A signal that comes between the last look of the interpreter's main thread for signals and its sleep does not
wake it: it is then handled after the sleep only, which may be without end. That moment lasts as long as
another thread takes to get the interpreter lock, so on a loaded machine it is met. Waits of the main thread
are therefore cut in slices; other threads handle no signals and wait in one piece.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import threading
import time
from typing import TypeVar

__all__ = ["acquire", "result_of"]

T = TypeVar("T")
# Seconds after which the main thread looks whether a signal came: less than the 200 ms within which Ctrl-C is
# to be answered, and long beside the 20 us or so that a look takes.
_SLICE = 0.1


def result_of(future: concurrent.futures.Future[T]) -> T:
    """Waits for a future of another thread.

    Returns:
        Its result.

    Raises:
        BaseException: what the future raises, or ``concurrent.futures.CancelledError``; in the main thread
            also what a signal handler raises.
    """
    if _is_main():
        while not future.done():
            # Not result(), whose own TimeoutError could be the future's.
            with contextlib.suppress(TimeoutError):
                future.exception(_SLICE)
    return future.result()


def acquire(lock: threading.Lock, seconds: float | None) -> bool:
    """Takes a lock that another thread may hold for long.

    Args:
        lock: the lock.
        seconds: how long to wait; ``None`` without limit.

    Returns:
        Whether it was taken.
    """
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
