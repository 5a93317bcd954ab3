"""Gradients through loops of single operations, for which a ``While`` stands in."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.errors import InvalidArgumentError
from actorsession.ops.flow import dataflow
from tests.interop.kit import stored
from tests.nodes import make
from tests.ops.raw_control import raw_cond, raw_while
from tests.rows import for_each, refused

Values = Sequence[acts.Tensor]
Built = Callable[[int, Values], list[acts.Tensor]]


@pytest.fixture(params=[1, 2], ids=["one device", "two devices"])
def session(request: pytest.FixtureRequest) -> Iterator[acts.Session]:
    with acts.Session(config=acts.ConfigProto(device_count={"CPU": request.param})) as made:
        yield made


def powers(x: acts.Tensor, w: acts.Tensor, n: acts.Tensor, name: str = "raw_while") -> list[acts.Tensor]:
    """How often it went round, and ``x`` times ``w`` to the power of that."""
    return raw_while(
        lambda v, c: v[0] < c[0], lambda v, c: [v[0] + 1, v[1] * c[1]], [acts.constant(0), x], [n, w], name=name
    )


def given() -> tuple[acts.Tensor, acts.Tensor, acts.Tensor]:
    return (acts.placeholder("float32", []), acts.placeholder("float32", []), acts.placeholder("int32", []))


def test_the_gradient_of_a_loop_is_that_of_what_it_computes(session: acts.Session) -> None:
    x, w, n = given()
    count, y = powers(x, w, n)
    slopes = acts.gradients(y, [x, w])
    for k in range(4):
        found = session.run([count, y, *slopes], {x: 3.0, w: 2.0, n: k})
        assert [float(v) for v in found] == [k, 3 * 2**k, 2**k, 3 * k * 2 ** max(k - 1, 0)]


def test_several_gradients_of_a_loop_share_what_stands_in_for_it(graph: acts.Graph) -> None:
    x, w, n = given()
    _, y = powers(x, w, n)
    (first,) = acts.gradients(y, x)
    (second,) = acts.gradients(y * y, w)
    standing = [op for op in graph.get_operations() if op.attrs.get("_stands_for")]
    assert (len(standing), standing[0].attrs["_stands_for"]) == (1, ("0:raw_while/Exit", "1:raw_while/Exit_1"))
    with acts.Session() as session:
        assert session.run([first, second], {x: 3.0, w: 2.0, n: 2}) == [4.0, 2 * 12 * 12]


def test_second_derivatives_go_through_it_too(session: acts.Session) -> None:
    x, w, n = given()
    (slope,) = acts.gradients(powers(x, w, n)[1], w)
    (curve,) = acts.gradients(slope, w)
    assert session.run([slope, curve], {x: 3.0, w: 2.0, n: 3}) == [36.0, 36.0]


def test_loops_in_a_row_and_within_each_other_pass_it_on(session: acts.Session) -> None:
    x, w, n = given()

    def body(values: Values, constants: Values) -> list[acts.Tensor]:
        return [values[0] + 1, powers(values[1], constants[1], values[0], "inner")[1]]

    start = [acts.constant(0), powers(x, w, n)[1]]
    _, y = raw_while(lambda v, c: v[0] < c[0], body, start, [n, w], name="outer")
    slopes = acts.gradients(y, [x, w])
    # w to the power of n + 0 + 1 + ... + n - 1
    assert session.run([y, *slopes], {x: 3.0, w: 2.0, n: 3}) == [192.0, 64.0, 6 * 3 * 32]


def test_a_loop_on_a_way_not_taken_gives_zeros(session: acts.Session) -> None:
    x, w, n = given()
    taken = acts.placeholder("bool", [])
    (y,) = raw_cond(taken, lambda v: [powers(v[0], v[1], v[2])[1]], lambda v: [v[0] * 5.0], [x, w, n])
    slopes = acts.gradients(y, [x, w])
    feeds = {x: 3.0, w: 2.0, n: 2}
    assert session.run(slopes, {**feeds, taken: True}) == [4.0, 12.0]
    assert session.run(slopes, {**feeds, taken: False}) == [5.0, 0.0]


def test_a_variable_read_in_each_iteration_has_a_gradient(session: acts.Session) -> None:
    weight, n = acts.Variable(2.0), acts.placeholder("int32", [])
    attrs = weight.read_value().op.inputs[0].op.attrs
    read = next(op for op in n.graph.get_operations() if op.type == "ReadVariableOp").attrs
    assert attrs
    _, y = raw_while(
        lambda v, c: v[0] < c[0],
        lambda v, c: [v[0] + 1, v[1] * make("ReadVariableOp", [c[1]], read).outputs[0]],
        [acts.constant(0), acts.constant(3.0)],
        [n, weight.handle],
    )
    (slope,) = acts.gradients(y, weight)
    session.run(weight.initializer)
    assert session.run(slope, {n: 3}) == 36.0


def counting(total: acts.Variable, x: acts.Tensor) -> tuple[acts.Tensor, acts.Tensor]:
    """A loop of three iterations that counts them in a variable; its result, and a tensor inside."""
    inside: list[acts.Tensor] = []

    def body(values: Values, constants: Values) -> list[acts.Tensor]:
        attrs = {"dtype": total.dtype}
        added = make("AssignAddVariableOp", [constants[0], acts.constant(1)], attrs)
        with acts.control_dependencies([added]):
            inside.append(values[1] * values[1])
        return [values[0] + 1, inside[0]]

    start = [acts.constant(0), x]
    result = raw_while(lambda v, _: v[0] < 3, body, start, [total.handle])[1]
    return result, inside[0]


def test_state_is_changed_once_by_a_step_that_wants_result_and_gradient(session: acts.Session) -> None:
    total, x = acts.Variable(0), acts.placeholder("float32", [])
    y, _ = counting(total, x)
    (slope,) = acts.gradients(y, x)
    session.run(total.initializer)
    assert (session.run([y, slope], {x: 2.0}), session.run(total)) == ([256.0, 8 * 2.0**7], 3)


def test_a_step_that_would_change_state_twice_is_refused(session: acts.Session) -> None:
    total, x = acts.Variable(0), acts.placeholder("float32", [])
    y, inside = counting(total, x)
    (slope,) = acts.gradients(y, x)
    session.run(total.initializer)
    refused(lambda: session.run([slope, inside.op], {x: 2.0}), InvalidArgumentError, r"would run twice.*two steps")
    assert (session.run([slope], {x: 2.0}), session.run(total)) == ([1024.0], 3)


def test_a_loop_that_is_not_differentiated_is_left_alone(graph: acts.Graph) -> None:
    x, _, n = given()
    count, _ = powers(acts.constant(1.0), acts.constant(2.0), n)
    y = x * acts.cast(count, "float32")
    (slope,) = acts.gradients(y, x)
    assert graph.stand_ins == {}
    with acts.Session() as session:
        assert session.run(slope, {x: 1.0, n: 3}) == 3.0


def test_the_way_back_through_an_odd_loop_is_refused_only_where_it_is_needed() -> None:
    x, w, n = given()
    odd = dataflow.exit_(dataflow.enter(w, "odd"))
    _, y = powers(x, w, n)
    assert len(acts.gradients(y * odd, [x])) == 1
    refused(lambda: acts.gradients(y * odd, [w]), LookupError, "'Exit'")


def test_a_partial_run_can_ask_for_it(session: acts.Session) -> None:
    x, w, n = given()
    _, y = powers(x, w, n)
    (slope,) = acts.gradients(y, w)
    handle = session.partial_run_setup([y, slope], [x, w, n])
    assert session.partial_run(handle, [y, slope], {x: 3.0, w: 2.0, n: 2}) == [12.0, 12.0]


def test_it_is_what_tensorflow_built_for_a_recurrent_network(graph: acts.Graph) -> None:
    """A frozen graph with the loop back that TensorFlow made: arrays and all."""
    message, feeds, _ = stored("recurrent")
    acts.import_graph_def(message, name="")
    x, states = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("states:0")
    weights = graph.get_operation_by_name("weights").outputs[0]
    slopes = acts.gradients(acts.reduce_sum(states**2.0), [x, weights])
    with acts.Session() as session:
        found = session.run(slopes, feeds)
        expected = session.run(["slope:0", "weight_slope:0"], feeds)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


# -- random programs -------------------------------------------------------------------------------


def loop(raw: bool, times: acts.Tensor, body: Built, values: Values) -> list[acts.Tensor]:
    """A loop of either kind over some values."""
    if raw:
        start = [times * 0, *values]
        made = raw_while(lambda v, c: v[0] < c[0], lambda v, _: [v[0] + 1, *body(1, v[1:])], start, [times])
        return made[1:]
    first: list[Any] = [times * 0, *values]
    found: Any = acts.while_loop(lambda i, *v: i < times, lambda i, *v: (i + 1, *body(0, v)), first)
    return list(found[1:])


def branch(raw: bool, taken: acts.Tensor, yes: Built, no: Built, values: Values) -> list[acts.Tensor]:
    if raw:
        return raw_cond(taken, lambda v: yes(1, v), lambda v: no(1, v), values)
    return list(acts.cond(taken, lambda: yes(0, values), lambda: no(0, values)))


def program(draw: random.Random, depth: int) -> Built:
    """Smooth statements over three values, built as often and in whichever way is asked."""
    steps: list[Built] = []
    for _ in range(draw.randint(1, 3)):
        kind = draw.choice(["tanh", "mix", "loop", "branch"] if depth else ["tanh", "mix"])
        to, one, other = (draw.randrange(3) for _ in range(3))
        inner = [program(draw, depth - 1) for _ in range(2)] if kind in ("loop", "branch") else []
        steps.append(_step(kind, to, one, other, draw.randint(0, 3), inner))

    def build(raw: int, values: Values) -> list[acts.Tensor]:
        for step in steps:
            values = step(raw, values)
        return list(values)

    return build


def _step(kind: str, to: int, one: int, other: int, times: int, inner: list[Built]) -> Built:
    def build(raw: int, values: Values) -> list[acts.Tensor]:
        values = list(values)
        if kind == "tanh":
            values[to] = acts.tanh(values[one] * 1.5)
        elif kind == "mix":
            values[to] = values[one] * values[other] + 0.5 * values[to]
        elif kind == "loop":
            count = acts.cast(acts.abs(values[one]) * 1.9, "int32") + times
            values = loop(bool(raw), count, inner[0], values)
        else:
            values = branch(bool(raw), values[one] < values[other], inner[0], inner[1], values)
        return values

    return build


@for_each("seed", range(20))
def test_random_programs_have_the_gradient_of_the_same_built_by_while_loop_and_cond(seed: int) -> None:
    draw = random.Random(seed)
    build = program(draw, 2)
    fed = [acts.placeholder("float64", []) for _ in range(3)]
    sides = []
    for raw in (1, 0):
        values = build(raw, fed)
        y = values[0] + 2.0 * values[1] - values[2]
        sides.append([y, *acts.gradients(y, fed, unconnected_gradients="zero")])
    with acts.Session() as session:
        for _ in range(3):
            feeds = {tensor: draw.uniform(-1, 1) for tensor in fed}
            raw_side, expected = session.run(sides, feeds)
            np.testing.assert_allclose(raw_side, expected, rtol=1e-10, atol=1e-12)
            slopes = [_slope(session, sides[0][0], feeds, tensor) for tensor in fed]
            np.testing.assert_allclose(raw_side[1:], slopes, rtol=1e-4, atol=1e-6)


def _slope(session: acts.Session, y: acts.Tensor, feeds: dict[acts.Tensor, float], by: acts.Tensor) -> float:
    """The difference quotient of a result."""
    step = 1e-6
    more, less = (session.run(y, {**feeds, by: feeds[by] + d}) for d in (step, -step))
    return float(more - less) / (2 * step)
