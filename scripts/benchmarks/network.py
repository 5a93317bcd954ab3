"""The networks of the training rows and their steps; their programs are given the module ``tf``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import bert
from .lstm import UNITS
from .questions import Question

__all__ = ["Network", "build_bert", "build_cnn", "build_lstm", "build_network"]


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


def build_network(tf: Any, question: Question) -> Network:
    """Build the network 784-256-10 into the default graph."""
    weights, x, labels = _inputs(tf, question)
    hidden = tf.nn.relu(tf.matmul(x, weights["w1"]) + weights["b1"])
    logits = tf.matmul(hidden, weights["w2"]) + weights["b2"]
    return _network(tf, question, weights, x, labels, logits)


def build_cnn(tf: Any, question: Question) -> Network:
    """Build a convolutional network into the default graph."""
    weights, x, labels = _inputs(tf, question)
    first = _convolution(tf, x, weights["f1"], weights["b1"])
    second = _convolution(tf, first, weights["f2"], weights["b2"])
    flat = tf.reshape(second, [x.shape[0], 7 * 7 * second.shape[-1]])
    if "w3" in weights:
        flat = tf.nn.relu(tf.matmul(flat, weights["w3"]) + weights["b3"])
    logits = tf.matmul(flat, weights["w"]) + weights["b"]
    return _network(tf, question, weights, x, labels, logits)


def _convolution(tf: Any, x: Any, filters: Any, bias: Any) -> Any:
    """Return a convolution with a rectifier, and a pool that halves height and width."""
    convolved = tf.nn.conv2d(x, filters, strides=[1, 1, 1, 1], padding="SAME")
    active = tf.nn.relu(tf.nn.bias_add(convolved, bias))
    return tf.nn.max_pool(active, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")


def build_lstm(tf: Any, question: Question) -> Network:
    """Build the recurrent network, step by step, of products and elementwise ops into the default graph."""
    weights, x, labels = _inputs(tf, question)
    c = h = tf.zeros([x.shape[1], UNITS])
    for row in tf.unstack(x):
        product = tf.matmul(tf.concat([row, h], 1), weights["kernel"])
        i, j, f, o = tf.split(tf.nn.bias_add(product, weights["bias"]), 4, 1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
    logits = tf.matmul(h, weights["w"]) + weights["b"]
    return _network(tf, question, weights, x, labels, logits)


def build_bert(tf: Any, question: Question) -> Network:
    """Build BERT's encoder into the default graph, of the operations of its ``modeling.py``."""
    weights, x, labels = _inputs(tf, question)
    size, length = (int(n) for n in x.shape)
    words = tf.reshape(tf.gather(weights["words"], tf.reshape(x, [-1])), [size, length, bert.UNITS])
    hidden = tf.reshape(words + weights["places"], [-1, bert.UNITS])
    hidden = _normed(tf, weights, "text", hidden)
    is_word = tf.cast(tf.reshape(tf.not_equal(x, 0), [size, 1, length]), tf.float32)
    visible = tf.ones([size, length, 1]) * is_word
    for layer in range(bert.LAYERS):
        mixed = _dense(tf, weights, f"mix{layer}", _attention(tf, weights, layer, hidden, visible))
        hidden = _normed(tf, weights, f"mixed{layer}", mixed + hidden)
        inner = _gelu(tf, _dense(tf, weights, f"inner{layer}", hidden))
        hidden = _normed(tf, weights, f"layer{layer}", _dense(tf, weights, f"outer{layer}", inner) + hidden)
    first = tf.squeeze(tf.reshape(hidden, [size, length, bert.UNITS])[:, 0:1, :], axis=1)
    logits = _dense(tf, weights, "out", tf.tanh(_dense(tf, weights, "pool", first)))
    return _network(tf, question, weights, x, labels, logits)


def _attention(tf: Any, weights: dict[str, Any], layer: int, x: Any, visible: Any) -> Any:
    """Return the values of words, weighted by how much each head looks at them."""
    size, length, _ = (int(n) for n in visible.shape)
    each = bert.UNITS // bert.HEADS
    q, k, v = (
        tf.transpose(
            tf.reshape(_dense(tf, weights, f"{name}{layer}", x), [size, length, bert.HEADS, each]), [0, 2, 1, 3]
        )
        for name in ("query", "key", "value")
    )
    scores = tf.multiply(tf.matmul(q, k, transpose_b=True), 1 / float(np.sqrt(each)))
    scores += (1.0 - tf.expand_dims(visible, 1)) * bert.MASKED
    mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [0, 2, 1, 3])
    return tf.reshape(mixed, [size * length, bert.UNITS])


def _dense(tf: Any, weights: dict[str, Any], name: str, x: Any) -> Any:
    return tf.nn.bias_add(tf.matmul(x, weights[f"w_{name}"]), weights[f"b_{name}"])


def _normed(tf: Any, weights: dict[str, Any], name: str, x: Any) -> Any:
    mean, variance = tf.nn.moments(x, [1], keepdims=True)
    shift, gain = weights[f"shift_{name}"], weights[f"gain_{name}"]
    return tf.nn.batch_normalization(x, mean, variance, shift, gain, bert.EPSILON)


def _gelu(tf: Any, x: Any) -> Any:
    return x * (0.5 * (1.0 + tf.tanh(float(np.sqrt(2 / np.pi)) * (x + 0.044715 * tf.pow(x, 3)))))


def _inputs(tf: Any, question: Question) -> tuple[dict[str, Any], Any, Any]:
    """Return the variables by name, and the placeholders of a batch and its labels."""
    given = question.given
    weights = {name: tf.Variable(value, name=name) for name, value in given["weights"].items()}
    x = tf.placeholder(given["x"].dtype, given["x"].shape)
    return weights, x, tf.placeholder(tf.int64, given["labels"].shape)


def _network(tf: Any, question: Question, weights: dict[str, Any], x: Any, labels: Any, logits: Any) -> Network:
    """Return the network that minimizes the cross entropy of some logits."""
    given = question.given
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    kind = tf.train.AdamOptimizer if given["adam"] else tf.train.GradientDescentOptimizer
    train = kind(given["rate"]).minimize(loss)
    return Network([train, loss], {x: given["x"], labels: given["labels"]}, weights)
