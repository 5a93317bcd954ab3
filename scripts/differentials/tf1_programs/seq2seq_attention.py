# peer: 1.15: tf.contrib left TensorFlow with 2.0
"""An encoder and a decoder with attention that learn to turn sequences around, then decode greedily and by beams."""

import numpy as np
import tensorflow as tf
from tensorflow.contrib import rnn, seq2seq
from tensorflow.python.layers.core import Dense

PAD, GO, END, WORDS = 0, 1, 2, 7
STEPS, UNITS, BEAMS = 3, 24, 3


def batch(count, rng):
    source = rng.randint(3, WORDS, (count, STEPS))
    target = np.concatenate([source[:, ::-1], np.full((count, 1), END)], 1)
    return source, target


class Model(object):
    def __init__(self):
        self.source = tf.placeholder(tf.int32, [None, STEPS])
        self.target = tf.placeholder(tf.int32, [None, STEPS + 1])
        count = tf.shape(self.source)[0]
        table = tf.get_variable("embedding", [WORDS, 8])
        inputs = tf.nn.embedding_lookup(table, self.source)
        outputs, state = tf.nn.dynamic_rnn(rnn.GRUCell(UNITS), inputs, dtype=tf.float32)
        layer = Dense(WORDS, use_bias=False, name="words")
        go = tf.fill([count, 1], GO)
        read = tf.concat([go, self.target[:, :-1]], 1)
        lengths = tf.fill([count], STEPS + 1)
        helper = seq2seq.TrainingHelper(tf.nn.embedding_lookup(table, read), lengths)
        first = tf.fill([count], GO)
        greedy = seq2seq.GreedyEmbeddingHelper(table, first, END)
        with tf.variable_scope("decoding"):
            cell, start = self.attention(outputs, state, count)
            decoder = seq2seq.BasicDecoder(cell, helper, start, layer)
            made, self.state, self.lengths = seq2seq.dynamic_decode(decoder)
        with tf.variable_scope("decoding", reuse=True):
            cell, start = self.attention(outputs, state, count)
            own = seq2seq.BasicDecoder(cell, greedy, start, layer)
            self.greedy = seq2seq.dynamic_decode(own, maximum_iterations=STEPS + 2)[0].sample_id
        with tf.variable_scope("decoding", reuse=True):
            wide = seq2seq.tile_batch(outputs, BEAMS)
            cell, start = self.attention(wide, seq2seq.tile_batch(state, BEAMS), count * BEAMS)
            search = seq2seq.BeamSearchDecoder(cell, table, first, END, start, BEAMS, layer)
            self.beams = seq2seq.dynamic_decode(search, maximum_iterations=STEPS + 2)[0]
        weights = tf.ones_like(self.target, dtype=tf.float32)
        self.logits = made.rnn_output
        self.loss = seq2seq.sequence_loss(self.logits, self.target, weights)
        self.train = tf.train.AdamOptimizer(0.02).minimize(self.loss)

    def attention(self, memory, state, count):
        mechanism = seq2seq.LuongAttention(UNITS, memory)
        cell = seq2seq.AttentionWrapper(rnn.GRUCell(UNITS), mechanism, attention_layer_size=UNITS)
        return cell, cell.zero_state(count, tf.float32).clone(cell_state=state)


def main(_):
    tf.set_random_seed(1)
    rng = np.random.RandomState(0)
    model = Model()
    for variable in tf.trainable_variables():
        print(variable.op.name, variable.shape.as_list())
    print(model.logits.shape.as_list(), model.beams.predicted_ids.shape.as_list())
    print(type(model.state).__name__, model.state.alignments.shape.as_list())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = []
        for _ in range(150):
            source, target = batch(32, rng)
            feeds = {model.source: source, model.target: target}
            losses.append(sess.run([model.loss, model.train], feeds)[0])
        print("lower", bool(losses[-1] < 0.3 * losses[0]))
        source, target = batch(20, rng)
        ids, beams, shares = sess.run(
            [model.greedy, model.beams.predicted_ids, model.state.alignments],
            {model.source: source, model.target: target},
        )
        right = (ids[:, : STEPS + 1] == target[:, : ids.shape[1]]).mean()
        best = (beams[:, : STEPS + 1, 0] == target[:, : beams.shape[1]]).mean()
        print("greedy", bool(right > 0.9), "beams", bool(best > 0.9), beams.shape[0::2])
        print("shares", bool(np.allclose(shares.sum(1), 1, atol=1e-5)))


if __name__ == "__main__":
    tf.app.run()
