"""A graph may grow while sessions run it; what cannot be right is refused, and what hardly can is told."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ConfigProto, Graph, Session, ops
from actorsession.errors import InvalidArgumentError
from actorsession.extend import RunSignature
from actorsession.plan.prune import GraphView, prune
from tests.default_device import TYPE
from tests.session.test_concurrency import in_threads
from tests.session.test_cost_model import HEAVY, X, placing, teach, two_chains


# -- growth ----------------------------------------------------------------------------------------
async def test_nodes_added_after_a_run_are_found_by_the_next(session: Any) -> None:
    x = ops.constant(2.0)
    assert await session.run(x) == 2.0
    assert await session.run(x * 3.0) == 6.0
    later = x + 40.0
    assert await session.run(later.name) == 42.0


async def test_only_new_nodes_are_taken_in(session: Any) -> None:
    x = ops.placeholder("float32", [])
    y = x + 1.0
    await session.run(y, {x: 1})
    known = session.session.statistics().nodes
    unused = [y * float(i) for i in range(10)]
    await session.run(y, {x: 1})
    assert session.session.statistics().nodes == known  # a kept plan looks at no graph
    await session.run(unused[0], {x: 1})
    assert session.session.statistics().nodes == len(y.graph.get_operations())


async def test_several_sessions_share_a_graph_and_each_has_its_state(make_session: Any) -> None:
    first, second = make_session(), make_session()
    v = ops.Variable(1.0)
    for session in (first, second):
        await session.run(v.initializer)
    await first.run(v.assign_add(5.0))
    assert (await first.run(v), await second.run(v)) == (6.0, 1.0)
    doubled = v * 2.0
    assert (await first.run(doubled), await second.run(doubled)) == (12.0, 2.0)


async def test_a_failed_extend_changes_nothing(make_session: Any) -> None:
    session = make_session(ConfigProto(device_count={"CPU": 2}))
    x = ops.constant(1.0)
    assert await session.run(x + 1.0) == 2.0
    known = session.session.statistics().nodes
    graph = x.graph
    with graph.device("/device:CPU:7"):
        ops.identity(x, name="astray")
    for _ in range(2):
        with pytest.raises(InvalidArgumentError, match="'astray' requests device"):
            await session.run(x + 2.0)
        assert session.session.statistics().nodes == known
    # What was planned before still runs.
    assert await session.run("add:0") == 2.0


def test_a_cycle_is_refused_and_names_its_nodes() -> None:
    """Only a graph from elsewhere can have one: building cannot make it."""
    with Graph().as_default() as graph:
        a = ops.placeholder("float32", [], name="a")
        b = ops.identity(a, name="b")
        c = ops.identity(b, name="c")
        ops.identity(c, name="d")
    nodes = {op.name: op.plain for op in graph.get_operations()}
    nodes["b"] = replace(nodes["b"], inputs=(("c", 0),))
    with pytest.raises(InvalidArgumentError, match="cycle through") as info:
        prune(GraphView(nodes.values()), RunSignature((), ("d:0",), ()))
    assert set(re.findall(r"\b[a-d]\b", info.value.message.split("through")[1])) == {"b", "c"}


async def test_a_finalised_graph_says_which_line_finalised_it_and_still_runs(session: Any) -> None:
    x = ops.constant(1.0)
    x.graph.finalize()
    with pytest.raises(RuntimeError, match=r"finalize\(\) was called at .*test_graph_growth.py:\d+"):
        ops.identity(x)
    assert await session.run(x) == 1.0


# -- growth that is a mistake ----------------------------------------------------------------------
async def test_nodes_added_on_every_step_are_counted_and_warned_of_once_with_their_line(session: Any) -> None:
    x = ops.placeholder("float32", [])
    y = x + 1.0
    await session.run(y, {x: 0})

    async def careless_loop() -> None:
        for i in range(30):
            ops.identity(y)
            await session.run(y, {x: i})

    with pytest.warns(acts.debugging.GraphGrowthWarning, match=r"each of the last 10 runs.*growth.py:\d+") as told:
        await careless_loop()
    assert len(told) == 1
    counted = session.session.statistics()
    assert (counted.growths, counted.grown_nodes) == (30, 30)
    assert counted.cache.misses == 1


def test_the_warning_stands_at_the_run_of_the_loop(graph: Graph) -> None:
    x = ops.constant(1.0)

    def careless_loop(session: Session) -> None:
        for _ in range(12):
            ops.identity(x)
            session.run(x)

    with Session(graph=graph) as session, pytest.warns(acts.debugging.GraphGrowthWarning) as told:
        careless_loop(session)
    assert told[0].filename == __file__


async def test_a_model_that_is_built_in_a_few_goes_is_nothing_to_warn_of(session: Any) -> None:
    x = ops.placeholder("float32", [])
    y = x
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(30):
            if i % 2:
                y = y + 1.0
            await session.run(y, {x: 0})
    assert session.session.statistics().growths == 15


# -- mutation --------------------------------------------------------------------------------------
async def test_changing_a_node_that_ran_is_reported_with_both_lines(session: Any) -> None:
    x = ops.placeholder("float32", None, name="x")
    y = ops.identity(x, name="y")
    value = np.ones((2, 2), np.float32)
    await session.run(y, {x: value})
    y.set_shape([2, 2])
    pattern = r"'y:0' was changed to \(2, 2\) at .*growth.py:\d+ after .* built at .*growth.py:\d+"
    with pytest.warns(acts.debugging.GraphMutationWarning, match=pattern):
        await session.run(y, {x: value})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # told once
        assert (await session.run(y, {x: value})).shape == (2, 2)


async def test_changing_a_node_in_a_loop_that_ran_is_reported_too(session: Any) -> None:
    x = ops.placeholder("float32", None, name="x")
    inside: list[Any] = []

    def branch() -> Any:
        inside.append(ops.identity(x, name="y"))
        return ops.size(inside[-1])

    def body(i: Any) -> Any:
        return i + ops.cond(i < 3, branch, lambda: 1)

    loop = ops.while_loop(lambda i: i < 3, body, [0], name="loop")
    inside[0].set_shape([None])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert await session.run(loop, {x: [1.0]}) == 3
    inside[0].set_shape([1])
    with pytest.warns(acts.debugging.GraphMutationWarning, match=r"'loop/cond/y:0' was changed to \(1,\)"):
        assert await session.run(loop, {x: [1.0]}) == 3


# -- the run-signature cache -----------------------------------------------------------------------
async def test_a_run_that_was_made_before_makes_no_plan(session: Any) -> None:
    a = ops.placeholder("float32", [])
    b = a + 1.0
    for i in range(10):
        assert await session.run(b, {a: i}) == i + 1
    cache = session.session.statistics().cache
    assert (cache.misses, cache.hits, cache.sorted_hits) == (1, 9, 0)
    call = session.callable([b], [a])
    for i in range(5):
        assert await call(i) == [i + 1]
    cache = session.session.statistics().cache
    assert (cache.misses, cache.hits, cache.sorted_hits) == (1, 14, 0)


async def test_the_cache_is_bounded_and_lets_the_least_used_go(make_session: Any) -> None:
    session = make_session(ConfigProto(plan_cache_size=3))
    x = ops.placeholder("float32", [])
    ys = [x + float(i) for i in range(4)]
    for y in ys[:3]:
        await session.run(y, {x: 0})
    await session.run(ys[0], {x: 0})  # used again: the second is now the least used
    await session.run(ys[3], {x: 0})
    before = session.session.statistics().cache
    assert (before.plans, before.evictions) == (3, 1)
    await session.run(ys[0], {x: 0})
    assert session.session.statistics().cache.misses == before.misses
    await session.run(ys[1], {x: 0})
    assert session.session.statistics().cache.misses == before.misses + 1


def test_plans_come_and_go_under_many_threads_and_no_value_goes_astray(graph: Graph) -> None:
    """More requests than plans, in every order of feeds, from threads that evict one another's."""
    xs = [ops.placeholder("float32", [], name=f"x{i}") for i in range(4)]
    ys = [xs[i % 4] * 10.0 + xs[(i + 1) % 4] + float(i) for i in range(12)]
    orders = list(itertools.permutations(range(4)))[::5]
    with Session(graph=graph, config=ConfigProto(plan_cache_size=3)) as session:

        def work(thread: int) -> None:
            for k in range(60):
                i, order = (7 * thread + k) % 12, orders[(thread + k) % len(orders)]
                found = session.run([ys[i], ys[i - 1]], {xs[j]: float(j) for j in order})
                assert found[0] == 10 * (i % 4) + (i + 1) % 4 + i

        in_threads(8, work)
        seen = session.statistics()
    assert seen.cache.plans == 3
    assert seen.cache.evictions > 0
    assert (seen.steps, seen.pending) == (0, 0)


