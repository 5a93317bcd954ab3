# peer: 1.15: tf.contrib left TensorFlow with 2.0
"""Decoders of contrib.seq2seq with weights that depend on their names alone: attention, greedy and beam search."""

import numpy as np
import tensorflow as tf

S, R = tf.contrib.seq2seq, tf.contrib.rnn
rng = np.random.RandomState(3)
X = rng.normal(size=(2, 4, 3)).astype(np.float32)
MEMORY = rng.normal(size=(2, 5, 6)).astype(np.float32)
TABLE = rng.normal(size=(7, 3)).astype(np.float32)
BEAMS = 3


def fill(sess):
    for variable in tf.global_variables():
        shape = variable.shape.as_list()
        start = sum(map(ord, variable.op.name)) % 17
        values = np.sin(np.arange(start, start + np.prod(shape)) * 1.3) * 0.8
        variable.load(values.reshape(shape).astype(np.float32), sess)


def attended(make, **settings):
    def build():
        cell = S.AttentionWrapper(R.LSTMCell(4), make(), **settings)
        helper = S.TrainingHelper(X, [4, 2])
        decoder = S.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
        outputs, state, lengths = S.dynamic_decode(decoder, impute_finished=True)
        return [outputs.rnn_output, state.alignments, state.cell_state.h, lengths]
    return build


def searched(penalty, attention):
    def build():
        cell = R.GRUCell(4)
        if attention:
            memory = S.tile_batch(tf.constant(MEMORY), BEAMS)
            lengths = S.tile_batch(tf.constant([5, 3]), BEAMS)
            mechanism = S.LuongAttention(4, memory, lengths)
            cell = S.AttentionWrapper(cell, mechanism, attention_layer_size=4)
        decoder = S.BeamSearchDecoder(
            cell, tf.constant(TABLE), [0, 1], 2, cell.zero_state(2 * BEAMS, tf.float32), BEAMS,
            tf.layers.Dense(7, name="out"), length_penalty_weight=penalty,
        )
        outputs, state, lengths = S.dynamic_decode(decoder, maximum_iterations=6)
        kept = outputs.beam_search_decoder_output
        return [outputs.predicted_ids, kept.parent_ids, kept.scores, state.lengths, lengths]
    return build


def greedy():
    cell = R.GRUCell(4)
    helper = S.GreedyEmbeddingHelper(tf.constant(TABLE), [0, 1], 2)
    layer = tf.layers.Dense(7, use_bias=False)
    decoder = S.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32), layer)
    outputs, state, lengths = S.dynamic_decode(decoder, True, maximum_iterations=6)
    return [outputs.sample_id, outputs.rnn_output, state, lengths]


def scheduled(share):
    def build():
        cell = R.GRUCell(4)
        helper = S.ScheduledOutputTrainingHelper(X, [4, 3], share, next_inputs_fn=lambda y: y[:, :3])
        decoder = S.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
        return [S.dynamic_decode(decoder)[0].rnn_output]
    return build


def fused():
    cell = R.LSTMBlockFusedCell(4)
    outputs, state = cell(tf.constant(X), dtype=tf.float32, sequence_length=[2, 2, 1, 2])
    return [outputs, state[0]]


def main(_):
    cases = [
        ("luong", attended(lambda: S.LuongAttention(4, MEMORY, [5, 3]), attention_layer_size=3)),
        ("bahdanau", attended(lambda: S.BahdanauAttention(5, MEMORY, [5, 3], normalize=True))),
        ("greedy", greedy), ("beams", searched(0.0, False)), ("penalised", searched(1.0, False)),
        ("attended", searched(0.5, True)), ("truth", scheduled(0.0)), ("own", scheduled(1.0)),
        ("fused", fused),
    ]
    for name, build in cases:
        with tf.Graph().as_default(), tf.Session() as sess:
            fetches = build()
            print(name, sorted(v.op.name for v in tf.global_variables()))
            fill(sess)
            for value in sess.run(fetches):
                print(value.shape, " ".join("%.4f" % each for each in np.ravel(value)))


if __name__ == "__main__":
    tf.app.run()
