"""What nodes were measured to cost: averages over the recorded steps, and plans that start from them."""

from __future__ import annotations

import threading

import pytest

from actorsession import Graph, ops
from actorsession.config import NodeExecStats, NodeOutput, NodeStats, StepStats, TensorDescription
from actorsession.graph.function import nodes_inside
from actorsession.plan.cost_model import CostModel, prime
from tests.plan.kit import CPU, Made, call


def ran(name: str, seconds: float, *sizes: int) -> NodeStats:
    """A node that ran for so long and made outputs of so many bytes."""
    output = tuple(NodeOutput(i, TensorDescription("float32", (size // 4,), size)) for i, size in enumerate(sizes))
    nanos = round(seconds * 1e9)
    detail = NodeExecStats(
        node_name=name, all_start_nanos=10**9, op_end_rel_nanos=nanos, all_end_rel_nanos=nanos + 5000, output=output
    )
    return NodeStats(CPU[0], name, "Op", 1.0, 1.0 + seconds, "main", sum(sizes), detail)


def recorded(*steps: list[NodeStats]) -> CostModel:
    model = CostModel()
    for number, nodes in enumerate(steps):
        model.record(StepStats(number, nodes))
    return model


def test_the_first_step_counts_as_it_is() -> None:
    cost = recorded([ran("a", 0.25, 400, 8)]).cost("a")
    assert cost is not None
    assert (cost.steps, cost.runs) == (1, 1)
    assert cost.seconds == cost.most_seconds == pytest.approx(0.25)
    assert (cost.output_bytes, cost.shapes) == ((400, 8), ((100,), (2,)))
    # Later steps move the averages by a quarter.
    cost = recorded([ran("a", 0.4, 400)], [ran("a", 0.8, 800)]).cost("a")
    assert cost is not None
    assert cost.seconds == pytest.approx(0.5)
    assert cost.most_seconds == pytest.approx(0.8)
    assert list(cost.output_bytes) == [500]
    assert cost.shapes == ((200,),), "as last seen"
    # A node that runs several times in a step counts with the sum.
    cost = recorded([ran("body", 0.1), ran("body", 0.2), ran("once", 0.1)]).cost("body")
    assert cost is not None
    assert (cost.steps, cost.runs) == (1, 2)
    assert cost.seconds == pytest.approx(0.3)
    # What never ran is unknown.
    model = recorded([ran("a", 0.1, 4)])
    assert model.cost("b") is None
    assert model.output_bytes("b", 0) is None
    assert model.output_bytes("a", 1) is None
    assert model.output_bytes("a", -1) is None, "a control edge carries no bytes"
    assert (len(model), model.steps) == (1, 1)


def test_statistics_without_details_give_times_alone() -> None:
    model = recorded([NodeStats(CPU[0], "a", "Op", 1.0, 1.5, "main", 8)])
    cost = model.cost("a")
    assert cost is not None
    assert cost.seconds == pytest.approx(0.5)
    assert model.output_bytes("a", 0) is None


def test_steps_may_be_recorded_from_many_threads() -> None:
    model = CostModel()

    def record() -> None:
        for _ in range(50):
            model.record(StepStats(1, [ran("a", 0.5)]))

    threads = [threading.Thread(target=record) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cost = model.cost("a")
    assert cost is not None
    assert (model.steps, cost.steps, cost.runs) == (200, 200, 200)
    assert cost.seconds == pytest.approx(0.5)


def test_a_loop_counts_with_what_is_inside() -> None:
    graph = Graph()
    with graph.as_default():
        start = ops.constant(0.0, name="start")
        end = ops.while_loop(
            lambda v: ops.less(v, 3.0, name="test"), lambda v: (ops.add(v, 1.0, name="turn"),), [start]
        )
    (loop,) = [op.plain for op in graph.get_operations() if op.type == "While"]
    inside = [inner.name for inner, _ in nodes_inside(loop)]
    turn = next(name for name in inside if name.endswith("turn"))
    model = recorded([ran(turn, 0.25), ran(turn, 0.5)], [ran(turn, 0.25), ran("other", 0.5)])
    assert model.node_seconds(loop) == pytest.approx((0.625, 0.75))
    assert recorded([ran("other", 1.0)]).node_seconds(loop) is None
    made = Made(graph, [end])
    prime(made.linked, model)
    assert made.linked[0].segments[0].seconds == pytest.approx(0.625, abs=1e-3)
    unmeasured = Made(graph, [end])
    prime(unmeasured.linked, recorded([ran("other", 1.0)]))
    assert unmeasured.linked[0].segments[0].seconds == 0.0


# -- plans start from measured times ---------------------------------------------------------------


def test_a_new_segment_starts_from_what_its_nodes_were_measured_to_take() -> None:
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [2], name="x")
        end = ops.exp(ops.tanh(x, name="a"), name="b")
    made = Made(graph, [end], [x])
    prime(made.linked, recorded([ran("a", 0.25), ran("b", 0.5)]))
    (segment,) = made.linked[0].segments
    assert segment.seconds == pytest.approx(0.75)


def test_a_segment_keeps_its_estimate_where_nothing_better_is_known() -> None:
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [2], name="x")
        dear = call(graph, lambda value: value, ops.tanh(x, name="a"), op="KitDear", shapes=([2],))
    made = Made(graph, [dear.outputs[0]], [x])
    prime(made.linked, recorded([ran("a", 0.25)]))
    assert made.linked[0].segments[0].seconds == pytest.approx(0.251, abs=1e-4)
    # A segment with a node of unknown cost keeps its estimate.
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [None], name="x")
        end = ops.exp(ops.tanh(x, name="a"), name="b")
    made = Made(graph, [end], [x])
    prime(made.linked, recorded([ran("a", 0.25)]))
    assert made.linked[0].segments[0].seconds == 0.0
    # A segment of which nothing was measured keeps its estimate.
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [2], name="x")
        end = ops.tanh(x, name="a")
    made = Made(graph, [end], [x])
    prime(made.linked, recorded([ran("other", 0.25)]))
    assert made.linked[0].segments[0].seconds == 0.0
    # A segment that ran keeps its own measurement.
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [2], name="x")
        end = ops.tanh(x, name="a")
    made = Made(graph, [end], [x])
    made.linked[0].segments[0].seconds = 0.125
    prime(made.linked, recorded([ran("a", 0.25)]))
    assert made.linked[0].segments[0].seconds == 0.125
