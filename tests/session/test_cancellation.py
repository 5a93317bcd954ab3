"""Giving steps up: whoever asks, the step ends between two nodes and the session goes on."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import ops
from actorsession.config import ConfigProto, RunOptions
from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Tensor
from actorsession.runtime.executor import Gate
from actorsession.session import AsyncSession, Session

SIDE = 16  # a power of two: every value here is exact
VALUE = np.full([SIDE, SIDE], 1.0 / SIDE, np.float32)


def in_python(function: Callable[[Any], Any], x: Tensor) -> Tensor:
    """A node that calls a Python function, whose cost nobody knows."""
    made = ops.py_func(function, [x], "float32")
    assert isinstance(made, Tensor)
    return made


class Model:
    """Work on three devices, two of them with Python code that goes to the kernel pool, and a counter."""

    def __init__(self) -> None:
        self.x = ops.placeholder("float32", [SIDE, SIDE], name="x")
        parts = []
        graph = self.x.graph
        for device in range(3):
            with graph.device(f"/device:CPU:{device}"):
                part = self.x
                for _ in range(4):
                    part = ops.matmul(part, self.x)
                if device:
                    part = in_python(np.copy, part)
                parts.append(ops.reduce_sum(part))
        with graph.device("/device:CPU:1"):
            self.total = ops.add_n(parts) * 2.0
            self.v = ops.Variable(0.0)
            with graph.control_dependencies([self.total]):
                self.count = self.v.assign_add(1.0)
        self.expected = np.float32(6.0 * SIDE)


THREE = ConfigProto(device_count={"CPU": 3}, inter_op_parallelism_threads=2)


async def test_a_thousand_cancelled_steps_leave_nothing_behind(graph: Graph) -> None:
    """1. A step begins. 2. It is cancelled after a random number of turns of the loop.
    3. It ends with CancelledError, or it was faster. 4. Nothing is pending, the next step is right, and
    the counter has counted each step once or not at all."""
    model = Model()
    turns = random.Random(20261121)
    cancelled = 0
    async with AsyncSession(graph=graph, config=THREE) as session:
        await session.run(model.v.initializer)
        counted = 0.0
        for _ in range(1000):
            run = asyncio.create_task(session.run([model.total, model.count], {model.x: VALUE}))
            for _ in range(turns.randrange(12)):
                await asyncio.sleep(0)
            run.cancel()
            try:
                total, _ = await run
                assert total == model.expected
            except asyncio.CancelledError:
                cancelled += 1
            seen = session.statistics()
            assert (seen.steps, seen.pending) == (0, 0)
            assert await session.run(model.total, {model.x: VALUE}) == model.expected
            value = await session.run(model.v)
            assert value in (counted, counted + 1.0)
            counted = value
        assert session.statistics().offloaded > 1000
    assert cancelled > 100


async def test_cancelling_some_of_many_steps_leaves_the_others_alone(graph: Graph) -> None:
    model = Model()
    async with AsyncSession(graph=graph, config=THREE) as session:
        runs = [
            asyncio.create_task(session.run(model.total, {model.x: VALUE * np.float32(i)}))
            for i in range(40)
        ]
        await asyncio.sleep(0)
        for run in runs[::2]:
            run.cancel()
        ended = await asyncio.gather(*runs, return_exceptions=True)
        for i, outcome in enumerate(ended):
            if isinstance(outcome, asyncio.CancelledError):
                assert i % 2 == 0
            else:
                assert not isinstance(outcome, BaseException)
                expected = 6.0 * SIDE * float(i) ** 5
                np.testing.assert_allclose(outcome, expected, rtol=1e-4)
        assert session.statistics().steps == 0


async def test_a_limit_leaves_the_session_usable(make_session: Any) -> None:
    x = ops.placeholder("float32", [600, 600])
    y = x
    for _ in range(2000):
        y = ops.matmul(y, x)
    session = make_session(ConfigProto(operation_timeout_in_ms=60))
    value = np.zeros([600, 600], np.float32)
    with pytest.raises(DeadlineExceededError):
        await session.run(y, {x: value})
    with pytest.raises(DeadlineExceededError):
        await session.run(y, {x: value}, options=RunOptions(timeout_in_ms=30))
    assert await session.run(x[0, 0] + 1.0, {x: value}) == 1.0
    assert session.session.statistics().steps == 0


class CountingGate(Gate):
    """A gate that counts how often generated code looks at it."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def check(self) -> None:
        self.looks += 1
        super().check()


def test_a_segment_of_very_many_cheap_nodes_can_end_between_them(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    y = x
    for _ in range(5_000):
        y = y * 1.0001
    with Session(graph=graph) as session:
        gate = session._session._gate = CountingGate()
        assert np.isfinite(session.run(y, {x: 1.0}))
    assert 2 < gate.looks < 100  # about one for each millisecond of estimated work


def test_closing_from_another_thread_ends_a_run_of_the_synchronous_face(graph: Graph) -> None:
    """1. A thread is in the middle of a long step. 2. Another thread closes the session.
    3. The step ends with CancelledError. 4. Later runs say that the session is closed."""
    x = ops.placeholder("float32", [400, 400])
    entered, go_on = threading.Event(), threading.Event()

    def gate(value: Any) -> Any:
        entered.set()
        assert go_on.wait(20)
        return value

    y = in_python(gate, x)
    y.set_shape([400, 400])
    for _ in range(500):
        y = ops.matmul(y, x)
    session = Session(graph=graph)
    ended: list[BaseException] = []

    def work() -> None:
        try:
            session.run(y, {x: np.zeros((400, 400), np.float32)})
        except BaseException as exc:
            ended.append(exc)

    thread = threading.Thread(target=work)
    thread.start()
    assert entered.wait(20)
    session.close()
    go_on.set()
    thread.join(20)
    assert [type(e) for e in ended] == [CancelledError]
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(y)


async def test_an_error_is_not_hidden_by_the_cancellations_that_it_causes(graph: Graph) -> None:
    """A shape that fits nobody fails on one device while the others are at work."""
    model = Model()
    with graph.device("/device:CPU:2"):
        rows = ops.placeholder("float32", None)
        bad = ops.reduce_sum(ops.matmul(rows, model.x))
    async with AsyncSession(graph=graph, config=THREE) as session:
        for _ in range(20):
            with pytest.raises(InvalidArgumentError) as info:
                await session.run(
                    [model.total, bad], {model.x: VALUE, rows: np.ones((2, 3), np.float32)}
                )
            assert not info.value.derived
            assert "CPU:2" in str(info.value)
            assert session.statistics().steps == 0
        assert await session.run(model.total, {model.x: VALUE}) == model.expected
