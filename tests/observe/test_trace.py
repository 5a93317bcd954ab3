"""The trace of a step: tracks on which nothing overlaps, and an arrow for each transfer."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession.config import NodeStats, StepStats, TransferStats
from actorsession.observe import chrome_trace, write_trace
from actorsession.plan.rendezvous_key import build_key

PS = "/job:ps/replica:0/task:0/device:CPU:0"
WORKER = "/job:worker/replica:0/task:1/device:CPU:0"
SECOND = "/job:worker/replica:0/task:1/device:CPU:1"
# Some moment; times below are microseconds after it.
EPOCH = 1_700_000_000.0


def node(device: str, name: str, start: float, end: float, op: str = "Op") -> NodeStats:
    return NodeStats(device, name, op, EPOCH + start * 1e-6, EPOCH + end * 1e-6, "MainThread", 40)


def transfer(kind: str, src: str, dst: str, edge: str, time: float) -> TransferStats:
    device = src if kind == "send" else dst
    return TransferStats(kind, build_key(src, 7, dst, edge), device, EPOCH + time * 1e-6, 256)


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
    sends = {e["id"]: e for e in events(stats, "s")}
    arrivals = {e["id"]: e for e in events(stats, "f")}
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
        ("process_name", "/job:ps/replica:0/task:0"),
        ("thread_name", "CPU:0"),
        ("thread_name", "CPU:0 arrivals"),
        ("process_name", "/job:worker/replica:0/task:1"),
        ("thread_name", "CPU:0"),
        ("thread_name", "CPU:0 arrivals"),
    ]
    stats = parameter_server_step()
    named = {(e["pid"], e["tid"]) for e in events(stats, "M") if e["name"] == "thread_name"}
    assert spans_by_lane(stats).keys() == named


def test_nodes_that_ran_at_the_same_time_get_lanes_of_their_own() -> None:
    stats = StepStats(1, [node(PS, "a", 0, 30), node(PS, "b", 10, 20), node(PS, "c", 30, 40)])
    lanes = [[span["name"] for span in lane] for lane in spans_by_lane(stats).values()]
    assert lanes == [["a", "c"], ["b"]]
    assert [e["args"]["name"] for e in events(stats, "M")][1:] == ["CPU:0 #1", "CPU:0 #2"]
    # Devices of one task share a process and no lane.
    stats = StepStats(1, [node(WORKER, "a", 0, 30), node(SECOND, "b", 10, 20)])
    (a, b) = events(stats, "X")
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
    assert chrome_trace(StepStats()) == {"traceEvents": [], "displayTimeUnit": "ms"}
    stats = parameter_server_step()
    write_trace(tmp_path / "trace.json", stats)
    assert json.loads((tmp_path / "trace.json").read_text("utf-8")) == chrome_trace(stats)
    stats = parameter_server_step()
    other = StepStats(5, stats.nodes[::-1], stats.transfers[::-1])
    assert chrome_trace(other) == chrome_trace(stats)


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
