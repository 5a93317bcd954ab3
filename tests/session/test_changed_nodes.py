"""A node that a session has taken in stays what it was: a change is refused, or reported without effect."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import actorsession as acts
from actorsession import Graph, Session, ops
from actorsession.errors import InvalidArgumentError

LINE = r"test_changed_nodes.py:\d+"


async def test_another_input_of_a_node_that_ran_is_reported_once_and_has_no_effect(session: Any) -> None:
    a, c = ops.placeholder("float32", [], name="a"), ops.placeholder("float32", [], name="c")
    b = ops.identity(a, name="b")
    doubled = b * 2.0
    assert await session.run(b, {a: 1}) == 1
    b.op._update_input(0, c)
    said = f"inputs of 'b' were changed to c:0 at .*{LINE} after .* built at .*{LINE}"
    with pytest.warns(acts.debugging.GraphMutationWarning, match=said):
        assert await session.run(b, {a: 2}) == 2  # the plan that there was
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert await session.run(doubled, {a: 3}) == 6  # a new one
        assert await session.run(doubled + 1.0, {a: 3}) == 7  # one of a graph that grew
        with pytest.raises(InvalidArgumentError, match="placeholder tensor 'a'"):
            await session.run(doubled + 1.0, {c: 3})


async def test_a_session_made_afterwards_reads_the_other_input(make_session: Any) -> None:
    a, c = ops.placeholder("float32", [], name="a"), ops.placeholder("float32", [], name="c")
    b = ops.identity(a, name="b")
    first = make_session()
    assert await first.run(b, {a: 1}) == 1
    b.op._update_input(0, c)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert await make_session().run(b, {c: 5}) == 5


def test_what_was_changed_before_the_first_run_is_nothing_to_report(graph: Graph) -> None:
    a, c = ops.placeholder("float32", []), ops.placeholder("float32", [])
    with Session(graph=graph) as session, warnings.catch_warnings():
        warnings.simplefilter("error")
        session.run(ops.constant(1))
        b = ops.identity(a)
        b.op._update_input(0, c)
        assert session.run(b, {c: 5}) == 5


def test_the_device_of_a_node_is_not_changed_in_its_place(graph: Graph) -> None:
    x = ops.constant(1.0)
    with pytest.raises(AttributeError):
        x.op.device = "/cpu:7"  # type: ignore[misc]
    assert x.device == ""
