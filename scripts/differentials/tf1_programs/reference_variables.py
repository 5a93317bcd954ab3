"""Builds variables as TensorFlow 1 did and prints the graph that they make."""

from __future__ import print_function

import numpy as np
import tensorflow.compat.v1 as tf


def show(graph):
    for op in graph.get_operations():
        if op.type != "Const":
            print(op.name, op.type, [t.name for t in op.inputs], [str(t.dtype) for t in op.outputs])


def main(_):
    v = tf.Variable([1.0, 2.0, 3.0], name="v")
    step = tf.Variable(0, name="step", trainable=False)
    scaled = tf.multiply(v, 2.0, name="scaled")
    grow = tf.assign_add(v, [1.0, 1.0, 1.0], name="grow")
    twice = tf.assign(v, scaled, name="twice")
    count = tf.assign_add(step, 1)
    print(v)
    print(v.dtype, v.dtype.base_dtype, v.get_shape().as_list(), v.op.type, v.initializer.name)
    print(grow)
    print(scaled)
    show(tf.get_default_graph())
    with tf.Session() as sess:
        try:
            sess.run(v)
        except tf.errors.FailedPreconditionError as e:
            print(type(e).__name__, e.error_code)
        print(sess.run(tf.report_uninitialized_variables()))
        sess.run(tf.global_variables_initializer())
        print(sess.run(grow), sess.run(scaled))
        print(sess.run(twice), sess.run([v, step]))
        for _ in range(3):
            n = sess.run(count)
        print(n, step.eval(), sess.run("v:0"), sess.run("v/read:0"))
        print(sess.run(scaled, feed_dict={v: np.array([9.0, 8.0, 7.0])}), sess.run(scaled, {"v/read:0": [0.0, 1.0, 0.0]}))
        v.load([0.5, 0.5, 0.5], sess)
        print(v.eval(), sess.run(tf.is_variable_initialized(v)))


if __name__ == "__main__":
    tf.app.run()
