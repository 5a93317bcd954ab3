"""A MonitoredTrainingSession with hooks of its own: order of calls, checkpoints, summaries, a second run that goes on."""

import glob
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf


class Tracer(tf.train.SessionRunHook):
    def __init__(self, name):
        self.name = name

    def begin(self):
        print(self.name, "begin", tf.get_default_graph().finalized)

    def after_create_session(self, session, coord):
        print(self.name, "created", session.graph.finalized, coord.should_stop())

    def before_run(self, run_context):
        fetched = run_context.original_args.fetches
        print(self.name, "before", len(fetched) if isinstance(fetched, list) else "one")
        return tf.train.SessionRunArgs({"loss": "loss:0"})

    def after_run(self, run_context, run_values):
        print(self.name, "after %.4f" % run_values.results["loss"])

    def end(self, session):
        print(self.name, "end", session.run("global_step:0"))


class Listener(tf.train.CheckpointSaverListener):
    def before_save(self, session, global_step_value):
        print("before saving", global_step_value)

    def after_save(self, session, global_step_value):
        print("saved", global_step_value)

    def end(self, session, global_step_value):
        print("listener ends at", global_step_value)


def train(folder, steps):
    with tf.Graph().as_default() as graph:
        global_step = tf.train.get_or_create_global_step()
        v = tf.get_variable("v", initializer=np.float32([4.0, -2.0]))
        loss = tf.reduce_sum(tf.square(v - 1.0), name="loss")
        tf.summary.scalar("watched", loss)
        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=global_step)
        hooks = [
            tf.train.StopAtStepHook(num_steps=steps), Tracer("mine"),
            tf.train.CheckpointSaverHook(folder, save_steps=2, listeners=[Listener()], saver=tf.train.Saver()),
        ]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, hooks=hooks, chief_only_hooks=[Tracer("chief")],
            save_checkpoint_secs=None, save_summaries_steps=2, log_step_count_steps=0,
        ) as sess:
            while not sess.should_stop():
                _, value, step = sess.run([train_op, loss, global_step])
                print("step loss %.4f" % value)
            try:
                sess.run(loss)
            except RuntimeError as exc:
                print("RuntimeError", exc)
        print("finalized afterwards", graph.finalized)


folder = tempfile.mkdtemp()
train(folder, 3)
print("--- again")
train(folder, 1)
print(os.path.basename(tf.train.latest_checkpoint(folder)))
tf.summary.FileWriterCache.clear()
for path in sorted(glob.glob(os.path.join(folder, "events*"))):
    for event in tf.train.summary_iterator(path):
        for value in event.summary.value:
            print(event.step, value.tag, "%.4f" % value.simple_value)
        if event.HasField("session_log"):
            print(event.step, "log", event.session_log.status)
