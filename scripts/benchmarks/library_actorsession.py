"""actorsession's side of what rows need: ``LocalCluster``, and ``AsyncSession`` on a loop of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import actorsession as acts

from .case import Case
from .library import Call
from .loop_case import AsyncCase, Loop

__all__ = ["Library"]


class Session:
    """A session whose steps the loop's thread runs.

    Args:
        loop: the loop.
        target: the address of a server.
        graph: the graph.
    """

    def __init__(self, loop: Loop, target: str, graph: acts.Graph) -> None:
        self._loop = loop
        self.awaited = acts.AsyncSession(target, graph=graph)

    def run(self, fetches: Any, feeds: Any = None) -> Any:
        """Run a step and return what is fetched."""
        return self._loop.run(self.awaited.run(fetches, feeds))

    def close(self) -> None:
        """Close it."""
        self._loop.run(self.awaited.close())


class Cluster:
    """Parameter servers and workers, as ``library.Cluster`` has them."""

    def __init__(self, loop: Loop, workers: int, ps: int) -> None:
        self._loop = loop
        self._cluster = acts.LocalCluster({"ps": ps, "worker": workers})
        loop.run(self._cluster.start())
        self.spec = self._cluster.spec

    def target(self, worker: int = 0) -> str:
        """Return the target of sessions that have a worker as their master."""
        return self._cluster.target("worker", worker)

    def pid(self, worker: int) -> int:
        """Return the process of a worker."""
        return self._cluster.process("worker", worker).pid

    def stop(self) -> None:
        """End all processes."""
        self._loop.run(self._cluster.stop())


class Library:
    """actorsession, as ``library.Library`` describes a side."""

    tf: Any = acts

    def __init__(self) -> None:
        self._loop = Loop()
        self._running: dict[tuple[int, int, bool], Cluster] = {}
        self._served = 0

    def start(self, workers: int = 2, *, ps: int = 1) -> Cluster:
        """Start a cluster, which its caller stops."""
        return Cluster(self._loop, workers, ps)

    def running(self, workers: int = 2, *, ps: int = 1, shared: bool = True) -> Cluster:
        """Return a cluster that stays for other rows."""
        key = workers, ps, shared
        if key not in self._running:
            with patch.dict(os.environ, {} if shared else {"ACTORSESSION_SHARED_MEMORY": "0"}):
                self._running[key] = self.start(workers, ps=ps)
        return self._running[key]

    @contextmanager
    def servers(self, count: int) -> Iterator[str]:
        """Run workers in this process, and return the target of the first."""
        self._served += 1
        names = [f"inproc://benchmark-{self._served}-{index}" for index in range(count)]
        spec = acts.ClusterSpec({"worker": names})
        servers = [acts.Server(spec, "worker", index) for index in range(count)]
        for server in servers:
            self._loop.run(server.start())
        try:
            yield names[0]
        finally:
            for server in servers:
                self._loop.run(server.stop())

    def remote_session(self, target: str, graph: acts.Graph) -> Session:
        """Return a session with a server."""
        return Session(self._loop, target, graph)

    def local_session(self, graph: acts.Graph, plans: int) -> acts.Session:
        """Return a session in this process that keeps so many plans."""
        return acts.Session(graph=graph, config=acts.ConfigProto(plan_cache_size=plans))

    def remote_case(
        self,
        session: Any,
        fetches: Any,
        feeds: Any = None,
        *,
        answers: Callable[[], Sequence[Any]] | None = None,
        closes: Callable[[], object] | None = None,
        collective: bool = False,
    ) -> Case:
        """Return the case of a step of a session."""
        run = session.awaited.run

        def answer() -> Sequence[Any]:
            found = session.run(fetches, feeds)
            return found if isinstance(fetches, list) else [found]

        return AsyncCase(self._loop, lambda: run(fetches, feeds), answers or answer, closes or session.close)

    def together_case(
        self, calls: Sequence[Call], times: int, answers: Callable[[], Sequence[Any]] | None = None
    ) -> Case:
        """Return the case of sessions with several steps at a time, which it closes."""
        sessions = list(dict.fromkeys(session for session, _, _ in calls))

        async def caller(session: Any, fetches: Any, feeds: Any) -> Any:
            for _ in range(times - 1):
                await session.awaited.run(fetches, feeds)
            return await session.awaited.run(fetches, feeds)

        async def step() -> Sequence[Any]:
            return await asyncio.gather(*[caller(*call) for call in calls])

        def close() -> None:
            for session in sessions:
                session.close()

        return AsyncCase(self._loop, step, answers or (lambda: self._loop.run(step())), close, per=len(calls) * times)

    def all_reduce(self, tasks: int, key: int) -> Callable[[Any], Any]:
        """Return what makes the sum over all tasks of one's value, in a graph of its own."""
        group = acts.collective.Group(tasks)
        return lambda value: acts.collective.all_reduce(value, group)

    def close(self) -> None:
        """Stop the clusters that stayed, and the loop."""
        for cluster in self._running.values():
            cluster.stop()
        self._running.clear()
        self._loop.close()
