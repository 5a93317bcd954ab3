"""Clusters and servers as messages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

import actorsession.compat.v1 as tf

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
    read = tf.train.ClusterDef.FromString(message.SerializeToString())
    assert read == message
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
        config = tf.ConfigProto(device_filters=["/job:worker/task:0"])
        with tf.Session(target, config=config) as session:
            assert [device.name for device in session.list_devices()] == [W0]
            with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device for op"):
                session.run(z)
        other = tf.ConfigProto(device_filters=["/job:worker/task:1"])
        with tf.Session(target, config=other) as session:
            assert [device.name for device in session.list_devices()] == [W0, W1]
            assert session.run(z).shape == (1000,)
