"""Chooses actions in the middle of a step, as reinforcement learning with partial runs did."""

from __future__ import print_function

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import errors_impl


class Policy(object):
    def __init__(self):
        self.state = tf.placeholder(tf.float32, [None, 2], name="state")
        self.action = tf.placeholder(tf.int32, [None], name="action")
        self.reward = tf.placeholder(tf.float32, [None], name="reward")
        w = tf.Variable([[0.5, -0.5], [0.25, 1.0]], name="w")
        self.logits = tf.matmul(self.state, w, name="logits")
        chosen = tf.reduce_sum(tf.nn.log_softmax(self.logits) * tf.one_hot(self.action, 2), 1)
        self.loss = -tf.reduce_mean(chosen * self.reward, name="loss")
        self.train = tf.train.GradientDescentOptimizer(0.1).minimize(self.loss)
        self.w = w


def main():
    policy = Policy()
    states = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], np.float32)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(3):
            handle = sess.partial_run_setup(
                [policy.logits, policy.loss, policy.train],
                [policy.state, policy.action, policy.reward],
            )
            logits = sess.partial_run(handle, policy.logits, {policy.state: states})
            actions = logits.argmax(1)
            rewards = np.where(actions == 1, 1.0, -1.0)
            loss = sess.partial_run(
                handle, policy.loss, {policy.action: actions, policy.reward: rewards}
            )
            print("step", step, actions.tolist(), "%.4f" % loss)
        print(np.round(sess.run(policy.w), 4).tolist())

        total = tf.reduce_sum(policy.logits)
        handle = sess.partial_run_setup([policy.logits, total], [policy.state])
        sess.partial_run(handle, policy.logits, {policy.state: states})
        for fetch, feeds in (
            (total, {policy.reward: [1.0, 1.0, 1.0]}),
            (policy.logits, {}),
            (policy.w, {}),
        ):
            try:
                sess.partial_run(handle, fetch, feeds)
            except errors_impl.InvalidArgumentError as error:
                text = error.message
                known = ("was not specified in partial_run_setup.", "has already been fetched.")
                print(type(error).__name__, [k for k in known if text.endswith(k)])


if __name__ == "__main__":
    main()
