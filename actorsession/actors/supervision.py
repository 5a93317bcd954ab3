"""Children: the only place of ``actorsession`` that makes asyncio tasks, and awaits their end.

Actors, links and the packages above hold one ``Children`` each. The module imports nothing of this project
but the error classes.

Invariants: a child is referenced from its start to its end, so that it cannot be garbage-collected in
flight. Its exception is always retrieved. After ``stop`` no child can be started. So asyncio never has
reason to print "exception was never retrieved" or "task was destroyed but it is pending". Whoever waits for a child
of another owner does so by ``outcome``: else the end of that owner would cancel him.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, TypeVar, cast

from actorsession.errors import AbortedError, OpError

__all__ = ["STOP_GRACE", "Children", "OnError", "outcome"]

T = TypeVar("T")

OnError: TypeAlias = Callable[[str, BaseException], None]

# How many seconds a cancelled child may take to clean up. A clean-up is a few sends and closes; one that
# takes longer waits for something that will never arrive.
STOP_GRACE = 2.0

logger = logging.getLogger("actorsession.actors")


# Stands for a set, which takes 216 bytes, while no child runs.
_NONE = cast("set[asyncio.Task[Any]]", frozenset())


class Children:
    """The tasks of one owner.

    Args:
        owner: name of the owner, for logs and errors.
        on_error: called with a child's name and exception when a child fails that is not awaited; without
            it such an exception is logged.
    """

    __slots__ = ("_on_error", "_owner", "_running", "_stopped")

    def __init__(self, owner: str, on_error: OnError | None = None) -> None:
        self._owner = owner
        self._on_error = on_error
        self._running = _NONE
        self._stopped = False

    def start(self, work: Coroutine[Any, Any, T], *, name: str, awaited: bool = False) -> asyncio.Task[T]:
        """Start a child on the running event loop.

        Args:
            work: the coroutine that the child runs.
            name: the name of the child in logs.
            awaited: whether the caller retrieves the child's exception; if not, ``on_error`` gets it.

        Returns:
            The child, which may be cancelled and awaited.

        Raises:
            AbortedError: the children were stopped; ``work`` is closed then.
        """
        if self._stopped:
            work.close()
            raise AbortedError(f"{self._owner} was stopped and starts no child {name!r}")
        child = asyncio.get_running_loop().create_task(work, name=name)
        if not self._running:
            self._running = set()
        self._running.add(child)
        child.add_done_callback(self._running.discard if awaited else self._ended)
        return child

    def __len__(self) -> int:
        return len(self._running)

    def __contains__(self, child: object) -> bool:
        return child in self._running

    def cancel(self) -> None:
        """Cancel all children but the calling one without waiting, and refuse to start any more."""
        self._stopped = True
        for child in self._others():
            child.cancel()

    async def stop(self, grace: float = STOP_GRACE) -> None:
        """Cancel all children and wait for their end; may be called again.

        A child may call it: it is neither cancelled nor awaited then. Cancelling the call leaves the
        children cancelled, but not awaited.

        Args:
            grace: seconds to wait. The names of children that have not ended by then are logged, and they
                are no longer waited for.
        """
        self.cancel()
        children = self._others()
        if not children:
            return
        _, stubborn = await asyncio.wait(children, timeout=grace)
        if stubborn:
            names = ", ".join(sorted(child.get_name() for child in stubborn))
            logger.error(
                "%s: %d children did not end within %g s of being cancelled: %s",
                self._owner,
                len(stubborn),
                grace,
                names,
            )
        for child in stubborn:
            # It has been logged here; asyncio need not report it again when its event loop ends.
            child._log_destroy_pending = False  # type: ignore[attr-defined]

    def _others(self) -> set[asyncio.Task[Any]]:
        # Without a running event loop, at the end of a program, no child can be the caller.
        running = asyncio.events._get_running_loop()
        return self._running - {asyncio.current_task() if running is not None else None}

    def _ended(self, child: asyncio.Task[Any]) -> None:
        self._running.discard(child)
        if child.cancelled():
            return
        error = child.exception()
        if error is None:
            return
        if self._on_error is None:
            logger.error("%s: child %s failed", self._owner, child.get_name(), exc_info=error)
            return
        try:
            self._on_error(child.get_name(), error)
        except Exception:
            logger.exception("%s: the callback for failed children has failed", self._owner)


async def outcome(child: asyncio.Task[T], ended: OpError) -> T:
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
