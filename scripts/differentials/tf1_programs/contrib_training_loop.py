# peer: 1.15: contrib
"""Trains with contrib.training, and evaluates the checkpoint that it leaves."""

import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.contrib import training

logdir = tempfile.mkdtemp()
X = np.linspace(-1, 1, 16).astype(np.float32).reshape(-1, 1)
Y = 2 * X - 0.5


def model(x):
    w = tf.get_variable("w", initializer=tf.zeros([1, 1]))
    b = tf.get_variable("b", initializer=tf.zeros([1]))
    return tf.matmul(x, w) + b


with tf.Graph().as_default():
    loss = tf.losses.mean_squared_error(tf.constant(Y), model(tf.constant(X)))
    train_op = training.create_train_op(
        loss,
        tf.train.GradientDescentOptimizer(0.3),
        transform_grads_fn=training.clip_gradient_norms_fn(0.5),
    )
    final = training.train(
        train_op, logdir, hooks=[tf.train.StopAtStepHook(num_steps=40)], save_summaries_steps=None
    )
    print("loss %.5f" % final, tf.train.latest_checkpoint(logdir).split("/")[-1])

with tf.Graph().as_default():
    predictions = model(tf.constant(X))
    value, update = tf.metrics.mean_absolute_error(tf.constant(Y), predictions)
    tf.train.get_or_create_global_step()
    path = training.wait_for_new_checkpoint(logdir, timeout=5)
    result = training.evaluate_once(
        path,
        eval_ops=update,
        final_ops={"mae": value, "step": tf.train.get_global_step()},
        hooks=[training.StopAfterNEvalsHook(2)],
    )
    print("mae %.4f" % result["mae"], result["step"])
    print(len(list(training.checkpoints_iterator(logdir, timeout=0))))
