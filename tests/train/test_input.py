"""Input through queues: producers, batches, and where they come to their end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, GraphKeys, Session, float32, int64, ops, string, train
from actorsession.errors import InvalidArgumentError, OutOfRangeError


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


# -- producers ---------------------------------------------------------------------------------------


def test_rows_come_in_order_as_often_as_there_are_epochs(graph: Graph) -> None:
    queue = train.input_producer([[1, 2], [3, 4]], num_epochs=2, shuffle=False)
    assert [row.tolist() for row in taken(queue.dequeue())] == [[1, 2], [3, 4]] * 2
    assert names(graph, "FIFOQueueV2") == ["input_producer/FIFOQueueV2"]
    epochs = [v.op.name for v in graph.get_collection(GraphKeys.LOCAL_VARIABLES)]
    assert epochs == ["input_producer/limit_epochs/epochs"]
    assert not graph.get_collection(GraphKeys.GLOBAL_VARIABLES)


def test_without_epochs_there_is_no_end() -> None:
    queue = train.range_input_producer(3, shuffle=False)
    assert taken(queue.dequeue(), at_most=7) == [0, 1, 2, 0, 1, 2, 0]


def test_each_epoch_is_shuffled_by_itself() -> None:
    queue = train.range_input_producer(50, num_epochs=2, shuffle=True, seed=3, capacity=7)
    found = taken(queue.dequeue())
    first, second = found[:50], found[50:]
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    assert first != sorted(first)


def test_names_of_files_are_strings_and_some(graph: Graph) -> None:
    queue = train.string_input_producer(["a", "b"], num_epochs=1, shuffle=False)
    assert queue.dtypes == [string]
    assert taken(queue.dequeue()) == [b"a", b"b"]
    assert names(graph, "FIFOQueueV2") == ["input_producer"]


def test_no_names_of_files_are_refused() -> None:
    with pytest.raises(ValueError, match="requires a non-null input tensor"):
        train.string_input_producer([])
    queue = train.string_input_producer(ops.zeros([0], string), shuffle=False)
    # The thread that fills the queue hears of it, and its error is what stops the program.
    with pytest.raises(InvalidArgumentError, match="non-null input tensor"):
        taken(queue.dequeue())


def test_slices_are_rows_of_all_tensors_that_belong_together() -> None:
    x, y = train.slice_input_producer([[10, 20, 30], ["a", "b", "c"]], num_epochs=1, seed=1)
    found = sorted((int(a), b) for a, b in taken([x, y]))
    assert found == [(10, b"a"), (20, b"b"), (30, b"c")]
    with pytest.raises(ValueError, match="Expected at least one tensor"):
        train.slice_input_producer([])


def test_a_row_has_a_known_shape() -> None:
    rows = ops.placeholder(float32, [None, None])
    with pytest.raises(ValueError, match="fully defined shape"):
        train.input_producer(rows)
    assert train.input_producer(rows, [3]).shapes[0].as_list() == [3]


def test_epochs_are_positive_or_endless() -> None:
    x = ops.constant(1)
    assert train.limit_epochs(x) is x
    with pytest.raises(ValueError, match="num_epochs must be > 0"):
        train.limit_epochs(x, 0)
    limited = train.limit_epochs(x, 2)
    assert limited.name == "limit_epochs:0"
    assert taken(limited) == [1, 1]


# -- batches -----------------------------------------------------------------------------------------


def counted(end: int = 5) -> Any:
    return train.range_input_producer(end, num_epochs=1, shuffle=False).dequeue()


def test_elements_are_batched_in_order_and_the_rest_is_lost(graph: Graph) -> None:
    batch = train.batch([counted()], 2)
    assert (batch.name, batch.shape.as_list()) == ("batch:0", [2])
    assert [b.tolist() for b in taken(batch)] == [[0, 1], [2, 3]]
    assert names(graph, "FIFOQueueV2")[-1] == "batch/fifo_queue"


def test_the_last_batch_may_be_smaller() -> None:
    batch = train.batch([counted()], 2, allow_smaller_final_batch=True)
    assert batch.shape.as_list() == [None]
    assert [b.tolist() for b in taken(batch)] == [[0, 1], [2, 3], [4]]


def test_several_tensors_and_dictionaries_stay_what_they_are() -> None:
    i = counted(4)
    both = train.batch([i, ops.cast(i, float32) * 2], 4)
    (found,) = taken(both)
    np.testing.assert_array_equal(found[1], [0.0, 2.0, 4.0, 6.0])
    j = counted(2)
    named = train.batch({"b": j, "a": ops.cast(j, int64)}, 2, name="named")
    assert (named["a"].name, named["b"].dtype.name) == ("named:0", "int32")
    assert list(train.batch({"only": counted(2)}, 2)) == ["only"]


def test_rows_of_a_tensor_are_elements_of_their_own() -> None:
    pairs = ops.stack([counted(), counted()])
    batch = train.batch([pairs], 4, enqueue_many=True)
    assert [b.tolist() for b in taken(batch)] == [[0, 0, 1, 1], [2, 2, 3, 3]]


def test_sizes_that_differ_are_padded() -> None:
    row = ops.range(counted(4))
    batch = train.batch([row], 4, dynamic_pad=True)
    assert batch.shape.as_list() == [4, None]
    (found,) = taken(batch)
    assert found.tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 2]]


def test_lists_are_joined_and_each_has_its_loop() -> None:
    lists = [[counted(3)], [counted(3) + 10]]
    batch = train.batch_join(lists, 1)
    assert batch.name == "batch_join:0"
    assert sorted(int(b[0]) for b in taken(batch)) == [0, 1, 2, 10, 11, 12]


def test_shuffled_batches_have_each_element_once(graph: Graph) -> None:
    batch = train.shuffle_batch([counted(40)], 4, capacity=20, min_after_dequeue=10, seed=2)
    found = [int(x) for b in taken(batch) for x in b]
    assert sorted(found) == list(range(40))
    assert found != sorted(found)
    assert names(graph, "RandomShuffleQueueV2") == ["shuffle_batch/random_shuffle_queue"]
    with pytest.raises(ValueError, match="must be bigger than min_after_dequeue"):
        train.shuffle_batch([counted(3)], 1, capacity=5, min_after_dequeue=5)


def test_shuffled_joins_have_the_elements_of_all() -> None:
    lists = [{"x": counted(4)}, {"x": counted(4) + 10}]
    batch = train.shuffle_batch_join(lists, 2, capacity=8, min_after_dequeue=3)
    found = sorted(int(x) for b in taken(batch) for x in b["x"])
    assert found == [0, 1, 2, 3, 10, 11, 12, 13]


def test_unwanted_elements_are_left_out() -> None:
    i = counted(6)
    even = train.maybe_batch([i], ops.equal(i % 2, 0), 3)
    assert [b.tolist() for b in taken(even)] == [[0, 2, 4]]


def test_unwanted_rows_are_left_out() -> None:
    rows = ops.stack([counted(3), counted(3) + 10, counted(3) + 20])
    keep = ops.constant([True, False, True])
    kept = train.maybe_batch([rows], keep, 2, enqueue_many=True)
    assert [b.tolist() for b in taken(kept)] == [[0, 20], [1, 21], [2, 22]]
    joined = train.maybe_batch_join([[rows]], keep, 2, enqueue_many=True)
    assert joined.shape.as_list() == [2]
    mixed = train.maybe_shuffle_batch([rows], 2, 9, 3, keep, enqueue_many=True)
    assert mixed.shape.as_list() == [2]
    several = train.maybe_shuffle_batch_join([[rows]], 2, 9, 3, keep, enqueue_many=True)
    assert several.shape.as_list() == [2]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x: train.batch([], 2), "at least one tensor"),
        (lambda x: train.batch_join([], 2), "at least one set of tensors"),
        (lambda x: train.batch([ops.placeholder(float32)], 2), "Cannot infer Tensor's rank"),
        (lambda x: train.batch([x], 2, enqueue_many=True), "is a scalar"),
        (lambda x: train.maybe_batch([x], [True], 2), "cannot be a vector"),
        (lambda x: train.batch_join([{"a": x}, {"b": x}], 2), "the same keys"),
        (lambda x: train.batch_join([[x], [[x]]], 2), "their ranks differ"),
    ],
)
def test_what_makes_no_batch_is_refused(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call(ops.constant(1.0))


def test_lists_to_join_have_the_same_types() -> None:
    with pytest.raises(TypeError, match="types to be consistent"):
        train.batch_join([[ops.constant(1)], [ops.constant(1.0)]], 2)
