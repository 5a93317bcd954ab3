"""Recurrent programs as tutorials for TensorFlow 1 have them, each with something that must come out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


class LanguageModel:
    """As the tutorial on the Penn Treebank has it: an unrolled stack with dropout, truncated and clipped."""

    def __init__(self, training: bool, words: int = 6, steps: int = 5, size: int = 12) -> None:
        self.input = tf.placeholder(tf.int32, [None, steps])
        self.target = tf.placeholder(tf.int32, [None, steps])
        batch = 4

        def cell() -> Any:
            made: Any = tf.contrib.rnn.BasicLSTMCell(
                size, forget_bias=0.0, state_is_tuple=True, reuse=tf.get_variable_scope().reuse
            )
            if training:
                made = tf.contrib.rnn.DropoutWrapper(made, output_keep_prob=0.9)
            return made

        stack = tf.contrib.rnn.MultiRNNCell([cell() for _ in range(2)], state_is_tuple=True)
        self.initial_state = stack.zero_state(batch, tf.float32)
        embedding = tf.get_variable("embedding", [words, size])
        inputs = tf.nn.embedding_lookup(embedding, self.input)
        inputs.set_shape([batch, steps, size])
        outputs, state = [], self.initial_state
        with tf.variable_scope("RNN"):
            for time_step in range(steps):
                if time_step > 0:
                    tf.get_variable_scope().reuse_variables()
                output, state = stack(inputs[:, time_step, :], state)
                outputs.append(output)
        output = tf.reshape(tf.concat(outputs, 1), [-1, size])
        softmax_w = tf.get_variable("softmax_w", [size, words])
        softmax_b = tf.get_variable("softmax_b", [words])
        logits = tf.reshape(tf.nn.xw_plus_b(output, softmax_w, softmax_b), [batch, steps, words])
        self.cost = tf.reduce_sum(
            tf.contrib.seq2seq.sequence_loss(
                logits, self.target, tf.ones([batch, steps]), average_across_timesteps=False, average_across_batch=True
            )
        )
        self.final_state = state
        if training:
            self.lr = tf.Variable(0.0, trainable=False)
            tvars = tf.trainable_variables()
            grads, _ = tf.clip_by_global_norm(tf.gradients(self.cost, tvars), 5)
            optimizer = tf.train.AdamOptimizer(self.lr)
            self.train_op = optimizer.apply_gradients(
                zip(grads, tvars, strict=True), global_step=tf.train.get_or_create_global_step()
            )

    def epoch(self, sess: Any, text: Any, train: bool) -> float:
        """The perplexity of a text, going on with the state from piece to piece."""
        costs, state = 0.0, sess.run(self.initial_state)
        for start in range(0, text.shape[1] - 5, 5):
            feed: dict[Any, Any] = {self.input: text[:, start : start + 5], self.target: text[:, start + 1 : start + 6]}
            for number, (c, h) in enumerate(self.initial_state):
                feed[c], feed[h] = state[number].c, state[number].h
            fetched = {"cost": self.cost, "state": self.final_state}
            if train:
                fetched["eval_op"] = self.train_op
            found = sess.run(fetched, feed)
            costs, state = costs + found["cost"], found["state"]
        return float(np.exp(costs / (text.shape[1] - 6)))


def test_a_language_model_learns_what_follows_what() -> None:
    tf.set_random_seed(2)
    text = np.stack([np.roll(np.tile([0, 1, 2, 3, 4, 5, 4, 3, 2, 1], 4), shift) for shift in range(4)])
    init = tf.random_uniform_initializer(-0.2, 0.2)
    with tf.variable_scope("Model", reuse=None, initializer=init):
        m = LanguageModel(training=True)
    with tf.variable_scope("Model", reuse=True, initializer=init):
        mvalid = LanguageModel(training=False)
    names = [v.op.name for v in tf.trainable_variables()]
    assert names[1] == "Model/RNN/multi_rnn_cell/cell_0/basic_lstm_cell/kernel"
    assert len(names) == 7
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = mvalid.epoch(sess, text, train=False)
        sess.run(tf.assign(m.lr, 0.03))
        for _ in range(12):
            m.epoch(sess, text, train=True)
        after = mvalid.epoch(sess, text, train=False)
    assert before > 5
    assert after < 2.5


def test_images_are_told_apart_row_by_row() -> None:
    """As the tutorials on handwritten digits have it, with stripes for digits."""
    tf.set_random_seed(0)
    random = np.random.RandomState(0)
    kinds = np.arange(60) % 3
    stripes = np.zeros([60, 8, 8], np.float32)
    for image, kind in zip(stripes, kinds, strict=True):
        place = random.randint(8)
        if kind == 0:
            image[place] = 1
        elif kind == 1:
            image[:, place] = 1
        else:
            image[np.arange(8), (np.arange(8) + place) % 8] = 1
    n_input, n_steps, n_hidden, n_classes = 8, 8, 16, 3
    x = tf.placeholder("float", [None, n_steps, n_input])
    y = tf.placeholder("float", [None, n_classes])
    weights = {"out": tf.Variable(tf.random_normal([n_hidden, n_classes]))}
    biases = {"out": tf.Variable(tf.random_normal([n_classes]))}

    def RNN(x: Any, weights: Any, biases: Any) -> Any:
        x = tf.unstack(x, n_steps, 1)
        lstm_cell = tf.contrib.rnn.BasicLSTMCell(n_hidden, forget_bias=1.0)
        outputs, _states = tf.contrib.rnn.static_rnn(lstm_cell, x, dtype=tf.float32)
        return tf.matmul(outputs[-1], weights["out"]) + biases["out"]

    pred = RNN(x, weights, biases)
    cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=pred, labels=y))
    optimizer = tf.train.AdamOptimizer(learning_rate=0.02).minimize(cost)
    correct_pred = tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1))
    accuracy = tf.reduce_mean(tf.cast(correct_pred, tf.float32))
    feeds = {x: stripes, y: np.eye(3)[kinds]}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(60):
            sess.run(optimizer, feed_dict=feeds)
        assert sess.run(accuracy, feeds) > 0.9


def test_characters_are_written_one_after_the_other() -> None:
    """A stack with dropout over texts of several lengths, then a sample of a character at a time."""
    tf.set_random_seed(3)
    texts = ["abcabcabc", "bcabca", "cabcabcab", "abcab"]
    longest = max(map(len, texts))
    lengths = np.array([len(text) - 1 for text in texts])
    ids = np.zeros([len(texts), longest], np.int32)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = ["abc".index(letter) for letter in text]
    seq, nxt = tf.placeholder(tf.int32, [None, None]), tf.placeholder(tf.int32, [None, None])
    ends = tf.placeholder(tf.int32, [None])
    keep = tf.placeholder_with_default(1.0, [])
    cell = tf.nn.rnn_cell.MultiRNNCell(
        [
            tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(10), input_keep_prob=keep, output_keep_prob=keep)
            for _ in range(2)
        ]
    )
    start = cell.zero_state(tf.shape(seq)[0], tf.float32)
    outputs, state = tf.nn.dynamic_rnn(cell, tf.one_hot(seq, 3), sequence_length=ends, initial_state=start)
    logits = tf.reshape(outputs, [-1, 10]) @ tf.get_variable("w", [10, 3])
    mask = tf.reshape(tf.sequence_mask(ends, tf.shape(seq)[1], tf.float32), [-1])
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(nxt, [-1]), logits=logits)
    loss = tf.reduce_sum(each * mask) / tf.reduce_sum(mask)
    train = tf.train.AdamOptimizer(0.02).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        feeds = {seq: ids[:, :-1], nxt: ids[:, 1:], ends: lengths, keep: 0.9}
        for _ in range(80):
            sess.run(train, feeds)
        written, memory = [0], None
        for _ in range(8):
            feeds = {seq: [[written[-1]]], ends: [1]}
            if memory is not None:
                feeds.update(zip(start, memory, strict=True))
            scores, memory = sess.run([logits, state], feeds)
            written.append(int(scores[0].argmax()))
    assert "".join("abc"[number] for number in written) == "abcabcabc"


def test_sequences_are_labelled_from_both_sides() -> None:
    """Each item's label is whether the sum of what stands before it is above that of what follows."""
    tf.set_random_seed(4)
    numbers = np.random.RandomState(4).uniform(-1, 1, (60, 6, 1)).astype(np.float32)
    before = np.cumsum(numbers, 1) - numbers
    after = numbers.sum(1, keepdims=True) - before - numbers
    labels = (before > after)[:, :, 0]
    x = tf.placeholder(tf.float32, [None, 6, 1])
    (fw, bw), _ = tf.nn.bidirectional_dynamic_rnn(
        tf.nn.rnn_cell.LSTMCell(8), tf.nn.rnn_cell.LSTMCell(8), x, dtype=tf.float32
    )
    both = tf.reshape(tf.concat([fw, bw], 2), [-1, 16])
    scores = tf.reshape(both @ tf.get_variable("w", [16, 1]), [-1, 6])
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=scores, labels=tf.to_float(labels)))
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    right = tf.reduce_mean(tf.to_float(tf.equal(scores > 0, labels)))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(60):
            sess.run(train, {x: numbers})
        assert sess.run(right, {x: numbers}) > 0.9
