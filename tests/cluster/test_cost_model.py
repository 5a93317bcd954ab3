"""The cost model of a master: which runs of a session feed it, and what they report."""

from __future__ import annotations

from typing import Any

import pytest

from actorsession import AsyncSession, Graph, ops
from actorsession.config import ConfigProto, CostGraphDef, GraphOptions, RunMetadata, RunOptions, TraceLevel
from actorsession.errors import InvalidArgumentError
from actorsession.plan.partition import RECV
from tests.cluster.kit import W0, W1, in_process, on


def measuring(every: int = 1, after: int = 0) -> ConfigProto:
    return ConfigProto(graph_options=GraphOptions(build_cost_model=every, build_cost_model_after=after))


def two_tasks() -> tuple[Any, Any]:
    x = ops.placeholder("float32", [3], name="x")
    with on(W1):
        there = ops.multiply(x, 2.0, name="there")
    with on(W0):
        end = ops.add(there, 1.0, name="end")
    return x, end


async def test_a_measured_run_reports_the_costs_of_the_nodes_of_all_tasks(graph: Graph) -> None:
    x, end = two_tasks()
    metadata = RunMetadata()
    async with in_process() as cluster, AsyncSession(cluster.target(), graph, config=measuring()) as session:
        assert list(await session.run(end, {x: [1, 2, 3]}, run_metadata=metadata)) == [3, 5, 7]
    nodes = {node.name: node for node in metadata.cost_graph.node}
    assert (nodes["there"].device, nodes["end"].device) == (f"{W1}/device:CPU:0", f"{W0}/device:CPU:0")
    assert nodes["there"].output_info[0].size == nodes["end"].output_info[0].size == 12
    assert nodes["end"].output_info[0].shape == (3,)
    assert any(RECV in name or "recv" in name.lower() for name in nodes)
    assert metadata.step_stats is not None
    assert {n.node for n in metadata.step_stats.nodes} >= {"there", "end"}


async def test_every_so_many_th_run_of_a_plan_is_measured_after_those_that_are_left_out(graph: Graph) -> None:
    x, end = two_tasks()
    other = ops.identity(x, name="other")
    measured: list[bool] = []
    async with in_process() as cluster, AsyncSession(cluster.target(), graph, config=measuring(2, after=1)) as session:
        for _ in range(7):
            metadata = RunMetadata()
            await session.run(end, {x: [1, 2, 3]}, run_metadata=metadata)
            measured.append(bool(metadata.cost_graph.node))
            assert (metadata.step_stats is not None) == measured[-1]
        metadata = RunMetadata()
        await session.run(other, {x: [1, 2, 3]}, run_metadata=metadata)
    assert measured == [False, False, True, False, True, False, True]
    assert metadata.cost_graph == CostGraphDef()  # another plan, with a count of its own


async def test_a_run_of_one_task_is_measured_as_well(graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    end = ops.add(x, 1.0, name="end")
    metadata = RunMetadata()
    async with (
        in_process({"worker": 1}) as cluster,
        AsyncSession(cluster.target(), graph, config=measuring()) as session,
    ):
        for _ in range(2):
            await session.run(end, {x: 1.0}, run_metadata=metadata)
    assert "end" in {node.name for node in metadata.cost_graph.node}


async def test_a_traced_run_without_a_cost_model_has_no_cost_graph(graph: Graph) -> None:
    x, end = two_tasks()
    metadata = RunMetadata()
    options = RunOptions(trace_level=TraceLevel.FULL_TRACE)
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        await session.run(end, {x: [1, 2, 3]}, options=options, run_metadata=metadata)
    assert metadata.step_stats is not None
    assert metadata.cost_graph == CostGraphDef()


def test_runs_are_left_out_only_where_a_cost_model_is_built(graph: Graph) -> None:
    config = ConfigProto(graph_options=GraphOptions(build_cost_model_after=1))
    with pytest.raises(InvalidArgumentError, match="build_cost_model_after=1 has no effect"):
        AsyncSession("tcp://127.0.0.1:1", graph, config=config)


@pytest.mark.parametrize("wire", [3, [[]], [["n", "d"]], [None]])
def test_a_cost_graph_of_another_form_is_refused(wire: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="a cost graph has another form"):
        CostGraphDef.from_wire(wire)
