# peer: 1.15: tf.contrib.rnn and tf.contrib.seq2seq, which later versions do not have
"""Rarer cells over time, and attention that never goes back."""

import numpy as np
import tensorflow as tf

rnn, seq2seq = tf.contrib.rnn, tf.contrib.seq2seq
inputs = np.sin(np.arange(48)).reshape(2, 4, 6).astype(np.float32)


def weights(shape, dtype=None, partition_info=None):
    count = int(np.prod(shape))
    return tf.constant(np.cos(np.arange(count) * 1.3 + count).reshape(shape) * 0.5, tf.float32)


def show(label, cell, values=inputs, **settings):
    with tf.variable_scope(label, initializer=weights):
        outputs, state = tf.nn.dynamic_rnn(cell, values, dtype=tf.float32, **settings)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = sess.run(outputs)
    print(label, outputs.shape.as_list(), "%.2f %.2f" % (found.sum(), np.abs(found).sum()))
    for variable in tf.trainable_variables(label):
        print("  ", variable.name, variable.shape.as_list())
    tf.reset_default_graph()


show("nas", rnn.NASCell(3, use_bias=True), sequence_length=[4, 2])
show("coupled", rnn.CoupledInputForgetGateLSTMCell(3, use_peepholes=True, layer_norm=True))
show("simple", rnn.SRUCell(3))
show("crossing", rnn.IntersectionRNNCell(6))
show("groups", rnn.GLSTMCell(4, number_of_groups=2))
show("grid", rnn.GridLSTMCell(2, feature_size=2, frequency_skip=2, num_frequency_blocks=[3]))
show("stacked", rnn.MultiRNNCell([rnn.HighwayWrapper(rnn.UGRNNCell(6)), rnn.ResidualWrapper(rnn.NASCell(6))]))

memory = tf.constant(np.cos(np.arange(30)).reshape(2, 5, 3), tf.float32)
with tf.variable_scope("attending", initializer=weights):
    attention = seq2seq.BahdanauMonotonicAttention(4, memory, [5, 3], normalize=True, score_bias_init=-1.0)
    cell = seq2seq.AttentionWrapper(rnn.GRUCell(4), attention, alignment_history=True)
    outputs, state = tf.nn.dynamic_rnn(cell, inputs, dtype=tf.float32)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    print(np.round(sess.run(state.alignments).astype(np.float64), 3).tolist())
    print(sess.run(state.alignment_history.stack()).shape)
