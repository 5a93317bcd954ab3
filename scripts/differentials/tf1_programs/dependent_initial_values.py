"""Variables whose initial values are computed from other variables, all initialised in one call."""

import numpy as np
import tensorflow.compat.v1 as tf

tf.set_random_seed(1)
base = tf.Variable(tf.random_normal([3, 2], stddev=0.35), name="weights")
copy = tf.Variable(base.initialized_value(), name="copy")
double = tf.Variable(base.initialized_value() * 2.0, name="double")
shifted = tf.Variable(copy.initialized_value() + 1.0, name="shifted")
scale = tf.Variable(3.0, name="scale")
direct = tf.Variable(scale * 4.0, name="direct")
sizes = tf.Variable(tf.zeros(tf.stack([2, 3])), name="sizes")

with tf.variable_scope("net"):
    table = tf.get_variable("table", initializer=np.arange(6, dtype=np.float32).reshape(2, 3))
    linked = tf.get_variable("linked", initializer=table.initialized_value()[0])

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    w, c, d, s = sess.run([base, copy, double, shifted])
    print(np.array_equal(w, c), np.allclose(w * 2, d), np.allclose(c + 1, s))
    print(sess.run([scale, direct]), sizes.eval().shape, linked.eval().tolist())
    sess.run(base.assign(tf.ones([3, 2])))
    sess.run(copy.initializer)
    print(copy.eval().tolist())

with tf.Session() as sess:
    print(sess.run(tf.report_uninitialized_variables()).tolist())
    sess.run(direct.initializer)
    print(sess.run(direct), [n.decode() for n in sess.run(tf.report_uninitialized_variables())])