def summary(face: Any) -> Any:
    """What a failed extension might have changed."""
    seen = face.session.statistics()
    cache = seen.cache
    return (seen.nodes, cache.plans, cache.evictions, seen.steps, seen.pending, seen.partial_runs)


async def test_each_call_that_meets_new_nodes_is_refused_and_changes_nothing(session: Any, graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    v = ops.Variable(1.0)
    y, read = x + 1.0, v + 0.0
    await session.run(v.initializer)
    assert await session.run([y, read], {x: 1}) == [2, 1]
    handle = await session.partial_run_setup(y, x)
    with graph.device("/job:nowhere"):
        ops.identity(x, name="astray")
    new = y * 3.0
    before = summary(session)
    calls: list[Callable[[], Any]] = [
        lambda: session.run(new, {x: 1}),
        lambda: session.partial_run_setup(new, x),
        lambda: session.callable(new, [x])(1),
    ]
    for call in calls * 2:
        with pytest.raises(InvalidArgumentError, match="'astray' requests device /job:nowhere"):
            await call()
        assert summary(session) == before
    # What was begun or planned before goes on, with its state.
    assert await session.partial_run(handle, y, {x: 4}) == 5
    assert await session.run([y, read], {x: 2}) == [3, 1]


async def test_nodes_that_were_placed_anew_stay_where_they_are(make_session: Any, graph: Graph) -> None:
    """1. Measured costs move nodes. 2. One new node would bring one of them back. 3. Another one cannot be
    placed. 4. Both are refused, and the moved node stays."""
    face = make_session(placing(period=1))
    end = two_chains()
    teach(face.session, **HEAVY)
    for _ in range(2):  # the first moves them, the second makes the plan for where they are
        await face.run(end, {"x:0": X})
    placed = face.session._session.placement()
    moved = [name for name, place in placed.items() if place.reason.startswith("cost model")]
    assert moved
    with graph.colocate_with(graph.get_operation_by_name(moved[0])):
        tied = ops.exp(end, name="tied")
    with graph.device("/cpu:9"):
        ops.identity(end, name="astray")
    with pytest.raises(InvalidArgumentError, match="'astray'"):
        await face.run(tied, {"x:0": X})
    now = face.session._session.planner._state.placed
    assert {name: now[name] for name in moved} == {name: placed[name] for name in moved}
    np.testing.assert_allclose(await face.run(end, {"x:0": X}), two_chains_of(X), rtol=1e-6 if TYPE == "CPU" else 1e-5)


def two_chains_of(x: Any) -> Any:
    """What ``two_chains`` computes."""
    a = b = x
    for _ in range(3):
        a, b = np.tanh(a), np.exp(b)
    return a + b


LINE = r"test_graph_growth.py:\d+"


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
