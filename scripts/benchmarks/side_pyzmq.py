"""The peer pyzmq: its rows with workers that are written by hand; only the peer's Python runs it."""

from __future__ import annotations

import json
import platform
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from .case import Case, FigureCase, SyncCase
from .questions import CALLS, HOPS, STEPS_BEFORE_IDLE, Question
from .server_pyzmq import CLIENT, Node, Route, zmq
from .side import Side, serve
from .usage import watch_idle

__all__ = ["main"]

_A, _B = _WORKERS = ("a", "b")


def main(out: int) -> None:
    """Answer the driver until it has no more requests.

    Args:
        out: the descriptor for the replies.
    """
    rows = Rows()
    serve(Side(("pyzmq", []), _describe, rows.builders, rows.close), sys.stdin, out)


def _describe() -> dict[str, str]:
    return {"name": "pyzmq", "version": zmq.__version__, "python": platform.python_version(), "numpy": np.__version__}


class Rows:
    """The rows that workers by hand answer, and the workers, which are started for the first of them."""

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}
        self.builders: dict[str, Callable[[Question], Case]] = {
            "remote-step": self._remote_step,
            "two-workers": self._two_workers,
            "hops": self._hops,
            "in-flight-8": self._in_flight,
            "push-64mb-host": lambda question: self._push(question, "held"),
            "push-64mb-result": lambda question: self._push(question, "held plus"),
            "push-64mb": lambda question: self._push(question, "held", "tcp"),
            "feed-1mb": self._feed,
            "fetch-1mb": self._fetch,
            "feed-64mb": self._feed,
            "fetch-64mb": self._fetch,
            "idle": self._idle,
        }

    def close(self) -> None:
        """End the workers."""
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _client(self, scheme: str = "ipc") -> Client:
        if scheme not in self._clients:
            self._clients[scheme] = Client(scheme)
        return self._clients[scheme]

    def _case(self, route: Route, value: Any, scheme: str = "ipc") -> Case:
        client = self._client(scheme)
        return SyncCase(lambda: client.run(route, value), lambda: [client.run(route, value)])

    def _remote_step(self, question: Question) -> Case:
        given = question.given
        return self._case([(_A, "add", given["b"])], np.float32(given["a"]))

    def _two_workers(self, question: Question) -> Case:
        return self._case(_over_two_workers(), np.float32(question.given["x"]))

    def _hops(self, question: Question) -> Case:
        factors = question.given["factors"]
        route = [(_WORKERS[node % 2], "times", factors[node % 2]) for node in range(HOPS + 1)]
        return self._case(route, np.float32(question.given["x"]))

    def _in_flight(self, question: Question) -> Case:
        client, route = self._client(), _over_two_workers()
        values = [np.float32(x) for x in question.given["xs"]]

        def run() -> Sequence[Any]:
            return client.run_all(route, values * CALLS, len(values))[-len(values) :]

        return SyncCase(run, run, per=len(values) * CALLS)

    def _push(self, question: Question, operation: str, scheme: str = "ipc") -> Case:
        given = question.given
        self._client(scheme).run([(_B, "hold", given["size"])], np.float32(0))
        route = [(_B, operation, given.get("term")), (_A, "every", given["stride"])]
        return self._case(route, np.float32(0), scheme)

    def _feed(self, question: Question) -> Case:
        return self._case([(_A, "every", question.given["stride"])], question.given["fed"])

    def _fetch(self, question: Question) -> Case:
        self._client().run([(_A, "hold", question.given["size"])], np.float32(0))
        return self._case([(_A, "held", None)], np.float32(0))

    def _idle(self, question: Question) -> Case:
        client, route, x = self._client(), _over_two_workers(), np.float32(question.given["x"])

        def steps() -> Sequence[Any]:
            return client.run_all(route, [x] * STEPS_BEFORE_IDLE, 1)[-1:]

        return FigureCase(watch_idle, steps)


class Client:
    """The client and its two worker processes.

    Args:
        scheme: of their addresses, ``ipc`` or ``tcp``.

    Raises:
        RuntimeError: if a worker does not come up.
    """

    def __init__(self, scheme: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        addresses = _addresses(scheme, Path(self._folder.name))
        self._workers = [_start(name, addresses) for name in _WORKERS]
        for worker in self._workers:
            assert worker.stdout is not None
            if not worker.stdout.readline():
                self._end_workers()
                raise RuntimeError("a worker did not come up")
        self._node = Node(CLIENT, addresses)

    def run(self, route: Route, value: Any) -> Any:
        """Return what a value becomes on a route."""
        return self.run_all(route, [value], 1)[0]

    def run_all(self, route: Route, values: Sequence[Any], most: int) -> list[Any]:
        """Return what values become on a route, of which at most ``most`` are under way at any time."""
        out = [None] * len(values)
        for step, value in enumerate(values[:most]):
            self._node.send(step, route, value)
        for following in range(most, len(values) + most):
            step, _, result = self._node.receive()
            out[step] = result
            if following < len(values):
                self._node.send(following, route, values[following])
        return out

    def close(self) -> None:
        """End the workers."""
        self._node.close()
        self._end_workers()

    def _end_workers(self) -> None:
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.communicate()
        self._folder.cleanup()


def _over_two_workers() -> Route:
    return [(_B, "times", 0.5), (_A, "add", 1.0)]


def _addresses(scheme: str, folder: Path) -> Mapping[str, str]:
    """Return an address for the client and each worker."""
    names = (CLIENT, *_WORKERS)
    if scheme == "ipc":
        return {name: f"ipc://{folder / name}" for name in names}
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in names]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in sockets]
    return {name: f"tcp://127.0.0.1:{port}" for name, port in zip(names, ports, strict=True)}


def _start(name: str, addresses: Mapping[str, str]) -> subprocess.Popen[bytes]:
    entry = str(Path(__file__).parent)
    return subprocess.Popen(
        [sys.executable, entry, "serve", "pyzmq", name, json.dumps(addresses)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
