"""Many at once: threads, children, cancellation, limits in time, and a process that forks."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, ConfigProto, Graph, RunOptions, Session, Tensor, ops
from actorsession.errors import DeadlineExceededError
from actorsession.extend import RunSignature
from actorsession.session.request import Request
from tests.cluster.kit import PATIENCE


@pytest.fixture
def long_graph() -> Iterator[tuple[Graph, Tensor, Tensor, Tensor]]:
    """A graph with a chain of products that takes seconds, a counter at its start, and a short way."""
    with Graph().as_default() as graph:
        x = y = ops.placeholder("float32", [700, 700], name="x")
        for _ in range(400):
            y = ops.matmul(y, x)
        short = ops.placeholder("float32", [], name="s") + 1.0
        yield graph, x, y, short


LARGE = np.full([700, 700], 1 / 700, np.float32)  # its own square


async def started(session: AsyncSession) -> None:
    """Waits until the pool has taken a segment."""
    while session.statistics().offloaded == 0:  # noqa: ASYNC110 - a counter has no event
        await asyncio.sleep(0.001)


async def test_asyncio_timeout_ends_the_step(long_graph: Any) -> None:
    graph, x, y, short = long_graph
    async with AsyncSession(graph=graph) as session:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await session.run(y, {x: LARGE})
        assert session.statistics().steps == 0
        assert await session.run(short, {"s:0": 1}) == 2


def test_a_limit_of_the_session_counts_in_the_synchronous_face_too(long_graph: Any) -> None:
    graph, x, y, short = long_graph
    config = ConfigProto(operation_timeout_in_ms=50)
    with Session(graph=graph, config=config) as session:
        with pytest.raises(DeadlineExceededError):
            session.run(y, {x: LARGE})
        assert session.run(short, {"s:0": 1}) == 2


async def test_a_run_that_is_dear_does_not_hold_up_another(long_graph: Any) -> None:
    graph, x, y, short = long_graph
    async with AsyncSession(graph=graph) as session:
        run = asyncio.create_task(session.run(y, {x: LARGE}))
        await started(session)
        for i in range(20):
            assert await session.run(short, {"s:0": i}) == i + 1
        assert not run.done()
        run.cancel()
        await asyncio.wait({run})


async def test_a_program_of_short_steps_lets_others_have_the_loop() -> None:
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [])
        y = x + 1.0
    async with AsyncSession(graph=graph) as session:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        child = asyncio.create_task(other())
        until = time.monotonic() + PATIENCE  # a limit of the loop would wait for its turn as well
        while turns <= 5 and time.monotonic() < until:
            await session.run(y, {x: 1})
        child.cancel()
        await asyncio.wait({child})
    assert turns > 5


async def test_many_runs_in_flight_keep_their_values_apart() -> None:
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [8])
        with graph.device("/cpu:1"):
            y = x * 2.0
        with graph.device("/cpu:0"):
            z = y + 1.0
    config = ConfigProto(device_count={"CPU": 2})
    async with AsyncSession(graph=graph, config=config) as session:
        runs = [session.run(z, {x: np.full(8, i, np.float32)}) for i in range(200)]
        for i, value in enumerate(await asyncio.gather(*runs)):
            np.testing.assert_array_equal(value, np.full(8, 2 * i + 1))


def in_threads(count: int, work: Any) -> None:
    """Runs ``work(index)`` in threads and raises what any of them raised."""
    errors: list[BaseException] = []

    def guarded(index: int) -> None:
        try:
            work(index)
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_many_threads_share_a_session_while_the_graph_grows() -> None:
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [], name="x")
        total = ops.Variable(0.0, name="total")
        add = total.assign_add(1.0)
        y = x * 3.0
    growing = threading.Event()
    with Session(graph=graph) as session:
        session.run(total.initializer)

        def work(index: int) -> None:
            for i in range(50):
                assert session.run(y, {x: i}) == 3 * i
                session.run(add.op)
                if index == 0:
                    with graph.as_default():
                        grown = x + float(i)
                    assert session.run(grown, {x: 1}) == 1 + i
                    growing.set()

        in_threads(32, work)
        assert growing.is_set()
        assert session.run(total) == 32 * 50


def test_threads_that_make_a_new_request_at_once_feed_what_each_key_says() -> None:
    """The first run of a request brings its feeds into the order of the plan; only one thread may do it. 1. Two threads
    find the request without a plan. 2. Both get the plan, whose feeds are sorted, and reorder the request's converters.
    3. Done half by one and half by the other, values would go to one another's tensors, for ever."""
    names = tuple(f"x{i}:0" for i in range(9))
    plan = SimpleNamespace(signature=RunSignature(names))
    backwards = RunSignature(names[::-1])
    conversions = tuple([(str, i) for i in range(9)])
    requests = [Request(backwards, conversions, list, None) for _ in range(4000)]
    start = threading.Barrier(4)

    def work(index: int) -> None:
        start.wait()
        for request in requests:
            if request.plan is None:
                request.bind(plan)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        in_threads(4, work)
    finally:
        sys.setswitchinterval(interval)
    values = list(reversed(names))  # the values of feeds that are named backwards
    assert all(request.feeds(values) == list(names) for request in requests)


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_may_leave_the_block_of_a_session_and_make_its_own(long_graph: Any) -> None:
    """The session has a loop in a thread, which stays behind in the parent: closing must not wait for it."""
    graph, _, _, short = long_graph
    with graph.as_default():
        called = ops.py_func(np.copy, [short], "float32")
    limited = RunOptions(timeout_in_ms=20_000)
    reader, writer = os.pipe()
    child = 1
    with Session(graph=graph) as session:
        assert session.run(called, {"s:0": 1}, limited) == 2
        child = os.fork()
        if child == 0:
            signal.alarm(20)
    if child == 0:
        with Session(graph=graph) as own:
            os.write(writer, str(own.run(called, {"s:0": 2}, limited)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        found = pipe.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    assert found == "3.0"


@pytest.mark.process
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
async def test_an_asynchronous_session_is_the_parents_after_a_fork(long_graph: Any) -> None:
    graph, _, _, short = long_graph
    async with AsyncSession(graph=graph) as session:
        assert await session.run(short, {"s:0": 1}) == 2
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            step = session.run(short, {"s:0": 1})
            try:
                step.send(None)
            except RuntimeError as exc:
                os.write(writer, str(exc).encode())
            try:
                session.close().send(None)
            except StopIteration:
                os.write(writer, b"; and closed")
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            message = pipe.read().decode()
        assert os.waitpid(child, 0)[1] == 0
        assert "cannot be used in the forked process" in message
        assert message.endswith("; and closed")
        assert await session.run(short, {"s:0": 2}) == 3


INTERRUPTED = """
import sys
import actorsession as acts

options = acts.RunOptions(timeout_in_ms=600_000) if sys.argv[1] == "pool" else None
with acts.device("/cpu:0"):
    started = acts.py_func(lambda: print("started", flush=True), [], [])
endless = []
for device in range(2):
    with acts.device(f"/cpu:{device}"), acts.control_dependencies([started]):
        begin = acts.identity(1.0)
        endless.append(acts.while_loop(lambda i: i >= 0.0, lambda i: i * 0.5, [begin]))
short = acts.constant(1.0) + 1.0
with acts.Session(config=acts.ConfigProto(device_count={"CPU": 2})) as session:
    try:
        session.run(endless, options=options)
    except KeyboardInterrupt:
        print("interrupted", session.run(short), session.run(short, options=options))
"""


@pytest.mark.process
@pytest.mark.parametrize("where", ["caller", "pool"])
def test_ctrl_c_ends_the_steps_of_a_program_wherever_its_kernels_are(where: str) -> None:
    """1. A program is in a step that has no end, on two devices. 2. It gets SIGINT.
    3. The step ends with KeyboardInterrupt. 4. The session lives, and the program ends by itself."""
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED, where], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        try:
            assert program.stdout.readline() == "started\n"
            program.send_signal(signal.SIGINT)
            said, _ = program.communicate(timeout=60)
        finally:
            program.kill()
    assert said == "interrupted 2.0 2.0\n"
    assert program.returncode == 0


@pytest.mark.usefixtures("no_garbage")
def test_ctrl_c_ends_a_synchronous_step_and_the_session_lives(long_graph: Any) -> None:
    """1. A dear step runs in the main thread. 2. SIGINT comes while it runs.
    3. The step ends with KeyboardInterrupt. 4. The next run is right."""
    graph, x, y, short = long_graph
    with Session(graph=graph) as session:
        timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])

        def interrupted() -> None:
            timer.start()  # whose signal may come before the run has begun
            session.run(y, {x: LARGE})

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        timer.join()
        assert session.run(short, {"s:0": 1}) == 2


