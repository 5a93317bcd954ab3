"""The network 784-256-10 and its training step, as a TensorFlow program writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .mlp import WEIGHTS
from .questions import Question
from .tensorflow_module import tf

__all__ = ["Network", "build_network"]


@dataclass(frozen=True)
class Network:
    """What is run.

    Attributes:
        step: fetches of a training step; the second is the loss before it.
        feeds: a batch.
        weights: the variables by name.
    """

    step: list[Any]
    feeds: dict[Any, Any]
    weights: dict[str, Any]


def build_network(question: Question) -> Network:
    """Builds it into the default graph."""
    given = question.given
    weights = {name: tf.Variable(given["weights"][name], name=name) for name in WEIGHTS}
    size = len(given["labels"])
    x = tf.placeholder(tf.float32, [size, 784])
    labels = tf.placeholder(tf.int64, [size])
    hidden = tf.nn.relu(tf.matmul(x, weights["w1"]) + weights["b1"])
    logits = tf.matmul(hidden, weights["w2"]) + weights["b2"]
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    kind = tf.train.AdamOptimizer if given["adam"] else tf.train.GradientDescentOptimizer
    train = kind(given["rate"]).minimize(loss)
    return Network([train, loss], {x: given["x"], labels: given["labels"]}, weights)
