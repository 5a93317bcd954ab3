"""Coroutines completed without an event loop, for ``Session`` and its callables.

``Session`` and ``AsyncSession`` share the coroutine that runs a request. Where an ``AsyncSession`` suspends,
a ``Session`` blocks its thread, so that one step of the coroutine is the whole run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from actorsession.errors import InternalError
from actorsession.session.notebooks import CellCalls, blocks_loop, without_loop

__all__ = ["IN_LOOP", "complete"]

T = TypeVar("T")
IN_LOOP = (
    "Session blocks and must not be used inside a running event loop: use AsyncSession and "
    "`await session.run(...)` there, or call Session from a thread (asyncio.to_thread)"
)


def complete(coroutine: Coroutine[Any, Any, T], cells: CellCalls | None = None) -> T:
    """Run a coroutine that never suspends in the calling thread, and return its result.

    Args:
        coroutine: closed if it is refused.
        cells: where the coroutine counts as a step, if this is a cell of a notebook.

    Raises:
        RuntimeError: in a coroutine of a running event loop, unless it is a cell of a notebook.
    """
    if asyncio._get_running_loop() is not None:
        if blocks_loop():
            coroutine.close()
            raise RuntimeError(IN_LOOP)
        call: Callable[[], T] = partial(complete, coroutine)
        return without_loop(call) if cells is None else cells.step(call)
    try:
        coroutine.send(None)
    except StopIteration as returned:
        result: T = returned.value
        return result
    coroutine.close()
    raise InternalError("a run of a Session has suspended without an event loop")
