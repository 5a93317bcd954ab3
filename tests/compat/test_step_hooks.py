"""Hooks that look at steps, and functions of several steps: how fast and how far they are, what they did."""

from __future__ import annotations

import json
import logging
from concurrent import futures
from pathlib import Path
from typing import Any

import pytest

import actorsession.compat.v1 as tf
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")


def counting() -> Any:
    """An operation that makes a step."""
    return tf.train.get_or_create_global_step().assign_add(1)


def test_steps_per_second_are_logged_every_so_often(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tensorflow")
    step = counting()
    with tf.train.MonitoredSession(hooks=[tf.train.StepCounterHook(every_n_steps=2)]) as sess:
        for _ in range(5):
            sess.run(step)
    lines = [r.getMessage() for r in caplog.records]
    assert [line.partition(": ")[0] for line in lines] == ["global_step/sec"] * 2
    assert all(float(line.partition(": ")[2]) > 0 for line in lines)


def test_training_sessions_with_a_folder_log_steps_per_second(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tensorflow")
    step = counting()
    for every, lines in ((3, 1), (0, 0)):
        caplog.clear()
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path), log_step_count_steps=every, save_graph_def=False
        ) as sess:
            for _ in range(4):
                sess.run(step)
        assert len([r for r in caplog.records if "/sec: " in r.getMessage()]) == lines


def test_a_task_begins_when_others_are_far_enough() -> None:
    step = counting()
    with tf.train.MonitoredSession(hooks=[tf.train.GlobalStepWaiterHook(3)]) as sess:
        with futures.ThreadPoolExecutor(1) as threads:
            begun = threads.submit(sess.run, step)
            for number in (1, 2):
                assert sess._tf_sess().run(step) == number
            assert not begun.done()
            assert sess._tf_sess().run(step) == 3
            assert begun.result() == 4
        assert sess.run(step) == 5


def test_a_wait_for_others_ends_with_its_limit_or_when_all_are_to_stop() -> None:
    step = counting()
    with tf.train.MonitoredSession(hooks=[tf.train.GlobalStepWaiterHook(9, 0)]) as sess:
        with pytest.raises(tf.errors.DeadlineExceededError, match="step is 0 instead of 9"):
            sess.run(step)
    with tf.train.MonitoredSession(hooks=[tf.train.GlobalStepWaiterHook(9)]) as sess:
        sess._coordinated_creator.coord.request_stop()
        assert sess.run(step) == 1
    with tf.train.MonitoredSession(hooks=[tf.train.GlobalStepWaiterHook(0, 0)]) as sess:
        assert sess.run(step) == 1


def test_some_steps_are_drawn_but_not_the_first(tmp_path: Path) -> None:
    step = counting()
    folder = tmp_path / "drawings"
    asked = tf.RunOptions(output_partition_graphs=True)
    told: Any = tf.RunMetadata()
    with tf.train.MonitoredSession(
        hooks=[tf.train.ProfilerHook(save_steps=2, output_dir=str(folder), show_memory=True)]
    ) as sess:
        for _ in range(3):
            sess.run(step)
        sess.run(step, options=asked, run_metadata=told)
    names = sorted(path.name for path in folder.glob("timeline-*"))
    assert names == ["timeline-2.json", "timeline-4.json"]
    tf.summary.FileWriterCache.clear()
    [file] = folder.glob("events*")
    tags = [event.tagged_run_metadata.tag for event in tf.train.summary_iterator(file)]
    assert [tag for tag in tags if tag] == ["step_2", "step_4"]
    events = json.loads((folder / "timeline-4.json").read_text())["traceEvents"]
    assert any(event.get("args", {}).get("op") == "AssignAddVariableOp" for event in events)
    assert len(told.partition_graphs) == 1
    assert len(told.step_stats.dev_stats) == 1


