"""Monitored sessions, and hooks that look at steps and run several, as training programs use them."""

from __future__ import annotations

import json
import logging
import re
import threading
from concurrent import futures
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.python.training import monitored_session
from actorsession.compat.v1.train.session_layers import WrappedSession
from tests.rows import for_each, refusing

pytestmark = pytest.mark.usefixtures("graph")


def training() -> Any:
    """One step of training, which counts as a global step."""
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=4.0)
    return tf.train.GradientDescentOptimizer(0.25).minimize(w * w, global_step=step)


def test_training_stops_saves_and_goes_on_where_it_was(tmp_path: Path) -> None:
    for last in (5, 8):
        with tf.Graph().as_default():
            train_op = training()
            hooks = [tf.train.StopAtStepHook(last_step=last)]
            steps = 0
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), hooks=hooks, save_checkpoint_steps=2
            ) as sess:
                while not sess.should_stop():
                    sess.run(train_op)
                    steps += 1
            assert steps == (5 if last == 5 else 3)
            assert sess.should_stop()
            with pytest.raises(RuntimeError, match="after should_stop"):
                sess.run(train_op)
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-8")
    assert tf.train.load_variable(str(tmp_path), "w") == 4.0 * 0.5**8


def test_hooks_are_called_in_turn_and_share_the_step() -> None:
    calls: list[Any] = []

    class Hook(tf.train.SessionRunHook):
        def begin(self) -> None:
            calls.append("begin")
            self.double = x * 2.0

        def after_create_session(self, session: Any, coord: Any) -> None:
            calls.append("created")
            assert tf.get_default_graph().finalized

        def before_run(self, run_context: Any) -> Any:
            assert run_context.original_args.fetches is y
            return tf.train.SessionRunArgs([self.double], {x: 3.0})

        def after_run(self, run_context: Any, run_values: Any) -> None:
            calls.append(run_values.results)
            run_context.request_stop()

        def end(self, session: Any) -> None:
            calls.append(session.run(y, {x: 5.0}))

    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    with tf.train.MonitoredSession(hooks=[Hook()]) as sess:
        assert sess.graph is tf.get_default_graph()
        assert not sess.should_stop()
        with pytest.raises(RuntimeError, match="Same tensor is fed"):
            sess.run(y, {x: 1.0})
        assert sess.run(y) == 4.0
        assert sess.should_stop()
    assert calls == ["begin", "created", [6.0], 6.0]


def test_the_end_of_input_is_the_end_and_an_error_is_not() -> None:
    row = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    final = tf.train.FinalOpsHook(tf.constant(7))
    seen = []
    with tf.train.SingularMonitoredSession(hooks=[final]) as sess:
        assert isinstance(sess.raw_session(), tf.Session)
        while not sess.should_stop():
            seen.append(int(sess.run(row)))
    assert (seen, final.final_ops_values) == ([0, 1, 2], 7)
    other = tf.train.FinalOpsHook(tf.constant(7))
    with pytest.raises(ZeroDivisionError), tf.train.SingularMonitoredSession(hooks=[other]):
        raise ZeroDivisionError
    assert other.final_ops_values is None


def test_a_lost_session_is_made_anew_and_the_step_run_again(tmp_path: Path) -> None:
    train_op = training()
    step = tf.train.get_global_step()
    losses = [tf.errors.AbortedError("worker restarted")]

    class Loses(tf.train.SessionRunHook):
        made = 0

        def after_create_session(self, session: Any, coord: Any) -> None:
            self.made += 1

        def before_run(self, run_context: Any) -> None:
            if run_context.session.run(step) == 3 and losses:
                raise losses.pop()

    hook = Loses()
    with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), hooks=[hook], save_checkpoint_steps=2) as sess:
        for _ in range(4):
            sess.run(train_op)
        # Steps 1 to 3, the loss, and from the checkpoint of the second step on again.
        assert sess.run(step) == 3
    assert (hook.made, losses) == (2, [])


