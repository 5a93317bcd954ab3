"""Gradients of random programs of nested loops and branches equal finite differences, on any devices.

A program works on three numbers and a vector. Values are kept small by sines, and every choice is by counters
that no value decides, so that what is differentiated is smooth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import actorsession as acts
from actorsession import ops
from actorsession.config import ConfigProto
from actorsession.graph.graph import Graph
from actorsession.session import Session

PLACES = st.integers(0, 3)
Program = list[tuple[Any, ...]]
State = list[Any]
STEP = 1e-5
START = [np.array(0.3), np.array(-0.7), np.array(1.1), np.array([0.2, -0.4, 0.9])]


def programs(depth: int) -> st.SearchStrategy[Program]:
    statements: list[st.SearchStrategy[Any]] = [
        st.tuples(st.just("times"), PLACES, PLACES, PLACES),
        st.tuples(st.just("plus"), PLACES, PLACES, PLACES),
        st.tuples(st.just("sine"), PLACES, PLACES),
        st.tuples(st.just("swap"), PLACES, PLACES),
        st.tuples(st.just("lookup"), PLACES, st.integers(0, 2)),
        st.tuples(st.just("stop"), PLACES),
        st.tuples(st.just("number"), PLACES, st.floats(-1, 1).map(lambda x: round(x, 2))),
    ]
    if depth:
        inner = programs(depth - 1)
        statements += [
            st.tuples(st.just("if"), st.integers(0, 2), inner, inner),
            st.tuples(st.just("loop"), st.integers(0, 3), inner, st.booleans()),
        ]
    return st.lists(st.one_of(statements), min_size=1, max_size=4)


class Builder:
    """Builds a program.

    Args:
        captured: a vector that every place may read, whose gradient is wanted as well.
        devices: where statements outside loops and branches go, in turn.
    """

    def __init__(self, captured: Any, devices: int) -> None:
        self.captured = captured
        self.devices = devices
        self.depth = 0
        self.count: Any = None

    def run(self, program: Program, state: State) -> State:
        for k, (kind, *args) in enumerate(program):
            where = None if self.depth else f"/cpu:{k % self.devices}"
            with acts.device(where):
                state = getattr(self, f"on_{kind}")(state, *args)
        return state

    def on_times(self, s: State, to: int, a: int, b: int) -> State:
        return replaced(s, to, ops.sin(s[a] * s[b] + 0.5))

    def on_plus(self, s: State, to: int, a: int, b: int) -> State:
        return replaced(s, to, s[a] + 0.5 * s[b])

    def on_sine(self, s: State, to: int, a: int) -> State:
        return replaced(s, to, ops.sin(s[a]))

    def on_swap(self, s: State, a: int, b: int) -> State:
        return replaced(replaced(s, a, s[b]), b, s[a])

    def on_lookup(self, s: State, to: int, index: int) -> State:
        return replaced(s, to, s[to] * ops.gather(self.captured, index))

    def on_stop(self, s: State, a: int) -> State:
        return replaced(s, a, s[a] + 0.0 * ops.stop_gradient(s[a]))

    def on_number(self, s: State, to: int, value: float) -> State:
        return replaced(s, to, np.float64(value))

    def on_if(self, s: State, which: int, then: Program, other: Program) -> State:
        self.depth += 1
        found: State = ops.cond(
            ops.equal(ops.floormod(self.count, 3), which),
            lambda: self.run(then, s),
            lambda: self.run(other, s),
        )
        self.depth -= 1
        return found

    def on_loop(self, s: State, times: int, body: Program, bounded: bool) -> State:
        outer = self.count

        def turn(i: Any, inner: State) -> Any:
            self.count = i + outer
            return i + 1, self.run(body, inner)

        self.depth += 1
        most = 2 if bounded else None
        _, found = ops.while_loop(lambda i, _: i < times, turn, (0, s), maximum_iterations=most)
        self.depth -= 1
        self.count = outer
        result: State = found
        return result


def replaced(state: State, index: int, value: Any) -> State:
    """The state with another value at a place, made as long as what stands there."""
    shape = [3] if index == 3 else []
    value = ops.convert_to_tensor(value)
    if value.shape.rank == 1 and not shape:
        value = ops.reduce_mean(value)
    if value.shape.rank == 0 and shape:
        value = ops.fill(shape, value)
    return [*state[:index], value, *state[index + 1 :]]


def value_and_gradients(program: Program, devices: int) -> tuple[Any, list[Any], list[Any]]:
    """The sum of the last state, its gradients, and what finite differences say of them."""
    with Graph().as_default():
        feeds = [ops.placeholder("float64", np.shape(v)) for v in (*START, START[3])]
        builder = Builder(feeds[4], devices)
        builder.count = ops.placeholder_with_default(np.int32(0), [])
        last = builder.run(program, feeds[:4])
        total = ops.add_n([ops.reduce_sum(v) for v in last])
        found = ops.gradients(total, feeds, unconnected_gradients="zero")
        found = [ops.convert_to_tensor(g) for g in found]  # slices as the whole they stand for
        with Session(config=ConfigProto(device_count={"CPU": devices})) as session:
            values = [*START, START[3] + 0.1]
            fed = dict(zip(feeds, values, strict=True))
            alone = session.run(total, fed)
            value, *gradients = session.run([total, *found], fed)
            assert value == alone
            differences = [
                _differences(lambda v, f=feed: session.run(total, {**fed, f: v}), fed[feed])
                for feed in feeds
            ]
    return value, gradients, differences


def _differences(function: Any, at: Any) -> Any:
    out = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[index] = STEP
        out[index] = (function(at + step) - function(at - step)) / (2 * STEP)
    return out


@settings(max_examples=40, deadline=None)
@given(programs(3))
def test_gradients_of_programs_equal_finite_differences_on_one_device_and_three(
    program: Program,
) -> None:
    value, gradients, differences = value_and_gradients(program, 1)
    for found, wanted in zip(gradients, differences, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    elsewhere, others, _ = value_and_gradients(program, 3)
    assert elsewhere == value
    for found, other in zip(gradients, others, strict=True):
        np.testing.assert_array_equal(found, other)
