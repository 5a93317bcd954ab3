"""An event loop in a thread of its own, for programs whose own thread blocks.

The synchronous ``Session`` has one for what it cannot do in the caller's thread, and a ``LocalCluster`` that
was entered by a plain ``with`` has one for its processes.

In a forked child there is no such thread: nothing can be submitted, and ending does nothing.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from actorsession.actors.loops import new_event_loop
from actorsession.actors.ownership import Owner
from actorsession.errors import from_exception
from actorsession.runtime.interruptible import result_of
from transports.host import current_host

__all__ = ["LoopThread"]

T = TypeVar("T")
# Seconds that submitted work gets to end after ``stop``: longer than a cancelled step waits for its kernels.
_GRACE = 10.0
# Seconds that an interrupted wait stays for its work. A kernel in the middle of a node may take much longer,
# and after Ctrl-C the prompt must be back within 200 ms.
_INTERRUPT_GRACE = 0.1


# Those that may run when the program ends.
_LIVING: weakref.WeakSet[LoopThread] = weakref.WeakSet()
# Seconds that the end of a program waits for their loops.
_END = 0.5


@atexit.register
def _end_loops() -> None:
    """End the loops with the program, which may crash if one of them runs while the interpreter ends."""
    living = [thread for thread in _LIVING if not thread.is_forked]
    for thread in living:
        thread.request_stop()
    for thread in living:
        thread.end(_END)


class LoopThread:
    """An event loop in a thread, which ends after ``stop`` once submitted work has ended.

    Args:
        name: of the thread.

    Raises:
        ResourceExhaustedError: no thread can be started.
    """

    def __init__(self, name: str) -> None:
        self._owner = Owner("loop")
        self._loop = new_event_loop()
        self._stop_requested = asyncio.Event()
        self._pending: set[concurrent.futures.Future[Any]] = set()
        try:
            self._thread = current_host().processes.start_thread(self._main, name)
        except RuntimeError as exc:
            self._loop.close()
            raise from_exception(exc) from exc
        _LIVING.add(self)

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._run_until_stopped())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

    async def _run_until_stopped(self) -> None:
        await self._stop_requested.wait()
        # Callers wait for each of these: if the loop ended first, they would wait for ever.
        left = [asyncio.wrap_future(future) for future in list(self._pending)]
        if left:
            await asyncio.wait([asyncio.gather(*left, return_exceptions=True)], timeout=_GRACE)
        for future in list(self._pending):
            future.cancel()
        # The rest are interrupted runs that may still be in a kernel. They have no waiters.
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        if rest:
            await asyncio.wait(rest, timeout=_INTERRUPT_GRACE)

    @property
    def is_forked(self) -> bool:
        """Whether the thread stayed behind in the parent process."""
        return self._owner.is_forked

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in this thread and so must not wait for it."""
        return threading.current_thread() is self._thread

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Start a coroutine on the loop; must not be called after ``request_stop``.

        Raises:
            RuntimeError: in a forked child; the coroutine is closed then.
        """
        try:
            self._owner.check_process()
        except RuntimeError:
            coroutine.close()
            raise
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        return future

    def result(self, future: concurrent.futures.Future[T]) -> T:
        """Wait for a future that ``submit`` returned.

        Ctrl-C, or any other exception of a signal handler, cancels it. The exception is raised when the
        coroutine has ended, or after 0.1 s if a kernel keeps it from ending.
        """
        try:
            return result_of(future)
        except BaseException:
            if not future.done():
                future.cancel()
                concurrent.futures.wait([future], timeout=_INTERRUPT_GRACE)
            raise

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and wait for it; see ``result``."""
        return self.result(self.submit(coroutine))

    def call(self, callback: Callable[[], object]) -> None:
        """Schedule a callback on the loop's thread; do nothing once the loop is closed, or in a fork."""
        if self.is_forked:
            return
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback)

    def stop(self) -> None:
        """Stop the loop, and wait for its thread if it has no work left."""
        self.request_stop()
        if not self._pending and not self.is_current:
            self.end(_GRACE)

    def end(self, timeout: float) -> None:
        """Wait until the thread of a stopped loop has ended, at most for a time."""
        if not self.is_forked:
            self._thread.join(timeout)

    def request_stop(self) -> None:
        """Stop the loop without waiting; callable from any thread, also after ``stop``."""
        self.call(self._stop_requested.set)
