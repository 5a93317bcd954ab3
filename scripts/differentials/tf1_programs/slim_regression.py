# peer: 1.15: tf.contrib left TensorFlow with 2.0
"""slim from end to end: scopes of arguments, a loop of training with checkpoints, evaluation, a second model from them."""

import os
import tempfile

import numpy as np
import tensorflow as tf
import tensorflow.contrib.slim as slim

rng = np.random.RandomState(2)
X = np.round(rng.normal(size=(16, 2)), 2).astype(np.float32)
Y = (2 * X[:, :1] - X[:, 1:] + 1).astype(np.float32)


def scope(decay):
    with slim.arg_scope(
        [slim.fully_connected], activation_fn=None, weights_initializer=tf.zeros_initializer(),
        weights_regularizer=slim.l2_regularizer(decay),
    ) as found:
        return found


def model(x, name="linear"):
    with slim.arg_scope(scope(0.1)):
        return slim.fully_connected(x, 1, scope=name)


def train(folder):
    predicted = model(tf.constant(X))
    slim.losses.mean_squared_error(predicted, tf.constant(Y))
    total = slim.losses.get_total_loss()
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train_op = slim.learning.create_train_op(total, optimizer, clip_gradient_norm=5.0)
    print([v.name for v in slim.get_model_variables()], [v.name for v in slim.get_variables("global")])
    return slim.learning.train(train_op, folder, number_of_steps=20, log_every_n_steps=0)


def evaluate(folder):
    predicted = model(tf.constant(X))
    tf.train.get_or_create_global_step()
    values, updates = slim.metrics.aggregate_metric_map({
        "mse": slim.metrics.streaming_mean_squared_error(predicted, tf.constant(Y)),
        "mae": slim.metrics.streaming_mean_absolute_error(predicted, tf.constant(Y)),
    })
    path = tf.train.latest_checkpoint(folder)
    found = slim.evaluation.evaluate_once(
        "", path, folder, num_evals=2, eval_op=list(updates.values()), final_op=values
    )
    return path, {name: "%.4f" % value for name, value in sorted(found.items())}


def transfer(path):
    model(tf.constant(X), "other")
    slim.fully_connected(tf.constant(X), 3, scope="head")
    restored = slim.get_variables_to_restore(exclude=["head"])
    print([v.op.name for v in restored])
    names = {v.op.name.replace("other", "linear"): v for v in restored}
    restore = slim.assign_from_checkpoint_fn(path, names)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        restore(sess)
        return sess.run(slim.get_model_variables("other"))


def main(_):
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default():
        print("loss %.4f" % train(folder))
    with tf.Graph().as_default():
        path, found = evaluate(folder)
        print(os.path.basename(path), found)
    with tf.Graph().as_default():
        weights, bias = transfer(path)
        print("weights %.4f %.4f bias %.4f" % (weights[0, 0], weights[1, 0], bias[0]))


if __name__ == "__main__":
    tf.app.run()
