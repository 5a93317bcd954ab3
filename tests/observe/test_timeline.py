"""The timeline and the trace of a step, their lanes, and the traffic of links."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import actorsession as acts
from actorsession import GraphOptions, timeline
from actorsession.cluster import ServerStatistics
from actorsession.cluster.server.statistics import CLIENT
from actorsession.config import NodeExecStats, NodeOutput, NodeStats, StepStats, TensorDescription, TransferStats
from actorsession.observe import Traffic, chrome_trace, traffic, write_trace
from actorsession.observe.lanes import Span, spread
from actorsession.plan.rendezvous_key import build_key
from actorsession.rpc import LinkStatistics
from tests.cluster.kit import W0, W1, in_process

CPU = [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(2)]
EPOCH = 10**15


def ran(device: str, label: str, start: int, end: int, *sizes: int, allocator: str = "cpu") -> NodeStats:
    """A node that ran from ``start`` to ``end`` (microseconds) and made outputs of so many bytes."""
    name, _, rest = label.partition(" = ")
    detail = NodeExecStats(
        node_name=name,
        all_start_nanos=(EPOCH + start) * 1000,
        timeline_label=label,
        op_end_rel_nanos=(end - start) * 1000,
        all_end_rel_nanos=(end - start) * 1000,
        output=tuple(
            NodeOutput(i, TensorDescription("float32", (size // 4,), size, allocator)) for i, size in enumerate(sizes)
        ),
    )
    return NodeStats(device, name, rest.partition("(")[0], 0, 0, "main", sum(sizes), detail)


def step() -> StepStats:
    """``a`` on one device feeds ``b`` there and ``c`` on another; ``d`` overlaps ``b``."""
    return StepStats(
        1,
        [
            ran(CPU[0], "a = Tanh(_arg/x/0)", 0, 10, 400),
            ran(CPU[0], "b = Split(a, ^c)", 20, 40, 200, 200),
            ran(CPU[0], "d = Exp(a)", 30, 35, 400),
            ran(CPU[1], "c = Mul(a, b:1)", 50, 70, 400),
        ],
    )


def drawn(stats: StepStats, **shown: Any) -> list[dict[str, Any]]:
    trace = json.loads(timeline.Timeline(stats).generate_chrome_trace_format(**shown))
    assert list(trace) == ["traceEvents"]
    found: list[dict[str, Any]] = trace["traceEvents"]
    return found


def of_phase(events: list[dict[str, Any]], *phases: str) -> list[dict[str, Any]]:
    return [e for e in events if e["ph"] in phases]


def test_processes_are_named_by_device() -> None:
    names = {e["pid"]: e["args"]["name"] for e in of_phase(drawn(step()), "M")}
    assert names == {
        0: "Allocators",
        1: f"{CPU[0]} Compute",
        2: f"{CPU[0]} Tensors",
        3: f"{CPU[1]} Compute",
        4: f"{CPU[1]} Tensors",
    }
    assert all(e["name"] == "process_name" for e in of_phase(drawn(step()), "M"))
    spans = {e["args"]["name"]: e for e in of_phase(drawn(step()), "X")}
    assert set(spans) == set("abcd")
    c = spans["c"]
    assert (c["name"], c["cat"], c["pid"]) == ("Mul", "Op", 3)
    assert (c["ts"], c["dur"]) == (EPOCH + 50, 20)
    assert c["args"] == {"name": "c", "op": "Mul", "input0": "a", "input1": "b:1"}
    # Spans that overlap have lanes of their own.
    spans = {e["args"]["name"]: e["tid"] for e in of_phase(drawn(step()), "X")}
    assert spans["a"] == spans["b"] != spans["d"]


def test_an_arrow_leads_from_a_producer_to_each_reader_on_another_lane() -> None:
    flows: dict[int, dict[str, Any]] = defaultdict(dict)
    for e in of_phase(drawn(step()), "s", "t"):
        assert e["cat"] == "DataFlow"
        flows[e["id"]][e["ph"]] = e
    ends = {(f["s"]["name"], f["s"]["ts"] - EPOCH, f["t"]["ts"] - EPOCH, f["t"]["pid"]) for f in flows.values()}
    assert ends == {("a", 10, 30, 1), ("a", 10, 50, 3), ("b:1", 40, 50, 3)}
    # Arrows are left out when nobody asks for them.
    assert of_phase(drawn(step(), show_dataflow=False), "s", "t") == []


def test_memory_is_left_out_when_nobody_asks_for_it() -> None:
    assert of_phase(drawn(step()), "C", "N", "O", "D") == []
    events = drawn(step(), show_memory=True)
    lives = {
        e["name"]: [x["ts"] - EPOCH for x in of_phase(events, "N", "D") if x["name"] == e["name"]]
        for e in of_phase(events, "N")
    }
    assert lives == {"a": [0, 70], "b": [20, 40], "b:1": [20, 70], "c": [50, 70], "d": [30, 35]}
    (seen,) = [e for e in of_phase(events, "O") if e["name"] == "b:1"]
    assert seen["args"]["snapshot"]["tensor_description"] == "float32[50], 200 bytes"
    counters = of_phase(drawn(step(), show_memory=True), "C")
    assert {(e["name"], e["cat"], e["pid"]) for e in counters} == {("cpu", "Memory", 0)}
    told = [(e["ts"] - EPOCH, e["args"]["cpu"]) for e in counters]
    assert told == sorted(told, key=lambda t: t[0])
    assert told[-1][1] == 0
    assert max(total for _, total in told) == 1200
    found = timeline.Timeline(step()).analyze_step_stats()
    most = found.allocator_maximums["cpu"]
    assert (most.num_bytes, most.timestamp - EPOCH) == (1200, 30)
    assert most.tensors == {"a", "b", "b:1", "d"}
    assert json.loads(found.chrome_trace.format_to_string())["traceEvents"]


@given(st.lists(st.tuples(st.sampled_from(CPU), st.integers(0, 50), st.integers(0, 20)), max_size=25))
@example([(CPU[0], 0, 1), (CPU[0], 0, 0)])  # one that takes no time, told after another
def test_nothing_overlaps_on_a_lane(times: list[tuple[str, int, int]]) -> None:
    nodes = [ran(device, f"n{i} = Op()", start, start + took) for i, (device, start, took) in enumerate(times)]
    spans = of_phase(drawn(StepStats(1, nodes)), "X")
    assert len(spans) == len(times)
    lanes = defaultdict(list)
    for e in spans:
        lanes[e["pid"], e["tid"]].append(e)
    for lane in lanes.values():
        in_time = sorted(lane, key=lambda e: (e["ts"], e["dur"]))
        assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in pairwise(in_time))


def test_a_label_of_another_form_is_shown_as_unknown() -> None:
    (span,) = of_phase(drawn(StepStats(1, [ran(CPU[0], "strange", 0, 5)])), "X")
    assert (span["name"], span["args"]) == ("unknown", {"name": "strange", "op": "unknown"})
    assert [e["args"]["name"] for e in drawn(StepStats())] == ["Allocators"]
    # Drawing leaves the statistics as they were.
    stats = step()
    before = StepStats(stats.step_id, list(stats.nodes))
    made = timeline.Timeline(stats)
    assert made.generate_chrome_trace_format() == made.generate_chrome_trace_format()
    assert stats == before


@pytest.mark.parametrize("wrong", [None, {}, acts.RunMetadata()])
def test_what_is_not_of_a_traced_run_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"StepStats of a traced run, got .*trace_level"):
        timeline.Timeline(wrong)


@pytest.mark.parametrize("op_time", ["schedule", "gpu", "all"])
def test_every_op_time_of_tensorflow_is_taken(op_time: str) -> None:
    assert timeline.Timeline(step()).generate_chrome_trace_format(op_time=op_time)
    with pytest.raises(ValueError, match="schedule, gpu, all"):
        timeline.Timeline(step()).generate_chrome_trace_format(op_time=op_time + "s")


def test_it_draws_what_a_traced_run_gives() -> None:
    graph = acts.Graph()
    with graph.as_default():
        x = acts.placeholder("float32", [None, 2], name="x")
        a = acts.tanh(x, name="a")
        with acts.device("/cpu:1"):
            left, right = acts.split(a, 2, axis=1, name="sp")
        end = acts.add(left, right, name="end")
    metadata = acts.RunMetadata()
    traced = acts.RunOptions(trace_level=acts.RunOptions.FULL_TRACE)
    with acts.Session(graph=graph, config=acts.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(end, {x: np.ones((3, 2))}, options=traced, run_metadata=metadata)
    assert metadata.step_stats is not None
    events = drawn(metadata.step_stats, show_memory=True)
    spans = {e["args"]["name"]: e for e in of_phase(events, "X")}
    assert set(spans) == {"a", "sp", "end"}
    assert spans["sp"]["args"]["input1"] == "a"
    assert {e["name"] for e in of_phase(events, "s")} == {"a", "sp", "sp:1"}
    assert of_phase(events, "C")


# What the format wants of an event of each phase, as TensorFlow writes it too.
PLACED = {"ph", "cat", "name", "pid", "tid", "ts"}
FORM = {
    "M": {"ph", "name", "pid", "tid", "args"},
    "X": PLACED | {"dur", "args"},
    "s": PLACED | {"id"},
    "t": PLACED | {"id"},
    "N": PLACED | {"id"},
    "O": PLACED | {"id", "args"},
    "D": PLACED | {"id"},
    "C": PLACED | {"args"},
}


def test_every_event_has_the_form_of_its_phase() -> None:
    events = drawn(step(), show_memory=True)
    assert {e["ph"] for e in events} == set(FORM)
    for event in events:
        assert set(event) == FORM[event["ph"]]
        for key in event.keys() & {"ts", "dur", "pid", "tid", "id"}:
            assert type(event[key]) is int
            assert event[key] >= 0
    named = {e["pid"] for e in of_phase(events, "M")}
    assert {e["pid"] for e in events} <= named
    for start, end in zip(of_phase(events, "s"), of_phase(events, "t"), strict=True):
        assert (start["id"], start["name"]) == (end["id"], end["name"])
        assert start["ts"] <= end["ts"]


async def test_the_step_of_a_cluster_has_the_devices_of_all_tasks() -> None:
    """The master merges what each worker recorded, with sizes and labels; arrows cross tasks."""
    graph = acts.Graph()
    with graph.as_default():
        x = acts.placeholder("float32", [None], name="x")
        with acts.device(f"{W0}/device:CPU:0"):
            a = acts.tanh(x, name="a")
        with acts.device(f"{W1}/device:CPU:0"):
            b = acts.exp(a, name="b")
    metadata = acts.RunMetadata()
    traced = acts.RunOptions(trace_level=acts.RunOptions.FULL_TRACE, output_partition_graphs=True)
    config = acts.ConfigProto(graph_options=GraphOptions(infer_shapes=True))
    async with in_process({"worker": 2}) as cluster:
        async with acts.AsyncSession(cluster.target(), graph=graph, config=config) as session:
            await session.run(b, {x: np.ones(3)}, options=traced, run_metadata=metadata)
    stats = metadata.step_stats
    assert stats is not None
    assert {d.device: [n.timeline_label for n in d.node_stats] for d in stats.dev_stats} == {
        f"{W0}/device:CPU:0": ["a = Tanh(_arg/x/0)"],
        f"{W1}/device:CPU:0": ["b = Exp(a)"],
    }
    described = stats.dev_stats[1].node_stats[0].output[0].tensor_description
    assert (described.dtype, described.shape, described.allocated_bytes) == ("float32", (3,), 12)
    assert {t.kind for t in stats.transfers} == {"send", "recv"}
    assert [e["name"] for e in of_phase(drawn(stats), "s")] == ["a"]
    shapes = {n.name: n.attrs["_output_shapes"] for g in metadata.partition_graphs for n in g.nodes}
    assert [s.as_list() for s in shapes["b"]] == [[None]]


def lanes_of(*times: tuple[int, int]) -> list[list[tuple[int, int]]]:
    lanes = spread(Span("", "", start, end) for start, end in times)
    return [[(span.start, span.end) for span in lane] for lane in lanes]


def test_a_span_takes_the_first_lane_that_is_free() -> None:
    assert lanes_of((0, 10), (10, 20), (25, 30)) == [[(0, 10), (10, 20), (25, 30)]]
    assert lanes_of((0, 10), (2, 4)) == [[(0, 10)], [(2, 4)]]
    assert lanes_of((0, 10), (5, 30), (10, 20)) == [[(0, 10), (10, 20)], [(5, 30)]]
    assert lanes_of() == []


LENGTHS = st.integers(1, 20)


@given(st.lists(st.tuples(st.integers(0, 50), LENGTHS)))
def test_there_are_as_many_lanes_as_spans_overlap_at_once(drawn: list[tuple[int, int]]) -> None:
    times = [(start, start + length) for start, length in drawn]
    lanes = lanes_of(*times)
    assert sorted(span for lane in lanes for span in lane) == sorted(times)
    for lane in lanes:
        assert all(before[1] <= after[0] for before, after in pairwise(lane))
    at_once = [sum(start <= now < end for start, end in times) for now in range(80)]
    assert len(lanes) == max(at_once)


PS = "/job:ps/replica:0/task:0/device:CPU:0"


WORKER = "/job:worker/replica:0/task:1/device:CPU:0"


SECOND = "/job:worker/replica:0/task:1/device:CPU:1"


# Some moment; times below are microseconds after it.
BEGIN = 1_700_000_000.0


def node(device: str, name: str, start: float, end: float, op: str = "Op") -> NodeStats:
    return NodeStats(device, name, op, BEGIN + start * 1e-6, BEGIN + end * 1e-6, "MainThread", 40)


def transfer(kind: str, src: str, dst: str, edge: str, time: float) -> TransferStats:
    device = src if kind == "send" else dst
    return TransferStats(kind, build_key(src, 7, dst, edge), device, BEGIN + time * 1e-6, 256)


def parameter_server_step() -> StepStats:
    """A weight is read on the server, used on a worker, and its gradient comes back."""
    return StepStats(
        5,
        [
            node(PS, "w/Read", 10, 20, "ReadVariableOp"),
            node(PS, "_send/edge_0_w/Read:0", 20, 30, "_Send"),
            node(WORKER, "MatMul", 60, 90, "MatMul"),
            node(WORKER, "_send/edge_1_grad:0", 90, 100, "_Send"),
            node(PS, "update_w", 140, 150, "ResourceApplyGradientDescent"),
        ],
        [
            transfer("recv", PS, WORKER, "edge_0_w/Read:0", 50),
            transfer("send", PS, WORKER, "edge_0_w/Read:0", 25),
            transfer("send", WORKER, PS, "edge_1_grad:0", 95),
            transfer("recv", WORKER, PS, "edge_1_grad:0", 130),
        ],
    )


def events(stats: StepStats, *phases: str) -> list[dict[str, Any]]:
    return [e for e in chrome_trace(stats)["traceEvents"] if e["ph"] in phases]


def spans_by_lane(stats: StepStats) -> dict[tuple[int, int], list[dict[str, Any]]]:
    lanes = defaultdict(list)
    for event in events(stats, "X"):
        lanes[event["pid"], event["tid"]].append(event)
    return lanes


def span_around(stats: StepStats, flow: dict[str, Any]) -> dict[str, Any]:
    """The one span in which a flow event lies."""
    (found,) = (
        span
        for span in spans_by_lane(stats)[flow["pid"], flow["tid"]]
        if span["ts"] <= flow["ts"] < span["ts"] + span["dur"]
    )
    return found


def overlaps(spans: list[dict[str, Any]]) -> list[tuple[str, str]]:
    # Times are whole nanoseconds; the sum of two floats of microseconds is not.
    ordered = sorted(spans, key=lambda e: (e["ts"], e["dur"]))
    return [
        (a["name"], b["name"])
        for a, b in pairwise(ordered)
        if round((a["ts"] + a["dur"]) * 1000) > round(b["ts"] * 1000)
    ]


def test_every_send_has_one_arrival_on_another_process_id() -> None:
    stats = parameter_server_step()
    sends, arrivals = {e["id"]: e for e in events(stats, "s")}, {e["id"]: e for e in events(stats, "f")}
    assert len(events(stats, "s")) == len(events(stats, "f")) == len(sends) == 2
    assert sends.keys() == arrivals.keys()
    for number, sent in sends.items():
        assert sent["pid"] != arrivals[number]["pid"]
        assert sent["ts"] < arrivals[number]["ts"]
        assert sent["name"] == arrivals[number]["name"]
    stats = parameter_server_step()
    ends = [(span_around(stats, e)["name"], e["ph"]) for e in events(stats, "s", "f")]
    assert ends == [
        ("_send/edge_0_w/Read:0", "s"),
        ("_recv/edge_0_w/Read:0", "f"),
        ("_send/edge_1_grad:0", "s"),
        ("_recv/edge_1_grad:0", "f"),
    ]
    assert {e["bp"] for e in events(parameter_server_step(), "f")} == {"e"}


def test_a_span_has_name_kind_times_in_microseconds_and_bytes() -> None:
    (span,) = (e for e in events(parameter_server_step(), "X") if e["name"] == "MatMul")
    assert span["cat"] == span["args"]["op"] == "MatMul"
    assert span["args"]["name"] == "MatMul"
    assert span["args"]["bytes"] == 40
    # The trace begins with the first event, at 10. A float of seconds since 1970 resolves 0.24.
    assert span["ts"] == pytest.approx(50, abs=0.5)
    assert span["dur"] == pytest.approx(30, abs=0.5)


def test_both_ends_of_a_transfer_tell_the_bytes_and_the_other_device() -> None:
    found = {
        e["name"]: (e["args"]["bytes"], e["args"]["peer"], e["args"]["met"])
        for e in events(parameter_server_step(), "X")
        if e["cat"] in ("_Send", "_Recv")
    }
    assert found == {
        "_send/edge_0_w/Read:0": (256, WORKER, True),
        "_recv/edge_0_w/Read:0": (256, PS, True),
        "_send/edge_1_grad:0": (256, PS, True),
        "_recv/edge_1_grad:0": (256, WORKER, True),
    }


def test_processes_are_named_after_tasks_and_lanes_after_devices() -> None:
    names = [(e["name"], e["args"]["name"]) for e in events(parameter_server_step(), "M")]
    assert names == [
        ("process_name", "ps/0"),
        ("thread_name", "CPU:0"),
        ("thread_name", "CPU:0 arrivals"),
        ("process_name", "worker/1"),
        ("thread_name", "CPU:0"),
        ("thread_name", "CPU:0 arrivals"),
        ("process_name", "critical path"),
        ("thread_name", "critical path"),
    ]
    stats = parameter_server_step()
    named = {(e["pid"], e["tid"]) for e in events(stats, "M") if e["name"] == "thread_name"}
    assert spans_by_lane(stats).keys() == named


def test_nodes_that_ran_at_the_same_time_get_lanes_of_their_own() -> None:
    stats = StepStats(1, [node(PS, "a", 0, 30), node(PS, "b", 10, 20), node(PS, "c", 30, 40)])
    assert [[span["name"] for span in lane] for lane in spans_by_lane(stats).values()][:2] == [["a", "c"], ["b"]]
    assert [e["args"]["name"] for e in events(stats, "M")][1:3] == ["CPU:0 #1", "CPU:0 #2"]
    # Devices of one task share a process and no lane.
    stats = StepStats(1, [node(WORKER, "a", 0, 30), node(SECOND, "b", 10, 20)])
    (a, b) = (e for e in events(stats, "X") if e["name"] in "ab")
    assert a["pid"] == b["pid"]
    assert a["tid"] != b["tid"]


def test_a_send_by_a_kernel_thread_starts_its_arrow_within_the_node() -> None:
    """Such a send is handed over when the whole segment has ended, which is after the node."""
    stats = StepStats(
        1,
        [node(PS, "_send/edge_0_x:0", 0, 5, "_Send"), node(PS, "after", 5, 50)],
        [transfer("send", PS, WORKER, "edge_0_x:0", 55), transfer("recv", PS, WORKER, "edge_0_x:0", 70)],
    )
    (sent,) = events(stats, "s")
    assert span_around(stats, sent)["name"] == "_send/edge_0_x:0"
    stats = parameter_server_step()
    stats.nodes.clear()
    assert [span_around(stats, e)["cat"] for e in events(stats, "s")] == ["_Send", "_Send"]


def test_a_send_that_nobody_received_has_no_arrow_and_says_so() -> None:
    stats = parameter_server_step()
    del stats.transfers[0]
    assert [e["name"] for e in events(stats, "s")] == ["edge_1_grad:0"]
    (span,) = (e for e in events(stats, "X") if e["name"] == "_send/edge_0_w/Read:0")
    assert span["args"]["met"] is False


def test_several_sends_of_one_key_meet_their_arrivals_in_order() -> None:
    times = [0, 10, 20]
    stats = StepStats(
        1,
        [],
        [transfer("send", PS, WORKER, "e", t) for t in times]
        + [transfer("recv", PS, WORKER, "e", t + 5) for t in reversed(times)],
    )
    for sent, arrived in zip(events(stats, "s"), events(stats, "f"), strict=True):
        assert sent["id"] == arrived["id"]
        assert arrived["ts"] - sent["ts"] == pytest.approx(5, abs=0.5)


def test_a_step_without_nodes_has_an_empty_trace(tmp_path: Path) -> None:
    assert chrome_trace(StepStats()) == {
        "traceEvents": [],
        "displayTimeUnit": "ms",
        "otherData": {"step": 0, "clocks": {}, "critical_path": {}},
    }
    stats = parameter_server_step()
    write_trace(tmp_path / "trace.json", stats)
    assert json.loads((tmp_path / "trace.json").read_text("utf-8")) == chrome_trace(stats)
    stats = parameter_server_step()
    assert chrome_trace(StepStats(5, stats.nodes[::-1], stats.transfers[::-1])) == chrome_trace(stats)


MOMENTS = st.integers(0, 60)


SPANS = st.lists(st.tuples(st.sampled_from([PS, WORKER, SECOND]), MOMENTS, MOMENTS), max_size=20)


EDGES = st.lists(st.tuples(st.permutations([PS, WORKER]), MOMENTS, MOMENTS), max_size=10)


@given(SPANS, EDGES)
def test_no_lane_has_overlapping_spans_and_every_transfer_one_arrow(
    spans: list[tuple[str, int, int]], edges: list[tuple[list[str], int, int]]
) -> None:
    stats = StepStats(1)
    for number, (device, a, b) in enumerate(spans):
        stats.nodes.append(node(device, f"n{number}", min(a, b), max(a, b)))
    for number, ((src, dst), a, b) in enumerate(edges):
        stats.transfers.append(transfer("send", src, dst, f"e{number}", min(a, b)))
        stats.transfers.append(transfer("recv", src, dst, f"e{number}", max(a, b)))
    assert [found for lane in spans_by_lane(stats).values() if (found := overlaps(lane))] == []
    assert Counter(e["id"] for e in events(stats, "s", "f")) == dict.fromkeys(range(1, len(edges) + 1), 2)


SERVER = "/job:ps/replica:0/task:0"


TASK = "/job:worker/replica:0/task:0"


def link(peer: str, **counters: int) -> LinkStatistics:
    nothing: dict[str, Any] = dict.fromkeys(LinkStatistics.__slots__, 0)
    return LinkStatistics(**(nothing | {"peer": peer, "address": "", "over": None} | counters))


def server(task: str, *links: LinkStatistics) -> ServerStatistics:
    nothing: dict[str, Any] = dict.fromkeys(ServerStatistics.__slots__, 0)
    return ServerStatistics(**(nothing | {"task": task, "links": links}))


def test_a_link_between_tasks_counts_once_at_each_end_for_what_that_end_sent() -> None:
    servers = [
        server(SERVER, link(TASK, tells_sent=3, bytes_sent=100, bytes_received=40)),
        server(TASK, link(SERVER, tells_received=3, bytes_sent=40, bytes_received=100)),
    ]
    assert traffic(servers) == Traffic(messages=3, nbytes=140)
    mine = link(TASK, calls_sent=2, bytes_sent=100, bytes_received=8)
    assert traffic([server(TASK)], mine) == Traffic(messages=4, nbytes=108)
    servers = [server(TASK, link(CLIENT, calls_received=2, tells_sent=1, bytes_sent=50))]
    assert traffic(servers) == Traffic(messages=0, nbytes=0)
    assert traffic([server(SERVER, link(TASK, frames_sent=4, bytes_sent=16))]) == Traffic(0, 16)


def test_a_call_is_two_messages_counted_where_it_was_made() -> None:
    servers = [
        server(SERVER, link(TASK, calls_received=5, bytes_sent=10)),
        server(TASK, link(SERVER, calls_sent=5, bytes_sent=20)),
    ]
    assert traffic(servers) == Traffic(messages=10, nbytes=30)


def test_what_work_has_moved_is_the_difference() -> None:
    assert Traffic(12, 900) - Traffic(5, 400) == Traffic(7, 500)
