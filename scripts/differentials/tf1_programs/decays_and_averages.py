"""A learning rate that decays, clipped gradients, and moving averages that are restored in place of the variables."""

import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

T = tf.train


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
