"""Shares of threads: what each counts, and when the threads end."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from actorsession.runtime.kernel_pool import KernelPool, PoolThreads, lend_turn
from transports.host import SYSTEM


def threads_named(prefix: str) -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith(prefix)]


def run_in(pool: KernelPool) -> str:
    """The name of the thread that runs what is submitted."""
    done = threading.Event()
    names: list[str] = []

    def work() -> None:
        names.append(threading.current_thread().name)
        done.set()

    pool.submit(work)
    assert done.wait(10)
    return names[0]


def test_a_pool_without_a_number_has_a_thread_per_processor_that_we_may_use() -> None:
    assert SYSTEM.processes.processors() == len(os.sched_getaffinity(0))
    assert KernelPool().threads == SYSTEM.processes.processors()
    assert KernelPool(3).threads == 3


def test_no_thread_is_started_before_there_is_work() -> None:
    pool = KernelPool(PoolThreads(2, "lazy-kernel"))
    assert threads_named("lazy-kernel") == []
    run_in(pool)
    assert len(threads_named("lazy-kernel")) == 1
    pool.shutdown()


def test_two_shares_run_in_the_same_threads_and_count_their_own_work() -> None:
    threads = PoolThreads(1, "shared-kernel")
    one, other = KernelPool(threads), KernelPool(threads)
    assert one.shares_threads_with(other)
    assert run_in(one) == run_in(other) == run_in(other) == "shared-kernel_0"
    assert (one.submitted, other.submitted) == (1, 2)
    one.shutdown()
    other.shutdown()


def test_a_pool_tells_how_much_work_waits_and_how_long_it_has_waited() -> None:
    pool, begun, gate = KernelPool(1), threading.Event(), threading.Event()

    def held() -> None:
        begun.set()
        gate.wait(10)

    pool.submit(held)
    assert begun.wait(10)
    pool.submit(print, first="a print")
    pool.submit(print)
    assert (pool.queued, len(pool.running()), pool.waits.total) == (2, 1, 1)
    gate.set()
    run_in(pool)
    assert (pool.queued, pool.waits.total) == (0, 4)
    assert 0 < pool.waits.sum < 40
    pool.shutdown()
    assert (pool.queued, pool.waits.total) == (0, 0)


def test_shutting_one_share_down_leaves_the_other_usable() -> None:
    threads = PoolThreads(1, "left-kernel")
    one, other = KernelPool(threads), KernelPool(threads)
    del threads
    run_in(one)
    one.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        one.submit(print)
    assert run_in(other) == "left-kernel_0"
    other.shutdown()


def test_threads_end_with_their_last_share_even_if_nobody_shuts_it_down() -> None:
    pool = KernelPool(PoolThreads(1, "dropped-kernel"))
    run_in(pool)
    (thread,) = threads_named("dropped-kernel")
    del pool
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()


def test_threads_end_when_their_last_share_is_shut_down_whatever_still_refers_to_them() -> None:
    """As the traceback of a kernel that failed in one of them does."""
    threads = PoolThreads(1, "held-kernel")
    one, other = KernelPool(threads), KernelPool(threads)
    run_in(one)
    (thread,) = threads_named("held-kernel")
    one.shutdown(wait=False)
    one.shutdown(wait=False)
    assert run_in(other) == "held-kernel_0"
    other.shutdown(wait=False)
    thread.join(10)
    assert not thread.is_alive()
    with pytest.raises(RuntimeError, match="shut down"):
        KernelPool(threads)


def test_work_that_was_submitted_is_done_even_if_the_last_share_is_gone() -> None:
    pool = KernelPool(PoolThreads(1, "busy-kernel"))
    gate, done = threading.Event(), threading.Event()
    pool.submit(gate.wait, 10)
    pool.submit(done.set)
    pool.shutdown(wait=False)
    del pool
    gate.set()
    assert done.wait(10)


def test_shutting_a_pool_of_ones_own_down_waits_for_its_work() -> None:
    pool = KernelPool(1)
    done: list[int] = []
    for i in range(20):
        pool.submit(done.append, i)
    pool.shutdown()
    assert done == list(range(20))
    pool.shutdown()  # twice is fine


def test_users_take_turns_however_much_one_of_them_submits() -> None:
    threads = PoolThreads(1, "turns-kernel")
    flood, other = KernelPool(threads), KernelPool(threads)
    gate, entered, ran = threading.Event(), threading.Event(), list[str]()

    def hold() -> None:
        entered.set()
        gate.wait(10)

    flood.submit(hold)
    assert entered.wait(10)
    for _ in range(5):
        flood.submit(ran.append, "flood")
    for _ in range(3):
        other.submit(ran.append, "other")
    gate.set()
    threads.join()
    assert ran == ["flood", "other"] * 3 + ["flood"] * 2


def test_a_share_may_be_divided() -> None:
    pool = KernelPool(1)
    part = pool.share()
    assert part.shares_threads_with(pool)
    part.shutdown()
    assert run_in(pool)
    pool.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        pool.share()


class Busy:
    """Work that has begun and does not end before it is let go."""

    def __init__(self, pool: KernelPool, count: int = 1, **how: Any) -> None:
        self.begun = threading.Semaphore(0)
        self.go = threading.Event()
        self.names: list[str] = []
        for _ in range(count):
            pool.submit(self._run, **how)

    def _run(self) -> None:
        self.names.append(threading.current_thread().name)
        self.begun.release()
        assert self.go.wait(10)

    def wait_begun(self, times: int = 1) -> None:
        for _ in range(times):
            assert self.begun.acquire(timeout=10)


@pytest.fixture
def full() -> Iterator[tuple[KernelPool, Busy]]:
    """A pool whose only thread is busy, and a hundred pieces of work that wait for it."""
    pool = KernelPool(1)
    busy = Busy(pool, 101)
    busy.wait_begun()
    yield pool, busy
    busy.go.set()
    pool.shutdown()


def test_what_runs_for_the_first_time_does_not_stand_behind_what_is_dear(full: tuple[KernelPool, Busy]) -> None:
    """A hundred pieces of work wait before it; it is the next or the one after that."""
    pool, busy = full
    first = Busy(pool, first="a segment")
    busy.go.set()
    first.wait_begun()
    assert len(busy.names) <= 2
    first.go.set()


class Counted:
    """How many pieces of work run at once, and how many have begun."""

    def __init__(self) -> None:
        self.running = self.most = 0
        self.begun = threading.Semaphore(0)
        self._lock = threading.Lock()

    def change(self, by: int) -> None:
        with self._lock:
            self.running += by
            self.most = max(self.most, self.running)
        if by > 0:
            self.begun.release()

    def wait(self, event: threading.Event) -> None:
        """Run, wait within a lent turn, and run on."""
        for _ in range(2):
            self.change(1)
            self.change(-1)
            with lend_turn():
                assert event.wait(60)


def test_first_runs_take_turns_with_the_others(full: tuple[KernelPool, Busy]) -> None:
    pool, busy = full
    ran: list[str] = []
    for k in range(5):
        pool.submit(ran.append, f"other {k}")
        pool.submit(ran.append, f"first {k}", first=k)
    busy.go.set()
    pool.shutdown()
    assert sorted(ran) == sorted(f"{kind} {k}" for k in range(5) for kind in ("first", "other"))
    assert [what for what in ran if what < "g"] == [f"first {k}" for k in range(5)]


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("first", [True, False], ids=["first runs", "others"])
def test_a_pool_runs_no_more_at_once_than_its_number(number: int, first: bool) -> None:
    pool, counted, go = KernelPool(number), Counted(), threading.Semaphore(0)

    def work() -> None:
        counted.change(1)
        assert go.acquire(timeout=60)
        counted.change(-1)

    for k in range(24):
        pool.submit(work, first=f"segment {k % 8}" if first else None)
    for _ in range(24):
        assert counted.begun.acquire(timeout=60)
        go.release()
    pool.shutdown()
    assert counted.most == number
    assert not pool.running()


def test_work_that_waits_lends_its_turn_and_goes_on_when_it_has_one_again() -> None:
    """1. Five pieces of work wait, one after the other, in a pool of one thread. 2. A sixth lets all go on
    while it runs itself. 3. They go on behind it, one at a time."""
    pool, counted, event = KernelPool(1), Counted(), threading.Event()
    for _ in range(5):
        pool.submit(counted.wait, event)
    busy = Busy(pool)
    busy.wait_begun()
    assert len(pool.running()) == 6
    event.set()
    later = Busy(pool)
    busy.go.set()
    later.wait_begun()
    later.go.set()
    pool.shutdown()
    assert counted.most == 1


def test_a_wait_that_fails_needs_no_turn_to_end() -> None:
    """As that of a step that was cancelled, while another kernel has the only turn for long."""
    pool, event, ended = (KernelPool(PoolThreads(1, "failed-kernel")), threading.Event(), threading.Event())

    def waits() -> None:
        with contextlib.suppress(ValueError), lend_turn():
            assert event.wait(60)
            raise ValueError
        ended.set()

    pool.submit(waits)
    busy = Busy(pool)
    busy.wait_begun()
    event.set()
    assert ended.wait(60)
    busy.go.set()
    pool.shutdown()


def test_outside_a_pool_nothing_is_lent() -> None:
    with lend_turn():
        assert threading.current_thread() is threading.main_thread()


# -- no threads ------------------------------------------------------------------------------------
@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """No thread can be started until the context of the patch ends."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        yield patched


