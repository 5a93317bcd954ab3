"""The life of a session: defaults, closing, a graph that grows, state, and errors that leave it usable."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
from typing import Any

import numpy as np
import pytest

from actorsession import (
    AsyncSession,
    ConfigProto,
    Graph,
    RunMetadata,
    RunOptions,
    Session,
    TraceLevel,
    get_default_graph,
    get_default_session,
    ops,
)
from actorsession.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from actorsession.session.direct.planner import DirectPlan
from tests.rows import for_each

NO_SUCH_DEVICE = "/job:worker/replica:0/task:7/device:CPU:0"


@for_each("kind", [AsyncSession, Session])
@for_each("wrong", [{"target": 1}, {"graph": "g"}, {"config": {}}])
def test_arguments_of_a_wrong_type_are_refused(kind: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(wrong))):
        kind(**wrong)


@pytest.mark.parametrize("kind", [AsyncSession, Session])
def test_a_target_that_no_factory_accepts_lists_those_that_there_are(kind: Any) -> None:
    with pytest.raises(NotFoundError, match=r"'nonsense'.*DIRECT_SESSION, REMOTE_SESSION"):
        kind("nonsense")


def test_a_session_without_a_cpu_is_refused() -> None:
    with pytest.raises(NotFoundError, match="at least one CPU"):
        Session(graph=Graph(), config=ConfigProto(device_count={"CPU": 0}))


async def test_entering_makes_session_and_graph_the_defaults_and_leaving_closes() -> None:
    graph = Graph()
    async with AsyncSession(graph=graph) as session:
        assert get_default_session() is session
        assert get_default_graph() is graph
    assert get_default_session() is None
    assert get_default_graph() is not graph
    assert session.closed


def test_the_synchronous_face_does_the_same_also_on_an_exception() -> None:
    graph = Graph()

    def fail_inside(session: Session) -> None:
        with session:
            assert get_default_session() is session
            assert get_default_graph() is graph
            raise ZeroDivisionError

    session = Session(graph=graph)
    with pytest.raises(ZeroDivisionError):
        fail_inside(session)
    assert session.closed
    assert get_default_session() is None


def test_entering_a_session_that_is_entered_is_refused() -> None:
    with Session(graph=Graph()) as session, pytest.raises(RuntimeError, match="re-entrant"):
        session.__enter__()


def test_as_default_neither_changes_the_graph_nor_closes() -> None:
    graph = Graph()
    session = Session(graph=graph)
    with session.as_default():
        assert get_default_session() is session
        assert get_default_graph() is not graph
    assert not session.closed
    session.close()


async def test_asyncio_children_have_defaults_of_their_own() -> None:
    entered, go = asyncio.Event(), asyncio.Event()

    async def child() -> None:
        async with AsyncSession(graph=Graph()):
            entered.set()
            await go.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(child())
        await entered.wait()
        assert get_default_session() is None
        go.set()


async def test_a_closed_session_says_so_and_closing_twice_is_fine(make_session: Any) -> None:
    face = make_session()
    x = ops.constant(1)
    assert await face.run(x) == 1
    await face.close()
    await face.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        await face.run(x)


async def test_the_synchronous_face_inside_a_loop_says_which_class_to_use() -> None:
    graph = Graph()
    with graph.as_default():
        x = ops.constant(1)
    session = Session(graph=graph)
    with pytest.raises(RuntimeError, match="use AsyncSession"):
        session.run(x)
    session.close()


async def test_a_graph_may_grow_after_the_first_run(make_session: Any) -> None:
    first, second = make_session(), make_session()
    v = ops.Variable(1.0)
    for face in (first, second):
        await face.run(v.initializer)
    await first.run(v.assign_add(1.0))
    doubled = v * 2.0  # built after both have run
    assert await first.run(doubled) == 4
    assert await second.run(doubled) == 2


async def test_sessions_that_share_a_graph_have_state_of_their_own(make_session: Any) -> None:
    first, second = make_session(), make_session()
    v = ops.Variable(1.0, name="v")
    await first.run(v.initializer)
    assert await first.run(v) == 1
    with pytest.raises(FailedPreconditionError, match="v"):
        await second.run(v)


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


async def test_soft_placement_changes_type_and_number_but_not_the_task(make_session: Any) -> None:
    face = make_session(ConfigProto(allow_soft_placement=True))
    with get_default_graph().device("/gpu:3"):
        x = ops.constant(1.0) * 2.0
    assert await face.run(x) == 2
    with get_default_graph().device("/job:worker"):
        y = ops.constant(1.0) * 2.0
    with pytest.raises(InvalidArgumentError, match="does not exist"):
        await face.run(y)


async def test_several_devices_give_the_same_values(make_session: Any) -> None:
    face = make_session(ConfigProto(device_count={"CPU": 3}))
    x = y = ops.placeholder("float32", [4])
    for i in range(9):
        with get_default_graph().device(f"/cpu:{i % 3}"):
            y = ops.tanh(y * 0.5 + float(i))
    fed = np.linspace(-1, 1, 4, dtype=np.float32)
    expected = fed
    for i in range(9):
        expected = np.tanh(expected * np.float32(0.5) + np.float32(i))
    np.testing.assert_allclose(await face.run(y, {x: fed}), expected, rtol=1e-6)


async def test_a_variable_on_another_device_is_read_and_written_there(make_session: Any) -> None:
    face = make_session(ConfigProto(device_count={"CPU": 2}))
    graph = get_default_graph()
    with graph.device("/cpu:1"):
        v = ops.Variable([1.0, 2.0])
    with graph.device("/cpu:0"):
        delta = ops.placeholder("float32", [2])
        update = v.assign_add(delta * 2.0)
    await face.run(v.initializer)
    np.testing.assert_array_equal(await face.run(update, {delta: [1, 1]}), [3, 4])
    np.testing.assert_array_equal(await face.run(v), [3, 4])


async def test_metadata_has_step_statistics_when_asked_and_partition_graphs_when_asked(make_session: Any) -> None:
    face = make_session(ConfigProto(device_count={"CPU": 2}))
    graph = get_default_graph()
    with graph.device("/cpu:1"):
        a = ops.placeholder("float32", [], name="a") * 2.0
    with graph.device("/cpu:0"):
        b = ops.add(a, 1.0, name="b")
    metadata = RunMetadata()
    traced = RunOptions(trace_level=TraceLevel.FULL_TRACE)
    assert await face.run(b, {"a:0": 1.0}, options=traced, run_metadata=metadata) == 3
    assert metadata.step_stats is not None
    assert {n.node for n in metadata.step_stats.nodes} >= {a.op.name, "b"}
    assert metadata.partition_graphs == []
    with_graphs = RunOptions(output_partition_graphs=True)
    await face.run(b, {"a:0": 1.0}, options=with_graphs, run_metadata=metadata)
    assert dataclasses.asdict(metadata)["step_stats"] is None  # overwritten by each run
    ops_on = {g.nodes[0].device[-5:]: {n.op for n in g.nodes} for g in metadata.partition_graphs}
    assert "_Recv" in ops_on["CPU:0"]
    assert "_Send" in ops_on["CPU:1"]


async def test_a_hit_does_no_graph_work(make_session: Any) -> None:
    face = make_session()
    x = ops.placeholder("float32", [])
    y = x + 1.0
    for i in range(5):
        assert await face.run(y, {x: i}) == i + 1
    cache = face.session.statistics().cache
    assert (cache.plans, cache.misses) == (1, 1)


async def test_the_plan_cache_is_bounded_and_drops_the_least_used(make_session: Any) -> None:
    face = make_session(ConfigProto(plan_cache_size=2))
    tensors = [ops.constant(float(i)) + 0.5 for i in range(3)]
    for tensor in tensors:
        await face.run(tensor)
    cache = face.session.statistics().cache
    assert (cache.plans, cache.evictions) == (2, 1)
    assert await face.run(tensors[0]) == 0.5


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
