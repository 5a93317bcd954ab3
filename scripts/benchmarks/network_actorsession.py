"""The networks of the training rows and their steps, as an actorsession program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import actorsession as acts

from .mlp import WEIGHTS
from .questions import Question

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
    weights: dict[str, acts.Variable]


def build_network(question: Question) -> Network:
    """Build the network 784-256-10 into the default graph."""
    given = question.given
    weights = {name: acts.Variable(given["weights"][name], name=name) for name in WEIGHTS}
    size = len(given["labels"])
    x = acts.placeholder(acts.float32, [size, 784])
    labels = acts.placeholder(acts.int64, [size])
    hidden = acts.nn.relu(acts.matmul(x, weights["w1"]) + weights["b1"])
    logits = acts.matmul(hidden, weights["w2"]) + weights["b2"]
    loss = acts.reduce_mean(
        acts.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    kind = acts.train.AdamOptimizer if given["adam"] else acts.train.GradientDescentOptimizer
    train = kind(given["rate"]).minimize(loss)
    return Network([train, loss], {x: given["x"], labels: given["labels"]}, weights)


def build_cnn(question: Question) -> Network:
    """Build the convolutional network into the default graph."""
    given = question.given
    weights = {name: acts.Variable(value, name=name) for name, value in given["weights"].items()}
    size = len(given["labels"])
    x = acts.placeholder(acts.float32, [size, 28, 28, 1])
    labels = acts.placeholder(acts.int64, [size])
    first = _convolution(x, weights["f1"], weights["b1"])
    second = _convolution(first, weights["f2"], weights["b2"])
    flat = acts.reshape(second, [size, 784])
    logits = acts.matmul(flat, weights["w"]) + weights["b"]
    loss = acts.reduce_mean(
        acts.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )
    train = acts.train.GradientDescentOptimizer(given["rate"]).minimize(loss)
    return Network([train, loss], {x: given["x"], labels: given["labels"]}, weights)


def _convolution(x: Any, filters: Any, bias: Any) -> Any:
    """Return a convolution with a rectifier, and a pool that halves height and width."""
    convolved = acts.nn.conv2d(x, filters, strides=[1, 1, 1, 1], padding="SAME")
    active = acts.nn.relu(acts.nn.bias_add(convolved, bias))
    return acts.nn.max_pool(active, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
