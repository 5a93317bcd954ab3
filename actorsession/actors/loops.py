"""Event loops: the choice of their kind (uvloop where there is one, never by policy), and calls into them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from actorsession.errors import exhausted, from_exception
from actorsession.standard_streams import open_standard_descriptors

try:
    import uvloop
except ImportError:  # no wheel for this platform
    uvloop = None  # type: ignore[assignment]

__all__ = ["call_in", "in_thread", "loop_factory", "new_event_loop", "run"]

T = TypeVar("T")


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return the factory that ``asyncio.Runner`` should use, with descriptors 0 to 2 open."""
    open_standard_descriptors()
    return asyncio.new_event_loop if uvloop is None else uvloop.new_event_loop


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return a new event loop of the preferred kind."""
    return loop_factory()()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on a new loop of the preferred kind, as ``asyncio.run`` would."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(main)


async def in_thread(work: Callable[..., T], *args: Any) -> T:
    """Call a function in a thread of the loop's executor, as ``asyncio.to_thread`` does.

    Raises:
        ResourceExhaustedError: if no thread can be started; the function is not called then, nor later.
    """
    given_up = False

    def unless_given_up() -> T:
        # The executor keeps what it has no thread for, and calls it in the next one that there is.
        return cast(T, None) if given_up else work(*args)

    try:
        return await asyncio.to_thread(unless_given_up)
    except RuntimeError as exc:
        if not exhausted(exc):
            raise
        given_up = True
        raise from_exception(exc) from exc


def call_in(loop: asyncio.AbstractEventLoop | None, callback: Callable[..., object], *args: Any) -> None:
    """Call a function in the thread of a loop: at once if this is it, soon otherwise.

    Args:
        loop: the loop; ``None`` if there is none, so that this thread is the right one. If it is closed,
            nothing is called.
        callback: the function.
        args: its arguments.
    """
    if loop is None or asyncio._get_running_loop() is loop:
        callback(*args)
        return
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(callback, *args)
