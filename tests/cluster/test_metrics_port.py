"""The port at which Prometheus reads a server: what it answers, in which format, and to whom it does not."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, Graph, Server, ServerSettings, ops
from actorsession.cluster.server import http_port, metrics_port
from actorsession.errors import InvalidArgumentError, UnknownError
from actorsession.prometheus import exposition
from tests.cli.kit import line_of, rest
from tests.cluster.kit import PATIENCE, W0, eventually, soon
from tests.cluster.script import command, running
from tests.forks import in_a_child
from tests.test_prometheus import Samples, read, value

OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


def fetch(url: str, accept: str = "", method: str = "GET") -> tuple[int, str, str]:
    """Status, content type and body of an answer."""
    where = urlsplit(url)
    assert where.hostname is not None
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=PATIENCE)
    try:
        connection.request(method, where.path, headers={"Accept": accept} if accept else {})
        response = connection.getresponse()
        return response.status, response.getheader("Content-Type", ""), response.read().decode()
    finally:
        connection.close()


async def fetched(url: str, accept: str = "") -> tuple[int, str, str]:
    return await soon(asyncio.to_thread(fetch, url, accept))


@asynccontextmanager
async def metered() -> AsyncIterator[Server]:
    async with Server({"worker": ["127.0.0.1:0"]}, settings=ServerSettings(metrics_port=0)) as server:
        yield server


def ours(text: str) -> str:
    """The lines of a text that are about our families."""
    lines = (line for line in text.splitlines(keepends=True) if line.removeprefix("# ")[:5] in ("HELP ", "TYPE "))
    own = {line.split(" ")[2] for line in lines if line.split(" ")[2].startswith("actorsession_")}
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if line.startswith("actorsession_") or (line.startswith("# ") and line.split(" ")[2] in own)
    )


async def test_a_server_is_read_over_http_and_its_steps_are_seen_in_it(graph: Graph) -> None:
    x = ops.placeholder("float32", [3])
    v = ops.Variable(np.ones(5, np.float32), name="v")
    y = x * 2.0
    async with metered() as server:
        async with AsyncSession(server.target, graph=graph) as session:
            await soon(session.run(v.initializer))
            for _ in range(4):
                await soon(session.run(y, {x: np.ones(3, np.float32)}))
            status, content_type, text = await fetched(server.metrics_url)
        samples, types = read(ours(text))
    assert status == 200
    assert content_type.startswith("text/plain; version=")
    assert value(samples, "actorsession_server_step_seconds_count", task=W0, kind="master") == 5
    assert types["actorsession_server_step_seconds"] == "histogram"
    place = {"task": W0, "device": f"{W0}/device:CPU:0", "container": "localhost", "variable": "v"}
    assert value(samples, "actorsession_server_variable_bytes", **place) == 20


def test_without_prometheus_client_the_answer_is_our_text() -> None:
    families = acts.cluster.ServerStatistics(
        task=W0, sessions=1, worker_sessions=2, graphs=3, steps=4, rendezvous=5, runs=6, pushes=7, links=()
    ).metric_families()
    body, content_type = metrics_port.write_metrics(families, OPEN_METRICS, own=True)
    assert content_type == "text/plain; version=0.0.4; charset=utf-8"
    assert body.decode() == exposition(families)


async def test_with_prometheus_client_the_process_and_the_program_are_read_as_well() -> None:
    client = pytest.importorskip("prometheus_client")
    parser = pytest.importorskip("prometheus_client.parser")
    orders = client.Counter("orders_of_the_program", "Orders.")
    try:
        orders.inc(3)
        async with metered() as server:
            _, content_type, text = await fetched(server.metrics_url)
        families = {family.name: family for family in parser.text_string_to_metric_families(text)}
        assert content_type.startswith("text/plain; version=")
        assert families["orders_of_the_program"].samples[0].value == 3
        assert families["process_cpu_seconds"].samples[0].value > 0
        ours = families["actorsession_server_step_seconds"]
        assert ours.type == "histogram"
        assert {sample.labels["kind"] for sample in ours.samples} == {"master", "worker"}
        assert families["actorsession_server_runs"].type == "counter"
    finally:
        client.REGISTRY.unregister(orders)


async def test_with_prometheus_client_the_format_is_that_which_is_asked_for() -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    async with metered() as server:
        status, content_type, text = await fetched(server.metrics_url, OPEN_METRICS)
    assert status == 200
    assert content_type.startswith("application/openmetrics-text; version=1.0.0")
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    assert families["actorsession_server_uptime_seconds"].samples[0].labels == {"task": W0}
    assert families["actorsession_server_mailbox_wait_seconds"].type == "histogram"


def test_both_writers_give_the_same_samples() -> None:
    """What a strict reader gets from ours and from that of ``prometheus_client`` differs by the latter's own alone."""
    client = pytest.importorskip("prometheus_client")
    seen = acts.cluster.ServerStatistics(
        task='an odd "task"\n', sessions=1, worker_sessions=2, graphs=3, steps=4, rendezvous=5, runs=6, pushes=7,
        links=(), uptime=1.5, version="\x1b[31m",
    )  # fmt: skip
    own, _ = read(seen.prometheus())
    theirs: Samples = {}
    for family in client.parser.text_string_to_metric_families(
        metrics_port.write_metrics(seen.metric_families(), "")[0].decode()
    ):
        for sample in family.samples:
            theirs[sample.name, frozenset(sample.labels.items())] = sample.value
    assert {key: value for key, value in theirs.items() if key[0].startswith("actorsession_")} == own


