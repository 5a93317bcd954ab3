"""Recurrent programs as tutorials for TensorFlow 1 have them, and the gradients that train them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from tests.compat.recurrent import names, reals, sigmoid, value, wave, waves
from tests.rows import for_each

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
        inputs = tf.nn.embedding_lookup(tf.get_variable("embedding", [words, size]), self.input)
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
    x, y = tf.placeholder("float", [None, n_steps, n_input]), tf.placeholder("float", [None, n_classes])
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
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1)), tf.float32))
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
    scores = tf.reshape(tf.reshape(tf.concat([fw, bw], 2), [-1, 16]) @ tf.get_variable("w", [16, 1]), [-1, 6])
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=scores, labels=tf.to_float(labels)))
    train = tf.train.AdamOptimizer(0.05).minimize(loss)
    right = tf.reduce_mean(tf.to_float(tf.equal(scores > 0, labels)))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(60):
            sess.run(train, {x: numbers})
        assert sess.run(right, {x: numbers}) > 0.9


cells = tf.nn.rnn_cell


DATA = Path(__file__).parent / "data"


CELLS: dict[str, Any] = {
    "basic": lambda: cells.BasicRNNCell(2),
    "gru": lambda: cells.GRUCell(2),
    "lstm": lambda: cells.BasicLSTMCell(2),
    "lstm-all": lambda: cells.LSTMCell(3, use_peepholes=True, num_proj=2),
    "stack": lambda: cells.MultiRNNCell([cells.GRUCell(3), cells.ResidualWrapper(cells.GRUCell(3))]),
}


@for_each("name", CELLS)
@for_each("lengths", [None, [1, 3]], ids=["whole", "lengths"])
def test_slopes_are_those_of_finite_differences(name: str, lengths: Any) -> None:
    x = tf.placeholder(tf.float64, [None, None, 2])
    with tf.variable_scope("", initializer=waves):
        outputs, state = tf.nn.dynamic_rnn(CELLS[name](), x, lengths, dtype=tf.float64)
    leaves = list(_leaves(state))
    loss = tf.reduce_sum(tf.sin(outputs)) + tf.add_n([tf.reduce_sum(leaf**2) for leaf in leaves])
    weights = tf.trainable_variables()
    slopes = tf.gradients(loss, [x, *weights])
    fed = reals(2, 3, 2).astype(np.float64)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found, start = sess.run([slopes, weights], {x: fed})
        for number, (slope, at) in enumerate(zip(found, [fed, *start], strict=True)):
            way = wave(*at.shape)
            sides = []
            for distance in (1e-5, -1e-5):
                if number == 0:
                    sides.append(sess.run(loss, {x: at + distance * way}))
                else:
                    weights[number - 1].load(at + distance * way, sess)
                    sides.append(sess.run(loss, {x: fed}))
                    weights[number - 1].load(at, sess)
            assert (sides[0] - sides[1]) / 2e-5 == pytest.approx(np.sum(slope * way), rel=1e-6)


def _leaves(state: Any) -> Iterator[Any]:
    if isinstance(state, tuple):
        for part in state:
            yield from _leaves(part)
    else:
        yield state


class Network:
    """An LSTM and the derivatives of its last output, by hand."""

    def __init__(self, depth: int, units: int) -> None:
        self.kernel, self.bias = wave(depth + units, 4 * units), np.zeros(4 * units)
        self.units = units

    def train(self, x: Any, y: Any, rate: float) -> float:
        """One step down the mean square error; the error before it."""
        trace = []
        c = h = np.zeros([len(x), self.units])
        for time in range(x.shape[1]):
            seen = np.concatenate([x[:, time], h], 1)
            i, j, f, o = np.split(seen @ self.kernel + self.bias, 4, 1)
            i, j, f, o = sigmoid(i), np.tanh(j), sigmoid(f + 1), sigmoid(o)
            before, c = c, f * c + i * j
            h = o * np.tanh(c)
            trace.append((seen, i, j, f, o, before, c))
        loss = float(np.mean((h - y) ** 2))
        dh, dc = 2 * (h - y) / h.size, np.zeros_like(h)
        dkernel, dbias = np.zeros_like(self.kernel), np.zeros_like(self.bias)
        for seen, i, j, f, o, before, c in reversed(trace):
            squashed = np.tanh(c)
            dc = dc + dh * o * (1 - squashed**2)
            dgates = np.concatenate(
                [dc * j * i * (1 - i), dc * i * (1 - j**2), dc * before * f * (1 - f), dh * squashed * o * (1 - o)], 1
            )
            dkernel += seen.T @ dgates
            dbias += dgates.sum(0)
            dh, dc = (dgates @ self.kernel.T)[:, -self.units :], dc * f
        self.kernel, self.bias = self.kernel - rate * dkernel, self.bias - rate * dbias
        return loss


@pytest.mark.parametrize("how", ["dynamic", "static"])
def test_training_goes_the_way_that_it_goes_in_numpy(how: str) -> None:
    xs, ys = reals(4, 6, 2), reals(4, 3, seed=1) / 2
    x, y = tf.placeholder(tf.float64, [None, 6, 2]), tf.placeholder(tf.float64, [None, 3])
    cell = cells.BasicLSTMCell(3)
    with tf.variable_scope("", initializer=waves):
        if how == "dynamic":
            _, state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float64)
        else:
            _, state = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float64)
    loss = tf.reduce_mean(tf.square(state.h - y))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    like = Network(2, 3)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = [sess.run([loss, train], {x: xs, y: ys})[0] for _ in range(30)]
        np.testing.assert_allclose(losses, [like.train(xs, ys, 0.5) for _ in range(30)], rtol=1e-9)
        kernel, bias = sess.run(cell.trainable_variables)
    np.testing.assert_allclose(kernel, like.kernel, rtol=1e-8)
    np.testing.assert_allclose(bias, like.bias, rtol=1e-8, atol=1e-12)
    assert losses[-1] < 0.7 * losses[0]


def test_a_network_can_be_trained_through_in_pieces_with_its_state() -> None:
    cell = cells.BasicLSTMCell(3)
    x = tf.placeholder(tf.float32, [2, 4, 2])
    start = cell.zero_state(2, tf.float32)
    outputs, end = tf.nn.dynamic_rnn(cell, x, initial_state=start)
    train = tf.train.AdamOptimizer(0.05).minimize(tf.reduce_mean(tf.square(outputs - 0.5)))
    loss = tf.reduce_mean(tf.square(outputs - 0.5))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        state = sess.run(start)
        losses = []
        for step in range(40):
            state, found, _ = sess.run([end, loss, train], {x: reals(2, 4, 2, seed=step % 4), start: state})
            losses.append(found)
    assert losses[-1] < losses[0] / 4


def test_a_network_is_saved_and_restored_under_its_names(tmp_path: Path) -> None:
    def build() -> Any:
        cell = cells.MultiRNNCell([cells.GRUCell(3), cells.LSTMCell(2)])
        return tf.nn.dynamic_rnn(cell, tf.constant(reals(2, 3, 2)), dtype=tf.float32)[0]

    tf.set_random_seed(1)
    outputs, saver = build(), tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run(outputs)
        path = str(saver.save(sess, str(tmp_path / "model")))
    saved = dict(tf.train.list_variables(path))
    assert saved["rnn/multi_rnn_cell/cell_0/gru_cell/gates/kernel"] == [5, 6]
    assert saved["rnn/multi_rnn_cell/cell_1/lstm_cell/bias"] == [8]
    with tf.Graph().as_default(), tf.Session() as sess:
        again = build()
        assert sorted(saved) == sorted(names())
        tf.train.Saver().restore(sess, path)
        assert (sess.run(again) == before).all()


def test_a_checkpoint_of_tensorflow_is_restored_and_gives_what_it_gave_there() -> None:
    known = np.load(DATA / "network.npz")
    x, lengths = tf.placeholder(tf.float32, [None, None, 3]), tf.placeholder(tf.int32, [None])
    stack = cells.MultiRNNCell(
        [cells.LSTMCell(4, use_peepholes=True, num_proj=3), cells.DropoutWrapper(cells.GRUCell(3))]
    )
    with tf.variable_scope("model"):
        one_way, state = tf.nn.dynamic_rnn(stack, x, lengths, dtype=tf.float32)
        (forward, back), _ = tf.nn.bidirectional_dynamic_rnn(
            cells.BasicLSTMCell(2), cells.BasicRNNCell(2), one_way, lengths, dtype=tf.float32
        )
    saved = dict(tf.train.list_variables(str(DATA / "network")))
    assert saved == {v.op.name: v.shape.as_list() for v in tf.global_variables()}
    with tf.Session() as sess:
        tf.train.Saver().restore(sess, str(DATA / "network"))
        fetches = {"one_way": one_way, "memory": state[0].c, "forward": forward, "back": back}
        found = sess.run(fetches, {x: known["x"], lengths: known["lengths"]})
    for name, each in found.items():
        np.testing.assert_allclose(each, known[name], rtol=1e-5, atol=1e-6)


def test_on_a_worker_only_the_variables_are_on_the_server() -> None:
    with tf.device(tf.train.replica_device_setter(1)):
        outputs, _ = tf.nn.dynamic_rnn(cells.GRUCell(3), tf.zeros([2, 3, 2]), dtype=tf.float32)
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(outputs))
    graph = tf.get_default_graph()
    loops = [op for op in graph.get_operations() if op.type == "While"]
    assert {op.device for op in loops} == {"/job:worker"}
    assert len(loops) == 2
    assert {v.device for v in tf.trainable_variables()} == {"/job:ps/task:0"}
    # A loop runs where the variables are that it touches, so it touches none.
    assert all(t.dtype != tf.resource for op in loops for t in op.inputs)


def test_large_slopes_are_clipped_and_learning_goes_on() -> None:
    x = tf.constant(reals(4, 8, 2))
    outputs, _ = tf.nn.dynamic_rnn(cells.GRUCell(3), x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(outputs - 0.3))
    weights = tf.trainable_variables()
    slopes, norm = tf.clip_by_global_norm(tf.gradients(loss, weights), 1e-3)
    step = tf.train.GradientDescentOptimizer(1.0).apply_gradients(zip(slopes, weights, strict=True))
    lengths = tf.global_norm(slopes)
    with tf.control_dependencies([step]):
        after = tf.identity(lengths)
    found = value([norm, after])
    assert found[0] > 1e-3
    assert found[1] == pytest.approx(1e-3, rel=1e-4)
