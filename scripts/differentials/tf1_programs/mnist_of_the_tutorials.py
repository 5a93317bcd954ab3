# peer: none: tensorflow.examples.tutorials is in no release of TensorFlow 2
"""Trains the tutorials' softmax regression on MNIST's files, which the program writes itself."""

from __future__ import print_function

import gzip
import os
import struct
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data


def write(folder, name, first, array):
    with gzip.open(os.path.join(folder, name + "-ubyte.gz"), "wb") as f:
        f.write(struct.pack(">%dI" % (1 + array.ndim), first, *array.shape) + array.tobytes())


def make_files(folder):
    """Digits are bars: the image of digit n has three bright rows from 2 n on."""
    for name, count in (("train", 300), ("t10k", 50)):
        labels = (np.arange(count) * 7 % 10).astype(np.uint8)
        images = np.zeros([count, 28, 28], np.uint8)
        for image, label in zip(images, labels):
            image[2 * label : 2 * label + 3] = 255
        write(folder, name + "-images-idx3", 2051, images)
        write(folder, name + "-labels-idx1", 2049, labels)


def main(_):
    folder = tempfile.mkdtemp()
    make_files(folder)
    mnist = input_data.read_data_sets(folder, one_hot=True, validation_size=60)
    print(mnist.train.num_examples, mnist.validation.num_examples, mnist.test.num_examples)
    print(mnist.train.images.shape, mnist.train.labels.shape, mnist.train.images.max())

    x = tf.placeholder(tf.float32, [None, 784])
    w = tf.Variable(tf.zeros([784, 10]))
    b = tf.Variable(tf.zeros([10]))
    y = tf.matmul(x, w) + b
    y_ = tf.placeholder(tf.float32, [None, 10])
    cross_entropy = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y_, logits=y))
    train_step = tf.train.GradientDescentOptimizer(0.5).minimize(cross_entropy)
    correct_prediction = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
    accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))
    with tf.Session() as sess:
        tf.global_variables_initializer().run()
        print("%.4f" % sess.run(cross_entropy, {x: mnist.test.images, y_: mnist.test.labels}))
        for _ in range(60):
            batch_xs, batch_ys = mnist.train.next_batch(50)
            sess.run(train_step, feed_dict={x: batch_xs, y_: batch_ys})
        print(sess.run(accuracy, feed_dict={x: mnist.test.images, y_: mnist.test.labels}))
    print(mnist.train.epochs_completed)
    first, labels = mnist.validation.next_batch(2, shuffle=False)
    print(labels.argmax(1).tolist(), int(first[1].reshape(28, 28)[14].sum()))
    try:
        input_data.read_data_sets(os.path.join(folder, "nothing"))
    except tf.errors.NotFoundError as error:
        print("train-images-idx3-ubyte.gz" in str(error))


if __name__ == "__main__":
    tf.app.run()
