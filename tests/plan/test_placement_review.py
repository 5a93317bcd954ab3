"""When a session checks its placement against its cost model, and which nodes may move where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from actorsession import Graph, NodeDef, ops
from actorsession.config import StepStats
from actorsession.extend import DeviceAttributes, DeviceSet, Partition
from actorsession.plan.cost_model import CostModel
from actorsession.plan.partition import partition
from actorsession.plan.place import Placed, Placer
from actorsession.plan.placement_review import PlacementReview
from actorsession.plan.prune import GraphView, prune
from tests.plan.kit import signature
from tests.plan.test_cost_model import ran

T0, T1, T2 = (f"/job:worker/replica:0/task:{n}" for n in range(3))
DEAR = 1e-3


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
        placer = Placer(self.devices)
        placer.place(nodes)
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
    moved = moved_by(Planned(T0, T1, T2, home=T2), heavy, {T0: 1, T1: 0, T2: 1}, home=T2)
    assert len(moved) == 1


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
