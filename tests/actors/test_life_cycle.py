"""Life cycles: what each call does in each state, and what is left of a start or a stop that is given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from actorsession.actors.life_cycle import EFFECTS, Call, Effect, LifeCycle, State
from actorsession.errors import FailedPreconditionError, UnavailableError
from tests.loops import cancelled

PATIENCE = 30.0


class Thing:
    """Something that is started and stopped, whose work waits until it is let go on."""

    def __init__(self, *, retries: bool = False, goes_on: bool = False) -> None:
        self.life = LifeCycle("thing", "the thing", self._cut, retries=retries, goes_on=goes_on)
        self.done: list[str] = []
        self.go_on = asyncio.Event()
        self.fault: Exception | None = None
        self.reached = asyncio.Event()

    async def _work(self, what: str) -> None:
        self.done.append(f"begin {what}")
        self.reached.set()
        await self.go_on.wait()
        if self.fault is not None:
            raise self.fault
        self.done.append(what)

    async def _undo(self) -> None:
        await asyncio.sleep(0)
        self.done.append("undone")

    def _cut(self) -> None:
        self.done.append("cut")
        self.go_on.set()

    def start(self) -> Coroutine[Any, Any, None]:
        return self.life.start(lambda: self._work("start"), self._undo)

    def stop(self) -> Coroutine[Any, Any, None]:
        return self.life.stop(lambda: self._work("stop"))

    async def begin(self, call: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A call under way, whose work has begun."""
        self.reached.clear()
        child = asyncio.create_task(call)
        await within(self.reached.wait())
        return child


async def within(awaited: Any) -> Any:
    async with asyncio.timeout(PATIENCE):
        return await awaited


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - each turn counts
            await asyncio.sleep(0)


async def in_state(state: State) -> tuple[Thing, list[asyncio.Task[None]]]:
    """A thing in a state, and the calls that have brought it there and have not returned."""
    thing = Thing()
    calls: list[asyncio.Task[None]] = []
    if state is State.NEW:
        return thing, calls
    calls.append(await thing.begin(thing.start()))
    if state is State.STARTING:
        return thing, calls
    thing.go_on.set()
    await within(calls.pop())
    if state is State.RUNNING:
        return thing, calls
    thing.go_on.clear()
    calls.append(await thing.begin(thing.stop()))
    if state is State.STOPPED:
        thing.go_on.set()
        await within(calls.pop())
    return thing, calls


@pytest.mark.parametrize(
    ("call", "state", "effect"),
    [(call, state, effect) for call, row in EFFECTS.items() for state, effect in row.items()],
    ids=lambda value: value.name.lower(),
)
async def test_each_call_has_the_effect_of_the_table_in_each_state(call: Call, state: State, effect: Effect) -> None:
    thing, under_way = await in_state(state)
    assert thing.life.state is state
    before = list(thing.done)

    async def use() -> None:
        thing.life.check(Call.USE)

    asked: Callable[[], Coroutine[Any, Any, None]] = {Call.START: thing.start, Call.USE: use, Call.STOP: thing.stop}[
        call
    ]
    if effect is Effect.REFUSE:
        with pytest.raises(FailedPreconditionError, match=f"^the thing {state.value}"):
            await within(asked())
        assert (thing.life.state, thing.done) == (state, before)
    elif effect is Effect.NOTHING:
        await within(asked())
        assert (thing.life.state, thing.done) == (state, before)
    elif effect is Effect.INTERRUPT:
        await within(asked())
        assert thing.life.state is State.STOPPED
        assert thing.done[len(before) :] == ["undone"]
        with pytest.raises(FailedPreconditionError, match="stopped while it was being started"):
            await within(under_way.pop())
    elif effect is Effect.JOIN:
        child = asyncio.create_task(asked())
        await asyncio.sleep(0)
        thing.go_on.set()
        await within(child)
        assert thing.done[len(before) :] == ["stop"]
    else:
        thing.go_on.set()
        await within(asked())
        done = {Call.START: ["begin start", "start"], Call.USE: [], Call.STOP: ["begin stop", "stop"]}
        assert thing.done[len(before) :] == done[call]
    thing.go_on.set()
    for child in under_way:
        await within(child)


RETRIES = pytest.mark.parametrize("retries", [False, True], ids=["once", "again"])


async def check_after_failed_start(thing: Thing, *, retries: bool) -> None:
    assert thing.done == ["begin start", "undone"]
    thing.go_on.set()
    thing.fault = None
    if retries:
        await within(thing.start())
        assert thing.life.state is State.RUNNING
    else:
        with pytest.raises(FailedPreconditionError, match="was stopped"):
            await within(thing.start())


@RETRIES
async def test_a_start_that_is_cancelled_is_undone_before_its_cancellation_goes_on(retries: bool) -> None:
    thing = Thing(retries=retries)
    child = await thing.begin(thing.start())
    await cancelled(child)
    await check_after_failed_start(thing, retries=retries)


@RETRIES
async def test_a_start_that_fails_is_undone(retries: bool) -> None:
    thing = Thing(retries=retries)
    thing.fault = UnavailableError("no place")
    thing.go_on.set()
    with pytest.raises(UnavailableError, match="no place"):
        await within(thing.start())
    await check_after_failed_start(thing, retries=retries)


