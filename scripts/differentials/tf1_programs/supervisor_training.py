"""Trains twice under a Supervisor: summaries, checkpoints, a thread beside the training, and going on from before."""

import glob
import os
import tempfile
import time

import numpy as np
import tensorflow.compat.v1 as tf

data = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [0.5, 1.5]], np.float32)
target = np.array([[5.0], [4.0], [9.0], [3.5]], np.float32)


def build():
    global_step = tf.Variable(0, name="global_step", trainable=False)
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.placeholder(tf.float32, [None, 1])
    w = tf.get_variable("w", [2, 1], initializer=tf.constant_initializer(0.1))
    loss = tf.reduce_mean(tf.squared_difference(tf.matmul(x, w), y), name="mse")
    tf.summary.scalar("mse", loss)
    tf.summary.histogram("w", w)
    train_op = tf.train.MomentumOptimizer(0.02, 0.5).minimize(loss, global_step=global_step)
    return x, y, w, loss, train_op, global_step


def train(logdir, steps):
    with tf.Graph().as_default() as graph:
        x, y, w, loss, train_op, global_step = build()
        sv = tf.train.Supervisor(
            logdir=logdir, save_model_secs=0, save_summaries_secs=0, checkpoint_basename="net"
        )
        print(sv.is_chief, sv.summary_op.op.type, sv.global_step.name, os.path.basename(sv.save_path))
        ticks = []
        with sv.managed_session() as sess:
            print("begins at", sess.run(global_step), "finalized", graph.finalized)
            sv.loop(0.01, lambda: ticks.append(1))
            for _ in range(steps):
                if sv.should_stop():
                    break
                _, value = sess.run([train_op, loss], {x: data, y: target})
                print("loss %.4f" % value)
            summary = sess.run(sv.summary_op, {x: data, y: target})
            sv.summary_computed(sess, summary)
            sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
            while not ticks:
                sv.coord.wait_for_stop(0.01)
        print("stopped", sv.should_stop(), "joined", sv.coord.joined)


def main(_):
    logdir = tempfile.mkdtemp()
    train(logdir, 3)
    begun = int(time.time())
    while int(time.time()) == begun:  # event files have the second in their names
        time.sleep(0.02)
    train(logdir, 2)
    print(os.path.basename(tf.train.latest_checkpoint(logdir)))
    print("w", np.round(tf.train.load_variable(logdir, "w"), 4).ravel().tolist())
    for path in sorted(glob.glob(os.path.join(logdir, "events*")), key=os.path.getmtime):
        for event in tf.train.summary_iterator(path):
            for value in event.summary.value:
                if value.tag == "mse_1":
                    print(event.step, value.tag, "%.4f" % value.simple_value)
            if event.HasField("session_log"):
                print(event.step, "log", event.session_log.status)
    print(sorted(name for name in os.listdir(logdir) if name.endswith((".pbtxt", ".meta", "checkpoint"))))
    with tf.Graph().as_default():
        build()
        try:
            tf.train.Supervisor(is_chief=False, logdir=logdir)
        except ValueError:
            print("ValueError: replicas place their variables")
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        build()
        worker = tf.train.Supervisor(is_chief=False, logdir=logdir)
        print(worker.save_path, worker.save_model_secs, worker.summary_writer)
        for wrong in (
            lambda: worker.start_standard_services(None), lambda: worker.summary_computed(None, b"")
        ):
            try:
                wrong()
            except RuntimeError as exc:
                print("RuntimeError:", str(exc)[:40])


if __name__ == "__main__":
    tf.app.run()
