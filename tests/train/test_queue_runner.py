"""Queue runners: queues are filled beside the program, in threads or on the event loop."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, Session, int32, ops, opsets
from actorsession.errors import InvalidArgumentError, OutOfRangeError
from actorsession.train import Coordinator, QueueRunner, add_queue_runner, running_queues, start_queue_runners
from tests.cluster.kit import PATIENCE, soon


class Counted:
    """A queue that a runner fills with 1, 2, ..., and then closes."""

    def __init__(self, last: int, loops: int = 2, capacity: int = 4) -> None:
        self.counter = ops.Variable(0, name="counter")
        self.queue = ops.FIFOQueue(capacity, int32, shapes=[])
        put = self.queue.enqueue(ops.cast(self.counter.count_up_to(last), int32) + 1)
        self.runner = QueueRunner(self.queue, [put] * loops)
        self.take = self.queue.dequeue()
        add_queue_runner(self.runner)


def wait_until(condition: Callable[[], bool]) -> None:
    """Waits for what no event tells of."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


async def drained(session: AsyncSession, take: Any, found: list[int]) -> None:
    """Takes out what there is, until the queue says that this was all."""
    with contextlib.suppress(OutOfRangeError):
        while True:
            found.append(await soon(session.run(take)))


def test_threads_fill_a_queue_until_there_is_no_more(graph: Graph) -> None:
    counted = Counted(20)
    with Session(graph=graph) as session:
        session.run(counted.counter.initializer)
        coord = Coordinator()
        threads = start_queue_runners(session, coord)
        assert len(threads) == 3
        found = [session.run(counted.take) for _ in range(20)]
        assert sorted(found) == list(range(1, 21))
        with pytest.raises(OutOfRangeError):
            session.run(counted.take)
        coord.request_stop()
        coord.join(threads)


def test_a_queue_is_closed_when_the_last_of_its_loops_has_no_more(graph: Graph) -> None:
    """1. One loop has put in all it has. 2. Another one, which was held, puts in more. 3. Both have ended."""
    gate, queue = threading.Event(), ops.FIFOQueue(4, int32, shapes=[])

    def held() -> np.int32:
        assert gate.wait(PATIENCE)
        return np.int32(2)

    value = ops.py_func(held, [], int32)
    value.set_shape([])  # type: ignore[union-attr]
    counters = [ops.Variable(0, name=name) for name in ("quick", "slow")]
    once = [ops.cast(counter.count_up_to(1), int32) for counter in counters]
    runner = QueueRunner(queue, [queue.enqueue(once[0] + 1), queue.enqueue(once[1] + value)])
    take = queue.dequeue()
    with Session(graph=graph) as session:
        session.run([counter.initializer for counter in counters])
        coord = Coordinator()
        quick, *others = runner.create_threads(session, coord, start=True)
        quick.join(PATIENCE)
        assert not quick.is_alive()
        assert session.run(take) == 1
        gate.set()
        assert session.run(take) == 2
        with pytest.raises(OutOfRangeError):
            session.run(take)
        coord.request_stop()
        coord.join(others)


def test_a_stop_ends_threads_that_wait_for_room(graph: Graph) -> None:
    counted = Counted(1_000_000)
    with Session(graph=graph) as session:
        session.run(counted.counter.initializer)
        coord = Coordinator()
        with session.as_default():
            threads = start_queue_runners(coord=coord)
        assert start_queue_runners(session, coord) == []  # they run already
        for _ in range(3):
            session.run(counted.take)
        coord.request_stop()
        coord.join(threads)
        again = counted.runner.create_threads(session, Coordinator())
        assert len(again) == 3  # they may run anew


def test_what_fails_in_a_thread_is_raised_where_threads_are_joined(graph: Graph) -> None:
    queue = ops.FIFOQueue(4, int32, shapes=[])
    x = ops.py_func(lambda: 1 / 0, [], int32)
    x.set_shape([])  # type: ignore[union-attr]
    runner = QueueRunner(queue, [queue.enqueue(x)])
    with Session(graph=graph) as session:
        coord = Coordinator()
        threads = runner.create_threads(session, coord, start=True)
        with pytest.raises(Exception, match="division by zero"):
            coord.join(threads)


