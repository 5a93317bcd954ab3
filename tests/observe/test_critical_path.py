"""The critical path of steps whose times are known."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession.config import FrameStats, NodeExecStats, NodeStats, PhaseStats, StepStats, TransferStats
from actorsession.errors import InvalidArgumentError
from actorsession.observe import CriticalPath, PathRow, critical_path

TASKS = [f"/job:worker/replica:0/task:{number}" for number in range(3)]
BEGIN = 1_700_000_000.0
# Times are whole units: a float of seconds since 1970 resolves a quarter of a microsecond.
UNIT = 1e-4


def at(units: float) -> float:
    return BEGIN + units * UNIT


def build_key(source: str, target: str, edge: str) -> str:
    return f"{source};{1:016x};{target};{edge};0:0"


def device(task: str) -> str:
    return f"{task}/device:CPU:0"


def ran(
    task: str,
    name: str,
    inputs: list[str],
    ready: int,
    start: int,
    end: int,
    thread: str = "main",
    waited: bool = False,
) -> NodeStats:
    detail = NodeExecStats(
        node_name=name,
        all_start_nanos=round(at(start) * 1e9),
        scheduled_nanos=round(at(ready) * 1e9),
        timeline_label=f"{name} = Op({', '.join(inputs)})",
    )
    return NodeStats(device(task), name, "Op", at(start), at(end), thread, 8, detail, waited)


@dataclass
class Plan:
    """A node of a random step: where it runs, how long, what it reads, and how long it waits for its thread."""

    task: int
    took: int
    reads: list[int]
    queued: int
    waits: bool


@dataclass
class Net:
    """How long a value is held before it is sent, and how long it is on its way."""

    held: int
    way: int


@st.composite
def steps(draw: Any) -> tuple[list[Plan], Net]:
    plans: list[Plan] = []
    for number in range(draw(st.integers(1, 12))):
        reads = draw(st.lists(st.integers(0, number - 1), unique=True, max_size=3)) if number else []
        plans.append(
            Plan(draw(st.integers(0, 2)), draw(st.integers(1, 20)), reads, draw(st.integers(0, 5)), draw(st.booleans()))
        )
    return plans, Net(draw(st.integers(0, 5)), draw(st.integers(0, 30)))


def played(plans: list[Plan], net: Net) -> StepStats:
    """The statistics of a step of a master at the first task; each node is a segment of its own."""
    stats = StepStats(7)
    begun = {0: 2, 1: 3 + net.way, 2: 4 + net.way}
    for number in (1, 2):
        stats.frames.append(FrameStats("RunGraph", TASKS[0], TASKS[number], (), 10, at(number + 2), at(begun[number])))
    ends: list[int] = []
    sent: dict[tuple[int, int], int] = {}
    for number, plan in enumerate(plans):
        ready = begun[plan.task]
        for read in plan.reads:
            if plans[read].task == plan.task:
                ready = max(ready, ends[read])
                continue
            if (read, plan.task) not in sent:
                source, target = TASKS[plans[read].task], TASKS[plan.task]
                key = build_key(device(source), device(target), f"edge_{number}_n{read}:0")
                leaves = ends[read] + net.held
                arrives = sent[read, plan.task] = leaves + net.way
                stats.transfers.append(TransferStats("send", key, device(source), at(ends[read]), 8))
                received = max(arrives, begun[plan.task])
                stats.transfers.append(TransferStats("recv", key, device(target), at(received), 8))
                stats.frames.append(FrameStats("push", source, target, (key,), 20, at(leaves), at(arrives)))
            ready = max(ready, sent[read, plan.task])
        start = ready + plan.queued
        ends.append(start + plan.took)
        names = [f"n{read}" for read in plan.reads]
        thread = f"thread {number}"
        stats.nodes.append(ran(TASKS[plan.task], f"n{number}", names, ready, start, ends[-1], thread, plan.waits))
    last = dict.fromkeys(range(3), 0)
    for end, plan in zip(ends, plans, strict=True):
        last[plan.task] = max(last[plan.task], end)
    answered = {task: max(last[task], begun[task]) + 1 for task in range(3)}
    for task in (1, 2):
        arrived = answered[task] + net.way
        stats.frames.append(FrameStats("done", TASKS[task], TASKS[0], (), 9, at(answered[task]), at(arrived)))
    over = max(answered[0], answered[1] + net.way, answered[2] + net.way)
    stats.phases = [PhaseStats("part", TASKS[t], at(begun[t]), at(answered[t])) for t in range(3)]
    stats.phases.append(PhaseStats("step", TASKS[0], at(0), at(over + 1)))
    return stats


@given(steps())
def test_its_parts_cover_the_step_without_overlap_and_follow_what_nodes_need(
    random_step: tuple[list[Plan], Net],
) -> None:
    plans, net = random_step
    stats = played(plans, net)
    path = critical_path(stats)
    ends = [path.began, *(row.ended for row in path.rows)]
    assert [row.began for row in path.rows] == ends[:-1]
    assert all(row.seconds > 0 for row in path.rows)
    step = stats.phases[-1]
    assert (path.began, path.ended, ends[-1]) == (step.began, step.ended, step.ended)
    assert sum(path.share(row) for row in path.rows) == pytest.approx(1.0)
    assert sum(path.kinds.values()) == pytest.approx(path.seconds)
    nodes = [int(row.node[1:]) for row in path.rows if row.node]
    by_name = {n.node: n for n in stats.nodes}
    for row in path.rows:
        if row.node:
            assert (row.began, row.ended) == (by_name[row.node].start, by_name[row.node].end)
            assert row.kind == ("wait" if by_name[row.node].waited else "work")
    # Each node is on the path because the next one reads it, or because the master has sent a request after it.
    for before, after in pairwise(nodes):
        requested = plans[before].task == 0 and by_name[f"n{before}"].end <= at(plans[after].task + 2)
        assert before in plans[after].reads or requested
    assert CriticalPath.from_wire(path.to_wire()) == path


@given(steps(), st.floats(-0.01, 0.01))
def test_it_is_whole_even_if_the_clocks_are_wrong(random_step: tuple[list[Plan], Net], wrong: float) -> None:
    """Values arrive before they were sent, and parts begin before they were requested."""
    stats = played(*random_step)
    shifted = StepStats.from_wire(StepStats(0, *parts_of(stats, TASKS[1])).to_wire(), wrong)
    kept = StepStats(0, *parts_of(stats, *(TASKS[0], TASKS[2])))
    kept.merge(shifted)
    path = critical_path(kept)
    ends = [path.began, *(row.ended for row in path.rows)]
    assert [row.began for row in path.rows] == ends[:-1]
    assert ends[-1] == path.ended
    title = str(path).partition("\n")[0]
    assert title.startswith("critical path of ")
    assert title in path._repr_html_()
    assert path.to_svg().count("<title>") >= len(path.rows)


def parts_of(stats: StepStats, *tasks: str) -> tuple[Any, ...]:
    return (
        [n for n in stats.nodes if n.device.rpartition("/device")[0] in tasks],
        [t for t in stats.transfers if t.device.rpartition("/device")[0] in tasks],
        0,
        [f for f in stats.frames if f.target in tasks],
        [p for p in stats.phases if p.task in tasks],
    )


def test_a_step_without_anything_has_an_empty_path() -> None:
    path = critical_path(StepStats())
    assert path == CriticalPath(0.0, 0.0, ())
    assert str(path).startswith("critical path of 0 us: nothing was recorded")


def rows_of(stats: StepStats) -> list[tuple[str, str, int]]:
    return [(row.kind, row.what, round(row.seconds / UNIT)) for row in critical_path(stats).rows]


LOCAL = "/job:localhost/replica:0/task:0"


def local_step(*nodes: NodeStats, ended: int) -> StepStats:
    return StepStats(1, list(nodes), phases=[PhaseStats("step", LOCAL, at(0), at(ended))])


def test_the_nodes_of_a_segment_run_one_after_the_other() -> None:
    stats = local_step(
        ran(LOCAL, "a", [], 1, 1, 5), ran(LOCAL, "b", [], 1, 6, 20), ran(LOCAL, "c", ["a"], 1, 21, 25), ended=26
    )
    assert rows_of(stats) == [
        ("work", "begins the step", 1),
        ("work", "a (Op)", 4),
        ("work", "b (Op)", 15),
        ("work", "c (Op)", 5),
        ("work", "returns the values", 1),
    ]


def test_what_is_ready_behind_another_node_is_in_a_queue() -> None:
    stats = local_step(
        ran(LOCAL, "a", [], 1, 1, 5), ran(LOCAL, "long", [], 2, 5, 30), ran(LOCAL, "b", ["a"], 7, 30, 32), ended=32
    )
    assert rows_of(stats) == [
        ("work", "begins the step", 1),
        ("work", "a (Op)", 4),
        ("queue", "b has its inputs, which are not taken yet", 2),
        ("queue", "b is ready, behind long", 23),
        ("work", "b (Op)", 2),
    ]


def crossing(frames: list[FrameStats], received: int) -> StepStats:
    key = build_key(device(TASKS[0]), device(TASKS[1]), "edge_0_a:0")
    stats = StepStats(1)
    stats.nodes = [ran(TASKS[0], "a", [], 1, 1, 5), ran(TASKS[1], "b", ["a"], received, received, received + 4)]
    stats.transfers = [
        TransferStats("send", key, device(TASKS[0]), at(5), 8),
        TransferStats("recv", key, device(TASKS[1]), at(received), 8),
    ]
    stats.frames = [*frames, FrameStats("push", TASKS[0], TASKS[1], (key,), 2048, at(8), at(28), 77)]
    return stats


def test_time_in_the_outbox_is_told_from_that_on_the_wire() -> None:
    """The frame before has left ten units before it arrived, as a quick one was ten units on its way."""
    quick = FrameStats("push", TASKS[0], TASKS[1], (), 10, at(0), at(10))
    large = FrameStats("push", TASKS[0], TASKS[1], (), 2048, at(6), at(25))
    assert rows_of(crossing([quick, large], 29))[1:] == [
        ("queue", "a:0 is held until nothing else is ready there", 3),
        ("queue", "a:0, 8 B: behind 2.0 KiB", 7),
        ("wire", "a:0, 8 B", 13),
        ("queue", "b has its inputs, which are not taken yet", 1),
        ("work", "b (Op)", 4),
    ]
    assert ("wire", "a:0, 8 B", 20) in rows_of(crossing([], 29))


def test_a_held_part_waits_for_its_link() -> None:
    stats = StepStats(1, [ran(TASKS[1], "b", [], 30, 30, 34)])
    stats.frames = [FrameStats("RunGraph", TASKS[0], TASKS[1], (), 10, at(2), at(4))]
    stats.phases = [
        PhaseStats("admission", TASKS[0], at(0), at(1)),
        PhaseStats("backpressure", TASKS[1], at(4), at(29), TASKS[2]),
        PhaseStats("part", TASKS[1], at(4), at(35)),
        PhaseStats("step", TASKS[0], at(0), at(40)),
    ]
    stats.frames.append(FrameStats("done", TASKS[1], TASKS[0], (), 9, at(35), at(39)))
    kinds: dict[str, int] = defaultdict(int)
    for kind, what, took in rows_of(stats):
        kinds[kind] += took
        if kind == "wait" and took > 1:
            assert (what, took) == ("until the link to /job:worker/task:2 has room", 25)
    assert kinds == {"wait": 26, "work": 8, "wire": 6}


def test_the_table_sums_up_what_is_short() -> None:
    rows = [PathRow("work", "here", f"n{number}", at(number), at(number + 1)) for number in range(300)]
    rows.append(PathRow("wait", "there", "long", at(300), at(1000)))
    text = str(CriticalPath(at(0), at(1000), tuple(rows)))
    assert text.splitlines()[0] == "critical path of 100 ms: 70 ms wait, 30 ms work"
    assert "300 shorter parts  30 ms  30.0 %" in text
    assert len(text.splitlines()) == 4


@pytest.mark.parametrize("wire", [None, [1.0, 2.0], [1.0, 2.0, [["work"]]], [1.0, 2.0, 3]])
def test_what_is_no_path_is_refused(wire: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="invalid critical path"):
        CriticalPath.from_wire(wire)
