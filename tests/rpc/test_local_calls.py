"""Runs of programs within a process: one answer each, on the client's loop, whichever loop the master has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest

from actorsession.actors import Actor, CallContext
from actorsession.errors import AbortedError, CancelledError, InvalidArgumentError, OpError
from actorsession.graph.codec import INLINE_LIMIT
from actorsession.graph.held_arrays import bytes_held
from actorsession.messages.step_frames import PARTIAL_RUN, RUN_STEP, CallRequest, StepRequest, WireValues
from actorsession.rpc.local_calls import LocalCalls, LocalRun, LocalValues
from actorsession.runtime.loop_thread import LoopThread
from tests.cluster.kit import PATIENCE, eventually, soon


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
    """Notes the runs that begin, and does with each what the test says; also a partial run that is open."""

    def __init__(self, act: Callable[[LocalRun], None] = lambda run: None) -> None:
        self.runs: list[LocalRun] = []
        self.abandoned = 0
        self._act = act

    def begin(self, run: Any) -> None:
        self.runs.append(run)
        self._act(run)

    def abandon(self) -> None:
        self.abandoned += 1


class Plans(Actor):
    """A master that makes the program of each plan that it gets."""

    def __init__(self) -> None:
        super().__init__("master")
        self.program: Any = Program()
        self.planned: list[Any] = []

    def on_plan(self, wire: list[Any], call: CallContext) -> Any:
        self.planned.append(wire)
        if isinstance(self.program, Exception):
            raise self.program
        return self.program


PLAN = StepRequest(plan=["a plan"])


class Master:
    """The loop of a master: that of the test, or one of its own.

    Attributes:
        plans: the master.
        calls: the calls of its client.
    """

    def __init__(self, thread: LoopThread | None) -> None:
        self.thread = thread
        self.plans: Plans
        self.calls: LocalCalls

    async def start(self) -> Master:
        self.plans = await self.do(Plans)  # it belongs to that loop
        self.calls = LocalCalls(self.plans.ref, "inproc://master")
        return self

    async def do(self, work: Callable[[], Any]) -> Any:
        """Has the loop of the master do something, after what it was told before."""
        if self.thread is None:
            return work()

        async def done() -> Any:
            return work()

        return await soon(asyncio.wrap_future(self.thread.submit(done())))

    def run(
        self,
        call: int,
        values: Sequence[Any] = (),
        *,
        waiter: Waiter | None = None,
        asked: StepRequest | None = PLAN,
        number: int = 7,
    ) -> Waiter:
        """Requests a run as the session does."""
        waiter = waiter or Waiter()
        self.calls.request(RUN_STEP, call, number, 1.5, asked, LocalValues.of(values), waiter)
        return waiter

    def call_partial(self, call: int, setup: int, values: Sequence[Any] = ()) -> Waiter:
        waiter = Waiter()
        asked = CallRequest(("a:0",), ("b:0",))
        self.calls.request(PARTIAL_RUN, call, setup, 2.5, asked, LocalValues.of(values), waiter)
        return waiter


@pytest.fixture(params=["one loop", "two loops"])
async def master(request: Any) -> AsyncIterator[Master]:
    thread = LoopThread("master") if request.param == "two loops" else None
    yield await Master(thread).start()
    if thread is not None:
        await asyncio.to_thread(thread.stop)


def double(run: LocalRun) -> None:
    run.done(LocalValues.of([2 * value for value in run.values.read_all()]))


async def test_a_run_gets_its_values_once(master: Master) -> None:
    master.plans.program = program = Program(double)
    waiters = [master.run(call, [call]) for call in range(3)]
    assert [await waiter.wait() for waiter in waiters] == [[[0]], [[2]], [[4]]]
    assert [(run.seconds, len(run.values)) for run in program.runs] == 3 * [(1.5, 1)]
    assert master.calls.pending == 0


async def test_the_first_run_of_a_plan_brings_it_along_and_others_need_its_number_alone(master: Master) -> None:
    master.plans.program = Program(double)
    waiters = [master.run(call, [call], asked=asked) for call, asked in enumerate([PLAN, PLAN, None])]
    assert [await waiter.wait() for waiter in waiters] == [[[0]], [[2]], [[4]]]
    assert master.plans.planned == [["a plan"]]


@pytest.mark.parametrize("asked", [None, StepRequest(key="run")], ids=["nothing", "no plan"])
async def test_a_number_without_a_plan_is_gone_until_the_plan_is_brought(
    asked: StepRequest | None, master: Master
) -> None:
    master.plans.program = program = Program(double)
    waiters = [master.run(call, [call], asked=each) for call, each in enumerate([asked, PLAN, asked])]
    assert [await waiter.wait() for waiter in waiters] == [["gone"], [[2]], [[4]]]
    assert [run.asked for run in program.runs] == [PLAN, asked]


@pytest.mark.parametrize("error", [InvalidArgumentError("wrong"), ZeroDivisionError("wrong")])
async def test_a_plan_that_is_refused_fails_the_run_that_brought_it_and_is_not_kept(
    error: Exception, master: Master
) -> None:
    master.plans.program = error
    (told,) = await master.run(1).wait()
    assert isinstance(told, OpError)
    assert "wrong" in told.message
    assert await master.run(2, asked=None).wait() == ["gone"]


@pytest.mark.parametrize("error", [InvalidArgumentError("wrong"), ZeroDivisionError("wrong")])
async def test_what_a_program_raises_is_the_error_of_its_run(error: Exception, master: Master) -> None:
    def fail(run: LocalRun) -> None:
        raise error

    master.plans.program = Program(fail)
    (told,) = await master.run(1).wait()
    assert isinstance(told, OpError)
    assert "wrong" in told.message


async def test_a_cancelled_run_is_told_to_its_program_and_not_answered(master: Master) -> None:
    cancelled: list[LocalRun] = []

    def hold(run: LocalRun) -> None:
        run.on_cancel = lambda: cancelled.append(run)

    master.plans.program = program = Program(hold)
    waiter = master.run(1)
    master.calls.cancel(1)
    master.calls.cancel(1)
    await master.do(lambda: program.runs[0].done(LocalValues.of([1])))
    await asyncio.sleep(0)
    assert (cancelled, waiter.told) == (program.runs, [])


async def test_a_run_that_was_answered_cannot_be_cancelled(master: Master) -> None:
    def answer(run: LocalRun) -> None:
        run.on_cancel = lambda: pytest.fail("the run has ended")
        double(run)

    master.plans.program = Program(answer)
    waiter = master.run(1, [1])
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
    waiters = [master.run(call) for call in range(2)]
    master.calls.end()
    for waiter in waiters:
        (error,) = await waiter.wait()
        assert isinstance(error, CancelledError)
        assert "the connection to master was closed here" in error.message


async def test_a_run_at_a_loop_that_is_closed_fails() -> None:
    master = await Master(LoopThread("closed master")).start()
    assert master.thread is not None
    await asyncio.to_thread(master.thread.stop)
    waiter = Waiter()
    with pytest.raises(AbortedError, match="the event loop of master is closed"):
        master.run(1, waiter=waiter)
    master.calls.end()
    assert waiter.told == []


# -- what a run has taken --------------------------------------------------------------------------
class Queue:
    """What runs have taken: each notes whether it was received, on the loop of the master."""

    def __init__(self, master: Master) -> None:
        self.settled: list[bool] = []
        self._master = master
        master.plans.program = Program(self.take)

    def take(self, run: LocalRun) -> None:
        run.done(LocalValues.of([1]), None, self.settle)

    def settle(self, received: bool) -> None:
        assert asyncio.get_running_loop() is self._master.plans.loop
        self.settled.append(received)


SETTLING: dict[str, tuple[Callable[[LocalCalls], None], bool]] = {
    "received": (lambda calls: calls.confirm(1, received=True), True),
    "given up": (lambda calls: calls.confirm(1, received=False), False),
    "the end": (lambda calls: calls.end(), False),
}


@pytest.mark.parametrize("second", SETTLING)
@pytest.mark.parametrize("first", SETTLING)
async def test_what_a_run_has_taken_is_settled_once_by_what_comes_first(
    first: str, second: str, master: Master
) -> None:
    queue = Queue(master)
    assert await master.run(1).wait() == [[1]]
    assert await master.do(lambda: list(queue.settled)) == []
    for name in (first, second):
        SETTLING[name][0](master.calls)
    assert await master.do(lambda: list(queue.settled)) == [SETTLING[first][1]]


async def test_what_a_run_has_taken_is_put_back_if_its_client_has_cancelled_it(master: Master) -> None:
    queue = Queue(master)
    master.plans.program = program = Program()
    waiter = master.run(1)
    master.calls.cancel(1)
    await master.do(lambda: queue.take(program.runs[0]))
    await eventually(lambda: queue.settled == [False])
    assert waiter.told == []


async def test_what_a_run_has_taken_is_put_back_if_its_client_cannot_take_the_values(master: Master) -> None:
    queue, waiter = Queue(master), Waiter()
    waiter.done = mock.Mock(side_effect=RuntimeError("a mistake"))  # type: ignore[method-assign]
    (error,) = await master.run(1, waiter=waiter).wait()
    assert "a mistake" in str(error)
    assert await master.do(lambda: list(queue.settled)) == [False]


# -- partial runs ----------------------------------------------------------------------------------
async def set_up(master: Master, opened: Program) -> Callable[[], object]:
    """Run 1 sets up a partial run; what closes it."""
    closes: list[Callable[[], object]] = []

    def open_it(run: LocalRun) -> None:
        closes.append(run.open(opened))
        run.done(LocalValues.of([]), ["handle"])

    master.plans.program = Program(open_it)
    assert await master.run(1).wait() == [[]]
    return closes[0]


async def test_the_calls_of_a_partial_run_go_to_what_its_setup_has_opened_until_that_is_closed(master: Master) -> None:
    opened = Program(double)
    close = await set_up(master, opened)
    assert await master.call_partial(2, 1, [3]).wait() == [[6]]
    (run,) = opened.runs
    assert (run.seconds, run.asked.feeds, run.asked.fetches) == (2.5, ("a:0",), ("b:0",))
    assert await master.call_partial(3, 99).wait() == ["gone"]
    await master.do(close)
    assert await master.call_partial(4, 1).wait() == ["gone"]
    assert opened.abandoned == 0


async def test_a_setup_that_its_client_gives_up_before_its_answer_is_abandoned(master: Master) -> None:
    opened, setups = Program(), Program()
    cancelled: list[int] = []

    def open_it(run: LocalRun) -> None:
        run.on_cancel = lambda: cancelled.append(1)
        run.open(opened)

    setups._act = open_it
    master.plans.program = setups
    master.run(1)
    master.calls.cancel(1)
    master.calls.cancel(1)
    assert await master.do(lambda: (opened.abandoned, cancelled)) == (1, [1])


async def test_an_error_of_a_call_of_a_partial_run_is_that_of_the_call(master: Master) -> None:
    def fail(run: LocalRun) -> None:
        raise InvalidArgumentError("wrong")

    opened = Program(fail)
    await set_up(master, opened)
    (error,) = await master.call_partial(2, 1).wait()
    assert isinstance(error, InvalidArgumentError)


def test_values_count_as_those_of_a_frame_do() -> None:
    fed: list[Any] = [np.zeros(INLINE_LIMIT, np.float64), np.float32(1.0), "text"]
    here, there = LocalValues.of(fed), WireValues.of(fed)
    assert (len(here), here.nbytes) == (len(there), bytes_held(fed))
    assert LocalValues.of(fed[1:]).nbytes == there.nbytes - fed[0].nbytes == 0
    passed = WireValues([])
    for number in range(3):
        here.pass_on(number, passed)
        assert here.read(number) is fed[number]
    assert passed.items == there.items
