"""``Coordinator``: threads stop together, and whoever joins them hears why."""

from __future__ import annotations

import threading

import pytest

from actorsession.errors import OutOfRangeError, UnavailableError
from actorsession.train import Coordinator, LooperThread


def test_threads_run_until_one_of_them_asks_to_stop() -> None:
    coord, turns = Coordinator(), [0, 0]

    def work(number: int) -> None:
        while not coord.should_stop():
            turns[number] += 1
            if number == 0 and turns[0] >= 3:
                coord.request_stop()

    threads = [threading.Thread(target=work, args=[i]) for i in range(2)]
    for thread in threads:
        thread.start()
    coord.join(threads)
    assert turns[0] == 3
    assert coord.joined
    assert not any(t.is_alive() for t in threads)


def test_join_raises_the_first_exception() -> None:
    coord = Coordinator()
    coord.request_stop(UnavailableError("first"))
    coord.request_stop(ValueError("second"))
    with pytest.raises(UnavailableError, match="first"):
        coord.join()
    with pytest.raises(UnavailableError, match="first"):
        coord.raise_requested_exception()
    with pytest.raises(ValueError, match="third"):
        coord.request_stop(ValueError("third"))  # nobody would hear of it


@pytest.mark.parametrize("reason", [None, OutOfRangeError("the end of input")])
def test_a_stop_that_is_requested_after_join_is_one(reason: Exception | None) -> None:
    """Threads that were begun since look for it."""
    coord = Coordinator()
    coord.join([])
    assert not coord.should_stop()
    coord.request_stop(reason)
    assert coord.should_stop()
    assert coord.wait_for_stop(0)
    coord.join([])
    with pytest.raises(KeyError, match="nobody would hear of it"):
        coord.request_stop(KeyError("nobody would hear of it"))


def test_the_end_of_a_queue_is_no_error() -> None:
    coord = Coordinator()
    coord.request_stop(OutOfRangeError("closed"))
    coord.join()
    assert coord.should_stop()
    # Other exceptions may be clean ends.
    coord = Coordinator(clean_stop_exception_types=[KeyError])
    coord.request_stop(KeyError("enough"))
    coord.join()
    coord = Coordinator(clean_stop_exception_types=[KeyError])
    coord.request_stop(OutOfRangeError("not clean here"))
    with pytest.raises(OutOfRangeError):
        coord.join()
    # What is no exception is refused.
    with pytest.raises(TypeError, match="exception"):
        Coordinator().request_stop("because")  # type: ignore[arg-type]


def test_a_block_hands_its_exception_over() -> None:
    coord = Coordinator()
    with coord.stop_on_exception():
        [].pop()
    assert coord.should_stop()
    with pytest.raises(IndexError, match="pop from empty list"):
        coord.join()
    # A cleared stop is forgotten with its exception.
    coord = Coordinator()
    coord.request_stop(ValueError("old"))
    coord.clear_stop()
    assert not coord.should_stop()
    coord.join([])
    assert not coord.wait_for_stop(0.0)


def test_a_thread_that_does_not_stop_is_named() -> None:
    coord, gate = Coordinator(), threading.Event()
    thread = threading.Thread(target=gate.wait, args=[30], name="stubborn")
    thread.start()
    try:
        coord.register_thread(thread)
        coord.request_stop()
        with pytest.raises(RuntimeError, match="stubborn"):
            coord.join(stop_grace_period_secs=0.1)
        coord.join([thread], stop_grace_period_secs=0.1, ignore_live_threads=True)
    finally:
        gate.set()
        thread.join()


def test_a_looper_calls_its_function_until_the_stop() -> None:
    coord, calls = Coordinator(), list[int]()

    def work(step: int) -> None:
        calls.append(step)
        if len(calls) == 3:
            coord.request_stop()

    looper = LooperThread.loop(coord, None, work, args=[7])
    coord.join()
    assert calls == [7, 7, 7]
    assert not looper.is_alive()


def test_a_looper_with_an_interval_waits_for_the_next_time_or_the_stop() -> None:
    calls, waits = list[int](), list[float]()

    class Impatient(Coordinator):
        def wait_for_stop(self, timeout: float | None = None) -> bool:
            assert timeout is not None
            waits.append(timeout)
            return self.should_stop()

    coord = Impatient()

    def work() -> None:
        calls.append(1)
        if len(calls) == 2:
            coord.request_stop()

    LooperThread.loop(coord, 1000.0, work)
    coord.join()
    assert [round(wait, -3) for wait in waits] == [1000.0, 2000.0]  # from when it was begun


def test_what_a_looper_raises_stops_everybody() -> None:
    coord = Coordinator()

    def fail() -> None:
        raise ValueError("in the loop")

    LooperThread.loop(coord, 0.001, fail)
    with pytest.raises(ValueError, match="in the loop"):
        coord.join()
    with pytest.raises(ValueError, match="must be a Coordinator"):
        LooperThread(None, None)  # type: ignore[arg-type]
