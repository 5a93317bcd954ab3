"""The simulated loop is an asyncio loop, and a run on it is a function of its seed."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import gc
import logging
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from actorsession.testing import SimulatedHost, SimulatedLoop, SimulationError
from transports.host import SYSTEM, current_host, on_host

Main = Callable[[], Coroutine[Any, Any, Any]]


def run(main: Main, seed: int = 0, **options: Any) -> Any:
    return SimulatedLoop(seed, **options).run(main())


def now() -> float:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimulatedLoop)
    return loop.now


def of(loop: SimulatedLoop, name: str, main: Coroutine[Any, Any, Any]) -> tuple[SimulatedHost, asyncio.Task[Any]]:
    """Start a task on a new host."""
    host = SimulatedHost(loop, name)
    with on_host(host):
        return host, loop.create_task(main, name=name)


# -- asyncio's primitives ---------------------------------------------------------------------------------


async def sleeps() -> Any:
    await asyncio.sleep(1000)
    assert 1000 <= now() < 1000.1
    return await asyncio.sleep(0, "slept")


async def timeouts() -> Any:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(10):
            await asyncio.sleep(20)
    assert 10 <= now() < 10.1
    async with asyncio.timeout(10) as scope:
        await asyncio.sleep(1)
    assert not scope.expired()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 5)
    return await asyncio.wait_for(asyncio.sleep(1, "in time"), 5)


async def waits() -> Any:
    tasks = [asyncio.create_task(asyncio.sleep(seconds, seconds)) for seconds in (3, 1, 2)]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result() for task in done] == [1]
    done, pending = await asyncio.wait(tasks, timeout=1.5)
    assert {task.result() for task in done} == {1, 2}
    assert {task.result() for task in pending if await task} == {3}
    assert [await one for one in asyncio.as_completed([asyncio.sleep(2, "b"), asyncio.sleep(1, "a")])] == ["a", "b"]
    return await asyncio.gather(asyncio.sleep(2, "x"), asyncio.sleep(1, "y"))


async def task_groups() -> Any:
    ends = []

    async def until_cancelled(name: str) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ends.append(name)

    async def fail() -> None:
        async with asyncio.TaskGroup() as group:
            for name in "abcdefgh":
                group.create_task(until_cancelled(name))
            await asyncio.sleep(1)
            raise ValueError

    with pytest.raises(ExceptionGroup):
        await fail()
    assert ends == list("abcdefgh")  # in the order of the tasks, not of their addresses
    return len(ends)


async def locks() -> Any:
    lock, order = asyncio.Lock(), []

    async def enter(name: str) -> None:
        async with lock:
            await asyncio.sleep(1)
            order.append(name)

    await asyncio.gather(*map(enter, "abc"))
    condition, event, slots, barrier = asyncio.Condition(), asyncio.Event(), asyncio.Semaphore(2), asyncio.Barrier(2)

    async def wait() -> None:
        async with slots, condition:
            await condition.wait_for(event.is_set)
        await barrier.wait()

    waiting = asyncio.gather(wait(), wait())
    await asyncio.sleep(1)
    assert slots.locked()
    event.set()
    async with condition:
        condition.notify_all()
    await waiting
    return order


async def queues() -> Any:
    queue: asyncio.Queue[int] = asyncio.Queue(2)
    got = []

    async def take() -> None:
        while True:
            got.append(await queue.get())
            await asyncio.sleep(1)
            queue.task_done()

    taker = asyncio.create_task(take())
    for item in range(5):
        await queue.put(item)
    await queue.join()
    taker.cancel()
    return got


async def shields() -> Any:
    inner = asyncio.create_task(asyncio.sleep(2, "kept"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(inner), 1)
    return await inner


async def threads() -> Any:
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(5)
    loop = asyncio.get_running_loop()
    before = now()
    assert await asyncio.to_thread(variable.get) == 5
    assert await loop.run_in_executor(None, threading.get_ident) == threading.get_ident()
    assert now() > before
    with pytest.raises(ZeroDivisionError):
        await asyncio.to_thread(lambda: 1 // 0)
    with pytest.raises(TypeError, match="no threads"):
        await loop.run_in_executor(concurrent.futures.ThreadPoolExecutor(1), print)
    future = loop.create_future()
    loop.call_soon_threadsafe(future.set_result, "same thread")
    return await future


async def generators() -> Any:
    ends = []

    async def count() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            ends.append(current_host().name)

    async for _ in count():
        break
    await asyncio.sleep(1)
    left = count()
    assert await anext(left) == 1
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    return ends


async def variables() -> Any:
    variable = contextvars.ContextVar("variable", default=0)
    seen: list[int] = []
    loop = asyncio.get_running_loop()
    variable.set(1)
    loop.call_soon(lambda: seen.append(variable.get()))
    loop.call_later(1, lambda: seen.append(variable.get()))
    variable.set(2)
    task = asyncio.create_task(asyncio.sleep(0), context=contextvars.Context())
    task.add_done_callback(lambda _: seen.append(variable.get()), context=contextvars.Context())
    await asyncio.sleep(2)
    return seen


async def runs_nothing_cancelled() -> Any:
    seen: list[str] = []
    loop = asyncio.get_running_loop()
    loop.call_soon(seen.append, "soon").cancel()
    loop.call_later(1, seen.append, "later").cancel()
    for _ in range(1000):  # more than are kept
        loop.call_later(1, seen.append, "many").cancel()
    assert len(loop._events) < 300  # type: ignore[attr-defined]
    at = loop.call_at(loop.time() + 2, seen.append, "at")
    await asyncio.sleep(3)
    assert at.when() < loop.time()
    return seen


PRIMITIVES: list[tuple[Main, Any]] = [
    (sleeps, "slept"),
    (timeouts, "in time"),
    (waits, ["x", "y"]),
    (task_groups, 8),
    (locks, ["a", "b", "c"]),
    (queues, [0, 1, 2, 3, 4]),
    (shields, "kept"),
    (threads, "same thread"),
    (generators, ["here", "here"]),
    (variables, [1, 0, 1]),
    (runs_nothing_cancelled, ["at"]),
]


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("main", "answer"), PRIMITIVES, ids=[main.__name__ for main, _ in PRIMITIVES])
def test_asyncio_does_on_it_what_it_does_elsewhere(main: Main, answer: Any, seed: int, debug: bool) -> None:
    loop = SimulatedLoop(seed)
    loop.set_debug(debug)
    assert loop.run(main()) == answer
    assert loop.is_closed()


def test_a_runner_of_asyncio_runs_on_it() -> None:
    with asyncio.Runner(loop_factory=lambda: SimulatedLoop(1)) as runner:
        assert runner.run(waits()) == ["x", "y"]


def test_what_asyncio_forbids_is_forbidden() -> None:
    loop = SimulatedLoop()

    async def main() -> None:
        with pytest.raises(RuntimeError, match="already running"):
            loop.run_forever()
        with pytest.raises(RuntimeError, match="Cannot close"):
            loop.close()
        with pytest.raises(RuntimeError, match="while another loop"):
            SimulatedLoop().run_forever()

    loop.run(main())
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon(print)
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_later(1, print)


def test_a_call_from_a_real_thread_is_refused() -> None:
    refused: list[RuntimeError] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def call() -> None:
            with pytest.raises(RuntimeError, match="one thread") as caught:
                loop.call_soon_threadsafe(print)
            refused.append(caught.value)

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()

    run(main)
    assert len(refused) == 1


def test_an_error_of_a_callback_goes_to_the_exception_handler(caplog: pytest.LogCaptureFixture) -> None:
    told: list[dict[str, Any]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: 1 // 0)
        await asyncio.sleep(1)
        loop.set_exception_handler(lambda _loop, context: told.append(context))
        loop.call_soon(lambda: 1 // 0)
        await asyncio.sleep(1)

    with caplog.at_level(logging.ERROR, "asyncio"):
        run(main)
    (record,) = caplog.records
    assert record.message.startswith("Exception in callback test_an_error_of_a_callback")
    assert isinstance(told[0]["exception"], ZeroDivisionError)


@pytest.mark.parametrize("when", ["in the run", "after it"])
@pytest.mark.parametrize("crashes", [False, True])
def test_an_error_that_nobody_awaits_is_told_unless_its_host_is_dead(crashes: bool, when: str) -> None:
    told: list[tuple[str, str]] = []
    kept: list[asyncio.Future[None]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        loop.set_exception_handler(lambda _loop, context: told.append((context["message"], str(context["exception"]))))
        host = SimulatedHost(loop, "a")
        with on_host(host):
            kept.append(loop.create_future())
        kept[0].set_exception(OSError("it is gone"))
        if crashes:
            host.crash()
        if when == "in the run":
            kept.clear()

    run(main)
    kept.clear()
    expected = [] if crashes or when == "after it" else [("HostFuture exception was never retrieved", "it is gone")]
    assert told == expected


def test_what_the_main_task_leaves_behind_is_cancelled() -> None:
    ends: list[str] = []
    kept: list[asyncio.Task[None]] = []

    async def stay() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            ends.append("ended")

    async def main() -> None:
        kept.append(asyncio.create_task(stay()))
        await asyncio.sleep(0)

    run(main)
    assert ends == ["ended"]


# -- limits -----------------------------------------------------------------------------------------------


def test_a_deadlock_is_an_error_that_says_who_waits_for_what_and_where() -> None:
    async def inner(other: asyncio.Task[None]) -> None:
        await other

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        _, other = of(loop, "there", asyncio.Event().wait())
        await inner(other)

    with pytest.raises(SimulationError) as caught:
        run(main, 7)
    lines = str(caught.value).splitlines()
    assert lines[0] == "nothing is left to happen, and 2 tasks wait (seed 7):"
    assert lines[1].startswith("here: Task-1 ")
    assert ".main (" in lines[1]
    assert ".inner (" in lines[1]
    assert f"{__file__}:" in lines[1]
    assert lines[1].endswith("> for there")
    assert lines[2].startswith("there: there Event.wait (")
    assert lines[2].endswith("> for a Future")


def test_virtual_time_and_callbacks_have_limits() -> None:
    async def main() -> None:
        for _ in range(10_000):
            await asyncio.sleep(1)

    with pytest.raises(SimulationError, match=r"^100\.0 s of virtual time have passed, and 1 tasks wait"):
        run(main, most_seconds=100.0)
    with pytest.raises(SimulationError, match=r"^50 callbacks have run, and 1 tasks wait"):
        run(main, most_callbacks=50)


# -- hosts ------------------------------------------------------------------------------------------------


def test_a_task_runs_on_the_host_that_has_started_it() -> None:
    async def names() -> list[str]:
        found = [current_host().name]
        await asyncio.sleep(1)
        found.append(current_host().name)
        found.append(await asyncio.to_thread(lambda: current_host().name))
        await asyncio.wait_for(asyncio.sleep(1), 5)
        async with asyncio.TaskGroup() as group:
            child = group.create_task(asyncio.sleep(1))
            child.add_done_callback(lambda _: found.append(current_host().name))
        asyncio.get_running_loop().call_later(1, lambda: found.append(current_host().name))
        await asyncio.sleep(2)
        return found

    async def main() -> list[list[str]]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        tasks = [of(loop, name, names())[1] for name in ("a", "b")]
        return [await task for task in tasks]

    assert run(main) == [["a"] * 5, ["b"] * 5]
    assert current_host() is SYSTEM


def test_the_callbacks_of_a_host_keep_their_order_and_those_of_two_have_a_drawn_one() -> None:
    def order(seed: int, **options: Any) -> list[str]:
        seen: list[str] = []

        async def main() -> None:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, SimulatedLoop)
            hosts = [SimulatedHost(loop, name) for name in ("a", "b")]
            for number in range(4):
                for host in hosts:
                    with on_host(host):
                        loop.call_soon(seen.append, f"{host.name}{number}")
            await asyncio.sleep(1)

        run(main, seed, **options)
        return seen

    orders = [order(seed) for seed in range(50)]
    for seen in orders:
        assert [x for x in seen if x[0] == "a"] == ["a0", "a1", "a2", "a3"]
        assert [x for x in seen if x[0] == "b"] == ["b0", "b1", "b2", "b3"]
    assert len({tuple(seen) for seen in orders}) > 10
    assert orders == [order(seed) for seed in range(50)]
    shuffled = [order(seed, shuffle=True) for seed in range(50)]
    assert len({tuple(x for x in seen if x[0] == "a") for seen in shuffled}) > 10


def test_a_run_does_not_count_what_a_suite_has_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The half million objects of collected tests would take 0.2 s, in each run."""
    gc.freeze()
    monkeypatch.setattr(gc, "get_freeze_count", lambda: pytest.fail("walks over all that is frozen"))
    assert run(sleeps) == "slept"


