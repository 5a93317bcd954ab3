# peer: 1.15: tf.contrib left TensorFlow with 2.0
"""Training operations of contrib.layers: named optimisers, decay, clipping, multipliers, and regularised weights."""

import numpy as np
import tensorflow as tf

layers = tf.contrib.layers
X = np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 1.0]], np.float32)
Y = np.array([[1.0], [0.0], [2.0]], np.float32)


def run(title, **settings):
    with tf.Graph().as_default():
        predicted = layers.linear(
            X, 1, weights_initializer=tf.constant_initializer([[0.5], [-0.5]]),
            weights_regularizer=layers.l1_l2_regularizer(0.01, 0.1), scope="linear",
        )
        loss = tf.losses.mean_squared_error(Y, predicted)
        loss += tf.losses.get_regularization_loss()
        step = tf.train.get_or_create_global_step()
        train = layers.optimize_loss(loss, step, name=title, **settings)
        weights, bias = tf.contrib.framework.get_model_variables("linear")
        kept = tf.contrib.framework.get_variables(title)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            losses = [sess.run(train) for _ in range(3)]
            found = np.append(*sess.run([weights, bias]))
            print(title, " ".join("%.4f" % each for each in losses))
            print(" ", " ".join("%.4f" % each for each in found), sess.run(step))
            print(" ", [v.op.name for v in kept if v.op.name.endswith("rate")])


def main(_):
    run("plain", learning_rate=0.1, optimizer="SGD")
    run("clipped", learning_rate=0.1, optimizer="SGD", clip_gradients=0.5)
    run(
        "decayed", learning_rate=0.1, optimizer=tf.train.GradientDescentOptimizer,
        learning_rate_decay_fn=lambda rate, step: tf.train.exponential_decay(rate, step, 1, 0.5),
    )
    run(
        "multiplied", learning_rate=0.1, gradient_multipliers={"linear/biases:0": 0.0},
        optimizer=lambda rate: tf.train.MomentumOptimizer(rate, 0.9),
    )
    run("adam", learning_rate=None, optimizer=lambda: tf.train.AdamOptimizer(0.1))
    run("uncounted", learning_rate=0.1, optimizer="SGD", increment_global_step=False)
    loss = tf.reduce_sum(layers.linear(X, 1))
    step = tf.train.get_or_create_global_step()
    for wrong in (
        {"optimizer": "Sgd"}, {"optimizer": 3}, {"optimizer": "SGD", "clip_gradients": "x"},
        {"optimizer": "SGD", "learning_rate": -1.0}, {"optimizer": "SGD", "summaries": ["all"]},
    ):
        try:
            layers.optimize_loss(loss, step, **dict({"learning_rate": 0.1}, **wrong))
            print("taken")
        except Exception as error:
            print(type(error).__name__)


if __name__ == "__main__":
    tf.app.run()
