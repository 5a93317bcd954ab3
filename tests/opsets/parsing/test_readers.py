"""Readers: records of the files of a queue, with keys and counts as TensorFlow's readers give them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import actorsession.compat.v1 as tf
from tests.rows import refused


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a").write_bytes(b"one\ntwo\r\nthree")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "b").write_bytes(b"x\n\ny\n")
    (tmp_path / "blocks").write_bytes(b"HH" + bytes(range(12)) + b"F")
    with tf.python_io.TFRecordWriter(str(tmp_path / "records")) as writer:
        for k in range(3):
            writer.write(b"r%d" % k)
    return tmp_path


def all_read(folder: Path, names: list[str], reader: Any, most: int | None = None) -> list[Any]:
    """The short keys, values and counts of all reads, up to the end or an error of each kind."""
    queue = tf.FIFOQueue(len(names), tf.string, [])
    put = queue.enqueue_many([[str(folder / name) for name in names]])
    close = queue.close()
    read = reader.read(queue) if most is None else reader.read_up_to(queue, most)
    counts = [reader.num_records_produced(), reader.num_work_units_completed()]
    found: list[Any] = []

    def short(key: bytes) -> bytes:
        return key.rpartition(b"/")[2]

    with tf.Session() as sess:
        sess.run(put)
        sess.run(close)
        while True:
            try:
                key, value = sess.run(read)
            except tf.errors.OutOfRangeError:
                break
            except tf.errors.OpError as exc:
                found.append(type(exc).__name__)
                continue
            if most is None:
                found.append((short(key), value, *map(int, sess.run(counts))))
            else:
                found.append((list(map(short, key)), list(value), *map(int, sess.run(counts))))
        found.append(tuple(map(int, sess.run(counts))))
        sess.run(reader.reset())
        assert list(sess.run(counts)) == [0, 0]
    return found


KINDS: dict[str, tuple[Callable[[], Any], list[str], list[Any]]] = {
    "lines": (
        tf.TextLineReader,
        ["a", "empty", "b"],
        [
            (b"a:1", b"one", 1, 0),
            (b"a:2", b"two", 2, 0),
            (b"a:3", b"three", 3, 0),
            (b"b:1", b"x", 4, 2),
            (b"b:2", b"", 5, 2),
            (b"b:3", b"y", 6, 2),
            (6, 3),
        ],
    ),
    "lines without the first": (
        lambda: tf.TextLineReader(skip_header_lines=1),
        ["a"],
        [(b"a:2", b"two", 1, 0), (b"a:3", b"three", 2, 0), (2, 1)],
    ),
    "whole files": (tf.WholeFileReader, ["b", "empty"], [(b"b", b"x\n\ny\n", 1, 1), (b"empty", b"", 2, 2), (2, 2)]),
    "blocks": (
        lambda: tf.FixedLengthRecordReader(8, header_bytes=2, footer_bytes=1, hop_bytes=4),
        ["blocks"],
        [(b"blocks:0", bytes(range(8)), 1, 0), (b"blocks:1", bytes(range(4, 12)), 2, 0), (2, 1)],
    ),
    "records": (
        tf.TFRecordReader,
        ["records"],
        [(b"records:0", b"r0", 1, 0), (b"records:18", b"r1", 2, 0), (b"records:36", b"r2", 3, 0), (3, 1)],
    ),
    "a file that is missing": (
        tf.TextLineReader,
        ["none", "b"],
        ["NotFoundError", (b"b:1", b"x", 1, 0), (b"b:2", b"", 2, 0), (b"b:3", b"y", 3, 0), (3, 1)],
    ),
}


@pytest.mark.parametrize("name", list(KINDS))
def test_records_of_files(name: str, folder: Path) -> None:
    make, files, wanted = KINDS[name]
    assert all_read(folder, files, make()) == wanted


def test_several_records_of_one_file_at_a_time(folder: Path) -> None:
    assert all_read(folder, ["a", "empty", "b"], tf.TextLineReader(), 2) == [
        ([b"a:1", b"a:2"], [b"one", b"two"], 2, 0),
        ([b"a:3"], [b"three"], 3, 1),
        ([b"b:1", b"b:2"], [b"x", b""], 5, 2),
        ([b"b:3"], [b"y"], 6, 3),
        (6, 3),
    ]


def test_names_of_nodes_are_those_of_tensorflow() -> None:
    queue, reader = tf.FIFOQueue(1, tf.string, []), tf.TextLineReader()
    key, value = reader.read(queue)
    assert (reader.reader_ref.name, key.name, value.name) == ("TextLineReaderV2:0", "ReaderReadV2:0", "ReaderReadV2:1")
    assert reader.num_records_produced().name == "ReaderNumRecordsProducedV2:0"


def test_the_state_of_readers_of_whole_files_is_saved_as_tensorflow_saves_it() -> None:
    queue, reader = tf.FIFOQueue(2, tf.string, []), tf.IdentityReader()
    key, _ = reader.read(queue)
    state, given = reader.serialize_state(), tf.placeholder(tf.string, [])
    restore = reader.restore_state(given)
    assert reader.supports_serialize
    with tf.Session() as sess:
        sess.run(queue.enqueue_many([["a", "b"]]))
        sess.run(key)
        first = sess.run(state)
        assert first == b"\x08\x01\x10\x01\x18\x01\x22\x01a"
        sess.run(key)
        sess.run(restore, {given: first})
        assert (sess.run(state), sess.run(reader.num_records_produced())) == (first, 1)
        refused(lambda: sess.run(restore, {given: b"zzzz"}), tf.errors.InvalidArgumentError)
        refused(lambda: sess.run(tf.TextLineReader().serialize_state()), tf.errors.UnimplementedError)


def test_a_step_that_waits_for_a_name_ends_in_time_and_takes_none(folder: Path) -> None:
    queue, reader = tf.FIFOQueue(2, tf.string, []), tf.TextLineReader()
    _, value = reader.read(queue)
    put = queue.enqueue(str(folder / "a"))
    with tf.Session() as sess:
        refused(lambda: sess.run(value, options=tf.RunOptions(timeout_in_ms=50)), tf.errors.DeadlineExceededError)
        sess.run(put)
        assert sess.run(value) == b"one"


def test_several_threads_share_a_reader(folder: Path) -> None:
    names = [str(folder / "a")] * 20
    queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
    _, value = tf.TextLineReader().read(queue)
    lines = tf.train.batch([value], 7, num_threads=3, allow_smaller_final_batch=True)
    found: list[bytes] = []
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coordinator)
        while True:
            try:
                found += list(sess.run(lines))
            except tf.errors.OutOfRangeError:
                break
        coordinator.request_stop()
        coordinator.join(threads)
    assert sorted(found) == sorted([b"one", b"two", b"three"] * 20)


def _batches(tensors: Any) -> list[Any]:
    """All batches, with sparse ones as tuples of lists."""
    found: list[Any] = []
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coordinator)
        while True:
            try:
                value = sess.run(tensors)
            except tf.errors.OutOfRangeError:
                break
            found.append(tuple([part.tolist() for part in value]))
        coordinator.request_stop()
        coordinator.join(threads)
    return found


def test_sparse_tensors_are_joined_to_batches() -> None:
    number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    where = tf.cast(tf.reshape(number, [1, 1]), tf.int64)
    sparse = tf.SparseTensor(where, tf.reshape(number, [1]), [5])
    joined = tf.train.batch({"s": sparse, "n": number}, 2, allow_smaller_final_batch=True)["s"]
    assert joined.get_shape().as_list() == [None, 5]
    assert _batches(joined) == [([[0, 0], [1, 1]], [0, 1], [2, 5]), ([[0, 2]], [2], [1, 5])]


def test_rows_of_sparse_tensors_are_joined_to_batches() -> None:
    whole = tf.SparseTensor([[0, 0], [1, 2], [1, 3]], [1, 2, 3], [2, 4])
    numbers = tf.train.limit_epochs(tf.constant([7, 8]), 1)
    _, joined = tf.train.batch([numbers, whole], 2, enqueue_many=True)
    assert _batches(joined) == [([[0, 0], [1, 2], [1, 3]], [1, 2, 3], [2, 4])]


def test_summaries_say_how_full_the_queues_are() -> None:
    number = tf.train.range_input_producer(3, capacity=7).dequeue()
    tf.train.batch([number], 2)
    tf.train.shuffle_batch([number], 2, capacity=20, min_after_dequeue=5)
    found = tf.get_collection(tf.GraphKeys.SUMMARIES)
    assert [summary.op.name for summary in found] == [
        "input_producer/fraction_of_7_full",
        "batch/fraction_of_32_full",
        "shuffle_batch/fraction_over_5_of_15_full",
    ]
    with tf.Session() as sess:
        written = tf.Summary.FromString(sess.run(found[0]))
    assert [(v.tag, v.simple_value) for v in written.value] == [(found[0].op.name, 0.0)]
