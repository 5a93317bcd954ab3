"""What a run reports when it is asked: statistics per device, partition graphs, timelines; on both faces."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from actorsession import (
    AsyncSession,
    ConfigProto,
    Graph,
    GraphOptions,
    RunMetadata,
    RunOptions,
    Session,
    TraceLevel,
    ops,
    timeline,
)
from actorsession.config import DeviceStepStats, Experimental, NodeExecStats, SessionMetadata
from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from tests.rows import for_each

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:"
X = np.ones((3, 2), np.float32)
TWO = ConfigProto(device_count={"CPU": 2})
FULL = RunOptions(trace_level=TraceLevel.FULL_TRACE)
GRAPHS = RunOptions(output_partition_graphs=True)


def two_devices(graph: Graph) -> Any:
    """tanh on the first device, a sum and a split on the second, their product on the first."""
    x = ops.placeholder("float32", [None, 2], name="x")
    with graph.device("/cpu:0"):
        a = ops.tanh(x, name="a")
        ops.exp(a, name="pruned")
    with graph.device("/cpu:1"):
        b = ops.add(a, 1.0, name="b")
        left, right = ops.split(b, 2, axis=1, name="sp")
    with graph.device("/cpu:0"), graph.control_dependencies([b.op]):
        return ops.multiply(left, right, name="c")


async def traced(face: Any, fetch: Any, feeds: Any = None, options: RunOptions = FULL) -> Any:
    metadata = RunMetadata()
    await face.run(fetch, feeds, options=options, run_metadata=metadata)
    return metadata


def by_name(devices: list[DeviceStepStats]) -> dict[str, NodeExecStats]:
    return {n.node_name: n for d in devices for n in d.node_stats}


def stats_of(metadata: RunMetadata) -> list[DeviceStepStats]:
    assert metadata.step_stats is not None
    return metadata.step_stats.dev_stats


@pytest.fixture
async def report(make_session: Any, graph: Graph) -> RunMetadata:
    """What a traced run over two devices tells."""
    metadata: RunMetadata = await traced(make_session(TWO), two_devices(graph), {"x:0": X})
    return metadata


# -- statistics ------------------------------------------------------------------------------------
async def test_each_device_lists_the_nodes_that_ran_on_it(report: RunMetadata) -> None:
    devices = stats_of(report)
    assert [(d.device, {n.node_name for n in d.node_stats}) for d in devices] == [
        (f"{DEVICE}0", {"a", "c"}),
        (f"{DEVICE}1", {"b", "sp"}),
    ]


@for_each("level", list(TraceLevel)[1:], ids=lambda level: level.name)
async def test_every_level_above_no_trace_records(make_session: Any, graph: Graph, level: TraceLevel) -> None:
    face = make_session(TWO)
    options = RunOptions(trace_level=level)
    metadata = await traced(face, two_devices(graph), {"x:0": X}, options)
    assert set(by_name(metadata.step_stats.dev_stats)) == {"a", "b", "c", "sp"}


async def test_pruned_and_fed_nodes_do_not_appear(make_session: Any, graph: Graph) -> None:
    face = make_session(TWO)
    end = two_devices(graph)
    metadata = await traced(face, end, {"a:0": X})
    assert set(by_name(metadata.step_stats.dev_stats)) == {"b", "sp", "c"}
    metadata = await traced(face, "sp:0", {"b:0": X})
    assert set(by_name(metadata.step_stats.dev_stats)) == {"sp"}


async def test_times_do_not_decrease(report: RunMetadata) -> None:
    nodes = by_name(stats_of(report))
    for n in nodes.values():
        assert 0 < n.scheduled_nanos <= n.all_start_nanos
        assert 0 <= n.op_start_rel_nanos <= n.op_end_rel_nanos <= n.all_end_rel_nanos
    ends = {name: n.all_start_nanos + n.all_end_rel_nanos for name, n in nodes.items()}
    assert ends["a"] <= nodes["b"].all_start_nanos
    assert ends["sp"] <= nodes["c"].all_start_nanos
    assert nodes["sp"].scheduled_nanos == nodes["b"].scheduled_nanos, "one segment, ready at once"
    assert nodes["c"].scheduled_nanos >= ends["sp"], "it waited for what the other device sent"


async def test_micros_are_the_nanos_cut_off(report: RunMetadata) -> None:
    for n in by_name(stats_of(report)).values():
        for twin in ("all_start", "op_start_rel", "op_end_rel", "all_end_rel", "scheduled"):
            assert getattr(n, f"{twin}_micros") == getattr(n, f"{twin}_nanos") // 1000


async def test_a_label_names_the_inputs_also_those_from_another_device(report: RunMetadata) -> None:
    labels = {n.timeline_label for n in by_name(stats_of(report)).values()}
    assert labels == {"a = Tanh(_arg/x/0)", "b = AddV2(a, b/y)", "sp = Split(sp/split_dim, b)", "c = Mul(sp, sp:1, ^b)"}


async def test_every_output_of_a_node_is_described(report: RunMetadata) -> None:
    nodes = by_name(stats_of(report))
    assert [o.slot for o in nodes["sp"].output] == [0, 1]
    described = [o.tensor_description for o in (*nodes["a"].output, *nodes["sp"].output)]
    assert [(d.dtype, d.shape, d.allocated_bytes) for d in described] == [
        ("float32", (3, 2), 24),
        ("float32", (3, 1), 12),
        ("float32", (3, 1), 12),
    ]


async def test_memory_is_told_where_a_node_takes_it(report: RunMetadata) -> None:
    nodes = by_name(stats_of(report))
    (used,) = nodes["a"].memory
    assert (used.allocator_name, used.total_bytes, used.peak_bytes, used.live_bytes) == ("cpu", 24, 24, 24)
    assert nodes["sp"].memory == (), "its outputs are views"


async def test_each_node_names_its_thread(report: RunMetadata) -> None:
    for device in stats_of(report):
        assert {n.thread_id for n in device.node_stats} == set(device.thread_names)
        assert all(device.thread_names.values())


async def test_nodes_with_state_and_without_outputs_are_reported(make_session: Any, graph: Graph) -> None:
    face = make_session()
    v = ops.Variable(np.zeros(3, np.float32), name="v")
    await face.run(v.initializer)
    update = v.assign_add([1.0, 2.0, 3.0])
    metadata = await traced(face, [update, ops.no_op(name="nothing")])
    nodes = by_name(metadata.step_stats.dev_stats)
    assert nodes["nothing"].output == ()
    reads = [n for n in nodes.values() if "ReadVariableOp" in n.timeline_label]
    assert reads
    assert all(o.tensor_description.shape == (3,) for n in reads for o in n.output)


async def test_a_node_of_a_loop_body_appears_once_per_iteration(make_session: Any, graph: Graph) -> None:
    face = make_session()
    x = ops.placeholder("float32", [], name="x")
    end = ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, ops.tanh(v, name="turn")), [ops.constant(0), x])[1]
    metadata = await traced(face, end, {"x:0": 1.0})
    (device,) = metadata.step_stats.dev_stats
    turns = [n for n in device.node_stats if n.node_name.endswith("turn")]
    assert len(turns) == 3
    ends = [n.all_start_nanos + n.all_end_rel_nanos for n in turns]
    assert all(before <= n.all_start_nanos for before, n in zip(ends, turns[1:], strict=False))
    assert all(n.output[0].tensor_description.shape == () for n in turns)


async def test_runs_at_the_same_time_report_each_their_own_nodes(make_session: Any, graph: Graph) -> None:
    face = make_session(TWO)
    x = ops.placeholder("float32", [4], name="x")
    wanted = []
    for i in range(8):
        with graph.device("/cpu:1"):
            first = ops.tanh(x, name=f"first{i}")
        with graph.device("/cpu:0"):
            wanted.append(ops.exp(first, name=f"second{i}"))

    async def run(i: int) -> None:
        metadata = await traced(face, wanted[i], {x: np.full(4, i, np.float32)})
        assert set(by_name(metadata.step_stats.dev_stats)) == {f"first{i}", f"second{i}"}

    await asyncio.gather(*[run(i % 8) for i in range(80)])


async def test_statistics_of_a_failed_run_leave_the_metadata_as_they_were(make_session: Any, graph: Graph) -> None:
    face = make_session()
    metadata = await traced(face, ops.constant([1.0], name="k") * 2.0)
    before = metadata.step_stats
    missing = ops.placeholder("float32", [], name="missing") + 1.0
    with pytest.raises(InvalidArgumentError, match="missing"):
        await face.run(missing, options=FULL, run_metadata=metadata)
    assert metadata.step_stats is before


async def test_what_runs_as_one_call_gives_the_same_value_when_it_is_traced(make_session: Any, graph: Graph) -> None:
    face = make_session()
    end = ops.placeholder("float32", [], name="x") * 2.0 + 1.0
    assert await face.run(end, {"x:0": 3.0}) == 7.0
    assert await face.run(end, {"x:0": 3.0}, options=FULL) == 7.0
    assert await face.run(end, {"x:0": 3.0}) == 7.0


# -- partition graphs ------------------------------------------------------------------------------
async def test_partition_graphs_are_one_per_device_with_sends_and_receives(make_session: Any, graph: Graph) -> None:
    face = make_session(TWO)
    metadata = await traced(face, two_devices(graph), {"x:0": X}, GRAPHS)
    first, second = metadata.partition_graphs
    assert [{n.device for n in g.nodes} for g in (first, second)] == [{f"{DEVICE}0"}, {f"{DEVICE}1"}]
    for part in (first, second):
        assert {"_Send", "_Recv"} <= {n.op for n in part.nodes}
    assert {"b", "sp"} <= {n.name for n in second.nodes}
    assert metadata.step_stats is None


async def test_tracing_alone_gives_no_partition_graphs(report: RunMetadata) -> None:
    assert report.partition_graphs == []
    assert report.cost_graph.node == ()


async def test_each_run_overwrites_the_metadata(make_session: Any, graph: Graph) -> None:
    face = make_session(TWO)
    end = two_devices(graph)
    both = RunOptions(trace_level=TraceLevel.FULL_TRACE, output_partition_graphs=True)
    metadata = await traced(face, end, {"x:0": X}, both)
    stats, graphs = metadata.step_stats, metadata.partition_graphs
    assert stats is not None
    assert len(graphs) == 2
    await face.run(end, {"x:0": X}, run_metadata=metadata)
    assert metadata == RunMetadata()
    assert len(graphs) == 2, "what the caller took from it stays"
    await face.run(end, {"x:0": X}, options=FULL, run_metadata=metadata)
    assert metadata.step_stats is not None
    assert metadata.step_stats is not stats


async def test_a_run_of_which_everything_is_fed_overwrites_the_metadata(make_session: Any, graph: Graph) -> None:
    face = make_session(TWO)
    metadata = await traced(face, two_devices(graph), {"x:0": X})
    await face.run("x:0", {"x:0": X}, options=FULL, run_metadata=metadata)
    assert metadata == RunMetadata()


@for_each("infer", [False, True], ids=["left out", "inferred"])
async def test_known_shapes_are_added_to_partitions_on_request(make_session: Any, graph: Graph, infer: bool) -> None:
    options = GraphOptions(infer_shapes=infer)
    face = make_session(ConfigProto(device_count={"CPU": 2}, graph_options=options))
    metadata = await traced(face, two_devices(graph), {"x:0": X}, GRAPHS)
    nodes = {n.name: n for g in metadata.partition_graphs for n in g.nodes}
    assert all(("_output_shapes" in n.attrs) == infer for n in nodes.values())
    if infer:
        assert [s.as_list() for s in nodes["sp"].attrs["_output_shapes"]] == [[None, 1]] * 2
    assert "_output_shapes" not in graph.get_operation_by_name("sp").plain.attrs


# -- timelines -------------------------------------------------------------------------------------
async def test_every_nth_step_is_traced_by_itself(make_session: Any, graph: Graph) -> None:
    face = make_session(ConfigProto(graph_options=GraphOptions(timeline_step=3)))
    x = ops.placeholder("float32", [], name="x")
    y, z = ops.add(x, 1.0, name="y"), ops.multiply(x, 2.0, name="z")
    metadata = RunMetadata()
    for i in range(1, 10):
        fetch = z if i == 6 else y
        assert await face.run(fetch, {x: i}, run_metadata=metadata) == (12.0 if i == 6 else i + 1)
        assert len(face.session.timelines()) == i // 3
        assert metadata == RunMetadata(), "the caller asked for nothing"
    found = [set(by_name(stats.dev_stats)) for stats in face.session.timelines()]
    assert found == [{"y"}, {"z"}, {"y"}]


async def test_the_last_eight_timelines_are_kept(make_session: Any, graph: Graph) -> None:
    face = make_session(ConfigProto(graph_options=GraphOptions(timeline_step=1)))
    end = ops.placeholder("float32", [], name="x") + 1.0
    kept = []
    for i in range(11):
        metadata = await traced(face, end, {"x:0": i})
        kept.append(metadata.step_stats)
    assert [a is b for a, b in zip(face.session.timelines(), kept[3:], strict=True)] == [True] * 8
    timeline.Timeline(face.session.timelines()[-1]).generate_chrome_trace_format()


async def test_a_failed_step_leaves_no_timeline(make_session: Any, graph: Graph) -> None:
    face = make_session(ConfigProto(graph_options=GraphOptions(timeline_step=1)))
    v = ops.Variable(1.0, name="v")
    with pytest.raises(FailedPreconditionError):
        await face.run(v)
    assert face.session.timelines() == []


async def test_a_session_without_the_option_keeps_none(make_session: Any, graph: Graph) -> None:
    face = make_session()
    await traced(face, ops.constant(1.0) * 2.0)
    assert face.session.timelines() == []


# -- name and version ------------------------------------------------------------------------------
@pytest.mark.usefixtures("graph")
@for_each("timeline_step", [0, 1])
async def test_a_session_with_a_name_tells_it_with_each_run(make_session: Any, timeline_step: int) -> None:
    """Asked for or not, as in TensorFlow."""
    named = SessionMetadata(name="digits", version=3)
    config = ConfigProto(
        experimental=Experimental(session_metadata=named), graph_options=GraphOptions(timeline_step=timeline_step)
    )
    y = ops.constant(1.0) + 1.0
    metadata = RunMetadata()
    await make_session(config).run(y, run_metadata=metadata)
    assert metadata.session_metadata == named
    assert metadata.step_stats is None
    await make_session().run(y, run_metadata=metadata)
    assert metadata.session_metadata is None


# -- placement -------------------------------------------------------------------------------------
async def test_the_session_tells_where_nodes_are_and_why(graph: Graph) -> None:
    two_devices(graph)
    async with AsyncSession(graph=graph, config=TWO) as session:
        placed = await session.placement()
        assert placed["b"].device == f"{DEVICE}1"
        assert placed["b"].reason == "requested /device:CPU:1"
        assert placed["x"].device == f"{DEVICE}0"


def test_the_synchronous_face_tells_it_too(graph: Graph) -> None:
    two_devices(graph)
    with Session(graph=graph, config=TWO) as session:
        assert session.placement()["sp"].device == f"{DEVICE}1"
    with pytest.raises(RuntimeError, match="closed"):
        session.placement()
