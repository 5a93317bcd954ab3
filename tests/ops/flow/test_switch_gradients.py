"""Gradients of conditionals of single operations, as TensorFlow 1 builds them, against a closed form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.ops.flow import dataflow
from tests.nodes import make, make_one
from tests.ops.raw_control import raw_cond, raw_while
from tests.rows import refused


@pytest.fixture(params=[1, 3], ids=["one device", "three devices"])
def session(request: pytest.FixtureRequest) -> Iterator[acts.Session]:
    with acts.Session(config=acts.ConfigProto(device_count={"CPU": request.param})) as made:
        yield made


def both(session: acts.Session, fetches: Any, taken: Any, feeds: Any = None) -> list[Any]:
    """What is fetched when the predicate holds, and when it does not."""
    return [session.run(fetches, {**(feeds or {}), taken: way}) for way in (True, False)]


def test_the_gradient_of_a_conditional_is_that_of_the_way_taken(session: acts.Session) -> None:
    x, taken = acts.constant([3.0, 4.0]), acts.placeholder("bool", [])
    ways = dataflow.switch(x, taken)
    y = dataflow.merge([ways.output_false * 2.0, ways.output_true * ways.output_true]).output
    yes, no = both(session, acts.gradients(y, x)[0], taken)
    assert (yes.tolist(), no.tolist()) == ([6.0, 8.0], [2.0, 2.0])


def test_what_the_way_taken_does_not_use_gets_zeros(session: acts.Session) -> None:
    x, w, taken = acts.constant(3.0), acts.constant(5.0), acts.placeholder("bool", [])
    of_x, of_w = dataflow.switch(x, taken), dataflow.switch(w, taken)
    y = dataflow.merge([of_x.output_false * 3.0, of_x.output_true * of_w.output_true]).output
    assert both(session, acts.gradients(y, [x, w]), taken) == [[5.0, 3.0], [3.0, 0.0]]


def test_a_way_that_ends_in_something_else_gives_zeros(session: acts.Session) -> None:
    x, taken = acts.constant([1.0, 2.0]), acts.placeholder("bool", [])
    ways = dataflow.switch(x, taken)
    with acts.control_dependencies([acts.identity(ways.output_false)]):
        there = acts.constant(7.0)
    y = dataflow.merge([there, acts.reduce_sum(ways.output_true**2)]).output
    yes, no = both(session, acts.gradients(y, x)[0], taken)
    assert (yes.tolist(), no.tolist()) == ([2.0, 4.0], [0.0, 0.0])


def test_the_gradient_is_built_of_the_operations_of_tensorflow(graph: acts.Graph) -> None:
    x, taken = acts.constant(3.0), acts.placeholder("bool", [])
    ways = dataflow.switch(x, taken)
    y = dataflow.merge([ways.output_false, ways.output_true * 2.0]).output
    found = acts.gradients(y, x)[0]
    assert found.name == "gradients/Switch_grad/Merge:0"
    types = [op.type for op in graph.get_operations() if op.name.startswith("gradients/Merge_grad")]
    assert types.count("Switch") == types.count("Equal") == 2


def test_a_gradient_that_starts_from_a_constant_goes_the_way_taken_alone(session: acts.Session) -> None:
    x, taken = acts.constant(3.0), acts.placeholder("bool", [])
    dead_or_not = dataflow.switch(x, taken).output_true
    found = acts.gradients(dead_or_not, x, grad_ys=[acts.constant(5.0)])[0]
    assert both(session, found, taken) == [5.0, 0.0]


def test_second_derivatives_go_the_same_way(session: acts.Session) -> None:
    x, taken = acts.placeholder("float64", []), acts.placeholder("bool", [])
    (y,) = raw_cond(taken, lambda v: [acts.sin(v[0])], lambda v: [v[0] ** 3], [x])
    first = acts.gradients(y, x)[0]
    second = acts.gradients(first, x)[0]
    yes, no = both(session, [first, second], taken, {x: 0.7})
    np.testing.assert_allclose(yes, [np.cos(0.7), -np.sin(0.7)])
    np.testing.assert_allclose(no, [3 * 0.7**2, 6 * 0.7])


def test_conditionals_in_conditionals_pass_gradients(session: acts.Session) -> None:
    x = acts.placeholder("float64", [])
    outer, inner = acts.placeholder("bool", []), acts.placeholder("bool", [])

    def within(values: Any) -> Any:
        (at,) = values
        which = dataflow.switch(inner, outer).output_true
        return raw_cond(which, lambda v: [v[0] ** 2], lambda v: [v[0] * 10.0], [at])

    (y,) = raw_cond(outer, within, lambda v: [v[0] ** 3], [x])
    found = acts.gradients(y * x, x)[0]
    for a, b, wanted in [(True, True, 12.0), (True, False, 40.0), (False, True, 32.0)]:
        assert session.run(found, {x: 2.0, outer: a, inner: b}) == wanted


def test_the_parts_of_a_conditional_may_stand_on_several_devices() -> None:
    x, taken = acts.placeholder("float64", []), acts.placeholder("bool", [])
    with acts.device("/cpu:1"):
        ways = dataflow.switch(x, taken)
        no = ways.output_false * 2.0
    with acts.device("/cpu:2"):
        yes = ways.output_true**2
    y = dataflow.merge([no, yes]).output
    for together in (False, True):
        found = acts.gradients(y, x, colocate_gradients_with_ops=together)[0]
        with acts.Session(config=acts.ConfigProto(device_count={"CPU": 3})) as session:
            assert both(session, found, taken, {x: 3.0}) == [6.0, 2.0]


def test_a_variable_that_is_read_on_one_way_gets_its_gradient(session: acts.Session) -> None:
    v, taken = acts.Variable([1.0, 2.0]), acts.placeholder("bool", [])
    ways = dataflow.switch(acts.identity(v), taken)
    y = dataflow.merge([acts.reduce_sum(ways.output_false), acts.reduce_sum(ways.output_true**2)])
    found = acts.gradients(y.output, v)[0]
    session.run(v.initializer)
    yes, no = both(session, found, taken)
    assert (yes.tolist(), no.tolist()) == ([2.0, 4.0], [1.0, 1.0])


def test_a_variable_whose_handle_is_sent_one_way_gets_zeros_on_the_other(session: acts.Session) -> None:
    """As TensorFlow 1 builds a ``cond`` one of whose branches reads a resource variable."""
    v, taken = acts.Variable([1.0, 2.0]), acts.placeholder("bool", [])
    handles = make("Switch", [v.handle, taken]).outputs
    read = make_one("ReadVariableOp", [handles[1]], {"dtype": v.dtype})
    other = make_one("ReadVariableOp", [handles[0]], {"dtype": v.dtype})
    rows = acts.reduce_sum(acts.gather(other, [1, 1]) * 3.0)
    both_ways = dataflow.merge([rows, acts.reduce_sum(read**2)]).output
    one_way = dataflow.merge([acts.cast(acts.size(other), "float32"), acts.reduce_sum(read**2)]).output
    at_both, at_one = [acts.convert_to_tensor(acts.gradients(y, v)[0]) for y in (both_ways, one_way)]
    session.run(v.initializer)
    yes, no = both(session, at_both, taken)
    assert (yes.tolist(), no.tolist()) == ([2.0, 4.0], [0.0, 6.0])
    assert session.run(at_one, {taken: False}).tolist() == [0.0, 0.0]


def test_loops_that_while_loop_does_not_build_have_no_gradient() -> None:
    x = acts.constant(2.0)
    (y,) = raw_while(
        lambda v, _: v[0] < 10.0,
        lambda v, _: [acts.convert_to_tensor(acts.py_func(lambda a: a * a, [v[0]], "float32"))],
        [x],
    )
    refused(lambda: acts.gradients(y, x), LookupError, r"'raw_while/Exit'.*is part.*while_loop")
    within = dataflow.merge([dataflow.enter(x, "frame"), acts.constant(0.0)])
    dataflow.close_loop(within.output, dataflow.next_iteration(within.output * x))
    refused(lambda: acts.gradients(within.output, x), LookupError, r"loop of single operations.*while_loop")