def test_without_a_coordinator_a_runner_keeps_what_its_threads_raised(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threading.excepthook", lambda args: None)
    queue = ops.FIFOQueue(4, int32, shapes=[])
    x = ops.placeholder("int32", [])
    runner = QueueRunner(queue, [queue.enqueue(x)])
    with Session(graph=graph) as session:
        (thread,) = runner.create_threads(session, start=True)
        thread.join()
    (raised,) = runner.exceptions_raised
    assert isinstance(raised, InvalidArgumentError)


class Starved:
    """A queue whose runner waits for two gradients, of which there is one: what a replica leaves behind."""

    def __init__(self) -> None:
        gradients = opsets.ConditionalAccumulator("float32", [])
        self.queue = ops.FIFOQueue(4, "float32", shapes=[])
        self.hand_in = gradients.apply_grad(1.0)
        self.count = gradients.num_accumulated()
        self.runner = QueueRunner(self.queue, [self.queue.enqueue(gradients.take_grad(2))])


@pytest.fixture
def tracebacks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What threads have printed at their end."""
    printed: list[Any] = []
    monkeypatch.setattr("threading.excepthook", printed.append)
    return printed


def ended(threads: list[threading.Thread]) -> bool:
    for thread in threads:
        thread.join(PATIENCE)
    return not any(thread.is_alive() for thread in threads)


def test_a_stop_ends_threads_that_wait_for_what_never_comes(graph: Graph, tracebacks: list[Any]) -> None:
    """Closing the queue does not end them: they wait for something else. The grace is TensorFlow's."""
    starved = Starved()
    with Session(graph=graph) as session:
        session.run(starved.hand_in)
        coord = Coordinator()
        threads = starved.runner.create_threads(session, coord, start=True)
        wait_until(lambda: session.why().steps != ())
        coord.request_stop()
        assert ended(threads)
        coord.join(threads)
        assert session.run(starved.count) == 1  # what was handed in is still there
    assert tracebacks == []


def test_a_stop_lets_a_step_end_that_is_at_work(graph: Graph) -> None:
    """1. A step is in the middle of its work. 2. A stop is requested. 3. The step goes on to its end."""
    begun, goes_on = threading.Event(), threading.Event()

    def work() -> np.int32:
        begun.set()
        assert goes_on.wait(PATIENCE)
        return np.int32(1)

    v = ops.Variable(0, name="v")
    queue = ops.FIFOQueue(1, int32, shapes=[])
    x = ops.py_func(work, [], int32)
    x.set_shape([])  # type: ignore[union-attr]
    with graph.control_dependencies([v.assign(x).op]):
        runner = QueueRunner(queue, [ops.no_op()])
    runner.stop_grace = PATIENCE
    with Session(graph=graph) as session:
        session.run(v.initializer)
        coord = Coordinator()
        threads = runner.create_threads(session, coord, start=True)
        assert begun.wait(PATIENCE)
        coord.request_stop()
        goes_on.set()
        coord.join(threads)
        assert session.run(v) == 1


def test_threads_that_join_did_not_wait_for_end_in_silence_with_their_session(
    graph: Graph, tracebacks: list[Any]
) -> None:
    """1. A stop is requested. 2. ``join`` gives the threads no time. 3. The session is closed under them."""
    starved = Starved()
    with Session(graph=graph) as session:
        coord = Coordinator()
        threads = starved.runner.create_threads(session, coord, start=True)
        wait_until(lambda: session.why().steps != ())
        coord.request_stop()
        coord.join(threads, stop_grace_period_secs=0, ignore_live_threads=True)
    assert ended(threads)
    assert tracebacks == []


def test_threads_without_a_coordinator_end_in_silence_with_their_session(graph: Graph, tracebacks: list[Any]) -> None:
    starved = Starved()
    with Session(graph=graph) as session:
        threads = starved.runner.create_threads(session, start=True)
        wait_until(lambda: session.why().steps != ())
    assert ended(threads)
    assert tracebacks == []
    assert len(starved.runner.exceptions_raised) == 1


async def test_children_fill_a_queue_until_there_is_no_more(graph: Graph) -> None:
    counted = Counted(20)
    async with AsyncSession(graph=graph) as session:
        await session.run(counted.counter.initializer)
        found: list[int] = []
        async with running_queues(session):
            await drained(session, counted.take, found)
        assert sorted(found) == list(range(1, 21))
    # Children end with the body.
    counted = Counted(1_000_000)
    async with AsyncSession(graph=graph) as session:
        await session.run(counted.counter.initializer)
        async with running_queues(session):
            assert await soon(session.run(counted.take)) in (1, 2)
        assert session.statistics().steps == 0
    # What fails in a child ends the body and is raised.
    queue = ops.FIFOQueue(4, int32, shapes=[])
    x = ops.placeholder("int32", [])
    add_queue_runner(QueueRunner(queue, [queue.enqueue(x)]))
    async with AsyncSession(graph=graph) as session:
        with pytest.raises(InvalidArgumentError, match="feed a value"):
            async with running_queues(session):
                await soon(session.run(queue.dequeue()))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda q: QueueRunner(), ValueError, "Must provide queue and enqueue_ops"),
        (lambda q: QueueRunner(q, []), ValueError, "Must provide queue and enqueue_ops"),
        (
            lambda q: QueueRunner(q, [q.enqueue(1)], queue_closed_exception_types=[int]),  # type: ignore[list-item]
            TypeError,
            "tuple of exceptions",
        ),
        (lambda q: start_queue_runners(), ValueError, "No default session is registered"),
        (lambda q: start_queue_runners(q), TypeError, "must be a `tf.Session`"),
    ],
    ids=["nothing", "no operations", "no exceptions", "no session", "another thing"],
)
def test_what_makes_no_sense_is_refused(make: Any, error: type[Exception], words: str) -> None:
    queue = ops.FIFOQueue(4, int32, shapes=[])
    with pytest.raises(error, match=words):
        make(queue)
