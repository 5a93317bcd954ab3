"""``AllReduceOptimizer``: replicas that apply the mean of their gradients train as one program does."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.errors import InvalidArgumentError
from actorsession.train import AllReduceOptimizer, MomentumOptimizer, broadcast_variables
from tests.cluster.kit import LONG_LEASE, in_process, soon

MEETS = acts.RunOptions(experimental=acts.RunOptions.Experimental(collective_graph_key=1))
FEATURES, ROWS = 5, 8


def batches(replicas: int, steps: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(steps, replicas, ROWS, FEATURES)).astype(np.float32)
    return x, (x @ np.arange(FEATURES, dtype=np.float32)[:, None] + 0.5).astype(np.float32)


class Model:
    """A linear model with an embedding of one row that both batches use."""

    def __init__(self, optimizer: Any, graph: acts.Graph, seed: int = 0) -> None:
        with graph.as_default():
            self.x = acts.placeholder("float32", [None, FEATURES])
            self.y = acts.placeholder("float32", [None, 1])
            start = np.random.default_rng(seed).normal(size=[FEATURES, 1]).astype(np.float32)
            self.w = acts.Variable(start, name="w")
            self.b = acts.Variable([float(seed)], name="b")
            table = acts.Variable(np.zeros([3, 1], np.float32), name="table")
            unused = acts.Variable(1.0, name="unused")
            shift = acts.nn.embedding_lookup(table, acts.constant([1]))
            error = acts.matmul(self.x, self.w) + self.b + shift - self.y
            loss = acts.reduce_mean(acts.square(error))
            variables = [self.w, self.b, table, unused]
            self.train = optimizer.minimize(loss, var_list=variables)
            self.trained = [self.w.read_value(), self.b.read_value(), table.read_value()]
            self.init = acts.global_variables_initializer()


async def trained_by_one(replicas: int, steps: int) -> list[Any]:
    """The variables after training on the batches of all replicas, joined."""
    x, y = batches(replicas, steps)
    model = Model(MomentumOptimizer(0.05, 0.9), graph := acts.Graph())
    async with acts.AsyncSession(graph=graph) as session:
        await session.run(model.init)
        for step in range(steps):
            fed = {model.x: x[step].reshape(-1, FEATURES), model.y: y[step].reshape(-1, 1)}
            await session.run(model.train, fed)
        return list(await session.run(model.trained))


@pytest.mark.parametrize(("replicas", "bucket_bytes"), [(1, 4 * 2**20), (2, 20), (4, 1)])
async def test_replicas_in_sessions_of_their_own_train_as_one_with_all_batches(
    replicas: int, bucket_bytes: int
) -> None:
    steps = 4
    x, y = batches(replicas, steps)

    async def replica(target: str, number: int) -> Any:
        with acts.Graph().as_default() as graph, acts.device(f"/job:worker/task:{number}"):
            group = acts.collective.Group(replicas)
            optimizer = AllReduceOptimizer(MomentumOptimizer(0.05, 0.9), group, bucket_bytes)
            model = Model(optimizer, graph, seed=number)
            same = broadcast_variables(group, sends=number == 0)
        async with acts.AsyncSession(target, graph=graph) as session:
            await session.run(model.init)
            await session.run(same, options=MEETS)
            for step in range(steps):
                fed = {model.x: x[step, number], model.y: y[step, number]}
                await session.run(model.train, fed, options=MEETS)
            return await session.run(model.trained)

    expected = await trained_by_one(replicas, steps)
    async with in_process({"worker": replicas}, lease=LONG_LEASE) as cluster:
        targets = [cluster.target(f"/job:worker/replica:0/task:{i}") for i in range(replicas)]
        found = await soon(asyncio.gather(*[replica(t, i) for i, t in enumerate(targets)]))
    for values in found:
        for value, wanted, first in zip(values, expected, found[0], strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-6)
            np.testing.assert_array_equal(value, first)


async def test_replicas_in_one_session_train_as_one_with_all_batches() -> None:
    steps = 3
    x, y = batches(2, steps)
    async with in_process({"worker": 2}, lease=LONG_LEASE) as cluster, AsyncExitStack() as stack:
        models = []
        with acts.Graph().as_default() as graph:
            group = acts.collective.Group(2)
            for number in range(2):
                with acts.device(f"/job:worker/task:{number}"), acts.name_scope(f"r{number}"):
                    optimizer = AllReduceOptimizer(MomentumOptimizer(0.05, 0.9), group)
                    models.append(Model(optimizer, graph))
            init = acts.global_variables_initializer()
        session = await stack.enter_async_context(acts.AsyncSession(cluster.target(), graph=graph))
        await soon(session.run(init))
        for step in range(steps):
            fed = {m.x: x[step, i] for i, m in enumerate(models)}
            fed |= {m.y: y[step, i] for i, m in enumerate(models)}
            await soon(session.run([m.train for m in models], fed))
        found = await soon(session.run([m.trained for m in models]))
    expected = await trained_by_one(2, steps)
    for values in found:
        for value, wanted in zip(values, expected, strict=True):
            np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-6)


def test_small_gradients_share_a_reduction_and_large_ones_have_their_own() -> None:
    def reductions(bucket_bytes: int) -> int:
        with acts.Graph().as_default() as graph:
            group = acts.collective.Group(1)
            Model(AllReduceOptimizer(MomentumOptimizer(0.1, 0.9), group, bucket_bytes), graph)
            return sum(op.type == "CollectiveReduceV2" for op in graph.get_operations())

    assert [reductions(n) for n in (1, 20, 2**20)] == [3, 2, 1]
    # A bucket of no bytes is refused.
    with acts.Graph().as_default(), pytest.raises(InvalidArgumentError, match="at least 1, got 0"):
        AllReduceOptimizer(MomentumOptimizer(0.1, 0.9), acts.collective.Group(2), bucket_bytes=0)


def test_the_state_of_the_optimizer_is_that_of_the_one_which_applies() -> None:
    with acts.Graph().as_default() as graph:
        inner = MomentumOptimizer(0.1, 0.9)
        outer = AllReduceOptimizer(inner, acts.collective.Group(1))
        model = Model(outer, graph)
        assert outer.get_slot_names() == ["momentum"]
        assert outer.get_slot(model.w, "momentum") is inner.get_slot(model.w, "momentum")
        assert outer.variables() == inner.variables()