@pytest.mark.parametrize("by", ["stop", "cancellation"])
async def test_a_start_that_has_hardly_begun_is_undone_too(by: str) -> None:
    thing = Thing()
    child = asyncio.create_task(thing.start())
    await asyncio.sleep(0)  # the call has begun, and not its work
    if by == "stop":
        await within(thing.stop())
    else:
        child.cancel()
    with pytest.raises((FailedPreconditionError, asyncio.CancelledError)):
        await within(child)
    assert thing.done[-1:] == ["undone"]
    assert thing.life.state is State.STOPPED


async def test_a_second_cancellation_does_not_interrupt_what_undoes_a_start() -> None:
    thing = Thing()
    child = await thing.begin(thing.start())
    child.cancel()
    await asyncio.sleep(0)
    await cancelled(child)
    await within(thing.stop())
    assert thing.done == ["begin start", "undone"]


async def test_a_stop_that_is_cancelled_is_cut_short() -> None:
    thing, _ = await in_state(State.RUNNING)
    thing.go_on.clear()
    child = await thing.begin(thing.stop())
    await cancelled(child)
    assert thing.done[2:] == ["begin stop", "cut", "stop"]
    assert thing.life.state is State.STOPPED
    await within(thing.stop())


async def test_a_stop_that_another_call_waits_for_goes_on_when_one_is_cancelled() -> None:
    thing, _ = await in_state(State.RUNNING)
    thing.go_on.clear()
    first = await thing.begin(thing.stop())
    second = asyncio.create_task(thing.stop())
    await asyncio.sleep(0)
    await cancelled(first)
    assert "cut" not in thing.done
    thing.go_on.set()
    await within(second)
    assert thing.done[2:] == ["begin stop", "stop"]


async def test_a_stop_that_goes_on_by_itself_is_waited_for_by_the_next() -> None:
    thing = Thing(goes_on=True)
    thing.go_on.set()
    await within(thing.start())
    thing.go_on.clear()
    child = await thing.begin(thing.stop())
    await cancelled(child)
    assert thing.life.state is State.STOPPING
    thing.go_on.set()
    await within(thing.stop())
    assert thing.done == ["begin start", "start", "begin stop", "stop"]


@pytest.mark.parametrize("goes_on", [False, True], ids=["cut", "continued"])
async def test_a_stop_that_fails_is_cut_or_continued_by_the_next(goes_on: bool) -> None:
    thing = Thing(goes_on=goes_on)
    thing.go_on.set()
    await within(thing.start())
    thing.fault = UnavailableError("the disk is full")
    with pytest.raises(UnavailableError, match="the disk is full"):
        await within(thing.stop())
    thing.fault = None
    await within(thing.stop())
    assert thing.life.state is State.STOPPED
    assert thing.done[2:] == (["begin stop", "begin stop", "stop"] if goes_on else ["begin stop", "cut"])


async def test_what_was_cut_is_used_no_more_and_can_be_stopped() -> None:
    thing, _ = await in_state(State.RUNNING)
    thing.life.cut()
    with pytest.raises(FailedPreconditionError, match="was stopped"):
        thing.life.check()
    await within(thing.stop())
    assert thing.done[2:] == ["cut", "begin stop", "stop"]


def test_after_the_end_of_its_loop_a_thing_is_cut_by_a_stop_on_another() -> None:
    made: list[Thing] = []

    async def begin() -> None:
        made.append(Thing())
        made[0].go_on.set()
        await made[0].start()

    asyncio.run(begin())
    (thing,) = made
    with pytest.raises(RuntimeError, match="which has ended"):
        asyncio.run(thing.start())
    asyncio.run(thing.stop())
    assert thing.done == ["begin start", "start", "cut"]
    with pytest.raises(FailedPreconditionError, match="was stopped"):
        asyncio.run(thing.start())


@RETRIES
@pytest.mark.parametrize("stopped", [False, True], ids=["cancelled", "stopped too"])
async def test_a_start_that_was_done_when_its_cancellation_came_is_undone(retries: bool, stopped: bool) -> None:
    """Its caller is told of the cancellation, and has nothing that it could stop.

    1. The work of the start is done, and its child ends.
    2. The call is cancelled before it hears of that.
    3. A stop that comes while the start is undone waits for that, and does not cancel it.
    """
    thing = Thing(retries=retries)
    child = await thing.begin(thing.start())
    thing.go_on.set()
    await eventually(lambda: thing.life.state is State.RUNNING)
    child.cancel()
    if stopped:
        await eventually(lambda: thing.life.state is not State.RUNNING)
        await within(thing.stop())
    with pytest.raises(asyncio.CancelledError):
        await within(child)
    assert thing.done == ["begin start", "start", "undone"]
    assert thing.life.state is (State.NEW if retries and not stopped else State.STOPPED)


async def test_a_start_whose_work_is_done_despite_its_cancellation_is_undone() -> None:
    thing = Thing()
    child = await thing.begin(thing.start())
    thing.go_on.set()  # the work ends in the same turn in which the call is cancelled
    await cancelled(child)
    assert thing.done[-1] == "undone"
    assert thing.life.state is State.STOPPED
