"""What datasets read: files and Python generators."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession import AsyncSession, Graph, RunOptions, Server, data, int64, ops, sparse, string
from actorsession.errors import DeadlineExceededError, FailedPreconditionError, OutOfRangeError
from tests.cluster.kit import soon
from tests.opsets.datasets.taking import END, Dataset, elements
from tests.rows import refused, refused_later

E = tf.data.experimental


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\r\nthree")
    (tmp_path / "b.txt").write_bytes(b"x\n\ny\n")
    (tmp_path / "blocks").write_bytes(b"HH" + bytes(range(12)) + b"F")
    (tmp_path / "c.csv").write_bytes(b'id,v,s\n1,2.5,q\n2,,"a,b"\n3,4,z\n')
    for name, kind in (("plain", ""), ("zipped", "GZIP")):
        with tf.python_io.TFRecordWriter(str(tmp_path / name), kind) as writer:
            for k in range(3):
                writer.write(b"%d" % k)
    return tmp_path


def test_lines_of_text_files(folder: Path) -> None:
    paths = [str(folder / "a.txt"), str(folder / "b.txt")]
    lines = [b"one", b"two", b"three", b"x", b"", b"y"]
    assert elements(tf.data.TextLineDataset(paths)) == [*lines, END]
    by_name = Dataset.from_tensor_slices(paths).flat_map(lambda p: tf.data.TextLineDataset(p).skip(1))
    assert elements(by_name) == [b"two", b"three", b"", b"y", END]
    two = tf.data.TextLineDataset(paths, num_parallel_reads=2)
    assert elements(two) == [b"one", b"x", b"two", b"", b"three", b"y", END]
    missing = tf.data.TextLineDataset(str(folder / "none"))
    assert elements(missing, 2) == ["NotFoundError", "NotFoundError"]


def test_records(folder: Path) -> None:
    records = [b"0", b"1", b"2"]
    plain = str(folder / "plain")
    assert elements(tf.data.TFRecordDataset([plain, plain])) == [*records, *records, END]
    zipped = tf.data.TFRecordDataset(str(folder / "zipped"), "GZIP")
    assert elements(zipped) == [*records, END]
    damaged = bytearray((folder / "plain").read_bytes())
    damaged[12 + 1 + 4 + 12] ^= 1  # in the second record
    (folder / "damaged").write_bytes(damaged)
    both = tf.data.TFRecordDataset([str(folder / "damaged"), plain])
    assert elements(both) == [b"0", "DataLossError", *records, END]


def test_blocks_of_fixed_length(folder: Path) -> None:
    path = str(folder / "blocks")
    four = tf.data.FixedLengthRecordDataset(path, 4, 2, 1)
    assert elements(four) == [bytes(range(4)), bytes(range(4, 8)), bytes(range(8, 12)), END]
    assert elements(tf.data.FixedLengthRecordDataset(path, 5, 2, 1), 1) == ["InvalidArgumentError"]
    numbers = four.map(lambda block: tf.decode_raw(block, tf.uint8))
    assert elements(numbers)[1] == [4, 5, 6, 7]


def test_paths_that_match(folder: Path) -> None:
    found = elements(Dataset.list_files(str(folder / "*.txt"), shuffle=False))
    assert found == [str(folder / "a.txt").encode(), str(folder / "b.txt").encode(), END]
    mixed = elements(Dataset.list_files(str(folder / "*.txt"), seed=1))
    assert sorted(map(str, mixed)) == sorted(map(str, found))
    none = Dataset.list_files(str(folder / "*.none")).make_initializable_iterator()
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match="No files matched"):
        sess.run(none.initializer)


def test_rows_of_comma_separated_values(folder: Path) -> None:
    path = str(folder / "c.csv")
    rows = E.CsvDataset(path, [tf.int32, [0.5], tf.string], header=True)
    assert elements(rows) == [(1, 2.5, b"q"), (2, 0.5, b"a,b"), (3, 4.0, b"z"), END]
    ids = E.CsvDataset(path, [tf.int32], header=True, select_cols=[0])
    assert elements(ids) == [(1,), (2,), (3,), END]
    batches = E.make_csv_dataset(path, 2, label_name="id", shuffle=False, num_epochs=1)
    first, second, end = elements(batches)
    assert first == ({"v": [2.5, 0.0], "s": [b"q", b"a,b"]}, [1, 2])
    assert (second, end) == (({"v": [4.0], "s": [b"z"]}, [3]), END)
    refused(lambda: E.make_csv_dataset(str(folder / "*.none"), 2), ValueError, "No files match")


def test_examples_in_batches(folder: Path) -> None:
    path = str(folder / "examples")
    with tf.python_io.TFRecordWriter(path) as writer:
        for k in range(3):
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=[k]))
            features = tf.train.Features(feature={"x": value, "y": value})
            writer.write(tf.train.Example(features=features).SerializeToString())
    kinds = {"x": tf.FixedLenFeature([], tf.int64), "y": tf.FixedLenFeature([1], tf.int64)}
    made = E.make_batched_features_dataset(path, 2, kinds, label_key="y", num_epochs=1, shuffle=False)
    assert elements(made) == [({"x": [0, 1]}, [[0], [1]]), ({"x": [2]}, [[2]]), END]


def test_python_generators() -> None:
    ended = []

    def pairs(count: Any) -> Iterator[Any]:
        for k in range(count):
            yield k, [float(k)] * k
        ended.append(True)

    made = Dataset.from_generator(pairs, (tf.int32, tf.float32), ([], [None]), args=[3])
    assert elements(made) == [(0, []), (1, [1.0]), (2, [2.0, 2.0]), END]
    assert (elements(made.repeat(2).map(lambda k, _: k)), len(ended)) == ([0, 1, 2, 0, 1, 2, END], 3)
    by_name = Dataset.from_generator(lambda: [{"a": 1, "b": "x"}], {"a": tf.int32, "b": tf.string})
    assert elements(by_name) == [{"a": 1, "b": b"x"}, END]


def test_what_a_generator_should_not_give() -> None:
    def fails() -> Iterator[int]:
        yield 1
        raise KeyError("x")

    wrong = [
        Dataset.from_generator(lambda: ["a"], tf.int64),
        Dataset.from_generator(lambda: [[1, 2]], tf.int64, [3]),
        Dataset.from_generator(lambda: [1], (tf.int64, tf.int64)),
        Dataset.from_generator(lambda: [[1, None]], tf.float32, [2]),
        Dataset.from_generator(lambda: [None], tf.bool, []),
    ]
    assert [elements(made, 1) for made in wrong] == [["InvalidArgumentError"]] * len(wrong)
    assert elements(Dataset.from_generator(fails, tf.int64), 2) == [1, "UnknownError"]
    refused(lambda: Dataset.from_generator([1], tf.int64), TypeError, "callable")


def test_functions_of_several_elements_run_side_by_side() -> None:
    """Each call waits for the other one, so neither would end alone."""
    barrier = threading.Barrier(2)

    def meet(x: Any) -> Any:
        barrier.wait(20)
        return x

    made = Dataset.range(4).map(lambda x: tf.py_func(meet, [x], tf.int64), num_parallel_calls=2)
    assert elements(made) == [0, 1, 2, 3, END]


def test_a_reference_variable_has_the_value_that_it_had_at_the_initialisation() -> None:
    """As in TensorFlow, where the function captures what reads the variable outside of it."""
    offset = tf.Variable(np.int64(1), use_resource=False)
    iterator = Dataset.range(3).map(lambda x: x + offset).make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as sess:
        sess.run(offset.initializer)
        sess.run(iterator.initializer)
        assert sess.run(following) == 1
        sess.run(offset.assign(10))
        assert sess.run(following) == 2
        sess.run(iterator.initializer)
        assert sess.run(following) == 10


def test_variables_and_tables_are_read_for_each_element() -> None:
    with tf.variable_scope("", use_resource=True):
        offset = tf.get_variable("offset", initializer=np.int64(1))
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [5]), -1)
    made = Dataset.range(3).map(lambda x: (x + offset, table.lookup(tf.constant("a"))))
    iterator = made.make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as sess:
        sess.run([offset.initializer, tf.tables_initializer()])
        sess.run(iterator.initializer)
        assert sess.run(following) == (1, 5)
        sess.run(offset.assign(10))
        assert sess.run(following) == (11, 5)


# -- datasets on the tasks of a cluster ------------------------------------------------------------

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
async def target() -> AsyncIterator[str]:
    """The target of a worker beside a parameter server, both in this process."""
    cluster = {"ps": ["inproc://ps"], "worker": ["inproc://worker"]}
    async with Server(cluster, "ps", 0), Server(cluster, "worker", 0) as worker:
        yield worker.target


async def test_an_iterator_lives_on_its_task_and_its_elements_travel(target: str, graph: Graph) -> None:
    with graph.as_default():
        with graph.device(PS):
            made = data.Dataset.range(10).map(lambda x: x * 2, 2).batch(3).prefetch(1)
            iterator = made.make_initializable_iterator()
            following = iterator.get_next()
            handle = data.Dataset.range(5, 7).make_one_shot_iterator().string_handle()
            given = ops.placeholder(string, [])
            chosen = data.Iterator.from_string_handle(given, int64, []).get_next()
        with graph.device(WORKER):
            total = ops.reduce_sum(following)
            once = data.Dataset.from_generator(lambda: [7, 8], int64, []).make_one_shot_iterator()
            generated = once.get_next()
    async with AsyncSession(target, graph) as session:
        await soon(session.run(iterator.initializer))
        found, summed = await soon(session.run([following, total]))
        assert (found.tolist(), summed, (await soon(session.run(following))).tolist()) == ([0, 2, 4], 6, [6, 8, 10])
        text = await soon(session.run(handle))
        assert await soon(session.run(chosen, {given: text})) == 5
        assert [await soon(session.run(generated)) for _ in range(2)] == [7, 8]
        await refused_later(soon(session.run(generated)), OutOfRangeError, "End of sequence")
    async with AsyncSession(target, graph) as session:
        await refused_later(soon(session.run(following)), FailedPreconditionError)


async def test_a_step_that_waits_for_another_task_s_element_ends_in_time(target: str, graph: Graph) -> None:
    with graph.as_default(), graph.device(PS):
        queue = ops.FIFOQueue(2, int64, [])
        iterator = data.Dataset.range(4).map(lambda x: x + queue.dequeue()).make_initializable_iterator()
        following, put = iterator.get_next(), queue.enqueue(np.int64(3))
        with graph.device(WORKER):
            result = ops.identity(following)
    async with AsyncSession(target, graph) as session:
        await soon(session.run(iterator.initializer))
        waits = session.run(result, options=RunOptions(timeout_in_ms=100))
        await refused_later(soon(waits), DeadlineExceededError)
        await soon(session.run(put))
        assert await soon(session.run(result)) == 3


async def test_a_dataset_may_be_on_another_task_than_its_iterator(target: str, graph: Graph) -> None:
    with graph.as_default():
        with graph.device(WORKER):
            offset = ops.constant(5, int64)
            made = data.Dataset.range(6).map(lambda x: x + offset).shuffle(9, seed=1).batch(2)
        with graph.device(PS):
            iterator = data.Iterator.from_structure(int64, [None])
        start, following = iterator.make_initializer(made), iterator.get_next()
        with graph.device(PS):
            beside = made.make_initializable_iterator()
        other = beside.get_next()
    assert beside.initializer.device == made._dataset_tensor.device
    async with AsyncSession(target, graph) as session:
        await soon(session.run([start, beside.initializer]))
        for _ in range(3):
            one, same = await soon(session.run([following, other]))
            assert one.tolist() == same.tolist()
        await refused_later(soon(session.run(following)), OutOfRangeError)


async def test_sparse_elements_travel(target: str, graph: Graph) -> None:
    with graph.as_default():
        with graph.device(PS):
            whole = sparse.SparseTensor([[0, 1], [1, 2]], [5, 6], [2, 3])
            iterator = data.Dataset.from_tensor_slices(whole).batch(2).make_initializable_iterator()
        with graph.device(WORKER):
            dense = sparse.to_dense(iterator.get_next())
    async with AsyncSession(target, graph) as session:
        await soon(session.run(iterator.initializer))
        assert (await soon(session.run(dense))).tolist() == [[0, 5, 0], [0, 0, 6]]
