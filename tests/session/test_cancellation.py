"""Giving steps up: whoever asks, the step ends between two nodes and the session goes on."""

from __future__ import annotations

import asyncio
import gc
import random
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, ConfigProto, Graph, RunOptions, Server, Session, Tensor, ops
from actorsession.config import DebugOptions, DebugTensorWatch
from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, RequestError
from actorsession.runtime.engine.inline_run import Gate
from tests.session.inner import direct_session

SIDE = 16  # a power of two: every value here is exact
VALUE = np.full([SIDE, SIDE], 1.0 / SIDE, np.float32)


def in_python(function: Callable[[Any], Any], x: Tensor) -> Tensor:
    """A node that calls a Python function, whose cost nobody knows."""
    made = ops.py_func(function, [x], "float32")
    assert isinstance(made, Tensor)
    return made


class Model:
    """Work on three devices, two of them with Python code that goes to the kernel pool, and a counter."""

    def __init__(self) -> None:
        self.x = ops.placeholder("float32", [SIDE, SIDE], name="x")
        parts = []
        graph = self.x.graph
        for device in range(3):
            with graph.device(f"/device:CPU:{device}"):
                part = self.x
                for _ in range(4):
                    part = ops.matmul(part, self.x)
                if device:
                    part = in_python(np.copy, part)
                parts.append(ops.reduce_sum(part))
        with graph.device("/device:CPU:1"):
            self.total = ops.add_n(parts) * 2.0
            self.v = ops.Variable(0.0)
            with graph.control_dependencies([self.total]):
                self.count = self.v.assign_add(1.0)
        self.expected = np.float32(6.0 * SIDE)


THREE = ConfigProto(device_count={"CPU": 3}, inter_op_parallelism_threads=2)


async def test_hundreds_of_cancelled_steps_leave_nothing_behind(graph: Graph) -> None:
    """1. A step begins. 2. It is cancelled after a random number of turns of the loop. 3. It ends with CancelledError,
    or it was faster and does not count as one of them. 4. Nothing is pending, the next step is right, and the counter
    has counted each step once or not at all."""
    model = Model()
    turns = random.Random(20261121)
    cancelled = 0
    async with AsyncSession(graph=graph, config=THREE) as session:
        await session.run(model.v.initializer)
        counted = 0.0
        longest = 12  # turns; fewer where most steps are faster
        while cancelled < 300:
            run = asyncio.create_task(session.run([model.total, model.count], {model.x: VALUE}))
            for _ in range(turns.randrange(longest)):
                await asyncio.sleep(0)
            run.cancel()
            try:
                total, _ = await run
                assert total == model.expected
                longest = max(longest - 1, 3)
            except asyncio.CancelledError:
                cancelled += 1
                longest = min(longest + 1, 24)
            seen = session.statistics()
            assert (seen.steps, seen.pending) == (0, 0)
            assert await session.run(model.total, {model.x: VALUE}) == model.expected
            value = await session.run(model.v)
            assert value in (counted, counted + 1.0)
            counted = value
        assert session.statistics().offloaded > 300


async def test_cancelling_some_of_many_steps_leaves_the_others_alone(graph: Graph) -> None:
    model = Model()
    async with AsyncSession(graph=graph, config=THREE) as session:
        runs = [asyncio.create_task(session.run(model.total, {model.x: VALUE * np.float32(i)})) for i in range(40)]
        await asyncio.sleep(0)
        for run in runs[::2]:
            run.cancel()
        ended = await asyncio.gather(*runs, return_exceptions=True)
        for i, outcome in enumerate(ended):
            if isinstance(outcome, asyncio.CancelledError):
                assert i % 2 == 0
            else:
                assert not isinstance(outcome, BaseException)
                expected = 6.0 * SIDE * float(i) ** 5
                np.testing.assert_allclose(outcome, expected, rtol=1e-4)
        assert session.statistics().steps == 0