async def test_heads_and_other_paths_and_methods() -> None:
    async with metered() as server:
        url = server.metrics_url
        for method, path, status in (
            ("GET", "/metrics?x=1", 200),
            ("HEAD", "/metrics", 200),
            ("POST", "/metrics", 405),
            ("GET", "/", 404),
            ("GET", "/healthz", 404),
        ):
            found, _, body = await soon(asyncio.to_thread(fetch, url.replace("/metrics", path), "", method))
            assert found == status
            assert bool(body) == (method == "GET" and status == 200)


async def test_the_port_is_released_with_the_server_and_a_taken_one_is_named() -> None:
    async with metered() as server:
        url, port = server.metrics_url, urlsplit(server.metrics_url).port
        assert port is not None
        other = Server({"worker": ["127.0.0.1:0"]}, settings=ServerSettings(metrics_port=port))
        with pytest.raises(UnknownError, match=f"cannot listen for metrics at 127.0.0.1:{port}: Address"):
            await other.start()
        assert other.metrics_url == ""
    with pytest.raises(OSError):  # noqa: PT011
        await fetched(url)
    assert server.metrics_url == ""
    async with Server({"worker": ["127.0.0.1:0"]}, settings=ServerSettings(metrics_port=port)) as again:
        assert again.metrics_url == url


def test_a_number_that_is_no_port_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="a port from 0 to 65535, got 70000"):
        ServerSettings(metrics_port=70000)


async def test_a_host_that_is_none_is_named() -> None:
    settings = ServerSettings(metrics_port=0, metrics_host="no.such.host.invalid")
    with pytest.raises(UnknownError, match=r"cannot listen for metrics at no\.such\.host\.invalid:0: \w+"):
        await Server({"worker": ["127.0.0.1:0"]}, settings=settings).start()


async def test_a_forked_child_does_not_hold_the_port() -> None:
    port = metrics_port.MetricsPort("127.0.0.1", 0)
    await port.open(lambda: asyncio.sleep(0, []))
    try:
        own = socket.socket(fileno=os.dup(port.descriptor()))
        with own:
            listens_at = own.getsockname()
        in_child = in_a_child({"at": lambda: socket.socket(fileno=os.dup(port.descriptor())).getsockname()})
    finally:
        await port.aclose()
    assert port.url == ""
    assert listens_at[0] == "127.0.0.1"
    assert in_child == {"at": "returned ''"}
    assert port.descriptor() == -1


