"""A monitored session that is lost twice goes on from its last checkpoint; step functions and scaffolds."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf


class Loses(tf.train.SessionRunHook):
    """A hook that reports the session as lost after some steps, once each."""

    def __init__(self, at):
        self.at = set(at)
        self.calls = 0
        self.sessions = 0

    def after_create_session(self, session, coord):
        self.sessions += 1
        print("session", self.sessions, "at", session.run("global_step:0"))

    def after_run(self, run_context, run_values):
        self.calls += 1
        if self.calls in self.at:
            raise tf.errors.AbortedError(None, None, "the worker is gone")


def build():
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=np.float32([8.0]))
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], np.int64([5, 6])), -1
    )
    found = table.lookup(tf.constant(["b", "c"]), name="found")
    loss = tf.reduce_sum(tf.square(w))
    return step, w, found, tf.train.GradientDescentOptimizer(0.25).minimize(loss, global_step=step)


def main(_):
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default():
        step, w, found, train_op = build()
        hook = Loses([3, 5])
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, save_checkpoint_secs=None, save_checkpoint_steps=2, hooks=[hook],
            save_summaries_steps=0, log_step_count_steps=0,
        ) as sess:
            for _ in range(6):
                sess.run(train_op)
            print(sess.run([step, w, found]))
        print("calls", hook.calls)
    print(os.path.basename(tf.train.latest_checkpoint(folder)))

    with tf.Graph().as_default():
        step, w, found, train_op = build()
        order = []

        def first(scaffold, session):
            order.append(float(session.run(w)[0]))
            session.run(w.assign(w0), {w0: [1.0]}) if w0 is not None else None

        w0 = None
        scaffold = tf.train.Scaffold(
            init_fn=first, local_init_op=tf.group(tf.tables_initializer(), tf.local_variables_initializer())
        )
        with tf.train.MonitoredTrainingSession(scaffold=scaffold) as sess:
            def two_steps(step_context):
                step_context.session.run(train_op)
                return step_context.run_with_hooks([train_op, step])[1]

            print("after two steps", int(sess.run_step_fn(two_steps)) <= 2, sess.run(step))
            for wrong in (3, lambda x: x, lambda step_context, y: y):
                try:
                    sess.run_step_fn(wrong)
                except (TypeError, ValueError) as exc:
                    print(type(exc).__name__)

            def ends(step_context):
                step_context.request_stop()

            try:
                sess.run_step_fn(ends)
            except StopIteration:
                print("stopped", sess.should_stop())
        print("init_fn saw", order, type(scaffold.saver).__name__, scaffold.summary_op)

    for error in (ValueError("x"), StopIteration("x"), tf.errors.OutOfRangeError(None, None, "x")):
        try:
            with tf.Graph().as_default(), tf.train.MonitoredSession():
                raise error
            print(type(error).__name__, "ends it")
        except Exception as exc:
            print(type(exc).__name__, "is raised")
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        w = tf.Variable(2.0)
        try:
            tf.train.ChiefSessionCreator(tf.train.Scaffold(init_op=v.initializer)).create_session()
        except RuntimeError as exc:
            print("RuntimeError", "Variable_1" in str(exc))
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        try:
            tf.train.WorkerSessionCreator(max_wait_secs=0).create_session()
        except tf.errors.DeadlineExceededError as exc:
            print("DeadlineExceededError", exc.error_code)


if __name__ == "__main__":
    tf.app.run()
