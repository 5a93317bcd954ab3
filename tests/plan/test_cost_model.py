"""What nodes and segments are expected to cost, from static types, values at hand and measurements."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Tensor, TensorShape, ops, opsets
from actorsession.config import NodeExecStats, NodeOutput, NodeStats, StepStats, TensorDescription
from actorsession.extend import OpDef, TensorSpec, register_op
from actorsession.graph.function import nodes_inside
from actorsession.graph.node import spec
from actorsession.graph.shape import ShapeLike
from actorsession.plan.codegen.segment import Segment
from actorsession.plan.cost import node_cost
from actorsession.plan.cost_model import CostModel, prime
from tests.plan.kit import CPU, Made, call, node
from tests.rows import for_each


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


def cost(op: str, *shapes: ShapeLike, inputs: int = 1) -> tuple[float, bool]:
    specs = [spec("float32", s) for s in shapes]
    return node_cost(node("n", op=op, outputs=specs[inputs:]), tuple(specs[:inputs]))


def test_a_call_on_scalars_costs_less_than_a_microsecond() -> None:
    micros, known = cost("Neg", (), ())
    assert 0 < micros < 1
    assert known
    small, _ = cost("Neg", [10], [10])
    large, _ = cost("Neg", [1000, 1000], [1000, 1000])
    assert large == pytest.approx(1000, rel=0.1), "a nanosecond per element"
    assert cost("AddV2", [], [1000, 1000], [1000, 1000], inputs=2)[0] == large
    assert small < 1
    # Empty tensors cost a call.
    assert cost("Neg", [0, 5], [0, 5]) == cost("Neg", (), ())


@pytest.mark.parametrize("shape", [None, [None, 100], [100, None]])
def test_unknown_dimensions_count_as_one_and_are_reported(shape: ShapeLike) -> None:
    micros, known = cost("Neg", shape, shape)
    assert micros < 1
    assert not known
    assert cost("AddV2", [2], shape, [2], inputs=2)[1] is False


@for_each("op", ["Const", "VarHandleOp", "ReadVariableOp", "Identity", "NoOp"])
def test_what_only_passes_things_on_costs_nothing(op: str) -> None:
    assert cost(op, [1000, 1000], None) == (0.0, True)


def test_an_op_may_know_better(registrations: None) -> None:
    """It sees unknown dimensions as 1, and those alone."""
    seen: list[tuple[list[ShapeLike], list[ShapeLike]]] = []

    def estimate(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
        seen.append(([s.shape.as_list() for s in inputs], [s.shape.as_list() for s in outputs]))
        return 7.0

    register_op(OpDef(name="Dear", infer=lambda ctx: (), kernel=lambda ctx: abs, cost=estimate))
    micros, known = cost("Dear", [None, 3], [0], None, inputs=2)
    assert 7 < micros < 8
    assert not known
    assert seen == [([[1, 3], [0]], [[]])]


def segment_of(graph: Graph, fetch: Tensor, *feeds: Tensor) -> Segment:
    return Made(graph, [fetch], feeds).linked[0].segments[0].segment


def micros(segment: Segment, *arguments: Any) -> float | None:
    assert segment.fed_cost is not None
    return segment.fed_cost.micros(arguments)


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def layers(x: Tensor, count: int = 12) -> Tensor:
    for _ in range(count):
        x = ops.tanh(x)
    return x


def test_the_cost_grows_with_the_shape_of_what_is_fed(graph: Graph) -> None:
    x = ops.placeholder("float32", [None, 4])
    segment = segment_of(graph, layers(x), x)
    assert not segment.cost_known
    small, large = micros(segment, ones(2, 4)), micros(segment, ones(1_000_000, 4))
    assert small is not None
    assert large is not None
    assert small < 1000 < large
    # A product of fed matrices costs what its shapes say.
    x, y = (ops.placeholder("float32", None) for _ in range(2))
    x.set_shape([None, None])
    y.set_shape([None, None])
    segment = segment_of(graph, layers(ops.matmul(x, y)), x, y)
    small, large = (micros(segment, ones(2, 3), ones(3, 2)), micros(segment, ones(2000, 3000), ones(3000, 2000)))
    assert small is not None
    assert large is not None
    assert small < 1000 < large
    # A shape that is fed counts as a shape.
    x, to = ops.placeholder("float32", [None]), ops.placeholder("int32", [2])
    segment = segment_of(graph, layers(ops.reshape(x, to)), x, to)
    assert micros(segment, ones(6), np.array([2, 3], np.int32)) is not None


def test_nothing_is_known_of_values_that_a_kernel_will_refuse(graph: Graph) -> None:
    x, y = (ops.placeholder("float32", [None, None]) for _ in range(2))
    segment = segment_of(graph, layers(ops.matmul(x, y)), x, y)
    assert micros(segment, ones(2, 3), ones(2, 3)) is None
    # Nothing is known where the kernel decides on the shape.
    x = ops.placeholder("float32", [None])
    segment = segment_of(graph, layers(ops.boolean_mask(x, x > 0.0)), x)
    assert micros(segment, ones(3)) is None


@pytest.mark.parametrize("case", ["known", "long", "with a loop"])
def test_segments_without_need_or_too_dear_to_look_at_have_none(graph: Graph, case: str) -> None:
    x = ops.placeholder("float32", [3] if case == "known" else [None])
    y = layers(x, 200 if case == "long" else 12)
    if case == "with a loop":
        y = ops.while_loop(lambda v: ops.reduce_sum(v) < 0.0, lambda v: v + 1.0, [y])
    assert segment_of(graph, y, x).fed_cost is None


Build = Callable[["Parts"], Any]


class Parts:
    """What loops are made of here: feeds, a variable, Python code."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.n = ops.placeholder("int32", [], name="n")
        self.x = ops.placeholder("float32", [3], name="x")
        self.y = ops.placeholder("float32", [None], name="y")
        self.text = ops.placeholder("string", [], name="text")
        self.v = ops.Variable(5, name="v")

    def python(self, *_: Any) -> Any:
        found: Any = ops.py_func(lambda: 3, [], "int32", stateful=False)
        found.set_shape([])
        return found


