"""Gradients of random programs of nested loops and branches equal finite differences, wherever they run.

A program works on three numbers and a vector. Values are kept small by sines, and every choice is by counters
that no value decides, so that what is differentiated is smooth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import actorsession as acts
from actorsession import ConfigProto, Graph, LocalCluster, Session, ops
from tests.property.conftest import TASKS

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

    def __init__(self, captured: Any, devices: Sequence[str]) -> None:
        self.captured = captured
        self.devices = devices
        self.depth = 0
        self.count: Any = None

    def run(self, program: Program, state: State) -> State:
        for k, (kind, *args) in enumerate(program):
            where = None if self.depth else self.devices[k % len(self.devices)]
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
            ops.equal(ops.floormod(self.count, 3), which), lambda: self.run(then, s), lambda: self.run(other, s)
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


class Question:
    """A program as a graph: the sum of its last state, and the gradients of that.

    Args:
        program: the program.
        devices: where its statements go.
    """

    def __init__(self, program: Program, devices: Sequence[str]) -> None:
        self.graph = Graph()
        with self.graph.as_default():
            self.feeds = [ops.placeholder("float64", np.shape(v)) for v in (*START, START[3])]
            builder = Builder(self.feeds[4], devices)
            builder.count = ops.placeholder_with_default(np.int32(0), [])
            last = builder.run(program, self.feeds[:4])
            self.total = ops.add_n([ops.reduce_sum(v) for v in last])
            found = ops.gradients(self.total, self.feeds, unconnected_gradients="zero")
            # slices as the whole they stand for
            self.gradients = [ops.convert_to_tensor(g) for g in found]

    def fed(self) -> dict[Any, Any]:
        return dict(zip(self.feeds, [*START, START[3] + 0.1], strict=True))

    def answer(self, session: Session) -> tuple[Any, list[Any]]:
        """The sum and its gradients."""
        alone = session.run(self.total, self.fed())
        value, *gradients = session.run([self.total, *self.gradients], self.fed())
        assert value == alone
        return value, gradients

    def differences(self, session: Session) -> list[Any]:
        """What finite differences say of the gradients."""
        fed = self.fed()
        return [
            _differences(lambda v, f=feed: session.run(self.total, {**fed, f: v}), fed[feed]) for feed in self.feeds
        ]


def answer_here(program: Program, count: int) -> tuple[Any, list[Any]]:
    """The sum of a program and its gradients, on so many devices of this process."""
    question = Question(program, [f"/cpu:{k}" for k in range(count)])
    with Session(graph=question.graph, config=ConfigProto(device_count={"CPU": count})) as session:
        return question.answer(session)


def assert_same(one: tuple[Any, list[Any]], other: tuple[Any, list[Any]]) -> None:
    assert one[0] == other[0]
    for found, wanted in zip(one[1], other[1], strict=True):
        np.testing.assert_array_equal(found, wanted)


def _differences(function: Any, at: Any) -> Any:
    out = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[index] = STEP
        out[index] = (function(at + step) - function(at - step)) / (2 * STEP)
    return out


# A branch inside another is the first whose gradient needs a value that the outer one needs as well.
NESTED: Program = [
    ("if", 0, [("sine", 0, 0)], [
        ("times", 3, 0, 0), ("times", 0, 3, 0), ("times", 0, 0, 0),
        ("if", 0, [("sine", 0, 0)], [("times", 0, 0, 0), ("times", 0, 0, 3)]),
    ]),
]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(programs(3))
@example(NESTED)
def test_gradients_of_programs_equal_finite_differences_on_one_device_and_three(program: Program) -> None:
    question = Question(program, ["/cpu:0"])
    with Session(graph=question.graph) as session:
        answer = question.answer(session)
        differences = question.differences(session)
    for found, wanted in zip(answer[1], differences, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    assert_same(answer_here(program, 3), answer)


@pytest.mark.process
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(programs(2))
def test_gradients_of_programs_are_the_same_on_two_processes(processes: LocalCluster, program: Program) -> None:
    question = Question(program, TASKS)
    with Session(processes.target("worker", 0), graph=question.graph) as session:
        answer = question.answer(session)
    assert_same(answer, answer_here(program, 1))
