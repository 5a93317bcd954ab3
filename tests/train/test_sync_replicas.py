"""Replicas that train together: with a server, by all-reduce, and where their nodes are placed."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, ClusterSpec, Graph, LocalCluster, Operation, Session, Variable, constant, ops
from actorsession.errors import InvalidArgumentError
from actorsession.train import (
    AllReduceOptimizer,
    Coordinator,
    ExponentialMovingAverage,
    GradientDescentOptimizer,
    MomentumOptimizer,
    SyncReplicasOptimizer,
    broadcast_variables,
    get_or_create_global_step,
    replica_device_setter,
)
from tests.cluster.kit import LONG_LEASE, W0, W1, in_process, on, soon
from tests.ops.uses import each_use, equals


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


MEETS = acts.RunOptions(experimental=acts.RunOptions.Experimental(collective_graph_key=1))


FEATURES, ROWS = 5, 8


def batches(replicas: int, steps: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    x = np.random.default_rng(7).normal(size=(steps, replicas, ROWS, FEATURES)).astype(np.float32)
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
            loss = acts.reduce_mean(acts.square(acts.matmul(self.x, self.w) + self.b + shift - self.y))
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
            await session.run(model.train, {model.x: x[step].reshape(-1, FEATURES), model.y: y[step].reshape(-1, 1)})
        return list(await session.run(model.trained))


@pytest.mark.parametrize(("replicas", "bucket_bytes"), [(1, 4 * 2**20), (2, 20), (4, 1)])
async def test_replicas_in_sessions_of_their_own_train_as_one_with_all_data(replicas: int, bucket_bytes: int) -> None:
    steps = 4
    x, y = batches(replicas, steps)

    async def replica(target: str, number: int) -> Any:
        with acts.Graph().as_default() as graph, acts.device(f"/job:worker/task:{number}"):
            group = acts.collective.Group(replicas)
            model = Model(AllReduceOptimizer(MomentumOptimizer(0.05, 0.9), group, bucket_bytes), graph, seed=number)
            same = broadcast_variables(group, sends=number == 0)
        async with acts.AsyncSession(target, graph=graph) as session:
            await session.run(model.init)
            await session.run(same, options=MEETS)
            for step in range(steps):
                await session.run(model.train, {model.x: x[step, number], model.y: y[step, number]}, options=MEETS)
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
                    models.append(Model(AllReduceOptimizer(MomentumOptimizer(0.05, 0.9), group), graph))
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


CLUSTER = {"ps": ["h:1", "h:2"], "worker": ["h:3", "h:4"]}


def variable(name: str) -> Variable:
    return Variable(np.float32(0), name=name)


def devices_of_variables(count: int, **options: Any) -> list[str]:
    """The devices of ``count`` variables made under a device setter."""
    graph = Graph()
    with graph.as_default(), graph.device(replica_device_setter(**options)):
        return [variable(f"v{i}").op.device for i in range(count)]


def test_variables_go_to_the_servers_one_after_the_other() -> None:
    assert devices_of_variables(5, ps_tasks=2) == [
        "/job:ps/task:0",
        "/job:ps/task:1",
        "/job:ps/task:0",
        "/job:ps/task:1",
        "/job:ps/task:0",
    ]
    # Everything else goes to the worker.
    graph = Graph()
    setter = replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")
    with graph.as_default(), graph.device(setter):
        v = variable("v")
        y = v + constant(1.0)
    assert y.op.device == "/job:worker/task:1"
    assert v.initial_value.op.device == "/job:worker/task:1"
    # An inner block wins part by part.
    graph = Graph()
    setter = replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")
    with graph.as_default(), graph.device(setter), graph.device("/device:CPU:1"):
        assert variable("v").op.device == "/job:ps/task:0/device:CPU:1"
        assert constant(1.0).op.device == "/job:worker/task:1/device:CPU:1"


def test_the_servers_are_chosen_by_a_strategy_of_ones_own() -> None:
    chosen: list[str] = []

    def last(op: Operation) -> int:
        chosen.append(op.name)
        return 3

    assert devices_of_variables(2, ps_tasks=4, ps_strategy=last) == ["/job:ps/task:3"] * 2
    assert chosen == ["v0", "v1"]


def placed(*blocks: str, setter: Any, outer: str = "") -> list[str]:
    """The devices of a variable, its initializer, its value and a constant, made in blocks within a setter's."""
    with Graph().as_default() as graph, graph.device(outer or None), graph.device(setter), ExitStack() as stack:
        for block in blocks:
            stack.enter_context(graph.device(block))
        v = variable("v")
        return [op.device for op in (v.op, v.initializer, v.value().op, constant(1.0).op)]


def _turns() -> list[str]:
    """An inner job keeps a variable off the servers, and uses up no turn."""
    with Graph().as_default() as graph, graph.device(replica_device_setter(ps_tasks=2)):
        with graph.device("/job:worker"):
            own = variable("own").op.device
        return [own, variable("shared").op.device]


PS0, PS1, OWN = "/job:ps/task:0", "/job:ps/task:1", "/job:worker"


NO_FUNCTION: Any = 1


PLACES: list[Any] = [
    *(
        equals(lambda c=c: devices_of_variables(3, ps_tasks=7, cluster=c), [PS0, PS1, PS0])
        for c in (CLUSTER, ClusterSpec(CLUSTER))
    ),
    equals(
        lambda: devices_of_variables(2, cluster={"store": ["h:1"], "worker": ["h:2"]}, ps_device="/job:store/cpu:0"),
        ["/job:store/task:0/device:CPU:0"] * 2,
    ),
    equals(lambda: devices_of_variables(1, ps_tasks=1, ps_device=""), [OWN]),
    # Two replicas put the same variable on the same server.
    *(
        equals(
            lambda k=k: devices_of_variables(3, cluster=CLUSTER, worker_device=f"/job:worker/task:{k}"), [PS0, PS1, PS0]
        )
        for k in range(2)
    ),
    equals(replica_device_setter, None),
    equals(lambda: replica_device_setter(cluster={"worker": ["h:1"]}), None),
    # Reads and assignments stay with their variable, an inner task wins, and so does one without merging.
    equals(lambda: placed(setter=replica_device_setter(ps_tasks=2)), [PS0, PS0, PS0, OWN]),
    equals(lambda: placed(PS1, setter=replica_device_setter(ps_tasks=2))[0], PS1),
    equals(_turns, [OWN, PS0]),
    equals(
        lambda: placed("/device:CPU:1", setter=replica_device_setter(ps_tasks=2, merge_devices=False))[0],
        "/device:CPU:1",
    ),
    equals(lambda: placed(setter=replica_device_setter(ps_tasks=2, merge_devices=False))[0], PS0),
    equals(lambda: placed(setter=replica_device_setter(ps_tasks=1), outer="/job:elsewhere/task:5")[0], PS0),
    equals(lambda: placed(setter=replica_device_setter(1, ps_ops=["Const"]))[::3], [OWN, PS0]),
    (lambda: replica_device_setter(1, ps_strategy=NO_FUNCTION), TypeError, "from operation to task, got 1"),
    (lambda: replica_device_setter(ps_tasks=-1), ValueError, "at least 0; got -1"),
    (lambda: replica_device_setter(1, worker_device="/jobs:worker"), ValueError, "malformed device name"),
]


test_nodes_go_where_the_rows_say = each_use(PLACES)
