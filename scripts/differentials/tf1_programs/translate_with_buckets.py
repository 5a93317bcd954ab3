# peer: 1.15: tf.contrib left TensorFlow with 2.0
"""A translation model over lists of steps, with attention and buckets, as TensorFlow's tutorial of 2016 had it."""

import numpy as np
import tensorflow as tf

legacy = tf.contrib.legacy_seq2seq
BUCKETS = [(2, 3), (4, 5)]
SOURCE, TARGET, UNITS, BATCH = 6, 5, 4, 3
rng = np.random.RandomState(5)


def fill(sess):
    """Gives every variable numbers that depend on its name and shape alone."""
    for variable in tf.global_variables():
        size = int(np.prod(variable.shape.as_list()))
        start = sum(ord(letter) for letter in variable.op.name) % 17
        values = np.sin(np.arange(start, start + size) * 1.3) * 0.5
        variable.load(values.reshape(variable.shape.as_list()).astype(np.float32), sess)


class Model(object):
    def __init__(self, feed_previous):
        self.sources = [tf.placeholder(tf.int32, [None], name="s%d" % i) for i in range(4)]
        self.inputs = [tf.placeholder(tf.int32, [None], name="t%d" % i) for i in range(6)]
        self.weights = [tf.placeholder(tf.float32, [None], name="w%d" % i) for i in range(5)]

        def seq2seq(encoder, decoder):
            cell = tf.contrib.rnn.GRUCell(UNITS)
            return legacy.embedding_attention_seq2seq(
                encoder, decoder, cell, SOURCE, TARGET, 3, num_heads=2,
                feed_previous=feed_previous, dtype=tf.float32,
            )

        self.outputs, self.losses = legacy.model_with_buckets(
            self.sources, self.inputs[:-1], self.inputs[1:], self.weights, BUCKETS, seq2seq
        )

    def feeds(self):
        words = np.random.RandomState(1)
        found = {each: words.randint(0, SOURCE, BATCH) for each in self.sources}
        found.update({each: words.randint(0, TARGET, BATCH) for each in self.inputs})
        found.update({each: np.round(words.rand(BATCH), 2) for each in self.weights})
        return found


def main(_):
    for own in (False, True):
        with tf.Graph().as_default(), tf.Session() as sess:
            model = Model(own)
            if not own:
                for variable in sorted(tf.trainable_variables(), key=lambda v: v.op.name):
                    print(variable.op.name, variable.shape.as_list())
            train = tf.train.GradientDescentOptimizer(0.5).minimize(model.losses[1])
            fill(sess)
            for _ in range(3):
                losses = sess.run(model.losses, model.feeds())
                print(own, " ".join("%.4f" % loss for loss in losses))
                sess.run(train, model.feeds())
            last = sess.run(model.outputs[1][-1], model.feeds())
            print(" ".join("%.4f" % each for each in last[0]))
    with tf.Graph().as_default(), tf.Session() as sess:
        feed = tf.placeholder(tf.bool, [])
        words = [tf.constant([1, 2]), tf.constant([3, 0])]
        outputs, state = legacy.embedding_rnn_seq2seq(
            words, words, tf.contrib.rnn.BasicLSTMCell(3), 4, 5, 2, feed_previous=feed
        )
        print(sorted(v.op.name for v in tf.trainable_variables()))
        fill(sess)
        for value in (False, True):
            made, end = sess.run([outputs[1], state], {feed: value})
            print(value, " ".join("%.4f" % each for each in made[0]), "%.4f" % end.h[0, 0])
    with tf.Graph().as_default(), tf.Session() as sess:
        words = [tf.constant([1, 2]), tf.constant([3, 0])]
        outputs, _ = legacy.embedding_tied_rnn_seq2seq(
            words, words, tf.contrib.rnn.GRUCell(3), 4, 2, feed_previous=True
        )
        print(sorted(v.op.name for v in tf.trainable_variables()))
        fill(sess)
        print(" ".join("%.4f" % each for each in sess.run(outputs[1])[1]))


if __name__ == "__main__":
    tf.app.run()
