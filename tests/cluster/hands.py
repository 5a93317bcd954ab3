"""A cluster of processes that synchronous tests hold, and both faces of sessions behind one set of calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from actorsession.actors.loops import new_event_loop
from actorsession.cluster import LocalCluster
from actorsession.session import AsyncSession, Session
from tests.cluster.kit import PATIENCE, is_empty, until_all

T = TypeVar("T")

FACES = ("async", "sync")


class Hands:
    """Processes that belong to a loop in a thread, so that any test can start, stop and change them.

    Attributes:
        cluster: the processes.
    """

    def __init__(self, cluster: LocalCluster, loop: asyncio.AbstractEventLoop) -> None:
        self.cluster = cluster
        self._loop = loop

    def do(self, work: Coroutine[Any, Any, T], limit: float = 2 * PATIENCE) -> T:
        """Has the loop do something, and waits for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(limit)

    def target(self, job: str, index: int = 0) -> str:
        return self.cluster.target(job, index)

    def until_empty(self) -> None:
        """Waits until no task that runs has anything left of any session."""
        alive = [p.address for p in self.cluster.processes.values() if p.alive]
        self.do(until_all(alive, is_empty))

    def session(self, face: str, target: str, **options: Any) -> Face:
        """A session of one of the two faces."""
        if face == "sync":
            return Face(Session(target, **options), lambda outcome: outcome)

        async def made() -> AsyncSession:
            return AsyncSession(target, **options)

        return Face(self.do(made()), self.do)


class Face:
    """A session whose calls return when they are over, whichever face it has."""

    def __init__(self, session: Any, wait: Callable[[Any], Any]) -> None:
        self.session = session
        self._wait = wait

    def run(self, *args: Any, **options: Any) -> Any:
        return self._wait(self.session.run(*args, **options))

    def reattach(self, restore: Any = None) -> Any:
        return self._wait(self.session.reattach(restore=restore))

    def close(self) -> None:
        self._wait(self.session.close())


@contextmanager
def hands(jobs: Mapping[str, int], **options: Any) -> Iterator[Hands]:
    """A cluster of processes, for as long as the block lasts."""
    loop = new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="owner of the processes")
    thread.start()
    held = Hands(LocalCluster(jobs, **options), loop)
    try:
        held.do(held.cluster.start())
        yield held
    finally:
        held.do(held.cluster.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
