"""The timeline of a step as TensorFlow draws it, and how spans are spread over lanes."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import actorsession as acts
from actorsession import GraphOptions, timeline
from actorsession.config import NodeExecStats, NodeOutput, NodeStats, StepStats, TensorDescription
from actorsession.observe.lanes import Span, spread
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
    text = timeline.Timeline(stats).generate_chrome_trace_format(**shown)
    trace = json.loads(text)
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
        target = cluster.target()
        async with acts.AsyncSession(target, graph=graph, config=config) as session:
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
