"""actorsession's rows that show how costs grow with graphs, workers, plans and sessions."""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import actorsession as acts

from .case import Case, Effort, FigureCase, SyncCase
from .clusters_actorsession import Clusters
from .loop_case import AsyncCase
from .questions import WIDTH, Question
from .usage import grown_bytes

__all__ = ["GrowthRows", "Layers", "build_layers"]


@dataclass(frozen=True)
class Layers:
    """A graph of layers of ``WIDTH`` nodes.

    Attributes:
        graph: the graph.
        x: what is fed.
        first: the nodes of the first layer.
        total: the sum of the last layer.
    """

    graph: acts.Graph
    x: acts.Tensor
    first: Sequence[acts.Tensor]
    total: acts.Tensor

    def plans(self) -> Iterator[list[acts.Tensor]]:
        """Return fetches that each need a plan of their own, of three nodes."""
        return map(list, itertools.combinations(self.first, 3))


def build_layers(question: Question) -> Layers:
    """Build layers that alternately add up neighbours and halve values."""
    with acts.Graph().as_default() as graph:
        x = acts.placeholder(acts.float32, [])
        first = now = [x * scale for scale in question.given["scales"]]
        half = acts.constant(0.5)
        for layer in range(question.given["layers"]):
            if layer % 2:
                now = [value * half for value in now]
            else:
                now = [value + now[(i + 1) % WIDTH] for i, value in enumerate(now)]
        return Layers(graph, x, first, acts.add_n(now))


class GrowthRows:
    """The rows about growth.

    Args:
        clusters: those that the rows use.
    """

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self._loop = clusters.loop
        self.builders: dict[str, Callable[[Question], Case]] = {
            "build-2000": _build,
            "build-20000": _build,
            "build-200000": _build,
            "first-run-2000": _first_run,
            "first-run-20000": _first_run,
            "first-run-200000": _first_run,
            "step-2000": _step,
            "step-20000": _step,
            "step-200000": _step,
            "new-plan-2000": _new_plan,
            "new-plan-20000": _new_plan,
            "new-plan-200000": _new_plan,
            "in-process-10": self._in_process,
            "in-process-50": self._in_process,
            "memory-session": _memory_session,
            "memory-plan": _memory_plan,
            "memory-server": self._memory_server,
        }

    def _in_process(self, question: Question) -> Case:
        factors = question.given["factors"]
        names = [f"inproc://benchmark-{len(factors)}-{index}" for index in range(len(factors))]
        spec = acts.ClusterSpec({"worker": names})
        servers = [acts.Server(spec, "worker", index) for index in range(len(names))]
        with acts.Graph().as_default() as graph:
            x = acts.placeholder(acts.float32, [])
            terms = []
            for index, factor in enumerate(factors):
                with acts.device(f"/job:worker/task:{index}"):
                    terms.append(x * factor)
            with acts.device("/job:worker/task:0"):
                total = acts.add_n(terms)
        session = acts.AsyncSession(names[0], graph=graph)

        async def start() -> None:
            for server in servers:
                await server.start()

        async def step() -> Any:
            return await session.run(total, {x: question.given["x"]})

        async def answer() -> Sequence[Any]:
            return [await step()]

        async def close() -> None:
            await session.close()
            for server in servers:
                await server.stop()

        self._loop.run(start())
        return AsyncCase(self._loop, step, answer, close)

    def _memory_server(self, question: Question) -> Case:
        cluster = self._clusters.running(1, ps=0)
        graph, x, more = _small_graph()
        sessions: list[acts.AsyncSession] = []

        async def open_one() -> Any:
            sessions.append(acts.AsyncSession(cluster.target("worker"), graph=graph))
            return await sessions[-1].run(more, {x: question.given["x"]})

        async def open_all() -> None:
            for _ in range(question.given["count"]):
                await open_one()

        async def close() -> None:
            for session in sessions:
                await session.close()

        def figure(_: Effort) -> float:
            grown = grown_bytes(cluster.process("worker").pid, lambda: self._loop.run(open_all()))
            return grown / int(question.given["count"])

        return FigureCase(
            figure, lambda: [self._loop.run(open_one())], lambda: self._loop.run(close())
        )


def _build(question: Question) -> Case:
    def answer() -> Sequence[Any]:
        # Some nodes; the answers of first runs are those of all nodes.
        layers = build_layers(question)
        with acts.Session(graph=layers.graph) as session:
            found: Sequence[Any] = session.run(
                list(layers.first[:3]), {layers.x: question.given["x"]}
            )
            return found

    return SyncCase(lambda: build_layers(question), answer, whole=True, after=gc.collect)


def _first_run(question: Question) -> Case:
    layers = build_layers(question)
    sessions: list[acts.Session] = []

    def run() -> Any:
        sessions.append(acts.Session(graph=layers.graph))
        return sessions[-1].run(layers.total, {layers.x: question.given["x"]})

    def close() -> None:
        while sessions:
            sessions.pop().close()

    return SyncCase(run, lambda: [run()], closes=close, whole=True, after=close)


def _step(question: Question) -> Case:
    layers = build_layers(question)
    session = acts.Session(graph=layers.graph)

    def run() -> Any:
        return session.run(layers.total, {layers.x: question.given["x"]})

    return SyncCase(run, lambda: [run()], closes=session.close)


def _new_plan(question: Question) -> Case:
    layers = build_layers(question)
    session = acts.Session(graph=layers.graph)
    plans, feeds = layers.plans(), {layers.x: question.given["x"]}

    def run() -> Any:
        return session.run(next(plans), feeds)

    return SyncCase(run, run, closes=session.close)


def _memory_session(question: Question) -> Case:
    graph, x, more = _small_graph()
    sessions: list[acts.Session] = []

    def open_one() -> Any:
        sessions.append(acts.Session(graph=graph))
        return sessions[-1].run(more, {x: question.given["x"]})

    def open_all() -> None:
        for _ in range(question.given["count"]):
            open_one()

    def close() -> None:
        for session in sessions:
            session.close()

    return FigureCase(
        lambda _: grown_bytes(os.getpid(), open_all) / question.given["count"],
        lambda: [open_one()], close,
    )  # fmt: skip


def _memory_plan(question: Question) -> Case:
    layers, count = build_layers(question), question.given["count"]
    config = acts.ConfigProto(plan_cache_size=count + 1)
    session = acts.Session(graph=layers.graph, config=config)
    plans, feeds = layers.plans(), {layers.x: question.given["x"]}

    def run() -> Any:
        return session.run(next(plans), feeds)

    def run_all() -> None:
        for _ in range(count):
            run()

    return FigureCase(lambda _: grown_bytes(os.getpid(), run_all) / count, run, session.close)


def _small_graph() -> tuple[acts.Graph, acts.Tensor, acts.Tensor]:
    with acts.Graph().as_default() as graph:
        x = acts.placeholder(acts.float32, [])
        more = x * 0.5 + 1.0
    return graph, x, more
