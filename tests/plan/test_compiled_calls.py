"""Calls of subgraphs that a compiler makes faster: when it is asked, and what happens meanwhile and afterwards."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.plan.kit import OFTEN, CompiledCalls, settle_compilers
from transports.host import Host, Processes, on_host

DEVICE = "/job:localhost/replica:0/task:0/device:{}:0"
# How many shapes are compiled, and how many failures are borne.
SHAPES, FAILURES = 8, 8


def doubled(x: Any) -> tuple[Any]:
    return (x + x,)


class Recorder:
    """A compiler that notes what it got; what it makes multiplies by 10, so that it can be told apart."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.made: Callable[..., Any] = lambda x: (x * 10,)

    def __call__(self, function: Any, arrays: Any) -> Any:
        self.asked.append((function, [array.tolist() for array in arrays]))
        return self.made


def calls_of(compiler: Any, varying: Any = (0,), device: str = "SOME", **more: Any) -> CompiledCalls:
    more = {"plan": lambda: compiler, **more}
    return CompiledCalls(doubled, varying, 4, device=DEVICE.format(device), compiler=compiler, **more)


def often(calls: CompiledCalls, x: Any) -> None:
    """Call until it is compiled, as long as that gives nothing."""
    for _ in range(OFTEN):
        assert calls(x) is None
    settle_compilers()


def test_a_function_is_compiled_once_after_it_was_called_often() -> None:
    compiler = Recorder()
    calls = calls_of(compiler)
    for _ in range(OFTEN - 1):
        assert calls(np.array([1, 2])) is None
    settle_compilers()
    assert compiler.asked == []
    assert calls(np.array([3, 4])) is None
    settle_compilers()
    for _ in range(OFTEN):
        np.testing.assert_array_equal(calls(np.array([1, 2])), [[10, 20]])
    assert compiler.asked == [(doubled, [[3, 4]])]


def test_each_shape_is_counted_and_compiled_for_itself_and_no_more_than_a_few_are() -> None:
    compiler = Recorder()
    calls = calls_of(compiler)
    for size in range(1, SHAPES + 3):
        often(calls, np.arange(size))
    assert [arrays for _, arrays in compiler.asked] == [[[*range(size)]] for size in range(1, SHAPES + 1)]
    np.testing.assert_array_equal(calls(np.arange(SHAPES)), [np.arange(SHAPES) * 10])
    assert calls(np.arange(SHAPES + 1)) is None


def test_a_function_that_hardly_meets_a_shape_twice_is_left_alone() -> None:
    compiler = Recorder()
    calls = calls_of(compiler)
    for size in range(1000):
        calls(np.arange(size))
    often(calls, np.arange(3))
    assert compiler.asked == []
    assert len(calls._counts) < 100


def test_shapes_that_are_static_are_not_looked_at() -> None:
    compiler = Recorder()
    calls = calls_of(compiler, varying=())
    often(calls, np.arange(2))
    np.testing.assert_array_equal(calls(np.arange(3)), [[0, 10, 20]])


def test_calls_go_on_while_it_is_compiled_and_one_function_is_at_a_time() -> None:
    goes_on, begun = threading.Event(), threading.Semaphore(0)
    busy: list[int] = []

    def compiler(function: Any, arrays: Any) -> Any:
        busy.append(threading.get_ident())
        begun.release()
        assert goes_on.wait(60)
        return lambda x: (x * 10,)

    first, second = calls_of(compiler), calls_of(compiler)
    for calls in (first, second):
        for _ in range(3 * OFTEN):
            assert calls(np.arange(2)) is None
    assert begun.acquire(timeout=60)
    assert [thread.ident for thread in threading.enumerate() if thread.name == "actorsession-compiler"] == busy
    assert busy[0] != threading.get_ident()
    goes_on.set()
    settle_compilers()
    for calls in (first, second):
        np.testing.assert_array_equal(calls(np.arange(2)), [[0, 10]])
    assert len(set(busy)) == 1 < len(busy)


def test_threads_that_call_at_the_same_time_have_it_compiled_once() -> None:
    compiler = Recorder()
    calls = calls_of(compiler)
    together = threading.Barrier(8)

    def call() -> None:
        together.wait(60)
        for _ in range(4 * OFTEN):
            value = calls(np.arange(2))
            assert value is None or value[0].tolist() == [0, 10]

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    settle_compilers()
    assert len(compiler.asked) == 1


def test_what_cannot_be_compiled_is_told_once_for_a_device_type_and_not_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asked = []

    def compiler(function: Any, arrays: Any) -> Any:
        asked.append(function)
        raise RuntimeError("no C++ compiler\n  searched here and there")

    for _ in range(2):
        calls = calls_of(compiler, device="HOPELESS")
        often(calls, np.arange(2))
        often(calls, np.arange(2))
    assert asked == [doubled, doubled]
    told = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert told == [
        f"4 nodes of {DEVICE.format('HOPELESS')} run as before: they were not compiled, RuntimeError: no C++ compiler"
    ]


def test_a_function_that_comes_back_as_it_was_is_not_called() -> None:
    calls = calls_of(lambda function, arrays: function)
    often(calls, np.arange(2))
    assert calls(np.arange(2)) is None


def test_a_call_that_fails_gives_nothing_and_some_such_calls_end_it() -> None:
    tried = []

    def refuse(x: Any) -> Any:
        tried.append(x)
        raise AssertionError("expected another stride")

    compiler = Recorder()
    compiler.made = refuse
    calls = calls_of(compiler)
    often(calls, np.arange(2))
    for _ in range(3 * FAILURES):
        assert calls(np.arange(2)) is None
    assert len(tried) == FAILURES


def test_what_waits_for_a_plan_that_was_dropped_is_not_compiled() -> None:
    compiler = Recorder()
    often(calls_of(compiler, plan=lambda: None), np.arange(2))
    assert compiler.asked == []


def test_it_is_asked_for_again_where_no_thread_could_be_started() -> None:
    class Full(Processes):
        def start_thread(self, work: Any, name: str) -> Any:
            raise RuntimeError("can't start new thread")

    compiler = Recorder()
    calls = calls_of(compiler)
    with on_host(Host(processes=Full())):
        often(calls, np.arange(2))
    assert compiler.asked == []
    often(calls, np.arange(2))
    assert len(compiler.asked) == 1


def test_a_program_ends_while_something_is_compiled() -> None:
    program = f"""
        import threading
        from tests.plan.kit import OFTEN, CompiledCalls

        begun = threading.Event()

        def compiler(function, arrays):
            begun.set()
            threading.Event().wait()

        calls = CompiledCalls(len, [], 4, device={DEVICE.format("SOME")!r}, compiler=compiler, plan=lambda: 1)
        for _ in range(OFTEN):
            calls([1])
        assert begun.wait(60)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=60)