def count_to(limit: Any, first: Any = 0, step: Any = 1) -> Any:
    return ops.while_loop(lambda i: i < limit, lambda i: i + step, [first])


def doubling(p: Parts) -> Any:
    """Its condition reads a variable that another one decides, and that one a feed."""
    return ops.while_loop(lambda i, j, k: i < 9, lambda i, j, k: (i + j, k, k), [0, 1, p.n])


def carried(p: Parts, first: Any) -> Any:
    """Counts by constants alone and carries something that is fed."""
    return ops.while_loop(lambda i, y: i < 9, lambda i, y: (i + 1, y * 2.0), [0, first])


def triangle(limit: Any) -> Any:
    """The number of inner iterations follows the outer loop's count."""
    return ops.while_loop(lambda i, t: i < limit, lambda i, t: (i + 1, t + count_to(i)), [0, 0])


STEADY: dict[str, Build] = {
    "counts to a constant": lambda p: count_to(5),
    "counts by constants that are computed": lambda p: count_to(ops.constant(2) * 3, first=1),
    "carries what is fed": lambda p: carried(p, p.x),
    "goes on for ever": lambda p: ops.while_loop(lambda i: True, lambda i: i + p.n, [0]),
    "an inner loop counts to the outer count": lambda p: triangle(4),
    "no loop but a branch": lambda p: ops.cond(p.n > 1, lambda: p.x * 2.0, lambda: p.x),
    "a branch in a loop decides nothing of it": lambda p: ops.while_loop(
        lambda i, y: i < 4, lambda i, y: (i + 1, ops.cond(p.n > 1, lambda: y + 1.0, lambda: y)), [0, p.x]
    ),
    "a branch by a constant": lambda p: ops.cond(ops.constant(1) > 2, lambda: count_to(3), lambda: 1),
    "up to a maximum that is constant": lambda p: ops.while_loop(
        lambda i: True, lambda i: i + 1, [0], maximum_iterations=7
    ),
}


VARYING: dict[str, Build] = {
    "counts to a feed": lambda p: count_to(p.n),
    "counts from a feed": lambda p: count_to(5, first=p.n),
    "counts by a feed": lambda p: count_to(5, step=p.n),
    "a feed that comes in by way of two variables": doubling,
    "counts to a variable": lambda p: count_to(p.v),
    "counts to what Python says": lambda p: count_to(p.python()),
    "counts by what Python says": lambda p: ops.while_loop(lambda i: i < 9, lambda i: i + p.python(), [0]),
    "ends by chance": lambda p: ops.while_loop(lambda i: ops.random_uniform([]) < 0.5, lambda i: i + 1, [0]),
    "an inner loop counts to a feed": lambda p: ops.while_loop(
        lambda i, t: i < 4, lambda i, t: (i + 1, t + count_to(p.n)), [0, 0]
    ),
    "an inner loop whose outer one counts to a feed": lambda p: triangle(p.n),
    "counts to the result of a loop": lambda p: count_to(count_to(p.n)),
    "counts to what a varying loop carried": lambda p: count_to(
        ops.while_loop(lambda i, t: i < p.n, lambda i, t: (i + 1, t + 2), [0, 0])[1]
    ),
    "a loop in a branch by a feed": lambda p: ops.cond(p.n > 1, lambda: count_to(5), lambda: 1),
    "a loop deep in a branch by a feed": lambda p: ops.cond(
        p.n > 1, lambda: ops.cond(ops.constant(1) < 2, lambda: count_to(5), lambda: 2), lambda: 1
    ),
    "counts to what a branch gives": lambda p: count_to(ops.cond(p.n > 1, lambda: 5, lambda: 6)),
    "up to a maximum that is fed": lambda p: ops.while_loop(
        lambda i: True, lambda i: i + 1, [0], maximum_iterations=p.n
    ),
}


