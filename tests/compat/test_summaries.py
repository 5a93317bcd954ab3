"""Summaries, those that steps write themselves, event files and the projector's settings."""

from __future__ import annotations

import io
import os
import shutil
import time
import wave
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.contrib.tensorboard.plugins import projector
from actorsession.interop import text_format
from actorsession.opsets.parsing.records import RecordReader
from actorsession.opsets.summaries.event_files import EventFileWriter
from tests.rows import for_each, refusing

DATA = Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def a_graph() -> Any:
    with tf.Graph().as_default():
        yield
    tf.summary.FileWriterCache.clear()


def value_of(summary: Any) -> bytes:
    with tf.Session() as sess:
        found: bytes = sess.run(summary)
        return found


# What TensorFlow 2.21 makes of the same calls.
@for_each(
    "make, bytes_there",
    [
        (lambda: tf.summary.scalar("loss", 1.5), "0a0b0a046c6f7373150000c03f"),
        (
            lambda: tf.summary.scalar("loss", np.float64(0.1), family="fam"),
            "0a130a0c66616d2f66616d2f6c6f737315cdcccc3d",
        ),
        (
            lambda: tf.summary.histogram("h", np.array([2.0], np.float32), family="f"),
            "0a6a0a05662f662f682a6109000000000000004011000000000000004019000000000000f03f21000000000000"
            "00402900000000000010403218dc94cd2e8d75ff3fe011f10c744d0140ffffffffffffef7f3a18000000000000"
            "0000000000000000f03f0000000000000000",
        ),
        (
            lambda: tf.summary.histogram("h", np.array([True, False])),
            "0a7d0a01682a7811000000000000f03f19000000000000004021000000000000f03f29000000000000f03f3228"
            "000000000000000011ea2d819997713d08996919155aed3f2b14facdbe24f03fffffffffffffef7f3a28000000"
            "0000000000000000000000f03f0000000000000000000000000000f03f0000000000000000",
        ),
        (
            lambda: tf.summary.histogram("h", np.zeros([0], np.float32)),
            "0a2b0a01682a2609ffffffffffffef7f11ffffffffffffefff3208ffffffffffffef7f3a080000000000000000",
        ),
        (
            lambda: tf.summary.audio("a", np.linspace(-1, 1, 8).reshape(1, 4, 2), 8000.0, 1, family="f"),
            "0a610a0b662f662f612f617564696f32520d0000fa4510021804223c524946463400000057415645666d742010"
            "00000001000200401f0000007d0000040010006461746110000000008092a425c9b7ed4912db366e5bff7f2a09"
            "617564696f2f776176",
        ),
        (
            lambda: tf.summary.text("t", tf.constant("hello")),
            "0a1a0a0174420b08071200420568656c6c6f4a080a060a0474657874",
        ),
        (
            lambda: tf.summary.tensor_summary("t", tf.constant([1, 2])),
            "0a190a017442120803120412020802220801000000020000004a00",
        ),
        (
            lambda: tf.summary.tensor_summary("t", tf.constant(["a", "bc"]), "d", family="fa", display_name="D"),
            "0a220a0766612f66612f74420f0807120412020802420161420262634a061201441a0164",
        ),
        (
            lambda: tf.summary.merge([tf.summary.scalar("x", 1.0), tf.summary.scalar("y", 2.0)]),
            "0a080a0178150000803f0a080a01791500000040",
        ),
    ],
)
def test_summaries_are_the_bytes_of_tensorflow(make: Any, bytes_there: str) -> None:
    assert value_of(make()).hex() == bytes_there


def test_a_histogram_counts_the_values_below_each_limit() -> None:
    data = np.array([1, 2, -3, 0, 1e-13, 5])
    [value] = tf.Summary.FromString(value_of(tf.summary.histogram("h", data))).value
    histo = value.histo
    assert (histo.min, histo.max, histo.num, histo.sum_squares) == (-3, 5, 6, 39)
    limits, counts = np.array(histo.bucket_limit), np.array(histo.bucket)
    for limit in limits:
        assert counts[limits <= limit].sum() == (data < limit).sum()