def test_a_session_that_ends_with_the_first_error_is_not_made_anew() -> None:
    class Loses(tf.train.SessionRunHook):
        def before_run(self, run_context: Any) -> None:
            raise tf.errors.AbortedError("worker restarted")

    one = tf.constant(1)
    with tf.train.SingularMonitoredSession(hooks=[Loses()]) as sess, pytest.raises(tf.errors.AbortedError):
        sess.run(one)


def test_a_scaffold_has_what_the_program_wants_otherwise() -> None:
    x = tf.placeholder(tf.float32, [])
    v, local = tf.Variable(x, name="v"), tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    found: list[Any] = []
    first = tf.train.Scaffold(init_op=v.initializer, init_feed_dict={x: 3.0})
    scaffold = tf.train.Scaffold(copy_from_scaffold=first, init_fn=lambda _, sess: found.append(sess.run(v)))
    with tf.train.MonitoredTrainingSession(scaffold=scaffold) as sess:
        assert sess.run([v, local]) == [3.0, 1.0]
    assert found == [3.0]


def test_a_variable_without_a_value_is_named() -> None:
    tf.Variable(1.0, name="forgotten")
    scaffold = tf.train.Scaffold(init_op=tf.no_op())
    with pytest.raises(RuntimeError, match="not initialized: forgotten"):
        tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold))
    # Hooks that count need a global step.
    with pytest.raises(RuntimeError, match="Global step should be created to use StopAtStepHook"):
        tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(1)])


@pytest.mark.process
def test_a_worker_waits_for_its_chief() -> None:
    server = tf.train.Server.create_local_server()
    try:
        v = tf.Variable(2.0, name="v")
        creator = tf.train.WorkerSessionCreator(master=server.target, max_wait_secs=0)
        with pytest.raises(tf.errors.DeadlineExceededError, match="not initialized: v"):
            creator.create_session()
        with tf.Session(server.target) as sess:
            sess.run(v.initializer)
        with tf.train.MonitoredTrainingSession(server.target, is_chief=False) as waiting:
            assert waiting.run(v) == 2.0
    finally:
        server.stop()


def test_values_are_logged_every_so_often(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tensorflow")
    x = tf.placeholder(tf.float32, [], name="x")
    feeds = iter([{x: float(i)} for i in range(4)])
    hooks = [
        tf.train.FeedFnHook(lambda: next(feeds)),
        tf.train.LoggingTensorHook(["x"], every_n_iter=2),
        tf.train.LoggingTensorHook({"x": x}, every_n_iter=3, formatter=lambda v: f"<{v['x']}>"),
    ]
    one = tf.constant(1)
    with tf.train.MonitoredSession(hooks=hooks) as sess:
        for _ in range(4):
            sess.run(one)
    said = [re.sub(r"\d+\.\d{3} sec", "N sec", r.getMessage()) for r in caplog.records]
    assert said == ["x = 0.0", "<0.0>", "x = 2.0 (N sec)", "<3.0>"]


def test_values_are_logged_at_the_end_in_the_order_of_what_they_are_called(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tensorflow")
    values = {"b": tf.constant(1), "a": tf.constant([1e-9, 1.0])}
    with tf.train.MonitoredSession(hooks=[tf.train.LoggingTensorHook(values, at_end=True)]) as sess:
        sess.run("Const:0")
        assert caplog.records == []
    assert [r.getMessage() for r in caplog.records] == ["a = [0. 1.], b = 1"]


@pytest.mark.parametrize("fails", [True, False])
def test_a_loss_that_is_no_number_ends_training(fails: bool) -> None:
    loss = tf.constant(np.nan)
    with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss, fail_on_nan_loss=fails)]) as sess:
        if fails:
            with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss"):
                sess.run(loss)
        else:
            sess.run(loss)
        assert sess.should_stop() is not fails


