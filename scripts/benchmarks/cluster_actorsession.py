"""actorsession's rows on a cluster: ``LocalCluster`` and ``AsyncSession`` on a constantly running loop.

The loop has its own thread, because links must send heartbeats while the driver works with the other side.
Steps are timed inside the loop, so no step includes a switch of threads.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from unittest.mock import patch

import actorsession as acts
from actorsession.actors.loops import new_event_loop
from actorsession.train.device_setter import replica_device_setter

from .case import Case, Effort, clock, collector_off, how_many
from .mlp import WEIGHTS
from .network_actorsession import build_network
from .questions import HOPS, TRAINED_STEPS, Question

__all__ = ["ClusterRows"]

T = TypeVar("T")
_PS, _WORKERS = "/job:ps/task:0", ("/job:worker/task:0", "/job:worker/task:1")
_JOBS = {"ps": 1, "worker": 2}


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
        answers: returns the answer.
        after: cleans up after a whole step and at the end of the row; it is not timed.
        whole: as in ``rows.Row``.
    """

    loop: Loop
    step: Callable[[], Awaitable[Any]]
    answers: Callable[[], Coroutine[Any, Any, Sequence[Any]]]
    after: Callable[[], Coroutine[Any, Any, None]]
    whole: bool = False

    def answer(self) -> Sequence[Any]:
        """Return the answer."""
        return self.loop.run(self.answers())

    def times(self, effort: Effort) -> list[float]:
        """Return the seconds of each step of a round."""
        return self.loop.run(self._whole_step() if self.whole else self._times(effort))

    def close(self) -> None:
        """Release the row's resources."""
        self.loop.run(self.after())

    async def _times(self, effort: Effort) -> list[float]:
        warm = [await self._one() for _ in range(effort.least)]
        warm += [await self._one() for _ in range(how_many(warm, effort) // 10)]
        count = how_many(warm, effort)
        with collector_off():
            return [await self._one() for _ in range(count)]

    async def _one(self) -> float:
        began = clock()
        await self.step()
        return clock() - began

    async def _whole_step(self) -> list[float]:
        try:
            return [await self._one()]
        finally:
            await self.after()


class ClusterRows:
    """The rows on a cluster.

    They share one cluster of 1 ps and 2 workers, which is started for the first of them. The row that
    measures the wire has another cluster, whose processes share no memory.
    """

    def __init__(self) -> None:
        self._loop = Loop()
        self._clusters: dict[tuple[int, bool], acts.LocalCluster] = {}
        self.builders: dict[str, Callable[[Question], Case]] = {
            "remote-step": self._remote_step,
            "two-workers": self._two_workers,
            "hops": self._hops,
            "push-64mb-host": self._push,
            "push-64mb": lambda question: self._push(question, shared=False),
            "fetch-64mb": self._fetch,
            "ps-sgd": self._ps_sgd,
            "reduce-4kb-2": self._reduce,
            "reduce-1mb-2": self._reduce,
            "reduce-64mb-2": self._reduce,
            "reduce-4kb-4": self._reduce,
            "reduce-1mb-4": self._reduce,
            "reduce-64mb-4": self._reduce,
            "cluster-start": self._start,
        }

    def close(self) -> None:
        """Stop the clusters and the loop."""
        for cluster in self._clusters.values():
            self._loop.run(cluster.stop())
        self._clusters.clear()
        self._loop.close()

    def _running(self, workers: int = 2, *, shared: bool = True) -> acts.LocalCluster:
        """Return the cluster with some workers whose processes share memory, as is the default, or do not."""
        if (workers, shared) not in self._clusters:
            cluster = acts.LocalCluster({"ps": 1, "worker": workers})
            with patch.dict(os.environ, {} if shared else {"ACTORSESSION_SHARED_MEMORY": "0"}):
                self._loop.run(cluster.start())
            self._clusters[workers, shared] = cluster
        return self._clusters[workers, shared]

    def _case(
        self,
        graph: acts.Graph,
        fetches: Any,
        feeds: dict[Any, Any] | None = None,
        *,
        answers: Callable[[acts.AsyncSession], Coroutine[Any, Any, Sequence[Any]]] | None = None,
        first: Any = None,
        workers: int = 2,
        shared: bool = True,
    ) -> Case:
        """Return the case that runs ``fetches`` with ``feeds`` in each step, after ``first`` once."""
        cluster = self._running(workers, shared=shared)
        session = acts.AsyncSession(cluster.target("worker", 0), graph=graph)
        if first is not None:
            self._loop.run(session.run(first))

        async def answer() -> Sequence[Any]:
            if answers is not None:
                return await answers(session)
            return [await session.run(fetches, feeds)]

        return AsyncCase(self._loop, lambda: session.run(fetches, feeds), answer, session.close)

    def _remote_step(self, question: Question) -> Case:
        with _on(_WORKERS[0]) as graph:
            a, b = (acts.placeholder(acts.float32, []) for _ in range(2))
            total = a + b
        return self._case(graph, total, {a: question.given["a"], b: question.given["b"]})

    def _two_workers(self, question: Question) -> Case:
        with acts.Graph().as_default() as graph:
            with acts.device(_WORKERS[1]):
                x = acts.placeholder(acts.float32, [])
                half = x * 0.5
            with acts.device(_WORKERS[0]):
                more = half + 1.0
        return self._case(graph, more, {x: question.given["x"]})

    def _hops(self, question: Question) -> Case:
        with acts.Graph().as_default() as graph:
            factors = []
            for worker, factor in zip(_WORKERS, question.given["factors"], strict=True):
                with acts.device(worker):
                    factors.append(acts.Variable(factor, name="hop"))
            with acts.device(_WORKERS[0]):
                y = x = acts.placeholder(acts.float32, [])
            for node in range(HOPS + 1):
                with acts.device(_WORKERS[node % 2]):
                    y = y * factors[node % 2]
            initialize = acts.global_variables_initializer()
        return self._case(graph, y, {x: question.given["x"]}, first=initialize)

    def _push(self, question: Question, shared: bool = True) -> Case:
        with acts.Graph().as_default() as graph:
            with acts.device(_WORKERS[1]):
                big = _big(question)
                read = big.value()
            with acts.device(_WORKERS[0]):
                few = read[:: question.given["stride"]]
        return self._case(graph, few, first=big.initializer, shared=shared)

    def _fetch(self, question: Question) -> Case:
        with _on(_WORKERS[0]) as graph:
            big = _big(question)
        return self._case(graph, big, first=big.initializer)

    def _ps_sgd(self, question: Question) -> Case:
        placed = replica_device_setter(cluster=self._running().spec, worker_device=_WORKERS[0])
        with _on(placed) as graph:
            network = build_network(question)
            initialize = acts.global_variables_initializer()

        async def trained(session: acts.AsyncSession) -> Sequence[Any]:
            losses = [
                (await session.run(network.step, network.feeds))[1] for _ in range(TRAINED_STEPS)
            ]
            return [*losses, *await session.run([network.weights[name] for name in WEIGHTS])]

        return self._case(graph, network.step, network.feeds, answers=trained, first=initialize)

    def _reduce(self, question: Question) -> Case:
        tasks, stride = question.given["tasks"], question.given["stride"]
        with acts.Graph().as_default() as graph:
            group = acts.collective.Group(tasks)
            few = []
            for index in range(tasks):
                with acts.device(f"/job:worker/task:{index}"):
                    values = _big(question, index + 1.0)
                    total = acts.collective.all_reduce(values.value(), group)
                    few.append(total[::stride])
            initialize = acts.global_variables_initializer()

        async def answer(session: acts.AsyncSession) -> Sequence[Any]:
            found: Sequence[Any] = await session.run(few)
            return found

        return self._case(graph, few, answers=answer, first=initialize, workers=tasks)

    def _start(self, question: Question) -> Case:
        graph, initialize, total, x = _over_three_tasks()
        started: list[Any] = []

        async def start() -> Any:
            cluster = acts.LocalCluster(_JOBS)
            started.append(cluster.stop)
            await cluster.start()
            session = acts.AsyncSession(cluster.target("worker", 0), graph=graph)
            started.append(session.close)
            await session.run(initialize)
            return await session.run(total, {x: question.given["x"]})

        async def stop() -> None:
            while started:
                await started.pop()()

        async def answer() -> Sequence[Any]:
            try:
                return [await start()]
            finally:
                await stop()

        return AsyncCase(self._loop, start, answer, stop, whole=True)


@contextmanager
def _on(device: Any) -> Iterator[acts.Graph]:
    """Open a new default graph with all its nodes on a device."""
    with acts.Graph().as_default() as graph, graph.device(device):
        yield graph


def _big(question: Question, factor: float = 1.0) -> acts.Variable:
    """Return a large variable whose initial value is computed on its own device."""
    size = question.given["size"]
    return acts.Variable(
        lambda: acts.cast(acts.range(size), acts.float32) * factor,
        dtype=acts.float32, shape=[size], name=f"big{size}",
    )  # fmt: skip


def _over_three_tasks() -> tuple[acts.Graph, Any, acts.Tensor, acts.Tensor]:
    """Build a graph with a variable on the parameter server and computations on both workers."""
    with acts.Graph().as_default() as graph:
        with acts.device(_PS):
            base = acts.Variable(8.0, name="base")
        with acts.device(_WORKERS[1]):
            x = acts.placeholder(acts.float32, [])
            half = x * 0.5
        with acts.device(_WORKERS[0]):
            total = base + half + 1.0
    return graph, base.initializer, total, x
