"""Shares of threads: what each counts, and when the threads end."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from actorsession.runtime.kernel_pool import LANE, KernelPool, PoolThreads, processors


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
    assert processors() == len(os.sched_getaffinity(0))
    assert KernelPool().threads == processors()
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
    pool = KernelPool(PoolThreads(1, "full-kernel"))
    busy = Busy(pool, 101)
    busy.wait_begun()
    yield pool, busy
    busy.go.set()
    pool.shutdown()


def test_what_runs_for_the_first_time_does_not_stand_behind_what_is_dear(
    full: tuple[KernelPool, Busy],
) -> None:
    pool, busy = full
    first = Busy(pool, first="a segment")
    first.wait_begun()
    assert not busy.go.is_set()
    assert busy.names == ["full-kernel_0"]
    assert first.names == ["full-kernel-first_0"]
    first.go.set()


def test_what_runs_is_told_apart_by_whose_threads_it_has() -> None:
    pool = KernelPool(PoolThreads(1, "told-kernel"))
    works = [Busy(pool), Busy(pool, first="a segment"), Busy(pool)]
    works[0].wait_begun()
    works[1].wait_begun()
    assert [len(pool.running()), len(pool.running(in_lane=True))] == [1, 1]
    for work in works:
        work.go.set()
    pool.shutdown()
    assert not pool.running()
    assert not pool.running(in_lane=True)


def test_many_first_runs_of_one_thing_do_not_fill_the_lane(full: tuple[KernelPool, Busy]) -> None:
    pool, _ = full
    many = Busy(pool, 100, first="a segment")
    many.wait_begun()
    other = Busy(pool, first="another segment")
    other.wait_begun()
    assert len(many.names) == 1
    many.go.set()
    other.go.set()


def test_first_runs_that_turn_out_dear_leave_the_next_its_turn_in_the_pool() -> None:
    pool = KernelPool(PoolThreads(1, "dear-kernel"))
    busy = Busy(pool)
    busy.wait_begun()
    dear = [Busy(pool, first=f"segment {k}") for k in range(LANE)]
    for work in dear:
        work.wait_begun()
    late = Busy(pool, first="late")
    busy.go.set()
    late.wait_begun()
    assert late.names == ["dear-kernel_0"]
    for work in (*dear, late):
        work.go.set()
    pool.shutdown()


def test_a_first_run_needs_no_lane_where_a_thread_is_free() -> None:
    pool = KernelPool(PoolThreads(2, "free-kernel"))
    busy = Busy(pool)
    busy.wait_begun()
    first = Busy(pool, first="a segment")
    first.wait_begun()
    assert first.names[0].startswith("free-kernel_")
    busy.go.set()
    first.go.set()
    pool.shutdown()


def test_what_the_lane_has_taken_does_not_run_again() -> None:
    pool = KernelPool(PoolThreads(1, "once-kernel"))
    busy = Busy(pool)
    busy.wait_begun()
    ran: list[int] = []
    done = threading.Event()
    for k in range(5):
        pool.submit(ran.append, k, first=k)
    pool.submit(done.set)
    busy.go.set()
    assert done.wait(10)
    pool.shutdown()
    assert sorted(ran) == [0, 1, 2, 3, 4]


def test_work_beside_the_kernels_is_not_counted_and_waits_for_none(
    full: tuple[KernelPool, Busy],
) -> None:
    pool, _ = full
    before, done = pool.submitted, threading.Event()
    pool.beside(done.set)
    assert done.wait(10)
    assert pool.submitted == before
    pool.shutdown(wait=False)
    with pytest.raises(RuntimeError, match="shut down"):
        pool.beside(done.set)