def test_listeners_hear_of_checkpoints_and_can_stop(tmp_path: Path) -> None:
    heard: list[Any] = []

    class Listener:
        def begin(self) -> None:
            heard.append("begin")

        def before_save(self, session: Any, step: int) -> None:
            heard.append(("before", step))

        def after_save(self, session: Any, step: int) -> bool:
            heard.append(("after", step))
            return step >= 2

        def end(self, session: Any, step: int) -> None:
            heard.append(("end", step))

    train_op = training()
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=2, saver=tf.train.Saver(), listeners=[Listener()])
    with tf.train.SingularMonitoredSession(hooks=[hook]) as sess:
        while not sess.should_stop():
            sess.run(train_op)
    assert heard == ["begin", ("before", 0), ("after", 0), ("before", 2), ("after", 2), ("end", 2)]


test_hooks_that_make_no_sense_are_refused = refusing(
    (lambda: tf.train.StopAtStepHook(), "Exactly one of num_steps or last_step"),
    (lambda: tf.train.StopAtStepHook(1, 1), "Exactly one of num_steps or last_step"),
    (lambda: tf.train.CheckpointSaverHook("d"), "Either every_secs or every_steps"),
    (lambda: tf.train.CheckpointSaverHook("d", 1, None, 1, "n", 1), "both saver and scaffold"),
    (lambda: tf.train.LoggingTensorHook([]), "at_end and/or exactly one"),
    (lambda: tf.train.LoggingTensorHook([], every_n_iter=0), "invalid every_n_iter=0"),
)


def current(step_context: Any) -> int:
    """The global step, read without hooks."""
    found: int = step_context.session.run(tf.train.get_global_step())
    return found


def test_steps_are_counted_from_where_the_session_begins(tmp_path: Path) -> None:
    for total in (3, 6):
        with tf.Graph().as_default():
            train_op = training()
            step = tf.train.get_global_step()
            hook = tf.train.StopAtStepHook(num_steps=3)
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), hooks=[hook], save_checkpoint_secs=600
            ) as sess:
                while not sess.should_stop():
                    _, now = sess.run([train_op, step])
                with pytest.raises(RuntimeError, match="Run called even after should_stop"):
                    sess.run(step)
                assert sess.run_step_fn(current) == total
                assert now in (total, total - 1)


def test_a_thread_that_has_lost_the_session_does_not_stop_it() -> None:
    counting = tf.train.get_or_create_global_step().assign_add(1)
    with tf.train.MonitoredSession() as sess:
        assert sess.run(counting) == 1
        sess._coordinated_creator.coord.request_stop(tf.errors.AbortedError(None, None, "gone"))
        assert not sess.should_stop()  # it is created again
        assert sess.run(counting) == 1
        sess._coordinated_creator.coord.request_stop(tf.errors.UnavailableError(None, None, "gone"))
        assert not sess.should_stop()
    sess = tf.train.MonitoredSession()
    sess._coordinated_creator.coord.request_stop(ZeroDivisionError("a thread"))
    assert sess.should_stop()
    assert sess.run(counting) == 1  # until the session is closed
    with pytest.raises(ZeroDivisionError, match="a thread"):
        sess.close()
    with tf.train.SingularMonitoredSession() as sess:
        coord = sess._coordinated_creator.coord
        coord.request_stop(tf.errors.AbortedError(None, None, "gone"))
        with pytest.raises(tf.errors.AbortedError, match="gone"):
            sess.should_stop()
        coord.clear_stop()


def test_a_scaffold_has_one_saver_to_choose_from() -> None:
    tf.Variable(1.0)
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    with pytest.raises(RuntimeError, match="More than one item in the collection"):
        tf.train.Scaffold().finalize()
    wrong: Any = 1
    with pytest.raises(TypeError, match="copy_from_scaffold is not a Scaffold"):
        tf.train.Scaffold(copy_from_scaffold=wrong)