def test_timers_of_one_time_come_in_a_drawn_order() -> None:
    def order(seed: int) -> str:
        seen: list[str] = []

        async def main() -> None:
            loop = asyncio.get_running_loop()
            when = loop.time() + 1
            for name in "abcd":
                loop.call_at(when, seen.append, name)
            await asyncio.sleep(2)

        run(main, seed)
        return "".join(seen)

    assert len({order(seed) for seed in range(50)}) > 10


def test_a_clock_that_drifts_moves_the_timers_of_its_host() -> None:
    ends: dict[str, float] = {}

    async def sleep(name: str, seconds: float) -> None:
        before = asyncio.get_running_loop().time()
        await asyncio.sleep(seconds)
        assert seconds <= asyncio.get_running_loop().time() - before < seconds + 0.1
        ends[name] = now()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        fast, first = of(loop, "fast", sleep("fast", 10))
        slow, second = of(loop, "slow", sleep("slow", 10))
        _, third = of(loop, "true", sleep("true", 10))
        await asyncio.sleep(5)
        fast.drift(2.0)
        slow.drift(0.5)
        await asyncio.wait([first, second, third])
        before = fast.clock.time(), fast.clock.monotonic()
        fast.clock.jump(-3600)
        assert fast.clock.time() < before[0] - 3599
        assert fast.clock.monotonic() > before[1]

    run(main)
    assert {name: round(end, 1) for name, end in ends.items()} == {"fast": 7.5, "true": 10.0, "slow": 15.0}


