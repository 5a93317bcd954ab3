"""Who held the event loop is named: on the loop itself, and from the kernel pool."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, Server, ServerSettings, Session, Tensor, ops
from actorsession.runtime.watchdog import HOLD_LIMIT, Watchdog, watchdog
from tests.cluster.gil_worker import hold
from tests.cluster.kit import PATIENCE, eventually
from tests.nodes import make_one, op_type


def linger(x: Tensor, name: str) -> Tensor:
    """Takes longer than its estimate says, so it runs on the loop."""
    return make_one("TestLinger", (x,), {}, name=name)


def _kernel(context: Any) -> Callable[[Any], Any]:
    def lingering(x: Any) -> Any:
        end = time.monotonic() + 1.2 * HOLD_LIMIT
        while time.monotonic() < end:
            pass
        return x

    return lingering


op_type("TestLinger", _kernel, aliases=True, cost=lambda inputs, outputs: 0.1)


@pytest.fixture
def named(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """What the watchdog has logged of this test."""
    watchdog().forget()
    caplog.set_level("WARNING", "actorsession.runtime")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "actorsession.runtime"]


async def test_a_kernel_that_holds_its_loop_is_named_once(graph: Graph, named: Callable[[], list[str]]) -> None:
    x = ops.placeholder("float32", [], name="x")
    y = linger(x, "slow") * 2.0
    async with AsyncSession(graph=graph) as session:
        assert await session.run(y, {x: 1.0}) == 2.0
    async with AsyncSession(graph=graph) as session:
        assert await session.run([y, x + 1.0], {x: 1.0}) == [2.0, 2.0]
    (message,) = named()
    assert "CPU:0: 'slow' (TestLinger)" in message or "by estimate the dearest of 2" in message
    seconds: Any = re.search(r"held the event loop for (\d+\.\d+) s", message)
    assert HOLD_LIMIT < float(seconds[1]) < PATIENCE


def test_a_kernel_holds_nobody_where_there_is_no_loop(graph: Graph, named: Callable[[], list[str]]) -> None:
    with Session(graph=graph) as session:
        assert session.run(linger(ops.constant(1.0), "slow")) == 1.0
    assert named() == []


async def test_a_kernel_of_the_pool_that_keeps_the_interpreter_lock_is_named_once(
    graph: Graph, named: Callable[[], list[str]], tmp_path: Path
) -> None:
    """The server sees that its loop was late, the pool that a kernel ran meanwhile."""
    y = hold(ops.constant(2.0), 0.3, marker=tmp_path / "begun")
    async with Server({"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(beat=0.1)) as server:
        async with AsyncSession(server.target, graph=graph) as session:
            assert await session.run(y) == 2.0
            await eventually(lambda: bool(named()))
            assert await session.run(y) == 2.0
            assert server.statistics().worst_loop_lag > HOLD_LIMIT
    (message,) = named()
    said = "'TestHold' (TestHold) ran in the kernel pool, and the event loop was held for "
    assert re.search(re.escape(said) + r"\d+\.\d+ s", message)


def test_a_loop_that_was_hardly_late_is_not_looked_into() -> None:
    dog = Watchdog()
    dog.late(HOLD_LIMIT / 2)
    dog.late(10 * HOLD_LIMIT)
    assert [end - begin for begin, end in dog._late] == pytest.approx([10 * HOLD_LIMIT])
