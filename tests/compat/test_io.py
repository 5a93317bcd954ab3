"""Training data from files, as programs for TensorFlow 1 read and write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")

KIND = tf.python_io.TFRecordCompressionType


def example(label: int, image: np.ndarray[Any, Any]) -> Any:
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                "image_raw": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()])),
            }
        )
    )


def images(count: int) -> list[Any]:
    return [np.full([2, 3], i, np.uint8) for i in range(count)]


def test_examples_are_written_into_a_file_and_parsed_from_it(tmp_path: Path) -> None:
    path = str(tmp_path / "train.tfrecords")
    writer = tf.python_io.TFRecordWriter(path)
    for label, image in enumerate(images(4)):
        writer.write(example(label, image).SerializeToString())
    writer.close()
    records = list(tf.python_io.tf_record_iterator(path))
    assert tf.train.Example.FromString(records[3]).features.feature["label"].int64_list.value == [3]
    features = {"image_raw": tf.FixedLenFeature([], tf.string), "label": tf.FixedLenFeature([], tf.int64)}
    serialized = tf.placeholder(tf.string, [None])
    parsed = tf.parse_example(serialized, features)
    pixels = tf.reshape(tf.decode_raw(parsed["image_raw"], tf.uint8), [-1, 2, 3])
    one = tf.parse_single_example(serialized[2], features)
    with tf.Session() as session:
        labels, found, single = session.run([parsed["label"], pixels, one], {serialized: records})
    assert labels.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(found, images(4))
    assert single == {"label": 2, "image_raw": images(4)[2].tobytes()}


@for_each(
    "options",
    [
        None, "", "ZLIB", "GZIP", KIND.NONE, KIND.ZLIB, KIND.GZIP,
        tf.python_io.TFRecordOptions(KIND.GZIP),
        tf.io.TFRecordOptions("ZLIB", compression_level=9, mem_level=9, window_bits=12),
    ],
    ids=[
        "None", "empty", "ZLIB", "GZIP", "kind NONE", "kind ZLIB", "kind GZIP", "options of a kind",
        "options of zlib",
    ],
)  # fmt: skip
def test_records_are_compressed_as_the_options_say(tmp_path: Path, options: Any) -> None:
    path = str(tmp_path / "records")
    with tf.io.TFRecordWriter(path, options) as writer:
        for record in (b"bytes", "text", bytearray(b"more")):
            writer.write(record)
        writer.flush()
    assert list(tf.io.tf_record_iterator(path, options)) == [b"bytes", b"text", b"more"]


def test_options_say_which_compression_they_are() -> None:
    said = tf.python_io.TFRecordOptions.get_compression_type_string
    assert [said(x) for x in (None, "", "GZIP", KIND.ZLIB, KIND.NONE)] == ["", "", "GZIP", "ZLIB", ""]
    assert said(tf.python_io.TFRecordOptions(KIND.GZIP)) == "GZIP"
    for wrong in ("LZ4", 7):
        with pytest.raises(ValueError, match="Not a valid compression_type"):
            tf.python_io.TFRecordOptions(wrong)
    assert tf.io.parse_example is tf.parse_example
    assert tf.io.FixedLenFeature is tf.FixedLenFeature
    assert tf.io.match_filenames_once is tf.train.match_filenames_once
    assert tf.strings.to_hash_bucket is tf.string_to_hash_bucket
    assert [name for name in tf.io.__all__ if not hasattr(tf.io, name)] == []


def test_what_cannot_be_written_or_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError):
        tf.python_io.TFRecordWriter(str(tmp_path / "no" / "file"))
    with pytest.raises(tf.errors.NotFoundError):
        tf.python_io.tf_record_iterator(str(tmp_path / "no"))
    with tf.python_io.TFRecordWriter(str(tmp_path / "file")) as writer:
        with pytest.raises(TypeError, match="string"):
            writer.write(3)
    with pytest.raises(tf.errors.FailedPreconditionError, match="closed"):
        writer.write(b"")
    (tmp_path / "file").write_bytes(b"no records at all")
    with pytest.raises(tf.errors.DataLossError, match="corrupted record at 0"):
        list(tf.python_io.tf_record_iterator(str(tmp_path / "file")))


def test_file_names_are_matched_once_and_handed_out_by_a_queue(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).write_text(f"{name},1")
    names = tf.train.match_filenames_once(str(tmp_path / "*.csv"), name="names")
    assert names.op.name == "names"
    assert tf.local_variables() == [names]
    assert tf.trainable_variables() == []
    queue = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
    path, number = tf.decode_csv(tf.read_file(queue.dequeue()), [[""], [0]])
    coord = tf.train.Coordinator()
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        (tmp_path / "c.csv").write_text("too late")
        threads = tf.train.start_queue_runners(session, coord)
        assert [session.run((path, number)) for _ in range(2)] == [(b"a.csv", 1), (b"b.csv", 1)]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(path)
        coord.request_stop()
        coord.join(threads)