@pytest.mark.parametrize("how", [{}, {"first": 1}, {"blocks": True}], ids=repr)
def test_work_without_a_thread_is_refused_and_never_run(how: dict[str, Any], no_threads: pytest.MonkeyPatch) -> None:
    pool, ran = KernelPool(1), list[int]()
    with pytest.raises(RuntimeError, match="can't start new thread"):
        pool.submit(ran.append, 1, **how)
    no_threads.undo()
    pool.submit(ran.append, 2, **how)
    pool.shutdown()
    assert ran == [2]


def test_work_without_a_further_thread_is_done_by_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, ran = KernelPool(3), list[int]()
    busy = Busy(pool)
    busy.wait_begun()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", mock.Mock(side_effect=RuntimeError("can't start new thread")))
        for k in range(3):
            pool.submit(ran.append, k)
    busy.go.set()
    pool.shutdown()
    assert ran == [0, 1, 2]


def test_work_beside_the_kernels_is_not_counted_and_waits_for_none(full: tuple[KernelPool, Busy]) -> None:
    pool, _ = full
    before, done = pool.submitted, threading.Event()
    pool.beside(done.set)
    assert done.wait(10)
    assert pool.submitted == before
    pool.shutdown(wait=False)
    with pytest.raises(RuntimeError, match="shut down"):
        pool.beside(done.set)