@for_each(
    "make, kind, said",
    [
        (lambda: tf.train.StepCounterHook(None), ValueError, "exactly one of every_n_steps and"),
        (lambda: tf.train.StepCounterHook(1, 1), ValueError, "exactly one of every_n_steps and"),
        (lambda: tf.train.SummarySaverHook(save_steps=1), ValueError, "Exactly one of scaffold or summary_op"),
        (
            lambda: tf.train.SummarySaverHook(save_steps=1, save_secs=1, summary_op="s"),
            ValueError,
            "Can not provide both every_secs",
        ),
        (lambda: tf.train.ProfilerHook(), ValueError, "Either every_secs or every_steps"),
        (lambda: tf.train.ProfilerHook(1, 1), ValueError, "Can not provide both every_secs"),
    ],
)
def test_hooks_that_make_no_sense_are_refused(make: Any, kind: Any, said: str) -> None:
    with pytest.raises(kind, match=said):
        make()


@for_each(
    "hook",
    [
        lambda: tf.train.StepCounterHook(),
        lambda: tf.train.GlobalStepWaiterHook(1),
        lambda: tf.train.ProfilerHook(1),
        lambda: tf.train.CheckpointSaverHook("d", save_steps=1),
    ],
)
def test_hooks_that_look_at_steps_need_a_global_step(hook: Any) -> None:
    with pytest.raises(RuntimeError, match="Global step should be created to use"):
        tf.train.MonitoredSession(hooks=[hook()])


def test_a_timer_says_what_passed_since_it_was_time_and_begins_anew() -> None:
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    assert timer.update_last_triggered_step(4) == (None, None)
    assert not timer.should_trigger_for_step(6)
    seconds, steps = timer.update_last_triggered_step(7)
    assert seconds is not None
    assert seconds >= 0
    assert (steps, timer.last_triggered_step()) == (3, 7)
    timer.reset()
    assert timer.should_trigger_for_step(7)
    assert timer.last_triggered_step() is None


def test_a_hook_saves_with_the_only_saver_that_the_graph_has(tmp_path: Path) -> None:
    step = counting()
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1, listeners=[tf.train.CheckpointSaverListener()])
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
        sess.run(step)
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-1")
    assert (tmp_path / "graph.pbtxt").exists()
    for count, said in ((0, "No items"), (2, "More than one item")):
        with tf.Graph().as_default() as other:
            counting()
            hook.begin()
            for _ in range(count):
                tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
            init_op = tf.global_variables_initializer()
            with tf.Session(graph=other) as raw:
                raw.run(init_op)
                with pytest.raises(RuntimeError, match=said):
                    hook.after_create_session(raw, None)


def test_an_own_creator_of_sessions_is_a_session_creator() -> None:
    class Creator(tf.train.SessionCreator):
        def create_session(self) -> Any:
            return tf.Session()

    one = tf.constant(1)
    with tf.train.MonitoredSession(Creator()) as sess:
        assert sess.run(one) == 1
    with pytest.raises(TypeError):
        tf.train.SessionCreator()  # type: ignore[abstract]


def events_of(folder: Path) -> list[Any]:
    """The events in the files of a folder, without those of the graph."""
    return [
        event
        for file in sorted(folder.glob("events*"))
        for event in tf.train.summary_iterator(file)
        if event.WhichOneof("what") in ("summary", "session_log")
    ]


def test_a_training_session_writes_summaries_its_speed_and_its_checkpoints(tmp_path: Path) -> None:
    step = counting()
    tf.summary.scalar("x", tf.constant(3.0))
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), save_summaries_steps=2, log_step_count_steps=2, save_checkpoint_steps=4
    ) as sess:
        for _ in range(4):
            sess.run(step)
    tf.summary.FileWriterCache.clear()
    found = events_of(tmp_path)
    said = [(event.step, [value.tag for value in event.summary.value] or event.session_log.status) for event in found]
    log = tf.SessionLog
    assert said == [
        (0, log.CHECKPOINT),
        (1, log.START),
        (1, ["x"]),
        (3, ["global_step/sec"]),
        (3, ["x"]),
        (4, log.CHECKPOINT),
    ]
    assert found[2].summary.value[0].simple_value == 3.0
    assert found[0].session_log.checkpoint_path == str(tmp_path / "model.ckpt")


