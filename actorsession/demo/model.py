"""The network that the demo trains: two layers, built by the same code wherever it runs.

No device is named here. Under a device block (see ``distributed``) the same code builds the replica of a
worker.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import actorsession as acts
from actorsession.records import dataclass

__all__ = ["LEARNING_RATE", "Model", "build_model"]

PIXELS, HIDDEN, CLASSES = 64, 64, 10
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


def build_model(
    learning_rate: float = LEARNING_RATE,
    wrap: Callable[[acts.train.Optimizer], acts.train.Optimizer] = lambda plain: plain,
) -> Model:
    """Build the network into the default graph.

    Args:
        learning_rate: the learning rate.
        wrap: returns the optimiser to train with, given that of one replica.
    """
    random = np.random.default_rng(SEED)

    def dense(inputs: acts.Tensor, rows: int, columns: int, name: str) -> acts.Tensor:
        first = random.normal(0.0, np.sqrt(2.0 / rows), (rows, columns)).astype(np.float32)
        weights = acts.Variable(first, name=f"{name}/weights")
        bias = acts.Variable(np.zeros(columns, np.float32), name=f"{name}/bias")
        return acts.matmul(inputs, weights) + bias

    images = acts.placeholder(np.float32, (None, PIXELS), name="images")
    labels = acts.placeholder(np.int64, (None,), name="labels")
    hidden = acts.nn.relu(dense(images, PIXELS, HIDDEN, "hidden"))
    logits = dense(hidden, HIDDEN, CLASSES, "digit")

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
