"""Sessions in which a model is ready: for the task that prepares it, and for those that wait."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


def manager(**parts: Any) -> Any:
    """One that looks often, and tests whether variables have values."""
    return tf.train.SessionManager(ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=0.01, **parts)


def saved(folder: Path, value: float) -> str:
    """A checkpoint of ``v``, made in a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(value, name="v")
        sess.run(v.initializer)
        path = tf.train.Saver().save(sess, str(folder / "model"), global_step=1)
        assert path is not None
        return path


def test_a_model_is_initialised_and_then_handed_to_a_function() -> None:
    x = tf.placeholder(tf.float32, [])
    v, w = tf.Variable(x, name="v"), tf.Variable(1.0, name="w")
    with manager().prepare_session(
        "", init_op=v.initializer, init_feed_dict={x: 3.0}, init_fn=lambda sess: sess.run(w.initializer)
    ) as sess:
        assert sess.run([v, w]) == [3.0, 1.0]


def test_a_model_is_restored_where_there_is_a_checkpoint(tmp_path: Path) -> None:
    path = saved(tmp_path, 7.0)
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    with manager().prepare_session("", v.initializer, saver, str(tmp_path)) as sess:
        assert sess.run(v) == 7.0
        assert saver.last_checkpoints == [path]
    with manager().prepare_session("", saver=saver, checkpoint_filename_with_path=path) as sess:
        assert sess.run(v) == 7.0
    with manager().prepare_session("", v.initializer, None, str(tmp_path)) as sess:
        assert sess.run(v) == 1.0
    with pytest.raises(ValueError, match="Can not provide both"):
        manager().prepare_session("", None, saver, str(tmp_path), path)


def test_a_checkpoint_may_be_waited_for(tmp_path: Path) -> None:
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    prepared: list[Any] = []

    def prepare() -> None:
        with made.prepare_session("", v.initializer, saver, str(tmp_path), wait_for_checkpoint=True) as sess:
            prepared.append(sess.run(v))

    made = manager()
    waiting = threading.Thread(target=prepare)
    waiting.start()
    saved(tmp_path, 7.0)
    waiting.join(30)
    assert prepared == [7.0]
    nothing = str(tmp_path / "nothing")
    with made.prepare_session("", v.initializer, saver, nothing, wait_for_checkpoint=True, max_wait_secs=0) as sess:
        assert sess.run(v) == 1.0


def test_a_model_that_is_not_ready_is_refused_with_what_it_lacks() -> None:
    tf.Variable(1.0, name="v")
    tf.Variable(1.0, name="w")
    with pytest.raises(RuntimeError, match="no init_op or init_fn or local_init_op was given"):
        manager().prepare_session("")
    with pytest.raises(
        RuntimeError, match=r"Init op: nothing, init fn: None, .*error: Variables not initialized: v, w"
    ):
        manager().prepare_session("", tf.no_op(name="nothing"))
    before_local = manager(local_init_op=tf.no_op(), ready_for_local_init_op=tf.report_uninitialized_variables())
    with pytest.raises(RuntimeError, match=r"ready for local_init\. .*not initialized: v, w"):
        before_local.prepare_session("", tf.no_op())


def test_whoever_reads_a_variable_without_value_in_the_test_is_not_ready() -> None:
    v = tf.Variable(1.0, name="v")
    asserted = tf.train.SessionManager(ready_op=tf.assert_variables_initialized())
    with pytest.raises(RuntimeError, match="did not make model ready"):
        asserted.prepare_session("", tf.no_op())
    with asserted.prepare_session("", v.initializer) as sess:
        assert sess.run(v) == 1.0


def test_recovering_says_whether_the_model_is_ready(tmp_path: Path) -> None:
    saved(tmp_path, 7.0)
    v = tf.Variable(1.0, name="v")
    saver = tf.train.Saver()
    for folder, is_there in ((tmp_path, True), (tmp_path / "nothing", False)):
        session, is_ready = manager().recover_session("", saver, str(folder))
        with session:
            assert is_ready is is_there
            assert session.run(tf.is_variable_initialized(v)) == is_there
    tf.Variable(1.0, name="w")
    session, is_ready = manager().recover_session("", saver, str(tmp_path))
    with session:
        assert not is_ready
        assert session.run(v) == 7.0


def test_a_test_for_local_initialisation_needs_something_to_test_for() -> None:
    with pytest.raises(ValueError, match="you must also pass a local_init_op"):
        tf.train.SessionManager(ready_for_local_init_op=tf.constant(["v"]))
    # A wait for nobody ends with what the model lacks.
    tf.Variable(1.0, name="v")
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"after waiting 0\.05 secs\. .*initialized: v"):
        manager().wait_for_session("", max_wait_secs=0.05)
    # A wait for tasks that nobody starts ends with the limit. The tasks are a reason to wait, as the model is;
    # without limit their error is not waited away.
    made = manager()
    config = tf.ConfigProto(operation_timeout_in_ms=50)
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"after waiting 0\.1 secs\."):
        made.wait_for_session("grpc://127.0.0.1:1", config, max_wait_secs=0.1)
    with pytest.raises(tf.errors.OpError) as told:
        made.wait_for_session("grpc://127.0.0.1:1", config, max_wait_secs=None)
    assert "after waiting" not in str(told.value)


@pytest.mark.process
def test_a_session_is_there_when_another_task_has_made_the_model_ready() -> None:
    """Local variables are initialised in each session, and only when the shared ones have values.

    1. The worker looks: ``v`` has no value, so ``doubled`` cannot be made of it.
    2. The chief initialises ``v``.
    3. The worker looks again, makes ``doubled``, and has its session.
    """
    server = tf.train.Server.create_local_server()
    v = tf.Variable(2.0, name="v")
    doubled = tf.Variable(v.initialized_value() * 2, name="d", collections=["local_variables"])
    made = manager(
        local_init_op=tf.local_variables_initializer(), ready_for_local_init_op=tf.report_uninitialized_variables([v])
    )
    found: list[Any] = []

    def wait() -> None:
        with made.wait_for_session(server.target, max_wait_secs=60) as sess:
            found.append(sess.run([v, doubled]))

    try:
        waiting = threading.Thread(target=wait)
        waiting.start()
        with tf.Session(server.target) as sess:
            sess.run(v.initializer)
        waiting.join(60)
        assert found == [[2.0, 4.0]]
    finally:
        server.stop()
