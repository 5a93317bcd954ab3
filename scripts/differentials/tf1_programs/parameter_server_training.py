"""A parameter server, a chief and a worker train together with monitored sessions, each from a thread."""

import socket
import tempfile
import threading

import numpy as np
import tensorflow.compat.v1 as tf

STEPS = 20


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("localhost", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def work(server, cluster, index, folder, results):
    with tf.Graph().as_default():
        device = tf.train.replica_device_setter(
            cluster=cluster, worker_device="/job:worker/task:%d" % index
        )
        with tf.device(device):
            x = tf.placeholder(tf.float32, [None, 2], name="x")
            y = tf.placeholder(tf.float32, [None, 1], name="y")
            w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
            step = tf.train.get_or_create_global_step()
            train_op = tf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)
        rng = np.random.RandomState(index)
        hooks = [tf.train.StopAtStepHook(last_step=STEPS)]
        first = last = None
        with tf.train.MonitoredTrainingSession(
            master=server.target, is_chief=(index == 0), hooks=hooks,
            checkpoint_dir=folder if index == 0 else None, save_checkpoint_secs=600, max_wait_secs=60,
        ) as sess:
            while not sess.should_stop():
                data = rng.uniform(-1, 1, (16, 2)).astype(np.float32)
                labels = data.dot(np.float32([[2.0], [-3.0]]))
                last = float(sess.run([loss, train_op], {x: data, y: labels})[0])
                first = last if first is None else first
        results[index] = (first, last, w.device, step.device, train_op.device)


def main(_):
    ports = free_ports(3)
    cluster = tf.train.ClusterSpec(
        {"ps": ["localhost:%d" % ports[0]], "worker": ["localhost:%d" % p for p in ports[1:]]}
    )
    print(cluster.jobs, cluster.num_tasks("worker"), sorted(cluster.as_dict()))
    servers = [tf.train.Server(cluster, job_name="ps", task_index=0)]
    servers += [tf.train.Server(cluster, job_name="worker", task_index=i) for i in range(2)]
    folder, results = tempfile.mkdtemp(), {}
    threads = [
        threading.Thread(target=work, args=(servers[1 + i], cluster, i, folder, results)) for i in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    for index in sorted(results):
        first, last, var_device, step_device, op_device = results[index]
        print("worker", index, "learns", last is None or last < 30.0, var_device, step_device)
    reader = tf.train.load_checkpoint(folder)
    print(sorted(reader.get_variable_to_shape_map()), int(reader.get_tensor("global_step")) >= STEPS)
    w = reader.get_tensor("w")
    print("towards the truth", bool(w[0, 0] > 0.1), bool(w[1, 0] < -0.1))


if __name__ == "__main__":
    tf.app.run()
