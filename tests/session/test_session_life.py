"""The life of a session: defaults, closing, a graph that grows, state, and errors that leave it usable."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, ConfigProto, Graph, Session, get_default_graph, get_default_session, ops
from actorsession.errors import InvalidArgumentError
from actorsession.ops.flow import dataflow
from actorsession.session.direct.planner import DirectPlan
from tests.cluster.kit import eventually, soon
from tests.ops.queues.kit import started, waiting
from tests.rows import for_each

NO_SUCH_DEVICE = "/job:worker/replica:0/task:7/device:CPU:0"


@for_each("kind", [AsyncSession, Session])
@for_each("wrong", [{"target": 1}, {"graph": "g"}, {"config": {}}])
def test_arguments_of_a_wrong_type_are_refused(kind: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(wrong))):
        kind(**wrong)


async def test_the_synchronous_face_inside_a_loop_says_which_class_to_use() -> None:
    with Graph().as_default() as graph:
        x = ops.constant(1)
    session = Session(graph=graph)
    with pytest.raises(RuntimeError, match="use AsyncSession"):
        session.run(x)
    session.close()


async def test_a_failed_run_leaves_session_and_state_usable(session: Any) -> None:
    v = ops.Variable(np.int32(6))
    divisor = ops.placeholder("int32", [], name="divisor")
    quotient = ops.floordiv(v, divisor, name="quotient")
    await session.run(v.initializer)
    with pytest.raises(InvalidArgumentError, match="division by zero") as caught:
        await session.run(quotient, {divisor: 0})
    assert caught.value.node == "quotient"
    assert caught.value.error_code == 3
    assert "test_session_life.py" in str(caught.value)
    assert await session.run(quotient, {divisor: 2}) == 3


async def test_a_device_that_does_not_exist_is_named_with_those_that_do(session: Any) -> None:
    with get_default_graph().device(NO_SUCH_DEVICE):
        x = ops.constant(1.0, name="far") * 2.0
    with pytest.raises(InvalidArgumentError, match=r"task:7.*the devices are: /job:localhost"):
        await session.run(x)


def living_plans() -> list[DirectPlan]:
    return [o for o in gc.get_objects() if isinstance(o, DirectPlan)]


async def test_a_plan_in_use_stays_and_an_evicted_one_is_let_go(make_session: Any) -> None:
    gc.collect()
    others = set(map(id, living_plans()))  # of sessions that other tests have left to be collected
    face = make_session(ConfigProto(plan_cache_size=2))
    hot, cold, new = (ops.constant(float(i)) + 0.5 for i in range(3))
    for tensor in (hot, cold, hot, new):
        await face.run(tensor)
    misses = face.session.statistics().cache.misses
    await face.run(hot)
    assert face.session.statistics().cache.misses == misses
    await face.run(cold)
    assert face.session.statistics().cache.misses == misses + 1
    gc.collect()
    assert len([plan for plan in living_plans() if id(plan) not in others]) == 2


async def test_state_counts_in_the_statistics(make_session: Any) -> None:
    face = make_session()
    v = ops.Variable(np.zeros(10, np.float32))
    await face.run(v.initializer)
    statistics = face.session.statistics()
    assert (statistics.variables, statistics.variable_bytes) == (1, 40)
    assert statistics.steps == 0


async def test_seeded_random_numbers_repeat_in_each_new_session(make_session: Any) -> None:
    drawn = ops.random_normal([5], seed=3)
    first, second = make_session(), make_session()
    sequence = [await first.run(drawn) for _ in range(3)]
    assert not np.array_equal(sequence[0], sequence[1])
    for value in sequence:
        np.testing.assert_array_equal(await second.run(drawn), value)


# -- calls by state --------------------------------------------------------------------------------
async def in_state(state: str) -> AsyncSession:
    session = AsyncSession(graph=Graph())
    with session.graph.as_default():
        ops.identity(ops.constant(1.0), name="x")
    if state != "new":
        await session.__aenter__()
    if state == "closed":
        await session.__aexit__(None, None, None)
    return session


CLOSED = "Attempted to use a closed Session"
STATES: dict[str, dict[str, str | None]] = {  # the error of each call in each state, if it has one
    "__aenter__": {"new": None, "entered": "not re-entrant", "closed": CLOSED},
    "run": {"new": None, "entered": None, "closed": CLOSED},
    "warm_up": {"new": None, "entered": None, "closed": CLOSED},
    "placement": {"new": None, "entered": None, "closed": CLOSED},
    "why": {"new": None, "entered": None, "closed": CLOSED},
    "partial_run_setup": {"new": None, "entered": None, "closed": CLOSED},
    "close": {"new": None, "entered": None, "closed": None},
    "__aexit__": {"new": None, "entered": None, "closed": None},
}


@for_each("call", STATES)
async def test_each_call_of_a_session_has_a_defined_effect_in_each_state(call: str) -> None:
    given: dict[str, tuple[Any, ...]] = {
        "__aexit__": (None, None, None),
        "run": ("x:0",),
        "warm_up": ("x:0",),
        "partial_run_setup": (["x:0"],),
    }
    for state, error in STATES[call].items():
        session = await in_state(state)
        asked = getattr(session, call)(*given.get(call, ()))
        if error is None:
            await asked
        else:
            with pytest.raises(RuntimeError, match=error):
                await asked
        assert session.closed == (state == "closed" or call in ("close", "__aexit__"))
        assert get_default_session() in (None, session)
        await session.__aexit__(None, None, None)
        assert get_default_session() is None


async def test_a_partial_run_is_entered_once_and_ends_with_its_block() -> None:
    session = await in_state("entered")
    run = session.partial(["x:0"])
    with pytest.raises(RuntimeError, match="has not begun"):
        await run.run("x:0")
    async with run:
        with pytest.raises(RuntimeError, match="entered once"):
            await run.__aenter__()
    with pytest.raises(InvalidArgumentError, match="Must run 'setup' before performing partial runs"):
        await run.run("x:0")
    async with session.partial(["x:0"]) as other:
        await session.__aexit__(None, None, None)  # which ends the run
    with pytest.raises(RuntimeError, match=CLOSED):
        await other.run("x:0")
    with pytest.raises(RuntimeError, match=CLOSED):
        await session.partial(["x:0"]).__aenter__()


async def test_a_session_whose_exit_is_refused_is_open_and_the_default() -> None:
    async with AsyncSession(graph=Graph()) as session:
        with session.graph.as_default():
            x = ops.constant(1.0) + 1.0
        assert await session.run(x) == 2.0

        def leave() -> None:
            with pytest.raises(RuntimeError, match="belongs to the event loop"):
                asyncio.run(session.__aexit__(None, None, None))

        await asyncio.to_thread(leave)
        assert not session.closed
        assert get_default_session() is session
        assert await session.run(x) == 2.0


def test_a_session_of_this_process_goes_on_with_the_next_loop() -> None:
    session = AsyncSession(graph=Graph())
    with session.graph.as_default():
        fed = ops.placeholder("float32", [])
        end = fed + 1.0
        queue = ops.FIFOQueue(1, "float32", shapes=[[]])
        put, got = queue.enqueue([end]), queue.dequeue()

    async def use() -> None:
        assert await session.run(end, {fed: 1.0}) == 2.0
        taken, _ = await asyncio.gather(session.run(got), session.run(put, {fed: 2.0}))
        assert taken == 3.0
        async with session.partial([end], [fed]) as run:
            assert await run.run(end, {fed: 3.0}) == 4.0

    asyncio.run(use())
    asyncio.run(use())
    asyncio.run(session.close())


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def plain(value: acts.Tensor) -> acts.Tensor:
    return value + 1.0


def of_primitives(value: acts.Tensor) -> acts.Tensor:
    """A value that passes through a Switch and a Merge, which another engine runs."""
    switched = dataflow.switch(value, acts.placeholder_with_default(True, []))
    return dataflow.merge([switched.output_true, switched.output_false]).output + 1.0


@pytest.mark.parametrize("build", [plain, of_primitives])
async def test_a_step_that_has_waited_for_an_element_keeps_none_of_its_values(no_collection: None, build: Any) -> None:
    with acts.Graph().as_default() as graph:
        queue = acts.FIFOQueue(1, ["float32"], [[1000]])
        end = build(queue.dequeue())
        put = queue.enqueue(np.ones(1000, np.float32))
    async with acts.AsyncSession(graph=graph) as session:
        step = started(session, end)
        await waiting(session)
        await session.run(put)
        value = await soon(step)
        assert value.sum() == 2000.0
        seen = weakref.ref(value)
        del value, step
        await eventually(lambda: seen() is None)
