"""The hook of ``tf.train.SyncReplicasOptimizer``: replicas in monitored sessions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


def built(replicas: int = 1) -> tuple[Any, Any, Any]:
    """A weight that each update lowers by a tenth of its gradient, 2; its optimiser, and a replica's step."""
    w = tf.Variable(1.0, name="w")
    opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), replicas)
    return w, opt, opt.minimize(2.0 * w, global_step=tf.train.get_or_create_global_step())


def test_a_chief_trains_when_the_hook_has_been_called() -> None:
    w, opt, step = built()
    hook = opt.make_session_run_hook(True)
    hook.begin()
    coord = tf.train.Coordinator()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        hook.after_create_session(sess, coord)
        for _ in range(4):
            sess.run(step)
        # The second gradient is of a step that is over, and dropped.
        np.testing.assert_allclose(sess.run(w), 1.0 - 3 * 0.2, rtol=1e-6)
        coord.request_stop()


def test_another_replica_only_learns_the_step() -> None:
    _, opt, _ = built()
    hook = opt.make_session_run_hook(False)
    hook.begin()
    local = tf.local_variables()[0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(tf.train.get_global_step().assign(7))
        hook.after_create_session(sess, None)
        assert sess.run(local) == 7


def test_the_chief_puts_in_as_many_tokens_as_asked_for(graph: Any) -> None:
    _, opt, _ = built()
    hook = opt.make_session_run_hook(True, num_tokens=3)
    hook.begin()
    count = tf.QueueBase([tf.int64], [[]], None, graph.get_tensor_by_name("sync_token_q:0")).size()
    coord = tf.train.Coordinator()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        hook.after_create_session(sess, coord)
        assert sess.run(count) == 3
        coord.request_stop()


def test_it_needs_gradients_and_variables_with_values() -> None:
    opt = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), 1)
    with pytest.raises(ValueError, match="apply_gradient should be called before"):
        opt.make_session_run_hook(True).begin()
    _, opt, _ = built()
    hook = opt.make_session_run_hook(False)
    hook.begin()
    with tf.Session() as sess, pytest.raises(RuntimeError, match="w, global_step have no value"):
        hook.after_create_session(sess, None)


class Replicas:
    """The chief of two replicas, of which the other has ended: its queue runner waits for two gradients."""

    def __init__(self) -> None:
        _, self.opt, self.step = built(2)
        names = tf.train.string_input_producer(["a", "b"])
        self.batch = tf.train.batch([names.dequeue()], batch_size=3, num_threads=2)
        self.hook = self.opt.make_session_run_hook(True, num_tokens=2)

    def begin(self, sess: Any) -> None:
        sess.run(self.step)
        sess.run(self.batch)

    def monitored(self) -> None:
        with tf.train.MonitoredTrainingSession(hooks=[self.hook]) as sess:
            self.begin(sess)

    def supervised(self) -> None:
        tokens = self.opt.get_init_tokens_op(2)
        supervisor = tf.train.Supervisor(local_init_op=self.opt.chief_init_op)
        with supervisor.managed_session() as sess:
            supervisor.start_queue_runners(sess, [self.opt.get_chief_queue_runner()])
            sess.run(tokens)
            self.begin(sess)

    def coordinated(self) -> None:
        self.hook.begin()
        coord = tf.train.Coordinator()
        with tf.Session() as sess:
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            self.hook.after_create_session(sess, coord)
            threads = tf.train.start_queue_runners(sess, coord)
            self.begin(sess)
            coord.request_stop()
            coord.join(threads)


@pytest.mark.parametrize("way", ["monitored", "supervised", "coordinated"])
@pytest.mark.timeout(60)  # two minutes is how long threads may take by default
def test_a_program_ends_in_silence_though_its_queue_runner_waits_for_replicas_that_have_ended(
    way: str, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """TensorFlow waits two minutes, and then a traceback comes from the thread."""
    tracebacks: list[Any] = []
    monkeypatch.setattr("threading.excepthook", tracebacks.append)
    getattr(Replicas(), way)()
    assert [t.name for t in threading.enumerate() if t.name.startswith("QueueRunner")] == []
    assert tracebacks == []
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a worker that has a parameter server."""
    (worker,), (server,) = tf.test.create_local_cluster(1, 1)
    yield worker.target
    worker.stop()
    server.stop()


def test_a_replica_on_another_task_than_the_variables_trains(address: str) -> None:
    """The count of a replica's steps stays with it; what it reads of the others comes as values."""
    with tf.device(tf.train.replica_device_setter(1, worker_device="/job:worker/task:0/cpu:0")):
        w, opt, step = built()
    assert "job:worker" in tf.local_variables()[0].device
    hook = opt.make_session_run_hook(True)
    hook.begin()
    coord = tf.train.Coordinator()
    with tf.Session(address) as sess:
        sess.run(tf.global_variables_initializer())
        hook.after_create_session(sess, coord)
        for _ in range(3):
            sess.run(step)
        assert sess.run(w) < 0.7
        coord.request_stop()


def test_a_reference_is_read_where_its_variable_is(address: str) -> None:
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(1.0)
        raised = v.assign_add(4.0)
    with tf.device("/job:worker/task:0"), tf.control_dependencies([raised]):
        read = v.read_value()
        doubled = tf.identity(raised) * 2.0
    with tf.Session(address) as sess:
        sess.run(v.initializer)
        assert sess.run([read, doubled]) == [5.0, 10.0]