async def test_a_limit_leaves_the_session_usable(make_session: Any) -> None:
    x = ops.placeholder("float32", [600, 600])
    y = x
    for _ in range(2000):
        y = ops.matmul(y, x)
    session = make_session(ConfigProto(operation_timeout_in_ms=60))
    value = np.zeros([600, 600], np.float32)
    with pytest.raises(DeadlineExceededError):
        await session.run(y, {x: value})
    with pytest.raises(DeadlineExceededError):
        await session.run(y, {x: value}, options=RunOptions(timeout_in_ms=30))
    assert await session.run(x[0, 0] + 1.0, {x: value}) == 1.0
    assert session.session.statistics().steps == 0


async def test_a_run_has_a_limit_in_seconds_as_well_as_in_milliseconds(make_session: Any) -> None:
    """A limit that is none, and two limits at once, are refused before anything runs."""
    taken = ops.FIFOQueue(1, ["float32"], [[]]).dequeue()
    fetched = ops.constant(1.0) + 1.0
    session = make_session()
    assert await session.run(fetched, timeout=20.0) == 2.0
    with pytest.raises(DeadlineExceededError):
        await session.run(taken, timeout=0.05)
    refused: dict[type[Exception], list[Any]] = {
        ValueError: [0, -1.0, float("nan"), float("inf"), 1e300, 10**400, np.float32(-1)],
        TypeError: ["1", b"1", [1], True, 1j, object()],
    }
    for kind, wrong in refused.items():
        for seconds in wrong:
            with pytest.raises(RequestError, match="timeout is a positive number of seconds") as caught:
                await session.run(fetched, timeout=seconds)
            assert isinstance(caught.value, kind)
    assert await session.run(fetched, timeout=np.float32(20)) == 2.0
    with pytest.raises(ValueError, match=r"one limit, got timeout=1\.0 and timeout_in_ms=5"):
        await session.run(fetched, timeout=1.0, options=RunOptions(timeout_in_ms=5))


def test_a_synchronous_run_has_a_limit_in_seconds(graph: Graph) -> None:
    taken = ops.FIFOQueue(1, ["float32"], [[]]).dequeue()
    with Session(graph=graph) as session:
        with pytest.raises(DeadlineExceededError):
            session.run(taken, timeout=0.05)
        assert session.run(ops.constant(1.0) + 1.0, timeout=20.0) == 2.0


class CountingGate(Gate):
    """A gate that counts how often generated code looks at it."""

    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def check(self) -> None:
        self.looks += 1
        super().check()


