# peer: 1.15: tf.layers needs Keras 2, which TensorFlow 2.21 does not come with
"""A generator and a discriminator in variable scopes, one of them used twice, trained by two optimisers in turn."""

import numpy as np
import tensorflow as tf

BATCH, NOISE = 16, 4


def generator(z):
    with tf.variable_scope("generator"):
        net = tf.layers.dense(z, 8, activation=tf.nn.leaky_relu)
        net = tf.layers.batch_normalization(net, training=True)
        return tf.layers.dense(net, 2, activation=tf.nn.tanh)


def discriminator(x, reuse=False):
    with tf.variable_scope("discriminator", reuse=reuse):
        net = tf.layers.dense(x, 8, activation=tf.nn.relu)
        return tf.layers.dense(net, 1)


def cross_entropy(logits, truth):
    labels = tf.ones_like(logits) if truth else tf.zeros_like(logits)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))


def main():
    tf.set_random_seed(3)
    z = tf.placeholder(tf.float32, [None, NOISE])
    real = tf.placeholder(tf.float32, [None, 2])
    fake = generator(z)
    logits_real, logits_fake = discriminator(real), discriminator(fake, reuse=True)
    loss_d = cross_entropy(logits_real, True) + cross_entropy(logits_fake, False)
    loss_g = cross_entropy(logits_fake, True)
    vars_d = [v for v in tf.trainable_variables() if v.name.startswith("discriminator")]
    vars_g = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="generator")
    print([v.name for v in vars_d])
    print([v.name for v in vars_g])
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope="generator")
    train_d = tf.train.AdamOptimizer(0.01).minimize(loss_d, var_list=vars_d)
    with tf.control_dependencies(updates):
        train_g = tf.train.AdamOptimizer(0.01).minimize(loss_g, var_list=vars_g)
    print(len(updates), len(tf.global_variables()), len(tf.trainable_variables()))
    rng = np.random.RandomState(0)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run(vars_g)
        for _ in range(3):
            points = (0.5 + 0.1 * rng.normal(size=(BATCH, 2))).astype(np.float32)
            noise = rng.uniform(-1, 1, (BATCH, NOISE)).astype(np.float32)
            feeds = {z: noise, real: points}
            kept = sess.run(vars_g)
            sess.run(train_d, feeds)
            same = all(np.array_equal(a, b) for a, b in zip(kept, sess.run(vars_g)))
            loss, _ = sess.run([loss_g, train_g], feeds)
            print("generator unchanged by the other", same, "finite", bool(np.isfinite(loss)))
        after = sess.run(vars_g)
        print("changed", [bool((a != b).any()) for a, b in zip(before, after)])
        made = sess.run(fake, {z: noise})
        print(made.shape, bool((abs(made) <= 1).all()))


if __name__ == "__main__":
    main()
