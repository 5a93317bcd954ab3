"""``tf.contrib.summary``: summaries that steps write themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

summary: Any = tf.contrib.summary


@pytest.fixture(autouse=True)
def a_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    summary._scope.writer = None


def events_of(folder: Path) -> list[Any]:
    return [e for file in sorted(folder.iterdir()) for e in tf.train.summary_iterator(file)]


def test_steps_write_their_summaries(tmp_path: Path) -> None:
    step = tf.train.create_global_step()
    count = step.assign_add(1)
    writer = summary.create_file_writer(str(tmp_path), flush_millis=0)
    with writer.as_default(), summary.always_record_summaries():
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
    steps = [event.step for event in events_of(tmp_path) if event.HasField("summary")]
    assert steps == [0, 2, 4]
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
