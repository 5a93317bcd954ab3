"""Somebody else at a port of ours: a server of another cluster, another task, or many who say nothing."""

from __future__ import annotations

import asyncio
import json
import resource
import signal
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from actorsession import Graph, Session, ops
from actorsession.config import ConfigProto
from actorsession.errors import DeadlineExceededError
from actorsession.train import Saver
from tests.cluster.kit import PATIENCE, W0, W1, W2, on, soon
from tests.cluster.test_child import ONE, worker
from tests.ports import HoldPorts
from transports import ConnectError, Connection, Hello, connect, parse_address

pytestmark = pytest.mark.process

# Enough for several attempts, and for the second that the master keeps back to tell of them; a session
# without a limit waits for 30 s, in case its own task comes after all.
SOON = ConfigProto(operation_timeout_in_ms=4_000)


def cluster(tasks: Mapping[int, int]) -> str:
    """A cluster of workers at ports, as the command line takes it."""
    return json.dumps({"worker": {i: f"127.0.0.1:{port}" for i, port in tasks.items()}})


def refusal(target: str, graph: Graph) -> str:
    """What a step says that needs all tasks."""
    x = ops.placeholder("float32", [])
    there = on(W1, lambda: x + 1.0)
    end = on(W0, lambda: there + 1.0)
    with Session(target, graph=graph, config=SOON) as session, pytest.raises(DeadlineExceededError) as info:
        session.run(end, {x: 1.0})
    return info.value.message


def test_a_server_of_another_cluster_at_our_port_is_refused_with_both_ids(graph: Graph, hold_ports: HoldPorts) -> None:
    ours, port = hold_ports(2)
    spec = cluster({0: ours, 1: port})
    with worker(0, spec, "--cluster-id", "ours") as (_, target), worker(1, spec, "--cluster-id", "theirs"):
        said = refusal(target, graph)
    assert f"1 of 2 tasks did not answer in time: {W1} at tcp://127.0.0.1:{port}" in said
    assert "wrong cluster: " in said
    assert f"{W1} expects cluster 'theirs'" in said
    assert f"{W0} belongs to cluster 'ours'" in said


def test_another_task_at_our_port_is_refused_with_both_names(graph: Graph, hold_ports: HoldPorts) -> None:
    ours, port = hold_ports(2)
    with worker(0, cluster({0: ours, 1: port}), "--cluster-id", "one") as (_, target):
        with worker(2, cluster({0: ours, 2: port}), "--cluster-id", "one"):
            said = refusal(target, graph)
    assert f"1 of 2 tasks did not answer in time: {W1} at tcp://127.0.0.1:{port}" in said
    assert "wrong task: " in said
    assert f"{W0} expects task '{W1}', found the listener {W2}" in said


def test_our_worker_refuses_a_master_of_another_cluster_with_both_ids(graph: Graph, hold_ports: HoldPorts) -> None:
    """The stranger has our worker in its cluster; our own sessions know nothing of it."""
    ours, theirs, port = hold_ports(3)
    with (
        worker(0, cluster({0: ours, 1: port}), "--cluster-id", "ours") as (_, target),
        worker(1, cluster({0: ours, 1: port}), "--cluster-id", "ours"),
        worker(0, cluster({0: theirs, 1: port}), "--cluster-id", "theirs") as (_, stranger),
    ):
        said = refusal(stranger, graph)
        assert "'ours'" in said
        assert "'theirs'" in said
        end = on(W1, lambda: ops.constant(2.0) * 3.0)
        with Session(target, graph=graph) as session:
            assert session.run(end) == 6.0


# -- descriptors -----------------------------------------------------------------------------------
def few_descriptors() -> None:
    """As ``ulimit -n 256`` does, in a child before it begins."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))


def save_and_restore(session: Session, prefix: Path) -> None:
    """Do what a client does."""
    with session.graph.as_default():
        v = ops.Variable(1.0)
        session.run(v.initializer)
        saver = Saver([v], sharded=True)
        saver.save(session, str(prefix))
        session.run(v.assign(2.0))
        saver.restore(session, str(prefix))
        assert session.run(v) == 1.0


def come_and_save(target: str, prefix: Path) -> None:
    """Do so in a session of one's own."""
    with Session(target, graph=Graph()) as session:
        save_and_restore(session, prefix)


def test_strangers_who_say_nothing_leave_descriptors_for_files_and_clients(tmp_path: Path) -> None:
    snapshots = ("--snapshot-dir", str(tmp_path / "snapshots"), "--snapshot-every", "3600")
    with ExitStack() as held, worker(0, ONE, *snapshots, preexec_fn=few_descriptors) as (process, target):
        address = parse_address(target)
        for number in range(600):
            held.enter_context(socket.create_connection((address.host, address.port)))
            if number in (0, 300, 599):
                come_and_save(target, tmp_path / f"m{number}")
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=PATIENCE) == ("", "")
        assert process.returncode == 0
    assert list((tmp_path / "snapshots").glob("*.snapshot"))


async def test_clients_leave_descriptors_for_files_and_come_in_again_when_others_go(tmp_path: Path) -> None:
    hello = Hello(cluster_id="", task="client", incarnation=1, pid=1)
    clients: list[Connection] = []

    async def all_that_come_in(target: str) -> None:
        while len(clients) < 256:
            clients.append(await soon(connect(target, hello, timeout=PATIENCE)))

    with worker(0, ONE, preexec_fn=few_descriptors) as (_, target):
        session = Session(target, graph=Graph())
        await asyncio.to_thread(save_and_restore, session, tmp_path / "m")
        with pytest.raises(ConnectError, match="are kept for its files"):
            await all_that_come_in(target)
        assert len(clients) > 64
        await asyncio.to_thread(save_and_restore, session, tmp_path / "m")
        for _ in range(4):  # a session takes several descriptors, those of shared memory among them
            await soon(clients.pop().aclose())
        await asyncio.to_thread(come_and_save, target, tmp_path / "m")
        await asyncio.to_thread(session.close)
        for client in clients:
            client.abort()
