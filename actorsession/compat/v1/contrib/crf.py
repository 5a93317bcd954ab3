"""``tf.contrib.crf``: linear-chain conditional random fields.

The score of a sequence of tags is the sum of its unary scores (``inputs``, of shape ``[batch, time, tags]``)
and of the scores of its transitions (``[tags, tags]``); see Lafferty, McCallum and Pereira (2001). The
normaliser and the best sequence are computed by one scan over time each; steps behind the length of a
sequence change nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.compat import v1 as tf

__all__ = [
    "crf_binary_score",
    "crf_decode",
    "crf_log_likelihood",
    "crf_log_norm",
    "crf_sequence_score",
    "crf_unary_score",
    "viterbi_decode",
]


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Any:
    """Return the sum of the unary scores of each sequence of tags.

    Args:
        tag_indices: the tags, ``[batch, time]``.
        sequence_lengths: the length of each sequence, ``[batch]``.
        inputs: the unary scores, ``[batch, time, tags]``.

    Returns:
        A vector ``[batch]``.
    """
    inputs = tf.convert_to_tensor(inputs)
    scores = tf.reduce_sum(inputs * tf.one_hot(tag_indices, _count(inputs), dtype=inputs.dtype), 2)
    return tf.reduce_sum(scores * _mask(sequence_lengths, inputs), 1)


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """Return the sum of the scores of the transitions of each sequence of tags.

    Args:
        tag_indices: the tags, ``[batch, time]``.
        sequence_lengths: the length of each sequence, ``[batch]``.
        transition_params: the scores, ``[tags, tags]``, from a row to a column.

    Returns:
        A vector ``[batch]``.
    """
    tags = tf.convert_to_tensor(tag_indices)
    scores = tf.convert_to_tensor(transition_params)
    steps = tf.gather_nd(scores, tf.stack([tags[:, :-1], tags[:, 1:]], axis=2))
    lengths = tf.maximum(tf.convert_to_tensor(sequence_lengths) - 1, 0)
    mask = tf.sequence_mask(lengths, tf.shape(steps)[1], dtype=scores.dtype)
    return tf.reduce_sum(steps * mask, 1)


def crf_sequence_score(inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """Return the unnormalised score of each sequence of tags; see the functions it adds."""
    return crf_unary_score(tag_indices, sequence_lengths, inputs) + crf_binary_score(
        tag_indices, sequence_lengths, transition_params
    )


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """Return the logarithm of the sum of the exponentials of the scores of all sequences of tags.

    Args:
        inputs: the unary scores, ``[batch, time, tags]``.
        sequence_lengths: the length of each sequence, ``[batch]``; 0 gives 0.
        transition_params: the scores of transitions, ``[tags, tags]``.

    Returns:
        A vector ``[batch]``.
    """
    inputs = tf.convert_to_tensor(inputs)
    scores = tf.expand_dims(tf.convert_to_tensor(transition_params), 0)

    def step(alphas: Any, step_inputs: Any) -> Any:
        unary, inside = step_inputs
        moved = unary + tf.reduce_logsumexp(tf.expand_dims(alphas, 2) + scores, 1)
        return tf.where(inside, moved, alphas)

    alphas = _over_time(step, inputs, sequence_lengths, inputs[:, 0])
    norms = tf.reduce_logsumexp(alphas, 1)
    return tf.where(tf.convert_to_tensor(sequence_lengths) > 0, norms, tf.zeros_like(norms))


def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Any, Any]:
    """Return the log-likelihood of each sequence of tags, and the transition scores.

    Args:
        inputs: the unary scores, ``[batch, time, tags]``.
        tag_indices: the tags, ``[batch, time]``.
        sequence_lengths: the length of each sequence, ``[batch]``.
        transition_params: the scores of transitions; a new variable ``transitions`` if omitted.

    Returns:
        A vector ``[batch]``, and the scores.
    """
    inputs = tf.convert_to_tensor(inputs)
    count = inputs.shape.as_list()[2]
    if transition_params is None:
        transition_params = tf.get_variable("transitions", [count, count])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Any, Any]:
    """Return the best sequence of tags of each member of a batch, and its score.

    Args:
        potentials: the unary scores, ``[batch, time, tags]``.
        transition_params: the scores of transitions, ``[tags, tags]``.
        sequence_length: the length of each sequence, ``[batch]``.

    Returns:
        Tags ``[batch, time]``, int32, 0 behind the length; scores ``[batch]``.
    """
    unary = tf.convert_to_tensor(potentials)
    scores = tf.expand_dims(tf.convert_to_tensor(transition_params), 0)
    inside = _inside(sequence_length, unary)
    stay = tf.expand_dims(tf.range(_count(unary)), 0)

    def forward(carried: Any, step_inputs: Any) -> Any:
        best, _ = carried
        now, alive = step_inputs
        sums = tf.expand_dims(best, 2) + scores
        former = tf.where(alive, tf.argmax(sums, 1, output_type=tf.int32), stay + tf.zeros_like(carried[1]))
        return tf.where(alive, now + tf.reduce_max(sums, 1), best), former

    first = tf.zeros_like(unary[:, 0], dtype=tf.int32)
    later = tf.transpose(unary, [1, 0, 2])[1:], _rows(inside, unary)
    bests, formers = tf.scan(forward, later, (unary[:, 0], first))
    last = tf.concat([tf.expand_dims(unary[:, 0], 0), bests], 0)[-1]
    end = tf.argmax(last, 1, output_type=tf.int32)

    def backward(tag: Any, former: Any) -> Any:
        return tf.reduce_sum(former * tf.one_hot(tag, _count(unary), dtype=tf.int32), 1)

    before = tf.reverse(tf.scan(backward, tf.reverse(formers, [0]), end), [0])
    tags = tf.transpose(tf.concat([before, tf.expand_dims(end, 0)], 0))
    mask = tf.sequence_mask(sequence_length, tf.shape(unary)[1], dtype=tf.int32)
    return tags * mask, tf.reduce_max(last, 1)


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[int], Any]:
    """Return the best sequence of tags and its score, with numpy and without a graph.

    Args:
        score: the unary scores, an array ``[time, tags]``.
        transition_params: the scores of transitions, an array ``[tags, tags]``.
    """
    best, formers = score[0], []
    for row in score[1:]:
        sums = np.expand_dims(best, 1) + transition_params
        formers.append(np.argmax(sums, 0))
        best = row + np.max(sums, 0)
    tags = [int(np.argmax(best))]
    for former in reversed(formers):
        tags.append(int(former[tags[-1]]))
    return tags[::-1], np.max(best)


def _count(unary: Any) -> Any:
    known = unary.shape.as_list()[2]
    return tf.shape(unary)[2] if known is None else known


def _mask(lengths: Any, unary: Any) -> Any:
    return tf.sequence_mask(lengths, tf.shape(unary)[1], dtype=unary.dtype)


def _inside(lengths: Any, unary: Any) -> Any:
    """Whether each step after the first is within its sequence, ``[time - 1, batch]``."""
    return tf.transpose(tf.sequence_mask(lengths, tf.shape(unary)[1]))[1:]


def _rows(inside: Any, unary: Any) -> Any:
    """The same for each tag, as ``where`` wants it: ``[time - 1, batch, tags]``."""
    return tf.tile(tf.expand_dims(inside, 2), [1, 1, _count(unary)])


def _over_time(step: Any, unary: Any, lengths: Any, first: Any) -> Any:
    later = tf.transpose(unary, [1, 0, 2])[1:], _rows(_inside(lengths, unary), unary)
    return tf.foldl(step, later, first)
