"""The peer Ray: its rows with two actors; only the peer's Python runs it.

A step over several workers is a compiled graph, Ray's fastest form. Its processes spin while they wait and
take all cores, so it is compiled for a round and torn down after it: other sides would be measured beside it.
Large arrays are passed by reference in calls of actors, because the teardown of a compiled graph with buffers
of 64 MB was seen to hang.
"""

from __future__ import annotations

import os
import platform
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np

from .case import Case, Effort, FigureCase, SyncCase
from .questions import CALLS, HOPS, STEPS_BEFORE_IDLE, Question
from .side import Side, serve
from .usage import watch_idle

__all__ = ["main"]

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
ray: Any = import_module("ray")
dag: Any = import_module("ray.dag")

Bind: TypeAlias = Callable[[Any], Any]  # the graph that is built from its input
_STORE_BYTES = 2**30


class Worker:
    """An actor; it holds the array of the rows about large arrays."""

    def __init__(self) -> None:
        self._held: Any = None

    def add(self, value: Any, term: float) -> Any:
        """Return the sum."""
        return value + term

    def times(self, value: Any, factor: float) -> Any:
        """Return the product."""
        return value * factor

    def hold(self, size: int) -> None:
        """Hold an array of indices."""
        self._held = np.arange(size, dtype="f4")

    def held(self) -> Any:
        """Return that array."""
        return self._held

    def held_plus(self, term: float) -> Any:
        """Return the sum of that array and a number."""
        return self._held + np.float32(term)

    def every(self, value: Any, stride: int) -> Any:
        """Return a part of an array."""
        return value[::stride]


def main(out: int) -> None:
    """Answer the driver until it has no more requests.

    Args:
        out: the descriptor for the replies.
    """
    serve(Side(("ray", []), _describe, BUILDERS, ray.shutdown), sys.stdin, out)


def _describe() -> dict[str, str]:
    return {"name": "Ray", "version": ray.__version__, "python": platform.python_version(), "numpy": np.__version__}


def _workers() -> tuple[Any, Any]:
    """Start Ray and return two actors; ``ray.shutdown`` ends them."""
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        object_store_memory=_STORE_BYTES,
    )
    actor = ray.remote(num_cpus=0)(Worker)
    return actor.remote(), actor.remote()


def _calls(step: Callable[[], Any]) -> Case:
    """Return the case of calls of actors."""
    return SyncCase(step, lambda: [step()], closes=ray.shutdown)


class CompiledCase:
    """A row of a compiled graph, which exists during a round only.

    Args:
        bind: builds the graph from its input.
        step: runs one sample with the compiled graph and returns its values.
        per: the number of the row's steps in one sample.
    """

    def __init__(self, bind: Bind, step: Callable[[Any], Sequence[Any]], per: int = 1) -> None:
        self._bind = bind
        self._step = step
        self._per = per

    def answer(self) -> Sequence[Any]:
        """Return the answer."""
        with self._compiled() as graph:
            return self._step(graph)

    def times(self, effort: Effort) -> list[float]:
        """Return the seconds of each step of a round."""
        with self._compiled() as graph:
            return SyncCase(lambda: self._step(graph), list, per=self._per).times(effort)

    def close(self) -> None:
        """End the actors."""
        ray.shutdown()

    @contextmanager
    def _compiled(self) -> Iterator[Any]:
        with dag.InputNode() as fed:
            bound = self._bind(fed)
        graph = bound.experimental_compile()
        try:
            yield graph
        finally:
            graph.teardown()


def _remote_step(question: Question) -> Case:
    a, _ = _workers()
    x, y = question.given["a"], question.given["b"]
    return _calls(lambda: ray.get(a.add.remote(x, y)))


def _two_workers(question: Question) -> Case:
    x = question.given["x"]
    return CompiledCase(_bind_two_workers(), lambda graph: [ray.get(graph.execute(x))])


def _hops(question: Question) -> Case:
    workers, factors = _workers(), question.given["factors"]

    def bind(fed: Any) -> Any:
        for node in range(HOPS + 1):
            fed = workers[node % 2].times.bind(fed, factors[node % 2])
        return fed

    x = question.given["x"]
    return CompiledCase(bind, lambda graph: [ray.get(graph.execute(x))])


def _in_flight(question: Question) -> Case:
    xs = question.given["xs"]

    def step(graph: Any) -> Sequence[Any]:
        running = deque(graph.execute(x) for x in xs)
        for x in list(xs) * (CALLS - 1):
            ray.get(running.popleft())
            running.append(graph.execute(x))
        return [ray.get(each) for each in running]

    return CompiledCase(_bind_two_workers(), step, per=len(xs) * CALLS)


def _bind_two_workers() -> Bind:
    a, b = _workers()
    return lambda fed: a.add.bind(b.times.bind(fed, 0.5), 1.0)


def _push(question: Question) -> Case:
    a, b = _workers()
    stride, term = question.given["stride"], question.given.get("term")
    ray.get(b.hold.remote(question.given["size"]))

    def step() -> Any:
        sent = b.held.remote() if term is None else b.held_plus.remote(term)
        return ray.get(a.every.remote(sent, stride))

    return _calls(step)


def _feed(question: Question) -> Case:
    a, _ = _workers()
    fed, stride = question.given["fed"], question.given["stride"]
    return _calls(lambda: ray.get(a.every.remote(fed, stride)))


def _fetch(question: Question) -> Case:
    a, _ = _workers()
    ray.get(a.hold.remote(question.given["size"]))
    return _calls(lambda: ray.get(a.held.remote()))


def _idle(question: Question) -> Case:
    a, b = _workers()
    x = question.given["x"]

    def steps() -> Sequence[Any]:
        got = [ray.get(a.add.remote(b.times.remote(x, 0.5), 1.0)) for _ in range(STEPS_BEFORE_IDLE)]
        return got[-1:]

    return FigureCase(watch_idle, steps, ray.shutdown)


BUILDERS: dict[str, Callable[[Question], Case]] = {
    "remote-step": _remote_step,
    "two-workers": _two_workers,
    "hops": _hops,
    "in-flight-8": _in_flight,
    "push-64mb-host": _push,
    "push-64mb-result": _push,
    "feed-1mb": _feed,
    "fetch-1mb": _fetch,
    "feed-64mb": _feed,
    "fetch-64mb": _fetch,
    "idle": _idle,
}