LIMIT = 20.0


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("depends", [False, True])
def test_a_function_may_wait_for_another_of_its_step(threads: int, depends: bool) -> None:
    arrived = threading.Event()
    seen: list[bool] = []

    def waits(*_: object) -> np.int64:
        seen.append(arrived.wait(LIMIT))
        return np.int64(1)

    def signals() -> np.int64:
        arrived.set()
        return np.int64(2)

    with acts.Graph().as_default() as graph:
        before: list[Any] = [ops.py_func(lambda: np.int64(0), [], acts.int64)] if depends else []
        first: Any = ops.py_func(waits, before, acts.int64)
        second = ops.py_func(signals, [], acts.int64)
        with acts.Session(graph=graph, config=ConfigProto(inter_op_parallelism_threads=threads)) as session:
            assert session.run([first, second, first + second]) == [1, 2, 3]
    assert seen == [True]


def test_functions_that_depend_on_each_other_run_one_after_the_other() -> None:
    order: list[int] = []

    def step(x: np.int64) -> np.int64:
        order.append(int(x))
        return np.int64(x + 1)

    with acts.Graph().as_default() as graph:
        last: Any = ops.constant(0, acts.int64)
        for _ in range(4):
            last = ops.py_func(step, [last], acts.int64)
        with acts.Session(graph=graph) as session:
            assert session.run(last) == 4
    assert order == [0, 1, 2, 3]
