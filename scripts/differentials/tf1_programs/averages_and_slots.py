"""Normalises batches by hand with moving averages, and keeps a slot for each weight."""

from __future__ import print_function

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.training import moving_averages
from tensorflow.python.training import slot_creator


def batch_norm(x, training, decay=0.8, epsilon=1e-3):
    with tf.variable_scope("bn"):
        size = x.shape[-1]
        beta = tf.get_variable("beta", [size], initializer=tf.zeros_initializer())
        gamma = tf.get_variable("gamma", [size], initializer=tf.ones_initializer())
        mean = tf.get_variable("mean", [size], initializer=tf.zeros_initializer(), trainable=False)
        var = tf.get_variable(
            "variance", [size], initializer=tf.ones_initializer(), trainable=False
        )
        now = tf.nn.moments(x, [0])
        for average, value in zip((mean, var), now):
            tf.add_to_collection(
                tf.GraphKeys.UPDATE_OPS,
                moving_averages.assign_moving_average(average, value, decay, zero_debias=False),
            )
        used = tf.cond(training, lambda: list(now), lambda: [mean.value(), var.value()])
        return tf.nn.batch_normalization(x, used[0], used[1], beta, gamma, epsilon)


def main(_):
    x = tf.placeholder(tf.float32, [None, 2])
    training = tf.placeholder_with_default(False, [])
    y = batch_norm(x, training)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    running = moving_averages.weighted_moving_average(
        tf.reduce_sum(x), 0.5, weight=tf.constant(1.0)
    )
    w = tf.get_variable("w", initializer=[1.0, 2.0])
    slots = [
        slot_creator.create_zeros_slot(w, "momentum"),
        slot_creator.create_slot(w, tf.constant([3.0, 4.0]), "start"),
    ]
    data = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]], np.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(3):
            out, _ = sess.run([y, updates], {x: data + step, training: True})
            print(np.round(out.mean(0), 3).tolist(), "%.4f" % sess.run(running, {x: data}))
        print(np.round(sess.run(y, {x: data}), 3).tolist())
        for name in ("bn/mean:0", "bn/variance:0"):
            print(name, np.round(sess.run(name), 4).tolist())
        print([s.op.name for s in slots], [v.tolist() for v in sess.run(slots)])
    print([v.op.name for v in tf.global_variables() if v not in tf.trainable_variables()])


if __name__ == "__main__":
    tf.app.run()
