"""Callables of remote sessions: by all roads of a cluster, and what a call costs."""

from __future__ import annotations

import pytest

from actorsession import AsyncSession, Graph, ops
from actorsession.config import RunMetadata, RunOptions, TraceLevel
from actorsession.errors import CancelledError, InvalidArgumentError
from actorsession.runtime.planning import LARGE
from tests.cluster.kit import W0, W1, on
from tests.cluster.master_access import Way, way
from tests.cluster.slow_graph import slow_graph
from tests.session.inner import link_statistics

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
    with on(W1):
        doubled = a * 2.0
    config = way.config(plan_cache_size=1)
    async with AsyncSession(way.target, graph=graph, config=config) as session:
        first = session.make_callable(doubled, [a])
        assert await first(1.0) == 2
        with on(W0):
            grown = doubled + 1.0
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
