"""TensorFlow's rows on a cluster: real servers in separate processes, over gRPC."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from .case import Case, SyncCase
from .mlp import WEIGHTS
from .network_tensorflow import build_network
from .questions import HOPS, TRAINED_STEPS, Question
from .tensorflow_module import collective_ops, tf

__all__ = ["ClusterRows", "Clusters", "free_addresses", "over_two_workers"]

_PS, _WORKERS = "/job:ps/task:0", ("/job:worker/task:0", "/job:worker/task:1")


class Cluster:
    """Parameter servers and workers on loopback.

    Args:
        workers: the number of workers.
        ps: the number of parameter servers.

    Attributes:
        spec: the addresses by job.
        pids: of the processes, parameter servers first.

    Raises:
        RuntimeError: if a process does not start.
    """

    def __init__(self, workers: int = 2, ps: int = 1) -> None:
        addresses = free_addresses(ps + workers)
        self.spec = {"ps": addresses[:ps], "worker": addresses[ps:]}
        tasks = [(job, index) for job, of in self.spec.items() for index in range(len(of))]
        self._processes = [self._start(job, index) for job, index in tasks]
        self.pids = [process.pid for process in self._processes]
        try:
            for process in self._processes:
                assert process.stdout is not None
                if not process.stdout.readline():
                    raise RuntimeError("a process of TensorFlow's cluster did not come up")
        except BaseException:
            self.stop()
            raise

    def _start(self, job: str, index: int) -> subprocess.Popen[bytes]:
        entry = str(Path(__file__).parent)
        return subprocess.Popen(
            [sys.executable, entry, "serve", "tensorflow", json.dumps(self.spec), job, str(index)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def target(self, worker: int = 0) -> str:
        """Return the address of a worker, for sessions that use it as their master."""
        return f"grpc://{self.spec['worker'][worker]}"

    def stop(self) -> None:
        """Kill all processes."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.communicate()


