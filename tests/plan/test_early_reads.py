"""What a step computes with is the value of a resource variable from before its writes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import actorsession as acts


@pytest.fixture
def session() -> Iterator[acts.Session]:
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as made:
        yield made


def test_what_a_step_computes_with_is_read_before_its_writes(session: acts.Session) -> None:
    v = acts.Variable(0.0)
    more = v.assign_add(3.0, read_value=False)
    root = acts.sqrt(v + 1.0)
    session.run(v.initializer)
    assert [session.run([root, more])[0] for _ in range(3)] == [1.0, 2.0, pytest.approx(7**0.5)]
    assert session.run([v.assign(5.0).op, v * 2.0])[1] == 18.0
    assert session.run([v.assign_add(1.0).op, v * v * 1.0, v]) == [None, 25.0, 6.0]


def test_what_one_step_initialises_may_be_computed_of_each_other(session: acts.Session) -> None:
    v = acts.Variable(3.0)
    w = acts.Variable(v * 2.0)
    session.run([v.initializer, w.initializer])
    assert session.run([v, w]) == [3.0, 6.0]


def test_a_read_that_the_program_puts_behind_a_write_stays_there(session: acts.Session) -> None:
    v = acts.Variable(0.0)
    more = v.assign_add(3.0, read_value=False)
    with acts.control_dependencies([more]):
        after = v.read_value() * 2.0
    before = v * 2.0
    session.run(v.initializer)
    assert session.run([after, before, more]) == [6.0, 0.0, None]
