"""The network 784-256-10 in numpy: its first weights, a batch, and its gradients."""

from __future__ import annotations

import numpy as np

from .training import Arrays, cross_entropy

__all__ = ["WEIGHTS", "batch", "first_weights", "loss_and_gradients"]

WEIGHTS = ("w1", "b1", "w2", "b2")
_SIZES = {"w1": (784, 256), "b1": (256,), "w2": (256, 10), "b2": (10,)}


def first_weights() -> Arrays:
    """Return the initial weights of the training, as float32."""
    random = np.random.default_rng(1)
    return {name: random.normal(0.0, 0.05, size).astype("f4") for name, size in _SIZES.items()}


def batch(size: int) -> Arrays:
    """Return a batch: ``x`` float32 (size, 784) and ``labels`` int64 (size,)."""
    random = np.random.default_rng(2)
    return {"x": random.random((size, 784), np.float32), "labels": random.integers(0, 10, size)}


def loss_and_gradients(now: Arrays, data: Arrays) -> tuple[float, Arrays]:
    """Return the loss of a batch, and its gradient by each weight."""
    x = data["x"].astype("f8")
    hidden = np.maximum(x @ now["w1"] + now["b1"], 0.0)
    loss, share = cross_entropy(hidden @ now["w2"] + now["b2"], data["labels"])
    back = (share @ now["w2"].T) * (hidden > 0)
    grads = {"w1": x.T @ back, "b1": back.sum(axis=0), "w2": hidden.T @ share, "b2": share.sum(axis=0)}
    return loss, grads
