"""``mnist`` of the tutorials: a network of two hidden layers for handwritten digits."""

from __future__ import annotations

import math
from typing import Any

from actorsession import ops
from actorsession.compat.v1 import nn, train
from actorsession.graph.dtypes import int32, int64
from actorsession.graph.graph import name_scope
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.neural import losses

__all__ = ["IMAGE_PIXELS", "IMAGE_SIZE", "NUM_CLASSES", "evaluation", "inference", "loss", "training"]

NUM_CLASSES, IMAGE_SIZE = 10, 28
IMAGE_PIXELS = IMAGE_SIZE**2


def inference(images: Any, hidden1_units: int, hidden2_units: int) -> Tensor:
    """Return the scores of the ten digits for each image.

    Args:
        images: a row of pixels for each image.
        hidden1_units: the size of the first hidden layer.
        hidden2_units: that of the second one.
    """
    sizes = (IMAGE_PIXELS, hidden1_units, hidden2_units, NUM_CLASSES)
    value = images
    for place, scope in enumerate(("hidden1", "hidden2", "softmax_linear")):
        with name_scope(scope):
            width = 1.0 / math.sqrt(float(sizes[place]))
            shape = [sizes[place], sizes[place + 1]]
            weights = ops.Variable(ops.truncated_normal(shape, stddev=width), name="weights")
            biases = ops.Variable(ops.zeros([sizes[place + 1]]), name="biases")
            value = ops.add(ops.matmul(value, weights), biases)
            value = value if scope == "softmax_linear" else nn.relu(value)
    result: Tensor = value
    return result


def loss(logits: Any, labels: Any) -> Tensor:
    """Return the mean cross entropy of scores and digits."""
    return losses.sparse_softmax_cross_entropy(labels=ops.cast(labels, int64), logits=logits)


def training(loss: Any, learning_rate: float) -> Operation:
    """Return an operation that does a step of gradient descent and counts it."""
    step = ops.Variable(0, name="global_step", trainable=False)
    return train.GradientDescentOptimizer(learning_rate).minimize(loss, global_step=step)


def evaluation(logits: Any, labels: Any) -> Tensor:
    """Return for how many images the highest score is that of their digit."""
    right = nn.in_top_k(logits, labels, 1)
    return ops.reduce_sum(ops.cast(right, int32))
