"""Training in numpy, in double precision: the reference results of the training rows.

``mlp``, ``cnn`` and ``lstm`` have the networks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Arrays", "cross_entropy", "trained"]

Arrays = dict[str, Any]


def trained(
    loss_and_gradients: Callable[[Arrays, Arrays], tuple[float, Arrays]],
    weights: Arrays,
    data: Arrays,
    rate: float,
    steps: int,
    *,
    adam: bool,
) -> list[Any]:
    """Return the loss before each of some steps of gradient descent or Adam, and the weights after them."""
    now = {name: value.astype("f8") for name, value in weights.items()}
    m, v = ({name: np.zeros_like(value) for name, value in now.items()} for _ in range(2))
    losses = []
    for step in range(1, steps + 1):
        loss, grads = loss_and_gradients(now, data)
        losses.append(loss)
        for name, grad in grads.items():
            if adam:
                m[name] += 0.1 * (grad - m[name])
                v[name] += 0.001 * (grad**2 - v[name])
                corrected = rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                now[name] = now[name] - corrected * m[name] / (np.sqrt(v[name]) + 1e-8)
            else:
                now[name] = now[name] - rate * grad
    return [*losses, *now.values()]


def cross_entropy(logits: Any, labels: Any) -> tuple[float, Any]:
    """Return the mean cross entropy of a softmax, and its gradient by the logits."""
    rows = np.arange(len(labels))
    share = np.exp(logits - logits.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    loss = float(-np.log(share[rows, labels]).mean())
    share[rows, labels] -= 1.0
    share /= len(labels)
    return loss, share
