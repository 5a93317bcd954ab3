"""Probes of liveness and readiness: what they answer to whom, and that a worker answers them."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import actorsession as acts
from actorsession.cluster import read_statistics
from actorsession.cluster.server.probes import Probes
from tests.cli.kit import line_of, rest
from tests.cluster.kit import PATIENCE
from tests.cluster.script import command, running
from tests.loops import new_event_loop


def answer(port: int, path: str, method: str = "GET", host: str = "127.0.0.1") -> tuple[int, bytes]:
    """Status and body of an answer; ``http.client`` also checks its form."""
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        assert response.getheader("Connection") == "close"
        assert {name for name, _ in response.getheaders()} <= {"Content-Length", "Connection", "Allow"}
        return response.status, response.read()
    finally:
        connection.close()


class Turning:
    """An event loop in a thread, which a test can hold up."""

    def __init__(self) -> None:
        self.loop = new_event_loop()
        self.ready = True
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def hang(self) -> Callable[[], None]:
        """Holds the loop until the function that is returned is called."""
        held, release = threading.Event(), threading.Event()

        def hold() -> None:
            held.set()
            assert release.wait(PATIENCE)

        self.loop.call_soon_threadsafe(hold)
        assert held.wait(PATIENCE)
        return release.set

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@contextmanager
def probed(limit: float = PATIENCE) -> Iterator[tuple[Turning, int]]:
    turning = Turning()
    try:
        with Probes(0, turning.loop, lambda: turning.ready, limit=limit) as probes:
            yield turning, probes.port
    finally:
        turning.stop()


def test_a_loop_that_turns_is_alive_and_a_server_that_serves_is_ready() -> None:
    with probed() as (turning, port):
        assert answer(port, "/healthz") == (200, b"")
        assert answer(port, "/readyz") == (200, b"")
        turning.ready = False
        assert answer(port, "/healthz") == (200, b"")
        assert answer(port, "/readyz?verbose") == (503, b"")


def test_a_loop_that_hangs_is_neither_alive_nor_ready_until_it_turns_again() -> None:
    with probed(limit=0.05) as (turning, port):
        go_on = turning.hang()
        try:
            assert answer(port, "/healthz") == (503, b"")
            assert answer(port, "/readyz") == (503, b"")
        finally:
            go_on()
    with probed() as (turning, port):
        go_on = turning.hang()
        asking = threading.Timer(0, lambda: found.append(answer(port, "/healthz")))
        found: list[Any] = []
        asking.start()
        go_on()
        asking.join()
        assert found == [(200, b"")]


def test_many_questions_of_a_loop_that_hangs_are_one_callback_of_it() -> None:
    with probed(limit=0.02) as (turning, port):
        scheduled = 0
        schedule = turning.loop.call_soon_threadsafe

        def count(*args: Any, **more: Any) -> Any:
            nonlocal scheduled
            scheduled += 1
            return schedule(*args, **more)

        go_on = turning.hang()
        setattr(turning.loop, "call_soon_threadsafe", count)  # noqa: B010
        try:
            assert [answer(port, "/healthz")[0] for _ in range(5)] == [503] * 5
            assert scheduled == 1
        finally:
            del turning.loop.call_soon_threadsafe
            go_on()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", "/healthz", 200),
        ("POST", "/healthz", 405),
        ("DELETE", "/readyz", 405),
        ("GET", "/", 404),
        ("GET", "/metrics", 404),
        ("GET", "/healthz/../readyz", 404),
    ],
)
def test_nothing_else_is_answered(method: str, path: str, status: int) -> None:
    with probed() as (_, port):
        assert answer(port, path, method) == (status, b"")


@pytest.mark.parametrize("request_bytes", [b"hello\r\n\r\n", b"GET /healthz\r\n\r\n", b"\r\n\r\n", b"x" * 8193])
def test_what_is_no_request_of_http_is_refused(request_bytes: bytes) -> None:
    with probed() as (_, port), socket.create_connection(("127.0.0.1", port), PATIENCE) as sock:
        sock.sendall(request_bytes)
        assert sock.recv(1000).startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_a_request_may_come_in_pieces() -> None:
    with probed() as (_, port), socket.create_connection(("127.0.0.1", port), PATIENCE) as sock:
        for byte in b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n":
            sock.sendall(bytes([byte]))
        assert sock.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")


def test_clients_that_say_nothing_do_not_keep_others_out() -> None:
    with probed() as (_, port):
        silent = [socket.create_connection(("127.0.0.1", port), PATIENCE) for _ in range(32)]
        try:
            assert answer(port, "/healthz") == (200, b"")
            assert silent[0].recv(1) == b""
        except ConnectionResetError:
            pass
        finally:
            for sock in silent:
                sock.close()


def test_a_port_that_is_taken_is_named() -> None:
    with probed() as (turning, port), pytest.raises(OSError, match=f"cannot listen for probes at port {port}: Address"):
        Probes(port, turning.loop, bool)


# -- a server, and a worker that ends --------------------------------------------------------------
async def test_a_server_is_serving_from_its_start_to_its_stop() -> None:
    seen: list[bool] = []
    server = acts.Server({"worker": ["127.0.0.1:0"]}, "worker")
    seen.append(server.is_serving)
    async with server:
        seen.append(server.is_serving)
        stopping = asyncio.create_task(server.stop())
        await asyncio.sleep(0)
        seen.append(server.is_serving)
        await stopping
    assert seen == [False, True, False]


@pytest.mark.process
async def test_sigterm_ends_a_worker_that_is_probed_and_saves_its_variables(tmp_path: Path) -> None:
    """1. the worker is alive and ready, and a session sets a variable; 2. SIGTERM, in the middle of a step
    that never ends; 3. within its grace the worker writes a last snapshot, answers no probes any more, and
    exits with 0; 4. the next server of the task begins with the variable."""
    snapshots = tmp_path / "snapshots"
    with acts.Graph().as_default() as graph:
        v = acts.Variable(1.0, name="v")
        assign, add = v.assign(41.0), v.assign_add(1.0)
        blocked = acts.FIFOQueue(1, ["float32"], shapes=[()]).dequeue()
    words = command(
        "worker",
        "--cluster",
        json.dumps({"worker": [f"unix://{tmp_path}/w"]}),
        "--json",
        "--snapshot-dir",
        str(snapshots),
        "--snapshot-every",
        "3600",
        "--probe-port",
        "0",
    )
    with running(words) as process:
        said = json.loads(line_of(process))
        port = said["probe_port"]
        assert (answer(port, "/healthz")[0], answer(port, "/readyz")[0]) == (200, 200)
        async with acts.AsyncSession(said["address"], graph) as session:
            await session.run(v.initializer)
            await session.run(assign)
            waiting = asyncio.create_task(session.run(blocked))
            async with asyncio.timeout(PATIENCE):
                while not (await read_statistics(said["address"])).steps:
                    pass
            process.send_signal(signal.SIGTERM)
            with pytest.raises(acts.errors.OpError):
                await waiting
        code, _, err = await asyncio.to_thread(rest, process)
        assert (code, err) == (0, "")
    with pytest.raises(OSError):  # noqa: PT011
        answer(port, "/healthz")
    address = f"unix://{tmp_path}/again"
    async with acts.Server({"worker": [address]}, "worker", settings=acts.ServerSettings(snapshot_dir=snapshots)):
        async with acts.AsyncSession(address, graph) as session:
            assert await session.run(add) == 42.0
