"""Many at once: threads, children, cancellation, limits in time, and a process that forks."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession.ops as ops
from actorsession.config import ConfigProto, RunOptions
from actorsession.errors import CancelledError, DeadlineExceededError
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Tensor
from actorsession.session import AsyncSession, Session


@pytest.fixture
def long_graph() -> Iterator[tuple[Graph, Tensor, Tensor, Tensor]]:
    """A graph with a chain of products that takes seconds, a counter at its start, and a short way."""
    graph = Graph()
    with graph.as_default():
        x = y = ops.placeholder("float32", [700, 700], name="x")
        for _ in range(400):
            y = ops.matmul(y, x) * 0.01
        short = ops.placeholder("float32", [], name="s") + 1.0
        yield graph, x, y, short


LARGE = np.full([700, 700], 0.01, np.float32)


async def started(session: AsyncSession) -> None:
    """Waits until the pool has taken a segment."""
    while session.statistics().offloaded == 0:  # noqa: ASYNC110 - a counter has no event
        await asyncio.sleep(0.001)


async def test_cancelling_a_run_ends_the_step_and_leaves_the_session_usable(
    long_graph: Any,
) -> None:
    graph, x, y, short = long_graph
    async with AsyncSession(graph=graph) as session:
        run = asyncio.create_task(session.run(y, {x: LARGE}))
        await started(session)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert session.statistics().steps == 0
        assert await session.run(short, {"s:0": 1}) == 2


async def test_asyncio_timeout_ends_the_step(long_graph: Any) -> None:
    graph, x, y, short = long_graph
    async with AsyncSession(graph=graph) as session:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await session.run(y, {x: LARGE})
        assert session.statistics().steps == 0
        assert await session.run(short, {"s:0": 1}) == 2


async def test_a_limit_in_the_options_ends_the_step_with_deadline_exceeded(long_graph: Any) -> None:
    graph, x, y, short = long_graph
    async with AsyncSession(graph=graph) as session:
        with pytest.raises(DeadlineExceededError, match="step"):
            await session.run(y, {x: LARGE}, RunOptions(timeout_in_ms=50))
        assert await session.run(short, {"s:0": 1}) == 2


def test_a_limit_of_the_session_counts_in_the_synchronous_face_too(long_graph: Any) -> None:
    graph, x, y, short = long_graph
    config = ConfigProto(operation_timeout_in_ms=50)
    with Session(graph=graph, config=config) as session:
        with pytest.raises(DeadlineExceededError):
            session.run(y, {x: LARGE})
        assert session.run(short, {"s:0": 1}) == 2


async def test_closing_cancels_what_runs(long_graph: Any) -> None:
    graph, x, y, _ = long_graph
    session = AsyncSession(graph=graph)
    run = asyncio.create_task(session.run(y, {x: LARGE}))
    await started(session)
    await session.close()
    with pytest.raises(CancelledError, match="closed"):
        await run


async def test_a_run_that_is_dear_does_not_hold_up_another(long_graph: Any) -> None:
    graph, x, y, short = long_graph
    async with AsyncSession(graph=graph) as session:
        run = asyncio.create_task(session.run(y, {x: LARGE}))
        await started(session)
        for i in range(20):
            assert await session.run(short, {"s:0": i}) == i + 1
        assert not run.done()
        run.cancel()
        await asyncio.wait({run})


async def test_a_program_of_short_steps_lets_others_have_the_loop() -> None:
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [])
        y = x + 1.0
    async with AsyncSession(graph=graph) as session:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        child = asyncio.create_task(other())
        until = asyncio.get_running_loop().time() + 0.2
        while asyncio.get_running_loop().time() < until:
            await session.run(y, {x: 1})
        child.cancel()
        await asyncio.wait({child})
    assert turns > 5


async def test_many_runs_in_flight_keep_their_values_apart() -> None:
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [8])
        with graph.device("/cpu:1"):
            y = x * 2.0
        with graph.device("/cpu:0"):
            z = y + 1.0
    config = ConfigProto(device_count={"CPU": 2})
    async with AsyncSession(graph=graph, config=config) as session:
        runs = [session.run(z, {x: np.full(8, i, np.float32)}) for i in range(200)]
        for i, value in enumerate(await asyncio.gather(*runs)):
            np.testing.assert_array_equal(value, np.full(8, 2 * i + 1))


def in_threads(count: int, work: Any) -> None:
    """Runs ``work(index)`` in threads and raises what any of them raised."""
    errors: list[BaseException] = []

    def guarded(index: int) -> None:
        try:
            work(index)
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_many_threads_share_a_session_while_the_graph_grows() -> None:
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [], name="x")
        total = ops.Variable(0.0, name="total")
        add = total.assign_add(1.0)
        y = x * 3.0
    growing = threading.Event()
    with Session(graph=graph) as session:
        session.run(total.initializer)

        def work(index: int) -> None:
            for i in range(50):
                assert session.run(y, {x: i}) == 3 * i
                session.run(add.op)
                if index == 0:
                    with graph.as_default():
                        grown = x + float(i)
                    assert session.run(grown, {x: 1}) == 1 + i
                    growing.set()

        in_threads(32, work)
        assert growing.is_set()
        assert session.run(total) == 32 * 50


def test_threads_do_not_inherit_defaults() -> None:
    seen: list[Graph] = []
    with Session(graph=Graph()) as session:

        def work(index: int) -> None:
            from actorsession.graph.graph import get_default_graph
            from actorsession.session import get_default_session

            assert get_default_session() is None
            seen.append(get_default_graph())

        in_threads(3, work)
        assert session.graph not in seen
    assert len({id(g) for g in seen}) == 3


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_session_used_after_fork_says_so() -> None:
    graph = Graph()
    with graph.as_default():
        x = ops.constant(1)
    with Session(graph=graph) as session:
        assert session.run(x) == 1
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                session.run(x)
            except RuntimeError as exc:
                os.write(writer, str(exc).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            message = pipe.read().decode()
        os.waitpid(pid, 0)
    assert "cannot be used in the forked process" in message
    assert "spawn" in message


def test_ctrl_c_ends_a_synchronous_step_and_the_session_lives(long_graph: Any) -> None:
    """1. A dear step runs in the main thread. 2. SIGINT comes while it runs.
    3. The step ends with KeyboardInterrupt. 4. The next run is right."""
    graph, x, y, short = long_graph
    with Session(graph=graph) as session:
        timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.run(y, {x: LARGE})
        timer.join()
        assert session.run(short, {"s:0": 1}) == 2
