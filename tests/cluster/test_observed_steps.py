"""What a master observes of steps: timelines, placement, moves by the cost model, publishers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, Graph, GraphDef, LocalCluster, Session, Tensor, ops, timeline
from actorsession.config import (
    ConfigProto,
    CostGraphDef,
    DebugOptions,
    DebugTensorWatch,
    GraphOptions,
    NodeStats,
    RunMetadata,
    RunOptions,
    StepStats,
    TraceLevel,
)
from actorsession.errors import InvalidArgumentError
from actorsession.extend import RunSignature
from actorsession.plan.cost_model import CostModel
from actorsession.plan.partition import RECV
from actorsession.plan.place import Placed
from actorsession.runtime.planning import LARGE
from tests.cluster.kit import PATIENCE, W0, W1, InProcess, in_process, on, soon
from tests.session.test_cost_model import two_chains

FULL = RunOptions(trace_level=TraceLevel.FULL_TRACE)
X = np.linspace(-1, 1, 4, dtype=np.float32)
# So many that no step of a test is recorded: the test says what nodes cost.
NEVER = 10**6


def device(task: str) -> str:
    return f"{task}/device:CPU:0"


@asynccontextmanager
async def observed(
    graph: Graph, config: ConfigProto | None = None, jobs: dict[str, int] | None = None, **options: Any
) -> AsyncIterator[AsyncSession]:
    """A session on the first task of a cluster, by default of two workers."""
    async with in_process(jobs, **options) as cluster, AsyncSession(cluster.target(), graph, config) as session:
        yield session


def two_tasks() -> tuple[Tensor, Tensor]:
    x = ops.placeholder("float32", [4], name="x")
    there = on(W1, lambda: ops.multiply(x, 2.0, name="there"))
    end = on(W0, lambda: ops.add(there, 1.0, name="end"))
    return x, end


def nodes_of(stats: StepStats) -> set[str]:
    return {n.node_name for d in stats.dev_stats for n in d.node_stats}


def timed(every: int, **options: Any) -> ConfigProto:
    return ConfigProto(graph_options=GraphOptions(timeline_step=every, **options))


# -- timelines -------------------------------------------------------------------------------------
async def test_every_nth_step_of_a_session_is_traced_on_all_tasks(way: str, graph: Graph) -> None:
    x, end = two_tasks()
    other = ops.identity(x, name="other")
    metadata = RunMetadata()
    async with in_process() as cluster, AsyncSession(cluster.target(), graph, config=timed(3)) as session:
        assert session.timelines() == []
        for number in range(1, 10):
            fetch = other if number == 6 else end
            await soon(session.run(fetch, {x: X}, run_metadata=metadata))
            assert len(session.timelines()) == number // 3
            assert metadata == RunMetadata(), "the caller asked for nothing"
        kept = session.timelines()
    assert [nodes_of(stats) for stats in kept] == [{"there", "end"}, {"other"}, {"there", "end"}]
    assert {d.device for d in kept[0].dev_stats} == {device(W0), device(W1)}
    assert len({stats.step_id for stats in kept}) == 3
    timeline.Timeline(kept[0]).generate_chrome_trace_format()


async def test_timelines_and_the_cost_model_choose_their_steps_by_themselves(graph: Graph) -> None:
    x, end = two_tasks()
    measured = []
    async with observed(graph, config=timed(3, build_cost_model=2)) as session:
        for _ in range(6):
            metadata = RunMetadata()
            await soon(session.run(end, {x: X}, run_metadata=metadata))
            measured.append(bool(metadata.cost_graph.node))
            assert (metadata.step_stats is not None) == measured[-1]
        assert len(session.timelines()) == 2
        assert session.timelines()[-1] is metadata.step_stats
    assert measured == [False, True] * 3


@pytest.mark.process
async def test_a_session_over_processes_has_timelines_and_a_placement(processes: LocalCluster, graph: Graph) -> None:
    x, end = two_tasks()

    def use(target: str) -> tuple[list[StepStats], dict[str, Placed]]:
        with Session(target, graph, config=timed(2)) as session:
            for _ in range(4):
                np.testing.assert_array_equal(session.run(end, {x: X}), X * 2 + 1)
            return session.timelines(), session.placement()

    kept, placed = await soon(asyncio.to_thread(use, processes.target("worker", 0)))
    assert [nodes_of(stats) for stats in kept] == [{"there", "end"}] * 2
    assert (placed["there"].device, placed["end"].device) == (device(W1), device(W0))


# -- placement -------------------------------------------------------------------------------------
async def test_the_master_says_where_it_has_placed_the_nodes_and_why(way: str, graph: Graph) -> None:
    two_tasks()
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        placed = await soon(session.placement())
        assert placed["there"].device == device(W1)
        assert placed["there"].reason == f"requested {W1}"
        assert placed["end"].device == device(W0)
        with on(W1):
            ops.constant(1.0, name="later")
        assert (await soon(session.placement()))["later"].device == device(W1)
    with pytest.raises(RuntimeError, match="closed"):
        await session.placement()


async def test_with_place_pruned_graph_only_what_was_run_has_a_place(graph: Graph) -> None:
    x, end = two_tasks()
    with on("/job:absent"):
        ops.identity(x, name="astray")
    async with (
        in_process() as cluster,
        AsyncSession(
            cluster.target(), graph, config=ConfigProto(graph_options=GraphOptions(place_pruned_graph=True))
        ) as session,
    ):
        assert await soon(session.placement()) == {}
        await soon(session.run(end, {x: X}))
        placed = await soon(session.placement())
    assert placed["there"].device == device(W1)
    assert "astray" not in placed


async def test_a_node_that_cannot_be_placed_is_an_error_of_the_placement_as_of_a_run(graph: Graph) -> None:
    two_tasks()
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        await soon(session.placement())
        with on("/job:absent"):
            ops.constant(1.0, name="astray")
        with pytest.raises(InvalidArgumentError, match="job:absent"):
            await soon(session.placement())


# -- moves by the cost model -----------------------------------------------------------------------
def placing(period: int, **options: Any) -> ConfigProto:
    return ConfigProto(
        placement_period=period, graph_options=GraphOptions(build_cost_model=1, build_cost_model_after=NEVER, **options)
    )


HEAVY = {f"{chain}{i}": 0.01 for chain in "ab" for i in range(3)}


def cost_model(cluster: InProcess) -> CostModel:
    """Return the cost model of the only session of a master."""
    master: Any = cluster.server(W0).actors.master
    [session] = master._sessions.values()
    model = session.steps.observer.cost_model
    assert model is not None
    return model


def teach(cluster: InProcess, **seconds: float) -> None:
    """Make the cost model of the only session of a master believe that nodes took so long."""
    nodes = [NodeStats(device(W0), n, "Op", 0.0, s, "main", 16) for n, s in seconds.items()]
    cost_model(cluster).record(StepStats(1, nodes))


@pytest.mark.parametrize("pruned", [False, True], ids=["whole", "place_pruned_graph"])
async def test_two_heavy_chains_land_on_two_tasks(pruned: bool, way: str, graph: Graph) -> None:
    end = two_chains()
    metadata = RunMetadata()
    options = RunOptions(trace_level=TraceLevel.FULL_TRACE, output_partition_graphs=True)
    config = placing(2, place_pruned_graph=pruned)
    async with in_process() as cluster, AsyncSession(cluster.target(), graph, config=config) as session:
        before = await soon(session.run(end, {"x:0": X}))
        placed = await soon(session.placement())
        assert {placed[name].device for name in HEAVY} == {device(W0)}
        teach(cluster, **HEAVY)
        await soon(session.run(end, {"x:0": X}))
        moved = await soon(session.placement())
        after = await soon(session.run(end, {"x:0": X}, options=options, run_metadata=metadata))
    devices = [{moved[f"{chain}{i}"].device for i in range(3)} for chain in "ab"]
    assert sorted(devices, key=str) == [{device(W0)}, {device(W1)}]
    reasons = [p.reason for p in moved.values() if p.reason.startswith("cost model: ")]
    assert len(reasons) == 3
    assert metadata.step_stats is not None
    ran_on = {n.node: n.device for n in metadata.step_stats.nodes if n.node in HEAVY}
    assert ran_on == {name: moved[name].device for name in HEAVY}
    np.testing.assert_array_equal(after, before)


async def test_a_large_graph_is_reviewed_in_a_thread_while_steps_go_on(graph: Graph) -> None:
    end = two_chains()
    for number in range(LARGE + 1):
        ops.no_op(name=f"bystander{number}")
    async with in_process() as cluster, AsyncSession(cluster.target(), graph, config=placing(1)) as session:
        before = await soon(session.run(end, {"x:0": X}))
        teach(cluster, **HEAVY)
        async with asyncio.timeout(PATIENCE):
            while len({p.device for p in (await session.placement()).values()}) == 1:
                np.testing.assert_array_equal(await session.run(end, {"x:0": X}), before)
        np.testing.assert_array_equal(await soon(session.run(end, {"x:0": X})), before)


async def test_chains_that_take_less_than_a_message_stay_on_the_task_of_the_master(graph: Graph) -> None:
    """Two devices of one task would share these chains; between tasks every value takes too long."""
    end = two_chains()
    async with in_process() as cluster, AsyncSession(cluster.target(), graph, config=placing(1)) as session:
        await soon(session.run(end, {"x:0": X}))
        teach(cluster, **dict.fromkeys(HEAVY, 100e-6))
        for _ in range(4):
            await soon(session.run(end, {"x:0": X}))
        placed = await soon(session.placement())
    assert {placed[name].device for name in HEAVY} == {device(W0)}


async def test_nodes_whose_new_task_has_left_return_to_their_first_device(graph: Graph) -> None:
    end = two_chains()
    async with in_process() as cluster, AsyncSession(cluster.target(), graph, config=placing(1)) as session:
        before = await soon(session.run(end, {"x:0": X}))
        teach(cluster, **HEAVY)
        await soon(session.run(end, {"x:0": X}))
        assert device(W1) in {p.device for p in (await soon(session.placement())).values()}
        cluster.server(W0).learn_peers({"worker": [cluster.target()]})
        np.testing.assert_array_equal(await soon(session.run(end, {"x:0": X})), before)
        placed = await soon(session.placement())
    assert {placed[name].device for name in HEAVY} == {device(W0)}


async def test_nodes_return_from_a_task_that_is_lost_and_go_there_no_more(graph: Graph) -> None:
    end = two_chains()
    async with in_process() as cluster, AsyncSession(cluster.target(), graph, config=placing(1)) as session:

        async def places() -> set[str]:
            return {(await session.placement())[name].device for name in HEAVY}

        before = await soon(session.run(end, {"x:0": X}))
        teach(cluster, **HEAVY)
        await soon(session.run(end, {"x:0": X}))
        assert await places() == {device(W0), device(W1)}
        await cluster.server(W1).stop()
        async with asyncio.timeout(PATIENCE):
            while await places() != {device(W0)}:
                pass
        for _ in range(3):
            np.testing.assert_array_equal(await soon(session.run(end, {"x:0": X})), before)
        assert await places() == {device(W0)}


async def test_a_plan_made_later_starts_from_measured_times_on_every_task(way: str, graph: Graph) -> None:
    """Small tensors would run on the loop; nodes that were measured to be dear do not."""
    x = ops.placeholder("float32", [4], name="x")
    there = on(W1, lambda: ops.tanh(ops.exp(x, name="a0"), name="a1"))
    end = on(W0, lambda: ops.tanh(ops.exp(there, name="b0"), name="b1"))
    async with in_process() as cluster, AsyncSession(cluster.target(), graph, config=placing(0)) as session:

        def offloaded() -> list[int]:
            return [sum(d.offloaded for d in s.devices) for s in cluster.statistics().values()]

        await soon(session.run(end, {x: X}))
        assert offloaded() == [0, 0]
        teach(cluster, **dict.fromkeys(("a0", "a1", "b0", "b1"), 0.01))
        await soon(session.run([end, there], {x: X}))
        assert offloaded() == [1, 1]


async def test_the_cost_model_has_the_nodes_of_all_tasks(graph: Graph) -> None:
    x, end = two_tasks()
    config = ConfigProto(graph_options=GraphOptions(build_cost_model=1))
    async with in_process() as cluster, AsyncSession(cluster.target(), graph, config=config) as session:
        for _ in range(3):
            await soon(session.run(end, {x: X}))
        model = cost_model(cluster)
        there, here = model.cost("there"), model.cost("end")
    assert there is not None
    assert here is not None
    assert (there.steps, here.steps, model.steps) == (3, 3, 3)
    assert there.output_bytes == here.output_bytes == (16.0,)


# -- publishers ------------------------------------------------------------------------------------
class Recorder(acts.plugins.StatsPublisherInterface):
    """Notes what it is told; one per client graph."""

    made: list[Recorder]
    wanted: set[int]

    def __init__(self, handle: str, signature: RunSignature, config: ConfigProto) -> None:
        self.handle, self.signature, self.config = handle, signature, config
        self.graphs: list[Mapping[str, GraphDef]] = []
        self.stats: list[StepStats] = []
        self.counts: list[int] = []
        self.closed = 0
        self.made.append(self)

    def publish_graphs(self, graphs: Mapping[str, GraphDef]) -> None:
        self.graphs.append(graphs)

    def publish_stats(self, stats: StepStats) -> None:
        self.stats.append(stats)

    def wants_step(self, execution_count: int, options: RunOptions) -> bool:
        self.counts.append(execution_count)
        return execution_count in self.wanted

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def recorder() -> type[Recorder]:
    class Fresh(Recorder):
        made = []
        wanted = set()

    return Fresh


async def test_a_publisher_is_made_per_plan_and_gets_its_graphs_once(recorder: type[Recorder], graph: Graph) -> None:
    x, end = two_tasks()
    config = timed(0)
    async with in_process(stats_publisher_factory=recorder) as cluster:
        async with AsyncSession(cluster.target(), graph, config=config) as session:
            for _ in range(3):
                await soon(session.run(end, {x: X}))
            await soon(session.run("there:0", {x: X}))
            first, second = recorder.made
            assert first.signature == RunSignature(("x:0",), ("end:0",), ())
            assert second.signature.fetches == ("there:0",)
            assert first.handle == second.handle != ""
            assert first.config.graph_options == config.graph_options
            [graphs] = first.graphs
            assert set(graphs) == {device(W0), device(W1)}
            assert "there" in {node.name for node in graphs[device(W1)].nodes}
            assert (first.counts, second.counts) == ([0, 1, 2], [0])
            assert first.stats == [], "nobody asked for a trace"
            assert (first.closed, second.closed) == (0, 0)
        assert (first.closed, second.closed) == (1, 1)


async def test_a_publisher_has_steps_traced_unheard_by_the_client(recorder: type[Recorder], graph: Graph) -> None:
    recorder.wanted = {1, 3}
    x, end = two_tasks()
    async with observed(graph, stats_publisher_factory=recorder) as session:
        for _ in range(5):
            metadata = RunMetadata()
            await soon(session.run(end, {x: X}, run_metadata=metadata))
            assert metadata == RunMetadata()
        assert session.timelines() == []
    [publisher] = recorder.made
    assert [nodes_of(stats) for stats in publisher.stats] == [{"there", "end"}] * 2


async def test_a_publisher_gets_every_step_that_is_traced_for_others(recorder: type[Recorder], graph: Graph) -> None:
    x, end = two_tasks()
    async with observed(graph, config=timed(4, build_cost_model=3), stats_publisher_factory=recorder) as session:
        for number in range(1, 7):  # 3 and 6 feed the model, 4 is a timeline, 5 was requested
            await soon(session.run(end, {x: X}, options=FULL if number == 5 else None))
    assert len(recorder.made[0].stats) == 4


async def test_a_publisher_of_an_evicted_plan_is_closed(recorder: type[Recorder], graph: Graph) -> None:
    x, end = two_tasks()
    async with observed(graph, config=ConfigProto(plan_cache_size=1), stats_publisher_factory=recorder) as session:
        await soon(session.run(end, {x: X}))
        await soon(session.run("there:0", {x: X}))
        assert [publisher.closed for publisher in recorder.made] == [1, 0]


@pytest.mark.parametrize("method", ["__init__", "publish_graphs", "wants_step", "publish_stats"])
async def test_no_step_fails_because_a_publisher_does(
    method: str, recorder: type[Recorder], graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: Any) -> None:
        raise ValueError("the disk is full")

    failing = type("Failing", (recorder,), {method: fail})
    x, end = two_tasks()
    async with observed(graph, config=timed(1), stats_publisher_factory=failing) as session:
        with caplog.at_level(logging.ERROR, "actorsession.cluster"):
            np.testing.assert_array_equal(await soon(session.run(end, {x: X})), X * 2 + 1)
    assert "a stats publisher failed" in caplog.text
    assert "the disk is full" in caplog.text


def test_a_debugged_run_is_not_observed() -> None:
    """It has additional nodes, and takes as long as the debugger holds it."""
    from actorsession.cluster.master.client_graph import ClientGraph
    from actorsession.cluster.master.step_observer import StepObserver

    watch = DebugTensorWatch(node_name="a", debug_ops=("DebugIdentity",), debug_urls=("memory://",))
    debugged = RunOptions(debug_options=DebugOptions(debug_tensor_watch_opts=(watch,)))
    observer = StepObserver("s", timed(1, build_cost_model=1), None)
    graph = ClientGraph(RunSignature((), ("a:0",), ()), [])
    assert observer.begin(graph, RunOptions())
    assert not observer.begin(graph, debugged)


def measuring(every: int = 1, after: int = 0) -> ConfigProto:
    return ConfigProto(graph_options=GraphOptions(build_cost_model=every, build_cost_model_after=after))


async def test_a_measured_run_reports_the_costs_of_the_nodes_of_all_tasks(graph: Graph) -> None:
    x, end = two_tasks()
    metadata = RunMetadata()
    async with in_process() as cluster, AsyncSession(cluster.target(), graph, config=measuring()) as session:
        assert list(await session.run(end, {x: [1, 2, 3, 4]}, run_metadata=metadata)) == [3, 5, 7, 9]
    nodes = {node.name: node for node in metadata.cost_graph.node}
    assert (nodes["there"].device, nodes["end"].device) == (f"{W1}/device:CPU:0", f"{W0}/device:CPU:0")
    assert nodes["there"].output_info[0].size == nodes["end"].output_info[0].size == 16
    assert nodes["end"].output_info[0].shape == (4,)
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
            await session.run(end, {x: [1, 2, 3, 4]}, run_metadata=metadata)
            measured.append(bool(metadata.cost_graph.node))
            assert (metadata.step_stats is not None) == measured[-1]
        metadata = RunMetadata()
        await session.run(other, {x: [1, 2, 3, 4]}, run_metadata=metadata)
    assert measured == [False, False, True, False, True, False, True]
    assert metadata.cost_graph == CostGraphDef()  # another plan, with a count of its own


async def test_a_run_of_one_task_is_measured_as_well(graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    end = ops.add(x, 1.0, name="end")
    metadata = RunMetadata()
    async with observed(graph, measuring(), {"worker": 1}) as session:
        for _ in range(2):
            await session.run(end, {x: 1.0}, run_metadata=metadata)
    assert "end" in {node.name for node in metadata.cost_graph.node}


async def test_a_traced_run_without_a_cost_model_has_no_cost_graph(graph: Graph) -> None:
    x, end = two_tasks()
    metadata = RunMetadata()
    options = RunOptions(trace_level=TraceLevel.FULL_TRACE)
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        await session.run(end, {x: [1, 2, 3, 4]}, options=options, run_metadata=metadata)
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
