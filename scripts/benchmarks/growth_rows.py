"""The rows that show how costs grow with graphs, workers, plans and sessions."""

from __future__ import annotations

import gc
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .case import Case, FigureCase, SyncCase
from .questions import WIDTH, Question
from .usage import grown_bytes

if TYPE_CHECKING:
    from .side_actorsession import Library

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

    graph: Any
    x: Any
    first: Sequence[Any]
    total: Any

    def plans(self) -> Iterator[list[Any]]:
        """Return fetches that each need a plan of their own, of three nodes."""
        return map(list, itertools.combinations(self.first, 3))


def build_layers(tf: Any, question: Question) -> Layers:
    """Build layers that alternately add up neighbours and halve values."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        first = now = [x * scale for scale in question.given["scales"]]
        half = tf.constant(0.5)
        for layer in range(question.given["layers"]):
            if layer % 2:
                now = [value * half for value in now]
            else:
                now = [value + now[(i + 1) % WIDTH] for i, value in enumerate(now)]
        return Layers(graph, x, first, tf.add_n(now))


class GrowthRows:
    """The rows about growth.

    Args:
        library: the side.
    """

    def __init__(self, library: Library) -> None:
        self._library, self._tf = library, library.tf
        self.builders: dict[str, Callable[[Question], Case]] = {
            **{
                f"{kind}-{size}": build
                for size in (2_000, 20_000, 200_000)
                for kind, build in (
                    ("build", self._build),
                    ("first-run", self._first_run),
                    ("step", self._step),
                    ("new-plan", self._new_plan),
                )
            },
            "in-process-10": self._in_process,
            "in-process-50": self._in_process,
            "memory-session": self._memory_session,
            "memory-plan": self._memory_plan,
            "memory-server": self._memory_server,
        }

    def _in_process(self, question: Question) -> Case:
        tf, factors = self._tf, question.given["factors"]
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [])
            terms = []
            for index, factor in enumerate(factors):
                with tf.device(f"/job:worker/task:{index}"):
                    terms.append(x * factor)
            with tf.device("/job:worker/task:0"):
                total = tf.add_n(terms)
        with ExitStack() as stack:
            target = stack.enter_context(self._library.servers(len(factors)))
            session = stack.enter_context(closing(self._library.remote_session(target, graph)))
            return self._library.remote_case(session, total, {x: question.given["x"]}, closes=stack.pop_all().close)

    def _build(self, question: Question) -> Case:
        def answer() -> Sequence[Any]:
            # Some nodes; the answers of first runs are those of all nodes.
            layers = build_layers(self._tf, question)
            with self._tf.Session(graph=layers.graph) as session:
                found: Sequence[Any] = session.run(list(layers.first[:3]), {layers.x: question.given["x"]})
                return found

        return SyncCase(lambda: build_layers(self._tf, question), answer, whole=True, after=gc.collect)

    def _first_run(self, question: Question) -> Case:
        layers = build_layers(self._tf, question)
        sessions: list[Any] = []

        def run() -> Any:
            sessions.append(self._tf.Session(graph=layers.graph))
            return sessions[-1].run(layers.total, {layers.x: question.given["x"]})

        def close() -> None:
            while sessions:
                sessions.pop().close()

        return SyncCase(run, lambda: [run()], closes=close, whole=True, after=close)

    def _step(self, question: Question) -> Case:
        layers = build_layers(self._tf, question)
        session = self._tf.Session(graph=layers.graph)

        def run() -> Any:
            return session.run(layers.total, {layers.x: question.given["x"]})

        return SyncCase(run, lambda: [run()], closes=session.close)

    def _new_plan(self, question: Question) -> Case:
        layers = build_layers(self._tf, question)
        session = self._tf.Session(graph=layers.graph)
        plans, feeds = layers.plans(), {layers.x: question.given["x"]}

        def run() -> Any:
            return session.run(next(plans), feeds)

        return SyncCase(run, run, closes=session.close)

    def _memory_session(self, question: Question) -> Case:
        return self._open(question, os.getpid(), lambda graph: self._tf.Session(graph=graph))

    def _memory_server(self, question: Question) -> Case:
        cluster = self._library.running(1, ps=0)
        target = cluster.target()
        return self._open(question, cluster.pid(0), lambda graph: self._library.remote_session(target, graph))

    def _open(self, question: Question, pid: int, opened: Callable[[Any], Any]) -> Case:
        """Return the case of sessions that are opened one after the other, and stay open."""
        with self._tf.Graph().as_default() as graph:
            x = self._tf.placeholder(self._tf.float32, [])
            more = x * 0.5 + 1.0
        sessions: list[Any] = []

        def open_one() -> Any:
            sessions.append(opened(graph))
            return sessions[-1].run(more, {x: question.given["x"]})

        def open_all() -> None:
            for _ in range(question.given["count"]):
                open_one()

        def close() -> None:
            for session in sessions:
                session.close()

        return FigureCase(lambda _: grown_bytes(pid, open_all) / question.given["count"], lambda: [open_one()], close)

    def _memory_plan(self, question: Question) -> Case:
        layers, count = build_layers(self._tf, question), question.given["count"]
        session = self._library.local_session(layers.graph, plans=count + 1)
        plans, feeds = layers.plans(), {layers.x: question.given["x"]}

        def run() -> Any:
            return session.run(next(plans), feeds)

        def run_all() -> None:
            for _ in range(count):
                run()

        return FigureCase(lambda _: grown_bytes(os.getpid(), run_all) / count, run, session.close)
