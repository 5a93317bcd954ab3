""""""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from actorsession.actors.timer_wheel import TimerWheel
from transports.host import Clock, Host, on_host


class HandTimer:
    """A timer of ``HandLoop``."""

    def __init__(self, when: float, call: Callable[[], None]) -> None:
        self.when = when
        self.call = call
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class HandLoop(Clock):
    """An event loop's clock and timers, turned by hand; a timer may be called a little early, as on real loops."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[HandTimer] = []

    def monotonic(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], None]) -> HandTimer:
        early = 1e-4 if delay > 2e-4 else 0.0
        self.timers.append(HandTimer(self.now + delay - early, callback))
        return self.timers[-1]

    @property
    def waiting(self) -> list[HandTimer]:
        return [timer for timer in self.timers if not timer.cancelled]

    def advance(self, to: float) -> None:
        while due := [timer for timer in self.waiting if timer.when <= to]:
            first = min(due, key=lambda timer: timer.when)
            self.timers.remove(first)
            self.now = max(self.now, first.when)
            first.call()
        self.now = to


def wheel() -> tuple[HandLoop, Any]:
    loop: Any = HandLoop()
    with on_host(Host(clock=loop)):
        return loop, TimerWheel(loop)


def test_a_deadline_is_called_once_not_before_its_time_and_soon_after() -> None:
    loop, turned = wheel()
    called: list[tuple[float, float]] = []
    for seconds in (0.01, 1.0, 5.0, 7.3, 30.0, 600.0):
        turned.add(seconds, lambda seconds=seconds: called.append((seconds, loop.now)))
    loop.advance(1000.0)
    assert [limit for limit, _ in called] == [0.01, 1.0, 5.0, 7.3, 30.0, 600.0]
    assert all(limit - 1e-4 <= when <= 1.1 * limit for limit, when in called)
    assert all(limit <= when for limit, when in called if limit >= 5.0)
    assert loop.waiting == []


def test_a_discarded_deadline_is_not_called() -> None:
    loop, turned = wheel()
    called: list[str] = []
    kept = turned.add(10.0, lambda: called.append("kept"))
    for seconds in (0.1, 10.0, 20.0):
        turned.discard(turned.add(seconds, lambda: called.append("discarded")))
    loop.advance(100.0)
    assert called == ["kept"]
    turned.discard(kept)  # it has passed


def test_a_callback_that_fails_leaves_the_other_deadlines() -> None:
    loop, turned = wheel()
    called: list[str] = []

    def fail() -> None:
        raise MemoryError

    for callback in (lambda: called.append("one"), fail, lambda: called.append("other")):
        turned.add(10.0, callback)
    turned.add(20.0, lambda: called.append("later"))
    loop.advance(100.0)
    assert called == ["other", "one", "later"]


def test_many_deadlines_share_one_timer_of_the_loop() -> None:
    loop, turned = wheel()
    for number in range(1000):
        loop.now = number * 0.001
        turned.discard(turned.add(30.0, lambda: None))
    turned.add(60.0, lambda: None)
    turned.add(8.0, lambda: None)
    assert len(loop.waiting) == 1


def test_a_callback_may_discard_others_and_add_new_ones() -> None:
    loop, turned = wheel()
    called: list[str] = []
    alarms: list[Any] = []

    def first(name: str) -> None:
        called.append(name)
        for alarm in alarms:
            turned.discard(alarm)
        turned.add(10.0, lambda: called.append("new"))

    alarms += [turned.add(10.0, lambda: first("a")), turned.add(10.0, lambda: first("b"))]
    loop.advance(15.0)
    assert len(called) == 1
    loop.advance(30.0)
    assert called[1:] == ["new"]


def test_a_closed_wheel_calls_nothing_and_leaves_no_timer() -> None:
    loop, turned = wheel()
    turned.add(10.0, lambda: None)
    turned.close()
    assert loop.waiting == []
    loop.advance(100.0)
    turned.close()


async def test_it_works_on_a_real_loop() -> None:
    turned = TimerWheel()
    passed = asyncio.Event()
    turned.add(0.01, passed.set)
    async with asyncio.timeout(60):
        await passed.wait()
    turned.close()