@for_each(
    "pixels, shown",
    [
        ([[0, 1], [2, 4]], [[0, 63], [127, 255]]),
        ([[-1, 0], [1, 3]], [[85, 128], [170, 255]]),
        ([[0, np.nan], [2, 4]], [[0, 255], [127, 255]]),
        ([[-3, -3], [-3, -3]], [[1, 1], [1, 1]]),
        ([[1e-9, 0], [0, 0]], [[0, 0], [0, 0]]),
    ],
)
def test_images_are_scaled_to_bytes(pixels: Any, shown: Any) -> None:
    image = pytest.importorskip("PIL.Image")
    batch = np.array(pixels, np.float32).reshape(1, 2, 2, 1)
    [value] = tf.Summary.FromString(value_of(tf.summary.image("i", batch, 1))).value
    assert (value.tag, value.image.width, value.image.colorspace) == ("i/image", 2, 1)
    assert np.array(image.open(io.BytesIO(value.image.encoded_image_string))).tolist() == shown


def test_pixels_that_are_bytes_stay_as_they_are() -> None:
    image = pytest.importorskip("PIL.Image")
    batch = np.arange(2 * 3 * 2 * 4, dtype=np.uint8).reshape(2, 3, 2, 4)
    found = tf.Summary.FromString(value_of(tf.summary.image("i", batch))).value
    assert [value.tag for value in found] == ["i/image/0", "i/image/1"]
    for value, pixels in zip(found, batch, strict=True):
        file = io.BytesIO(value.image.encoded_image_string)
        assert np.array_equal(np.array(image.open(file)), pixels)
    # Sound is a wave file.
    samples = np.array([[0.0, 0.5, -2.0, 2.0]], np.float32)
    [value] = tf.Summary.FromString(value_of(tf.summary.audio("a", samples, 100.0))).value
    assert (value.tag, value.audio.length_frames) == ("a/audio/0", 4)
    with wave.open(io.BytesIO(value.audio.encoded_audio_string)) as file:
        assert file.getframerate() == 100
        data = np.frombuffer(file.readframes(4), np.int16)
    assert data.tolist() == [0, 1 << 14, -(1 << 15), (1 << 15) - 1]


def test_tags_are_the_names_of_scopes() -> None:
    with tf.name_scope("train"):
        one, two = tf.summary.scalar("my loss:0", 1.0), tf.summary.scalar("my loss:0", 1.0, family="f")
    assert [one.op.name, two.op.name] == ["train/my_loss_0", "train/f/my_loss_0"]
    merged = tf.Summary.FromString(value_of(tf.summary.merge_all()))
    assert [value.tag for value in merged.value] == ["train/my_loss_0", "f/train/f/my_loss_0"]


def test_summaries_are_found_by_their_collections() -> None:
    assert tf.summary.merge_all() is None
    tf.summary.scalar("x", 1.0)
    mine = tf.summary.scalar("y", 2.0, collections=["mine"])
    with tf.name_scope("n"):
        inner = tf.summary.histogram("z", 2.0)
    merge_all: Any = tf.summary.merge_all
    merged = merge_all()
    assert [tensor.op.name for tensor in merged.op.inputs] == ["x", "n/z"]
    assert merge_all("mine").op.inputs[0] is mine
    assert merge_all(scope="n").op.inputs[0] is inner
    again = tf.summary.merge([mine], collections=["k"], name="m")
    assert (again.op.name, tf.get_collection("k")) == ("m/m", [again])


