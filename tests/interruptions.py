"""Starts that are cancelled at every moment that there is: what such a start leaves, nobody would ever close.

A moment is the time between two callbacks of the event loop. So a start is cancelled before and after each step of
its tasks, and also where the last of them is done and whoever waits for it has not been told yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context
from dataclasses import replace
from typing import Any, TypeVarTuple

from tests.actors.kit import eventually
from tests.leaks import Holdings, take_holdings

__all__ = ["End", "interrupt_everywhere", "run_counted"]

_Arguments = TypeVarTuple("_Arguments")

End = Callable[[], Awaitable[object]]
"""Ends what was started."""


class _CountingLoop(asyncio.SelectorEventLoop):
    """An event loop that calls a function after so many of its callbacks."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 0
        self.then: Callable[[], object] = lambda: None

    def call_soon(
        self, callback: Callable[[*_Arguments], object], *args: *_Arguments, context: Context | None = None
    ) -> asyncio.Handle:
        return super().call_soon(self._counted, callback, args, context=context)

    def _counted(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        try:
            callback(*args)
        finally:
            self.left -= 1
            if self.left == 0:
                self.then()


def run_counted(main: Coroutine[Any, Any, object]) -> None:
    """Run a coroutine that calls ``interrupt_everywhere``."""
    with asyncio.Runner(loop_factory=_CountingLoop) as runner:
        runner.run(main)


async def interrupt_everywhere(
    start: Callable[[], Coroutine[Any, Any, End]], is_clean: Callable[[], bool] = lambda: True
) -> None:
    """Cancel a start at each moment until it is done before that, and check that nothing is left each time.

    Args:
        start: starts something new, and returns what ends it.
        is_clean: whether nothing is left of it elsewhere.
    """
    await (await start())()  # which makes what a loop or a process keeps
    moment, done = 0, False
    while not done:
        moment += 1
        before = _held()
        done = await _interrupted(start, moment)

        def is_released(before: Holdings = before) -> bool:
            return is_clean() and not _held().beyond(before).describe()

        try:
            await eventually(is_released)
        except TimeoutError:
            lines = _held().beyond(before).describe()
            raise AssertionError(f"a start that was cancelled at moment {moment} has left {lines}") from None


async def _interrupted(start: Callable[[], Coroutine[Any, Any, End]], moment: int) -> bool:
    """Cancel a start after so many callbacks, and return whether it was done by then."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, _CountingLoop)
    starting = asyncio.ensure_future(start())
    loop.left, loop.then = moment, starting.cancel
    await asyncio.wait({starting})
    loop.left = 0
    if starting.cancelled():
        return False
    await starting.result()()
    return True


def _held() -> Holdings:
    # Without the threads, which loops keep for their next works.
    return replace(take_holdings(), threads=frozenset(), tasks=frozenset(asyncio.all_tasks()))
