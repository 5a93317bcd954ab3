"""Counters and averages whose reads are ordered by control dependencies."""

import tensorflow.compat.v1 as tf


def counter(name, start=0):
    with tf.variable_scope(name):
        value = tf.get_variable("value", initializer=tf.constant(start), trainable=False)
        bump = tf.assign_add(value, 1)
        with tf.control_dependencies([bump]):
            seen = tf.identity(value, name="seen")
    return value, bump, seen


def running_mean(x, decay=0.5):
    with tf.variable_scope("mean"):
        mean = tf.get_variable("mean", [], initializer=tf.zeros_initializer(), trainable=False)
        number = tf.get_variable("number", [], tf.float32, tf.zeros_initializer(), trainable=False)
    with tf.control_dependencies([tf.assign_add(number, 1.0)]):
        update = tf.assign(mean, decay * mean + (1.0 - decay) * x)
    with tf.control_dependencies([update]):
        return mean.read_value(), mean / (1.0 - tf.pow(decay, number))


x = tf.placeholder(tf.float32, [])
value, bump, seen = counter("steps", 5)
plain, corrected = running_mean(x)
limited = tf.Variable(0, name="limited")
ticket = limited.count_up_to(2)
sum_after = bump + value

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(sess.run(seen), sess.run(value), sess.run([bump, seen]), sess.run(sum_after))
    for sample in (2.0, 4.0, 6.0):
        print("%.4f %.4f" % tuple(sess.run([plain, corrected], {x: sample})))
    print(sess.run(ticket), sess.run(ticket))
    try:
        sess.run(ticket)
    except tf.errors.OutOfRangeError as e:
        print("no more tickets", e.error_code)
    print([v.name for v in tf.global_variables()], len(tf.trainable_variables()))