def test_a_segment_of_very_many_cheap_nodes_can_end_between_them(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    y = x
    for _ in range(5_000):
        y = y * 1.0001
    with Session(graph=graph) as session:
        gate = direct_session(session)._gate = CountingGate()
        assert np.isfinite(session.run(y, {x: 1.0}))
    assert 2 < gate.looks < 100  # about one for each millisecond of estimated work


def test_closing_from_another_thread_ends_a_run_of_the_synchronous_face(graph: Graph) -> None:
    """1. A thread is in the middle of a long step. 2. Another thread closes the session.
    3. The step ends with CancelledError. 4. Later runs say that the session is closed."""
    x = ops.placeholder("float32", [400, 400])
    entered, go_on = threading.Event(), threading.Event()

    def gate(value: Any) -> Any:
        entered.set()
        assert go_on.wait(20)
        return value

    y = in_python(gate, x)
    y.set_shape([400, 400])
    for _ in range(500):
        y = ops.matmul(y, x)
    session = Session(graph=graph)
    ended: list[BaseException] = []

    def work() -> None:
        try:
            session.run(y, {x: np.zeros((400, 400), np.float32)})
        except BaseException as exc:
            ended.append(exc)

    thread = threading.Thread(target=work)
    thread.start()
    assert entered.wait(20)
    session.close()
    go_on.set()
    thread.join(20)
    assert [type(e) for e in ended] == [CancelledError]
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(y)


async def test_an_error_is_not_hidden_by_the_cancellations_that_it_causes(graph: Graph) -> None:
    """A shape that fits nobody fails on one device while the others are at work."""
    model = Model()
    with graph.device("/device:CPU:2"):
        rows = ops.placeholder("float32", None)
        bad = ops.reduce_sum(ops.matmul(rows, model.x))
    async with AsyncSession(graph=graph, config=THREE) as session:
        for _ in range(20):
            with pytest.raises(InvalidArgumentError) as info:
                await session.run([model.total, bad], {model.x: VALUE, rows: np.ones((2, 3), np.float32)})
            assert not info.value.derived
            assert "CPU:2" in str(info.value)
            assert session.statistics().steps == 0
        assert await session.run(model.total, {model.x: VALUE}) == model.expected


# -- functions that do not return ------------------------------------------------------------------
class Stuck:
    """A function of a graph that does not return before it is let go."""

    def __init__(self) -> None:
        self.entered, self._go_on = threading.Event(), threading.Event()
        self.y = in_python(self._wait, ops.constant(1.0))

    def _wait(self, value: Any) -> Any:
        self.entered.set()
        assert self._go_on.wait(20)
        return value

    def __enter__(self) -> Stuck:
        return self

    def __exit__(self, *args: Any) -> None:
        self._go_on.set()


# A limit sends the synchronous face's step through its loop, and its kernels to the pool.
LIMITED = ConfigProto(operation_timeout_in_ms=60_000)


async def test_closing_ends_a_run_whose_function_never_ends(make_session: Any, settle: Callable[[float], None]) -> None:
    """1. A function is called and waits for something. 2. The session is closed, which returns.
    3. The run ends with CancelledError though the function still waits."""
    settle(0.05)
    session = make_session(LIMITED)
    with Stuck() as stuck:
        run = asyncio.ensure_future(session.run(stuck.y))
        assert await asyncio.to_thread(stuck.entered.wait, 20)
        await session.close()
        with pytest.raises(CancelledError, match="closed"):
            await run


async def test_a_limit_ends_a_run_whose_function_never_ends(make_session: Any, settle: Callable[[float], None]) -> None:
    settle(0.05)
    session = make_session()
    with Stuck() as stuck:
        with pytest.raises(DeadlineExceededError):
            await session.run(stuck.y, options=RunOptions(timeout_in_ms=50))
        assert await session.run(ops.constant(1.0) + 1.0) == 2.0
        await session.close()


@pytest.mark.usefixtures("no_garbage")
def test_ctrl_c_does_not_wait_for_a_function_in_the_pool(graph: Graph) -> None:
    """1. The main thread waits for a step whose function does not return. 2. SIGINT comes.
    3. KeyboardInterrupt is raised while the function still waits. 4. The session lives."""
    x = ops.constant(1.0) + 1.0
    with Session(graph=graph) as session, Stuck() as stuck:

        def interrupt() -> None:
            assert stuck.entered.wait(20)
            signal.pthread_kill(main, signal.SIGINT)

        main = threading.get_ident()
        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            session.run(stuck.y, options=RunOptions(timeout_in_ms=60_000))
        thread.join()
        assert session.run(x) == 2.0
        assert session.run(x, options=RunOptions(timeout_in_ms=60_000)) == 2.0


@pytest.mark.usefixtures("no_garbage")
def test_a_session_may_be_closed_amid_interrupted_functions(graph: Graph, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing of the run that was given up is left on the loop, which ends with the session."""
    with Stuck() as stuck:
        with Session(graph=graph) as session:
            main = threading.get_ident()

            def interrupt() -> None:
                assert stuck.entered.wait(20)
                signal.pthread_kill(main, signal.SIGINT)

            thread = threading.Thread(target=interrupt)
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                session.run(stuck.y, options=RunOptions(timeout_in_ms=60_000))
            thread.join()
        assert not [t for t in threading.enumerate() if t.name == "actorsession-session-loop"]
    gc.collect()
    assert "destroyed" not in caplog.text


class Alarm(Exception):
    """What a signal handler of a program raises."""


@pytest.mark.usefixtures("no_garbage")
def test_what_a_signal_handler_raises_ends_the_step_like_ctrl_c(graph: Graph) -> None:
    x = ops.constant(1.0) + 1.0

    def ring(number: int, frame: Any) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with Session(graph=graph) as session, Stuck() as stuck:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(Alarm):
                session.run(stuck.y, options=RunOptions(timeout_in_ms=60_000))
            assert session.run(x) == 2.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


async def test_a_synchronous_session_may_be_closed_inside_a_running_loop(graph: Graph) -> None:
    """Its runs went through a loop of its own, in a thread; nothing of that is left."""
    y = in_python(np.copy, ops.constant(1.0))
    session = Session(graph=graph, config=LIMITED)
    assert await asyncio.to_thread(session.run, y) == 1.0
    session.close()
    assert session.closed
    assert not [t for t in threading.enumerate() if t.name == "actorsession-session-loop"]
    with pytest.raises(RuntimeError, match="closed Session"):
        await asyncio.to_thread(session.run, y)


async def test_a_session_of_a_master_is_not_half_closed_inside_a_running_loop(graph: Graph) -> None:
    """The loop may be the one that the master runs on: closing would wait for itself."""
    y = ops.constant(1.0) + 1.0
    async with Server({"worker": ["tcp://127.0.0.1:0"]}, "worker", 0) as server:
        session = Session(server.target, graph=graph)
        assert await asyncio.to_thread(session.run, y) == 2.0
        with pytest.raises(RuntimeError, match=r"still open.*to_thread\(session.close\)"):
            session.close()
        assert not session.closed
        assert await asyncio.to_thread(session.run, y) == 2.0
        await asyncio.to_thread(session.close)
        assert session.closed


def test_a_function_may_close_the_session_that_runs_it(graph: Graph) -> None:
    def close(value: Any) -> Any:
        session.close()
        return value

    y = in_python(close, ops.constant(1.0)) + 1.0
    session = Session(graph=graph, config=LIMITED)
    with pytest.raises(CancelledError, match="closed"):
        session.run(y)
    assert session.closed


def test_a_debugger_state_may_close_the_session(graph: Graph) -> None:
    """It hears of the run in the thread of the session's loop, which must not wait for itself."""

    class Closing(acts.debugging.DebuggerState):
        def publish_debug_metadata(self, *args: Any) -> None:
            session.close()

    y = in_python(np.copy, ops.constant(1.0))
    watch = DebugTensorWatch(node_name="*", output_slot=-1, debug_urls=["memory://"])
    options = RunOptions(debug_options=DebugOptions(debug_tensor_watch_opts=[watch]))
    session = Session(graph=graph, config=LIMITED)
    before = acts.debugging.DebuggerStateRegistry.register_factory(lambda _: Closing())
    try:
        with pytest.raises(CancelledError, match=r"closed|shut down"):
            session.run(y, options=options)
    finally:
        acts.debugging.DebuggerStateRegistry.register_factory(before)
    assert session.closed


def test_runs_that_meet_the_closing_of_their_session_all_end(graph: Graph) -> None:
    """Threads run steps through the session's loop while another thread closes it, again and again."""
    y = in_python(np.copy, ops.constant(1.0))
    for turn in range(30):
        session = Session(graph=graph, config=LIMITED)
        ready = threading.Barrier(4)
        ended: list[BaseException] = []

        def work(session: Session = session, ready: Any = ready, ended: Any = ended) -> None:
            ready.wait(20)
            try:
                while True:
                    session.run(y)
            except BaseException as exc:
                ended.append(exc)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        ready.wait(20)
        if turn % 2:
            session.run(y)
        session.close()
        for thread in threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in threads)
        assert len(ended) == 3
        for error in ended:
            assert isinstance(error, CancelledError | RuntimeError), error
            assert "closed" in str(error)
