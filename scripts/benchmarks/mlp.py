"""The network 784-256-10 in numpy, in double precision: the reference results of training steps."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["WEIGHTS", "batch", "first_weights", "trained"]

Arrays = dict[str, Any]

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


def trained(weights: Arrays, data: Arrays, rate: float, steps: int, *, adam: bool) -> list[Any]:
    """Return the loss before each of some steps, and the weights after them."""
    now = {name: value.astype("f8") for name, value in weights.items()}
    m, v = ({name: np.zeros_like(value) for name, value in now.items()} for _ in range(2))
    losses = []
    for step in range(1, steps + 1):
        loss, grads = _loss_and_gradients(now, data)
        losses.append(loss)
        for name, grad in grads.items():
            if adam:
                m[name] += 0.1 * (grad - m[name])
                v[name] += 0.001 * (grad**2 - v[name])
                corrected = rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                now[name] = now[name] - corrected * m[name] / (np.sqrt(v[name]) + 1e-8)
            else:
                now[name] = now[name] - rate * grad
    return [*losses, *(now[name] for name in WEIGHTS)]


def _loss_and_gradients(now: Arrays, data: Arrays) -> tuple[float, Arrays]:
    x, labels = data["x"].astype("f8"), data["labels"]
    rows = np.arange(len(labels))
    hidden = np.maximum(x @ now["w1"] + now["b1"], 0.0)
    logits = hidden @ now["w2"] + now["b2"]
    logits -= logits.max(axis=1, keepdims=True)
    share = np.exp(logits)
    share /= share.sum(axis=1, keepdims=True)
    loss = float(-np.log(share[rows, labels]).mean())
    share[rows, labels] -= 1.0
    share /= len(labels)
    back = (share @ now["w2"].T) * (hidden > 0)
    grads = {
        "w1": x.T @ back, "b1": back.sum(axis=0), "w2": hidden.T @ share, "b2": share.sum(axis=0),
    }  # fmt: skip
    return loss, grads
