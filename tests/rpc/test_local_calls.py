"""Runs of programs within a process: one answer each, on the client's loop, whichever loop the master has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

from actorsession.errors import AbortedError, CancelledError, InvalidArgumentError, OpError
from actorsession.graph.codec import INLINE_LIMIT, bytes_held
from actorsession.messages.step_frames import WireValues
from actorsession.rpc.local_calls import LocalCalls, LocalRun, LocalValues
from actorsession.runtime.loop_thread import LoopThread
from tests.cluster.kit import PATIENCE, soon


class Waiter:
    """Notes what it is told of a run."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()

    def _tell(self, what: Any) -> None:
        assert asyncio.get_running_loop() is self.loop
        self.told.append(what)
        self._ended.set()

    def done(self, values: Any, extra: Any) -> None:
        self._tell(values.read_all())

    def failed(self, error: OpError) -> None:
        self._tell(error)

    def gone(self) -> None:
        self._tell("gone")

    async def wait(self) -> Any:
        await soon(self._ended.wait())
        return self.told


class Program:
    """Notes the runs that begin, and does with each what the test says."""

    def __init__(self, act: Callable[[LocalRun], None] = lambda run: None) -> None:
        self.runs: list[LocalRun] = []
        self._act = act

    def begin(self, run: LocalRun) -> None:
        self.runs.append(run)
        self._act(run)


class Master:
    """The loop of a master: that of the test, or one of its own.

    Attributes:
        calls: the calls of its client.
    """

    def __init__(self, thread: LoopThread | None) -> None:
        self.thread = thread
        self.calls = LocalCalls("master", "inproc://master")

    async def do(self, work: Callable[[], Any]) -> Any:
        """Has the loop of the master do something, after what it was told before."""
        if self.thread is None:
            return work()

        async def done() -> Any:
            return work()

        return await soon(asyncio.wrap_future(self.thread.submit(done())))

    async def register(self, program: Program) -> int:
        number: int = await self.do(lambda: self.calls.register(program))
        return number


@pytest.fixture(params=["one loop", "two loops"])
async def master(request: Any) -> AsyncIterator[Master]:
    thread = LoopThread("master") if request.param == "two loops" else None
    yield Master(thread)
    if thread is not None:
        await asyncio.to_thread(thread.stop)


def double(run: LocalRun) -> None:
    run.done(LocalValues([2 * value for value in run.values.read_all()]))


async def test_a_run_gets_its_values_once(master: Master) -> None:
    program = Program(double)
    number, waiters = await master.register(program), [Waiter() for _ in range(3)]
    for call, waiter in enumerate(waiters):
        master.calls.run(call, number, 1.5, LocalValues([call]), waiter)
    assert [await waiter.wait() for waiter in waiters] == [[[0]], [[2]], [[4]]]
    assert [(run.seconds, len(run.values)) for run in program.runs] == 3 * [(1.5, 1)]


async def test_a_run_of_an_unknown_program_is_gone(master: Master) -> None:
    program = Program(double)
    number = await master.register(program)
    await master.do(lambda: master.calls.drop(number))
    waiter = Waiter()
    master.calls.run(1, number, None, LocalValues([]), waiter)
    assert await waiter.wait() == ["gone"]
    assert not program.runs


@pytest.mark.parametrize("error", [InvalidArgumentError("wrong"), ZeroDivisionError("wrong")])
async def test_what_a_program_raises_is_the_error_of_its_run(
    error: Exception, master: Master
) -> None:
    def fail(run: LocalRun) -> None:
        raise error

    number, waiter = await master.register(Program(fail)), Waiter()
    master.calls.run(1, number, None, LocalValues([]), waiter)
    (told,) = await waiter.wait()
    assert isinstance(told, OpError)
    assert "wrong" in told.message


async def test_a_cancelled_run_is_told_to_its_program_and_not_answered(master: Master) -> None:
    cancelled: list[LocalRun] = []

    def hold(run: LocalRun) -> None:
        run.on_cancel = lambda: cancelled.append(run)

    program, waiter = Program(hold), Waiter()
    number = await master.register(program)
    master.calls.run(1, number, None, LocalValues([]), waiter)
    master.calls.cancel(1)
    master.calls.cancel(1)
    await master.do(lambda: program.runs[0].done(LocalValues([1])))
    await asyncio.sleep(0)
    assert (cancelled, waiter.told) == (program.runs, [])


async def test_a_run_that_was_answered_cannot_be_cancelled(master: Master) -> None:
    def answer(run: LocalRun) -> None:
        run.on_cancel = lambda: pytest.fail("the run has ended")
        double(run)

    number, waiter = await master.register(Program(answer)), Waiter()
    master.calls.run(1, number, None, LocalValues([1]), waiter)
    master.calls.cancel(7)
    if master.thread is not None:
        # The answer is on its way when the run is cancelled: the loop of the client has no turn meanwhile.
        master.thread.submit(asyncio.sleep(0)).result(PATIENCE)
        master.calls.cancel(1)
        await master.do(lambda: None)
        assert waiter.told == []
    else:
        master.calls.cancel(1)
        assert waiter.told == [[2]]


async def test_the_end_of_the_connection_ends_all_runs(master: Master) -> None:
    number, waiters = await master.register(Program()), [Waiter(), Waiter()]
    for call, waiter in enumerate(waiters):
        master.calls.run(call, number, None, LocalValues([]), waiter)
    master.calls.end()
    for waiter in waiters:
        (error,) = await waiter.wait()
        assert isinstance(error, CancelledError)
        assert "the connection to master was closed here" in error.message


async def test_a_run_at_a_loop_that_is_closed_fails() -> None:
    master, waiter = Master(LoopThread("closed master")), Waiter()
    number = await master.register(Program(double))
    assert master.thread is not None
    await asyncio.to_thread(master.thread.stop)
    with pytest.raises(AbortedError, match="the event loop of master is closed"):
        master.calls.run(1, number, None, LocalValues([]), waiter)
    master.calls.end()
    assert waiter.told == []


def test_values_count_as_those_of_a_frame_do() -> None:
    fed: list[Any] = [np.zeros(INLINE_LIMIT, np.float64), np.float32(1.0), "text"]
    here, there = LocalValues(fed), WireValues.of(fed)
    assert (len(here), here.nbytes) == (len(there), bytes_held(fed))
    assert LocalValues(fed[1:]).nbytes == there.nbytes - fed[0].nbytes == 0
    passed = WireValues([])
    for number in range(3):
        here.pass_on(number, passed)
        assert here.read(number) is fed[number]
    assert passed.items == there.items
