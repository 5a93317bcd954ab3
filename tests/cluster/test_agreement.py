"""The same graph gives the same values on one device, on several, and on several tasks."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Tensor, ops
from actorsession.config import ConfigProto
from tests.cluster.kit import PS0, W0, W1, in_process, is_idle, soon, until_all

TASKS = (PS0, W0, W1)
DEVICES = [f"{task}/device:CPU:{number}" for task in TASKS for number in (0, 1)]


class Drawn:
    """A graph drawn by chance: ``nodes`` operations that read one another, with control edges."""

    def __init__(self, seed: int, devices: list[str], nodes: int = 40) -> None:
        self.chance, place = random.Random(seed), random.Random(seed)
        self.graph = Graph()
        with self.graph.as_default():
            self.feeds = [ops.placeholder("float64", [None], name=f"feed{i}") for i in range(3)]
            self.tensors: list[Tensor] = list(self.feeds)
            for _ in range(nodes):
                with self.graph.device(place.choice(devices)):
                    self.tensors.append(self._node())
        drawn = self.tensors[len(self.feeds) :]
        self.fetches = [self.chance.choice(drawn) for _ in range(8)] + [drawn[-1]]

    def _node(self) -> Tensor:
        x, y = (self.chance.choice(self.tensors) for _ in range(2))
        after = self.chance.sample(self.tensors, self.chance.choice([0, 0, 0, 2]))
        kind = self.chance.randrange(6)
        with self.graph.control_dependencies([t.op for t in after]):
            if kind == 0:
                return ops.add_n([x, y, x * 0.5])
            if kind == 1:
                return ops.tanh(x)
            if kind == 2:
                return ops.concat([x, y], 0)[:5] * 0.5
            if kind == 3:
                return x * 0.25 + ops.reduce_mean(y)
            if kind == 4:
                return ops.split(ops.concat([x, x], 0), 2)[1] - 0.1
            return ops.reduce_sum(x) * 0.1 + y

    def values(self, run: int) -> dict[Tensor, Any]:
        """Feeds of a run; those of every fourth do not fit together."""
        chance = np.random.default_rng(run)
        sizes = [5, 5, 5] if run % 4 < 3 else [5, 6, 7]
        return {f: chance.standard_normal(n) for f, n in zip(self.feeds, sizes, strict=True)}


async def outcomes(session: AsyncSession, drawn: Drawn, runs: int) -> list[Any]:
    """What some runs at the same time give; shapes that do not fit are an outcome like others."""
    all_runs = [session.run(drawn.fetches, drawn.values(run)) for run in range(runs)]
    found = await soon(asyncio.gather(*all_runs, return_exceptions=True))
    return [type(o) if isinstance(o, Exception) else o for o in found]


def agree(one: Any, other: Any) -> None:
    if isinstance(one, type):
        assert one is other
        return
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", range(12))
async def test_on_one_device_on_several_and_on_several_tasks(seed: int) -> None:
    local = [f"/device:CPU:{i}" for i in range(6)]
    config = ConfigProto(device_count={"CPU": 6})
    near = Drawn(seed, local[:1])
    async with AsyncSession(graph=near.graph) as one:
        expected = await outcomes(one, near, 5)
    spread = Drawn(seed, local)
    async with AsyncSession(graph=spread.graph, config=config) as several:
        for a, b in zip(expected, await outcomes(several, spread, 5), strict=True):
            agree(a, b)
    far = Drawn(seed, DEVICES)
    cpus = ConfigProto(device_count={"CPU": 2})
    async with in_process({"ps": 1, "worker": 2}, config=cpus) as cluster:
        async with AsyncSession(cluster.target(W1), graph=far.graph) as tasks:
            for a, b in zip(expected, await outcomes(tasks, far, 5), strict=True):
                agree(a, b)
        await cluster.until_idle()


@pytest.mark.process
async def test_on_several_processes(processes: LocalCluster) -> None:
    for seed in range(12):
        near = Drawn(seed, ["/device:CPU:0"])
        async with AsyncSession(graph=near.graph) as one:
            expected = await outcomes(one, near, 5)
        far = Drawn(seed, [f"{task}/device:CPU:0" for task in TASKS])
        async with AsyncSession(processes.target("ps"), graph=far.graph) as tasks:
            for a, b in zip(expected, await outcomes(tasks, far, 5), strict=True):
                agree(a, b)
    await until_all(processes.spec.tasks().values(), is_idle)