def test_hosts_differ_in_what_they_draw_and_one_host_between_its_incarnations() -> None:
    def drawn(seed: int) -> list[Any]:
        loop = SimulatedLoop(seed)
        first, other = SimulatedHost(loop, "first"), SimulatedHost(loop, "other")
        hosts = [first, other, first.restart()]
        return [
            (
                host.processes.getpid(),
                host.entropy.token_hex(4),
                host.entropy.randbits(30),
                host.entropy.random(),
                len(host.entropy.token_bytes()),
            )
            for host in hosts
        ]

    assert drawn(1) == drawn(1)
    for values in zip(*[row[:-1] for row in drawn(1) + drawn(2)], strict=True):
        assert len(set(values)) >= 3


def test_a_restart_keeps_the_machine_and_nothing_else() -> None:
    loop = SimulatedLoop()
    before = SimulatedHost(loop, "machine")
    table = before.own(list[int])
    assert before.own(list[int]) is table
    after = before.restart()
    assert before.is_dead
    assert not after.is_dead
    assert (after.name, after.incarnation, after.files, after.network) == ("machine", 1, before.files, before.network)
    assert after.clock is before.clock
    assert after.own(list[int]) is not table


def test_a_stalled_host_goes_on_where_it_was() -> None:
    seen: list[tuple[str, int]] = []

    async def tick() -> None:
        for _ in range(10):
            seen.append(("tick", round(now())))
            await asyncio.sleep(1)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        host, task = of(loop, "a", tick())
        await asyncio.sleep(2.5)
        host.stall()
        host.stall()
        with on_host(host):
            loop.call_soon(lambda: seen.append(("called", round(now()))))
        await asyncio.sleep(5)
        host.go_on()
        host.go_on()
        await task

    run(main)
    assert seen == [*[("tick", at) for at in (0, 1, 2)], ("called", 8), *[("tick", at) for at in range(8, 15)]]