def grown(p: Parts, times: Any, by: Callable[[Any], Any]) -> Any:
    """A loop whose variable grows; its shape is not known."""
    return ops.while_loop(
        lambda i, y: i < times,
        lambda i, y: (i + 1, by(y)),
        [0, ops.identity(p.text)],
        shape_invariants=[TensorShape([]), TensorShape(None)],
    )


SIZED_ALIKE: dict[str, Build] = {
    "a fill of constant size": lambda p: ops.fill([3, 4], p.x[0]),
    "a fill of a size that is computed of constants": lambda p: ops.fill(ops.unique(ops.constant([2, 2]))[0], 1.0),
    "a fill as large as what is fed": lambda p: ops.zeros(ops.shape(p.y)),
    "as many numbers as there are elements": lambda p: ops.range(ops.size(p.y) * 2),
    "a range in a loop that counts to a constant": lambda p: ops.while_loop(
        lambda i, t: i < 4, lambda i, t: (i + 1, t + ops.reduce_sum(ops.range(i))), [0, 0]
    ),
    "rows of a one-hot matrix": lambda p: ops.one_hot(p.n, 5),
    "strings that double as often each time": lambda p: grown(p, 5, lambda y: opsets.string_join([y, y])),
}


SIZED: dict[str, Build] = {
    "a fill": lambda p: ops.fill(ops.stack([p.n]), 1.0),
    "a fill as large as a variable says": lambda p: ops.zeros(ops.stack([p.v.value()])),
    "a range": lambda p: ops.range(p.n),
    "a range in a branch": lambda p: ops.cond(
        ops.reduce_any(p.x > 0), lambda: ops.reduce_sum(ops.range(p.n)), lambda: 0
    ),
    "a range in a loop that counts to a constant": lambda p: ops.while_loop(
        lambda i, t: i < 4, lambda i, t: (i + 1, t + ops.reduce_sum(ops.range(p.n))), [0, 0]
    ),
    "tiles": lambda p: ops.tile(p.x, ops.stack([p.n])),
    "columns of a one-hot matrix": lambda p: ops.one_hot([1], p.n),
    "random numbers": lambda p: ops.random_uniform(ops.stack([p.n])),
    "segments by their numbers": lambda p: ops.segment_sum(p.x, ops.stack([0, 1, p.n])),
    "a pattern on a text": lambda p: opsets.regex_replace(p.text, "a", "b"),
    "margins by the elements of a shape and a feed": lambda p: ops.pad(p.x, [[0, ops.size(p.y) * p.n]]),
}


@pytest.fixture
def parts() -> Iterator[Parts]:
    with Graph().as_default() as graph:
        yield Parts(graph)


def is_steady(parts: Parts, fetch: Any, *, fed: Any = ()) -> bool:
    fetches = fetch if isinstance(fetch, list) else [fetch]
    (part,) = Made(parts.graph, fetches, [parts.n, parts.x, parts.y, parts.text, *fed]).linked
    (segment,) = part.compiled.segments
    return segment.is_steady


@for_each("build", [*STEADY.values(), *SIZED_ALIKE.values()])
def test_what_constants_and_shapes_settle_takes_as_long_every_time(parts: Parts, build: Build) -> None:
    assert is_steady(parts, build(parts))


@for_each("build", [*VARYING.values(), *SIZED.values()])
def test_what_a_value_decides_may_take_longer_next_time(parts: Parts, build: Build) -> None:
    assert not is_steady(parts, build(parts))


def test_a_constant_that_is_fed_is_none(parts: Parts) -> None:
    limit = ops.constant(5)
    loop = count_to(limit)
    assert is_steady(parts, loop)
    assert not is_steady(parts, loop, fed=[limit])

    # A branch that is far dearer than its other says nothing of it.
    def dear() -> Any:
        y = call(parts.graph, lambda x: x, parts.x, op="KitDear").outputs[0]
        return call(parts.graph, lambda x: x, y, op="KitDear").outputs[0]

    assert not is_steady(parts, ops.cond(parts.n > 1, dear, lambda: parts.x))
    assert is_steady(parts, ops.cond(parts.n > 1, dear, dear))


def test_loops_inside_one_another_are_looked_at_once(parts: Parts) -> None:
    """A pass that went through an inner loop again for each change of an outer one would never end."""

    def nested(depth: int, values: tuple[Any, ...]) -> tuple[Any, ...]:
        if not depth:
            return (*values[1:], values[0] + 1)
        found: tuple[Any, ...] = ops.while_loop(lambda *v: v[0] < 1, lambda *v: nested(depth - 1, v), values)
        return found

    assert is_steady(parts, nested(14, tuple([0] * 8))[0])
