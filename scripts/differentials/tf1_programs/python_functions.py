"""Python functions in graphs: what they get and return, how they fail, and that one may wait for another."""

import threading

import numpy as np
import tensorflow.compat.v1 as tf

log = []


def described(x, s):
    log.append((type(x).__name__, getattr(x, "shape", None), s))
    return np.float32(x.sum()), np.array([b"a", b"bc"], dtype=object)


def failing(kind):
    def function(x):
        raise kind("on purpose")
    return function


x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
total, words = tf.py_func(described, [x, tf.constant("text")], [tf.float32, tf.string])
print(total, words)
with tf.Session() as sess:
    print(sess.run([total, words]), log)
    for kind in (ValueError, TypeError, StopIteration, MemoryError, NotImplementedError, KeyError):
        try:
            sess.run(tf.py_func(failing(kind), [1.0], tf.float32))
        except tf.errors.OpError as e:
            print(kind.__name__, type(e).__name__, e.error_code)
    try:
        sess.run(tf.py_func(lambda v: v + 1, [1.0], tf.int64))
    except tf.errors.InvalidArgumentError as e:
        print("wrong type", type(e).__name__)

    arrived = threading.Event()
    order = []

    def waits():
        order.append(arrived.wait(20))
        return np.int64(1)

    def signals():
        arrived.set()
        return np.int64(2)

    both = [tf.py_func(waits, [], tf.int64), tf.py_func(signals, [], tf.int64)]
    print(sess.run(both), order)

    calls = []
    counted = tf.py_func(lambda: calls.append(1) or np.float32(len(calls)), [], tf.float32, stateful=True)
    print(sess.run([counted, counted * 2]), sess.run(counted), len(calls))
    grad = tf.gradients(tf.py_func(np.square, [x], tf.float32), x)
    print(grad)


class Environment(object):
    """A little environment whose steps are operations."""

    def __init__(self):
        self.position = np.float32(0.0)

    def step(self, action):
        self.position += np.float32(action)
        return self.position, np.float32(-abs(self.position - 3.0)), bool(self.position >= 3.0)


env = Environment()
action = tf.placeholder(tf.float32, [])
state, reward, done = tf.py_func(env.step, [action], [tf.float32, tf.float32, tf.bool])
with tf.Session() as sess:
    for move in (1.0, 1.5, 1.0):
        print(sess.run([state, reward, done], {action: move}))