@pytest.mark.parametrize("seed", range(5))
def test_nothing_of_a_dead_host_runs_again_or_complains(seed: int, recwarn: pytest.WarningsRecorder) -> None:
    """Tasks, timers, callbacks, threads and generators of it are dropped; their ``finally`` has no effect."""
    effects: list[str] = []
    told: list[dict[str, Any]] = []
    kept: list[asyncio.Task[None]] = []

    async def endless() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            await asyncio.sleep(0)
            effects.append("generator")

    async def never() -> None:
        effects.append("begun")

    async def work() -> None:
        loop = asyncio.get_running_loop()
        generator = endless()
        await anext(generator)
        failed = loop.create_task(asyncio.sleep(0))
        failed.add_done_callback(lambda _: effects.append("done"))
        try:
            await asyncio.gather(asyncio.to_thread(effects.append, "thread"), asyncio.sleep(100))
        finally:
            loop.call_soon(effects.append, "call_soon")
            loop.call_later(1, effects.append, "call_later")
            kept.append(loop.create_task(never()))
            await asyncio.sleep(0)
            effects.append("finally")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        loop.set_exception_handler(lambda _loop, context: told.append(context))
        host, task = of(loop, "a", work())
        with on_host(host):
            loop.call_later(0, host.crash)
            loop.call_later(5, effects.append, "timer")
        await asyncio.sleep(10)
        assert host.is_dead
        assert not task.done()
        with on_host(host):
            loop.call_soon(effects.append, "call_soon")
            loop.call_later(1, effects.append, "call_later")
            kept.append(loop.create_task(never()))
        await asyncio.sleep(10)
        host.crash()

    run(main, seed)
    gc.collect()
    assert set(effects) <= {"thread", "done"}
    assert told == []
    assert list(recwarn) == []


def test_a_host_may_crash_in_the_middle_of_a_call() -> None:
    seen: list[str] = []

    def write() -> None:
        seen.append("half")
        host = current_host()
        assert isinstance(host, SimulatedHost)
        host.die()

    async def work(how: str) -> None:
        if how == "thread":
            await asyncio.to_thread(write)
        else:
            write()
        seen.append("whole")

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        for how in ("thread", "task"):
            host, _ = of(loop, how, work(how))
            await asyncio.sleep(1)
            assert host.is_dead

    run(main)
    assert seen == ["half", "half"]


def test_the_trace_says_what_has_happened_and_when() -> None:
    loop = SimulatedLoop(3, trace_callbacks=True)

    async def main() -> None:
        host = SimulatedHost(loop, "a")
        await asyncio.sleep(1)
        host.crash()

    loop.run(main())
    texts = [line.split(" ", 1) for line in loop.trace]
    assert any(text == "a crashes" and 1 <= float(at) < 1.1 for at, text in texts)
    assert texts[0][1].startswith("here: Task-1 test_the_trace_says")
