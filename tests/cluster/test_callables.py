"""Callables of remote sessions: by all roads of a cluster, and what a call costs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

import actorsession as acts
from actorsession import AsyncSession, Graph, Session, ops
from actorsession.config import CallableOptions, RunMetadata, RunOptions, TensorConnection, TraceLevel
from actorsession.errors import CancelledError, InvalidArgumentError, NotFoundError
from actorsession.messages import Done, PrepareStep
from actorsession.runtime.planning import LARGE
from tests.cluster.kit import PS0, W0, W1, on, soon
from tests.cluster.master_access import Way, way
from tests.session.inner import link_statistics


@dataclass(frozen=True)
class SlowGraph:
    """Tensors of one graph, by the way they go.

    Attributes:
        here: on worker 0 alone.
        across: from the ps over worker 0 to worker 1.
    """

    graph: acts.Graph
    x: acts.Tensor
    here: acts.Tensor
    across: acts.Tensor
    init: acts.Operation


def slow_graph(products: int = 1) -> SlowGraph:
    """The graph, which is larger by a number of products that nobody fetches."""
    graph = acts.Graph()
    with graph.as_default():
        x = acts.placeholder(acts.float32, [], name="x")
        with acts.device("/job:ps/task:0"):
            bias = acts.Variable(10.0, name="bias")
        with acts.device("/job:worker/task:0"):
            here = acts.multiply(x, 2.0, name="here")
            sum_ = acts.add(bias, here, name="sum")
        with acts.device("/job:worker/task:1"):
            across = acts.multiply(sum_, 3.0, name="across")
            product = big = acts.placeholder(acts.float32, [None, None], name="big")
            for _ in range(products):
                product = acts.matmul(product, big) * 0.5
    return SlowGraph(graph, x, here, across, bias.initializer)


__all__ = ["way"]


async def test_callables_go_all_roads(way: Way) -> None:
    slow = slow_graph(products=LARGE)  # the graph is one that is planned in a thread
    async with AsyncSession(way.target, graph=slow.graph, config=way.config()) as session:
        await session.run(slow.init)
        here = session.make_callable(slow.here, [slow.x])
        across = session.make_callable({"across": slow.across, "both": [slow.here]}, ["x:0"])
        for value in (1.0, 2.0, 3.0):
            assert await here(value) == 2 * value
            assert await across(value) == {"across": 3 * (10 + 2 * value), "both": [2 * value]}
        with pytest.raises(InvalidArgumentError, match="You must feed a value for 'x:0'"):
            await here()
        with pytest.raises(ValueError, match="shape"):
            await here([1.0, 2.0])
        assert await here(4.0) == 8


async def test_a_call_costs_one_message(way: Way) -> None:
    slow = slow_graph()
    async with AsyncSession(way.target, graph=slow.graph, config=way.config()) as session:
        await session.run(slow.init)
        across = session.make_callable(slow.across, [slow.x])
        for _ in range(2):  # the first registers the step program of the rest
            await across(1.0)
        link = session.statistics().link
        assert (link is None) == way.is_direct
        assert session.statistics().callables == 1
        for _ in range(10):
            await across(1.0)
        if link is not None:
            assert link_statistics(session).calls_sent == link.calls_sent + 10


async def test_options_and_metadata_are_taken(way: Way) -> None:
    slow = slow_graph()
    async with AsyncSession(way.target, graph=slow.graph, config=way.config()) as session:
        await session.run(slow.init)
        across = session.make_callable(slow.across, [slow.x], accept_options=True)
        options = RunOptions(trace_level=TraceLevel.FULL_TRACE, output_partition_graphs=True)
        metadata = RunMetadata()
        assert await across(1.0, options=options, run_metadata=metadata) == 36
        assert metadata.step_stats is not None
        traced = {node.node_name for d in metadata.step_stats.dev_stats for node in d.node_stats}
        assert {"here", "sum", "across"} <= traced
        assert len(metadata.partition_graphs) >= 3
        plain = session.make_callable(slow.init)
        with pytest.raises(TypeError, match="accept_options=True"):
            await plain(options=options)


async def test_a_callable_sees_a_graph_that_grew_and_a_plan_that_fell_out(way: Way, graph: Graph) -> None:
    a = ops.placeholder("float32", [], name="a")
    doubled = on(W1, lambda: a * 2.0)
    config = way.config(plan_cache_size=1)
    async with AsyncSession(way.target, graph=graph, config=config) as session:
        first = session.make_callable(doubled, [a])
        assert await first(1.0) == 2
        grown = on(W0, lambda: doubled + 1.0)
        second = session.make_callable(grown, [a])
        for value in (1.0, 2.0):
            assert await second(value) == 2 * value + 1
            assert await first(value) == 2 * value


async def test_after_close_a_callable_says_that_the_session_is_closed(way: Way) -> None:
    slow = slow_graph()
    session = AsyncSession(way.target, graph=slow.graph, config=way.config())
    fed, plain = session.make_callable(slow.here, [slow.x]), session.make_callable(slow.init)
    assert await fed(1.0) == 2
    await session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        await fed(1.0)
    with pytest.raises(CancelledError, match="has been closed"):
        await plain()


# -- what else a session asks its master for -------------------------------------------------------
async def test_devices_are_listed_by_all_ways_the_client_device_first(way: Way, graph: Graph) -> None:
    async with AsyncSession(way.target, graph=graph, config=way.config()) as session:
        names = [device.name for device in await session.list_devices()]
        assert names[0] == f"{W0}/device:CPU:0"
        assert sorted(names) == sorted(
            f"/job:{job}/replica:0/task:{i}/device:CPU:0" for job, i in [("ps", 0), ("worker", 0), ("worker", 1)]
        )
        assert all(d.incarnation for d in await session.list_devices())
    with pytest.raises(CancelledError, match="has been closed"):
        await session.list_devices()


async def test_a_master_of_this_process_is_called_directly_unless_the_wire_is_forced(way: Way, graph: Graph) -> None:
    one = ops.constant(1.0)
    async with AsyncSession(way.target, graph=graph, config=way.config()) as session:
        assert await session.run(one) == 1
        assert (session.statistics().link is None) == way.is_direct


def connect(*pairs: tuple[str, str]) -> list[TensorConnection]:
    return [TensorConnection(from_tensor=source, to_tensor=to) for source, to in pairs]


def make(session: Any, **options: Any) -> Any:
    return session.make_callable_from_options(CallableOptions(**options))


def cpu(task: str) -> str:
    return f"{task}/device:CPU:0"


async def test_callables_from_options_go_all_roads(way: Way) -> None:
    slow = slow_graph()
    async with AsyncSession(way.target, graph=slow.graph, config=way.config()) as session:
        await session.run(slow.init)
        across = make(session, feed=["x:0"], fetch=["across", "here:0"], target=["sum"])
        for value in (1.0, 2.0):
            assert await soon(across(value)) == [3 * (10 + 2 * value), 2 * value]
        with pytest.raises(InvalidArgumentError, match="takes 1 values, for x:0, got 0"):
            await across()
        counted = session.statistics().link
        assert await soon(across(3.0)) == [48.0, 6.0]
        if counted is not None:
            assert link_statistics(session).calls_sent == counted.calls_sent + 1
    with pytest.raises(CancelledError, match="closed"):
        await across(1.0)


async def test_without_await_too(way: Way) -> None:
    slow = slow_graph()

    def use() -> None:
        with Session(way.target, graph=slow.graph, config=way.config()) as session:
            session.run(slow.init)
            connected = make(session, fetch=["across:0"], tensor_connection=connect(("bias:0", "x:0")))
            assert connected() == [90.0]

    await soon(asyncio.to_thread(use))


async def test_a_tensor_of_one_task_is_used_in_the_place_of_one_of_another(way: Way, graph: Graph) -> None:
    with on(PS0):
        ops.constant([1.0, 2.0], name="a")
    with on(W0):
        x = ops.placeholder("float32", [2], name="x")
        free = ops.placeholder("float32", None, name="free")
        y = ops.multiply(x, 2.0, name="y")
    with on(W1):
        ops.add(y, free, name="z")
    async with AsyncSession(way.target, graph=graph, config=way.config()) as session:
        run = make(session, fetch=["z:0"], tensor_connection=connect(("a:0", "x:0"), ("y:0", "free:0")))
        for _ in range(2):
            assert [list(z) for z in await soon(run())] == [[4.0, 8.0]]
        checked = make(session, feed=["free:0"], fetch=["y"], tensor_connection=connect(("free", "x")))
        assert [list(y) for y in await soon(checked([1, 2]))] == [[2.0, 4.0]]
        with pytest.raises(InvalidArgumentError, match="is wanted, got"):
            await soon(checked([1, 2, 3]))


async def test_feeds_enter_and_fetches_leave_at_the_tasks_named_for_them(way: Way, graph: Graph) -> None:
    with on(W0):
        x = ops.placeholder("float32", [], name="x")
        ops.multiply(x, 2.0, name="y")
    traced = RunOptions(output_partition_graphs=True)
    async with AsyncSession(way.target, graph=graph, config=way.config()) as session:
        run = make(
            session,
            feed=["x:0"],
            fetch=["y:0"],
            run_options=traced,
            feed_devices={"x:0": cpu(W1)},
            fetch_devices={"y:0": cpu(PS0)},
        )
        metadata = RunMetadata()
        assert await soon(run(4.0, run_metadata=metadata)) == [8.0]
        sent = [
            tuple(node.attrs["key"].split(";")[i] for i in (0, 2))
            for found in metadata.partition_graphs
            for node in found.nodes
            if node.op == "_Send"
        ]
        assert sorted(sent) == sorted([(cpu(W1), cpu(W0)), (cpu(W0), cpu(PS0))])


async def test_what_the_client_cannot_know_is_checked_by_the_master(way: Way, graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    ops.multiply(x, 2.0, name="y")
    absent = "/job:nobody/replica:0/task:0"
    async with AsyncSession(way.target, graph=graph, config=way.config()) as session:
        run = make(session, feed=["x:0"], fetch=["y:0"], feed_devices={"x:0": cpu(absent)})
        with pytest.raises(InvalidArgumentError, match=r"/job:nobody.* does not exist; the dev"):
            await soon(run(1.0))
        assert await soon(session.run("y:0", {"x:0": 1.0})) == 2.0


async def test_mistakes_in_names_are_told_where_the_callable_is_made(way: Way, graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    ops.multiply(x, 2.0, name="y")
    async with AsyncSession(way.target, graph=graph, config=way.config()) as session:
        mistakes: list[tuple[dict[str, Any], type[Exception], str]] = [
            ({"fetch": ["q:0"]}, InvalidArgumentError, "fetch names 'q:0'"),
            ({"target": ["q"]}, NotFoundError, "target names 'q'"),
            ({"tensor_connection": connect(("y:0", "x:0"))}, InvalidArgumentError, "a cycle"),
        ]
        for options, kind, said in mistakes:
            given: Any = {"fetch": ["y:0"], **options}
            with pytest.raises(kind, match=said):
                make(session, **given)


async def test_a_master_refuses_a_wiring_that_is_none(way: Way, graph: Graph) -> None:
    ops.multiply(ops.placeholder("float32", [], name="x"), 2.0, name="y")
    async with AsyncSession(way.target, graph=graph, config=way.config()) as session:
        remote: Any = session._session

        def prepare(wiring: Any, feeds: Sequence[str] = (), *, partial: bool = False) -> Any:
            plan = {"feeds": list(feeds), "fetches": ["y:0"], "targets": [], "partial": partial, "wiring": wiring}
            message = PrepareStep(session_handle=remote.connection.handle, **plan)
            return remote.steps.ask(message, 10.0, Done)

        wrong: list[tuple[list[Any], str]] = [
            ([[["y:0", "x:0"]], [], []], "would create a cycle"),
            ([[["q:0", "x:0"]], [], []], "'q:0' is not a tensor of the graph"),
            ([3], "not the wire form of a wiring"),
        ]
        for wiring, said in wrong:
            with pytest.raises(InvalidArgumentError, match=said):
                await soon(prepare(wiring))
        with pytest.raises(InvalidArgumentError, match="a partial run connects no tensors"):
            await soon(prepare([[], [["x:0", "anywhere"]], []], ["x:0"], partial=True))
