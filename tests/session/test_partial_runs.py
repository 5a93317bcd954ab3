"""Partial runs: a step fed and fetched in several calls, in both faces."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import signal
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, ConfigProto, Graph, Session, Tensor, get_default_graph, ops
from actorsession.errors import (
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
    UnknownError,
)
from actorsession.ops.flow import dataflow
from actorsession.session.conversions import _CONVERSIONS
from actorsession.testing import StillClock
from tests.loops import cancelled
from tests.rows import for_each
from tests.session.inner import direct_session
from tests.session.partial_kit import LARGE, Dear, Stages, collect, offloaded, run_of, set_clock
from tests.session.test_concurrency import in_threads


# -- what it is ------------------------------------------------------------------------------------
async def test_two_stages_give_what_one_run_gives(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    first = await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 2})
    second = await session.partial_run(handle, stages.second, {stages.c: first * 5})
    assert (first, second) == (3, 45)
    assert type(first) is type(second) is np.float32


async def test_a_handle_is_a_string_and_new_each_time(session: Any, stages: Stages) -> None:
    handles = [await stages.setup(session) for _ in range(3)]
    assert all(isinstance(handle, str) for handle in handles)
    assert len(set(handles)) == 3
    assert handles[0].startswith("a:0,b:0,c:0->first:0,second:0/")


async def test_all_forms_of_fetches_and_keys_are_taken(session: Any, stages: Stages) -> None:
    handle = await session.partial_run_setup({"x": ["first:0"], "y": (stages.second,)}, ["a:0", "b:0", "c:0"])
    given = {"a:0": 1, stages.b: 2}
    assert await session.partial_run(handle, {"x": ["first:0", stages.first]}, given) == {"x": [3, 3]}
    assert await session.partial_run(handle, (stages.second,), {"c:0": 2}) == (6,)


async def test_one_feed_need_not_stand_in_a_list(session: Any, stages: Stages) -> None:
    doubled = stages.a * 2.0
    for feeds in (stages.a, "a:0", (stages.a,)):
        handle = await session.partial_run_setup(doubled, feeds)
        assert await session.partial_run(handle, doubled, {stages.a: 4}) == 8


async def test_values_are_computed_once_per_handle_and_random_ones_agree(session: Any, stages: Stages) -> None:
    drawn = ops.random_uniform([])
    first, second = drawn + stages.a, drawn + stages.b
    seen = set()
    for _ in range(2):
        handle = await session.partial_run_setup([drawn, first, second], [stages.a, stages.b])
        value = await session.partial_run(handle, drawn)
        assert await session.partial_run(handle, first, {stages.a: 0}) == value
        assert await session.partial_run(handle, second, {stages.b: 0}) == value
        seen.add(float(value))
    assert len(seen) == 2


async def test_a_side_effect_happens_once_however_many_calls_there_are(session: Any, stages: Stages) -> None:
    v = ops.Variable(np.float32(0))
    await session.run(v.initializer)
    update = v.assign_add(stages.a)
    later = update * stages.b
    handle = await session.partial_run_setup([update, later], [stages.a, stages.b])
    assert await session.partial_run(handle, update, {stages.a: 5}) == 5
    assert await session.partial_run(handle, later, {stages.b: 3}) == 15
    assert await session.run(v) == 5


async def test_what_needs_no_feed_runs_at_setup(session: Any, stages: Stages) -> None:
    v = ops.Variable(np.float32(1))
    await session.run(v.initializer)
    read = ops.identity(v) * 1.0
    handle = await session.partial_run_setup([read, stages.first], [stages.a, stages.b])
    await session.run(v.assign(7.0))
    assert await session.partial_run(handle, read) == 1


async def test_feeding_alone_and_fetching_alone(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    assert await session.partial_run(handle, [], {stages.a: 1, stages.b: 2}) == []
    assert await session.partial_run(handle, stages.first) == 3
    assert await session.partial_run(handle, {}, {stages.c: 2}) == {}
    assert await session.partial_run(handle, [stages.second]) == [6]


async def test_a_feed_that_nothing_needs_is_fed_like_the_others(session: Any, stages: Stages) -> None:
    handle = await session.partial_run_setup(stages.first, stages.feeds)
    assert await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 2}) == 3
    assert session.counts()[0] == 1
    assert await session.partial_run(handle, [], {stages.c: 2}) == []
    assert session.counts() == (0, 0, 0)


async def test_any_tensor_may_be_fed(session: Any, stages: Stages) -> None:
    handle = await session.partial_run_setup(stages.second, [stages.first, stages.c])
    assert await session.partial_run(handle, stages.second, {stages.first: 10, stages.c: 2}) == 20


async def test_a_fetch_that_is_fed_in_the_same_call_gives_the_value_as_an_array(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    fed, first = await session.partial_run(handle, [stages.a, stages.first], {stages.a: 1, stages.b: 2})
    assert isinstance(fed, np.ndarray)
    assert [float(fed), first] == [1, 3]
    with pytest.raises(InvalidArgumentError, match="fetch a:0 was not specified"):
        await session.partial_run(handle, stages.a)


async def test_an_operation_named_at_setup_runs_when_its_inputs_are_there(session: Any, stages: Stages) -> None:
    v = ops.Variable(np.float32(0))
    await session.run(v.initializer)
    update = v.assign_add(stages.a)
    handle = await session.partial_run_setup([update.op, stages.first], [stages.a, stages.b])
    await session.partial_run(handle, [], {stages.a: 5})
    assert await session.run(v) == 5
    assert await session.partial_run(handle, stages.first, {stages.b: 1}) == 6
    assert await session.run(v) == 5


async def test_operations_alone_make_a_partial_run(session: Any, stages: Stages) -> None:
    v = ops.Variable(np.float32(0))
    await session.run(v.initializer)
    update = v.assign_add(stages.a)
    handle = await session.partial_run_setup([update.op], [stages.a])
    assert await session.partial_run(handle, [], {stages.a: 5}) == []
    assert await session.run(v) == 5
    assert session.counts() == (0, 0, 0)
    handle = await session.partial_run_setup([v.initializer])  # complete before its first call
    assert await session.partial_run(handle, []) == []
    with pytest.raises(InvalidArgumentError, match="No partial run of this session"):
        await session.partial_run(handle, [])


# -- whose memory it is ----------------------------------------------------------------------------
async def test_fetched_arrays_are_the_callers_own(session: Any, graph: Graph) -> None:
    p, q = ops.placeholder("float32", [3]), ops.placeholder("float32", [3])
    v = ops.Variable(np.ones(3, np.float32))
    await session.run(v.initializer)
    made, passed, constant = p * 1.0, ops.identity(p), ops.constant([1.0, 2.0, 3.0])
    read, total = ops.identity(v), made + q
    fetches = [made, passed, constant, read, total, ops.identity(v)]
    for _ in range(2):
        handle = await session.partial_run_setup(fetches, [p, q])
        taken = await session.partial_run(handle, fetches[:4], {p: np.ones(3, np.float32)})
        np.testing.assert_array_equal(taken, [[1, 1, 1], [1, 1, 1], [1, 2, 3], [1, 1, 1]])
        for array in taken:
            array[:] = 99
        rest = await session.partial_run(handle, fetches[4:], {q: np.zeros(3, np.float32)})
        np.testing.assert_array_equal(rest, np.ones([2, 3]))
    np.testing.assert_array_equal(await session.run(v), [1, 1, 1])


async def test_fed_arrays_that_the_caller_changes_between_calls_change_nothing(session: Any, graph: Graph) -> None:
    p, q = ops.placeholder("float32", [3]), ops.placeholder("float32", [3])
    passed, total = ops.identity(p), p + q
    handle = await session.partial_run_setup([passed, total], [p, q])
    fed = np.ones(3, np.float32)
    await session.partial_run(handle, [], {p: fed})
    fed[:] = 99
    np.testing.assert_array_equal(await session.partial_run(handle, passed), [1, 1, 1])
    np.testing.assert_array_equal(await session.partial_run(handle, total, {q: [1, 1, 1]}), [2, 2, 2])


async def test_strings_and_sparse_tensors_are_fed_as_in_a_run(session: Any, graph: Graph) -> None:
    text, scalar = ops.placeholder("string", []), ops.placeholder("float32", [2])
    fetches = [ops.identity(text), ops.reduce_sum(scalar)]
    handle = await session.partial_run_setup(fetches, [text, scalar])
    assert await session.partial_run(handle, fetches, {text: "é", scalar: [1, 2]}) == ["é".encode(), 3]


class Pair:
    """Two tensors under one key."""

    def __init__(self, left: Tensor, right: Tensor) -> None:
        self.parts = [left, right]


async def test_objects_with_a_conversion_stand_for_their_tensors(session: Any, stages: Stages) -> None:
    acts.plugins.register_session_run_conversion_functions(
        Pair,
        lambda pair: (pair.parts, tuple),
        lambda pair, values: list(zip(pair.parts, values, strict=True)),
        lambda pair: pair.parts,
    )
    try:
        fed, fetched = Pair(stages.a, stages.b), Pair(stages.first, stages.second)
        handle = await session.partial_run_setup(fetched, [fed, stages.c])
        assert await session.partial_run(handle, [], {fed: (1, 2)}) == []
        assert await session.partial_run(handle, fetched, {stages.c: 4}) == (3, 12)
    finally:
        del _CONVERSIONS[0]


async def test_tensor_handles_are_fetched_and_fed_as_in_a_run(session: Any, stages: Stages) -> None:
    kept = ops.get_session_handle(stages.first)
    run = await session.partial_run_setup([kept, stages.second], stages.feeds)
    handle = await session.partial_run(run, kept, {stages.a: 1, stages.b: 2})
    assert handle.eval() == 3
    assert await session.partial_run(run, stages.second, {stages.c: handle}) == 9


# -- other kinds of session ------------------------------------------------------------------------
class NoPartialRuns:
    """A session of a kind from outside, which does not know partial runs."""

    partial_runs = None


async def test_a_kind_of_session_without_partial_runs_says_so(session: Any, stages: Stages) -> None:
    session.session._session, local = NoPartialRuns(), session.session._session
    try:
        for call in (session.partial_run_setup(stages.first, stages.feeds), session.partial_run("h", stages.first)):
            with pytest.raises(UnimplementedError, match="makes no partial runs: only sessions in"):
                await call
    finally:
        session.session._session = local


async def test_the_synchronous_face_inside_a_loop_says_which_class_to_use(graph: Graph, stages: Stages) -> None:
    session = Session(graph=graph)
    with pytest.raises(RuntimeError, match="use AsyncSession"):
        session.partial_run_setup(stages.first, stages.feeds)
    with pytest.raises(RuntimeError, match="use AsyncSession"):
        session.partial_run("h", stages.first)
    session.close()


# -- beside each other -----------------------------------------------------------------------------
async def test_handles_do_not_see_each_other(session: Any, stages: Stages) -> None:
    handles = [await stages.setup(session) for _ in range(20)]
    assert session.counts()[:2] == (20, 20)
    for i, handle in enumerate(handles):
        assert await session.partial_run(handle, stages.first, {stages.a: i, stages.b: 1}) == i + 1
    for i, handle in reversed(list(enumerate(handles))):
        assert await session.partial_run(handle, stages.second, {stages.c: 2}) == 2 * (i + 1)
    assert session.counts() == (0, 0, 0)


async def test_an_incomplete_handle_may_be_dropped(session: Any, stages: Stages) -> None:
    await stages.setup(session)
    handle = await stages.setup(session)
    await session.partial_run(handle, [], {stages.a: 1})
    assert await session.run(stages.first, {stages.a: 1, stages.b: 1}) == 2


async def test_the_graph_may_grow_and_ordinary_runs_be_made_between_the_calls(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    grown = stages.first + 100.0
    assert await session.run(grown, {stages.a: 1, stages.b: 1}) == 102
    assert await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 2}) == 3
    assert await session.run(stages.first, {stages.a: 5, stages.b: 5}) == 10
    other = await session.partial_run_setup(grown, stages.feeds[:2])
    assert await session.partial_run(other, grown, {stages.a: 0, stages.b: 0}) == 100
    assert await session.partial_run(handle, stages.second, {stages.c: 2}) == 6


async def test_ordinary_and_partial_plans_are_kept_apart(session: Any, stages: Stages) -> None:
    given = {stages.a: 1, stages.b: 2, stages.c: 3}
    for _ in range(2):
        assert await session.run(stages.fetches, given) == [3, 9]
        for fetches, feeds in [(stages.fetches, stages.feeds), (stages.fetches[::-1], stages.feeds[::-1])]:
            handle = await session.partial_run_setup(fetches, feeds)
            assert await session.partial_run(handle, stages.fetches[::-1], given) == [9, 3]
    cache = session.session.statistics().cache
    assert (cache.plans, cache.misses) == (1, 1)


async def test_plans_beyond_the_limit_of_the_cache_are_made_again(make_session: Any, stages: Stages) -> None:
    face = make_session(ConfigProto(plan_cache_size=1))
    handle = await stages.setup(face)
    for _ in range(2):
        for fetch in stages.fetches:
            other = await face.partial_run_setup(fetch, stages.feeds)
            assert await face.partial_run(other, fetch, {"a:0": 1, "b:0": 1, "c:0": 1}) == 2
    assert await face.partial_run(handle, stages.fetches, {"a:0": 1, "b:0": 1, "c:0": 2}) == [2, 4]


async def test_several_devices_each_get_the_feeds_they_read(make_session: Any, stages: Stages) -> None:
    face = make_session(ConfigProto(device_count={"CPU": 3}))
    graph = get_default_graph()
    y, z = stages.a, stages.b
    for i in range(9):
        with graph.device(f"/cpu:{i % 3}"):
            y = y * 2.0 + stages.a
            z = z + y + stages.c
    half = y * 1.0
    fetches = [half, z, stages.first]
    expected = await face.run(fetches, {"a:0": 1, "b:0": 2, "c:0": 3})
    handle = await face.partial_run_setup(fetches, stages.feeds)
    assert await face.partial_run(handle, half, {stages.a: 1}) == expected[0]
    assert await face.partial_run(handle, [], {stages.c: 3}) == []
    assert await face.partial_run(handle, [z, stages.first], {stages.b: 2}) == expected[1:]
    assert face.counts() == (0, 0, 0)


async def test_many_children_have_runs_open_at_once() -> None:
    with Graph().as_default() as graph:
        stages = Stages()
    async with AsyncSession(graph=graph, config=ConfigProto(device_count={"CPU": 2})) as session:

        async def child(i: int) -> None:
            handle = await session.partial_run_setup(stages.fetches, stages.feeds)
            await asyncio.sleep(0)
            first = await session.partial_run(handle, stages.first, {stages.a: i, stages.b: 1})
            await asyncio.sleep(0)
            assert await session.partial_run(handle, stages.second, {stages.c: first}) == (i + 1) ** 2

        async with asyncio.TaskGroup() as group:
            for i in range(300):
                group.create_task(child(i))
        assert session.statistics().partial_runs == 0


def test_thirty_two_threads_share_a_session() -> None:
    with Graph().as_default() as graph:
        stages = Stages()
    with Session(graph=graph, config=ConfigProto(device_count={"CPU": 2})) as session:

        def work(index: int) -> None:
            for i in range(20):
                handle = session.partial_run_setup(stages.fetches, stages.feeds)
                assert session.partial_run(handle, stages.first, {stages.a: i, stages.b: index}) == i + index
                if index == 0 and i % 4 == 0:
                    with graph.as_default():
                        grown = stages.first + float(i)
                    assert session.run(grown, {stages.a: 0, stages.b: 0}) == i
                assert session.partial_run(handle, stages.second, {stages.c: 2}) == 2 * (i + index)

        in_threads(32, work)
        assert session.statistics().partial_runs == session.statistics().steps == 0


def test_threads_that_race_for_one_handle_feed_it_once() -> None:
    with Graph().as_default() as graph:
        stages = Stages()
    with Session(graph=graph) as session:
        handle = session.partial_run_setup(stages.fetches, stages.feeds)
        refused: list[InvalidArgumentError] = []

        def work(index: int) -> None:
            try:
                session.partial_run(handle, [], {stages.a: 1})
            except InvalidArgumentError as error:
                refused.append(error)

        in_threads(8, work)
        assert len(refused) == 7
        assert session.partial_run(handle, stages.first, {stages.b: 1}) == 2


# -- functions inside ------------------------------------------------------------------------------
def test_a_function_that_continues_its_own_run_is_refused_and_does_not_hang(graph: Graph, stages: Stages) -> None:
    def inside(value: Any) -> Any:
        return session.partial_run(handle, stages.first, {stages.a: value, stages.b: 1})

    x = ops.placeholder("float32", [])
    called = ops.py_func(inside, [x], "float32")
    with Session(graph=graph) as session:
        handle = session.partial_run_setup([called, stages.first], [x, stages.a, stages.b])
        # What a function raises is told as what a function raised, of whatever class it is.
        with pytest.raises(UnknownError, match=r"FailedPreconditionError.* continues that very run"):
            session.partial_run(handle, called, {x: 1})
        assert session.statistics().partial_runs == 0


def test_a_function_may_make_and_continue_other_runs_of_its_session(graph: Graph, stages: Stages) -> None:
    def inside(value: Any) -> Any:
        with session.partial(stages.first, stages.feeds[:2]) as p:
            return p.run(stages.first, {stages.a: value, stages.b: 1})

    x, y = ops.placeholder("float32", []), ops.placeholder("float32", [])
    called = ops.py_func(inside, [x], "float32")
    total = called + y
    with Session(graph=graph) as session:
        handle = session.partial_run_setup([called, total], [x, y])
        assert session.partial_run(handle, called, {x: 4}) == 5
        assert session.partial_run(handle, total, {y: 1}) == 6


async def test_in_an_async_session_a_function_may_continue_its_own_run(graph: Graph, stages: Stages) -> None:
    loop = asyncio.get_running_loop()
    async with AsyncSession(graph=graph) as session:

        def inside(value: Any) -> Any:
            call = session.partial_run(handle, stages.first, {stages.a: value, stages.b: 1})
            return asyncio.run_coroutine_threadsafe(call, loop).result(20)

        x = ops.placeholder("float32", [])
        called = ops.py_func(inside, [x], "float32")
        handle = await session.partial_run_setup([called, *stages.fetches], [x, *stages.feeds])
        assert await session.partial_run(handle, called, {x: 4}) == 5
        assert await session.partial_run(handle, stages.second, {stages.c: 2}) == 10
        assert session.statistics().partial_runs == 0


async def test_loops_and_functions_on_many_devices_run_as_their_feeds_come(make_session: Any, stages: Stages) -> None:
    face, graph = make_session(ConfigProto(device_count={"CPU": 3})), get_default_graph()
    turns = ops.placeholder("int32", [])
    with graph.device("/cpu:1"):
        _, looped = ops.while_loop(
            lambda i, v: i < turns, lambda i, v: (i + 1, v * 2.0), [ops.constant(0), stages.first]
        )
    with graph.device("/cpu:2"):
        called = ops.py_func(lambda v: v + np.float32(1), [looped], "float32")
    chosen = ops.cond(called > stages.c, lambda: called, lambda: stages.c)
    handle = await face.partial_run_setup([stages.first, looped, called, chosen], [*stages.feeds, turns])
    assert await face.partial_run(handle, stages.first, {stages.a: 1, stages.b: 2}) == 3
    with pytest.raises(InvalidArgumentError, match="can't be computed"):
        await face.partial_run(handle, called)
    assert await face.partial_run(handle, [called, looped], {turns: 3}) == [25, 24]
    assert await face.partial_run(handle, chosen, {stages.c: 90}) == 90
    assert face.counts() == (0, 0, 0)


async def test_dear_kernels_go_to_the_pool_and_several_calls_of_a_run_wait_at_once(graph: Graph, dear: Dear) -> None:
    async with AsyncSession(graph=graph) as session:
        handle = await session.partial_run_setup([dear.medium, dear.short], [dear.x, dear.s])
        waiting = asyncio.create_task(session.partial_run(handle, dear.medium, {dear.x: LARGE}))
        await offloaded(session)
        assert not waiting.done()
        short = asyncio.create_task(session.partial_run(handle, dear.short, {dear.s: 1}))
        np.testing.assert_allclose(await waiting, LARGE @ LARGE, rtol=1e-4)
        assert await short == 2
        assert session.statistics().partial_runs == 0


async def test_cancelling_a_call_gives_up_that_run_only(graph: Graph, dear: Dear) -> None:
    async with AsyncSession(graph=graph) as session:
        other = await session.partial_run_setup([dear.short], [dear.s])
        handle = await session.partial_run_setup([dear.product, dear.short], [dear.x, dear.s])
        call = asyncio.create_task(session.partial_run(handle, dear.product, {dear.x: LARGE}))
        await offloaded(session)
        await cancelled(call)
        statistics = session.statistics()
        assert (statistics.partial_runs, statistics.steps) == (1, 1)
        with pytest.raises(InvalidArgumentError, match="No partial run"):
            await session.partial_run(handle, dear.short, {dear.s: 1})
        assert await session.partial_run(other, dear.short, {dear.s: 1}) == 2
        assert await session.run(dear.short, {dear.s: 2}) == 3


async def test_a_limit_in_time_ends_the_run_alone_with_deadline_exceeded(make_session: Any, dear: Dear) -> None:
    face = make_session(ConfigProto(operation_timeout_in_ms=50))
    handle = await face.partial_run_setup([dear.product, dear.short], [dear.x, dear.s])
    with pytest.raises(DeadlineExceededError):
        await face.partial_run(handle, dear.product, {dear.x: LARGE})
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await face.partial_run(handle, dear.short, {dear.s: 1})
    assert face.counts() == (0, 0, 0)
    again = await face.partial_run_setup(dear.short, dear.s)
    assert await face.partial_run(again, dear.short, {dear.s: 1}) == 2


async def test_the_limit_counts_for_each_call_and_not_for_the_time_between(make_session: Any, stages: Stages) -> None:
    face = make_session(ConfigProto(operation_timeout_in_ms=60_000))
    handle = await stages.setup(face)
    run = run_of(face.session, handle)
    assert await face.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1}) == 2
    assert run.step._deadline is None


@pytest.mark.usefixtures("no_garbage")
def test_ctrl_c_gives_the_run_up_and_the_session_lives(graph: Graph, dear: Dear) -> None:
    """1. A dear call runs in the main thread. 2. SIGINT comes. 3. The call ends with KeyboardInterrupt and
    its handle is gone. 4. The session is right."""
    with Session(graph=graph) as session:
        handle = session.partial_run_setup([dear.product, dear.short], [dear.x, dear.s])
        timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.partial_run(handle, dear.product, {dear.x: LARGE})
        timer.join()
        with pytest.raises(InvalidArgumentError, match="No partial run"):
            session.partial_run(handle, dear.short, {dear.s: 1})
        assert session.statistics().steps == 0
        assert session.run(dear.short, {dear.s: 1}) == 2


async def test_without_a_kernel_pool_everything_runs_in_the_loops_own_thread(make_session: Any, dear: Dear) -> None:
    face = make_session(ConfigProto(inter_op_parallelism_threads=-1, operation_timeout_in_ms=10_000))
    handle = await face.partial_run_setup([dear.medium, dear.short], [dear.x, dear.s])
    product = await face.partial_run(handle, dear.medium, {dear.x: LARGE})
    np.testing.assert_allclose(product, LARGE @ LARGE, rtol=1e-4)
    assert await face.partial_run(handle, dear.short, {dear.s: 1}) == 2
    assert face.session.statistics().offloaded == 0


class Mixed:
    """A loop, a function and a dear product, each on a device of its own; ``expected`` knows the values."""

    def __init__(self, graph: Graph) -> None:
        self.a, self.b = (ops.placeholder("float32", [], name=name) for name in "ab")
        self.turns = ops.placeholder("int32", [], name="turns")
        self.x = ops.placeholder("float32", [200, 200], name="x")
        with graph.device("/cpu:1"):
            _, self.looped = ops.while_loop(
                lambda i, v: i < self.turns, lambda i, v: (i + 1, v + 1.0), [ops.constant(0), self.a]
            )
        with graph.device("/cpu:2"):
            self.called = ops.py_func(lambda v: v * np.float32(2), [self.b], "float32")
        product = self.x
        for _ in range(3):
            product = ops.matmul(product, self.x)
        self.dear = ops.reduce_sum(product) + self.a
        self.total = self.called + self.looped

    async def one(self, session: AsyncSession, rng: random.Random, done: list[float]) -> None:
        """One run, its feeds in random order, its fetches at once; any await may be cancelled."""
        a, b, turns = rng.randint(0, 9), rng.randint(0, 9), rng.randint(0, 9)
        feeds = {self.a: a, self.b: b, self.turns: turns, self.x: np.eye(200, dtype=np.float32)}
        fetches = [self.looped, self.called, self.dear, self.total]
        expected = [a + turns, 2 * b, 200 + a, a + turns + 2 * b]
        async with session.partial(fetches, list(feeds)) as p:
            for key in rng.sample(list(feeds), 4):
                await p.run([], {key: feeds[key]})
            assert await asyncio.gather(*[p.run(fetch) for fetch in fetches]) == expected
            done.append(a)


@for_each("seed", range(2))
async def test_runs_that_are_cancelled_at_random_leave_nothing_and_disturb_no_others(graph: Graph, seed: int) -> None:
    mixed, rng, done = Mixed(graph), random.Random(seed), list[float]()
    async with AsyncSession(graph=graph, config=ConfigProto(device_count={"CPU": 3})) as session:

        async def child() -> None:
            for _ in range(4):
                run = asyncio.create_task(mixed.one(session, rng, done))
                if rng.random() < 0.5:
                    await asyncio.sleep(rng.random() * 0.02)
                    run.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await run

        await asyncio.gather(*[child() for _ in range(12)])
        # Of several calls at once one may have failed while the others were still being cancelled.
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=2)
        await mixed.one(session, rng, done)
        statistics = session.statistics()
        assert (statistics.partial_runs, statistics.steps, statistics.pending) == (0, 0, 0)
    assert len(done) > 10


LIMITED = ConfigProto(operation_timeout_in_ms=50)


class Taking:
    """A step that takes one element from a queue, and waits for a feed as well."""

    def __init__(self) -> None:
        self.x = ops.placeholder("float32", [], name="x")
        self.queue = ops.FIFOQueue(3, ["float32"])
        self.element = ops.placeholder("float32", [], name="element")
        self.put = self.queue.enqueue(self.element)
        self.taken = self.queue.dequeue() * 1.0
        self.product = self.taken * self.x


@pytest.fixture
def taking(graph: Graph) -> Taking:
    return Taking()


async def test_a_value_that_is_put_after_the_setup_is_taken(session: Any, taking: Taking) -> None:
    handle = await session.partial_run_setup([taking.taken, taking.product], taking.x)
    await session.run(taking.put, {taking.element: 2})
    assert await session.partial_run(handle, taking.taken) == 2
    assert await session.partial_run(handle, taking.product, {taking.x: 5}) == 10
    assert session.counts() == (0, 0, 0)
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await session.partial_run(handle, taking.product)


async def test_a_call_waits_until_another_run_puts_something_in(session: Any, taking: Taking) -> None:
    handle = await session.partial_run_setup([taking.product], taking.x)
    call = asyncio.ensure_future(session.partial_run(handle, taking.product, {taking.x: 5}))
    done, _ = await asyncio.wait({call}, timeout=0.02)
    assert not done
    await session.run(taking.put, {taking.element: 3})
    assert await call == 15


async def test_it_lives_beside_runs_that_wait_for_nobody(session: Any, taking: Taking) -> None:
    plain = taking.x + 1.0
    waiting = await session.partial_run_setup([taking.product], taking.x)
    other = await session.partial_run_setup([plain], taking.x)
    assert session.counts()[0] == 2
    assert await session.partial_run(other, plain, {taking.x: 1}) == 2
    with pytest.raises(InvalidArgumentError, match="feed element:0 was not specified"):
        await session.partial_run(waiting, [], {taking.element: 1})
    await session.run(taking.put, {taking.element: 3})
    assert await session.partial_run(waiting, taking.product, {taking.x: 2}) == 6
    assert session.counts() == (0, 0, 0)


async def test_a_limit_gives_it_up_and_takes_nothing(make_session: Any, taking: Taking) -> None:
    face = make_session(LIMITED)
    handle = await face.partial_run_setup([taking.product], taking.x)
    with pytest.raises(DeadlineExceededError):
        await face.partial_run(handle, taking.product, {taking.x: 5})
    assert face.counts() == (0, 0, 0)
    await face.run(taking.put, {taking.element: 3})
    assert await face.run(taking.queue.size()) == 1


async def test_leaving_a_block_gives_it_up(session: Any, taking: Taking) -> None:
    async with session.partial([taking.product], taking.x):
        assert session.counts()[0] == 1
    assert session.counts() == (0, 0, 0)
    await session.run(taking.put, {taking.element: 3})
    assert await session.run(taking.queue.size()) == 1


async def test_closing_ends_a_call_that_waits(session: Any, taking: Taking) -> None:
    handle = await session.partial_run_setup([taking.product], taking.x)
    call = asyncio.ensure_future(session.partial_run(handle, taking.product, {taking.x: 5}))
    await asyncio.wait({call}, timeout=0.02)
    await session.close()
    with pytest.raises(CancelledError, match="closed"):
        await call
    assert session.counts() == (0, 0, 0)


@pytest.mark.usefixtures("no_garbage")
def test_ctrl_c_gives_it_up_and_the_session_lives(graph: Graph, taking: Taking) -> None:
    """1. A call waits for an element. 2. SIGINT comes. 3. The call ends, and takes nothing any more."""
    with Session(graph=graph) as session:
        handle = session.partial_run_setup([taking.product], taking.x)
        timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.partial_run(handle, taking.product, {taking.x: 5})
        timer.join()
        session.run(taking.put, {taking.element: 3})
        assert session.run(taking.queue.size()) == 1
        with pytest.raises(InvalidArgumentError, match="No partial run"):
            session.partial_run(handle, taking.product)


# -- wrong setups ----------------------------------------------------------------------------------
async def test_setup_without_fetches_and_targets_is_refused(session: Any, stages: Stages) -> None:
    with pytest.raises(InvalidArgumentError, match=r"at least one target.*feeds a:0 and no fetches"):
        await session.partial_run_setup([], [stages.a])


async def test_a_tensor_both_fed_and_fetched_is_refused(session: Any, stages: Stages) -> None:
    with pytest.raises(InvalidArgumentError, match="a:0 is both fed and fetched"):
        await session.partial_run_setup([stages.a, stages.first], stages.feeds)


async def test_a_tensor_fed_twice_at_setup_is_refused(session: Any, stages: Stages) -> None:
    with pytest.raises(InvalidArgumentError, match="'a:0' is fed more than once"):
        await session.partial_run_setup(stages.first, [stages.a, stages.b, "a:0"])


@for_each("feed", ["nowhere:0", "a", 3, None, {1}], ids=repr)
async def test_a_bad_feed_key_is_a_type_error(session: Any, stages: Stages, feed: Any) -> None:
    with pytest.raises(TypeError, match="feed_dict key"):
        await session.partial_run_setup(stages.first, [feed])


async def test_a_bad_fetch_is_refused_as_in_a_run(session: Any, stages: Stages) -> None:
    with pytest.raises(ValueError, match="nowhere"):
        await session.partial_run_setup("nowhere:0", stages.feeds)
    with pytest.raises(TypeError, match="None"):
        await session.partial_run_setup(None, stages.feeds)


async def test_an_empty_graph_is_refused(session: Any) -> None:
    with pytest.raises(RuntimeError, match="empty"):
        await session.partial_run_setup([])


async def test_a_device_that_does_not_exist_is_refused_at_setup(session: Any, stages: Stages) -> None:
    with get_default_graph().device("/job:nope"):
        far = stages.a * 2.0
    with pytest.raises(InvalidArgumentError, match="nope"):
        await session.partial_run_setup(far, [stages.a])
    assert session.counts() == (0, 0, 0)


# -- wrong calls -----------------------------------------------------------------------------------
# What is done before, the wrong call (fetches, feeds), and what the error says.
WRONG: dict[str, Any] = {
    "a feed not named at setup": (
        [],
        (["first"], ["a", "b", "first"]),
        "Feeds of .* are a:0, b:0, c:0; the feed first:0 was not specified",
    ),
    "a fetch not named at setup": ([], (["b"], ["a"]), "are first:0, second:0; the fetch b:0 was not specified"),
    "a feed fed twice": (
        [([], ["a"])],
        ([], ["b", "a"]),
        "Still to be fed in .*: b:0, c:0; the feed a:0 has already been fed",
    ),
    "a fetch fetched twice": (
        [(["first"], ["a", "b"])],
        (["first"], ["c"]),
        "Still .* second:0; the fetch first:0 has already been fetched",
    ),
    "a fetch that needs a feed": ([], (["first"], ["a"]), "Fetch first:0 can't be computed .* also needs b:0"),
    "a fetch that needs feeds": ([([], ["a"])], (["second"], []), "Fetch second:0 .* also needs b:0, c:0"),
}


def by_name(stages: Stages, call: tuple[list[str], list[str]]) -> tuple[Any, Any]:
    fetches, feeds = call
    return [f"{name}:0" for name in fetches], {f"{name}:0": 1.0 for name in feeds}


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_wrong_call_changes_nothing_and_the_handle_works_on(session: Any, stages: Stages, wrong: str) -> None:
    before, call, said = WRONG[wrong]
    handle = await stages.setup(session)
    for right in before:
        await session.partial_run(handle, *by_name(stages, right))
    left = session.counts()
    for _ in range(2):
        with pytest.raises(InvalidArgumentError, match=said):
            await session.partial_run(handle, *by_name(stages, call))
    assert session.counts() == left
    fed = {name for _, feeds in before for name in feeds}
    taken = {name for fetches, _ in before for name in fetches}
    rest = [[n for n in ("first", "second") if n not in taken], [n for n in "abc" if n not in fed]]
    values = await session.partial_run(handle, *by_name(stages, (rest[0], rest[1])))
    assert values == [{"first": 2, "second": 2}[name] for name in rest[0]]
    assert session.counts() == (0, 0, 0)


async def test_an_unknown_handle_is_refused(session: Any, stages: Stages) -> None:
    with pytest.raises(InvalidArgumentError, match="No partial run of this session has the handle 'nope'"):
        await session.partial_run("nope", stages.first)
    with pytest.raises(TypeError, match="string that partial_run_setup returned, got int"):
        await session.partial_run(3, stages.first)


async def test_another_sessions_handle_is_refused(make_session: Any, stages: Stages) -> None:
    first, second = make_session(), make_session()
    await stages.setup(first)
    handle = await stages.setup(first)  # the other one has made fewer
    await stages.setup(second)
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await second.partial_run(handle, [], {stages.a: 1})


async def test_a_complete_handle_is_deleted_and_refused(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    assert session.counts()[:2] == (1, 1)
    await session.partial_run(handle, stages.fetches, {"a:0": 1, "b:0": 2, "c:0": 3})
    assert session.counts() == (0, 0, 0)
    with pytest.raises(InvalidArgumentError, match="or is complete, failed, or given up"):
        await session.partial_run(handle, stages.first)


async def test_fetching_an_operation_is_a_runtime_error_and_changes_nothing(session: Any, stages: Stages) -> None:
    handle = await session.partial_run_setup([stages.first, stages.first.op], stages.feeds)
    for fetches in (stages.first.op, [stages.first, "first"]):
        with pytest.raises(RuntimeError, match=r"takes no operations .* got first: name them in partial_run_setup"):
            await session.partial_run(handle, fetches, {stages.a: 1})
    assert await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1}) == 2


async def test_a_placeholder_that_was_never_a_feed_fails_the_first_right_call(session: Any, stages: Stages) -> None:
    handle = await session.partial_run_setup(stages.fetches, [stages.a, stages.b])
    with pytest.raises(InvalidArgumentError, match="feed c:0 was not specified"):
        await session.partial_run(handle, [], {stages.c: 1})
    with pytest.raises(InvalidArgumentError, match="feed a value for placeholder tensor 'c'") as caught:
        await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 2})
    assert caught.value.node == "c"
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 2})
    assert session.counts() == (0, 0, 0)


async def test_every_run_that_cannot_succeed_has_an_error_of_its_own(session: Any, stages: Stages) -> None:
    """One error for all would grow with each raise, and hold on to what the callers had."""
    errors = []
    for _ in range(2):
        handle = await session.partial_run_setup(stages.second, [stages.a, stages.b])
        with pytest.raises(InvalidArgumentError, match="feed a value for placeholder") as caught:
            await session.partial_run(handle, [], {stages.a: 1})
        errors.append(caught.value)
    first, second = errors
    assert first is not second
    assert (first.message, first.node, first.source) == (second.message, "c", second.source)


async def test_bad_keys_and_values_are_refused_as_in_a_run_and_change_nothing(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    with pytest.raises(TypeError, match="nowhere"):
        await session.partial_run(handle, [], {"nowhere:0": 1})
    with pytest.raises(ValueError, match=r"shape \(2,\) for Tensor b:0"):
        await session.partial_run(handle, [], {stages.a: 1, stages.b: [1, 2]})
    with pytest.raises(ValueError, match="nowhere"):
        await session.partial_run(handle, "nowhere:0", {stages.a: 1})
    assert await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1}) == 2


# -- errors inside the step ------------------------------------------------------------------------
async def test_after_an_error_in_the_step_the_handle_is_gone_and_not_the_session(session: Any, stages: Stages) -> None:
    divisor = ops.placeholder("int32", [], name="divisor")
    quotient = ops.floordiv(ops.constant(6), divisor, name="quotient")
    handle = await session.partial_run_setup([quotient, stages.first], [divisor, stages.a, stages.b])
    with pytest.raises(InvalidArgumentError, match="division by zero") as caught:
        await session.partial_run(handle, quotient, {divisor: 0})
    assert caught.value.node == "quotient"
    assert "test_partial_runs.py" in str(caught.value)
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1})
    assert session.counts() == (0, 0, 0)
    assert await session.run(quotient, {divisor: 2}) == 3
    again = await session.partial_run_setup(quotient, divisor)
    assert await session.partial_run(again, quotient, {divisor: 3}) == 2


async def test_an_error_at_setup_is_told_by_the_first_call(session: Any, stages: Stages) -> None:
    v = ops.Variable(np.float32(1), name="v")
    handle = await session.partial_run_setup([v + 1.0, stages.first], stages.feeds)
    with pytest.raises(FailedPreconditionError, match="v"):
        await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1})
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1})


async def test_an_error_of_an_operation_that_nobody_fetches_is_told_too(session: Any, stages: Stages) -> None:
    divisor = ops.placeholder("int32", [], name="divisor")
    quotient = ops.constant(6) // divisor
    handle = await session.partial_run_setup([quotient.op, stages.first], [divisor, stages.a, stages.b])
    with pytest.raises(InvalidArgumentError, match="division by zero"):
        await session.partial_run(handle, [], {divisor: 0})
    assert session.counts() == (0, 0, 0)


async def test_a_run_that_fetches_what_is_dead_ends(session: Any, stages: Stages) -> None:
    value, taken = ops.placeholder("int32", []), ops.placeholder("bool", [])
    dead = ops.add(dataflow.switch(value, taken).output_true, 1, name="dead")
    handle = await session.partial_run_setup([dead, stages.second], [value, taken, *stages.feeds])
    with pytest.raises(InvalidArgumentError, match="'dead:0' is on a way that was not taken"):
        await session.partial_run(handle, dead, {value: 1, taken: False})
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await session.partial_run(handle, stages.second, {"a:0": 1, "b:0": 1, "c:0": 1})
    assert session.counts() == (0, 0, 0)


def timer_of(runs: Any) -> Any:
    """The timer that collects idle runs on a loop, if there is one."""
    return runs._timer


def collector_of(runs: Any) -> Any:
    """The thread that collects idle runs of a session without a loop, if there is one."""
    return runs._collector


# -- sessions that close ---------------------------------------------------------------------------
async def test_closing_ends_what_waits_with_cancelled_and_later_calls_are_refused(graph: Graph, dear: Dear) -> None:
    session = AsyncSession(graph=graph)
    idle = await session.partial_run_setup([dear.short], [dear.s])
    handle = await session.partial_run_setup([dear.product, dear.short], [dear.x, dear.s])
    call = asyncio.create_task(session.partial_run(handle, dear.product, {dear.x: LARGE}))
    await offloaded(session)
    await session.close()
    with pytest.raises(CancelledError, match="closed"):
        await call
    assert session.statistics().partial_runs == session.statistics().steps == 0
    with pytest.raises(RuntimeError, match="closed Session"):
        await session.partial_run(idle, dear.short, {dear.s: 1})
    with pytest.raises(RuntimeError, match="closed Session"):
        await session.partial_run_setup(dear.short, dear.s)


def test_closing_from_another_thread_ends_a_synchronous_call(graph: Graph, dear: Dear) -> None:
    session = Session(graph=graph)
    handle = session.partial_run_setup([dear.product], [dear.x])
    run = run_of(session, handle)
    errors: list[BaseException] = []

    def call() -> None:
        try:
            session.partial_run(handle, dear.product, {dear.x: LARGE})
        except CancelledError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while not run._lock.locked():  # until the call is in the step
        threading.Event().wait(0.001)
    session.close()
    thread.join()
    assert "closed" in str(errors[0])
    with pytest.raises(RuntimeError, match="closed Session"):
        session.partial_run(handle, [], {})


async def test_a_session_that_closes_while_calls_begin_says_that_it_is_closed(graph: Graph, stages: Stages) -> None:
    """1. A call lets others have the loop before it goes on. 2. The session closes. 3. The call goes on."""
    session = AsyncSession(graph=graph)
    handle = await session.partial_run_setup(stages.fetches, stages.feeds)
    runs = direct_session(session).partial_runs
    runs._turn_ends = 0.0
    call = asyncio.create_task(session.partial_run(handle, [], {stages.a: 1}))
    await asyncio.sleep(0)
    assert not call.done()
    await session.close()
    with pytest.raises(CancelledError, match=r"^Session has been closed\.$"):
        await call


def test_a_thread_whose_turn_comes_after_the_end_says_that_the_session_is_closed(graph: Graph, stages: Stages) -> None:
    """1. A call has found its run, which another thread is in. 2. The session closes. 3. It is its turn."""
    session = Session(graph=graph)
    handle = session.partial_run_setup(stages.fetches, stages.feeds)
    runs: Any = session._session.partial_runs
    run = run_of(session, handle)
    session.close()
    runs.thread_runs._runs[handle] = run
    with pytest.raises(CancelledError, match=r"^Session has been closed\.$"):
        runs.call_here(handle, ("a:0",), [1], (), None)


def runs_until_the_end(session: Session, stages: Stages, end: Callable[[], None]) -> list[str]:
    """Ends a session while four threads make partial runs in it; what they are told."""
    begun, told = threading.Barrier(5), []

    def work(index: int) -> None:
        begun.wait(20)
        if not index:
            end()
            return
        try:
            while True:
                handle = session.partial_run_setup(stages.fetches, stages.feeds)
                session.partial_run(handle, stages.first, {stages.a: index, stages.b: 1})
        except (CancelledError, RuntimeError) as error:
            told.append(str(error))

    in_threads(5, work)
    return told


@pytest.mark.parametrize("how", ["close", "reset"])
def test_nothing_is_left_when_a_session_ends_while_threads_run_it(how: str) -> None:
    with Graph().as_default() as graph:
        stages = Stages()
    for _ in range(10):
        session = Session(graph=graph)
        end = session.close if how == "close" else lambda: Session.reset("")
        told = runs_until_the_end(session, stages, end)
        assert len(told) == 4
        assert all("closed" in text or "reset" in text for text in told)
        statistics = session.statistics()
        assert (statistics.partial_runs, statistics.steps, statistics.pending) == (0, 0, 0)
        session.close()


def test_a_reset_ends_the_runs_of_a_session_whose_loop_is_gone(graph: Graph, stages: Stages) -> None:
    async def leave_open() -> AsyncSession:
        session = AsyncSession(graph=graph)
        for _ in range(3):
            await session.partial_run_setup(stages.fetches, stages.feeds)
        return session

    session = asyncio.run(leave_open())
    assert session.statistics().partial_runs == 3
    Session.reset("")
    statistics = session.statistics()
    assert (statistics.partial_runs, statistics.steps, statistics.pending) == (0, 0, 0)
    asyncio.run(session.close())


async def test_a_reset_from_another_thread_ends_however_many_runs(graph: Graph, stages: Stages) -> None:
    session = AsyncSession(graph=graph)
    for _ in range(11_000):  # more than a mailbox takes
        await session.partial_run_setup(stages.first, stages.feeds)
    await asyncio.to_thread(Session.reset, "")
    while session.statistics().partial_runs:  # noqa: ASYNC110 - told from another thread
        await asyncio.sleep(0)
    assert (session.statistics().steps, session.statistics().pending) == (0, 0)
    await session.close()


async def test_reset_gives_partial_runs_up(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    await session.reset("")
    assert session.counts()[0] == 0
    with pytest.raises(CancelledError, match=r"closed|reset"):
        await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1})


# -- the end of runs that nobody ends --------------------------------------------------------------
async def test_a_block_gives_an_incomplete_run_up(session: Any, stages: Stages) -> None:
    async with session.partial(stages.fetches, stages.feeds) as p:
        assert await p.run(stages.first, {stages.a: 1, stages.b: 2}) == 3
        assert session.counts()[0] == 1
        handle = p.handle
    assert session.counts() == (0, 0, 0)
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await session.partial_run(handle, stages.second, {stages.c: 1})


async def test_a_block_may_complete_its_run_or_end_with_an_error(session: Any, stages: Stages) -> None:
    async with session.partial(stages.first, stages.feeds[:2]) as p:
        assert await p.run(stages.first, {stages.a: 1, stages.b: 2}) == 3
    with pytest.raises(ZeroDivisionError):
        async with session.partial(stages.first, stages.feeds):
            raise ZeroDivisionError
    assert session.counts() == (0, 0, 0)


async def test_leaving_a_block_ends_the_calls_in_it_and_waits_for_their_kernels(graph: Graph, dear: Dear) -> None:
    async with AsyncSession(graph=graph) as session:
        async with session.partial([dear.product, dear.short], [dear.x, dear.s]) as p:
            step = run_of(session, p.handle).step
            call = asyncio.create_task(p.run(dear.product, {dear.x: LARGE}))
            await offloaded(session)
        assert step.done
        with pytest.raises(CancelledError, match=r"block .* was left"):
            await call
        assert session.statistics().partial_runs == 0


def test_a_block_is_entered_once_and_has_a_handle_inside(graph: Graph, stages: Stages) -> None:
    with Session(graph=graph) as session:
        p = session.partial(stages.first, stages.feeds)
        assert repr(p) == "<PartialRun not entered>"
        with pytest.raises(RuntimeError, match="has not begun"):
            p.run(stages.first)
        with p:
            assert p.handle in repr(p)
            with pytest.raises(RuntimeError, match="entered once"):
                p.__enter__()


async def test_a_dropped_object_gives_its_run_up(session: Any, stages: Stages) -> None:
    p = session.partial(stages.fetches, stages.feeds)
    await p.__aenter__()
    assert session.counts()[:2] == (1, 1)
    del p
    gc.collect()
    # The thread that entered it may hold it a moment longer, and a master is asked to drop it.
    while session.counts() != (0, 0, 0):  # noqa: ASYNC110
        await asyncio.sleep(0.001)


async def test_a_run_that_is_dropped_while_a_call_of_it_runs_is_given_up_after_that_call(
    graph: Graph, stages: Stages
) -> None:
    """1. A call runs a function in the thread of the loop. 2. The function drops the object of the run."""
    held: list[Any] = []

    def drop(value: Any) -> Any:
        held.clear()
        gc.collect()
        return value + 1

    dropping = ops.py_func(drop, [stages.first], "float32")
    in_loop = ConfigProto(inter_op_parallelism_threads=-1)
    async with AsyncSession(graph=graph, config=in_loop) as session:
        held.append(await session.partial([dropping, stages.second], stages.feeds).__aenter__())
        handle = held[0].handle
        assert await session.partial_run(handle, dropping, {stages.a: 1, stages.b: 2}) == 4
        assert held == []
        await asyncio.sleep(0)
        with pytest.raises(InvalidArgumentError, match="given up"):
            await session.partial_run(handle, stages.second, {stages.c: 1})
        assert session.statistics().steps == 0


async def test_a_run_that_nobody_continues_is_collected_after_its_idle_limit(make_session: Any, stages: Stages) -> None:
    face = make_session(ConfigProto(partial_run_idle_limit_in_ms=5000))
    clock = StillClock()
    set_clock(face.session, clock)
    old, used = await stages.setup(face), await stages.setup(face)
    clock.advance(4.0)
    await face.partial_run(used, [], {stages.a: 1})
    collect(face.session)
    assert face.counts()[0] == 2
    clock.advance(1.0)
    collect(face.session)
    assert face.counts()[:2] == (1, 1)
    with pytest.raises(InvalidArgumentError, match="given up"):
        await face.partial_run(old, [], {stages.a: 1})
    clock.advance(4.0)
    collect(face.session)
    assert face.counts() == (0, 0, 0)


async def test_the_default_idle_limit_is_ten_minutes(session: Any, stages: Stages) -> None:
    """A wrong call does not keep a run alive."""
    clock = StillClock()
    set_clock(session.session, clock)
    handle = await stages.setup(session)
    clock.advance(599.9)
    collect(session.session)
    with pytest.raises(InvalidArgumentError):
        await session.partial_run(handle, stages.first)
    assert session.counts()[0] == 1
    clock.advance(0.1)
    collect(session.session)
    assert session.counts() == (0, 0, 0)


def test_a_run_that_a_thread_is_in_is_not_collected(graph: Graph, stages: Stages) -> None:
    with Session(graph=graph) as session:
        clock = StillClock()
        set_clock(session, clock)
        handle = session.partial_run_setup(stages.fetches, stages.feeds)
        clock.advance(600.0)
        run = run_of(session, handle)
        run.enter()  # as a call does
        collect(session)
        run.leave()
        assert session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 1}) == 2
        collect(session)
        assert session.statistics().partial_runs == 1


async def test_on_a_loop_a_timer_collects_and_exists_while_runs_are_open(graph: Graph, stages: Stages) -> None:
    async with AsyncSession(graph=graph) as session:
        runs, clock = direct_session(session).partial_runs.actor.runs, StillClock()
        runs.clock = clock
        assert timer_of(runs) is None
        await session.partial_run_setup(stages.fetches, stages.feeds)
        clock.advance(300.0)
        handle = await session.partial_run_setup(stages.fetches, stages.feeds)
        clock.advance(300.0)
        timer_of(runs).cancel()
        runs._on_timer()  # as the loop would
        assert len(runs) == 1
        assert timer_of(runs).when() > 0
        await session.partial_run(handle, stages.fetches, {"a:0": 1, "b:0": 1, "c:0": 1})
        assert timer_of(runs) is None


def collecting() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "actorsession-partial-runs"}


def test_without_a_loop_one_thread_collects_and_ends_once_no_run_is_open(graph: Graph, stages: Stages) -> None:
    """1. Two runs begin: one thread looks after them. 2. They are complete. 3. At its next look it ends.
    4. The next run has one again. 5. Closing ends it."""
    before = collecting()  # for sessions that nobody has closed
    with Session(graph=graph) as session:
        runs = direct_session(session).partial_runs.thread_runs
        assert collector_of(runs) is None
        handles = [session.partial_run_setup(stages.fetches, stages.feeds) for _ in range(2)]
        collector = collector_of(runs)
        assert len(collecting() - before) == 1
        for handle in handles:
            session.partial_run(handle, stages.fetches, {"a:0": 1, "b:0": 1, "c:0": 1})
        assert not runs.keeps(collector)
        collector.end()
        session.partial_run_setup(stages.fetches, stages.feeds)
        second = collector_of(runs)
        assert second is not collector
        assert runs.keeps(second)
    assert collecting() <= before


async def test_closing_the_session_collects_its_runs_with_their_rendezvous(session: Any, stages: Stages) -> None:
    handle = await stages.setup(session)
    await session.partial_run(handle, [], {stages.a: 1, stages.b: 1})
    assert session.counts() == (1, 1, 2)  # a receiver for c, and the first stage, which nobody took
    await session.close()
    assert session.counts() == (0, 0, 0)


async def collect_all(face: Any) -> None:
    """Has the runs collected that nobody continues, and waits until they are."""
    set_clock(face.session, clock := StillClock())
    clock.advance(1e9)
    collect(face.session)
    while face.session.statistics().partial_runs:  # noqa: ASYNC110 - an actor is told
        await asyncio.sleep(0)


@pytest.mark.parametrize("fed", [["a"], ["a", "b"]], ids=["the step waits", "the step has ended"])
async def test_its_rendezvous_is_emptied(session: Any, graph: Graph, fed: list[str]) -> None:
    """1. A run is fed, in part or wholly. 2. Nobody takes its values, which wait. 3. It is collected."""
    a, b = ops.placeholder("float32", [], name="a"), ops.placeholder("float32", [], name="b")
    first = a + 1.0
    second = first + b
    handle = await session.partial_run_setup([first, second], [a, b])
    rendezvous = run_of(session.session, handle).step.rendezvous
    await session.partial_run(handle, [], {f"{name}:0": 1 for name in fed})
    assert sum(rendezvous.pending) == 2
    await collect_all(session)
    assert rendezvous.pending == (0, 0)
    with pytest.raises(InvalidArgumentError, match="given up"):
        await session.partial_run(handle, first)


async def test_what_it_was_fed_is_let_go(session: Any, graph: Graph) -> None:
    x, y = ops.placeholder("float32", [1000]), ops.placeholder("float32", [])
    kept = ops.identity(x) * y
    handle = await session.partial_run_setup(kept, [x, y])
    fed = np.ones(1000, np.float32)
    fed.flags.writeable = False  # so that it is kept as it is
    await session.partial_run(handle, [], {x: fed})
    held = weakref.ref(fed)
    del fed
    gc.collect()
    assert held() is not None
    await collect_all(session)
    while held() is not None:  # a thread may hold what it worked on last a moment longer
        await session.run(ops.constant(1.0))
        gc.collect()
