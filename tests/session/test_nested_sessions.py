"""Functions in a graph that run sessions of their own: as deep as one likes, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, ConfigProto, Graph, Session, ops
from actorsession.errors import InvalidArgumentError, UnknownError
from tests.rows import for_each

DEPTH = 8
ONE_THREAD = ConfigProto(inter_op_parallelism_threads=1)
# With a limit in time a step may go another way than one that nothing has to interrupt.
LIMITED = ConfigProto(inter_op_parallelism_threads=1, operation_timeout_in_ms=20_000)


def tower(depth: int, config: ConfigProto) -> Callable[[], Any]:
    """A function that runs a session on a graph whose function runs a session, and so on."""

    def run() -> Any:
        with Graph().as_default() as graph:
            y = nested(depth - 1, config) * 2.0
        with Session(graph=graph, config=config) as session:
            return session.run(y)

    return run


def nested(depth: int, config: ConfigProto) -> Any:
    """A tensor of the default graph whose value, 1, comes from ``depth`` sessions further down."""
    if not depth:
        return ops.constant(1.0)
    return ops.py_func(tower(depth, config), [], "float32")


@pytest.mark.parametrize("config", [ONE_THREAD, LIMITED], ids=["unlimited", "limited"])
def test_sessions_run_in_functions_eight_deep(config: ConfigProto, graph: Graph) -> None:
    y = nested(DEPTH, config)
    with Session(graph=graph, config=config) as session:
        assert session.run(y) == 2**DEPTH


@for_each("config", [ONE_THREAD, LIMITED], ids=["unlimited", "limited"])
async def test_a_function_in_an_async_session_runs_sessions_eight_deep(config: ConfigProto, graph: Graph) -> None:
    y = nested(DEPTH, config)
    async with AsyncSession(graph=graph, config=config) as session:
        for _ in range(3):  # measured by now, and cheap; still no code of the user's on the loop
            assert await session.run(y) == 2**DEPTH


@pytest.mark.parametrize("config", [ONE_THREAD, LIMITED], ids=["unlimited", "limited"])
def test_a_function_may_run_the_session_that_runs_it(config: ConfigProto, graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    results: list[Any] = []

    def again(value: Any) -> Any:
        return session.run(results[0], {x: value - 1}) * 2 if value else np.float32(1)

    results.append(ops.py_func(again, [x], "float32"))
    with Session(graph=graph, config=config) as session:
        assert session.run(results[0], {x: DEPTH}) == 2**DEPTH


@pytest.mark.parametrize("config", [ONE_THREAD, LIMITED], ids=["unlimited", "limited"])
def test_what_an_inner_session_sends_to_the_pool_passes_the_outer_function(config: ConfigProto, graph: Graph) -> None:
    """The inner product is dear, and the outer function holds a thread while it is computed."""

    def product() -> Any:
        with Graph().as_default() as inner:
            x = ops.placeholder("float32", [None, 400])
            with inner.device("/cpu:0"):
                y = ops.reduce_sum(ops.matmul(x, x))
        with Session(graph=inner, config=config) as session:
            return session.run(y, {x: np.eye(400, dtype=np.float32)})

    y = ops.py_func(product, [], "float32")

    async def main() -> Any:
        async with AsyncSession(graph=graph, config=config) as session:
            return await session.run(y)

    assert asyncio.run(main()) == 400


async def test_functions_that_wait_for_each_other_both_run(graph: Graph) -> None:
    """One thread in the pool, and two functions of which neither can end alone."""
    meeting = threading.Barrier(2, timeout=60)
    waits = [ops.py_func(meeting.wait, [], "int64") for _ in range(2)]
    async with AsyncSession(graph=graph, config=ONE_THREAD) as session:
        found = await asyncio.gather(*[session.run(w) for w in waits])
    assert sorted(found) == [0, 1]


async def test_the_loop_goes_on_while_a_function_waits(graph: Graph) -> None:
    gate = threading.Event()
    y = ops.py_func(lambda: gate.wait(20), [], "bool")
    async with AsyncSession(graph=graph, config=ONE_THREAD) as session:
        for _ in range(2):
            waiting = asyncio.ensure_future(session.run(y))
            # The pool's only thread is free for what is dear, although a function waits.
            assert await session.run(ops.constant(1.0)) == 1
            gate.set()
            assert await waiting


async def test_a_function_between_two_devices_runs_a_session(graph: Graph) -> None:
    with graph.device("/cpu:1"):
        x = ops.placeholder("float32", [])
        y = -x
    with graph.device("/cpu:0"):
        z = ops.py_func(lambda v: v * tower(2, ONE_THREAD)(), [y], "float32")
    with graph.device("/cpu:1"):
        total = z + y
    config = ConfigProto(device_count={"CPU": 2}, inter_op_parallelism_threads=1)
    async with AsyncSession(graph=graph, config=config) as session:
        assert await session.run(total, {x: 3.0}) == -15


async def test_the_error_of_the_innermost_session_is_told_by_all(graph: Graph) -> None:
    def inner() -> Any:
        with Graph().as_default() as made:
            y = ops.py_func(lambda: [][1], [], "float32", name="deep")
        with Session(graph=made) as session:
            return session.run(y)

    y = ops.py_func(inner, [], "float32", name="shallow")
    async with AsyncSession(graph=graph) as session:
        with pytest.raises(UnknownError) as caught:
            await session.run(y)
    assert caught.value.node == "shallow"
    assert isinstance(caught.value.__cause__, UnknownError)
    assert caught.value.__cause__.node == "deep"
    assert isinstance(caught.value.__cause__.__cause__, IndexError)


async def test_where_kernels_run_on_the_loop_a_function_is_told_that_it_must_not_block(graph: Graph) -> None:
    y = nested(1, ONE_THREAD)
    config = ConfigProto(inter_op_parallelism_threads=-1)
    async with AsyncSession(graph=graph, config=config) as session:
        with pytest.raises(UnknownError, match="must not be used inside a running event loop"):
            await session.run(y)


async def test_a_closed_session_lets_a_waiting_function_end_by_itself(graph: Graph) -> None:
    gate = threading.Event()
    entered = threading.Event()

    def wait() -> Any:
        entered.set()
        return gate.wait(20)

    y = ops.py_func(wait, [], "bool")
    session = AsyncSession(graph=graph, config=ONE_THREAD)
    waiting = asyncio.ensure_future(session.run(y))
    await asyncio.to_thread(entered.wait, 20)
    closing = asyncio.ensure_future(session.close())
    asyncio.get_running_loop().call_soon(gate.set)  # behind the first turn of closing
    await closing
    with pytest.raises(Exception, match=r"[Cc]losed"):
        await waiting


def test_a_function_that_refuses_its_inputs_says_so_through_two_sessions(graph: Graph) -> None:
    def refuse() -> Any:
        raise InvalidArgumentError("not these")

    y = ops.py_func(refuse, [], "float32")
    with Session(graph=graph) as session, pytest.raises(UnknownError, match="not these"):
        session.run(y)
