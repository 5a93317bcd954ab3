"""Random programs of nested loops and branches, as graphs and as plain Python, give the same."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import actorsession as acts
from actorsession import ConfigProto, Graph, LocalCluster, Session, ops
from tests.property.conftest import TASKS

# Values stay below it, so that nothing overflows.
MODULUS = 97
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
SCALARS = st.integers(0, 2)  # numbers of the scalars of the state; its fourth value is a vector

# A program is a list of statements; a statement a tuple that begins with its kind.
Program = list[tuple[Any, ...]]


def programs(depth: int) -> st.SearchStrategy[Program]:
    statements: list[st.SearchStrategy[Any]] = [
        st.tuples(st.just("set"), SCALARS, st.sampled_from("+-*"), SCALARS, SCALARS),
        st.tuples(st.just("vector"), st.sampled_from("+-*"), SCALARS),
        st.tuples(st.just("swap"), SCALARS, SCALARS),
        st.tuples(st.just("count"), SCALARS, SCALARS),
    ]
    if depth:
        inner = programs(depth - 1)
        statements += [
            st.tuples(st.just("if"), SCALARS, SCALARS, inner, inner),
            st.tuples(st.just("loop"), st.integers(0, 3), inner),
        ]
    return st.lists(st.one_of(statements), min_size=1, max_size=4)


class InPython:
    """Runs a program as it stands."""

    def __init__(self) -> None:
        self.counted = 0

    def run(self, program: Program, state: list[Any]) -> list[Any]:
        for kind, *args in program:
            state = getattr(self, kind if kind != "if" else "branch")(state, *args)
        return state

    def set(self, s: list[Any], to: int, op: str, a: int, b: int) -> list[Any]:
        return replaced(s, to, OPERATORS[op](s[a], s[b]) % MODULUS)

    def vector(self, s: list[Any], op: str, a: int) -> list[Any]:
        return replaced(s, 3, OPERATORS[op](s[3], s[a]) % MODULUS)

    def swap(self, s: list[Any], a: int, b: int) -> list[Any]:
        return replaced(replaced(s, a, s[b]), b, s[a])

    def count(self, s: list[Any], to: int, a: int) -> list[Any]:
        self.counted += s[a]
        return replaced(s, to, self.counted % MODULUS)

    def branch(self, s: list[Any], a: int, b: int, then: Program, other: Program) -> list[Any]:
        return self.run(then if s[a] < s[b] else other, s)

    def loop(self, s: list[Any], times: int, body: Program) -> list[Any]:
        for _ in range(times):
            s = self.run(body, s)
        return s


class InGraph(InPython):
    """Builds a program; what counts is kept in order by control dependencies.

    Args:
        places: devices that the outermost statements take turns in asking for; nodes that use the variable
            run where that is.
    """

    def __init__(self, places: Sequence[str | None] = (None,)) -> None:
        super().__init__()
        with acts.device(places[0]):
            self.total = ops.Variable(0, name="total")
        self.last: Any = None
        self.depth = 0
        self.places = places

    def run(self, program: Program, state: list[Any]) -> list[Any]:
        self.depth += 1
        try:
            return self.built(program, state)
        finally:
            self.depth -= 1

    def place(self, number: int) -> contextlib.AbstractContextManager[Any]:
        if self.depth > 1:
            return contextlib.nullcontext()
        return acts.device(self.places[number % len(self.places)])

    def built(self, program: Program, state: list[Any]) -> list[Any]:
        outer, self.last = self.last, None
        for number, statement in enumerate(program):
            with self.after_last(), self.place(number):
                state = super().run([statement], state)
            if statement[0] in ("if", "loop"):
                self.last = state[0].op
        with self.after_last():
            state = replaced(state, 0, ops.identity(state[0]))
        self.last = outer
        return state

    def after_last(self) -> contextlib.AbstractContextManager[Any]:
        before = [] if self.last is None else [self.last]
        return acts.control_dependencies(before)

    def count(self, s: list[Any], to: int, a: int) -> list[Any]:
        read = self.total.assign_add(s[a])
        self.last = read.op
        return replaced(s, to, read % MODULUS)

    def branch(self, s: list[Any], a: int, b: int, then: Program, other: Program) -> list[Any]:
        found: list[Any] = ops.cond(s[a] < s[b], lambda: self.run(then, s), lambda: self.run(other, s))
        return found

    def loop(self, s: list[Any], times: int, body: Program) -> list[Any]:
        def turn(i: Any, inner: list[Any]) -> Any:
            return i + 1, self.run(body, inner)

        _, found = ops.while_loop(lambda i, _: i < times, turn, (0, s))
        result: list[Any] = found
        return result


def replaced(state: list[Any], index: int, value: Any) -> list[Any]:
    return [*state[:index], value, *state[index + 1 :]]


def check(program: Program, first: tuple[int, ...], places: Sequence[str], session: Session) -> None:
    """The whole state and the variable, with statements in several places."""
    python = InPython()
    start: list[Any] = [*first, np.arange(3, dtype=np.int32)]
    wanted = python.run(program, start)
    with session.graph.as_default():
        feeds = [ops.placeholder("int32", [] if k < 3 else [3]) for k in range(4)]
        graph = InGraph(places)
        result = graph.run(program, list(feeds))
    session.run(graph.total.initializer)
    values = session.run(result, dict(zip(feeds, start, strict=True)))
    assert [np.asarray(v).tolist() for v in values] == [np.asarray(v).tolist() for v in wanted]
    assert session.run(graph.total) == python.counted


@settings(max_examples=40, deadline=None)
@given(programs(2), st.tuples(SCALARS, SCALARS, SCALARS))
def test_programs_give_the_same_on_three_devices(program: Program, first: tuple[int, ...]) -> None:
    config = ConfigProto(device_count={"CPU": 3})
    with Session(graph=Graph(), config=config) as session:
        check(program, first, [f"/cpu:{k}" for k in range(3)], session)


@pytest.mark.process
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(programs(2), st.tuples(SCALARS, SCALARS, SCALARS))
def test_programs_give_the_same_on_two_processes(
    processes: LocalCluster, program: Program, first: tuple[int, ...]
) -> None:
    with Session(processes.target("worker", 0), graph=Graph()) as session:
        check(program, first, TASKS, session)


@settings(max_examples=60, deadline=None)
@given(
    programs(3),
    st.tuples(SCALARS, SCALARS, SCALARS),
    st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True),
    st.booleans(),
)
def test_programs_give_the_same_as_graphs(
    program: Program, first: tuple[int, ...], fetched: list[int], far: bool
) -> None:
    """The whole state, some of it alone, and the variable; on one device or on the other of two."""
    python = InPython()
    start: list[Any] = [*first, np.arange(3, dtype=np.int32)]
    wanted = python.run(program, start)
    with Graph().as_default(), acts.device("/cpu:1" if far else "/cpu:0"):
        feeds = [ops.placeholder("int32", [] if k < 3 else [3]) for k in range(4)]
        graph = InGraph()
        result = graph.run(program, list(feeds))
        with Session(config=ConfigProto(device_count={"CPU": 2})) as session:
            session.run(graph.total.initializer)
            fed = dict(zip(feeds, start, strict=True))
            values = session.run(result, fed)
            assert [np.asarray(v).tolist() for v in values] == [np.asarray(v).tolist() for v in wanted]
            assert session.run(graph.total) == python.counted
            session.run(graph.total.initializer)
            for k, value in zip(fetched, session.run([result[k] for k in fetched], fed), strict=True):
                if 0 in fetched:  # it runs after all that counts
                    assert np.asarray(value).tolist() == np.asarray(wanted[k]).tolist()
    assert list(start[3]) == [0, 1, 2]
