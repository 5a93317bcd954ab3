"""Gradients through recurrent networks: against finite differences, against numpy, over steps of training."""

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
            feeds = {x: reals(2, 4, 2, seed=step % 4), start: state}
            state, found, _ = sess.run([end, loss, train], feeds)
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
