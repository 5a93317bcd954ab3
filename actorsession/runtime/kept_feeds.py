"""Feeds that a step may keep for longer than its caller's call lasts.

Large arrays are copied in a worker thread, beside the kernels: copying 64 MB takes tens of milliseconds, in
which an event loop would do nothing else. The caller has lent an array until the call returns, so it does not
change during the copy.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from actorsession.errors import CancelledError, exhausted, from_exception
from actorsession.graph.held_arrays import LARGE, kept_feed, may_change
from actorsession.runtime.kernel_pool import KernelPool

__all__ = ["aside", "fixed_feed", "kept_feed", "kept_feeds"]

T = TypeVar("T")


async def kept_feeds(feeds: Sequence[Any], pool: KernelPool | None) -> Sequence[Any]:
    """Return ``kept_feed`` of several values; copy in a thread if the copies are large.

    Args:
        feeds: the feeds.
        pool: the pool whose threads may be used, if any.

    Raises:
        CancelledError: if the pool is shut down.
    """
    if pool is None or sum(f.nbytes for f in feeds if may_change(f)) <= LARGE:
        return [kept_feed(feed) for feed in feeds]
    return await aside(pool, lambda: [fixed_feed(feed) for feed in feeds])


def fixed_feed(value: Any) -> Any:
    """Return ``kept_feed`` of a value; make a copy read-only, so that it is not copied again."""
    kept = kept_feed(value)
    if kept is not value:
        kept.flags.writeable = False
    return kept


async def aside(pool: KernelPool, work: Callable[[], T]) -> T:
    """Do short, expensive work in a pool thread that waits for no kernel, while the event loop continues.

    Cancelling the call does not stop the work.

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
        with contextlib.suppress(RuntimeError):  # a closed loop has no waiter
            loop.call_soon_threadsafe(give, result, error)

    try:
        pool.beside(run)
    except RuntimeError as exc:
        if exhausted(exc):
            raise from_exception(exc) from exc
        raise CancelledError("Session has been closed.") from exc
    return await done
