"""Large graphs on a cluster: masters, workers and clients go on with everything else while they plan one.

The servers of these tests share one loop with their clients, so that a plan which held any of them would hold
all: a step of another session ends while a pass, or a kernel that a worker makes, waits for the test.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, Graph, GraphDef, Tensor, ops
from actorsession.config import RunOptions
from actorsession.errors import CancelledError, DeadlineExceededError, ResourceExhaustedError
from actorsession.runtime.planning import LARGE
from tests.cluster.kit import PATIENCE, W1, InProcess, eventually, on, soon
from tests.nodes import make_one, op_type
from tests.rows import few_of
from tests.session.large_kit import FORMS, held_pass, large

ONES = float(LARGE)
# Whether workers may make the kernels of ``TestSlowToMake`` yet, and how many they have begun to make.
_GO = threading.Event()
_BEGUN: list[str] = []


def _make(context: Any) -> Any:
    _BEGUN.append(context.name)
    assert _GO.wait(PATIENCE), "nobody has let the kernel be made"
    return lambda x: x


op_type("TestSlowToMake", _make, stateful=True)


# Over a link the short suite has the first of them.
each_form = pytest.mark.parametrize(
    ("way", "form"),
    [*(("direct", form) for form in FORMS), *few_of([("link", form) for form in FORMS], len(FORMS))],
    indirect=["way"],
)


@pytest.fixture
def kernels() -> Iterator[threading.Event]:
    _GO.clear()
    _BEGUN.clear()
    yield _GO
    _GO.set()


@pytest.fixture
def x(graph: Graph) -> Tensor:
    return ops.placeholder("float32", [], name="x")


@asynccontextmanager
async def another_session(cluster: InProcess) -> AsyncIterator[Any]:
    """A session of a small graph on both workers; gives a function that runs a first step of it."""
    with Graph().as_default() as graph:
        y = ops.placeholder("float32", [], name="y")
        z = on(W1, lambda: y + 1.0)
    async with AsyncSession(cluster.target(), graph=graph) as session:

        async def step() -> None:
            assert await soon(session.run(z, {"y:0": 1.0})) == 2.0

        yield step


@each_form
async def test_a_step_ends_while_the_master_takes_in_a_large_graph(
    cluster: InProcess, x: Tensor, way: str, form: str
) -> None:
    with held_pass(acts.plugins.PassGroup.PRE_PLACEMENT) as held:
        async with another_session(cluster) as step:
            y = FORMS[form](x)
            session = AsyncSession(cluster.target(), graph=x.graph)
            first = asyncio.ensure_future(session.run(y, {x: 1.0}))
            await eventually(lambda: held.entered == 1)
            await step()
            held.go.set()
            assert await soon(first) == 1.0 + ONES
            held.go.clear()
            z = FORMS[form](y)  # and what is added to it
            second = asyncio.ensure_future(session.run(z, {x: 1.0}))
            await eventually(lambda: held.entered == 2)
            await step()
            held.go.set()
            assert await soon(second) == 1.0 + 2 * ONES
            await session.close()


@each_form
async def test_a_step_ends_while_the_master_plans_a_large_one(
    cluster: InProcess, x: Tensor, way: str, form: str
) -> None:
    with held_pass() as held:
        async with another_session(cluster) as step:
            with x.graph.device(W1):
                y = FORMS[form](x)
            async with AsyncSession(cluster.target(), graph=x.graph) as session:
                runs = [asyncio.ensure_future(session.run(y, {x: float(k)})) for k in range(3)]
                await eventually(lambda: held.entered == 1)
                await step()
                held.go.set()
                assert await soon(asyncio.gather(*runs)) == [k + ONES for k in range(3)]
                assert held.entered == 1  # for all three
                assert cluster.statistics()[W1].graphs == 2


@each_form
async def test_a_step_ends_while_a_worker_loads_a_large_graph(
    cluster: InProcess, x: Tensor, kernels: threading.Event, way: str, form: str
) -> None:
    async with another_session(cluster) as step:
        with x.graph.device(W1):
            y = make_one("TestSlowToMake", [FORMS[form](x)])
        async with AsyncSession(cluster.target(), graph=x.graph) as session:
            first = asyncio.ensure_future(session.run(y, {x: 1.0}))
            await eventually(lambda: len(_BEGUN) == 1)
            await step()
            kernels.set()
            assert await soon(first) == 1.0 + ONES


async def test_closing_a_session_at_load_leaves_nothing(
    cluster: InProcess, x: Tensor, kernels: threading.Event
) -> None:
    """And the plan that a thread makes ends before it has made another kernel."""
    y = on(W1, lambda: make_one("TestSlowToMake", [make_one("TestSlowToMake", [large(x)])]))
    session = AsyncSession(cluster.target(), graph=x.graph)
    first = asyncio.ensure_future(session.run(y, {x: 1.0}))
    await eventually(lambda: len(_BEGUN) == 1)
    await soon(session.close())
    with pytest.raises(CancelledError, match="closed"):
        await soon(first)
    kernels.set()
    await cluster.until_idle()
    await eventually(lambda: not any(s.graphs for s in cluster.statistics().values()))
    await eventually(lambda: not any("planning" in t.name for t in threading.enumerate()))
    assert len(_BEGUN) == 1


@pytest.mark.usefixtures("patient_clients")
async def test_a_limit_that_ends_while_steps_are_planned_leaves_plans_to_others(cluster: InProcess, x: Tensor) -> None:
    y = large(x)
    with held_pass() as held:
        async with AsyncSession(cluster.target(), graph=x.graph) as session:
            with pytest.raises(DeadlineExceededError, match="the plan of a step"):
                await soon(session.run(y, {x: 1.0}, options=RunOptions(timeout_in_ms=100)))
            held.go.set()
            assert await soon(session.run(y, {x: 1.0})) == 1.0 + ONES
            assert held.entered == 1


async def test_closing_a_session_ends_what_waits_for_its_master_to_plan(cluster: InProcess, x: Tensor) -> None:
    y = large(x)
    with held_pass() as held:
        session = AsyncSession(cluster.target(), graph=x.graph)
        first = asyncio.ensure_future(session.run(y, {x: 1.0}))
        await eventually(lambda: held.entered == 1)
        await soon(session.close())
        with pytest.raises(CancelledError, match="closed"):
            await soon(first)
        held.go.set()
        await cluster.until_idle()


@pytest.mark.usefixtures("way")
async def test_constants_and_loops_of_a_large_graph_arrive_as_they_are(cluster: InProcess) -> None:
    """They travel packed, with large tensors beside them."""
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [4096], name="x")
        big = np.arange(4096, dtype=np.float32)
        with on(W1):
            y = large(x * ops.constant(big))
            _, z = ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v + big), (0, y))
        async with AsyncSession(cluster.target(), graph=graph) as session:
            got = await soon(session.run(z, {x: np.ones(4096, np.float32)}))
    np.testing.assert_array_equal(got, 4 * big + ONES)


@pytest.mark.usefixtures("way")
async def test_a_partial_run_of_a_large_graph_lets_others_go_on(cluster: InProcess, x: Tensor) -> None:
    y = large(x)
    with held_pass() as held:
        async with another_session(cluster) as step, AsyncSession(cluster.target(), graph=x.graph) as session:
            setup = asyncio.ensure_future(session.partial_run_setup([y], [x]))
            await eventually(lambda: held.entered == 1)
            await step()
            held.go.set()
            handle = await soon(setup)
            assert await soon(session.partial_run(handle, y, {x: 1.0})) == 1.0 + ONES


@pytest.mark.usefixtures("way")
async def test_a_graph_of_too_many_nodes_is_refused_before_it_is_sent_and_told_how_to_raise_that(
    cluster: InProcess, x: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = r"the graph has \d+ nodes, .* limit is 100\. .* ACTORSESSION_MAX_GRAPH_NODES raises it"
    y = large(x, 80)
    monkeypatch.setenv("ACTORSESSION_MAX_GRAPH_NODES", "100")
    async with AsyncSession(cluster.target(), graph=x.graph) as session:
        assert await soon(session.run(y, {x: 1.0})) == 41.0
        z = large(y, 40)
        with monkeypatch.context() as patched:
            patched.setattr(GraphDef, "to_wire", None)  # nothing is even described
            with pytest.raises(ResourceExhaustedError, match=told):
                await soon(session.run(z, {x: 1.0}))
            another = AsyncSession(cluster.target(), graph=x.graph)
            with pytest.raises(ResourceExhaustedError, match=told):
                await soon(another.run(z, {x: 1.0}))
            await another.close()
        monkeypatch.setenv("ACTORSESSION_MAX_GRAPH_NODES", "10000")
        assert await soon(session.run(z, {x: 1.0})) == 61.0
