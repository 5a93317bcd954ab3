"""TensorFlow's rows with several steps at a time, and that of a cluster with none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .case import Callers, Case, FigureCase, SyncCase
from .cluster_tensorflow import Cluster, Clusters, over_two_workers
from .mlp import WEIGHTS
from .network_tensorflow import Network, build_network
from .questions import CALLS, STEPS_BEFORE_IDLE, TRAINING_CALLS, Question
from .tensorflow_module import tf
from .usage import watch_idle

__all__ = ["ConcurrentRows"]


class ConcurrentRows:
    """The rows with several steps at a time.

    Args:
        clusters: those that the rows use.
    """

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self.builders: dict[str, Callable[[Question], Case]] = {
            "threads-8": self._threads,
            "in-flight-8": self._threads,  # threads are the only way here
            "ps-sgd-2": self._ps_sgd,
            "ps-sgd-4": self._ps_sgd,
            "idle": self._idle,
        }

    def _threads(self, question: Question) -> Case:
        graph, x, more = over_two_workers()
        session = tf.Session(self._clusters.running().target(), graph=graph)

        def call(value: float) -> Callable[[], Any]:
            return lambda: session.run(more, {x: value})

        callers = Callers([call(value) for value in question.given["xs"]], CALLS)

        def close() -> None:
            callers.close()
            session.close()

        return SyncCase(callers.run, callers.run, close, per=callers.steps)

    def _ps_sgd(self, question: Question) -> Case:
        """Return the case of a session for each worker, all with the same variables."""
        workers, steps = question.given["workers"], question.given["steps"]
        cluster = self._clusters.running(workers)
        replicas = [_replica(question, cluster, index) for index in range(workers)]
        first, network, initialize = replicas[0]
        first.run(initialize)

        def trained() -> Sequence[Any]:
            found = []
            for index in range(steps):
                session, own, _ = replicas[index % workers]
                found.append(session.run(own.step, own.feeds)[1])
            return [*found, *first.run([network.weights[name] for name in WEIGHTS])]

        def call(session: Any, own: Network) -> Callable[[], Any]:
            return lambda: session.run(own.step, own.feeds)

        callers = Callers([call(session, own) for session, own, _ in replicas], TRAINING_CALLS)

        def close() -> None:
            callers.close()
            for session, _, _ in replicas:
                session.close()

        return SyncCase(callers.run, trained, close, per=callers.steps)

    def _idle(self, question: Question) -> Case:
        graph, x, more = over_two_workers()
        session = tf.Session(self._clusters.running(ps=0).target(), graph=graph)

        def steps() -> Sequence[Any]:
            for _ in range(STEPS_BEFORE_IDLE - 1):
                session.run(more, {x: question.given["x"]})
            return [session.run(more, {x: question.given["x"]})]

        return FigureCase(watch_idle, steps, session.close)


def _replica(question: Question, cluster: Cluster, index: int) -> tuple[Any, Network, Any]:
    """Return a worker's session, its network, and what initializes the variables."""
    placed = tf.train.replica_device_setter(
        cluster=cluster.spec, worker_device=f"/job:worker/task:{index}"
    )
    with tf.Graph().as_default() as graph, graph.device(placed):
        network = build_network(question)
        initialize = tf.global_variables_initializer()
    return tf.Session(cluster.target(index), graph=graph), network, initialize
