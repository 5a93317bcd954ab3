"""A recurrent network in numpy: its first weights, a batch, and its gradients.

The network reads 28 rows of 28 numbers with an LSTM cell of 128 units, whose gates come from one product, and
makes ten logits of the last output.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .training import Arrays, cross_entropy

__all__ = ["STEPS", "UNITS", "WEIGHTS", "batch", "first_weights", "loss_and_gradients"]

STEPS, INPUTS, UNITS = 28, 28, 128
WEIGHTS = ("kernel", "bias", "w", "b")
_SIZES = {"kernel": (INPUTS + UNITS, 4 * UNITS), "bias": (4 * UNITS,), "w": (UNITS, 10), "b": (10,)}


def first_weights() -> Arrays:
    """Return the initial weights of the training, as float32."""
    random = np.random.default_rng(9)
    return {name: random.normal(0.0, 0.1, size).astype("f4") for name, size in _SIZES.items()}


def batch(size: int) -> Arrays:
    """Return a batch: ``x`` float32 (28, size, 28), the step first, and ``labels`` int64 (size,)."""
    random = np.random.default_rng(10)
    return {"x": random.random((STEPS, size, INPUTS), np.float32), "labels": random.integers(0, 10, size)}


def loss_and_gradients(now: Arrays, data: Arrays) -> tuple[float, Arrays]:
    """Return the loss of a batch, and its gradient by each weight."""
    x = data["x"].astype("f8")
    c = h = np.zeros((x.shape[1], UNITS))
    kept = []
    for row in x:
        joined = np.concatenate([row, h], axis=1)
        i, j, f, o = np.split(joined @ now["kernel"] + now["bias"], 4, axis=1)
        i, j, f, o, before = _sigmoid(i), np.tanh(j), _sigmoid(f + 1.0), _sigmoid(o), c
        c = c * f + i * j
        h = np.tanh(c) * o
        kept.append((joined, i, j, f, o, before, np.tanh(c)))
    loss, share = cross_entropy(h @ now["w"] + now["b"], data["labels"])
    grads = {name: np.zeros_like(value) for name, value in now.items()}
    grads |= {"w": h.T @ share, "b": share.sum(axis=0)}
    dh, dc = share @ now["w"].T, np.zeros_like(c)
    for joined, i, j, f, o, before, bent in reversed(kept):
        dc = dc + dh * o * (1 - bent**2)
        parts = dc * j * i * (1 - i), dc * i * (1 - j**2), dc * before * f * (1 - f)
        gates = np.concatenate([*parts, dh * bent * o * (1 - o)], axis=1)
        grads["kernel"] += joined.T @ gates
        grads["bias"] += gates.sum(axis=0)
        dh, dc = (gates @ now["kernel"].T)[:, INPUTS:], dc * f
    return loss, grads


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))
