# peer: 1.15: tf.layers needs Keras 2, which TensorFlow 2.21 does not come with
"""A convolutional network of tf.layers in both formats of data, with dropout, trained on two kinds of images."""

import argparse

import numpy as np
import tensorflow as tf


def images(count, seed):
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, 2, count)
    pixels = rng.normal(0, 0.1, (count, 8, 8, 1))
    for place, label in enumerate(labels):
        if label:
            pixels[place, :, 3:5] += 1
        else:
            pixels[place, 3:5] += 1
    return pixels.astype(np.float32), labels


class Model(object):
    def __init__(self, filters, data_format):
        last = data_format == "channels_last"
        self.x = tf.placeholder(tf.float32, [None, 8, 8, 1])
        self.y = tf.placeholder(tf.int64, [None])
        self.training = tf.placeholder(tf.bool)
        net = self.x if last else tf.transpose(self.x, [0, 3, 1, 2])
        with tf.variable_scope("model"):
            net = tf.layers.conv2d(
                net, filters, (3, 3), padding="same", activation=tf.nn.relu,
                data_format=data_format,
            )
            self.shapes = [net.shape.as_list()]
            net = tf.layers.max_pooling2d(net, 2, 2, data_format=data_format)
            net = tf.layers.separable_conv2d(net, filters, 3, data_format=data_format)
            self.shapes.append(net.shape.as_list())
            net = tf.layers.conv2d_transpose(
                net, 3, 2, strides=2, use_bias=False, data_format=data_format
            )
            self.shapes.append(net.shape.as_list())
            net = tf.layers.average_pooling2d(net, 2, 2, "same", data_format=data_format)
            net = tf.layers.flatten(net, data_format=data_format)
            self.shapes.append(net.shape.as_list())
            net = tf.layers.dropout(net, rate=0.25, training=self.training, seed=1)
            self.logits = tf.layers.dense(net, 2)
        self.loss = tf.losses.sparse_softmax_cross_entropy(self.y, self.logits)
        right = tf.equal(tf.argmax(self.logits, 1), self.y)
        self.accuracy = tf.reduce_mean(tf.cast(right, tf.float32))
        self.train = tf.train.AdamOptimizer(0.02).minimize(self.loss)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--filters", type=int, default=4)
    parser.add_argument("--steps", type=int, default=25)
    arguments = parser.parse_args([])
    x, y = images(40, 0)
    held_x, held_y = images(30, 1)
    for data_format in ("channels_last", "channels_first"):
        tf.reset_default_graph()
        tf.set_random_seed(7)
        model = Model(arguments.filters, data_format)
        print(data_format, model.shapes)
        for variable in tf.trainable_variables():
            print(variable.name, variable.shape.as_list())
        if data_format == "channels_first":
            break
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            losses = []
            for _ in range(arguments.steps):
                feeds = {model.x: x, model.y: y, model.training: True}
                losses.append(sess.run([model.loss, model.train], feeds)[0])
            print("lower", bool(losses[-1] < losses[0] / 2))
            feeds = {model.x: held_x, model.y: held_y, model.training: False}
            first, second = sess.run(model.loss, feeds), sess.run(model.loss, feeds)
            print("same", bool(first == second), "good", bool(sess.run(model.accuracy, feeds) > 0.9))


if __name__ == "__main__":
    main()
