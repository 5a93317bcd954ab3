"""Summaries of a small network as the tutorial about TensorBoard writes them, read back from the event file."""

import glob
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

rng = np.random.RandomState(3)
images = rng.uniform(0.0, 1.0, (12, 16)).astype(np.float32)
labels = np.eye(3, dtype=np.float32)[rng.randint(0, 3, 12)]


def variable_summaries(var):
    with tf.name_scope("summaries"):
        mean = tf.reduce_mean(var)
        tf.summary.scalar("mean", mean)
        with tf.name_scope("stddev"):
            stddev = tf.sqrt(tf.reduce_mean(tf.square(var - mean)))
        tf.summary.scalar("stddev", stddev)
        tf.summary.scalar("max", tf.reduce_max(var))
        tf.summary.histogram("histogram", var)


def nn_layer(x, n_in, n_out, name, act=tf.nn.relu):
    with tf.name_scope(name):
        with tf.name_scope("weights"):
            start = np.linspace(-0.4, 0.5, n_in * n_out).reshape(n_in, n_out)
            w = tf.Variable(start.astype(np.float32))
            variable_summaries(w)
        with tf.name_scope("biases"):
            b = tf.Variable(tf.constant(0.1, shape=[n_out]))
        preactivate = tf.matmul(x, w) + b
        tf.summary.histogram("pre_activations", preactivate)
        return act(preactivate, name="activation")


def main(_):
    x = tf.placeholder(tf.float32, [None, 16], name="x-input")
    y_ = tf.placeholder(tf.float32, [None, 3], name="y-input")
    tf.summary.image("input", tf.reshape(x, [-1, 4, 4, 1]), 2)
    hidden = nn_layer(x, 16, 5, "layer1")
    y = nn_layer(hidden, 5, 3, "layer2", act=tf.identity)
    cross_entropy = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y_, logits=y))
    tf.summary.scalar("cross_entropy", cross_entropy, family="losses")
    train_step = tf.train.GradientDescentOptimizer(0.1).minimize(cross_entropy)
    merged = tf.summary.merge_all()
    folder = tempfile.mkdtemp()
    with tf.Session() as sess:
        writer = tf.summary.FileWriter(os.path.join(folder, "train"), sess.graph)
        sess.run(tf.global_variables_initializer())
        for i in range(3):
            writer.add_summary(sess.run(merged, {x: images, y_: labels}), i)
            sess.run(train_step, {x: images, y_: labels})
        writer.close()
    [path] = glob.glob(os.path.join(folder, "train", "events.out.tfevents.*"))
    for event in tf.train.summary_iterator(path):
        what = event.WhichOneof("what")
        print("step", event.step, what)
        for value in event.summary.value:
            kind = value.WhichOneof("value")
            if kind == "simple_value":
                print(value.tag, "%.4f" % value.simple_value)
            elif kind == "histo":
                h = value.histo
                print(value.tag, "%.4f %.4f %d %.4f %.4f" % (h.min, h.max, h.num, h.sum, h.sum_squares),
                      len(h.bucket), [int(n) for n in h.bucket if n])
            else:
                print(value.tag, kind, value.image.width, value.image.height, value.image.colorspace)


if __name__ == "__main__":
    tf.app.run()
