"""Sessions on a cluster: results, state, growth, errors, cancellation; by direct calls and over links."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, ops
from actorsession.config import ConfigProto, RunMetadata, RunOptions, TraceLevel
from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from tests.cluster.kit import W0, W1, Gate, InProcess, chain, on, soon

pytestmark = pytest.mark.usefixtures("way")


# -- results ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("hops", [1, 2, 20])
async def test_a_value_may_go_to_and_fro_many_times(cluster: InProcess, graph: Graph, hops: int) -> None:
    a = ops.placeholder("float32", [])
    end = chain(a, hops)
    async with AsyncSession(cluster.target(W1), graph=graph) as session:
        for value in (0.0, 5.0):
            assert await session.run(end, {a: value}) == value + hops
    await cluster.until_idle()


async def test_several_values_between_the_same_workers_share_messages(cluster: InProcess, graph: Graph) -> None:
    a = ops.placeholder("float32", [])
    parts = on(W0, lambda: [a + float(i) for i in range(10)])
    total = on(W1, lambda: ops.add_n([p * 1.0 for p in parts]))
    async with AsyncSession(cluster.target(), graph=graph) as session:
        assert await session.run(total, {a: 1.0}) == 55.0
        before = cluster.server(W0).statistics().pushes
        await session.run(total, {a: 1.0})
        assert cluster.server(W0).statistics().pushes == before + 1


async def test_a_run_asked_in_another_order_finds_the_same_plan(session: AsyncSession, cluster: InProcess) -> None:
    a, b = ops.placeholder("float32", []), ops.placeholder("float32", [])
    x = on(W0, lambda: a - b)
    y = on(W1, lambda: x * b)
    assert await session.run([x, y], {a: 5, b: 3}) == [2, 6]
    assert await session.run([y, x], {b: 3, a: 5}) == [6, 2]
    assert await session.run({"x": x, "y": (y, [x])}, {b: 2, a: 5}) == {"x": 3, "y": (6, [3])}
    assert cluster.server(W0).statistics().graphs == 1


async def test_control_edges_cross_tasks(session: AsyncSession, graph: Graph) -> None:
    v = on(W0, lambda: ops.Variable(1.0, name="v"))
    with graph.control_dependencies([v.assign_add(10.0)]), on(W1):
        after = ops.identity(ops.constant(7.0))
    await session.run(v.initializer)
    for count in (1, 2, 3):
        assert await session.run(after) == 7.0
        assert await session.run(v) == 1.0 + 10.0 * count


async def test_fed_arrays_are_taken_as_they_are_when_the_run_begins(session: AsyncSession) -> None:
    v = on(W0, lambda: ops.Variable(ops.zeros([4]), name="v"))
    fed = ops.placeholder("float32", [4])
    store = v.assign(fed).op
    array = np.ones(4, np.float32)
    await session.run(store, {fed: array})
    array[:] = 7
    np.testing.assert_array_equal(await session.run(v), np.ones(4))


async def test_a_variable_that_is_pushed_while_it_changes_arrives_as_it_was(session: AsyncSession) -> None:
    """Steps that read a large variable run beside steps that change it in place."""
    size = 300_000
    with on(W0):
        v = ops.Variable(ops.zeros([size]), name="v")
        value = v.read_value()  # once: two reads of a step may have a change between them
    ends = on(W1, lambda: [ops.reduce_min(value), ops.reduce_max(value)])
    await session.run(v.initializer)
    change = v.assign_add(np.ones(size, np.float32))

    async def changes() -> None:
        for _ in range(30):
            await session.run(change.op)

    async def looks() -> None:
        for _ in range(15):
            low, high = await session.run(ends)
            assert low == high

    await soon(asyncio.gather(changes(), looks(), looks()))
    np.testing.assert_array_equal(await session.run(v), np.full(size, 30.0))


async def test_the_statistics_of_a_step_cover_all_tasks(cluster: InProcess, graph: Graph) -> None:
    a = ops.placeholder("float32", [])
    end = chain(a, 4)
    metadata = RunMetadata()
    options = RunOptions(trace_level=TraceLevel.FULL_TRACE, output_partition_graphs=True)
    async with AsyncSession(cluster.target(), graph=graph) as session:
        assert await session.run(end, {a: 1.0}, options, metadata) == 5.0
    stats: Any = metadata.step_stats
    assert stats.step_id > 0
    devices = [f"{task}/device:CPU:0" for task in (W0, W1)]
    assert sorted(n.device for n in stats.nodes if n.node.startswith("add")) == sorted(devices * 2)
    sent = sorted(t.key for t in stats.transfers if t.kind == "send")
    assert len(sent) == 3
    assert sent == sorted(t.key for t in stats.transfers if t.kind == "recv")
    assert sorted(g.nodes[0].device for g in metadata.partition_graphs) == devices


# -- state -----------------------------------------------------------------------------------------
async def test_variables_are_shared_by_all_sessions_and_outlive_them(cluster: InProcess, graph: Graph) -> None:
    v = on(W1, lambda: ops.Variable(1.0, name="v"))
    add = v.assign_add(2.0)
    async with AsyncSession(cluster.target(W0), graph=graph) as session:
        await session.run(v.initializer)
        await session.run(add)
        async with AsyncSession(cluster.target(W1), graph=graph) as other:
            assert await other.run(v) == 3.0
            await other.run(add)
        assert await session.run(v) == 5.0
    async with AsyncSession(cluster.target(W0), graph=graph) as later:
        assert await later.run(v) == 5.0


_SHAPES = r"shapes of both tensors to match. lhs shape= \[3\] rhs shape= \[\]"


def _in_a_loop(v: Any) -> Any:
    def body(i: Any) -> Any:
        with v.graph.control_dependencies([v.assign(8.0)]):
            return i + 1

    return ops.while_loop(lambda i: i < 1, body, [0])


# What a graph that gives the variable ``[1.0, 2.0, 3.0]`` another value does to it, with what TensorFlow gives or says.
_CHANGES: list[tuple[Any, Callable[[Any], Any], Any]] = [
    (8.0, lambda v: v.initializer, _SHAPES),
    ([[1.0, 2.0, 3.0]], lambda v: v.initializer, _SHAPES.replace(r"\[\]", r"\[1, 3\]")),
    (8.0, _in_a_loop, _SHAPES),
    (8.0, lambda v: v.assign_add(1.0), "must be the same"),
    (8.0, lambda v: v, [1.0, 2.0, 3.0]),
    ([0.0, 0.0, 0.0], lambda v: v.assign_add([1.0, 1.0, 1.0]), [2.0, 3.0, 4.0]),
    (8.0, lambda v: ops.assign(v, 9.0, validate_shape=False), 9.0),
]


@pytest.mark.parametrize(("value", "change", "wanted"), _CHANGES)
async def test_a_second_graph_cannot_give_a_shared_reference_variable_another_shape(
    cluster: InProcess, graph: Graph, value: Any, change: Callable[[Any], Any], wanted: Any
) -> None:
    v = ops.Variable([1.0, 2.0, 3.0], use_resource=False, name="v")
    async with AsyncSession(cluster.target(), graph=graph) as session:
        await session.run(v.initializer)
    with Graph().as_default() as other:
        v = ops.Variable(value, use_resource=False, name="v")
        async with AsyncSession(cluster.target(), graph=other) as session:
            if isinstance(wanted, str):
                with pytest.raises(InvalidArgumentError, match=wanted):
                    await session.run(change(v))
            else:
                np.testing.assert_array_equal(await session.run(change(v)), wanted)


async def test_a_shared_reference_variable_has_the_shape_of_the_first_graph(cluster: InProcess, graph: Graph) -> None:
    """Before there is a value; a session with state of its own, and one after a reset, begin anew."""
    v = ops.Variable([1.0, 2.0, 3.0], use_resource=False, name="v")
    async with AsyncSession(cluster.target(), graph=graph) as session:
        assert not await session.run(v.is_initialized())
    isolated = ConfigProto(isolate_session_state=True)
    with Graph().as_default() as other:
        v = ops.Variable(8.0, use_resource=False, name="v")
        async with AsyncSession(cluster.target(), graph=other) as session:
            with pytest.raises(InvalidArgumentError, match=_SHAPES):
                await session.run(v.initializer)
        for config, resets in ((isolated, False), (None, True)):
            if resets:
                await AsyncSession.reset(cluster.target())
            async with AsyncSession(cluster.target(), graph=other, config=config) as session:
                await session.run(v.initializer)
                assert await session.run(v) == 8.0


async def test_an_isolated_session_has_variables_of_its_own_until_it_closes(cluster: InProcess, graph: Graph) -> None:
    v = on(W1, lambda: ops.Variable(1.0, name="v"))
    isolated = ConfigProto(isolate_session_state=True)
    async with AsyncSession(cluster.target(), graph=graph) as shared:
        await shared.run(v.initializer)
        async with AsyncSession(cluster.target(), graph=graph, config=isolated) as session:
            with pytest.raises(FailedPreconditionError):
                await session.run(v)
            await session.run(v.initializer)
            await session.run(v.assign_add(5.0))
            assert await session.run(v) == 6.0
        assert await shared.run(v) == 1.0
    async with AsyncSession(cluster.target(), graph=graph, config=isolated) as session:
        with pytest.raises(FailedPreconditionError):
            await session.run(v)


# -- growing graphs --------------------------------------------------------------------------------
async def test_runs_that_need_a_grown_graph_at_the_same_time_extend_it_once(session: AsyncSession) -> None:
    a = ops.placeholder("float32", [])
    made = on(W1, lambda: [a + float(i) for i in range(20)])
    results = await soon(asyncio.gather(*[session.run(t, {a: 1.0}) for t in made]))
    assert results == [1.0 + i for i in range(20)]


async def test_cancelling_the_run_that_extends_the_graph_leaves_the_session_usable(session: AsyncSession) -> None:
    a = ops.placeholder("float32", [])
    for turns in range(12):
        with on(W1):
            more = a + float(turns)
        run = asyncio.create_task(session.run(more, {a: 1.0}))
        for _ in range(turns):
            await asyncio.sleep(0)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        assert await session.run(more, {a: 2.0}) == 2.0 + turns


async def test_a_node_for_a_device_that_is_not_there_fails_the_run(session: AsyncSession, graph: Graph) -> None:
    a = ops.placeholder("float32", [])
    x = on(W0, lambda: a + 1.0)
    assert await session.run(x, {a: 1.0}) == 2.0
    with graph.device("/job:worker/task:7"):
        bad = a + 2.0
    with pytest.raises(InvalidArgumentError, match=r"task:7.*which does not exist"):
        await session.run(bad, {a: 1.0})
    assert await session.run(x, {a: 3.0}) == 4.0


# -- plans -----------------------------------------------------------------------------------------
async def test_concurrent_first_runs_register_one_graph(session: AsyncSession, cluster: InProcess) -> None:
    a = ops.placeholder("float32", [])
    end = chain(a, 2)
    results = await soon(asyncio.gather(*[session.run(end, {a: i}) for i in range(50)]))
    assert results == [i + 2.0 for i in range(50)]
    assert [s.graphs for s in cluster.statistics().values()] == [1, 1]


# -- errors ----------------------------------------------------------------------------------------
async def test_an_error_ends_the_step_on_the_tasks_that_wait_for_its_values(cluster: InProcess, graph: Graph) -> None:
    gate = Gate("an error elsewhere")
    a = ops.placeholder("float32", [None, None])
    bad = on(W1, lambda: ops.matmul(gate(a), a))
    end = on(W0, lambda: bad + 1.0)
    async with AsyncSession(cluster.target(), graph=graph) as session:
        run = asyncio.create_task(session.run(end, {a: np.ones([2, 3])}))
        await gate.wait_entered()
        assert cluster.server(W0).statistics().steps == 1
        gate.open()
        with pytest.raises(InvalidArgumentError):
            await soon(run)
        await cluster.until_idle()


# -- cancellation ----------------------------------------------------------------------------------
async def test_runs_cancelled_at_any_moment_leave_nothing_behind(session: AsyncSession, cluster: InProcess) -> None:
    a = ops.placeholder("float32", [])
    end = chain(a, 6)
    await session.run(end, {a: 0.0})
    for turns in range(60):
        run = asyncio.create_task(session.run(end, {a: 1.0}))
        for _ in range(turns):
            await asyncio.sleep(0)
        run.cancel()
        await asyncio.wait([run])
        assert run.cancelled() or run.result() == 7.0
    assert await session.run(end, {a: 2.0}) == 8.0
    await cluster.until_idle()


# -- many ------------------------------------------------------------------------------------------
async def test_many_sessions_at_once(cluster: InProcess, graph: Graph, whole: bool) -> None:
    count = 50 if whole else 20
    a = ops.placeholder("float32", [])
    end = chain(a, 3)

    async def use(number: int) -> float:
        target = cluster.target((W0, W1)[number % 2])
        async with AsyncSession(target, graph=graph) as session:
            results = [await session.run(end, {a: float(number + i)}) for i in range(5)]
        return sum(results)

    results = await soon(asyncio.gather(*[use(n) for n in range(count)]))
    assert results == [sum(n + i + 3.0 for i in range(5)) for n in range(count)]
    await cluster.until_idle()
    assert all(s.sessions == s.worker_sessions == 0 for s in cluster.statistics().values())


async def test_a_failing_step_in_a_crowd_fails_alone(session: AsyncSession, cluster: InProcess) -> None:
    a = ops.placeholder("float32", [None, None])
    x = on(W0, lambda: ops.matmul(a, a))
    end = on(W1, lambda: x + 1.0)
    shapes = [[2, 3] if i % 5 == 0 else [2, 2] for i in range(50)]
    runs = [session.run(end, {a: np.ones(shape)}) for shape in shapes]
    outcomes: list[Any] = await soon(asyncio.gather(*runs, return_exceptions=True))
    for i, outcome in enumerate(outcomes):
        if i % 5 == 0:
            assert isinstance(outcome, InvalidArgumentError)
        else:
            np.testing.assert_array_equal(outcome, np.full([2, 2], 3.0))
    await cluster.until_idle()
