# peer: 1.15: contrib
"""Trains a small tagger with a conditional random field on top, and decodes with it."""

from __future__ import print_function

import numpy as np
import tensorflow as tf

num_examples, num_words, num_features, num_tags = 6, 7, 5, 3
rng = np.random.RandomState(3)
x = rng.rand(num_examples, num_words, num_features).astype(np.float32)
y = (x[:, :, 0] * 3).astype(np.int32)
sequence_lengths = np.array([7, 5, 3, 7, 6, 1], dtype=np.int32)

with tf.Graph().as_default(), tf.Session() as session:
    x_t, y_t = tf.constant(x), tf.constant(y)
    sequence_lengths_t = tf.constant(sequence_lengths)
    weights = tf.get_variable(
        "weights", initializer=tf.constant(rng.randn(num_features, num_tags).astype("f") * 0.1)
    )
    transitions = tf.get_variable("transitions", initializer=tf.zeros([num_tags, num_tags]))
    matricized = tf.reshape(x_t, [-1, num_features])
    unary_scores = tf.reshape(tf.matmul(matricized, weights), [num_examples, num_words, num_tags])
    log_likelihood, transition_params = tf.contrib.crf.crf_log_likelihood(
        unary_scores, y_t, sequence_lengths_t, transitions
    )
    viterbi_sequence, viterbi_score = tf.contrib.crf.crf_decode(
        unary_scores, transition_params, sequence_lengths_t
    )
    loss = tf.reduce_mean(-log_likelihood)
    train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    session.run(tf.global_variables_initializer())
    mask = np.expand_dims(np.arange(num_words), axis=0) < np.expand_dims(sequence_lengths, axis=1)
    total_labels = np.sum(sequence_lengths)
    for i in range(60):
        # A step that reads variables and updates them may read what it has updated.
        tf_viterbi, loss_value = session.run([viterbi_sequence, loss])
        session.run(train_op)
        if i % 20 == 0:
            correct = np.sum((y == tf_viterbi) * mask)
            print(
                "step", i, "loss: %.4f" % loss_value, "correct: %d of %d" % (correct, total_labels)
            )
    scores, transition = session.run([unary_scores, transition_params])
    best, score = tf.contrib.crf.viterbi_decode(scores[0], transition)
    print(best, "%.3f" % score, "%.3f" % session.run(viterbi_score)[0])
    print(transition.round(3).tolist())
    print(
        session.run(
            tf.contrib.crf.crf_log_norm(unary_scores, sequence_lengths_t, transition_params)
        ).round(3)
    )
