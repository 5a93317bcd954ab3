"""Variable scopes: names, reuse, kinds of variables, partitions and what is refused."""

import numpy as np
import tensorflow.compat.v1 as tf


def attempt(what, function):
    try:
        print(what, function())
    except Exception as e:
        print(what, type(e).__name__)


def layer(x, units, name, reuse=None):
    with tf.variable_scope(name, reuse=reuse):
        w = tf.get_variable("w", [x.shape[1], units], initializer=tf.constant_initializer(0.1),
                            regularizer=lambda v: tf.reduce_sum(tf.abs(v)))
        return tf.matmul(x, w, name="product")


x = tf.constant(np.ones([2, 3], np.float32))
first = layer(x, 4, "a")
second = layer(x, 4, "a", reuse=True)
third = layer(x, 4, "b", reuse=tf.AUTO_REUSE)
print(first.name, second.name, third.name)
print([v.name for v in tf.global_variables()], [t.name for t in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)])
attempt("again", lambda: layer(x, 4, "a"))
attempt("other shape", lambda: layer(x, 5, "a", True))
attempt("not there", lambda: layer(x, 4, "c", True))

with tf.variable_scope("outer", initializer=tf.ones_initializer()) as outer:
    with tf.variable_scope("inner", dtype=tf.float64) as inner:
        v = tf.get_variable("v", [2])
    n = tf.constant(1, name="n")
with tf.variable_scope(inner, reuse=True):
    print(tf.get_variable("v", [2]) is v, tf.get_variable_scope().name, tf.constant(2, name="m").name)
print(v, n.name, outer.original_name_scope, inner.name)

with tf.variable_scope("modern", use_resource=True):
    r = tf.get_variable("r", [2], initializer=tf.zeros_initializer())
print(r, r.op.type, v.op.type, r.dtype, v.dtype)
cut = tf.get_variable("cut", [5, 2], partitioner=tf.fixed_size_partitioner(2), initializer=tf.ones_initializer())
print(cut.name, [(p.name, p.get_shape().as_list()) for p in cut], cut.shape)

template = tf.make_template("scale", lambda t: t * tf.get_variable("s", [], initializer=tf.constant_initializer(3.0)))
p, q = template(tf.constant(1.0)), template(tf.constant(2.0))
local = tf.get_local_variable("count", [], tf.int32, tf.zeros_initializer())
with tf.Session() as sess:
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    print(sess.run([p, q]), sess.run(v), sess.run(local), sess.run(tf.reduce_sum(cut)))
    print("%.4f" % sess.run(tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))))
    print(sess.run(r.assign_add([1.0, 2.0])), sess.run(r))
print([u.name for u in tf.local_variables()], len(tf.trainable_variables()))
