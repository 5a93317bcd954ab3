"""Threads and pools of simulated hosts: their work is callbacks, which take drawn times."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from actorsession.errors import CancelledError
from actorsession.extend import Completion
from actorsession.runtime.interruptible import acquire, result_of
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.planning import Planning
from actorsession.testing import SimulatedHost, SimulatedLoop
from transports.host import current_host, on_host


def run(main: Callable[[SimulatedLoop], Coroutine[Any, Any, Any]], seed: int = 0) -> Any:
    """Run a coroutine on a host of its own."""
    loop = SimulatedLoop(seed)

    async def program() -> Any:
        with on_host(SimulatedHost(loop, "host")):
            return await loop.create_task(main(loop))

    return loop.run(program())


def test_a_thread_works_for_as_long_as_its_work_returns_true() -> None:
    async def main(loop: SimulatedLoop) -> None:
        seen: list[tuple[str, float]] = []

        def work() -> bool:
            seen.append((current_host().name, loop.now))
            return len(seen) < 3

        thread = current_host().processes.start_thread(work, "thread")
        assert thread.is_alive()
        assert seen == []
        await asyncio.sleep(1)
        assert not thread.is_alive()
        thread.join()
        assert [name for name, _ in seen] == ["host"] * 3
        times = [at for _, at in seen]
        assert 0 < times[0] < times[1] < times[2]

    run(main)


def test_a_thread_may_work_now_and_then_until_it_is_ended() -> None:
    async def main(loop: SimulatedLoop) -> None:
        seen: list[int] = []

        def work() -> bool:
            seen.append(round(loop.now))
            return True

        end = current_host().processes.every(2.0, work, "thread")
        await asyncio.sleep(7)
        end()
        await asyncio.sleep(7)
        assert seen == [2, 4, 6]

    run(main)


def test_a_pool_does_as_much_at_once_as_it_has_threads() -> None:
    async def main(loop: SimulatedLoop) -> None:
        pool = current_host().processes.workers(2, "pool")
        begun: list[int] = []
        futures = [pool.submit(begun.append, number) for number in range(6)]
        assert futures[5].cancel()
        ended: list[int] = []
        for number, future in enumerate(futures):
            future.add_done_callback(partial(lambda number, _: ended.append(number), number))
        await asyncio.wrap_future(futures[0])
        assert len(begun) <= 3  # those that were under way, and the next
        await asyncio.gather(*map(asyncio.wrap_future, futures[:5]))
        assert sorted(begun) == [0, 1, 2, 3, 4]
        assert sorted(ended) == [0, 1, 2, 3, 4, 5]
        last = [pool.submit(begun.append, number) for number in (6, 7, 8)][-1]
        pool.shutdown(cancel_futures=True)
        assert last.cancelled()
        with pytest.raises(RuntimeError, match="after shutdown"):
            pool.submit(print)

    run(main)


def test_a_thread_that_serves_takes_one_work_after_the_other() -> None:
    async def main(loop: SimulatedLoop) -> None:
        pool = current_host().processes.workers(1, "pool")
        works = iter(range(4))
        seen: list[tuple[int, float]] = []

        def take() -> Callable[[], None] | None:
            number = next(works, None)
            taken = loop.now
            return None if number is None else lambda: seen.append((number, loop.now - taken))

        pool.serve(take)
        await asyncio.sleep(1)
        assert [number for number, _ in seen] == [0, 1, 2, 3]
        assert min(while_ for _, while_ in seen) > 0
        ended = pool.submit(str)
        await asyncio.wrap_future(ended)

    run(main)


@pytest.mark.parametrize("threads", [1, 3])
def test_kernels_end_in_a_drawn_order_where_several_run_at_once(threads: int) -> None:
    orders = set()

    async def main(loop: SimulatedLoop) -> None:
        pool = KernelPool(threads)
        assert KernelPool().threads == current_host().processes.processors()
        seen: list[int] = []
        for number in range(6):
            pool.submit(seen.append, number)
        assert pool.queued
        pool.beside(lambda: seen.append(6))
        await asyncio.sleep(1)
        assert sorted(seen) == [0, 1, 2, 3, 4, 5, 6]
        orders.add(tuple(number for number in seen if number < 6))
        pool.shutdown()

    for seed in range(20):
        run(main, seed)
    assert (len(orders) > 10) == (threads > 1)
    assert (0, 1, 2, 3, 4, 5) in orders or threads > 1


def test_planning_takes_place_in_simulated_threads() -> None:
    async def main(loop: SimulatedLoop) -> None:
        planning, other = Planning(), Planning()
        before = loop.now
        plans = [planning.run(lambda: loop.now), planning.run(lambda: loop.now), other.run(lambda: loop.now)]
        times = await asyncio.gather(*plans)
        assert before < times[0] < times[1]
        planning.close(CancelledError("closed"))
        with pytest.raises(CancelledError, match="closed"):
            await planning.run(lambda: None)

    run(main)


def test_threads_of_a_stalled_host_stall_with_it() -> None:
    async def main(loop: SimulatedLoop) -> None:
        host = SimulatedHost(loop, "stalled")
        seen: list[str] = []

        def work() -> bool:
            seen.append("every")
            return len(seen) < 4

        with on_host(host):
            host.processes.workers(1, "pool").submit(seen.append, "pool")
            host.processes.every(1.0, work, "thread")
        host.stall()
        await asyncio.sleep(10)
        assert seen == []
        host.go_on()
        await asyncio.sleep(0.5)
        assert sorted(seen) == ["every", "pool"]
        await asyncio.sleep(10)
        assert sorted(seen) == ["every", "every", "every", "pool"]

    run(main)


def test_a_wait_for_another_thread_is_refused_because_it_would_stop_all_hosts() -> None:
    async def main(loop: SimulatedLoop) -> None:
        with pytest.raises(RuntimeError, match="a thread of the simulated host host must not wait"):
            Completion().wait(lambda: None)
        with pytest.raises(RuntimeError, match="must not wait"):
            result_of(concurrent.futures.Future())
        lock = threading.Lock()
        assert acquire(lock, None)
        with pytest.raises(RuntimeError, match="must not wait"):
            acquire(lock, None)

    run(main)


def test_pools_and_threads_of_a_dead_host_do_nothing() -> None:
    seen: list[str] = []

    async def main(loop: SimulatedLoop) -> None:
        host = SimulatedHost(loop, "dead")
        with on_host(host):
            host.processes.start_thread(lambda: seen.append("thread"), "thread")
            host.processes.every(1.0, lambda: seen.append("every"), "thread")
            host.processes.workers(1, "pool").submit(seen.append, "pool")
        host.crash()
        with on_host(host):
            host.processes.start_thread(lambda: seen.append("later"), "thread")
        await asyncio.sleep(10)

    run(main)
    assert seen == []