async def test_an_address_of_ip_6_stands_in_brackets() -> None:
    port = metrics_port.MetricsPort("::1", 0)
    try:
        await port.open(lambda: asyncio.sleep(0, []))
    except OSError:
        pytest.skip("this machine has no IPv6")
    try:
        assert port.url.startswith("http://[::1]:")
        assert (await fetched(port.url))[0] == 200
    finally:
        await port.aclose()
    assert port.url == ""


# -- limits ----------------------------------------------------------------------------------------


class Listening(http_port.HttpPort):
    """A port that answers with one function."""

    def __init__(self, handler: http_port.Handler, limit: float, patience: float) -> None:
        super().__init__("a test", {"/": handler}, limit, patience)
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.number: int = self.sock.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.number}/"


@asynccontextmanager
async def listening(
    handler: http_port.Handler, limit: float = PATIENCE, patience: float = PATIENCE
) -> AsyncIterator[Listening]:
    port = Listening(handler, limit, patience)
    await port.open(port.sock)
    try:
        yield port
    finally:
        await port.aclose()


async def test_a_handler_that_takes_too_long_or_fails_is_answered_for(caplog: pytest.LogCaptureFixture) -> None:
    async def hangs(accept: str) -> http_port.Response:
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    async def fails(accept: str) -> http_port.Response:
        raise RuntimeError("no numbers")

    async with listening(hangs, 0.05) as port:
        assert (await fetched(port.url))[0] == 503
    async with listening(fails) as port:
        assert (await fetched(port.url))[0] == 500
    assert "no numbers" in caplog.text


async def test_the_handler_of_a_client_that_has_gone_is_cancelled() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def hangs(accept: str) -> http_port.Response:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            cancelled.set()
        raise AssertionError

    async with listening(hangs) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port.number)
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        await soon(begun.wait())
        writer.transport.abort()
        await soon(cancelled.wait())


async def test_a_client_that_does_not_read_is_given_up() -> None:
    """The answer is larger than what the system takes for a client; after the patience its connection is ended."""

    async def much(accept: str) -> http_port.Response:
        return http_port.Response(200, bytes(50_000_000))

    async with listening(much, patience=0.1) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port.number, limit=2**10)
        try:
            await eventually(lambda: port.connections == 1)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert await soon(reader.readexactly(12)) == b"HTTP/1.1 200"
            await eventually(lambda: not port.connections)
            assert not reader.at_eof(), "most of it was not read"
        finally:
            writer.transport.abort()


# -- the command line ------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize("as_json", [True, False])
async def test_a_worker_says_where_it_is_read(as_json: bool) -> None:
    cluster = json.dumps({"worker": ["127.0.0.1:0"]})
    words = command("worker", "--cluster", cluster, "--metrics-port", "0", *(["--json"] if as_json else []))
    with running(words) as process:
        said = line_of(process)
        assert process.stdout is not None
        # Both lines may have come at once, and the second one is in the buffer of the stream.
        url = json.loads(said)["metrics"] if as_json else process.stdout.readline().split()[-1]
        status, _, text = await fetched(url)
        assert status == 200
        assert f'actorsession_server_uptime_seconds{{task="{W0}"}}' in text
        process.terminate()
        code, _, err = await asyncio.to_thread(rest, process)
        assert (code, err) == (0, "")


@pytest.mark.process
async def test_a_cluster_is_read_as_a_whole_and_says_which_tasks_are_up() -> None:
    with running(command("cluster", "--jobs", "ps=1,worker=1", "--json", "--metrics-port", "0")) as process:
        said = json.loads(line_of(process))
        status, _, text = await fetched(said["metrics"])
        assert status == 200
        up = [line for line in text.splitlines() if line.startswith("actorsession_server_up{")]
        assert len(up) == len(said["tasks"]) == 2
        assert all(line.endswith((" 1", " 1.0")) for line in up)
        for task, one in said["tasks"].items():
            assert f'pid="{one["pid"]}"' in text
            assert f'actorsession_server_uptime_seconds{{task="{task}"}}' in text
        process.terminate()
        code, _, err = await asyncio.to_thread(rest, process)
        assert (code, err) == (0, "")
