"""Event loops of the kind that servers and sessions run on: uvloop's where it is installed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

new_event_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
with suppress(ImportError):  # there is no wheel for some platforms
    import uvloop

    new_event_loop = uvloop.new_event_loop


def run_to_end(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a new loop."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)


async def cancelled(task: asyncio.Future[Any]) -> None:
    """Cancel a task, which ends as one that was cancelled."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(60):
            await task
