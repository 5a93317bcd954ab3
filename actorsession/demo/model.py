"""The network that the demo trains: two layers, built the same way wherever it is to run.

Nothing here names a device. Under a device block (see ``distributed``) the same code builds the replica
of a worker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.activations import relu
from actorsession.ops.argmax import argmax
from actorsession.ops.cast import cast
from actorsession.ops.comparison import equal
from actorsession.ops.matmul import matmul
from actorsession.ops.nn import sparse_softmax_cross_entropy_with_logits
from actorsession.ops.placeholder import placeholder
from actorsession.ops.reduction import reduce_mean
from actorsession.ops.variables import Variable, global_variables_initializer
from actorsession.train import GradientDescentOptimizer, create_global_step

__all__ = ["Model", "build_model"]

PIXELS, HIDDEN, CLASSES = 64, 64, 10
# Plain gradient descent forgives gradients that are a few steps old, as those of a cluster are.
LEARNING_RATE = 0.3
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
        initialize: gives all variables their first value.
    """

    images: Tensor
    labels: Tensor
    loss: Tensor
    accuracy: Tensor
    train: Operation
    steps_done: Variable
    initialize: Operation


def build_model() -> Model:
    """Builds the network into the default graph."""
    random = np.random.default_rng(SEED)

    def dense(inputs: Tensor, rows: int, columns: int, name: str) -> Tensor:
        first = random.normal(0.0, np.sqrt(2.0 / rows), (rows, columns)).astype(np.float32)
        weights = Variable(first, name=f"{name}/weights")
        bias = Variable(np.zeros(columns, np.float32), name=f"{name}/bias")
        return matmul(inputs, weights) + bias

    images = placeholder(np.float32, (None, PIXELS), name="images")
    labels = placeholder(np.int64, (None,), name="labels")
    hidden = relu(dense(images, PIXELS, HIDDEN, "hidden"))
    logits = dense(hidden, HIDDEN, CLASSES, "digit")

    loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    accuracy = reduce_mean(cast(equal(argmax(logits, axis=1), labels), np.float32))
    steps_done = create_global_step()
    # The gradients become part of the graph, and so does the update that uses them.
    train = GradientDescentOptimizer(LEARNING_RATE).minimize(loss, global_step=steps_done)
    return Model(
        images=images, labels=labels, loss=loss, accuracy=accuracy, train=train,
        steps_done=steps_done, initialize=global_variables_initializer(),
    )  # fmt: skip
