"""What stays open takes little: sessions and plans, counted in the bytes that Python has allocated."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import combinations
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, ops
from tests.cluster.kit import InProcess, in_process, reach_over_links

# What is counted, and before that made once, so that what all share is there.
COUNT, SHARED = 10, 2


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InProcess]:
    reach_over_links(monkeypatch)
    async with in_process({"worker": 1}) as made:
        yield made


async def bytes_of_each(make: Callable[[], Awaitable[Any]]) -> float:
    """The bytes that are allocated for each of some objects, while all of them stay."""
    for _ in range(SHARED):
        await make()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(COUNT):
            await make()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / COUNT
    finally:
        tracemalloc.stop()


async def bytes_of_session(target: str, *, runs: bool = True) -> float:
    """The bytes of an open session of a graph of four nodes, which has run or not."""
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [])
        more = x * 0.5 + 1.0
    async with AsyncExitStack() as opened:

        async def open_one() -> None:
            session = await opened.enter_async_context(AsyncSession(target, graph=graph))
            if runs:
                assert await session.run(more, {x: 3.0}) == 2.5

        return await bytes_of_each(open_one)


async def test_a_session_in_this_process_takes_little() -> None:
    assert await bytes_of_session("") < 64 * 1024


async def test_a_session_over_a_connection_takes_little_at_client_and_server_together(cluster: InProcess) -> None:
    """With a buffer of its own for small frames, each of the two ends had 256 KiB more."""
    target = cluster.servers[0].target
    assert await bytes_of_session(target, runs=False) < 64 * 1024
    assert await bytes_of_session(target) < 80 * 1024


async def test_a_plan_takes_what_its_own_nodes_take_however_large_the_graph_is() -> None:
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [])
        nodes = [x * float(k) for k in range(200)]
    plans = iter(combinations(nodes, 3))
    async with AsyncSession(graph=graph) as session:

        async def run_one() -> None:
            await session.run(next(plans), {x: 2.0})

        assert await bytes_of_each(run_one) < 32 * 1024
