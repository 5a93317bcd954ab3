"""A cluster of processes that tests on any loop, or on none, hold."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from actorsession import AsyncSession, LocalCluster
from tests.cluster.kit import PATIENCE, is_empty, until_all
from tests.leaks import Holdings
from tests.loops import new_event_loop

T = TypeVar("T")


class ProcessCluster:
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

    def revive(self) -> None:
        """Has every process there again and going on, without anything of any session."""
        for process in list(self.cluster.processes.values()):
            process.send_signal(signal.SIGCONT)
            if process._killed or self.do(process.last_words()):
                self.do(self.cluster.restart(process.job, process.index))
        for process in self.cluster.processes.values():
            # Which also ends the sessions that a test has left open because it failed.
            self.do(AsyncSession.reset(process.address))
        self.until_empty()

    def holdings(self) -> Holdings:
        """What this process holds for the processes that are there now."""
        found = [_held_for(process) for process in self.cluster.processes.values()]
        return Holdings(
            descriptors=frozenset().union(*(numbers for numbers, _ in found)),
            threads=frozenset(),
            processes=frozenset(pid for _, pid in found),
        )

    def target(self, job: str, index: int = 0) -> str:
        return self.cluster.target(job, index)

    def until_empty(self) -> None:
        """Waits until no task that runs has anything left of any session."""
        alive = [p.address for p in self.cluster.processes.values() if p.alive]
        self.do(until_all(alive, is_empty))


def _held_for(process: Any) -> tuple[frozenset[tuple[int, str]], int]:
    """The pipes of a process, with what they point to, and its id."""
    transport, reader = process._process._transport, process._stderr
    pipes = [transport.get_pipe_transport(number) for number in (0, 1)]
    numbers = [(p.get_extra_info("pipe") or p.get_extra_info("socket")).fileno() for p in pipes]
    numbers += [reader._reading_end, reader._stopped, reader._stop]
    return frozenset((n, os.readlink(f"/proc/self/fd/{n}")) for n in numbers), process.pid


@contextmanager
def holding(cluster: LocalCluster) -> Iterator[ProcessCluster]:
    """A cluster, started for as long as the block lasts."""
    loop = new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="owner of the processes")
    thread.start()
    held = ProcessCluster(cluster, loop)
    try:
        held.do(cluster.start())
        yield held
    finally:
        held.do(cluster.stop())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def process_cluster(jobs: Mapping[str, int], **options: Any) -> AbstractContextManager[ProcessCluster]:
    """A cluster of processes, for as long as the block lasts."""
    return holding(LocalCluster(jobs, **options))
