"""What a server answers from outside of its cluster, and who may end it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, Server, ops
from actorsession.actors import CallContext, Deadline, registry
from actorsession.cluster import read_cluster, read_statistics, stop_server
from actorsession.cluster.server.control import Control, is_near
from actorsession.errors import DeadlineExceededError, PermissionDeniedError, UnavailableError, UnimplementedError
from actorsession.messages import Done
from actorsession.messages.server import GetCluster, KeepServer, StopServer
from actorsession.rpc.security import TOKEN_VARIABLE
from tests.cluster.kit import W0, W1, Gate, InProcess, in_process, on, silent_address, soon

ONE = {"worker": ["127.0.0.1:0"]}


async def test_a_server_says_which_cluster_it_is_part_of() -> None:
    async with in_process(cluster_id="ours") as cluster:
        view = await read_cluster(cluster.target(W1))
        assert (view.cluster_id, view.task) == ("ours", W1)
        assert view.tasks == {W0: cluster.target(W0), W1: cluster.target(W1)}


async def test_an_address_may_lack_its_scheme_as_in_a_cluster(cluster: InProcess) -> None:
    bare = cluster.target(W1).removeprefix("tcp://")
    assert (await read_statistics(bare)).task == W1
    assert (await read_cluster(bare)).task == W1


async def test_a_server_answers_while_a_step_is_busy(cluster: InProcess, graph: Graph) -> None:
    gate = Gate("an inquiry")
    a = ops.placeholder("float32", [])
    with on(W0):
        end = gate(a)
    async with AsyncSession(cluster.target(), graph=graph) as session:
        running = asyncio.create_task(session.run(end, {a: 1.0}))
        await gate.wait_entered()
        assert (await soon(read_statistics(cluster.target()))).steps == 1
        assert (await soon(read_cluster(cluster.target()))).task == W0
        gate.open()
        assert await running == 1.0


async def test_a_server_ends_when_it_is_asked_to_and_says_which_it_was(graph: Graph) -> None:
    async with in_process({"worker": 1}) as cluster:
        server, target = cluster.servers[0], cluster.target()
        async with AsyncSession(target, graph=graph) as session:
            await session.list_devices()
            assert await soon(stop_server(target, reason="a test")) == W0
            await soon(server.serve_forever())
        with pytest.raises(UnavailableError):
            await read_statistics(target)
        assert registry.lookup(target) is None


async def test_being_asked_to_end_and_stopped_at_the_same_time_is_fine() -> None:
    server = Server(ONE)
    await server.start()
    asking = asyncio.create_task(stop_server(server.target))
    await soon(server.serve_forever())  # it has begun to end
    await soon(server.stop())
    assert await soon(asking) == W0


async def test_the_end_of_nobody_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match=r"no end of tcp://127\.0\.0\.1:1"):
        await stop_server("127.0.0.1:1")


@pytest.mark.parametrize("ask", [read_statistics, read_cluster, stop_server])
async def test_every_question_has_a_deadline(ask: Any) -> None:
    with silent_address() as address, pytest.raises(UnavailableError, match="no answer within"):
        await soon(ask(address, deadline=Deadline.after(0.1)))
    with pytest.raises(DeadlineExceededError, match="the deadline is over"):
        await ask("tcp://127.0.0.1:1", deadline=Deadline.after(0.0))


async def test_a_token_is_asked_for_before_a_server_ends(monkeypatch: Any) -> None:
    async with in_process({"worker": 1}, token="secret") as cluster:
        target = cluster.target()
        for ask in (stop_server, read_cluster):
            with pytest.raises(UnavailableError, match="token"):
                await ask(target)
        monkeypatch.setenv(TOKEN_VARIABLE, "wrong")
        with pytest.raises(UnavailableError, match="token"):
            await stop_server(target)
        assert (await read_cluster(target, token="secret")).task == W0
        assert await stop_server(target, token="secret") == W0


# -- who may end a server --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "near"),
    [
        ("local", True),
        ("tcp://127.0.0.1:7", True),
        ("tcp://127.8.9.1:7", True),
        ("tcp://[::1]:7", True),
        ("tcp://[::ffff:127.0.0.1]:7", True),
        ("unix:///run/w", True),
        ("inproc://w", True),
        ("tls://10.0.0.1:7", True),
        ("tcp://10.0.0.1:7", False),
        ("tcp://[fe80::1%eth0]:7", False),
        ("tcp://localhost.evil.example:7", False),
    ],
)
def test_near_is_this_machine_or_a_certificate(address: str, near: bool) -> None:
    assert is_near(address) is near


class Controlled:
    """A control, and whether it has had its server stopped."""

    def __init__(self, *, trusted: bool) -> None:
        self.stopped = 0
        self.kept: list[float] = []
        self.control = Control(W0, "ours", lambda: {W0: "tcp://h:1"}, self.stop, self.kept.append, trusted=trusted)

    def stop(self, why: str) -> None:
        self.stopped += 1

    def ask(self, message: Any, address: str) -> Any:
        return self.control.submit(message, CallContext(peer="client", address=address))


def test_a_stranger_without_token_or_certificate_ends_nothing() -> None:
    server = Controlled(trusted=False)
    for request in (StopServer(reason=""), KeepServer(seconds=1.0)):
        with pytest.raises(PermissionDeniedError, match=r"a caller at tcp://10\.0\.0\.1:7 must not stop") as info:
            server.ask(request, "tcp://10.0.0.1:7")
        assert (server.stopped, server.kept, info.value.task) == (0, [], W0)
    assert server.ask(GetCluster(), "tcp://10.0.0.1:7").cluster_id == "ours"


@pytest.mark.parametrize(("trusted", "address"), [(True, "tcp://10.0.0.1:7"), (False, "tcp://127.0.0.1:7")])
def test_those_who_may_run_graphs_may_end_a_server(trusted: bool, address: str) -> None:
    server = Controlled(trusted=trusted)
    assert server.ask(KeepServer(seconds=2.5), address) == Done()
    assert server.ask(StopServer(reason=""), address) == Done()
    assert (server.stopped, server.kept) == (1, [2.5])


def test_what_is_told_and_not_asked_is_refused() -> None:
    server = Controlled(trusted=True)
    with pytest.raises(UnimplementedError):
        server.control.deliver(StopServer(reason=""))
    assert server.stopped == 0
