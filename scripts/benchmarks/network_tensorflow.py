"""The networks of the training rows and their steps, as a TensorFlow program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .mlp import WEIGHTS
from .questions import Question
from .tensorflow_module import tf

__all__ = ["Network", "build_cnn", "build_network"]


@dataclass(frozen=True)
class Network:
    """The fetches, feeds and variables of a network.

    Attributes:
        step: the fetches of a training step; the second is the loss before it.
        feeds: a batch.
        weights: the variables by name.
    """

    step: list[Any]
    feeds: dict[Any, Any]
    weights: dict[str, Any]


def build_network(question: Question) -> Network:
    """Build the network 784-256-10 into the default graph."""
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


def build_cnn(question: Question) -> Network:
    """Build the convolutional network into the default graph."""
    given = question.given
    weights = {name: tf.Variable(value, name=name) for name, value in given["weights"].items()}
    size = len(given["labels"])
    x = tf.placeholder(tf.float32, [size, 28, 28, 1])
    labels = tf.placeholder(tf.int64, [size])
    first = _convolution(x, weights["f1"], weights["b1"])
    second = _convolution(first, weights["f2"], weights["b2"])
    flat = tf.reshape(second, [size, 784])
    logits = tf.matmul(flat, weights["w"]) + weights["b"]
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    train = tf.train.GradientDescentOptimizer(given["rate"]).minimize(loss)
    return Network([train, loss], {x: given["x"], labels: given["labels"]}, weights)


def _convolution(x: Any, filters: Any, bias: Any) -> Any:
    """Return a convolution with a rectifier, and a pool that halves height and width."""
    convolved = tf.nn.conv2d(x, filters, strides=[1, 1, 1, 1], padding="SAME")
    active = tf.nn.relu(tf.nn.bias_add(convolved, bias))
    return tf.nn.max_pool(active, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
