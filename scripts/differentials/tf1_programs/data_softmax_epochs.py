"""Trains a softmax classifier from a Dataset whose arrays are fed to the iterator's initializer."""
from __future__ import absolute_import
from __future__ import division
from __future__ import print_function

import argparse
import sys

import numpy as np
import tensorflow as tf

FLAGS = None


def make_data(count, offset):
    index = np.arange(count * 4).reshape(count, 4) + offset
    images = (np.sin(index * 0.37) * 127 + 128).astype(np.uint8)
    labels = (images[:, 0] > images[:, 1]).astype(np.int32) + (images[:, 2] > 200)
    return images, labels.astype(np.int32)


def parse(image, label):
    image = tf.cast(image, tf.float32) / 255.0 - 0.5
    return {"image": image, "index": label + 10}, tf.one_hot(label, 3)


def main(_):
    images, labels = make_data(50, 0)
    features_placeholder = tf.placeholder(images.dtype, images.shape)
    labels_placeholder = tf.placeholder(labels.dtype, labels.shape)
    dataset = tf.data.Dataset.from_tensor_slices((features_placeholder, labels_placeholder))
    dataset = dataset.map(parse, num_parallel_calls=4).repeat(2).batch(FLAGS.batch_size).prefetch(1)
    print(dataset.output_types == ({"image": tf.float32, "index": tf.int32}, tf.float32))
    iterator = dataset.make_initializable_iterator()
    features, target = iterator.get_next()
    print(features["image"].get_shape().as_list(), target.shape.as_list())

    weights = tf.get_variable("weights", initializer=np.zeros((4, 3), np.float32))
    bias = tf.get_variable("bias", initializer=np.zeros(3, np.float32))
    logits = tf.matmul(features["image"], weights) + bias
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=target, logits=logits))
    step = tf.train.get_or_create_global_step()
    train_op = tf.train.GradientDescentOptimizer(FLAGS.learning_rate).minimize(loss, global_step=step)

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(3):
            sess.run(iterator.initializer,
                     feed_dict={features_placeholder: images, labels_placeholder: labels})
            total, batches, sizes = 0.0, 0, []
            while True:
                try:
                    _, value, indices = sess.run([train_op, loss, features["index"]])
                    total += value
                    batches += 1
                    sizes.append(len(indices))
                except tf.errors.OutOfRangeError:
                    break
            print("epoch %d: %d batches, last of %d, loss %.4f" % (epoch, batches, sizes[-1], total / batches))
        print("step", sess.run(step))
        print(np.round(sess.run(bias), 4))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=16)
    parser.add_argument("--learning_rate", type=float, default=0.5)
    FLAGS, unparsed = parser.parse_known_args()
    tf.app.run(main=main, argv=[sys.argv[0]] + unparsed)
