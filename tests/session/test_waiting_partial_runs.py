"""Partial runs of steps that wait for others, as those of queues do: in both faces they wait without harm."""

from __future__ import annotations

import asyncio
import signal
import threading
from typing import Any

import pytest

from actorsession import ConfigProto, Graph, Session, ops
from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError

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


def counts(face: Any) -> tuple[int, int, int]:
    seen = face.session.statistics()
    return (seen.partial_runs, seen.steps, seen.pending)


async def test_a_value_that_is_put_after_the_setup_is_taken(session: Any, taking: Taking) -> None:
    handle = await session.partial_run_setup([taking.taken, taking.product], taking.x)
    await session.run(taking.put, {taking.element: 2})
    assert await session.partial_run(handle, taking.taken) == 2
    assert await session.partial_run(handle, taking.product, {taking.x: 5}) == 10
    assert counts(session) == (0, 0, 0)
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
    assert counts(session)[0] == 2
    assert await session.partial_run(other, plain, {taking.x: 1}) == 2
    with pytest.raises(InvalidArgumentError, match="feed element:0 was not specified"):
        await session.partial_run(waiting, [], {taking.element: 1})
    await session.run(taking.put, {taking.element: 3})
    assert await session.partial_run(waiting, taking.product, {taking.x: 2}) == 6
    assert counts(session) == (0, 0, 0)


async def test_a_limit_gives_it_up_and_takes_nothing(make_session: Any, taking: Taking) -> None:
    face = make_session(LIMITED)
    handle = await face.partial_run_setup([taking.product], taking.x)
    with pytest.raises(DeadlineExceededError):
        await face.partial_run(handle, taking.product, {taking.x: 5})
    assert counts(face) == (0, 0, 0)
    await face.run(taking.put, {taking.element: 3})
    assert await face.run(taking.queue.size()) == 1


async def test_leaving_a_block_gives_it_up(session: Any, taking: Taking) -> None:
    async with session.partial([taking.product], taking.x):
        assert counts(session)[0] == 1
    assert counts(session) == (0, 0, 0)
    await session.run(taking.put, {taking.element: 3})
    assert await session.run(taking.queue.size()) == 1


async def test_closing_ends_a_call_that_waits(session: Any, taking: Taking) -> None:
    handle = await session.partial_run_setup([taking.product], taking.x)
    call = asyncio.ensure_future(session.partial_run(handle, taking.product, {taking.x: 5}))
    await asyncio.wait({call}, timeout=0.02)
    await session.close()
    with pytest.raises(CancelledError, match="closed"):
        await call
    assert counts(session) == (0, 0, 0)


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
