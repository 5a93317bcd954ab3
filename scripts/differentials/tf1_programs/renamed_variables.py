"""Variables of a trained encoder are taken over into a model that calls them otherwise."""

import os
import tempfile

import numpy as np
import tensorflow as tf


def dense(x, units, scope, value):
    with tf.variable_scope(scope):
        kernel = tf.get_variable(
            "kernel", [x.shape[-1], units], initializer=tf.constant_initializer(value))
        bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
        return tf.nn.tanh(tf.matmul(x, kernel) + bias)


def train(path):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        code = dense(x, 2, "encoder/layer_1", 0.25)
        back = dense(code, 3, "decoder/layer_1", 0.5)
        ema = tf.train.ExponentialMovingAverage(0.5)
        with tf.control_dependencies([tf.assign_add(v, tf.ones_like(v)) for v in tf.trainable_variables()]):
            update = ema.apply(tf.trainable_variables())
        sess.run(tf.global_variables_initializer())
        sess.run(update)
        print("%.4f" % sess.run(tf.reduce_sum(back), {x: np.ones((1, 3))}))
        return tf.train.Saver().save(sess, path)


folder = tempfile.mkdtemp()
path = train(os.path.join(folder, "auto"))
print([name for name, _ in tf.train.list_variables(path)])

with tf.Graph().as_default(), tf.Session() as sess:
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.variable_scope("student"):
        code = dense(x, 2, "enc", 0.0)
        head = dense(code, 1, "head", 0.1)
    by_name = {
        "encoder/layer_1/" + v.op.name.split("/")[-1]: v
        for v in tf.trainable_variables("student/enc")
    }
    saver = tf.train.Saver(by_name)
    sess.run(tf.global_variables_initializer())
    before = sess.run(code, {x: np.ones((1, 3))})
    saver.restore(sess, path)
    after = sess.run(code, {x: np.ones((1, 3))})
    print(before.ravel().tolist(), np.round(after, 4).ravel().tolist())
    print("%.4f" % sess.run(head, {x: np.ones((1, 3))})[0, 0])

with tf.Graph().as_default(), tf.Session() as sess:
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.variable_scope("student"):
        code = dense(x, 2, "enc", 0.0)
    tf.train.init_from_checkpoint(path, {"encoder/layer_1/": "student/enc/"})
    sess.run(tf.global_variables_initializer())
    print(np.round(sess.run(code, {x: np.ones((1, 3))}), 4).ravel().tolist())
    try:
        tf.train.init_from_checkpoint(path, {"encoder/layer_9/": "student/enc/"})
    except ValueError:
        print("no such scope")

with tf.Graph().as_default(), tf.Session() as sess:
    x = tf.placeholder(tf.float32, [None, 3])
    code = dense(x, 2, "encoder/layer_1", 0.0)
    averages = tf.train.ExponentialMovingAverage(0.5).variables_to_restore()
    print(sorted(averages))
    tf.train.Saver(averages).restore(sess, path)
    print(np.round(sess.run(code, {x: np.ones((1, 3))}), 4).ravel().tolist())
