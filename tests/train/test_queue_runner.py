"""Queue runners, coordinators and input through queues: threads stop together, and whoever joins hears why."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import (
    AsyncSession,
    Graph,
    GraphKeys,
    Session,
    float32,
    get_default_graph,
    int32,
    int64,
    ops,
    opsets,
    string,
    train,
)
from actorsession.errors import InvalidArgumentError, OutOfRangeError, UnavailableError
from actorsession.train import (
    Coordinator,
    LooperThread,
    QueueRunner,
    add_queue_runner,
    running_queues,
    start_queue_runners,
)
from tests.cluster.kit import PATIENCE, soon
from tests.ops.uses import dims, each_use, equals


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
        assert sorted([session.run(counted.take) for _ in range(20)]) == list(range(1, 21))
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


def test_without_a_coordinator_a_runner_keeps_what_was_raised(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threading.excepthook", lambda args: None)
    queue = ops.FIFOQueue(4, int32, shapes=[])
    runner = QueueRunner(queue, [queue.enqueue(ops.placeholder("int32", []))])
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


def test_threads_that_join_did_not_wait_for_end_in_silence(graph: Graph, tracebacks: list[Any]) -> None:
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


async def test_what_fails_in_a_child_ends_the_body_and_is_raised(graph: Graph) -> None:
    queue = ops.FIFOQueue(4, int32, shapes=[])
    add_queue_runner(QueueRunner(queue, [queue.enqueue(ops.placeholder("int32", []))]))
    async with AsyncSession(graph=graph) as session:
        with pytest.raises(InvalidArgumentError, match="feed a value"):
            async with running_queues(session):
                await soon(session.run(queue.dequeue()))


async def test_an_operation_that_fails_in_a_child_ends_those_that_wait(graph: Graph) -> None:
    queue, starved = ops.FIFOQueue(4, int32, shapes=[]), ops.FIFOQueue(4, int32, shapes=[])
    failing = queue.enqueue(ops.placeholder("int32", []))
    runner = QueueRunner(queue, [queue.enqueue(starved.dequeue()), failing])
    async with AsyncSession(graph=graph) as session:
        with pytest.raises(InvalidArgumentError, match="feed a value"):
            await soon(runner.fill(session))
        assert session.statistics().steps == 0


async def test_children_end_with_the_body(graph: Graph) -> None:
    counted = Counted(1_000_000)
    async with AsyncSession(graph=graph) as session:
        await session.run(counted.counter.initializer)
        async with running_queues(session):
            assert await soon(session.run(counted.take)) in (1, 2)
        assert session.statistics().steps == 0


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
        (lambda q: start_queue_runners(q), TypeError, "must be a `Session`"),
    ],
    ids=["nothing", "no operations", "no exceptions", "no session", "another thing"],
)
def test_what_makes_no_sense_is_refused(make: Any, error: type[Exception], words: str) -> None:
    queue = ops.FIFOQueue(4, int32, shapes=[])
    with pytest.raises(error, match=words):
        make(queue)


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


def taken(fetches: Any, at_most: int = 100) -> list[Any]:
    """What comes until the input is over."""
    found: list[Any] = []
    with Session() as session:
        session.run(ops.local_variables_initializer())
        coord = train.Coordinator()
        threads = train.start_queue_runners(session, coord)
        try:
            while not coord.should_stop() and len(found) < at_most:
                found.append(session.run(fetches))
        except OutOfRangeError:
            pass
        finally:
            coord.request_stop()
            coord.join(threads)
    return found


def names(graph: Graph, kind: str) -> list[str]:
    return [op.name for op in graph.get_operations() if op.type == kind]


def counted(end: int = 5) -> Any:
    return train.range_input_producer(end, num_epochs=1, shuffle=False).dequeue()


def batches(batch: Any) -> Any:
    """The static shape of batches, and their plain values."""
    return batch.shape.as_list(), [b.tolist() for b in taken(batch)]


def _files() -> Any:
    queue = train.string_input_producer(["a", "b"], num_epochs=1, shuffle=False)
    return queue.dtypes, taken(queue.dequeue()), names(get_default_graph(), "FIFOQueueV2")


def _slices() -> Any:
    return sorted((int(a), b) for a, b in taken(train.slice_input_producer([[10, 20, 30], ["a", "b", "c"]], 1, seed=1)))


def _limited() -> Any:
    x = ops.constant(1)
    limited = train.limit_epochs(x, 2)
    return train.limit_epochs(x) is x, limited.name, taken(limited)


def _several() -> Any:
    i = counted(4)
    (found,) = taken(train.batch([i, ops.cast(i, float32) * 2], 4))
    j = counted(2)
    named = train.batch({"b": j, "a": ops.cast(j, int64)}, 2, name="named")
    only = list(train.batch({"only": counted(2)}, 2))
    return found[1].tolist(), named["a"].name, named["b"].dtype.name, only


def _joined() -> Any:
    batch = train.batch_join([[counted(3)], [counted(3) + 10]], 1)
    return batch.name, sorted(int(b[0]) for b in taken(batch))


def _shuffled_join() -> Any:
    batch = train.shuffle_batch_join([{"x": counted(4)}, {"x": counted(4) + 10}], 2, capacity=8, min_after_dequeue=3)
    return sorted(int(x) for b in taken(batch) for x in b["x"])


def _even() -> Any:
    i = counted(6)
    return train.maybe_batch([i], ops.equal(i % 2, 0), 3)


def _rows() -> Any:
    return ops.stack([counted(3), counted(3) + 10, counted(3) + 20]), ops.constant([True, False, True])


def _maybe_shapes() -> Any:
    rows, keep = _rows()
    return dims(
        train.maybe_batch_join([[rows]], keep, 2, enqueue_many=True),
        train.maybe_shuffle_batch([rows], 2, 9, 3, keep, enqueue_many=True),
        train.maybe_shuffle_batch_join([[rows]], 2, 9, 3, keep, enqueue_many=True),
    )


ONE: Callable[[], Any] = lambda: ops.constant(1.0)  # noqa: E731


ROWS: list[Any] = [
    equals(lambda: taken(train.range_input_producer(3, shuffle=False).dequeue(), 7), [0, 1, 2, 0, 1, 2, 0]),
    equals(_files, ([string], [b"a", b"b"], ["input_producer"])),
    equals(_slices, [(10, b"a"), (20, b"b"), (30, b"c")]),
    equals(lambda: train.input_producer(ops.placeholder(float32, [None, None]), [3]).shapes[0].as_list(), [3]),
    equals(_limited, (True, "limit_epochs:0", [1, 1])),
    # The rest of a batch is lost unless the last one may be smaller; sizes that differ are padded.
    equals(lambda: batches(train.batch([counted()], 2)), ([2], [[0, 1], [2, 3]])),
    equals(lambda: train.batch([counted()], 2).name, "batch:0"),
    equals(lambda: names(train.batch([counted()], 2).graph, "FIFOQueueV2")[-1], "batch/fifo_queue"),
    equals(
        lambda: batches(train.batch([counted()], 2, allow_smaller_final_batch=True)), ([None], [[0, 1], [2, 3], [4]])
    ),
    equals(
        lambda: batches(train.batch([ops.stack([counted(), counted()])], 4, enqueue_many=True)),
        ([4], [[0, 0, 1, 1], [2, 2, 3, 3]]),
    ),
    equals(
        lambda: batches(train.batch([ops.range(counted(4))], 4, dynamic_pad=True)),
        ([4, None], [[[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]]]),
    ),
    equals(_several, ([0.0, 2.0, 4.0, 6.0], "named:0", "int32", ["only"])),
    equals(_joined, ("batch_join:0", [0, 1, 2, 10, 11, 12])),
    equals(_shuffled_join, [0, 1, 2, 3, 10, 11, 12, 13]),
    equals(lambda: batches(_even()), ([3], [[0, 2, 4]])),
    equals(
        lambda: batches(train.maybe_batch([_rows()[0]], _rows()[1], 2, enqueue_many=True)),
        ([2], [[0, 20], [1, 21], [2, 22]]),
    ),
    equals(_maybe_shapes, [[2], [2], [2]]),
    (lambda: train.string_input_producer([]), ValueError, "requires a non-null input tensor"),
    (lambda: train.slice_input_producer([]), ValueError, "Expected at least one tensor"),
    (lambda: train.input_producer(ops.placeholder(float32, [None, None])), ValueError, "fully defined shape"),
    (lambda: train.limit_epochs(ONE(), 0), ValueError, "num_epochs must be > 0"),
    (lambda: train.shuffle_batch([ONE()], 1, 5, 5), ValueError, "must be bigger than min_after_dequeue"),
    (lambda: train.batch([], 2), ValueError, "at least one tensor"),
    (lambda: train.batch_join([], 2), ValueError, "at least one set of tensors"),
    (lambda: train.batch([ops.placeholder(float32)], 2), ValueError, "Cannot infer Tensor's rank"),
    (lambda: train.batch([ONE()], 2, enqueue_many=True), ValueError, "is a scalar"),
    (lambda: train.maybe_batch([ONE()], [True], 2), ValueError, "cannot be a vector"),
    (lambda: train.batch_join([{"a": ONE()}, {"b": ONE()}], 2), ValueError, "the same keys"),
    (lambda: train.batch_join([[ONE()], [[ONE()]]], 2), ValueError, "their ranks differ"),
    (lambda: train.batch_join([[ops.constant(1)], [ONE()]], 2), TypeError, "types to be consistent"),
]


test_input_comes_as_the_rows_say = each_use(ROWS)


def test_rows_come_in_order_as_often_as_there_are_epochs(graph: Graph) -> None:
    queue = train.input_producer([[1, 2], [3, 4]], num_epochs=2, shuffle=False)
    assert [row.tolist() for row in taken(queue.dequeue())] == [[1, 2], [3, 4]] * 2
    assert names(graph, "FIFOQueueV2") == ["input_producer/FIFOQueueV2"]
    epochs = [v.op.name for v in graph.get_collection(GraphKeys.LOCAL_VARIABLES)]
    assert epochs == ["input_producer/limit_epochs/epochs"]
    assert not graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    # Each epoch is shuffled by itself.
    queue = train.range_input_producer(50, num_epochs=2, shuffle=True, seed=3, capacity=7)
    found = taken(queue.dequeue())
    first, second = found[:50], found[50:]
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    assert first != sorted(first)
    # Shuffled batches have each element once.
    batch = train.shuffle_batch([counted(40)], 4, capacity=20, min_after_dequeue=10, seed=2)
    found = [int(x) for b in taken(batch) for x in b]
    assert sorted(found) == list(range(40))
    assert found != sorted(found)
    assert names(graph, "RandomShuffleQueueV2") == ["shuffle_batch/random_shuffle_queue"]
    # No names of files are refused.
    queue = train.string_input_producer(ops.zeros([0], string), shuffle=False)
    # The thread that fills the queue hears of it, and its error is what stops the program.
    with pytest.raises(InvalidArgumentError, match="non-null input tensor"):
        taken(queue.dequeue())
