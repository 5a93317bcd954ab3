# peer: 1.15: tf.layers needs Keras 2, which TensorFlow 2.21 does not come with
"""Fits a small network of tf.layers from given weights, with a regulariser, a constraint and shared layers."""

import numpy as np
import tensorflow.compat.v1 as tf

rng = np.random.RandomState(0)
X = rng.normal(size=(12, 3)).astype(np.float32)
Y = (X[:, :1] - 2 * X[:, 1:2] + 0.5).astype(np.float32)
W1 = np.round(rng.normal(size=(3, 4)) * 0.5, 2).astype(np.float32)
W2 = np.round(rng.normal(size=(4, 1)) * 0.5, 2).astype(np.float32)


def network(x, reuse=None):
    hidden = tf.layers.dense(
        x, 4, activation=tf.nn.tanh, kernel_initializer=tf.constant_initializer(W1),
        kernel_regularizer=lambda w: 0.01 * tf.nn.l2_loss(w), name="hidden", reuse=reuse,
    )
    with tf.variable_scope("head", reuse=reuse):
        return tf.layers.dense(
            hidden, 1, kernel_initializer=tf.constant_initializer(W2),
            bias_initializer=tf.constant_initializer(0.1),
            kernel_constraint=lambda w: tf.clip_by_value(w, -0.6, 0.6), name="out",
        )


def main(_):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    predicted = network(x)
    again = network(2 * x, reuse=True)
    print([v.name for v in tf.trainable_variables()])
    print([(v.op.name, v.shape.as_list()) for v in tf.global_variables("head")])
    print(predicted.shape.as_list(), len(tf.losses.get_regularization_losses()))
    try:
        network(x)
    except ValueError as error:
        print(type(error).__name__, "hidden/kernel" in str(error), "already exists" in str(error))
    loss = tf.losses.mean_squared_error(y, predicted) + tf.losses.get_regularization_loss()
    train = tf.train.GradientDescentOptimizer(0.2).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(4):
            value, _ = sess.run([loss, train], {x: X, y: Y})
            print("step %d loss %.4f" % (step, value))
        out, twice = sess.run([predicted, again], {x: X[:2]})
        print("out %.4f %.4f twice %.4f %.4f" % (*out[:, 0], *twice[:, 0]))
        kernel = sess.run(tf.trainable_variables()[2])
        print("head", " ".join("%.4f" % each for each in kernel[:, 0]))


if __name__ == "__main__":
    tf.app.run()
