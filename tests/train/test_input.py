"""Input through queues: producers, batches, and where they come to their end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from actorsession import Graph, GraphKeys, Session, float32, get_default_graph, int64, ops, string, train
from actorsession.errors import InvalidArgumentError, OutOfRangeError
from tests.ops.uses import dims, each_use, equals


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
