"""``tf.contrib.losses.metric_learning``: losses that put embeddings of one class near each other."""

from __future__ import annotations

from typing import Any

import actorsession.compat.v1 as tf

__all__ = ["contrastive_loss", "npairs_loss", "triplet_semihard_loss"]


def contrastive_loss(labels: Any, embeddings_anchor: Any, embeddings_positive: Any, margin: float = 1.0) -> Any:
    """Return the mean loss of pairs: their squared distance, or how much of a margin is missing.

    Args:
        labels: 1 for pairs of one class, and else 0.
        embeddings_anchor: the first of each pair, a row for each.
        embeddings_positive: the second of each.
        margin: how far apart pairs of two classes are to be.
    """
    difference = tf.convert_to_tensor(embeddings_anchor) - embeddings_positive
    distances = tf.sqrt(tf.reduce_sum(tf.square(difference), 1))
    near = tf.cast(labels, distances.dtype)
    missing = tf.square(tf.maximum(margin - distances, 0.0))
    return tf.reduce_mean(near * tf.square(distances) + (1 - near) * missing, name="contrastive_loss")


def _same(labels: Any) -> Any:
    column = tf.reshape(labels, [-1, 1])
    return tf.equal(column, tf.transpose(column))


def triplet_semihard_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> Any:
    """Return the mean loss of pairs of one class, each with one of another class.

    That is the nearest one that is farther away than the pair is wide, or the farthest one if there is none.

    Args:
        labels: the class of each embedding.
        embeddings: a row for each.
        margin: how much farther away the other one is to be.
    """
    x = tf.convert_to_tensor(embeddings)
    squares = tf.reduce_sum(tf.square(x), 1, keepdims=True)
    distances = squares + tf.transpose(squares) - 2.0 * tf.matmul(x, x, transpose_b=True)
    count = tf.shape(x)[0]
    distances = tf.maximum(distances, 0.0) * (1.0 - tf.eye(count, dtype=x.dtype))
    same = _same(labels)
    largest = tf.reduce_max(distances) + 1.0
    others = tf.where(same, -tf.ones_like(distances), distances)
    farthest = tf.reduce_max(others, 1, keepdims=True)
    # By anchor, positive and negative.
    negatives = tf.tile(others[:, tf.newaxis], [1, count, 1])
    farther = negatives > distances[:, :, tf.newaxis]
    nearest = tf.reduce_min(tf.where(farther, negatives, tf.fill(tf.shape(negatives), largest)), 2)
    any_farther = tf.reduce_any(farther, 2)
    negative = tf.where(any_farther, nearest, tf.tile(tf.maximum(farthest, 0.0), [1, count]))
    pairs = tf.cast(same, x.dtype) - tf.eye(count, dtype=x.dtype)
    losses = tf.maximum((margin + distances - negative) * pairs, 0.0)
    return tf.truediv(tf.reduce_sum(losses), tf.reduce_sum(pairs), name="triplet_semihard_loss")


def npairs_loss(
    labels: Any, embeddings_anchor: Any, embeddings_positive: Any, reg_lambda: float = 0.002, print_losses: bool = False
) -> Any:
    """Return the cross entropy of finding those of one class by their products.

    Args:
        labels: the class of each pair.
        embeddings_anchor: the first of each pair, a row for each.
        embeddings_positive: the second of each.
        reg_lambda: how much lengths weigh.
        print_losses: whether both parts are printed.
    """
    anchors, others = tf.convert_to_tensor(embeddings_anchor), embeddings_positive
    lengths = [tf.reduce_mean(tf.reduce_sum(tf.square(x), 1)) for x in (anchors, others)]
    length = tf.multiply(sum(lengths), 0.25 * reg_lambda, name="l2loss")
    same = tf.cast(_same(labels), anchors.dtype)
    targets = same / tf.reduce_sum(same, 1, keepdims=True)
    products = tf.matmul(anchors, others, transpose_b=True)
    entropy = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=products, labels=targets), name="xentropy")
    if print_losses:
        entropy = tf.Print(entropy, ["cross entropy:", entropy, "l2loss:", length])
    return length + entropy