test_wrong_values_are_refused = refusing(
    (
        lambda: tf.summary.scalar("v", [1.0, 2.0]),
        tf.errors.InvalidArgumentError,
        r"tags and values are not the same shape: \[\] != \[2\] \(tag 'v'\)",
    ),
    (lambda: tf.summary.histogram("h", [np.nan]), tf.errors.InvalidArgumentError, "Nan in summary histogram for: h"),
    (lambda: tf.summary.histogram("h", [np.inf]), tf.errors.InvalidArgumentError, "Infinity in Histogram for: h"),
    (
        lambda: tf.summary.image("i", np.zeros([1, 2, 2, 2])),
        tf.errors.InvalidArgumentError,
        r"Tensor must be 4-D with last dim 1, 3, or 4, not \[1,2,2,2\]",
    ),
    (lambda: tf.summary.image("i", np.zeros([1, 2, 2, 1]), 0), "less than minimum 1"),
    (lambda: tf.summary.audio("a", np.zeros([2]), 1.0), tf.errors.InvalidArgumentError, "Tensor must be 3-D or 2-D"),
    (lambda: tf.summary.audio("a", np.zeros([1, 2]), 0.0), tf.errors.InvalidArgumentError, "sample_rate must be > 0"),
    (lambda: tf.summary.text("t", tf.constant(1)), "to have dtype string"),
    (lambda: tf.summary.scalar("s", "x"), TypeError, "ScalarSummary takes"),
    (lambda: tf.summary.merge([]), "shorter than minimum length 1"),
    (lambda: tf.summary.merge([tf.constant(b"\xff")]), tf.errors.InvalidArgumentError, "Could not parse"),
    (
        lambda: tf.summary.merge([tf.summary.scalar("x", 1.0)] * 2),
        tf.errors.InvalidArgumentError,
        "Duplicate tag x found",
    ),
    of=lambda make: value_of(make()),
)


def events_of(folder: Path) -> list[Any]:
    return [e for file in sorted(folder.iterdir()) for e in tf.train.summary_iterator(file)]


def test_a_file_has_what_was_added(tmp_path: Path) -> None:
    one = tf.summary.scalar("x", 1.0)
    graph = tf.get_default_graph()
    summary = value_of(one)
    with tf.summary.FileWriter(tmp_path, graph, filename_suffix=".end") as writer:
        writer.add_summary(summary, 3)
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="k", simple_value=2.0)]), np.int64(4))
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 1)
        writer.add_event(tf.Event(step=9, wall_time=3.0))
        writer.add_meta_graph(tf.train.export_meta_graph(), 8)
        assert writer.get_logdir() == str(tmp_path)
    [file] = tmp_path.iterdir()
    assert file.match("events.out.tfevents.*.end")
    found = events_of(tmp_path)
    assert [(e.WhichOneof("what"), e.step) for e in found] == [
        ("file_version", 0),
        ("graph_def", 0),
        ("meta_graph_def", 0),
        ("summary", 3),
        ("summary", 4),
        ("session_log", 1),
        (None, 9),
        ("meta_graph_def", 8),
    ]
    assert found[0].file_version == "brain.Event:2"
    assert [n.name for n in tf.GraphDef.FromString(found[1].graph_def).node] == ["x/tags", "x/values", "x"]
    assert found[3].summary.value[0].tag == "x"
    assert found[6].wall_time == 3.0


def test_two_writers_within_a_second_never_have_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even if another process makes its file between the look and the making of one's own."""
    monkeypatch.setattr(time, "time", lambda: 1.0)
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    writers = [EventFileWriter(tmp_path) for _ in range(3)]
    assert len({writer.path for writer in writers}) == 3
    for writer in writers:
        writer.close()
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_events_are_written_when_enough_of_them_wait(tmp_path: Path) -> None:
    writer = tf.summary.FileWriter(tmp_path, max_queue=3)
    for step in range(4):
        writer.add_event(tf.Event(step=step))
    assert len(events_of(tmp_path)) == 1 + 3
    writer.flush()
    assert len(events_of(tmp_path)) == 1 + 4
    writer.close()


def test_events_are_written_when_they_have_waited_long_enough(tmp_path: Path) -> None:
    with tf.summary.FileWriter(tmp_path, flush_secs=0) as writer:
        writer.add_event(tf.Event(step=1))
        assert len(events_of(tmp_path)) == 2


def test_a_closed_writer_writes_nothing_until_it_is_opened_again(tmp_path: Path) -> None:
    writer = tf.summary.FileWriter(tmp_path)
    writer.close()
    writer.close()
    with pytest.warns(UserWarning, match="closed FileWriter"):
        writer.add_event(tf.Event(step=1))
    writer.reopen()
    writer.add_event(tf.Event(step=2))
    writer.close()
    assert [event.step for event in events_of(tmp_path)] == [0, 0, 2]


def test_the_metadata_of_a_tag_is_written_once(tmp_path: Path) -> None:
    summary = value_of(tf.summary.text("t", tf.constant("x")))
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(summary, 1)
        writer.add_summary(summary, 2)
    [_, first, second] = events_of(tmp_path)
    assert first.summary.value[0].metadata.plugin_data.plugin_name == "text"
    assert not second.summary.value[0].HasField("metadata")
    assert second.summary.value[0].tensor.string_val == [b"x"]


