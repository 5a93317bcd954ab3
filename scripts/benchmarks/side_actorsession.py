"""actorsession's side: what rows need of a library, and the process that answers the driver.

It uses the library as a user does: ``LocalCluster``, and ``AsyncSession`` on an event loop that runs constantly
in a thread of its own, because links must send heartbeats while the driver works with the other sides. Steps
are timed inside the loop, so no step includes a switch of threads. The driver starts the process with the
``OPENBLAS_CORETYPE`` of worker processes.
"""

from __future__ import annotations

import asyncio
import os
import platform
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeVar
from unittest.mock import patch

import numpy as np

import actorsession as acts
import actorsession.compat.v1
from actorsession.actors.loops import new_event_loop
from actorsession.ops.blas_threads import loaded_libraries
from actorsession.ops.flow import dataflow

from . import side
from .case import Case, Effort, SyncCase, clock, collector_off, how_many
from .questions import DEVICE_VARIABLE, ITERATIONS, TORCH_DEVICE, Question
from .side import Side, serve
from .watched_rows import Loops

__all__ = ["Call", "Library", "builders", "main"]

T = TypeVar("T")


class Loop:
    """An event loop in its own thread, started on first use."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and wait for it."""
        if self._loop is None:
            self._loop = new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="benchmark loop")
            self._thread.start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        """Stop the loop and its thread."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None


@dataclass
class AsyncCase:
    """A row whose steps are awaited.

    Attributes:
        loop: the event loop on which they run.
        step: runs one step.
        answers: returns the answer; it runs outside the loop.
        closes: releases the row's resources, outside the loop.
        per: the number of the row's steps that one ``step`` makes.
    """

    loop: Loop
    step: Callable[[], Awaitable[Any]]
    answers: Callable[[], Sequence[Any]]
    closes: Callable[[], object]
    per: int = 1

    def answer(self) -> Sequence[Any]:
        """Return the answer."""
        return self.answers()

    def times(self, effort: Effort) -> list[float]:
        """Return the seconds of each step of a round."""
        return self.loop.run(self._times(effort))

    def close(self) -> None:
        """Release the row's resources."""
        self.closes()

    async def _times(self, effort: Effort) -> list[float]:
        warm = [await self._one() for _ in range(effort.least)]
        warm += [await self._one() for _ in range(how_many(warm, effort) // 10)]
        count = how_many(warm, effort)
        with collector_off():
            return [await self._one() for _ in range(count)]

    async def _one(self) -> float:
        began = clock()
        await self.step()
        return (clock() - began) / self.per


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
    """Parameter servers and workers, each a process.

    Attributes:
        spec: the addresses by job, in the form that the library's device setter takes.
    """

    def __init__(self, loop: Loop, workers: int, ps: int, kept_steps: int | None = None) -> None:
        self._loop = loop
        self._cluster = acts.LocalCluster({"ps": ps, "worker": workers}, kept_steps=kept_steps)
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


Call = tuple[Session, Any, Any]
"""A session, what it fetches, and what it feeds."""


class Library:
    """One side: what rows need of it. TensorFlow's has the same form, so each row is one program.

    Attributes:
        tf: the module with TensorFlow's names.
    """

    tf: Any = acts

    def __init__(self) -> None:
        self._loop = Loop()
        self._running: dict[tuple[int, int, bool, int | None], Cluster] = {}
        self._served = 0

    def start(self, workers: int = 2, *, ps: int = 1, kept_steps: int | None = None) -> Cluster:
        """Start a cluster, which its caller stops."""
        return Cluster(self._loop, workers, ps, kept_steps)

    def running(self, workers: int = 2, *, ps: int = 1, shared: bool = True, kept_steps: int | None = None) -> Cluster:
        """Return a cluster that stays for other rows.

        Args:
            workers: the number of workers.
            ps: the number of parameter servers.
            shared: whether its processes may share memory.
            kept_steps: how many of the last steps each task remembers; as many as by default if left out.
        """
        key = workers, ps, shared, kept_steps
        if key not in self._running:
            with patch.dict(os.environ, {} if shared else {"ACTORSESSION_SHARED_MEMORY": "0"}):
                self._running[key] = self.start(workers, ps=ps, kept_steps=kept_steps)
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

    def watched_loops(
        self, graph: acts.Graph, targets: Sequence[str], initialize: Any, fetches: Any, feeds: Any
    ) -> Loops:
        """Return a training loop whose steps are remembered, and one whose steps are not.

        Args:
            graph: the graph.
            targets: those of sessions of a cluster that remembers steps and of one that does not; none for sessions
                in this process.
            initialize: what each session runs first.
            fetches: what a step fetches.
            feeds: what it feeds.
        """
        sessions: list[Any] = [self.remote_session(target, graph) for target in targets] or [
            acts.Session(graph=graph, config=acts.ConfigProto(kept_steps=kept)) for kept in (1000, 0)
        ]
        for session in sessions:
            session.run(initialize)
        watched, plain = sessions

        def close() -> None:
            for session in sessions:
                session.close()

        return Loops(lambda: watched.run(fetches, feeds), lambda: plain.run(fetches, feeds), plain.run, close)

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
        """Return the case of a step of a session.

        Args:
            session: the session.
            fetches: what a step fetches.
            feeds: what it feeds.
            answers: returns the answer; what a step fetches if left out, which may be a list.
            closes: releases the row's resources; closes the session if left out.
            collective: whether the step has a collective.
        """
        run = session.awaited.run

        def answer() -> Sequence[Any]:
            found = session.run(fetches, feeds)
            return found if isinstance(fetches, list) else [found]

        return AsyncCase(self._loop, lambda: run(fetches, feeds), answers or answer, closes or session.close)

    def together_case(
        self, calls: Sequence[Call], times: int, answers: Callable[[], Sequence[Any]] | None = None
    ) -> Case:
        """Return the case of sessions with several steps at a time, which it closes.

        Args:
            calls: those that are made at the same time.
            times: how often each is made after itself.
            answers: returns the answer; that of the last calls if left out.
        """
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
        """Return what makes the sum over all tasks of one's value, in a graph of its own.

        Args:
            tasks: the number of tasks.
            key: a number that other collectives do not have.
        """
        group = acts.collective.Group(tasks)
        return lambda value: acts.collective.all_reduce(value, group)

    def close(self) -> None:
        """Stop the clusters that stayed, and the loop."""
        for cluster in self._running.values():
            cluster.stop()
        self._running.clear()
        self._loop.close()


def main(out: int) -> None:
    """Answer the driver until it has no more requests.

    Args:
        out: the descriptor for the replies.
    """
    library = Library()
    packages = ["actorsession", "transports"]
    serve(Side(("actorsession", packages), _describe, builders(library), library.close), sys.stdin, out)


def builders(library: Library) -> dict[str, Callable[[Question], Case]]:
    """Return what builds the case of each row."""
    torch = OnTorch(actorsession.compat.v1) if find_spec("torch") else None
    return side.builders(library, actorsession.compat.v1, torch) | {"raw-loop": _raw_loop}


class OnTorch:
    """The module with the names of TensorFlow 1, for graphs that torch's kernels run."""

    def __init__(self, tf: Any) -> None:
        self._tf = tf
        self._type = os.environ.get(DEVICE_VARIABLE, TORCH_DEVICE)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tf, name)

    def Graph(self) -> OnTorch:
        """Return what makes a graph the default one, in which all nodes ask for the device."""
        return self

    @contextmanager
    def as_default(self) -> Iterator[Any]:
        """Make a new graph the default one."""
        with self._tf.Graph().as_default() as graph, graph.device(f"/device:{self._type}:0"):
            yield graph

    def Session(self, graph: Any) -> Any:
        """Return a session that has the device."""
        return self._tf.Session(graph=graph, config=acts.ConfigProto(device_count={self._type: 1}))


def _describe() -> dict[str, str]:
    loop = new_event_loop()
    loop.close()
    return {
        "name": "actorsession",
        "version": acts.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "loop": type(loop).__module__.split(".")[0],
        "blas": next((library.kernels for library in loaded_libraries()), "unknown"),
        "coretype": os.environ.get("OPENBLAS_CORETYPE", ""),
    }


def _raw_loop(question: Question) -> Case:
    """Build the loop from the primitive operations of control flow, of which TensorFlow's always consists."""
    with acts.Graph().as_default() as graph:
        x = acts.placeholder(acts.float32, [])
        entered = [dataflow.enter(first, "loop") for first in (acts.constant(0), x)]
        end, factor, term = (
            dataflow.enter(acts.constant(value), "loop", is_constant=True)
            for value in (ITERATIONS, question.given["factor"], question.given["term"])
        )
        i, value = (dataflow.merge([first, first]).output for first in entered)
        condition = dataflow.loop_cond(i < end)
        switched = [dataflow.switch(variable, condition) for variable in (i, value)]
        with acts.control_dependencies([switched[0].output_true]):
            following = switched[0].output_true + 1, switched[1].output_true * factor + term
        for variable, after in zip((i, value), following, strict=True):
            dataflow.close_loop(variable, dataflow.next_iteration(after))
        result = dataflow.exit_(switched[1].output_false)
    session, feeds = acts.Session(graph=graph), {x: question.given["x"]}

    def run() -> Any:
        return session.run(result, feeds)

    return SyncCase(run, lambda: [run()], closes=session.close)
