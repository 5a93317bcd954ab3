"""``SyncReplicasOptimizer``: updates are made of the gradients of all replicas, and of one step."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, Graph, LocalCluster, Session, ops
from actorsession.train import (
    Coordinator,
    ExponentialMovingAverage,
    GradientDescentOptimizer,
    MomentumOptimizer,
    SyncReplicasOptimizer,
    get_or_create_global_step,
    replica_device_setter,
)
from tests.cluster.kit import W0, W1, in_process, on, soon


class Replicated:
    """A model w * x whose gradient by w is what is fed as x."""

    def __init__(self, replicas: int, needed: int | None = None, opt: Any = None) -> None:
        self.w = ops.Variable(0.0, name="w")
        self.x = ops.placeholder("float32", [])
        self.step = get_or_create_global_step()
        self.opt = SyncReplicasOptimizer(opt or GradientDescentOptimizer(1.0), needed or replicas, replicas)
        self.train = self.opt.minimize(self.w * self.x, global_step=self.step)
        self.init = ops.global_variables_initializer()
        self.tokens = self.opt.get_init_tokens_op(0)  # nobody runs ahead of the first update
        assert self.opt.chief_init_op is not None
        self.local = self.opt.chief_init_op


async def begin(model: Replicated, session: AsyncSession) -> asyncio.Task[None]:
    await session.run(model.init)
    await session.run(ops.local_variables_initializer())
    await session.run(model.local)
    await session.run(model.tokens)
    return asyncio.ensure_future(model.opt.get_chief_queue_runner().fill(session))


async def test_an_update_is_the_mean_of_all_replicas() -> None:
    model = Replicated(2)
    async with AsyncSession() as session:
        chief = await begin(model, session)
        for number in range(3):
            await soon(asyncio.gather(*[session.run(model.train, {model.x: x}) for x in (1.0, 3.0)]))
            assert await session.run([model.w, model.step]) == [-2.0 * (number + 1), number + 1]
        chief.cancel()
        await asyncio.wait([chief])


async def test_rows_of_several_replicas_are_averaged_where_they_belong() -> None:
    w = ops.Variable(np.zeros([3, 1], np.float32))
    index = ops.placeholder("int32", [1])
    step = get_or_create_global_step()
    opt = SyncReplicasOptimizer(GradientDescentOptimizer(1.0), 2)
    train = opt.minimize(ops.gather(w, index), global_step=step)
    init = [ops.global_variables_initializer(), ops.local_variables_initializer()]
    tokens = opt.get_init_tokens_op(0)
    async with AsyncSession() as session:
        for op in (*init, opt.chief_init_op, tokens):
            await session.run(op)
        chief = asyncio.ensure_future(opt.get_chief_queue_runner().fill(session))
        await soon(asyncio.gather(*[session.run(train, {index: [i]}) for i in (0, 2)]))
        np.testing.assert_array_equal(await session.run(w), [[-1.0], [0.0], [-1.0]])
        chief.cancel()
        await asyncio.wait([chief])


async def test_averages_are_kept_of_the_variables_after_each_update() -> None:
    w, x = ops.Variable(0.0), ops.placeholder("float32", [])
    average = ExponentialMovingAverage(0.5)
    opt = SyncReplicasOptimizer(
        GradientDescentOptimizer(1.0), 1, 1, variable_averages=average, variables_to_average=[w]
    )
    train = opt.minimize(w * x, global_step=get_or_create_global_step())
    init = [ops.global_variables_initializer(), ops.local_variables_initializer()]
    (update,) = opt.get_chief_queue_runner().enqueue_ops
    async with AsyncSession() as session:
        for op in (*init, opt.chief_init_op):
            await session.run(op)
        for number, wanted in ((1, -1.0), (2, -2.5)):
            await soon(asyncio.gather(session.run(train, {x: 2.0}), session.run(update)))
            assert await session.run([w, average.average(w)]) == [-2.0 * number, wanted]


def test_threads_train_with_the_chiefs_queue_runner(graph: Graph) -> None:
    model = Replicated(1, opt=MomentumOptimizer(1.0, 0.0))
    local = ops.local_variables_initializer()
    with Session(graph=graph) as session:
        for op in (model.init, local, model.local, model.tokens):
            session.run(op)
        coord = Coordinator()
        threads = model.opt.get_chief_queue_runner().create_threads(session, coord, start=True)
        for _ in range(5):
            session.run(model.train, {model.x: 1.0})
        assert session.run(model.w) == -5.0
        coord.request_stop()
    coord.join(threads)  # closing the session ends the step that waits for more gradients
    assert model.opt.get_slot_names() == ["momentum"]
    assert model.opt.get_slot(model.w, "momentum") in model.opt.variables()


@pytest.fixture(params=[True, False], ids=["handles", "references"])
def by_reference(request: pytest.FixtureRequest) -> bool:
    return request.param is False


async def test_replicas_on_other_tasks_train_together(graph: Graph, by_reference: bool) -> None:
    graph.reference_variables = by_reference
    with on(W1):
        w = ops.Variable(0.0, name="w")
        step = get_or_create_global_step()
    assert w.op.type == step.op.type == ("VariableV2" if by_reference else "VarHandleOp")
    x = ops.placeholder("float32", [])
    with on(W0):
        loss = w * x
    opt = SyncReplicasOptimizer(GradientDescentOptimizer(1.0), 2)
    train = opt.minimize(loss, global_step=step)
    init = [ops.global_variables_initializer(), ops.local_variables_initializer()]
    tokens = opt.get_init_tokens_op(0)
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        for op in (*init, opt.chief_init_op, tokens):
            await session.run(op)
        chief = asyncio.ensure_future(opt.get_chief_queue_runner().fill(session))
        await soon(asyncio.gather(*[session.run(train, {x: v}) for v in (1.0, 3.0)]))
        assert await session.run(w) == -2.0
        chief.cancel()
        await asyncio.wait([chief])
        await cluster.until_idle()


@pytest.mark.process
async def test_worker_processes_train_one_model_from_graphs_of_their_own(by_reference: bool) -> None:
    """Each replica has a graph, a master and a device of its own; they meet in the variables of a server."""
    async with LocalCluster({"ps": 1, "worker": 2}) as cluster, contextlib.AsyncExitStack() as stack:
        replicas = []
        for k in range(2):
            graph = Graph()
            worker = f"/job:worker/task:{k}"
            graph.reference_variables = by_reference
            with graph.as_default(), acts.device(replica_device_setter(1, worker_device=worker)):
                model = Replicated(2)
                local = ops.local_variables_initializer()
            session = await stack.enter_async_context(AsyncSession(cluster.target("worker", k), graph))
            replicas.append((model, local, session))
        model, _, session = replicas[0]
        await session.run(model.init)
        for each, local, its_session in replicas:
            assert list(await its_session.run(each.opt.ready_for_local_init_op)) == []
            await its_session.run(local)
            await its_session.run(each.opt.local_step_init_op)
        await session.run(model.tokens)
        chief = asyncio.ensure_future(model.opt.get_chief_queue_runner().fill(session))
        for number in range(3):
            steps = [r.run(m.train, {m.x: 1.0 + 2 * k}) for k, (m, _, r) in enumerate(replicas)]
            await asyncio.wait_for(asyncio.gather(*steps), 30)
            for each, _, its_session in replicas:
                found = await its_session.run([each.w, each.step])
                assert found == [-2.0 * (number + 1), number + 1]
        chief.cancel()
        await asyncio.wait([chief])


def test_what_comes_too_early_or_too_little_is_refused() -> None:
    opt = SyncReplicasOptimizer(GradientDescentOptimizer(1.0), 4, 2)
    with pytest.raises(ValueError, match="after apply_gradients"):
        opt.get_init_tokens_op()
    with pytest.raises(ValueError, match="after apply_gradients"):
        opt.get_chief_queue_runner()
    w = ops.Variable(0.0)
    with pytest.raises(ValueError, match="Global step is required"):
        opt.minimize(w * 2.0)
    with pytest.raises(ValueError, match="at least one variable with a gradient"):
        opt.apply_gradients([(None, w)], get_or_create_global_step())
    opt.minimize(w * 2.0, global_step=get_or_create_global_step())
    with pytest.raises(ValueError, match="Too few tokens"):
        opt.get_init_tokens_op(1)
    assert opt.get_init_tokens_op(0 + 2).type == "QueueEnqueueManyV2"
    with pytest.raises(ValueError, match="variables_to_average"):
        SyncReplicasOptimizer(GradientDescentOptimizer(1.0), 1, variable_averages=object())