def test_a_folder_has_one_writer_in_the_cache(tmp_path: Path) -> None:
    cache = tf.summary.FileWriterCache
    first = cache.get(tmp_path)
    assert cache.get(str(tmp_path)) is first
    cache.clear()
    assert cache.get(tmp_path) is not first


def test_what_is_no_event_is_refused(tmp_path: Path) -> None:
    writer: Any = tf.summary.FileWriter(tmp_path)
    cases: Any = (
        (lambda: writer.add_event("x"), TypeError),
        (lambda: writer.add_graph(None), TypeError),
        (lambda: writer.add_meta_graph("x"), TypeError),
        (lambda: writer.add_summary(b"\xff\xff"), Exception),
    )
    for add, kind in cases:
        with pytest.raises(kind):
            add()
    (tmp_path / "file").touch()
    with pytest.raises(tf.errors.FailedPreconditionError, match="is not a directory"):
        tf.summary.FileWriter(tmp_path / "file")
    with pytest.raises(tf.errors.NotFoundError):
        list(tf.train.summary_iterator(tmp_path / "none"))


def test_there_are_no_summaries_of_tensorflow_2() -> None:
    assert tf.summary.all_v2_summary_ops() == []
    with pytest.raises(RuntimeError, match="No default"):
        tf.summary.initialize()
    made = tf.raw_ops.TensorSummary(tensor=tf.constant(1.0), name="t")
    node = tf.get_default_graph().as_graph_def().node[-1]
    assert tf.summary.get_summary_description(node) == tf.summary.SummaryDescription()
    [value] = tf.Summary.FromString(value_of(made)).value
    assert value.node_name == "t"
    assert tf.make_ndarray(value.tensor) == 1.0
    with pytest.raises(ValueError, match="Can't get_summary_description on Const"):
        tf.summary.get_summary_description(tf.get_default_graph().as_graph_def().node[0])


def test_a_file_of_tensorflow_is_read() -> None:
    """``data/events.tensorflow`` was written by TensorFlow 2.21."""
    found = list(tf.train.summary_iterator(DATA / "events.tensorflow"))
    assert [(e.WhichOneof("what"), e.step) for e in found] == [
        ("file_version", 0),
        ("graph_def", 0),
        ("meta_graph_def", 0),
        ("summary", 1),
        ("session_log", 1),
        ("tagged_run_metadata", 2),
    ]
    assert [value.tag for value in found[3].summary.value] == ["loss", "h", "i/image", "t"]
    assert found[5].tagged_run_metadata.tag == "step"
    # Written again, the events are the same bytes.
    records = list(RecordReader(str(DATA / "events.tensorflow")))
    assert [event.SerializeToString() for event in found] == records


def test_a_board_reads_the_files(tmp_path: Path) -> None:
    """TensorBoard's own reader gives what was written."""
    reader: Any = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    x = tf.placeholder(tf.float32, [3], name="x")
    tf.summary.scalar("average", tf.reduce_mean(x))
    tf.summary.histogram("values", x)
    tf.summary.image("shown", tf.reshape(x, [1, 3, 1, 1]), 1)
    tf.summary.audio("heard", tf.reshape(x, [1, 3]), 10.0, 1)
    tf.summary.text("said", tf.constant("hello"))
    merged = tf.summary.merge_all()
    with tf.Session() as sess, tf.summary.FileWriter(tmp_path, sess.graph) as writer:
        for step in range(3):
            writer.add_summary(sess.run(merged, {x: [step, step, step + 3]}), step)
    board: Any = reader.EventAccumulator(str(tmp_path)).Reload()
    assert [(event.step, event.value) for event in board.Scalars("average")] == [(0, 1.0), (1, 2.0), (2, 3.0)]
    assert board.Histograms("values")[-1].histogram_value.max == 5.0
    assert board.Images("shown/image")[0].encoded_image_string.startswith(b"\x89PNG")
    assert board.Audio("heard/audio")[2].length_frames == 3
    assert board.Tensors("said")[0].tensor_proto.string_val == [b"hello"]
    assert {node.name for node in board.Graph().node} >= {"x", "average", "values", "shown"}


