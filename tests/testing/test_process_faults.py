"""Faults of a cluster of processes do what they say to its sessions, and end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from actorsession import Graph, LocalCluster, Session, ops
from actorsession.errors import DeadlineExceededError, OpError, UnavailableError
from actorsession.testing import faults
from actorsession.testing.faults import Network, Way

pytestmark = [pytest.mark.process, pytest.mark.local_cluster({"worker": 2}, protocol="tcp")]

FAR = "/job:worker/replica:0/task:1"

# A fault of the second worker, the error of a run that it befalls, and the limit of that run in seconds.
FAULTS: list[tuple[Callable[[Network], Any], type[OpError], float]] = [
    (lambda network: faults.stop(network.cluster, "worker", 1), DeadlineExceededError, 0.2),
    (lambda network: network.hold("worker", 1), DeadlineExceededError, 0.1),
    (lambda network: network.delay("worker", 1, seconds=0.2), DeadlineExceededError, 0.1),
    (lambda network: network.slow("worker", 1, bytes_per_second=100.0), DeadlineExceededError, 0.1),
    (lambda network: network.partition("worker", 1, [Way.THERE]), OpError, 0.3),
    (lambda network: network.partition("worker", 1, [Way.BACK]), OpError, 0.3),
    (lambda network: network.partition("worker", 1), OpError, 0.3),
    (lambda network: network.cut("worker", 1), OpError, 0.3),
]


@contextmanager
def session_of(network: Network, graph: Graph) -> Iterator[Callable[[float | None], int]]:
    """A function that runs one node on the second worker, which gives 2, within so many seconds."""
    with graph.as_default(), graph.device(FAR):
        two = ops.constant(1) + 1
    with Session(network.target("worker"), graph=graph) as session:
        assert session.run(two) == 2
        yield lambda limit: session.run(two, timeout=limit)
        session.reattach()
        assert session.run(two) == 2


def test_each_fault_befalls_the_runs_of_its_task_and_ends(local_cluster: LocalCluster) -> None:
    with Network(local_cluster) as network:
        for fault, error, limit in FAULTS:
            with session_of(network, Graph()) as run:
                fault(network)
                with pytest.raises(error, match="task:1"):
                    run(limit)
                faults.cont(local_cluster, "worker", 1)
                network.heal()
        with session_of(network, Graph()) as run:
            faults.kill(local_cluster, "worker", 1)
            with pytest.raises(UnavailableError) as lost:
                run(None)
            assert lost.value.task == FAR
            local_cluster.do(local_cluster.restart("worker", 1))
            network.introduce()
            before = network.proxies[FAR].passed[Way.BACK]
        assert network.proxies[FAR].passed[Way.BACK] > before


def test_a_block_may_stop_a_process(local_cluster: LocalCluster, graph: Graph) -> None:
    with graph.as_default(), graph.device(FAR), Session(local_cluster.target("worker"), graph=graph) as session:
        two = ops.constant(1) + 1
        assert session.run(two) == 2
        with faults.stopped(local_cluster, "worker", 1), pytest.raises(DeadlineExceededError, match="task:1"):
            session.run(two, timeout=0.2)
        assert session.run(two) == 2