def test_the_session_without_hooks_is_found_as_in_tensorflow() -> None:
    seen: list[Any] = []

    class Looks(tf.train.SessionRunHook):
        def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.append((run_values.results, run_values.options, run_values.run_metadata))

    with tf.train.MonitoredSession(hooks=[Looks()]) as sess:
        inner: Any = sess
        while type(inner).__name__ != "Session":
            inner = inner._sess
        assert inner is sess._sess._sess._sess._sess
        assert inner is sess._tf_sess()
        assert inner is sess._coordinated_creator.tf_sess
        assert sess._sess.graph is sess.graph
        assert not sess._is_closed()
        sess.run(tf.no_op(name="nothing") if not sess.graph.finalized else [])
    assert sess._is_closed()
    [(results, options, metadata)] = seen
    assert (results, type(options), type(metadata)) == (None, tf.RunOptions, tf.RunMetadata)
    with tf.train.SingularMonitoredSession() as sess:
        assert sess._sess._sess._sess is sess.raw_session()


class StopsAfter(WrappedSession):
    """A session that wants to stop after it was asked a number of times."""

    def __init__(self, sess: Any, times: int) -> None:
        super().__init__(sess)
        self._times = times

    def _check_stop(self) -> bool:
        self._times -= 1
        return self._times < 0


def test_a_wrapped_session_passes_everything_on_and_stops_when_it_is_closed() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder_with_default(1, [])
        wrapped: Any = monitored_session._WrappedSession(sess)
        assert (wrapped.graph, wrapped.sess_str) == (sess.graph, b"")
        assert wrapped.run(x + 1, feed_dict={x: 2}) == 3
        around = monitored_session._WrappedSession(StopsAfter(sess, 2))
        assert [around.should_stop() for _ in range(3)] == [False, False, True]
        assert not wrapped.should_stop()
        for _ in range(2):
            wrapped.close()
            assert wrapped.should_stop()


def test_a_coordinated_session_ends_its_threads_and_keeps_the_error_of_the_step() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(tf.constant(1)) == 1
        coord = tf.train.Coordinator()
        session = monitored_session._CoordinatedSession(sess, coord)
        thread = threading.Thread(target=coord.wait_for_stop, daemon=True)
        coord.register_thread(thread)
        thread.start()
        with pytest.raises(TypeError, match="None has invalid type"):
            session.run([None])
        assert not session.should_stop()
        coord.request_stop(tf.errors.AbortedError(None, None, "lost"))
        with pytest.raises(tf.errors.AbortedError, match="lost"):
            session.run([None])  # the lost session is why it fails
        with pytest.raises(tf.errors.AbortedError, match="lost"):
            session.close()
        assert not thread.is_alive()


def test_a_recoverable_session_is_made_anew_as_often_as_it_is_lost() -> None:
    class Lost:
        def __init__(self, sess: Any, runs: int) -> None:
            self._sess, self._runs = sess, runs

        def close(self) -> None:
            pass

        def run(self, *args: Any, **kwargs: Any) -> Any:
            self._runs -= 1
            if self._runs < 0:
                raise tf.errors.AbortedError(None, None, "lost")
            return self._sess.run(*args, **kwargs)

    class Creator:
        def __init__(self, sess: Any) -> None:
            self.left = [Lost(sess, runs) for runs in (1, 2, 3)]

        def create_session(self) -> Any:
            return self.left.pop(0)

    with tf.Graph().as_default(), tf.Session() as sess:
        one = tf.constant(1)
        creator = Creator(sess)
        session = monitored_session._RecoverableSession(creator)
        left = []
        for _ in range(6):
            assert session.run(one) == 1
            left.append(len(creator.left))
        assert left == [2, 1, 1, 0, 0, 0]
        with pytest.raises(IndexError):
            session.run(one)


def test_a_creator_is_asked_again_while_its_session_is_unavailable() -> None:
    class Creator:
        asked = 0

        def create_session(self) -> Any:
            self.asked += 1
            if self.asked < 3:
                raise tf.errors.UnavailableError(None, None, "not yet")
            return tf.Session()

    creator = Creator()
    monitored_session._RecoverableSession(creator).close()
    assert creator.asked == 3


