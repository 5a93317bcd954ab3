"""Somebody else at a port of ours: a server of another cluster, or another task, each a process."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from actorsession import ops
from actorsession.config import ConfigProto
from actorsession.errors import DeadlineExceededError
from actorsession.graph.graph import Graph
from actorsession.session import Session
from tests.cluster.kit import W0, W1, W2, on
from tests.cluster.test_child import worker
from tests.ports import HoldPorts

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
    with on(W1):
        there = x + 1.0
    with on(W0):
        end = there + 1.0
    with Session(target, graph=graph, config=SOON) as session:
        with pytest.raises(DeadlineExceededError) as info:
            session.run(end, {x: 1.0})
    return info.value.message


def test_a_server_of_another_cluster_at_our_port_is_refused_with_both_ids(
    graph: Graph, hold_ports: HoldPorts
) -> None:
    ours, port = hold_ports(2)
    spec = cluster({0: ours, 1: port})
    with worker(0, spec, "--cluster-id", "ours") as (_, target):
        with worker(1, spec, "--cluster-id", "theirs"):
            said = refusal(target, graph)
    assert f"1 of 2 tasks did not answer in time: {W1} at tcp://127.0.0.1:{port}" in said
    assert "wrong cluster: " in said
    assert f"{W1} expects cluster 'theirs'" in said
    assert f"{W0} belongs to cluster 'ours'" in said


def test_another_task_at_our_port_is_refused_with_both_names(
    graph: Graph, hold_ports: HoldPorts
) -> None:
    ours, port = hold_ports(2)
    with worker(0, cluster({0: ours, 1: port}), "--cluster-id", "one") as (_, target):
        with worker(2, cluster({0: ours, 2: port}), "--cluster-id", "one"):
            said = refusal(target, graph)
    assert f"1 of 2 tasks did not answer in time: {W1} at tcp://127.0.0.1:{port}" in said
    assert "wrong task: " in said
    assert f"{W0} expects task '{W1}', found the listener {W2}" in said


def test_a_master_of_another_cluster_is_refused_by_our_worker_with_both_ids(
    graph: Graph, hold_ports: HoldPorts
) -> None:
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
        with on(W1):
            end = ops.constant(2.0) * 3.0
        with Session(target, graph=graph) as session:
            assert session.run(end) == 6.0
