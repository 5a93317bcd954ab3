"""actorsession's rows on a cluster, with one step at a time: ``LocalCluster`` and ``AsyncSession``."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import actorsession as acts
from actorsession.train.device_setter import replica_device_setter

from .case import Case
from .clusters_actorsession import Clusters
from .loop_case import AsyncCase
from .mlp import WEIGHTS
from .network_actorsession import build_network
from .questions import HOPS, TRAINED_STEPS, Question

__all__ = ["ClusterRows", "over_two_workers"]

_PS, _WORKERS = "/job:ps/task:0", ("/job:worker/task:0", "/job:worker/task:1")
_JOBS = {"ps": 1, "worker": 2}


class ClusterRows:
    """The rows on a cluster.

    Args:
        clusters: those that the rows use.
    """

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._loop = clusters.loop
        self.builders: dict[str, Callable[[Question], Case]] = {
            "remote-step": self._remote_step,
            "two-workers": self._two_workers,
            "hops": self._hops,
            "push-64mb-host": self._push,
            "push-64mb-result": lambda question: self._push(question, result=True),
            "push-64mb": lambda question: self._push(question, shared=False),
            "feed-1mb": self._feed,
            "fetch-1mb": self._fetch,
            "feed-64mb": self._feed,
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
        cluster = self._clusters.running(workers, shared=shared)
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
        graph, x, more = over_two_workers()
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

    def _push(self, question: Question, *, shared: bool = True, result: bool = False) -> Case:
        with acts.Graph().as_default() as graph:
            with acts.device(_WORKERS[1]):
                big = _big(question)
                term = acts.placeholder(acts.float32, [])
                sent = big.value() + term if result else big.value()
            with acts.device(_WORKERS[0]):
                few = sent[:: question.given["stride"]]
        feeds = {term: question.given["term"]} if result else None
        return self._case(graph, few, feeds, first=big.initializer, shared=shared)

    def _feed(self, question: Question) -> Case:
        with _on(_WORKERS[0]) as graph:
            fed = acts.placeholder(acts.float32, [question.given["size"]])
            few = fed[:: question.given["stride"]]
        return self._case(graph, few, {fed: question.given["fed"]})

    def _fetch(self, question: Question) -> Case:
        with _on(_WORKERS[0]) as graph:
            big = _big(question)
        return self._case(graph, big, first=big.initializer)

    def _ps_sgd(self, question: Question) -> Case:
        placed = replica_device_setter(
            cluster=self._clusters.running().spec, worker_device=_WORKERS[0]
        )
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


def over_two_workers() -> tuple[acts.Graph, acts.Tensor, acts.Tensor]:
    """Return a graph that is fed at one worker and fetched from the other, with what is fed and fetched."""
    with acts.Graph().as_default() as graph:
        with acts.device(_WORKERS[1]):
            x = acts.placeholder(acts.float32, [])
            half = x * 0.5
        with acts.device(_WORKERS[0]):
            more = half + 1.0
    return graph, x, more


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
