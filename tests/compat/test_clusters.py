"""Clusters and servers as messages, collectives of two devices, and replicas in monitored sessions."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.python.ops import collective_ops as ops

pytestmark = pytest.mark.usefixtures("graph")


# As TensorFlow 2.21 writes the server below; its map entries are in no order.
WRITTEN = (
    b"\n+\n\r\n\x02ps\x12\x07\x08\x03\x12\x03c:3\n\x1a\n\x06worker\x12\x07\x08\x01\x12\x03b:2"
    b"\x12\x07\x08\x00\x12\x03a:1\x12\x06worker\x18\x01*\x04grpc"
)


def cluster() -> Any:
    return tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": {3: "c:3"}})


def test_a_cluster_is_written_as_a_message_and_read_back() -> None:
    message = cluster().as_cluster_def()
    assert isinstance(message, tf.train.ClusterDef)
    assert [job.name for job in message.job] == ["ps", "worker"]
    assert dict(message.job[1].tasks) == {0: "a:1", 1: "b:2"}
    assert tf.train.ClusterSpec(message) == cluster()
    assert tf.train.ClusterDef.FromString(message.SerializeToString()) == message
    # A cluster is filled in job by job.
    message = tf.train.ClusterDef()
    job = message.job.add()
    job.name = "worker"
    job.tasks[0] = "a:1"
    message.job.extend([tf.train.JobDef(name="ps", tasks={0: "b:2"})])
    assert tf.train.ClusterSpec(message).as_dict() == {"worker": ["a:1"], "ps": ["b:2"]}
    described: Any = message
    setter = tf.train.replica_device_setter(cluster=described)
    with tf.Graph().as_default(), tf.device(setter):
        assert tf.Variable(1.0).device == "/job:ps/task:0"
    # A server is described as in tensorflow.
    said = tf.train.ServerDef(cluster=cluster().as_cluster_def(), job_name="worker", task_index=1, protocol="grpc")
    assert tf.train.ServerDef.FromString(WRITTEN) == said
    said.default_session_config.intra_op_parallelism_threads = 1
    server = tf.train.Server(said, start=False)
    assert server.server_def == said
    server.server_def.job_name = "ps"
    assert server.server_def == said
    # Arguments win over the description of a server.
    said = tf.train.ServerDef(cluster=cluster().as_cluster_def(), job_name="worker")
    assert tf.train.Server(said, start=False).server_def.task_index == 0
    made = tf.train.Server(said, "ps", 3, "grpc", start=False).server_def
    assert (made.job_name, made.task_index, made.protocol) == ("ps", 3, "grpc")
    with pytest.raises(tf.errors.InternalError):
        tf.train.Server(said, task_index=7, start=False)
    with pytest.raises(ValueError, match="which job is this"):
        tf.train.Server(tf.train.ServerDef(cluster=said.cluster), start=False)
    with pytest.raises(TypeError, match="a cluster is a dict from job name"):
        tf.train.Server(3)


def test_a_server_that_is_described_serves() -> None:
    local = tf.train.ClusterSpec({"worker": ["127.0.0.1:0"]})
    server = tf.train.Server(tf.train.ServerDef(cluster=local.as_cluster_def(), job_name="worker"))
    try:
        one = tf.constant(1)
        with tf.Session(server.target, graph=one.graph) as sess:
            assert sess.run(one) == 1
    finally:
        server.stop()


@contextlib.contextmanager
def two_tasks() -> Iterator[tuple[str, Any]]:
    """The target of one of two tasks, and a value that both of them compute."""
    servers, _ = tf.test.create_local_cluster(2, 0)
    with tf.device("/job:worker/task:0"):
        x = tf.random_uniform([1000], name="x")
    with tf.device("/job:worker/task:1"):
        y = tf.square(x, name="y")
    with tf.device("/job:worker/task:0"):
        z = tf.sqrt(y, name="z")
    try:
        yield servers[0].target, z
    finally:
        for server in servers:
            server.stop()


W0, W1 = "/job:worker/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:1/device:CPU:0"


def test_a_trace_of_two_tasks_has_what_each_of_them_received() -> None:
    with tf.Graph().as_default(), two_tasks() as (target, z):
        measured = tf.RunMetadata()
        with tf.Session(target) as session:
            session.run(z, options=tf.RunOptions(trace_level=3), run_metadata=measured)
    received = {
        device.device: node
        for device in measured.step_stats.dev_stats
        for node in device.node_stats
        if node.node_name == "RecvTensor"
    }
    assert sorted(received) == [W0, W1]
    assert received[W1].timeline_label.startswith("[4000B] [")
    assert received[W1].timeline_label.endswith(f"from {W0} to {W1}")
    assert "y:0" in received[W0].timeline_label


def test_what_filters_hide_is_hidden_from_the_placement_and_from_nothing_else() -> None:
    """A session tells its devices whatever its graph asks for."""
    with tf.Graph().as_default(), two_tasks() as (target, z):
        with tf.Session(target, config=tf.ConfigProto(device_filters=["/job:worker/task:0"])) as session:
            assert [device.name for device in session.list_devices()] == [W0]
            with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device for op"):
                session.run(z)
        with tf.Session(target, config=tf.ConfigProto(device_filters=["/job:worker/task:1"])) as session:
            assert [device.name for device in session.list_devices()] == [W0, W1]
            assert session.run(z).shape == (1000,)


X = [np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), np.array([[5.0, 6.0], [7.0, 9.0]], np.float32)]


def met(build: Any) -> list[Any]:
    """What two members get, each of which builds its own on a device of its own."""
    with tf.Graph().as_default() as graph:
        members = []
        for i in range(2):
            with tf.device(f"/cpu:{i}"):
                members.append(build(tf.constant(X[i]), i))
        with tf.Session(graph=graph, config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            found: list[Any] = session.run(members)
            return found


SEND: dict[str, Any] = {"group_size": 2, "group_key": 1, "instance_key": 1}


JOINED = np.concatenate(X)


CASES: dict[str, tuple[Any, Any]] = {
    "all_reduce": (lambda x, i: ops.all_reduce(x, 2, 1, 1), [X[0] + X[1]] * 2),
    "all_reduce of means": (lambda x, i: ops.all_reduce(x, 2, 1, 1, "Add", "Div"), [(X[0] + X[1]) / 2] * 2),
    "all_reduce_v2": (lambda x, i: ops.all_reduce_v2(x, 2, 1, 1, "Max", communication_hint="RING"), [X[1]] * 2),
    "all_gather": (lambda x, i: ops.all_gather(x, 2, 1, 1), [JOINED] * 2),
    "all_gather_v2": (lambda x, i: ops.all_gather_v2(x, 2, 1, 1), [JOINED] * 2),
    "all_to_all_v2": (lambda x, i: ops.all_to_all_v2(x, 2, 1, 1), [np.stack([X[0][i], X[1][i]]) for i in range(2)]),
    "broadcast": (
        lambda x, i: (
            ops.broadcast_recv([2, 2], tf.float32, **SEND) if i else ops.broadcast_send(x, [2, 2], tf.float32, **SEND)
        ),
        [X[0]] * 2,
    ),
    "broadcast_v2": (
        lambda x, i: ops.broadcast_send_v2(x, 2, 1, 1) if i else ops.broadcast_recv_v2([2, 2], tf.float32, 2, 1, 1),
        [X[1]] * 2,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_members_get_what_numpy_gets(case: str) -> None:
    build, expected = CASES[case]
    for found, wanted in zip(met(build), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: ops.all_reduce(x, 1, 1, 1),
        lambda x: ops.all_gather(x, 1, 1, 1),
        lambda x: ops.broadcast_send(x, [2, 2], tf.float32, 1, 1, 1),
        lambda x: ops.broadcast_recv([2, 2], tf.float32, 1, 1, 1),
    ],
)
def test_a_group_of_one_is_refused_where_the_graph_is_built(build: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="at least 2, got 1"):
        build(tf.constant(X[0]))


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
