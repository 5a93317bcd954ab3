"""The rows with several steps at a time, and that of a cluster with none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .case import Callers, Case, FigureCase, SyncCase
from .cluster_rows import over_two_workers
from .mlp import WEIGHTS
from .network import build_network
from .questions import CALLS, STEPS_BEFORE_IDLE, TRAINING_CALLS, Question
from .usage import watch_idle

if TYPE_CHECKING:
    from .side_actorsession import Library

__all__ = ["ConcurrentRows"]


class ConcurrentRows:
    """The rows with several steps at a time.

    Args:
        library: the side.
    """

    def __init__(self, library: Library) -> None:
        self._library, self._tf = library, library.tf
        self.builders: dict[str, Callable[[Question], Case]] = {
            "threads-8": self._threads,
            "in-flight-8": self._in_flight,
            "ps-sgd-2": self._ps_sgd,
            "ps-sgd-4": self._ps_sgd,
            "idle": self._idle,
        }

    def _threads(self, question: Question) -> Case:
        graph, x, more = over_two_workers(self._tf)
        session = self._tf.Session(self._library.running().target(), graph=graph)

        def call(value: float) -> Callable[[], Any]:
            return lambda: session.run(more, {x: value})

        callers = Callers([call(value) for value in question.given["xs"]], CALLS)

        def close() -> None:
            callers.close()
            session.close()

        return SyncCase(callers.run, callers.run, close, per=callers.steps)

    def _in_flight(self, question: Question) -> Case:
        graph, x, more = over_two_workers(self._tf)
        session = self._library.remote_session(self._library.running().target(), graph)
        calls = [(session, more, {x: value}) for value in question.given["xs"]]
        return self._library.together_case(calls, CALLS)

    def _ps_sgd(self, question: Question) -> Case:
        """Return the case of a session for each worker, all with the same variables."""
        workers, steps = question.given["workers"], question.given["steps"]
        replicas = [self._replica(question, workers, index) for index in range(workers)]
        first, network, initialize = replicas[0]
        first.run(initialize)

        def trained() -> Sequence[Any]:
            found = []
            for index in range(steps):
                session, own, _ = replicas[index % workers]
                found.append(session.run(own.step, own.feeds)[1])
            return [*found, *first.run([network.weights[name] for name in WEIGHTS])]

        calls = [(session, own.step, own.feeds) for session, own, _ in replicas]
        return self._library.together_case(calls, TRAINING_CALLS, trained)

    def _replica(self, question: Question, workers: int, index: int) -> tuple[Any, Any, Any]:
        """Return a worker's session, its network, and what initializes the variables."""
        tf, cluster = self._tf, self._library.running(workers)
        placed = tf.train.replica_device_setter(cluster=cluster.spec, worker_device=f"/job:worker/task:{index}")
        with tf.Graph().as_default() as graph, graph.device(placed):
            network = build_network(tf, question)
            initialize = tf.global_variables_initializer()
        session = self._library.remote_session(cluster.target(index), graph)
        return session, network, initialize

    def _idle(self, question: Question) -> Case:
        graph, x, more = over_two_workers(self._tf)
        session = self._library.remote_session(self._library.running(ps=0).target(), graph)

        def steps() -> Sequence[Any]:
            found = [session.run(more, {x: question.given["x"]}) for _ in range(STEPS_BEFORE_IDLE)]
            return found[-1:]

        return FigureCase(watch_idle, steps, session.close)
