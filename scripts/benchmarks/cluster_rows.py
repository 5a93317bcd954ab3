"""The rows on a cluster, with one step at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .case import Case, SyncCase
from .mlp import WEIGHTS
from .network import build_network
from .questions import HOPS, TRAINED_STEPS, Question

if TYPE_CHECKING:
    from .side_actorsession import Library

__all__ = ["ClusterRows", "over_two_workers"]

_PS, _WORKERS = "/job:ps/task:0", ("/job:worker/task:0", "/job:worker/task:1")


class ClusterRows:
    """The rows on a cluster.

    Args:
        library: the side.
    """

    def __init__(self, library: Library) -> None:
        self._library, self._tf = library, library.tf
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
            **{f"reduce-{size}-{n}": self._reduce for size in ("4kb", "1mb", "64mb") for n in (2, 4)},
            "cluster-start": self._start,
        }

    def _case(
        self,
        graph: Any,
        fetches: Any,
        feeds: dict[Any, Any] | None = None,
        *,
        answers: Callable[[Any], Sequence[Any]] | None = None,
        first: Any = None,
        workers: int = 2,
        shared: bool = True,
        collective: bool = False,
    ) -> Case:
        """Return the case that runs ``fetches`` with ``feeds`` in each step, after ``first`` once."""
        cluster = self._library.running(workers, shared=shared)
        session = self._library.remote_session(cluster.target(), graph)
        if first is not None:
            session.run(first)
        found = None if answers is None else lambda: answers(session)
        return self._library.remote_case(session, fetches, feeds, answers=found, collective=collective)

    def _remote_step(self, question: Question) -> Case:
        tf = self._tf
        with _on(tf, _WORKERS[0]) as graph:
            a, b = (tf.placeholder(tf.float32, []) for _ in range(2))
            total = a + b
        return self._case(graph, total, {a: question.given["a"], b: question.given["b"]})

    def _two_workers(self, question: Question) -> Case:
        tf = self._tf
        graph, x, more = over_two_workers(tf)
        return self._case(graph, more, {x: question.given["x"]})

    def _hops(self, question: Question) -> Case:
        tf = self._tf
        with tf.Graph().as_default() as graph:
            factors = []
            for worker, factor in zip(_WORKERS, question.given["factors"], strict=True):
                with tf.device(worker):
                    factors.append(tf.Variable(factor, name="hop"))
            with tf.device(_WORKERS[0]):
                y = x = tf.placeholder(tf.float32, [])
            for node in range(HOPS + 1):
                with tf.device(_WORKERS[node % 2]):
                    y = y * factors[node % 2]
            initialize = tf.global_variables_initializer()
        return self._case(graph, y, {x: question.given["x"]}, first=initialize)

    def _push(self, question: Question, *, shared: bool = True, result: bool = False) -> Case:
        tf = self._tf
        with tf.Graph().as_default() as graph:
            with tf.device(_WORKERS[1]):
                big = _big(tf, question)
                term = tf.placeholder(tf.float32, [])
                sent = big.read_value() + term if result else big.read_value()
            with tf.device(_WORKERS[0]):
                few = sent[:: question.given["stride"]]
        feeds = {term: question.given["term"]} if result else None
        return self._case(graph, few, feeds, first=big.initializer, shared=shared)

    def _feed(self, question: Question) -> Case:
        tf = self._tf
        with _on(tf, _WORKERS[0]) as graph:
            fed = tf.placeholder(tf.float32, [question.given["size"]])
            few = fed[:: question.given["stride"]]
        return self._case(graph, few, {fed: question.given["fed"]})

    def _fetch(self, question: Question) -> Case:
        tf = self._tf
        with _on(tf, _WORKERS[0]) as graph:
            big = _big(tf, question)
        return self._case(graph, big, first=big.initializer)

    def _ps_sgd(self, question: Question) -> Case:
        tf = self._tf
        placed = tf.train.replica_device_setter(cluster=self._library.running().spec, worker_device=_WORKERS[0])
        with _on(tf, placed) as graph:
            network = build_network(tf, question)
            initialize = tf.global_variables_initializer()

        def trained(session: Any) -> Sequence[Any]:
            losses = [session.run(network.step, network.feeds)[1] for _ in range(TRAINED_STEPS)]
            return [*losses, *session.run([network.weights[name] for name in WEIGHTS])]

        return self._case(graph, network.step, network.feeds, answers=trained, first=initialize)

    def _reduce(self, question: Question) -> Case:
        tf = self._tf
        tasks, stride = question.given["tasks"], question.given["stride"]
        with tf.Graph().as_default() as graph:
            all_reduce = self._library.all_reduce(tasks, question.given["size"])
            few = []
            for index in range(tasks):
                with tf.device(f"/job:worker/task:{index}"):
                    values = _big(tf, question, index + 1.0)
                    few.append(all_reduce(values.read_value())[::stride])
            initialize = tf.global_variables_initializer()
        return self._case(graph, few, first=initialize, workers=tasks, collective=True)

    def _start(self, question: Question) -> Case:
        tf = self._tf
        graph, initialize, total, x = _over_three_tasks(tf)
        started: list[Callable[[], object]] = []

        def start() -> Any:
            cluster = self._library.start()
            started.append(cluster.stop)
            session = self._library.remote_session(cluster.target(), graph)
            started.append(session.close)
            session.run(initialize)
            return session.run(total, {x: question.given["x"]})

        def stop() -> None:
            while started:
                started.pop()()

        def answer() -> Sequence[Any]:
            try:
                return [start()]
            finally:
                stop()

        return SyncCase(start, answer, closes=stop, whole=True, after=stop)


def over_two_workers(tf: Any) -> tuple[Any, Any, Any]:
    """Return a graph that is fed at one worker and fetched from the other, with what is fed and fetched."""
    with tf.Graph().as_default() as graph:
        with tf.device(_WORKERS[1]):
            x = tf.placeholder(tf.float32, [])
            half = x * 0.5
        with tf.device(_WORKERS[0]):
            more = half + 1.0
    return graph, x, more


@contextmanager
def _on(tf: Any, device: Any) -> Iterator[Any]:
    """Open a new default graph with all its nodes on a device."""
    with tf.Graph().as_default() as graph, graph.device(device):
        yield graph


def _big(tf: Any, question: Question, factor: float = 1.0) -> Any:
    """Return a large variable whose initial value is computed on its own device."""
    size = question.given["size"]
    return tf.Variable(tf.cast(tf.range(size), tf.float32) * factor, name=f"big{size}")


def _over_three_tasks(tf: Any) -> tuple[Any, Any, Any, Any]:
    """Build a graph with a variable on the parameter server and computations on both workers."""
    with tf.Graph().as_default() as graph:
        with tf.device(_PS):
            base = tf.Variable(8.0, name="base")
        with tf.device(_WORKERS[1]):
            x = tf.placeholder(tf.float32, [])
            half = x * 0.5
        with tf.device(_WORKERS[0]):
            total = base + half + 1.0
    return graph, base.initializer, total, x