def test_a_session_opens_the_graph_again_that_it_finalized() -> None:
    step = counting()
    graph = tf.get_default_graph()
    with tf.train.MonitoredSession() as sess:
        assert graph.finalized
        sess.run(step)
    assert not graph.finalized
    with pytest.raises(RuntimeError, match="Session is already closed"):
        sess.close()
    tf.constant(1)
    with pytest.raises(ZeroDivisionError), tf.train.MonitoredSession():
        raise ZeroDivisionError
    assert not graph.finalized
    tf.train.Scaffold().finalize()
    with tf.train.MonitoredSession():
        pass
    assert graph.finalized


@for_each("per_run, every, wanted", [(5, 10, [15, 25]), (5, 5, [10, 15, 20, 25]), (10, 5, [20, 30, 40, 50])])
def test_steps_are_counted_where_a_run_makes_several(per_run: int, every: int, wanted: list[int]) -> None:
    said: list[int] = []

    class Writer:
        def add_summary(self, summary: Any, step: int) -> None:
            said.append(step)

    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step().assign_add(per_run)
        hook = tf.train.StepCounterHook(every_n_steps=every, summary_writer=Writer())
        hook._set_steps_per_run(per_run)
        with tf.train.MonitoredSession(hooks=[hook]) as sess:
            for _ in range(5):
                sess.run(step)
    assert said == wanted


def test_a_global_step_that_stays_the_same_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    tf.train.get_or_create_global_step()
    step = tf.constant(0)
    with tf.train.MonitoredSession(hooks=[tf.train.StepCounterHook(every_n_steps=1)]) as sess:
        for _ in range(20):
            sess.run(step)
        assert not caplog.records
        sess.run(step)
    assert "has not been increased by the last 20 runs" in caplog.text


class Told(tf.train.SessionRunHook):
    """Counts the steps that hooks see; the first of them fails if that is wanted."""

    def __init__(self, *, fails: bool = False) -> None:
        self.steps = 0
        self._fails = fails

    def before_run(self, run_context: Any) -> None:
        """Counts."""
        self.steps += 1
        if self._fails:
            self._fails = False
            raise tf.errors.AbortedError(None, None, "lost")


def test_a_function_runs_steps_with_and_without_hooks() -> None:
    with tf.Graph().as_default():
        count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        told = Told()

        def steps(step_context: Any) -> Any:
            return step_context.session.run(count), step_context.run_with_hooks(count)

        with tf.train.MonitoredSession(hooks=[told]) as session:
            assert session.run_step_fn(steps) == (1, 2)
            assert told.steps == 1
            with pytest.raises(ValueError, match="`step_context` argument"):
                session.run_step_fn(lambda: None)  # type: ignore[misc, arg-type]
            with pytest.raises(TypeError, match="must be a function"):
                session.run_step_fn(3)  # type: ignore[arg-type]


def test_a_function_asks_for_the_end() -> None:
    with tf.Graph().as_default():
        tf.train.get_or_create_global_step()
        with tf.train.MonitoredSession() as session:
            session.run_step_fn(lambda step_context: step_context.request_stop())
        assert session.should_stop()


def test_a_function_is_called_again_with_a_new_session() -> None:
    with tf.Graph().as_default():
        count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        seen: list[Any] = []

        def steps(step_context: Any) -> Any:
            seen.append(step_context.session)
            return step_context.run_with_hooks(count)

        with tf.train.MonitoredSession(hooks=[Told(fails=True)]) as session:
            assert session.run_step_fn(steps) == 1
        assert len({id(one) for one in seen}) == 2
