# peer: 1.15: tf.contrib is no longer part of TensorFlow
"""Summaries that steps write themselves, every second step, to a writer of tf.contrib.summary."""

import glob
import os
import tempfile

import numpy as np
import tensorflow as tf

summary = tf.contrib.summary


def main(_):
    folder = tempfile.mkdtemp()
    global_step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=np.float32([3.0, -1.0]))
    loss = tf.reduce_sum(tf.square(w))
    writer = summary.create_file_writer(folder, flush_millis=10000)
    with writer.as_default(), summary.record_summaries_every_n_global_steps(2):
        summary.scalar("loss", loss)
        summary.histogram("w", w, family="weights")
        with tf.name_scope("inner"):
            summary.scalar("largest", tf.reduce_max(w), step=global_step + 100)
    with summary.always_record_summaries():
        nowhere = summary.scalar("nowhere", loss)
    print(nowhere.type, len(summary.all_summary_ops()), len(summary.summary_writer_initializer_op()))
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=global_step)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with writer.as_default():
            summary.initialize(session=sess)
        for _ in range(5):
            sess.run(summary.all_summary_ops())
            sess.run(train_op)
        sess.run(summary.flush(writer))
        sess.run(writer.close())
    [path] = glob.glob(os.path.join(folder, "*"))
    found = []
    for event in tf.train.summary_iterator(path):
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            number = value.simple_value if kind == "simple_value" else value.histo.sum
            found.append((event.step, value.tag, kind, "%.4f" % number))
    for each in sorted(found):
        print(*each)
    try:
        summary.initialize(session=None)
    except Exception as exc:
        print(type(exc).__name__)


if __name__ == "__main__":
    tf.app.run()
