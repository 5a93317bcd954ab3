"""Shares of threads: what each counts, and when the threads end."""

from __future__ import annotations

import gc
import os
import threading

import pytest

from actorsession.runtime.kernel_pool import KernelPool, PoolThreads, processors


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
