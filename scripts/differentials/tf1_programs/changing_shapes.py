"""A buffer whose variable takes values of other shapes, as replay memories of early agents did."""

import numpy as np
import tensorflow.compat.v1 as tf


class Buffer(object):
    def __init__(self, width):
        self.rows = tf.Variable(np.zeros([0, width], np.float32), name="rows", validate_shape=False, trainable=False)
        self.new = tf.placeholder(tf.float32, [None, width], name="new")
        self.append = tf.assign(self.rows, tf.concat([self.rows, self.new], 0), validate_shape=False)
        self.drop = tf.assign(self.rows, self.rows[2:], validate_shape=False)
        self.size = tf.shape(self.rows)[0]
        self.mean = tf.reduce_mean(self.rows, 0)


buffer = Buffer(2)
fixed = tf.Variable([1.0, 2.0], name="fixed")
print(buffer.rows, buffer.rows.shape, fixed.shape)
try:
    tf.assign(fixed, [1.0, 2.0, 3.0])
except ValueError as e:
    print("ValueError when the graph is built")
other = tf.placeholder(tf.float32)
set_fixed = tf.assign(fixed, other)
free_fixed = tf.assign(fixed, other, validate_shape=False)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(3):
        rows = sess.run(buffer.append, {buffer.new: np.full([i + 1, 2], float(i))})
        print(i, rows.shape, sess.run(buffer.size), sess.run(buffer.mean))
    print(sess.run(buffer.drop).tolist())
    print(sess.run(buffer.size))
    print(sess.run(set_fixed, {other: [5.0, 6.0]}))
    try:
        sess.run(set_fixed, {other: [5.0, 6.0, 7.0]})
    except tf.errors.InvalidArgumentError as e:
        print(type(e).__name__, e.op.type)
    print(sess.run(free_fixed, {other: [5.0, 6.0, 7.0]}), sess.run(fixed))
