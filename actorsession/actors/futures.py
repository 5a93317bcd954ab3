"""Futures that end as another does, and waits for what somebody else may end."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

__all__ = ["chain", "outcome"]

T = TypeVar("T")


def chain(source: asyncio.Future[Any], target: asyncio.Future[Any]) -> None:
    """End ``target`` as ``source`` ends: with its result, its error, or cancelled.

    Cancelling ``target`` does not cancel ``source``; the error of a source whose target has ended is dropped.
    """

    def ended(source: asyncio.Future[Any]) -> None:
        if target.done():
            if not source.cancelled():
                _ = source.exception()  # retrieved, so that asyncio does not log it
        elif source.cancelled():
            target.cancel()
        elif (error := source.exception()) is not None:
            target.set_exception(error)
        else:
            target.set_result(source.result())

    source.add_done_callback(ended)


async def outcome(child: asyncio.Future[T], ended: BaseException) -> T:
    """Wait for a child that others may wait for, too, and that its owner cancels when it ends.

    Cancelling the call leaves the child alone, as ``asyncio.shield`` does, and drops its error. A child that was
    cancelled is an error. With ``asyncio.shield`` it would cancel its waiters, too: each is a task that nobody has
    cancelled, whose owner takes it for cancelled and waits for nothing of it.

    Args:
        child: the child.
        ended: what is raised if it was cancelled.
    """
    if not child.done():
        try:
            await asyncio.wait({child})
        except asyncio.CancelledError:
            child.add_done_callback(lambda left: left.cancelled() or left.exception())
            raise
    if child.cancelled():
        raise ended
    return child.result()
