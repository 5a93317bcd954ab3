"""Fed values that a step may hold for longer than its caller's call lasts.

Large arrays are copied in a thread, beside the kernels: 64 MB take tens of milliseconds, in which an event
loop would serve nobody. Whoever fed an array has lent it until the call returns, so nobody changes it then.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from actorsession.errors import CancelledError
from actorsession.runtime.kernel_pool import KernelPool

__all__ = ["LARGE", "aside", "kept_feed", "kept_feeds", "large_arrays"]

T = TypeVar("T")

LARGE = 1 << 20
"""Bytes above which arrays are copied in a thread: they take 0.2 ms, the way to a thread and back 0.1."""


def kept_feed(value: Any) -> Any:
    """A fed value that nobody changes while a step is suspended.

    Args:
        value: what is fed.

    Returns:
        The value itself if it cannot change; else a copy. An array that is read-only may be a view of one
        that is not, so it must own its memory to be taken as it is.
    """
    return value.copy() if _may_change(value) else value


def _may_change(value: Any) -> bool:
    return isinstance(value, np.ndarray) and (value.flags.writeable or value.base is not None)


async def kept_feeds(feeds: Sequence[Any], pool: KernelPool | None) -> Sequence[Any]:
    """``kept_feed`` of several values; in a thread if much has to be copied.

    Args:
        feeds: what is fed.
        pool: whose threads may be used, if any.

    Raises:
        CancelledError: if the pool is shut down.
    """
    if pool is None or sum(f.nbytes for f in feeds if _may_change(f)) <= LARGE:
        return [kept_feed(feed) for feed in feeds]
    return await aside(pool, lambda: [_fixed(feed) for feed in feeds])


def _fixed(value: Any) -> Any:
    """``kept_feed``, whose copy need not be copied again."""
    kept = kept_feed(value)
    if kept is not value:
        kept.flags.writeable = False
    return kept


def large_arrays(values: Sequence[Any]) -> bool:
    """Return whether any value is an array of so many bytes that it should not be worked through on a
    loop."""
    for value in values:  # noqa: SIM110 - each run asks, and a generator costs more than the rest
        if type(value) is np.ndarray and value.nbytes > LARGE:
            return True
    return False


async def aside(pool: KernelPool, work: Callable[[], T]) -> T:
    """Do something short and dear in a thread of a pool that waits for no kernel; then the loop goes on.

    Cancelling it leaves the work to its end.

    Raises:
        CancelledError: if the pool is shut down.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def give(result: Any, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as exc:
            error = exc
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
            loop.call_soon_threadsafe(give, result, error)

    try:
        pool.beside(run)
    except RuntimeError as exc:
        raise CancelledError("Session has been closed.") from exc
    return await done
