# peer: 1.15: tf.nn.rnn_cell needs Keras 2, which TensorFlow 2.21 does not come with
"""Cells with given weights, run by every loop over time, and stacked, wrapped and in both directions."""

import numpy as np
import tensorflow.compat.v1 as tf

rng = np.random.RandomState(1)
X = np.round(rng.normal(size=(2, 4, 3)), 2).astype(np.float32)
LENGTHS = [4, 2]
KERNEL = np.round(rng.normal(size=(5, 8)) * 0.4, 2).astype(np.float32)
GATES = np.round(rng.normal(size=(5, 4)) * 0.4, 2).astype(np.float32)
CANDIDATE = np.round(rng.normal(size=(5, 2)) * 0.4, 2).astype(np.float32)


def shown(values):
    return " ".join("%.4f" % each for each in np.ravel(values))


def main(_):
    cells = tf.nn.rnn_cell
    x = tf.constant(X)
    lstm = cells.LSTMCell(2, initializer=tf.constant_initializer(KERNEL))
    outputs, state = tf.nn.dynamic_rnn(lstm, x, LENGTHS, dtype=tf.float32)
    print(outputs.shape.as_list(), type(state).__name__, [v.name for v in tf.global_variables()])
    with tf.variable_scope("list"):
        steps, last = tf.nn.static_rnn(
            cells.BasicLSTMCell(2, forget_bias=1.0), tf.unstack(x, axis=1), dtype=tf.float32,
            sequence_length=LENGTHS,
        )
    gru = cells.GRUCell(2)
    major, gru_state = tf.nn.dynamic_rnn(
        gru, tf.transpose(x, [1, 0, 2]), dtype=tf.float32, time_major=True, scope="gru"
    )
    both, both_states = tf.nn.bidirectional_dynamic_rnn(
        cells.BasicRNNCell(2), cells.BasicRNNCell(3), x, LENGTHS, dtype=tf.float32
    )
    deep = cells.MultiRNNCell([
        cells.DropoutWrapper(cells.LSTMCell(3), output_keep_prob=1.0),
        cells.ResidualWrapper(cells.GRUCell(3)),
    ])
    stacked, deep_state = tf.nn.dynamic_rnn(deep, x, dtype=tf.float32, scope="deep")
    print([v.op.name for v in tf.global_variables() if v.op.name.startswith("deep")])
    print(stacked.shape.as_list(), type(deep_state).__name__, len(deep_state), deep.output_size)
    print(both[1].shape.as_list(), both_states[0].shape.as_list(), len(steps), len(last))
    print(lstm.state_size, gru.state_size, len(lstm.trainable_variables))
    by_name = {v.op.name: v for v in tf.global_variables()}
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        by_name["list/rnn/basic_lstm_cell/kernel"].load(KERNEL, sess)
        by_name["gru/gru_cell/gates/kernel"].load(GATES, sess)
        by_name["gru/gru_cell/candidate/kernel"].load(CANDIDATE, sess)
        found, end = sess.run([outputs, state])
        print("lstm", shown(found[0]), "|", shown(found[1]))
        print("state", shown(end.c), "|", shown(end.h))
        listed = np.stack(sess.run(steps), 1)
        print("static", np.allclose(listed, found, atol=1e-6), np.allclose(sess.run(last).c, end.c))
        turned, gru_end = sess.run([major, gru_state])
        print("gru", shown(turned[:, 0]), np.array_equal(turned[-1], gru_end))
        ahead, back = sess.run(both)
        ends = sess.run(both_states)
        print("ends", np.allclose(ahead[1, 1], ends[0][1]), np.allclose(back[:, 0], ends[1]))
        print("past the end", float(abs(back[1, 2:]).max()))
    try:
        tf.nn.dynamic_rnn(cells.GRUCell(2), X[0], dtype=tf.float32, scope="flat")
    except Exception as error:
        print(type(error).__name__)
    try:
        tf.nn.dynamic_rnn(cells.GRUCell(2), x, scope="untyped")
    except ValueError as error:
        print(type(error).__name__, "dtype" in str(error))


if __name__ == "__main__":
    tf.app.run()
