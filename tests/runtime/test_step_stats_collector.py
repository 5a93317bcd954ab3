"""What a traced step records: bounded, ended once, and never holding a tensor."""

from __future__ import annotations

import time
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, ops
from actorsession.config import NodeExecStats, NodeStats, StepStats
from actorsession.errors import InvalidArgumentError
from actorsession.plan.codegen.bind import BoundPartition
from actorsession.plan.codegen.segment_context import PendingValues, SegmentContext
from actorsession.runtime.step_stats_collector import Recorder, StepStatsCollector
from tests.rows import for_each
from tests.runtime.kit import Loaded


class Context(SegmentContext):
    """A segment's context that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def send(self, number: int, value: Any) -> None:
        self.asked.append((number, value))

    def begin(self, number: int, pending: PendingValues) -> None:
        self.asked.append((number, pending))

    def wait_for(self, pending: PendingValues) -> Any:
        self.asked.append(pending)
        return pending

    def check(self) -> None:
        self.asked.append("check")

    def note(self, number: int, start: Any, value: Any) -> None:
        raise AssertionError("the recorder notes by itself")


@pytest.fixture
def linked() -> BoundPartition:
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [2], name="x")
        y = ops.tanh(x, name="y")
    return Loaded(graph, [y], [x]).graph.parts[0].bound


def position(linked: BoundPartition, name: str) -> int:
    return [n.name for n in linked.compiled.partition.nodes].index(name)


def recorder(collector: StepStatsCollector, linked: BoundPartition) -> Recorder:
    return Recorder(Context(), collector, linked, time.perf_counter_ns())


def test_a_recorder_is_its_context_and_notes_nodes(linked: BoundPartition) -> None:
    collector, context = StepStatsCollector(7), Context()
    made = Recorder(context, collector, linked, time.perf_counter_ns())
    values: Future[Any] = Future()
    made.send(0, 1.5)
    made.check()
    made.begin(1, values)
    assert made.wait_for(values) is values
    made.note(position(linked, "y"), time.perf_counter_ns(), np.zeros(2, np.float32))
    assert context.asked == [(0, 1.5), "check", (1, values), values]
    stats = collector.finalise()
    assert stats.step_id == 7
    (node,) = stats.nodes
    assert (node.node, node.op, node.nbytes, node.device) == ("y", "Tanh", 8, linked.device)
    assert node.start <= node.end
    assert made.nanos > 0


def test_what_runs_beyond_the_limit_is_counted_and_left_out(linked: BoundPartition) -> None:
    collector = StepStatsCollector(1, limit=3)
    made = recorder(collector, linked)
    for _ in range(5):
        made.note(position(linked, "y"), time.perf_counter_ns(), np.zeros(2, np.float32))
    stats = collector.finalise()
    assert (len(stats.nodes), stats.left_out) == (3, 2)
    assert len(stats.dev_stats[0].node_stats) == 3


def test_it_is_ended_once_and_later_records_are_ignored(linked: BoundPartition) -> None:
    collector = StepStatsCollector(1)
    made = recorder(collector, linked)
    made.note(position(linked, "y"), time.perf_counter_ns(), np.zeros(2, np.float32))
    first = collector.finalise()
    made.note(position(linked, "y"), time.perf_counter_ns(), np.zeros(2, np.float32))
    collector.add_transfer("send", "key", linked.device, 1.0)
    assert collector.finalise() is first
    assert (len(first.nodes), first.transfers, first.left_out) == (1, [], 0)


def test_a_record_does_not_keep_the_tensor(linked: BoundPartition) -> None:
    class Watched(np.ndarray):  # a plain array takes no weak reference
        pass

    import weakref

    collector = StepStatsCollector(1)
    value = np.zeros(2, np.float32).view(Watched)
    gone = weakref.ref(value)
    recorder(collector, linked).note(position(linked, "y"), time.perf_counter_ns(), value)
    del value
    assert gone() is None
    assert collector.finalise().nodes[0].nbytes == 8


# -- the values themselves -------------------------------------------------------------------------
def traced_node(name: str = "y") -> NodeStats:
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [2], name="x")
        y = ops.tanh(x, name=name)
    linked = Loaded(graph, [y], [x]).graph.parts[0].bound
    collector = StepStatsCollector(1)
    recorder(collector, linked).note(position(linked, name), time.perf_counter_ns(), np.zeros(2, np.float32))
    return collector.finalise().nodes[0]


def test_all_of_it_travels() -> None:
    stats = StepStats(3, [traced_node(), traced_node("z")], [], 9)
    again = StepStats.from_wire(stats.to_wire())
    assert again == stats
    assert again.dev_stats == stats.dev_stats


def test_what_two_processes_left_out_is_added_up() -> None:
    stats = StepStats(1, left_out=2)
    stats.merge(StepStats(1, [traced_node()], left_out=3))
    assert (stats.left_out, len(stats.nodes)) == (5, 1)


@for_each("wire", [[1, [[1, 2]], [], 0], [1, [["d", "n", "o", 0, 0, "t", 0, [1]]], [], 0], [1, [], [["s"]], 0], [1]])
def test_bad_statistics_from_a_peer_are_refused(wire: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid step statistics"):
        StepStats.from_wire(wire)


def test_devices_and_nodes_come_in_order_whatever_the_order_of_recording() -> None:
    node = traced_node()
    detail = node.detail
    assert isinstance(detail, NodeExecStats)
    early = replace(node, node="early", detail=replace(detail, node_name="early", all_start_nanos=5))
    other = replace(node, device="/a", thread="second")
    stats = StepStats(1, [node, other, early])
    assert [d.device for d in stats.dev_stats] == ["/a", node.device]
    assert [n.node_name for n in stats.dev_stats[1].node_stats] == ["early", "y"]
    assert stats.dev_stats[0].thread_names == {0: "second"}


def test_flat_entries_without_details_give_times_and_labels() -> None:
    stats = StepStats(1, [NodeStats("/d", "n", "Op", 1.0, 1.5, "t", 8)])
    (node,) = stats.dev_stats[0].node_stats
    assert (node.all_start_micros, node.all_end_rel_micros) == (1_000_000, 500_000)
    assert node.timeline_label == "n = Op()"


def test_transfers_are_no_nodes() -> None:
    stats = StepStats(1, [NodeStats("/d", "_send/edge_0_a:0", "_Send", 1.0, 1.5, "t", 8)])
    assert stats.dev_stats == []
