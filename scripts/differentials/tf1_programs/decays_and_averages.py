"""Learning rates that decay, clipped gradients, and moving averages that are restored in place of the variables."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

T = tf.train
decays = [
    ("exponential", lambda g: T.exponential_decay(0.1, g, 10, 0.5)),
    ("staircase", lambda g: T.exponential_decay(0.1, g, 10, 0.5, staircase=True)),
    ("natural", lambda g: T.natural_exp_decay(0.1, g, 10, 0.5)),
    ("inverse", lambda g: T.inverse_time_decay(0.1, g, 10, 0.5)),
    ("polynomial", lambda g: T.polynomial_decay(0.1, g, 20, 0.01, power=2.0)),
    ("cycle", lambda g: T.polynomial_decay(0.1, g, 10, 0.01, cycle=True)),
    ("piecewise", lambda g: T.piecewise_constant(g, [5, 12], [0.1, 0.05, 0.01])),
    ("cosine", lambda g: T.cosine_decay(0.1, g, 20, alpha=0.1)),
    ("restarts", lambda g: T.cosine_decay_restarts(0.1, g, 6)),
    ("linear_cosine", lambda g: T.linear_cosine_decay(0.1, g, 20)),
]
with tf.Graph().as_default():
    step = tf.placeholder(tf.int64, [])
    rates = [(name, make(step)) for name, make in decays]
    with tf.Session() as sess:
        for name, rate in rates:
            print(name, ["%.5f" % sess.run(rate, {step: n}) for n in (0, 5, 6, 10, 15, 25)])


class Model(object):
    def __init__(self):
        self.step = T.get_or_create_global_step()
        self.w = tf.get_variable("w", initializer=np.float32([[3.0], [-4.0]]))
        self.loss = tf.reduce_sum(tf.square(self.w))
        rate = T.exponential_decay(0.5, self.step, 2, 0.5, staircase=True)
        optimizer = T.GradientDescentOptimizer(rate)
        grads, variables = zip(*optimizer.compute_gradients(self.loss))
        clipped, self.norm = tf.clip_by_global_norm(grads, 5.0)
        apply_op = optimizer.apply_gradients(zip(clipped, variables), self.step)
        self.ema = T.ExponentialMovingAverage(0.9, num_updates=self.step)
        with tf.control_dependencies([apply_op]):
            self.train_op = self.ema.apply([self.w])


folder = tempfile.mkdtemp()
with tf.Graph().as_default():
    model = Model()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(5):
            _, norm = sess.run([model.train_op, model.norm])
            print("norm %.4f" % norm, "w %.4f" % sess.run(model.w)[0, 0])
        shadow = model.ema.average(model.w)
        print(model.ema.average_name(model.w), shadow.name, shadow.shape)
        print(["%.4f" % x for x in sess.run(shadow).ravel()])
        T.Saver().save(sess, os.path.join(folder, "model"), global_step=model.step)
    print([v.name for v in tf.global_variables()])
    print([v.name for v in tf.get_collection(tf.GraphKeys.MOVING_AVERAGE_VARIABLES)])

with tf.Graph().as_default():
    w = tf.get_variable("w", [2, 1])
    restored = T.ExponentialMovingAverage(0.9).variables_to_restore()
    print({name: v.name for name, v in restored.items()})
    with tf.Session() as sess:
        T.Saver(restored).restore(sess, T.latest_checkpoint(folder))
        print(["%.4f" % x for x in sess.run(w).ravel()])