def test_writers_of_a_folder_that_was_removed_are_forgotten(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = tf.summary.FileWriterCache
    with tf.Graph().as_default():
        for name in ("gone", "kept"):
            writer = cache.get(str(tmp_path / name))
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="t", simple_value=1.0)]), 1)
    writer.flush()
    shutil.rmtree(tmp_path / "gone")
    cache.clear()
    assert "the last events of a folder that was removed are lost" in caplog.text
    assert cache._writers == {}


def test_settings_of_the_projector_are_a_file_beside_the_summaries(tmp_path: Path) -> None:
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name = "words:0"
    embedding.metadata_path = "words.tsv"
    embedding.sprite.image_path = "sprite.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        tf.contrib.tensorboard.plugins.projector.visualize_embeddings(writer, config)
    text = (tmp_path / "projector_config.pbtxt").read_text()
    assert text.startswith('embeddings {\n  tensor_name: "words:0"\n')
    assert text_format.Parse(text, projector.ProjectorConfig()) == config


summary: Any = tf.contrib.summary


@pytest.fixture(autouse=True)
def writers_are_forgotten_here() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    summary._scope.writer = None


def test_steps_write_their_summaries(tmp_path: Path) -> None:
    step = tf.train.create_global_step()
    count = step.assign_add(1)
    with summary.create_file_writer(str(tmp_path), flush_millis=0).as_default(), summary.always_record_summaries():
        summary.scalar("loss", tf.cast(step, tf.float32) * 2.0)
        summary.histogram("h", [1.0, 2.0], family="f", step=tf.constant(7))
        summary.image("i", np.zeros([1, 2, 2, 1]), max_images=1)
        summary.audio("a", np.zeros([1, 4]), 10.0, 1)
        summary.generic("t", tf.constant([1, 2]))
        assert len(summary.all_summary_ops()) == len(tf.summary.all_v2_summary_ops()) == 5
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            summary.initialize(graph=tf.get_default_graph(), session=sess)
            for _ in range(2):
                sess.run(summary.all_summary_ops())
                sess.run(count)
            sess.run(summary.flush())
    found = events_of(tmp_path)
    assert [event.WhichOneof("what") for event in found[:2]] == ["file_version", "graph_def"]
    values = {(event.step, value.tag): value for event in found for value in event.summary.value}
    assert set(values) == {
        (0, "loss"),
        (1, "loss"),
        (7, "f/f/h"),
        (0, "i/image"),
        (1, "i/image"),
        (0, "a/audio"),
        (1, "a/audio"),
        (0, "t"),
        (1, "t"),
    }
    assert values[1, "loss"].simple_value == 2.0
    assert tf.make_ndarray(values[0, "t"].tensor).tolist() == [1, 2]


def test_summaries_are_recorded_at_some_steps(tmp_path: Path) -> None:
    step = tf.train.create_global_step()
    writer = summary.create_file_writer(str(tmp_path))
    writer.set_as_default()
    with summary.record_summaries_every_n_global_steps(2):
        summary.scalar("loss", 1.0)
    with summary.never_record_summaries():
        assert summary.should_record_summaries() is False
        summary.scalar("other", 1.0)
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), summary.summary_writer_initializer_op()])
        for _ in range(5):
            sess.run(summary.all_summary_ops())
            sess.run(step.assign_add(1))
        sess.run(writer.close())
    assert [event.step for event in events_of(tmp_path) if event.HasField("summary")] == [0, 2, 4]
    summary.create_file_writer(None).set_as_default()
    with summary.always_record_summaries():
        assert summary.scalar("nothing", 1.0).type == "NoOp"
    assert summary.eval_dir("m", "x") == "m/eval_x"


def test_events_and_graphs_are_written_as_they_are(tmp_path: Path) -> None:
    tf.train.create_global_step()
    with summary.create_file_writer(str(tmp_path)).as_default():
        imported = summary.import_event(tf.Event(step=4, file_version="x").SerializeToString())
        nodes = summary.graph(tf.get_default_graph().as_graph_def(), step=3)
        with tf.Session() as sess:
            sess.run([imported])
            sess.run([nodes])
            sess.run(summary.flush())
    assert [event.step for event in events_of(tmp_path)] == [0, 4, 3]
