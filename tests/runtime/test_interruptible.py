"""Waits of the main thread end when a signal comes, even one that does not wake it."""

from __future__ import annotations

import concurrent.futures
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from actorsession.runtime.interruptible import CancelScope, acquire, result_of

# Seconds after which a wait that nothing ends would end by itself, so that a failure is no hang.
FAR = 30.0


@contextmanager
def signal_in_another_thread() -> Iterator[None]:
    """SIGINT, which is handled by the main thread but interrupts no call in it."""
    timer = threading.Timer(0.2, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.join()


@pytest.mark.usefixtures("no_garbage")
def test_a_wait_for_another_threads_result_ends_with_a_signal_that_does_not_wake_it() -> None:
    future: concurrent.futures.Future[int] = concurrent.futures.Future()
    late = threading.Timer(FAR, future.set_result, [1])
    late.start()
    try:
        with signal_in_another_thread(), pytest.raises(KeyboardInterrupt):
            result_of(future)
        assert not future.done()
    finally:
        late.cancel()
        late.join()


@pytest.mark.usefixtures("no_garbage")
def test_a_wait_for_a_lock_ends_with_a_signal_that_does_not_wake_it() -> None:
    lock = threading.Lock()
    assert acquire(lock, None)
    with signal_in_another_thread(), pytest.raises(KeyboardInterrupt):
        acquire(lock, FAR)
    lock.release()
    assert acquire(lock, 0.0)


@pytest.mark.parametrize("main", [True, False], ids=["main thread", "another thread"])
def test_a_wait_gives_what_the_future_gives(main: bool) -> None:
    fine: concurrent.futures.Future[int] = concurrent.futures.Future()
    bad: concurrent.futures.Future[int] = concurrent.futures.Future()
    given_up: concurrent.futures.Future[int] = concurrent.futures.Future()
    error = TimeoutError("its own")
    for timer in (threading.Timer(0.05, fine.set_result, [7]), threading.Timer(0, given_up.cancel)):
        timer.start()
    bad.set_exception(error)
    found: list[object] = []

    def look() -> None:
        found.append(result_of(fine))
        for future in (bad, given_up):
            try:
                result_of(future)
            except (TimeoutError, concurrent.futures.CancelledError) as exc:
                found.append(exc)

    if main:
        look()
    else:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(FAR)
    assert found[:2] == [7, error]
    assert isinstance(found[2], concurrent.futures.CancelledError)


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.15])
def test_a_lock_that_stays_held_is_given_up(seconds: float) -> None:
    lock = threading.Lock()
    lock.acquire()
    assert not acquire(lock, seconds)
    threading.Timer(0.05, lock.release).start()
    assert acquire(lock, FAR)


@pytest.mark.parametrize("early", [True, False], ids=["before it waits", "while it waits"])
def test_a_scope_that_another_thread_cancels_ends_the_waits_in_it(early: bool) -> None:
    scope, waits = CancelScope(), threading.Event()
    future: concurrent.futures.Future[int] = concurrent.futures.Future()
    ended: list[BaseException] = []

    def wait() -> None:
        waits.set()
        with scope, pytest.raises(concurrent.futures.CancelledError) as info:
            result_of(future)
        ended.append(info.value)

    if early:
        scope.cancel()
    thread = threading.Thread(target=wait)
    thread.start()
    assert waits.wait(FAR)
    scope.cancel()
    thread.join(FAR)
    assert len(ended) == 1
    assert future.cancelled()


def test_waits_outside_of_a_scope_are_none_of_its_business() -> None:
    scope = CancelScope()
    future: concurrent.futures.Future[int] = concurrent.futures.Future()
    with scope:
        pass
    scope.cancel()
    future.set_result(1)
    assert result_of(future) == 1