def test_hooks_see_the_options_of_all_of_them_as_a_message() -> None:
    seen: list[Any] = []

    class Asking(tf.train.SessionRunHook):
        def __init__(self, **fields: Any) -> None:
            self._fields = fields

        def before_run(self, run_context: Any) -> Any:
            return tf.train.SessionRunArgs(None, options=tf.RunOptions(**self._fields))

        def after_run(self, run_context: Any, run_values: Any) -> None:
            seen.append((run_values.options, run_values.run_metadata))

    one = tf.constant(1)
    hooks = [Asking(trace_level=2, timeout_in_ms=30000), Asking(timeout_in_ms=60000, output_partition_graphs=True)]
    with tf.train.MonitoredSession(hooks=hooks) as sess:
        assert sess.run(one, options=tf.RunOptions(trace_level=3)) == 1
    for options, metadata in seen:
        assert options == tf.RunOptions(trace_level=3, timeout_in_ms=60000, output_partition_graphs=True)
        assert len(metadata.partition_graphs) == 1
    assert len(seen) == 2


def test_a_scaffold_that_is_copied_takes_its_function_along() -> None:
    called: list[Any] = []
    first = tf.train.Scaffold(init_op=4, init_fn=lambda scaffold, session: called.append(scaffold))
    second = tf.train.Scaffold(init_op=2, copy_from_scaffold=first)
    second.init_fn(None)
    assert called == [second]
    assert (first.init_op, second.init_op) == (4, 2)


def test_an_error_that_a_thread_reports_as_the_end_of_input_is_raised() -> None:
    sess = tf.train.MonitoredSession()
    try:
        raise tf.errors.OutOfRangeError(None, None, "all read")
    except tf.errors.OutOfRangeError as error:
        sess._coordinated_creator.coord.request_stop(error)
    assert sess.should_stop()
    with pytest.raises(tf.errors.OutOfRangeError, match="all read"):
        sess.close()


def counting() -> Any:
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
    assert sorted(path.name for path in folder.glob("timeline-*")) == ["timeline-2.json", "timeline-4.json"]
    tf.summary.FileWriterCache.clear()
    [file] = folder.glob("events*")
    tags = [event.tagged_run_metadata.tag for event in tf.train.summary_iterator(file)]
    assert [tag for tag in tags if tag] == ["step_2", "step_4"]
    events = json.loads((folder / "timeline-4.json").read_text())["traceEvents"]
    assert any(event.get("args", {}).get("op") == "AssignAddVariableOp" for event in events)
    assert len(told.partition_graphs) == 1
    assert len(told.step_stats.dev_stats) == 1


test_hooks_that_look_at_steps_without_sense_are_refused = refusing(
    (lambda: tf.train.StepCounterHook(None), "exactly one of every_n_steps and"),
    (lambda: tf.train.StepCounterHook(1, 1), "exactly one of every_n_steps and"),
    (lambda: tf.train.SummarySaverHook(save_steps=1), "Exactly one of scaffold or summary_op"),
    (lambda: tf.train.SummarySaverHook(save_steps=1, save_secs=1, summary_op="s"), "Can not provide both every_secs"),
    (lambda: tf.train.ProfilerHook(), "Either every_secs or every_steps"),
    (lambda: tf.train.ProfilerHook(1, 1), "Can not provide both every_secs"),
)


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
        self.steps += 1
        if self._fails:
            self._fails = False
            raise tf.errors.AbortedError(None, None, "lost")


def test_a_function_runs_steps_with_and_without_hooks() -> None:
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
    tf.train.get_or_create_global_step()
    with tf.train.MonitoredSession() as session:
        session.run_step_fn(lambda step_context: step_context.request_stop())
    assert session.should_stop()


def test_a_function_is_called_again_with_a_new_session() -> None:
    count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    seen: list[Any] = []

    def steps(step_context: Any) -> Any:
        seen.append(step_context.session)
        return step_context.run_with_hooks(count)

    with tf.train.MonitoredSession(hooks=[Told(fails=True)]) as session:
        assert session.run_step_fn(steps) == 1
    assert len({id(one) for one in seen}) == 2
