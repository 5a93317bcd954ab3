"""The networks that the demo trains, built by the same code wherever they run.

No device is named here. Under a device block (see ``distributed``) the same code builds the replica of a
worker.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import actorsession as acts
from actorsession.demo.places import NETWORKS
from actorsession.records import dataclass

__all__ = ["LEARNING_RATE", "Model", "build_model"]

SIDE, PIXELS, HIDDEN, CLASSES = 8, 64, 64, 10
# Plain gradient descent tolerates gradients that are a few steps old, as those of a cluster are.
LEARNING_RATE = 0.2
SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The nodes of the graph that are fed and fetched.

    Attributes:
        images: placeholder, float32 of shape (N, 64).
        labels: placeholder, int64 of shape (N,).
        loss: mean cross-entropy of a batch.
        accuracy: share of a batch that is recognised.
        train: runs one training step.
        steps_done: the variable that counts training steps.
        initialize: assigns the initial values of all variables.
    """

    images: acts.Tensor
    labels: acts.Tensor
    loss: acts.Tensor
    accuracy: acts.Tensor
    train: acts.Operation
    steps_done: acts.Variable
    initialize: acts.Operation


def _weights(random: np.random.Generator, shape: tuple[int, ...], name: str) -> tuple[acts.Variable, acts.Variable]:
    """Return the weights and biases of a layer before its first step, after He et al. (2015)."""
    first = random.normal(0.0, np.sqrt(2.0 / np.prod(shape[:-1])), shape).astype(np.float32)
    weights = acts.Variable(first, name=f"{name}/weights")
    return weights, acts.Variable(np.zeros(shape[-1], np.float32), name=f"{name}/bias")


def _dense(inputs: acts.Tensor, random: np.random.Generator, rows: int, columns: int, name: str) -> acts.Tensor:
    weights, bias = _weights(random, (rows, columns), name)
    return acts.matmul(inputs, weights) + bias


def _dense_logits(images: acts.Tensor, random: np.random.Generator) -> acts.Tensor:
    """Return the digits' logits by one hidden layer."""
    hidden = acts.nn.relu(_dense(images, random, PIXELS, HIDDEN, "hidden"))
    return _dense(hidden, random, HIDDEN, CLASSES, "digit")


def _convolutional_logits(images: acts.Tensor, random: np.random.Generator) -> acts.Tensor:
    """Return the digits' logits by two convolutions, each with a pool of 2 x 2."""
    layer, channels = acts.reshape(images, [-1, SIDE, SIDE, 1]), 1
    for name, filters in (("strokes", 16), ("shapes", 32)):
        weights, bias = _weights(random, (3, 3, channels, filters), name)
        layer, channels = acts.nn.relu(acts.nn.conv2d(layer, weights, 1, "SAME") + bias), filters
        layer = acts.nn.max_pool2d(layer, 2, 2, "VALID")
    size = (SIDE // 4) ** 2 * channels
    return _dense(acts.reshape(layer, [-1, size]), random, size, CLASSES, "digit")


_LOGITS = dict(zip(NETWORKS, (_dense_logits, _convolutional_logits), strict=True))


def build_model(
    learning_rate: float = LEARNING_RATE,
    wrap: Callable[[acts.train.Optimizer], acts.train.Optimizer] = lambda plain: plain,
    network: str = NETWORKS[0],
) -> Model:
    """Build the network into the default graph.

    Args:
        learning_rate: the learning rate.
        wrap: returns the optimiser to train with, given that of one replica.
        network: one of ``NETWORKS``.
    """
    images = acts.placeholder(np.float32, (None, PIXELS), name="images")
    labels = acts.placeholder(np.int64, (None,), name="labels")
    logits = _LOGITS[network](images, np.random.default_rng(SEED))

    loss = acts.reduce_mean(acts.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    accuracy = acts.reduce_mean(acts.cast(acts.equal(acts.argmax(logits, axis=1), labels), np.float32))
    steps_done = acts.train.create_global_step()
    # The gradients become part of the graph, and so does the update that uses them.
    optimizer = wrap(acts.train.GradientDescentOptimizer(learning_rate))
    train = optimizer.minimize(loss, global_step=steps_done)
    return Model(
        images=images,
        labels=labels,
        loss=loss,
        accuracy=accuracy,
        train=train,
        steps_done=steps_done,
        initialize=acts.global_variables_initializer(),
    )
