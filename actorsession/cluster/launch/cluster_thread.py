"""The event loop of a cluster in a program that has none: a thread, from the entry of a plain ``with`` to its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from actorsession.actors.life_cycle import Call, LifeCycle, State
from actorsession.errors import FailedPreconditionError
from actorsession.runtime.loop_thread import LoopThread

__all__ = ["ClusterThread"]

T = TypeVar("T")


class ClusterThread:
    """The thread that runs the coroutines of a cluster which was entered by a plain ``with``.

    Args:
        life: the life cycle of the cluster.
    """

    def __init__(self, life: LifeCycle) -> None:
        self._life = life
        self._thread: LoopThread | None = None
        self._entering = threading.Lock()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end; see ``ManagedCluster.do``."""
        thread = self._thread
        try:
            self._life.owner.check_process()
            if thread is None:
                raise FailedPreconditionError(
                    "do() is for a cluster that was entered by a plain `with`; in a coroutine await the call itself"
                )
        except BaseException:
            work.close()
            raise
        return thread.wait(work)

    def enter(self, name: str, start: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start the cluster in a thread of its own.

        Args:
            name: the class of the cluster, for the error.
            start: starts it.

        Raises:
            RuntimeError: inside a running event loop, or in a forked child.
            FailedPreconditionError: if the cluster was started before.
        """
        if asyncio._get_running_loop() is not None:
            raise RuntimeError(
                "a plain `with` blocks and must not be used inside a running event loop: use "
                f"`async with {name}(...)` there"
            )
        self._life.owner.check_process()
        with self._entering:
            # Before the thread is made, which must not take the place of that of a cluster that is open.
            if self._thread is not None or self._life.state is not State.NEW:
                self._life.check(Call.START)
                raise FailedPreconditionError("the cluster is being started")
            self._thread = LoopThread("actorsession-cluster-loop")
        try:
            self.do(start())
        except BaseException:
            self._end()
            raise

    def close(self, stop: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Stop the cluster and end the thread, if there is one; in a forked child do nothing."""
        if self._life.owner.is_forked:
            return
        with self._entering:  # one call ends the cluster, and the others return after it
            if self._thread is None:
                return
            try:
                self.do(stop())
            finally:
                self._end()

    def _end(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop()
