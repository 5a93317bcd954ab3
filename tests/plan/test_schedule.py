"""Which device each node should have: the time of a step, better choices, and when they are looked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import Graph, NodeDef, ops
from actorsession.config import StepStats
from actorsession.extend import DeviceAttributes, DeviceSet, Partition
from actorsession.plan.cost_model import CostModel
from actorsession.plan.partition import partition
from actorsession.plan.place import Placed, Placer
from actorsession.plan.placement_review import PlacementReview
from actorsession.plan.prune import GraphView, prune
from actorsession.plan.schedule import Edge, Work, _segments, finish_time, reschedule, work_graph
from tests.plan.kit import CPU, Made, signature
from tests.plan.test_cost_model import ran

# Seconds above which a segment goes to the pool, and what that costs.
DEAR = 1e-3
HANDOVER = 60e-6
ALL = tuple(CPU[:3])


def piece(name: str, seconds: float, *inputs: str, device: str = CPU[0], free: bool = True, nbytes: int = 0) -> Work:
    others = [d for d in ALL if d != device] if free else []
    return Work(name, device, seconds, tuple(Edge(producer, 0, nbytes) for producer in inputs), (device, *others))


def step(*pieces: Work) -> dict[str, Work]:
    return {p.name: p for p in pieces}


def now(work: Mapping[str, Work]) -> dict[str, str]:
    return {name: p.device for name, p in work.items()}


def time_of(work: Mapping[str, Work], threads: int = 2, **moved: Any) -> float:
    return finish_time(work, {**now(work), **moved}, threads=threads, dear=DEAR)


def two_chains(seconds: float) -> dict[str, Work]:
    return step(
        piece("a0", seconds),
        piece("a1", seconds, "a0"),
        piece("b0", seconds),
        piece("b1", seconds, "b0"),
        piece("end", 0.0, "a1", "b1", free=False),
    )


# -- the time of a step ----------------------------------------------------------------------------


def test_the_time_of_a_step_is_that_of_its_segments_and_transfers() -> None:
    assert time_of(two_chains(0.01)) == pytest.approx(0.04 + HANDOVER)
    # Two devices run two chains at a time.
    assert time_of(two_chains(0.01), b0=CPU[1], b1=CPU[1]) == pytest.approx(0.02 + 2 * HANDOVER)
    # What is cheap runs in the thread of the step wherever it is.
    chains = two_chains(0.0004)
    assert time_of(chains, b0=CPU[1], b1=CPU[1]) >= 4 * 0.0004
    # Without a pool devices win nothing.
    chains = two_chains(0.01)
    alone = time_of(chains, threads=0)
    assert alone == pytest.approx(0.04)
    assert time_of(chains, threads=0, b0=CPU[1], b1=CPU[1]) >= alone
    # Bytes that travel take time.
    small, large = [
        step(piece("a", 0.01, nbytes=n), piece("b", 0.01, "a", device=CPU[1], nbytes=n)) for n in (0, 100_000_000)
    ]
    assert time_of(large) - time_of(small) == pytest.approx(0.01)


def test_a_value_leaves_a_dear_segment_when_that_has_ended() -> None:
    """``first`` is done long before ``second``, but both are one segment of the first device."""
    work = step(piece("first", 0.002), piece("second", 0.05), piece("far", 0.01, "first", device=CPU[1]))
    assert time_of(work) == pytest.approx(0.062 + 3 * HANDOVER)


def test_the_model_has_the_segments_that_plans_have(graph_of_two: tuple[Graph, Made]) -> None:
    _, made = graph_of_two
    work = work_graph(made.parts, CostModel(), lambda node, device: [device])
    segments, _ = _segments(work, now(work))
    assert len(segments) == sum(len(linked.segments) for linked in made.linked)


@pytest.fixture
def graph_of_two() -> tuple[Graph, Made]:
    """A value goes to the second device and back, beside work on the first and a control edge."""
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [2], name="x")
        a = ops.tanh(x, name="a")
        with graph.device("/cpu:1"):
            b = ops.multiply(a, 2.0, name="b")
        with graph.control_dependencies([b.op]):
            c = ops.exp(a, name="c")
        end = ops.add(b, c, name="end")
    return graph, Made(graph, [end], [x], devices=2)


def test_work_sees_through_sends_and_receives(graph_of_two: tuple[Graph, Made]) -> None:
    _, made = graph_of_two
    model = CostModel()
    model.record(StepStats(1, [ran("a", 0.25, 8), ran("b", 0.5, 800)]))
    work = work_graph(made.parts, model, lambda node, device: [device])
    assert list(work) == ["a", "b", "c", "end"]
    assert {n: w.inputs for n, w in work.items()} == {
        "a": (),
        "b": (Edge("a", 0, 8.0),),
        "c": (Edge("a", 0, 8.0), Edge("b", -1, 0.0)),
        "end": (Edge("b", 0, 800.0), Edge("c", 0, 0.0)),
    }
    assert [work[n].seconds for n in work] == pytest.approx([0.25, 0.5, 0.0, 0.0])
    assert work["b"].device == CPU[1]


def test_a_node_may_go_where_it_is_and_where_it_is_told(graph_of_two: tuple[Graph, Made]) -> None:
    _, made = graph_of_two

    def candidates(node: NodeDef, device: str) -> Sequence[str]:
        return CPU[:3] if node.name == "b" else [device]

    work = work_graph(made.parts, CostModel(), candidates)
    assert work["b"].candidates == (CPU[1], CPU[0], CPU[2])
    assert work["a"].candidates == (CPU[0],)


# -- better choices --------------------------------------------------------------------------------


def test_independent_heavy_chains_get_devices_of_their_own() -> None:
    work = two_chains(0.01)
    found = reschedule(work, ALL, threads=2, dear=DEAR)
    assert found is not None
    there = {**now(work), **found.devices}
    assert there["a0"] == there["a1"] != there["b0"] == there["b1"]
    assert found.before == pytest.approx(0.04 + HANDOVER)
    assert found.after == time_of(work, 2, **found.devices)
    assert found.after < 0.021


def test_nothing_moves_without_a_gain() -> None:
    work = step(piece("a", 0.1), piece("b", 0.1, "a"), piece("c", 0.1, "b"))
    assert reschedule(work, ALL, threads=2, dear=DEAR) is None
    # Cheap chains stay where they are.
    assert reschedule(two_chains(20e-6), ALL, threads=2, dear=DEAR) is None
    # Transfers that cost more than they win are not made. Two halves of 2 ms read 100 MB each: they are better off
    # one after the other.
    work = step(
        piece("big", 0.01), piece("left", 0.002, "big", nbytes=10**8), piece("right", 0.002, "big", nbytes=10**8)
    )
    assert reschedule(work, ALL, threads=2, dear=DEAR) is None

    # A gain of less than a fifth moves nothing.
    def chains(second: float) -> dict[str, Work]:
        return step(piece("a", 0.1), piece("b", second))

    assert reschedule(chains(0.02), ALL, threads=2, dear=DEAR) is None
    assert reschedule(chains(0.03), ALL, threads=2, dear=DEAR) is not None
    # What must stay stays.
    work = {name: piece(name, 0.01, free=False) for name in "abc"}
    assert reschedule(work, ALL, threads=2, dear=DEAR) is None
    found = reschedule({**work, "d": piece("d", 0.05)}, ALL, threads=2, dear=DEAR)
    assert found is not None
    assert set(found.devices) == {"d"}


@pytest.mark.parametrize("threads", [0, 1])
def test_nothing_moves_where_nothing_runs_at_a_time(threads: int) -> None:
    assert reschedule(two_chains(0.01), ALL, threads=threads, dear=DEAR) is None


@st.composite
def steps(draw: st.DrawFn) -> dict[str, Work]:
    made: dict[str, Work] = {}
    for i in range(draw(st.integers(1, 12))):
        producers = draw(st.lists(st.sampled_from(list(made)), max_size=3, unique=True)) if i else []
        made[f"n{i}"] = piece(
            f"n{i}",
            draw(st.sampled_from([0.0, 1e-5, 0.002, 0.03])),
            *producers,
            device=draw(st.sampled_from(ALL)),
            free=draw(st.booleans()),
            nbytes=draw(st.sampled_from([4, 10**6])),
        )
    return made


@given(steps(), st.integers(0, 4))
def test_what_is_found_is_better_and_moves_only_what_may_go_there(work: dict[str, Work], threads: int) -> None:
    found = reschedule(work, ALL, threads=threads, dear=DEAR)
    if found is None:
        return
    assert found.devices
    for name, device in found.devices.items():
        assert device in work[name].candidates
        assert device != work[name].device
    assert found.after < 0.8 * found.before
    assert found.before == time_of(work, threads)
    assert found.after == time_of(work, threads, **found.devices)


@given(steps(), st.integers(0, 4))
def test_no_step_is_faster_than_its_longest_chain(work: dict[str, Work], threads: int) -> None:
    longest: dict[str, float] = {}
    for name, p in work.items():
        longest[name] = p.seconds + max([longest[e.producer] for e in p.inputs], default=0.0)
    everything = sum(p.seconds for p in work.values())
    transfers = sum(len(p.inputs) + 1 for p in work.values()) * (HANDOVER + 1e-4)
    assert max(longest.values()) <= time_of(work, threads) + 1e-12
    assert time_of(work, threads) <= everything + transfers + len(work) * HANDOVER


# -- several tasks ---------------------------------------------------------------------------------

HERE, THERE = (f"/job:worker/replica:0/task:{n}/device:CPU:0" for n in (0, 1))
HOME = "/job:worker/replica:0/task:0"
HOP = 300e-6


def chains_of_two_tasks(seconds: float, **bytes_of: float) -> dict[str, Work]:
    both = (HERE, THERE)
    return step(
        Work("a", HERE, seconds, (), both),
        Work("b", HERE, seconds, (), both, **bytes_of),
        Work("end", HERE, 0.0, (Edge("a", 0, 0.0), Edge("b", 0, 0.0)), (HERE,)),
    )


def spread(work: Mapping[str, Work], threads: Any = 1) -> float:
    return finish_time(work, {**now(work), "b": THERE}, threads=threads, dear=DEAR, home=HOME)


def test_each_task_has_a_thread_of_its_own_and_is_a_message_away_in_both_directions() -> None:
    """Without a pool two devices of one task would take turns."""
    work = chains_of_two_tasks(0.01)
    assert spread(work, threads=0) == pytest.approx(0.01 + 2 * HOP)
    assert spread(work, threads=2) == pytest.approx(0.01 + HANDOVER + 2 * HOP)
    work = chains_of_two_tasks(0.01)
    here, there = {HOME: 1}, {"/job:worker/replica:0/task:1": 1}
    assert spread(work, threads=here) == pytest.approx(0.01 + 2 * HOP)
    assert spread(work, threads=there) == pytest.approx(0.01 + HANDOVER + 2 * HOP)


def test_feeds_and_fetches_of_another_task_are_sent_at_the_speed_of_a_link() -> None:
    plain = spread(chains_of_two_tasks(0.01))
    assert spread(chains_of_two_tasks(0.01, fed=1e6)) == pytest.approx(plain + 1e-3)
    fetched = spread(chains_of_two_tasks(0.01, fetched=1e7))
    assert fetched == pytest.approx(0.01 + HANDOVER + HOP + 1e-2 + HOP, rel=1e-2)


def test_work_goes_to_another_task_only_if_it_takes_longer_than_the_way() -> None:
    def moved(seconds: float) -> Any:
        return reschedule(chains_of_two_tasks(seconds), [HERE, THERE], threads=1, dear=DEAR, home=HOME)

    assert moved(200e-6) is None
    found = moved(0.01)
    assert found is not None
    assert list(found.devices.values()) == [THERE]


def test_what_a_step_feeds_and_fetches_is_known_of_its_pieces() -> None:
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [None, 25], name="x")
        made = Made(graph, [ops.exp(ops.tanh(x, name="y"), name="z")], [x])
    work = work_graph(made.parts, CostModel(), lambda node, device: [device])
    assert (work["y"].fed, work["y"].fetched) == (100, 0), "an unknown dimension counts as 1"
    assert (work["z"].fed, work["z"].fetched) == (0, 100)


T0, T1, T2 = (f"/job:worker/replica:0/task:{n}" for n in range(3))


def cpu(task: str) -> str:
    return f"{task}/device:CPU:0"


class Planned:
    """Two chains without a device, planned on the first of some tasks."""

    def __init__(self, *tasks: str, home: str = T0) -> None:
        self.devices = DeviceSet(
            [DeviceAttributes(name=cpu(t), device_type="CPU", incarnation=i + 1) for i, t in enumerate(tasks)],
            cpu(home),
        )
        graph = Graph()
        with graph.as_default():
            x = ops.placeholder("float32", [4], name="x")
            a = ops.tanh(x, name="a")
            b = ops.exp(x, name="b")
            with graph.device(home):
                end = ops.add(a, b, name="end")
        nodes = graph.as_graph_def().nodes
        self.nodes: Mapping[str, NodeDef] = {node.name: node for node in nodes}
        Placer(self.devices).place(nodes)
        step = prune(GraphView(nodes), signature([x], [end]))
        device_of = {n: cpu(home) for n in step.nodes}
        self.partitions: Sequence[Partition] = partition(step, device_of, self.devices)


def taught(**seconds: float) -> CostModel:
    model = CostModel()
    model.record(StepStats(1, [ran(name, s, 16) for name, s in seconds.items()]))
    return model


def moved_by(planned: Planned, model: CostModel, threads: Mapping[str, int], home: str = T0) -> dict[str, str]:
    moved: dict[str, Placed] = {}
    review = PlacementReview(1, model, DEAR)
    assert review.is_due(planned, 1)
    review.check(planned.nodes, planned.devices, threads, moved.update, home)
    assert review.moves == bool(moved)
    assert all(where.reason.startswith("cost model: ") for where in moved.values())
    return {name: where.device for name, where in moved.items()}


def test_a_heavy_node_moves_to_another_task() -> None:
    heavy = taught(a=0.05, b=0.05)
    moved = moved_by(Planned(T0, T1), heavy, {T0: 1, T1: 1})
    assert len(moved) == 1
    assert set(moved) < {"a", "b"}
    assert set(moved.values()) == {cpu(T1)}


def test_no_node_moves_to_a_task_whose_threads_are_unknown_because_it_is_absent() -> None:
    heavy = taught(a=0.05, b=0.05)
    assert moved_by(Planned(T0, T1), heavy, {T0: 1}) == {}
    assert set(moved_by(Planned(T0, T1, T2), heavy, {T0: 1, T2: 1}).values()) == {cpu(T2)}
    # Nodes that take less than a message stay.
    assert moved_by(Planned(T0, T1), taught(a=1e-4, b=1e-4), {T0: 1, T1: 1}) == {}


def test_the_task_that_starts_the_step_keeps_its_share_wherever_it_is_among_the_devices() -> None:
    heavy = taught(a=0.05, b=0.05)
    assert len(moved_by(Planned(T0, T1, T2, home=T2), heavy, {T0: 1, T1: 0, T2: 1}, home=T2)) == 1


@pytest.mark.parametrize(("period", "due"), [(0, []), (1, [1, 3, 7, 15]), (3, [3, 9])])
def test_checks_that_change_nothing_become_rare(period: int, due: list[int]) -> None:
    planned, found = Planned(T0), []
    review = PlacementReview(period, taught(a=1e-6), DEAR)
    for number in range(1, 20):
        if review.is_due(planned, number):
            found.append(number)
            review.check(planned.nodes, planned.devices, 1, lambda moved: None)
    assert found == due


def test_no_check_is_due_while_one_is_under_way_or_nothing_was_measured() -> None:
    planned, model = Planned(T0), CostModel()
    review = PlacementReview(2, model, DEAR)
    assert not any(review.is_due(planned, number) for number in range(1, 6))
    model.record(StepStats(1, [ran("a", 0.1, 16)]))
    assert [review.is_due(planned, number) for number in range(6, 10)] == [True, False, False, False]


def test_a_check_that_fails_is_followed_by_another() -> None:
    planned = Planned(T0, T1)
    review = PlacementReview(1, taught(a=0.05, b=0.05), DEAR)

    def refuse(moved: Mapping[str, Placed]) -> None:
        raise ValueError("no room")

    assert review.is_due(planned, 1)
    with pytest.raises(ValueError, match="no room"):
        review.check(planned.nodes, planned.devices, {T0: 1, T1: 1}, refuse, T0)
    assert review.moves == 0
    assert any(review.is_due(planned, number) for number in range(2, 6))
