"""Tests of a user with annotations, by the public names of the kit: the type checker reads them, nothing runs them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

import actorsession as acts
from actorsession.errors import OpError
from actorsession.testing import (
    Fault,
    Host,
    InProcessCluster,
    Schedule,
    SimulatedCluster,
    SimulatedLoop,
    StillClock,
    assert_same,
    current_host,
    faults,
    no_leaks,
    on_host,
    strategies,
)


async def test_session(session: acts.AsyncSession, graph: acts.Graph) -> None:
    """Fixtures of a loop."""
    x = acts.placeholder(acts.float32, [])
    async with no_leaks():
        assert await session.run(x * 2.0, {x: 4.0}) == 8.0


def test_comparison(graph: acts.Graph) -> None:
    """A comparison."""
    x = acts.placeholder(acts.float32, [2])
    assert_same([x * 2.0], [np.array([2.0, 4.0], np.float32)], {x: [1.0, 2.0]}, devices=2, tolerance=0.0)


@given(recipe=strategies.graphs(most=3), schedule=strategies.fault_schedules({"worker": 1}))
def test_strategies(recipe: strategies.Recipe, schedule: Schedule) -> None:
    """What strategies draw."""
    kinds: list[str] = [fault.kind for fault in schedule]
    placeholders, values = recipe.build(acts.Graph(), lambda place: acts.device(f"/cpu:{place}"))
    assert len(values) >= 1
    assert len(placeholders) == 2
    assert len(kinds) == len(schedule)


def test_faults(local_cluster: acts.LocalCluster) -> None:
    """Faults of processes."""
    with faults.Network(local_cluster) as network, no_leaks():
        network.partition("worker", 1, [faults.Way.BACK])
        network.slow("worker", 1, bytes_per_second=1000.0)
        network.heal()
        faults.kill(local_cluster, "worker", 1)


def test_simulation(simulated_cluster: Callable[..., SimulatedCluster]) -> None:
    """A cluster in a simulation."""

    async def rehearse(cluster: SimulatedCluster) -> float:
        async with cluster, cluster.session() as session:
            cluster.begin(Schedule((Fault(kind="crash", whom="worker-0", at=0.1),)))
            cluster.task("worker", 1).stall()
            with pytest.raises(OpError):
                await session.run("x:0")
        return cluster.loop.now

    seconds: float = simulated_cluster(3, {"worker": 2}).run(rehearse)
    loop: SimulatedLoop = SimulatedCluster(3).loop
    assert loop.now <= seconds


async def test_servers() -> None:
    """Servers in this process."""
    async with InProcessCluster({"ps": 1}) as cluster:
        target: str = cluster.target("/job:ps/replica:0/task:0")
        assert target


def test_clock() -> None:
    """A clock that stands still."""
    clock = StillClock(now=3.0)
    with on_host(Host(clock=clock)):
        now: float = current_host().clock.time()
    assert now == 3.0
