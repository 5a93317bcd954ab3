"""Coroutines completed without an event loop, for ``Session`` and its callables.

``Session`` and ``AsyncSession`` share the coroutine that runs a request. Where an ``AsyncSession`` suspends,
a ``Session`` blocks its thread, so that one step of the coroutine is the whole run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from actorsession.errors import InternalError

__all__ = ["IN_LOOP", "complete"]

T = TypeVar("T")
IN_LOOP = (
    "Session blocks and must not be used inside a running event loop: use AsyncSession and "
    "`await session.run(...)` there, or call Session from a thread (asyncio.to_thread)"
)


def complete(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends in the calling thread, and return its result.

    Raises:
        RuntimeError: in a coroutine of a running event loop.
    """
    if asyncio._get_running_loop() is not None:
        coroutine.close()
        raise RuntimeError(IN_LOOP)
    try:
        coroutine.send(None)
    except StopIteration as returned:
        result: T = returned.value
        return result
    coroutine.close()
    raise InternalError("a run of a Session has suspended without an event loop")
