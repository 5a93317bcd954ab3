"""The peer's side: TensorFlow in graph mode, with servers in processes, over gRPC; only the peer's Python runs it."""

from __future__ import annotations

import json
import platform
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from .case import Callers, Case, SyncCase
from .side import Side, builders, serve
from .tensorflow_module import collective_ops, tf
from .watched_rows import Loops

__all__ = ["Library", "main"]


class Cluster:
    """Parameter servers and workers on loopback, as those of actorsession's side are.

    Raises:
        RuntimeError: if a process does not start.
    """

    def __init__(self, workers: int, ps: int) -> None:
        addresses = _free_addresses(ps + workers)
        self.spec = {"ps": addresses[:ps], "worker": addresses[ps:]}
        tasks = [(job, index) for job, of in self.spec.items() for index in range(len(of))]
        self._ps = ps
        self._processes = [self._start(job, index) for job, index in tasks]
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
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def target(self, worker: int = 0) -> str:
        """Return the target of sessions that have a worker as their master."""
        return f"grpc://{self.spec['worker'][worker]}"

    def pid(self, worker: int) -> int:
        """Return the process of a worker."""
        return self._processes[self._ps + worker].pid

    def stop(self) -> None:
        """Kill all processes."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.communicate()


def _free_addresses(count: int) -> list[str]:
    """Return unused addresses; TensorFlow must be given them before its servers bind."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return ["{}:{}".format(*one.getsockname()) for one in sockets]


class Library:
    """TensorFlow, in the form of actorsession's ``Library``."""

    tf: Any = tf

    def __init__(self) -> None:
        self._running: dict[tuple[int, int], Cluster] = {}

    def start(self, workers: int = 2, *, ps: int = 1) -> Cluster:
        """Start a cluster, which its caller stops."""
        return Cluster(workers, ps)

    def running(self, workers: int = 2, *, ps: int = 1, shared: bool = True, kept_steps: int | None = None) -> Cluster:
        """Return a cluster that stays for other rows; its processes never share memory and remember no steps."""
        key = workers, ps
        if key not in self._running:
            self._running[key] = self.start(workers, ps=ps)
        return self._running[key]

    @contextmanager
    def servers(self, count: int) -> Iterator[str]:
        """Run workers in this process, which end with it: they cannot be stopped."""
        spec = tf.train.ClusterSpec({"worker": _free_addresses(count)})
        servers = [tf.train.Server(spec, "worker", index) for index in range(count)]
        yield servers[0].target

    def remote_session(self, target: str, graph: Any) -> Any:
        """Return a session with a server."""
        return tf.Session(target, graph=graph)

    def local_session(self, graph: Any, plans: int) -> Any:
        """Return a session in this process, which keeps all plans."""
        return tf.Session(graph=graph)

    def watched_loops(self, graph: Any, targets: Sequence[str], initialize: Any, fetches: Any, feeds: Any) -> Loops:
        """Return a training loop whose steps are traced, the only way here to see one afterwards, and one without."""
        session = tf.Session(targets[0] if targets else "", graph=graph)
        session.run(initialize)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)

        def watched() -> Any:
            return session.run(fetches, feeds, options, tf.RunMetadata())

        return Loops(watched, lambda: session.run(fetches, feeds), session.run, session.close)

    def remote_case(
        self,
        session: Any,
        fetches: Any,
        feeds: Any = None,
        *,
        answers: Callable[[], Sequence[Any]] | None = None,
        closes: Callable[[], object] | None = None,
        collective: bool = False,
    ) -> Case:
        """Return the case of a step of a session."""
        experimental = tf.RunOptions.Experimental(collective_graph_key=1)
        options = tf.RunOptions(experimental=experimental) if collective else None

        def step() -> Any:
            return session.run(fetches, feeds, options)

        def answer() -> Sequence[Any]:
            return step() if isinstance(fetches, list) else [step()]

        return SyncCase(step, answers or answer, closes or session.close)

    def together_case(
        self, calls: Sequence[Any], times: int, answers: Callable[[], Sequence[Any]] | None = None
    ) -> Case:
        """Return the case of sessions with several steps at a time; threads are the only way here."""

        def call(session: Any, fetches: Any, feeds: Any) -> Callable[[], Any]:
            return lambda: session.run(fetches, feeds)

        callers = Callers([call(*each) for each in calls], times)

        def close() -> None:
            callers.close()
            for session in dict.fromkeys(session for session, _, _ in calls):
                session.close()

        return SyncCase(callers.run, answers or callers.run, close, per=callers.steps)

    def all_reduce(self, tasks: int, key: int) -> Callable[[Any], Any]:
        """Return what makes the sum over all tasks of one's value, in a graph of its own."""
        # A server remembers the shape of a key, so each row has a key of its own.
        return lambda value: collective_ops.all_reduce(value, tasks, tasks, key)

    def close(self) -> None:
        """Stop the clusters that stayed."""
        for cluster in self._running.values():
            cluster.stop()
        self._running.clear()


def main(out: int) -> None:
    """Answer the driver until it has no more requests.

    Args:
        out: the descriptor for the replies.
    """
    library: Any = Library()
    (distribution, *_) = metadata.packages_distributions()["tensorflow"]
    side = Side((distribution, []), _describe, builders(library, torch=tf), library.close)
    serve(side, sys.stdin, out)


def _describe() -> dict[str, str]:
    return {
        "name": "TensorFlow",
        "version": tf.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
