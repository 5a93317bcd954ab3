"""actorsession's rows with several steps at a time, and that of a cluster with none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import actorsession as acts
from actorsession.train.device_setter import replica_device_setter

from .case import Callers, Case, FigureCase, SyncCase
from .cluster_actorsession import over_two_workers
from .clusters_actorsession import Clusters
from .loop_case import AsyncCase
from .mlp import WEIGHTS
from .network_actorsession import Network, build_network
from .questions import CALLS, STEPS_BEFORE_IDLE, TRAINING_CALLS, Question
from .usage import watch_idle

__all__ = ["ConcurrentRows"]


class ConcurrentRows:
    """The rows with several steps at a time.

    Args:
        clusters: those that the rows use.
    """

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._loop = clusters.loop
        self.builders: dict[str, Callable[[Question], Case]] = {
            "threads-8": self._threads,
            "in-flight-8": self._in_flight,
            "ps-sgd-2": self._ps_sgd,
            "ps-sgd-4": self._ps_sgd,
            "idle": self._idle,
        }

    def _threads(self, question: Question) -> Case:
        graph, x, more = over_two_workers()
        session = acts.Session(self._clusters.running().target("worker"), graph=graph)

        def call(value: float) -> Callable[[], Any]:
            return lambda: session.run(more, {x: value})

        callers = Callers([call(value) for value in question.given["xs"]], CALLS)

        def close() -> None:
            callers.close()
            session.close()

        return SyncCase(callers.run, callers.run, close, per=callers.steps)

    def _in_flight(self, question: Question) -> Case:
        graph, x, more = over_two_workers()
        session = acts.AsyncSession(self._clusters.running().target("worker"), graph=graph)
        given = question.given["xs"]

        async def caller(value: float) -> Any:
            for _ in range(CALLS - 1):
                await session.run(more, {x: value})
            return await session.run(more, {x: value})

        async def step() -> Sequence[Any]:
            return await asyncio.gather(*map(caller, given))

        return AsyncCase(self._loop, step, step, session.close, per=len(given) * CALLS)

    def _ps_sgd(self, question: Question) -> Case:
        """Return the case of a session for each worker, all with the same variables."""
        workers, steps = question.given["workers"], question.given["steps"]
        cluster = self._clusters.running(workers)
        replicas = [_replica(question, cluster, index) for index in range(workers)]
        sessions = [session for session, _, _ in replicas]
        first, network, initialize = replicas[0]
        self._loop.run(first.run(initialize))

        async def trained() -> Sequence[Any]:
            found = []
            for index in range(steps):
                session, own, _ = replicas[index % workers]
                found.append((await session.run(own.step, own.feeds))[1])
            return [*found, *await first.run([network.weights[name] for name in WEIGHTS])]

        async def worker(session: acts.AsyncSession, own: Network) -> None:
            for _ in range(TRAINING_CALLS):
                await session.run(own.step, own.feeds)

        async def step() -> None:
            await asyncio.gather(*(worker(session, own) for session, own, _ in replicas))

        async def close() -> None:
            for session in sessions:
                await session.close()

        return AsyncCase(self._loop, step, trained, close, per=workers * TRAINING_CALLS)

    def _idle(self, question: Question) -> Case:
        graph, x, more = over_two_workers()
        target = self._clusters.running(ps=0).target("worker")
        session = acts.AsyncSession(target, graph=graph)

        async def steps() -> Sequence[Any]:
            for _ in range(STEPS_BEFORE_IDLE - 1):
                await session.run(more, {x: question.given["x"]})
            return [await session.run(more, {x: question.given["x"]})]

        return FigureCase(
            watch_idle, lambda: self._loop.run(steps()), lambda: self._loop.run(session.close())
        )


def _replica(
    question: Question, cluster: acts.LocalCluster, index: int
) -> tuple[acts.AsyncSession, Network, Any]:
    """Return a worker's session, its network, and what initializes the variables."""
    placed = replica_device_setter(cluster=cluster.spec, worker_device=f"/job:worker/task:{index}")
    with acts.Graph().as_default() as graph, graph.device(placed):
        network = build_network(question)
        initialize = acts.global_variables_initializer()
    return acts.AsyncSession(cluster.target("worker", index), graph=graph), network, initialize
