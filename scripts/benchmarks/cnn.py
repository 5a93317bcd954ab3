"""A small convolutional network in numpy, in double precision: the reference results of training steps.

The network has two 5x5 convolutions with 8 and 16 channels, each with a bias, a rectifier and a 2x2 max pool,
and a product with a 784x10 matrix. The images have 28x28 pixels with one channel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

__all__ = ["WEIGHTS", "batch", "first_weights", "trained"]

Arrays = dict[str, Any]

WEIGHTS = ("f1", "b1", "f2", "b2", "w", "b")
_SIZES = {
    "f1": (5, 5, 1, 8), "b1": (8,), "f2": (5, 5, 8, 16), "b2": (16,), "w": (784, 10), "b": (10,),
}  # fmt: skip
_MARGIN = ((0, 0), (2, 2), (2, 2), (0, 0))


def first_weights() -> Arrays:
    """Return the initial weights of the training, as float32."""
    random = np.random.default_rng(7)
    return {name: random.normal(0.0, 0.1, size).astype("f4") for name, size in _SIZES.items()}


def batch(size: int) -> Arrays:
    """Return a batch: ``x`` float32 (size, 28, 28, 1) and ``labels`` int64 (size,)."""
    random = np.random.default_rng(8)
    return {
        "x": random.random((size, 28, 28, 1), np.float32),
        "labels": random.integers(0, 10, size),
    }


def trained(weights: Arrays, data: Arrays, rate: float, steps: int) -> list[Any]:
    """Return the loss before each of some steps of gradient descent, and the weights after them."""
    now = {name: value.astype("f8") for name, value in weights.items()}
    losses = []
    for _ in range(steps):
        loss, grads = _loss_and_gradients(now, data)
        losses.append(loss)
        now = {name: now[name] - rate * grads[name] for name in WEIGHTS}
    return [*losses, *(now[name] for name in WEIGHTS)]


def _loss_and_gradients(now: Arrays, data: Arrays) -> tuple[float, Arrays]:
    x, labels = data["x"].astype("f8"), data["labels"]
    rows = np.arange(len(labels))
    first = np.maximum(_convolved(x, now["f1"]) + now["b1"], 0.0)
    small = _pooled(first)
    second = np.maximum(_convolved(small, now["f2"]) + now["b2"], 0.0)
    flat = _pooled(second).reshape(len(labels), -1)
    logits = flat @ now["w"] + now["b"]
    logits -= logits.max(axis=1, keepdims=True)
    share = np.exp(logits)
    share /= share.sum(axis=1, keepdims=True)
    loss = float(-np.log(share[rows, labels]).mean())
    share[rows, labels] -= 1.0
    share /= len(labels)
    grads = {"w": flat.T @ share, "b": share.sum(axis=0)}
    back = _unpooled((share @ now["w"].T).reshape(len(labels), 7, 7, 16), second) * (second > 0)
    grads |= {"f2": _filter_gradient(small, back), "b2": back.sum(axis=(0, 1, 2))}
    # The gradient of a convolution is a convolution with the rotated filter and swapped channels.
    back = _convolved(back, now["f2"][::-1, ::-1].swapaxes(2, 3))
    back = _unpooled(back, first) * (first > 0)
    return loss, grads | {"f1": _filter_gradient(x, back), "b1": back.sum(axis=(0, 1, 2))}


def _windows(x: Any) -> Any:
    return sliding_window_view(np.pad(x, _MARGIN), (5, 5), (1, 2))  # [batch, y, x, channel, 5, 5]


def _convolved(x: Any, f: Any) -> Any:
    return np.einsum("nyxcij,ijcd->nyxd", _windows(x), f, optimize=True)


def _filter_gradient(x: Any, back: Any) -> Any:
    return np.einsum("nyxcij,nyxd->ijcd", _windows(x), back, optimize=True)


def _pooled(x: Any) -> Any:
    n, height, width, channels = x.shape
    return x.reshape(n, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))


def _unpooled(back: Any, x: Any) -> Any:
    """Return the gradient of the pool, all of which goes to the first maximum."""
    n, height, width, channels = x.shape
    squares = x.reshape(n, height // 2, 2, width // 2, 2, channels).transpose(0, 1, 3, 5, 2, 4)
    squares = squares.reshape(*back.shape, 4)
    chosen = np.arange(4) == squares.argmax(axis=-1)[..., None]
    parts = (chosen * back[..., None]).reshape(*back.shape, 2, 2).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(x.shape)