def free_addresses(count: int) -> list[str]:
    """Return unused addresses; TensorFlow must be given them before its servers bind."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return ["{}:{}".format(*one.getsockname()) for one in sockets]


class Clusters:
    """Clusters by their number of workers; each is started for the first row that needs it."""

    def __init__(self) -> None:
        self._running: dict[tuple[int, int], Cluster] = {}

    def running(self, workers: int = 2, *, ps: int = 1) -> Cluster:
        """Return a cluster."""
        key = workers, ps
        if key not in self._running:
            self._running[key] = Cluster(workers, ps)
        return self._running[key]

    def close(self) -> None:
        """Stop the clusters."""
        for cluster in self._running.values():
            cluster.stop()
        self._running.clear()


class ClusterRows:
    """The rows on a cluster.

    Args:
        clusters: those that the rows use.
    """

    def __init__(self, clusters: Clusters) -> None:
        self._clusters = clusters
        self.builders: dict[str, Callable[[Question], Case]] = {
            "remote-step": self._remote_step,
            "two-workers": self._two_workers,
            "hops": self._hops,
            "push-64mb-host": self._push,
            "push-64mb-result": lambda question: self._push(question, result=True),
            "push-64mb": self._push,
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
        graph: Any,
        fetches: Any,
        feeds: dict[Any, Any] | None = None,
        *,
        answers: Callable[[Any], Sequence[Any]] | None = None,
        first: Any = None,
        workers: int = 2,
        options: Any = None,
    ) -> Case:
        """Return the case that runs ``fetches`` with ``feeds`` in each step, after ``first`` once."""
        session = tf.Session(self._clusters.running(workers).target(), graph=graph)
        if first is not None:
            session.run(first)
        return SyncCase(
            step=lambda: session.run(fetches, feeds, options),
            answers=lambda: answers(session) if answers else [session.run(fetches, feeds)],
            closes=session.close,
        )

    def _remote_step(self, question: Question) -> Case:
        with _on(_WORKERS[0]) as graph:
            a, b = (tf.placeholder(tf.float32, []) for _ in range(2))
            total = a + b
        return self._case(graph, total, {a: question.given["a"], b: question.given["b"]})

    def _two_workers(self, question: Question) -> Case:
        graph, x, more = over_two_workers()
        return self._case(graph, more, {x: question.given["x"]})

    def _hops(self, question: Question) -> Case:
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

    def _push(self, question: Question, *, result: bool = False) -> Case:
        with tf.Graph().as_default() as graph:
            with tf.device(_WORKERS[1]):
                big = _big(question)
                term = tf.placeholder(tf.float32, [])
                sent = big.read_value() + term if result else big.read_value()
            with tf.device(_WORKERS[0]):
                few = sent[:: question.given["stride"]]
        feeds = {term: question.given["term"]} if result else None
        return self._case(graph, few, feeds, first=big.initializer)

    def _feed(self, question: Question) -> Case:
        with _on(_WORKERS[0]) as graph:
            fed = tf.placeholder(tf.float32, [question.given["size"]])
            few = fed[:: question.given["stride"]]
        return self._case(graph, few, {fed: question.given["fed"]})

    def _fetch(self, question: Question) -> Case:
        with _on(_WORKERS[0]) as graph:
            big = _big(question)
        return self._case(graph, big, first=big.initializer)

    def _ps_sgd(self, question: Question) -> Case:
        placed = tf.train.replica_device_setter(
            cluster=self._clusters.running().spec, worker_device=_WORKERS[0]
        )
        with _on(placed) as graph:
            network = build_network(question)
            initialize = tf.global_variables_initializer()

        def trained(session: Any) -> Sequence[Any]:
            losses = [session.run(network.step, network.feeds)[1] for _ in range(TRAINED_STEPS)]
            return [*losses, *session.run([network.weights[name] for name in WEIGHTS])]

        return self._case(graph, network.step, network.feeds, answers=trained, first=initialize)

    def _reduce(self, question: Question) -> Case:
        tasks, stride = question.given["tasks"], question.given["stride"]
        with tf.Graph().as_default() as graph:
            few = []
            for index in range(tasks):
                with tf.device(f"/job:worker/task:{index}"):
                    values = _big(question, index + 1.0).read_value()
                    # A server remembers the shape of an instance, so each row has an instance of its own.
                    instance = question.given["size"]
                    total = collective_ops.all_reduce(values, tasks, tasks, instance)
                    few.append(total[::stride])
            initialize = tf.global_variables_initializer()
        experimental = tf.RunOptions.Experimental(collective_graph_key=1)
        options = tf.RunOptions(experimental=experimental)
        return self._case(
            graph, few, answers=lambda session: session.run(few, options=options),
            first=initialize, workers=tasks, options=options,
        )  # fmt: skip

    def _start(self, question: Question) -> Case:
        graph, initialize, total, x = _over_three_tasks()
        started: list[Callable[[], object]] = []

        def start() -> Any:
            cluster = Cluster()
            started.append(cluster.stop)
            session = tf.Session(cluster.target(), graph=graph)
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


def over_two_workers() -> tuple[Any, Any, Any]:
    """Return a graph that is fed at one worker and fetched from the other, with what is fed and fetched."""
    with tf.Graph().as_default() as graph:
        with tf.device(_WORKERS[1]):
            x = tf.placeholder(tf.float32, [])
            half = x * 0.5
        with tf.device(_WORKERS[0]):
            more = half + 1.0
    return graph, x, more


@contextmanager
def _on(device: Any) -> Iterator[Any]:
    """Open a new default graph with all its nodes on a device."""
    with tf.Graph().as_default() as graph, graph.device(device):
        yield graph


def _big(question: Question, factor: float = 1.0) -> Any:
    """Return a large variable whose initial value is computed on its own device."""
    size = question.given["size"]
    return tf.Variable(tf.cast(tf.range(size), tf.float32) * factor, name=f"big{size}")


def _over_three_tasks() -> tuple[Any, Any, Any, Any]:
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
