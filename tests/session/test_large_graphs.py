"""First runs of large graphs on an event loop that others use too: it goes on while they are planned."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, ConfigProto, Graph, RunOptions, Session, Tensor, ops
from actorsession.config import DebugOptions, DebugTensorWatch
from actorsession.errors import CancelledError, InvalidArgumentError
from actorsession.extend import PassGroup
from actorsession.runtime.planning import LARGE
from tests.cluster.kit import PATIENCE, eventually, soon
from tests.loops import cancelled
from tests.session.inner import direct_session
from tests.session.large_kit import FORMS, HeldPass, held_pass, large

ONES = float(LARGE)


@pytest.fixture
def held() -> Iterator[HeldPass]:
    with held_pass() as made:
        yield made


@pytest.fixture
def x(graph: Graph) -> Tensor:
    return ops.placeholder("float32", [], name="x")


@asynccontextmanager
async def another_session() -> AsyncIterator[Any]:
    """A session of a small graph; gives a function that runs a first step of it."""
    with Graph().as_default() as graph:
        y = ops.placeholder("float32", [], name="y") + 1.0
    async with AsyncSession(graph=graph) as session:

        async def step() -> None:
            assert await soon(session.run(y, {"y:0": 1.0})) == 2.0

        yield step


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("group", [PassGroup.PRE_PLACEMENT, PassGroup.POST_PLACEMENT])
async def test_a_step_of_another_session_ends_while_a_graph_is_planned(x: Tensor, group: PassGroup, form: str) -> None:
    y = FORMS[form](x)
    with held_pass(group) as held:
        async with another_session() as step, AsyncSession(graph=x.graph) as session:
            first = asyncio.ensure_future(session.run(y, {x: 1.0}))
            await eventually(lambda: held.entered == 1)
            await step()
            assert not first.done()
            held.go.set()
            assert await soon(first) == 1.0 + ONES


async def test_first_runs_at_once_share_one_planning(x: Tensor, held: HeldPass) -> None:
    y = large(x)
    async with AsyncSession(graph=x.graph) as session:
        runs = [asyncio.ensure_future(session.run(y, {x: float(k)})) for k in range(5)]
        other = asyncio.ensure_future(session.make_callable([y], [x])(7.0))
        await eventually(lambda: held.entered == 1)
        held.go.set()
        assert await soon(asyncio.gather(*runs)) == [k + ONES for k in range(5)]
        assert await soon(other) == [7.0 + ONES]
        assert held.entered == 1
        assert session.statistics().cache.plans == 1


async def test_a_run_that_is_cancelled_leaves_its_planning_to_the_next(x: Tensor, held: HeldPass) -> None:
    y = large(x)
    async with AsyncSession(graph=x.graph) as session:
        first = asyncio.ensure_future(session.run(y, {x: 1.0}))
        await eventually(lambda: held.entered == 1)
        await cancelled(first)
        assert session.statistics().steps == 0
        held.go.set()
        assert await soon(session.run(y, {x: 1.0})) == 1.0 + ONES
        assert held.entered == 1


async def test_closing_the_session_ends_runs_that_wait_for_their_plan_at_once(x: Tensor, held: HeldPass) -> None:
    y = large(x)
    session = AsyncSession(graph=x.graph)
    first = asyncio.ensure_future(session.run(y, {x: 1.0}))
    await eventually(lambda: held.entered == 1)
    await soon(session.close())
    with pytest.raises(CancelledError, match=r"Session has been closed\."):
        await soon(first)
    held.go.set()
    planning: Any = direct_session(session)._planning
    await eventually(lambda: not planning.busy)
    assert session.statistics().cache.plans == 0


async def test_a_graph_that_grows_while_it_is_planned_is_taken_in_afterwards(x: Tensor, held: HeldPass) -> None:
    y = large(x)
    async with AsyncSession(graph=x.graph) as session:
        first = asyncio.ensure_future(session.run(y, {x: 1.0}))
        await eventually(lambda: held.entered == 1)
        z = y + x  # nobody holds the graph meanwhile
        second = asyncio.ensure_future(session.run(z, {x: 1.0}))
        small = asyncio.ensure_future(session.run(x * 3.0, {x: 1.0}))
        await asyncio.sleep(0)
        assert not second.done()
        held.go.set()
        assert await soon(asyncio.gather(first, second, small)) == [1.0 + ONES, 2.0 + ONES, 3.0]


async def test_a_run_that_has_its_plan_waits_for_no_planning(x: Tensor, held: HeldPass) -> None:
    small = x * 3.0
    async with AsyncSession(graph=x.graph) as session:
        assert await session.run(small, {x: 1.0}) == 3.0
        y = large(x)
        first = asyncio.ensure_future(session.run(y, {x: 1.0}))
        await eventually(lambda: held.entered == 1)
        assert await soon(session.run(small, {x: 2.0})) == 6.0
        held.go.set()
        await soon(first)


@pytest.mark.parametrize("what", ["a placement", "a partial run", "a debugged run", "a debugged partial run"])
async def test_all_that_plans_lets_the_loop_go_on(x: Tensor, what: str) -> None:
    y = large(x)
    watch = DebugTensorWatch(node_name=y.op.name, debug_urls=("memory://",))
    options = RunOptions(debug_options=DebugOptions(debug_tensor_watch_opts=(watch,)))
    group = PassGroup.PRE_PLACEMENT if what == "a placement" else PassGroup.POST_PLACEMENT
    with held_pass(group) as held:
        async with another_session() as step, AsyncSession(graph=x.graph) as session:
            asked: Any = {
                "a placement": session.placement,
                "a partial run": lambda: session.partial_run_setup([y], [x]),
                "a debugged run": lambda: session.run(y, {x: 1.0}, options=options),
                "a debugged partial run": lambda: session.partial_run_setup([y], [x], options),
            }[what]
            if "debugged" in what:  # its plan, without the decorated one
                held.go.set()
                await soon(session.warm_up(y, [x], partial="partial" in what))
                held.go.clear()
            before = held.entered
            answer = asyncio.ensure_future(asked())
            await eventually(lambda: held.entered == before + 1)
            await step()
            held.go.set()
            found = await soon(answer)
            if "partial" in what:
                assert await session.partial_run(found, y, {x: 1.0}) == 1.0 + ONES
            elif what == "a placement":
                assert y.op.name in found
            else:
                assert found == 1.0 + ONES
            if "debugged" in what:
                assert [float(d.value) for d in session.debug_dumps()] == [1.0 + ONES]


async def test_what_is_wrong_with_a_large_graph_is_said_as_with_any(x: Tensor) -> None:
    y = large(x)
    async with AsyncSession(graph=x.graph) as session:
        for _ in range(2):
            with pytest.raises(InvalidArgumentError, match="feed a value for placeholder") as info:
                await session.run(y)
            assert info.value.op is x.op
        assert await session.run(y, {x: 1.0}) == 1.0 + ONES


def test_a_session_without_a_loop_plans_in_the_thread_of_its_caller(x: Tensor) -> None:
    y = large(x)
    with held_pass() as held, Session(graph=x.graph) as session:
        held.go.set()
        before = threading.active_count()
        assert session.run(y, {x: 1.0}) == 1.0 + ONES
        assert held.entered == 1
        assert threading.active_count() == before


async def test_a_graph_is_built_on_in_another_thread_while_it_is_planned(x: Tensor) -> None:
    """Planning takes the graph in bit by bit, and sees each node as it is when it is taken in."""
    graph = x.graph
    async with AsyncSession(graph=graph) as session:

        def build() -> Tensor:
            with graph.as_default():
                return large(x, 8 * LARGE)

        building = asyncio.ensure_future(asyncio.to_thread(build))
        y = large(x)
        assert await soon(session.run(y, {x: 1.0})) == 1.0 + ONES
        end = await soon(building)
        assert await soon(session.run(end, {x: 1.0})) == 1.0 + 4 * ONES


async def test_nodes_are_placed_anew_while_the_loop_goes_on(x: Tensor) -> None:
    """A look at the placement of a large graph is no part of the run that it is due after."""
    from actorsession.config import GraphOptions

    config = ConfigProto(device_count={"CPU": 2}, placement_period=1, graph_options=GraphOptions(build_cost_model=1))
    y = large(x)
    async with AsyncSession(graph=x.graph, config=config) as session:
        direct: Any = direct_session(session)
        go = threading.Event()
        looks: list[str] = []

        def look() -> None:
            looks.append(threading.current_thread().name)
            assert go.wait(PATIENCE)

        direct._check_placement = look
        assert await soon(session.run(y, {x: 1.0})) == 1.0 + ONES
        await eventually(lambda: len(looks) == 1)
        np.testing.assert_equal(await soon(session.run(y, {x: 2.0})), 2.0 + ONES)
        go.set()
        await eventually(lambda: not direct._planning.busy)
        assert set(looks) == {"actorsession-planning"}


def test_the_collector_pauses_while_a_large_graph_is_planned_without_a_loop(x: Tensor, registrations: None) -> None:
    """What planning makes stays: traversing it again and again took a tenth of a first run."""
    was_on: list[bool] = []

    @acts.plugins.register_graph_pass("POST_PLACEMENT", 1)
    def note(graph: Any, context: Any) -> Any:
        was_on.append(gc.isenabled())
        return graph

    with Graph().as_default() as small, Session(graph=small) as session:
        assert session.run(ops.constant(1.0) + 1.0) == 2.0
    y = large(x)
    with Session(graph=x.graph) as session:
        assert session.run(y, {x: 1.0}) == ONES + 1.0
    assert was_on == [True, False]
    assert gc.isenabled()
