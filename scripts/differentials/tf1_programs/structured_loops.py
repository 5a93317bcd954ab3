"""Loops over tuples, named tuples and dictionaries, and branches that change variables."""

import collections

import tensorflow.compat.v1 as tf

State = collections.namedtuple("State", ["step", "total", "extra"])


def collatz(start):
    def body(n, info):
        n = tf.cond(tf.equal(n % 2, 0), lambda: n // 2, lambda: 3 * n + 1)
        return n, {"steps": info["steps"] + 1, "highest": tf.maximum(info["highest"], n)}

    return tf.while_loop(lambda n, info: n > 1, body, (start, {"steps": 0, "highest": start}))


def fibonacci(n):
    state = State(tf.constant(0), tf.constant(0), (tf.constant(1), tf.constant(0.5)))

    def body(s):
        return [State(s.step + 1, s.extra[0], (s.total + s.extra[0], s.extra[1] * 2.0))]

    return tf.while_loop(lambda s: s.step < n, body, [state], return_same_structure=True)


visits = tf.Variable(0, name="visits")
log = tf.Variable([0.0, 0.0], name="log")
start = tf.placeholder(tf.int32, [])
ends = collatz(start)
fib = fibonacci(tf.constant(10))
flag = tf.placeholder(tf.bool, [])


def visit():
    with tf.control_dependencies([tf.assign_add(visits, 1)]):
        return tf.identity(log)


branch = tf.cond(flag, visit, lambda: tf.assign(log, [3.0, 4.0]) * 1.0)


def counted(i):
    with tf.control_dependencies([visits.assign_add(10)]):
        return i + 1


loop = tf.while_loop(lambda i: i < 3, counted, [tf.constant(0)])

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for n in (6, 7, 27):
        print(n, sess.run(ends, {start: n}))
    print(sess.run(fib))
    print(sess.run(branch, {flag: True}), sess.run(branch, {flag: False}), sess.run(branch, {flag: True}), sess.run(visits))
    print(sess.run(loop), sess.run(visits))
    print(type(ends).__name__, type(ends[1]).__name__, type(fib).__name__, type(fib[0]).__name__)
