"""Files and training data from them, as programs for TensorFlow 1 read and write it."""

from __future__ import annotations

import ast
import os
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


LINES = (Path(__file__).parent / "data" / "gfile.txt").read_text().splitlines()[1:]


def text(name: str) -> str:
    return Path(name).read_text(encoding="utf-8")


def run(code: str, names: dict[str, Any]) -> Any:
    try:
        tree = ast.parse(code, mode="eval")
    except SyntaxError:
        exec(code, names)  # noqa: S102
        return names.get("r")
    return eval(compile(tree, "line", "eval"), names)  # noqa: S307


def test_files_behave_as_in_tensorflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines are run one after the other: later ones find what earlier ones left."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("line one\nline two\nlast é", encoding="utf-8")
    (tmp_path / "dir" / "sub").mkdir(parents=True)
    (tmp_path / "dir" / "x.bin").write_bytes(b"\x00\x01\r\n\x02")
    (tmp_path / "dir" / "sub" / "y").write_text("y")
    (tmp_path / "empty").mkdir()
    (tmp_path / "w3.txt").write_text("abc")
    (tmp_path / "lat").write_bytes(b"\xff")
    for line in LINES:
        code, _, wanted = line.rpartition(" => ")
        assert outcome(code) == wanted, code


def outcome(code: str) -> str:
    try:
        found = run(code, {"tf": tf, "g": tf.gfile, "os": os, "text": text})
        return repr(list(found) if hasattr(found, "__next__") else found)
    except Exception as exc:
        return f"!{type(exc).__name__}"


def test_patterns_match_in_each_part_of_a_path(tmp_path: Path) -> None:
    for name in ("run1", "run2", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "events.1").write_text("")
    assert tf.gfile.Glob(f"{tmp_path}/run*/events.?") == [f"{tmp_path}/run1/events.1", f"{tmp_path}/run2/events.1"]
    assert tf.gfile.Glob(f"{tmp_path}/run[!1]/*") == [f"{tmp_path}/run2/events.1"]
    # A file is read back while it is written.
    file = tf.gfile.GFile(str(tmp_path / "w"), "w+")
    file.write("abc")
    file.seek(0)
    assert file.read() == "abc"
    file.write("def")
    file.close()
    assert (tmp_path / "w").read_text() == "abcdef"
    # A walk reports what cannot be listed.
    met: list[Exception] = []
    assert list(tf.io.gfile.walk(str(tmp_path / "none"), onerror=met.append)) == []
    assert [type(error) for error in met] == [tf.errors.NotFoundError]


training: Any = tf.contrib.training


def batches(found: Any) -> list[Any]:
    got = []
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            while True:
                got.append(sess.run(found))
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        coord.join(threads, stop_grace_period_secs=30)
    return got


def test_examples_of_like_length_come_together() -> None:
    numbers = np.array([1, 5, 2, 9, 6, 3, 2, 8], np.int32)
    (number,) = tf.train.slice_input_producer([numbers], num_epochs=1, shuffle=False)
    example = {"x": tf.fill([number], number), "n": number}
    lengths, found = training.bucket_by_sequence_length(
        number, example, 2, [4, 7], dynamic_pad=True, allow_smaller_final_batch=True
    )
    assert found["x"].shape.as_list() == [None, None]
    got = batches([lengths, found])
    kinds = [{(n >= 4) + (n >= 7) for n in lengths} for lengths, _ in got]
    assert all(len(kind) == 1 for kind in kinds)
    assert sorted(n for lengths, _ in got for n in lengths) == sorted(numbers)
    for lengths, batch in got:
        assert batch["n"].tolist() == lengths.tolist()
        assert batch["x"].shape == (len(lengths), max(lengths))
        assert [row[:n].tolist() for row, n in zip(batch["x"], lengths, strict=True)] == [[n] * n for n in lengths]


def test_a_bucket_of_its_own_size_and_no_more_than_whole_batches() -> None:
    (number,) = tf.train.slice_input_producer([np.arange(12, dtype=np.int32)], num_epochs=1, shuffle=False)
    which, (found,) = training.bucket([number], number % 2, [2, 4], 2, keep_input=number < 10)
    got = batches([which, found])
    assert sorted(x for bucket, batch in got if bucket == 0 for x in batch) == [0, 2, 4, 6]
    assert [batch.tolist() for bucket, batch in got if bucket == 1] == [[1, 3, 5, 7]]
    with pytest.raises(ValueError, match="num_buckets must be > 1"):
        training.bucket([1], 0, 2, 1)
    with pytest.raises(ValueError, match="3 buckets, 2 batch sizes"):
        training.bucket([1], 0, [2, 2], 3)
    with pytest.raises(ValueError, match="increasing"):
        training.bucket_by_sequence_length(1, [1], 2, [4, 4])
