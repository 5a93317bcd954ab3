"""Many partial runs at once: beside each other, in many threads, and inside functions of one another."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, ConfigProto, Graph, Session, get_default_graph, ops
from actorsession.errors import InvalidArgumentError, UnknownError
from tests.session.partial_kit import Stages
from tests.session.test_concurrency import in_threads

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
    graph = Graph()
    with graph.as_default():
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
    graph = Graph()
    with graph.as_default():
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
    graph = Graph()
    with graph.as_default():
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


def test_a_function_that_continues_its_own_run_is_refused_and_does_not_wait_for_ever(
    graph: Graph, stages: Stages
) -> None:
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


async def test_loops_and_functions_on_several_devices_run_as_their_feeds_come(
    make_session: Any, stages: Stages
) -> None:
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
