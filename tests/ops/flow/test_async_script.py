"""``async_py_func``: a step awaits the user's coroutine, and nobody waits in a thread for it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, Session, ops
from actorsession.config import ConfigProto, RunOptions
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, UnknownError
from tests.cluster.kit import eventually, in_process, soon
from tests.rows import for_each, refused


async def double(x: Any) -> Any:
    await asyncio.sleep(0)
    return x * 2


async def test_a_step_awaits_it_on_the_sessions_loop() -> None:
    seen: list[Any] = []

    async def look(x: Any) -> Any:
        seen.extend([asyncio.get_running_loop(), threading.current_thread()])
        return await double(x)

    x = ops.placeholder("float32", [2])
    y = ops.async_py_func(look, [x], "float32") + 1.0
    async with AsyncSession() as session:
        np.testing.assert_array_equal(await session.run(y, {x: [1.0, 2.0]}), [3.0, 5.0])
    assert seen == [asyncio.get_running_loop(), threading.current_thread()]


async def test_hundreds_are_awaited_at_once() -> None:
    gate, entered = asyncio.Event(), [0]

    async def stay(x: Any) -> Any:
        entered[0] += 1
        await gate.wait()
        return x

    x = ops.placeholder("float32", [])
    y = ops.async_py_func(stay, [x], "float32")
    async with AsyncSession(config=ConfigProto(inter_op_parallelism_threads=1)) as session:
        runs = [asyncio.ensure_future(session.run(y, {x: i})) for i in range(200)]
        await eventually(lambda: entered[0] == 200)
        gate.set()
        assert await soon(asyncio.gather(*runs)) == [float(i) for i in range(200)]


@for_each("how", ["cancel", "limit"])
async def test_a_step_that_ends_early_cancels_it(how: str) -> None:
    entered, ended = asyncio.Event(), asyncio.Event()

    async def stay() -> Any:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    y = ops.async_py_func(stay, [], "float32")
    async with AsyncSession() as session:
        options = RunOptions(timeout_in_ms=100) if how == "limit" else None
        run = asyncio.ensure_future(session.run(y, options=options))
        await soon(entered.wait())
        if how == "cancel":
            run.cancel()
        with pytest.raises(asyncio.CancelledError if how == "cancel" else DeadlineExceededError):
            await soon(run)
        await soon(ended.wait())


@for_each("error, kind", [(ValueError("bad"), InvalidArgumentError), (KeyError("k"), UnknownError)])
async def test_what_it_raises_is_an_error_of_its_node(error: Exception, kind: Any) -> None:
    async def fail() -> Any:
        raise error

    y = ops.async_py_func(fail, [], "float32", name="failing")
    async with AsyncSession() as session:
        with pytest.raises(kind) as info:
            await session.run(y)
        assert info.value.node == "failing"
        assert "test_async_script.py:" in (info.value.source or "")


async def test_results_are_checked_as_those_of_a_py_func() -> None:
    async def wrong() -> Any:
        return np.float64(1.0)

    async with AsyncSession() as session:
        with pytest.raises(InvalidArgumentError, match="is float64, but expects float32"):
            await session.run(ops.async_py_func(wrong, [], "float32"))
        with pytest.raises(InvalidArgumentError, match="await"):
            await session.run(ops.async_py_func(lambda: 1.0, [], "float32"))  # type: ignore[arg-type,return-value]
    refused(lambda: ops.async_py_func(5, [], "float32"), ValueError, "something that can be called")  # type: ignore[arg-type]


@pytest.mark.parametrize("inline", [False, True], ids=["pool", "caller"])
def test_a_synchronous_session_has_a_loop_for_it(inline: bool) -> None:
    """Inside a loop of the graph too, where a thread waits."""
    x = ops.placeholder("float32", [])
    y = ops.async_py_func(double, [x], "float32")

    def body(v: Any) -> Any:
        made = ops.async_py_func(double, [v], "float32")
        made.set_shape([])
        return made

    z = ops.while_loop(lambda v: v < 100.0, body, [x])
    config = ConfigProto(inter_op_parallelism_threads=-1 if inline else 1)
    with Session(config=config) as session:
        assert (session.run(y, {x: 3.0}), session.run(z, {x: 3.0})) == (6.0, 192.0)
        assert session.run([y, z], {x: 3.0}) == [6.0, 192.0]


async def test_it_runs_in_the_process_that_built_the_graph(graph: Graph) -> None:
    y = ops.async_py_func(double, [4.0], "float32")
    async with in_process({"worker": 1}) as cluster, AsyncSession(cluster.target(), graph) as session:
        assert await session.run(y) == 8.0
