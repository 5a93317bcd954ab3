"""A parameter server and two workers in one program, as tests of distributed code start them."""

import socket

import numpy as np
import tensorflow.compat.v1 as tf


def free_port():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]


class Replica(object):
    def __init__(self, cluster, index):
        self.graph = tf.Graph()
        with self.graph.as_default():
            setter = tf.train.replica_device_setter(
                cluster=cluster, worker_device="/job:worker/task:%d" % index)
            with tf.device(setter):
                self.x = tf.placeholder(tf.float32, [None])
                self.w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
                self.step = tf.train.get_or_create_global_step()
                loss = tf.reduce_mean(tf.square(self.x * self.w - 3.0 * self.x))
                optimizer = tf.train.GradientDescentOptimizer(0.1)
                self.train = optimizer.minimize(loss, global_step=self.step)
                self.init = tf.global_variables_initializer()


cluster = tf.train.ClusterSpec({
    "ps": ["localhost:%d" % free_port()],
    "worker": ["localhost:%d" % free_port(), "localhost:%d" % free_port()],
})
servers = {(job, i): tf.train.Server(cluster, job_name=job, task_index=i)
           for job in cluster.jobs for i in cluster.task_indices(job)}
target = servers["worker", 0].target
print(target == "grpc://" + cluster.task_address("worker", 0), cluster.num_tasks("worker"))
print(servers["ps", 0].server_def.job_name, servers["ps", 0].server_def.protocol)

replicas = [Replica(cluster, 0), Replica(cluster, 1)]
print(replicas[1].w.device, replicas[1].step.device, replicas[1].x.device)
sessions = [tf.Session(servers["worker", i].target, graph=r.graph) for i, r in enumerate(replicas)]
sessions[0].run(replicas[0].init)
for i in range(10):
    r, s = replicas[i % 2], sessions[i % 2]
    s.run(r.train, {r.x: np.array([1.0, 2.0], np.float32)})
print("%.4f %d" % tuple(sessions[1].run([replicas[1].w, replicas[1].step])))
print(sorted(d.name for d in sessions[0].list_devices() if d.device_type == "CPU"))

filtered = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:1"])
with tf.Session(servers["worker", 1].target, graph=replicas[1].graph, config=filtered) as sess:
    print(sorted(d.name for d in sess.list_devices() if d.device_type == "CPU"))
    print("%.4f" % sess.run(replicas[1].w))

private = tf.ConfigProto(isolate_session_state=True)
with tf.Session(target, graph=replicas[0].graph, config=private) as sess:
    try:
        sess.run(replicas[0].w)
    except tf.errors.FailedPreconditionError as e:
        print("private state", type(e).__name__)
tf.Session.reset(target)
for s in sessions[:1]:
    try:
        s.run(replicas[0].w)
    except (tf.errors.AbortedError, tf.errors.FailedPreconditionError) as e:
        print("after reset", "session is gone")
