"""Calls of partial runs that wait: for dear kernels, until a limit or a cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
import threading
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, ConfigProto, Graph, Session, ops
from actorsession.errors import DeadlineExceededError, InvalidArgumentError
from tests.rows import for_each
from tests.session.partial_kit import LARGE, Dear, Stages, offloaded, run_of


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
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        statistics = session.statistics()
        assert (statistics.partial_runs, statistics.steps) == (1, 1)
        with pytest.raises(InvalidArgumentError, match="No partial run"):
            await session.partial_run(handle, dear.short, {dear.s: 1})
        assert await session.partial_run(other, dear.short, {dear.s: 1}) == 2
        assert await session.run(dear.short, {dear.s: 2}) == 3


async def test_a_limit_in_time_ends_the_run_with_deadline_exceeded_and_the_session_lives(
    make_session: Any, dear: Dear
) -> None:
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
