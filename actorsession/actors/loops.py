"""The choice of event loop: uvloop where available, else the standard one; never set by policy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

try:
    import uvloop
except ImportError:  # no wheel for this platform
    uvloop = None  # type: ignore[assignment]

__all__ = ["loop_factory", "new_event_loop", "run"]

T = TypeVar("T")


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return the factory that ``asyncio.Runner`` should use."""
    return asyncio.new_event_loop if uvloop is None else uvloop.new_event_loop


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop of the preferred kind."""
    return loop_factory()()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a new loop of the preferred kind, as ``asyncio.run`` would."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(main)
