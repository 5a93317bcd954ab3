"""Small convolutional networks in numpy: their first weights, a batch, and their gradients.

A network has two 5x5 convolutions, each with a bias, a rectifier and a 2x2 max pool, possibly a hidden
layer with a bias and a rectifier, and a product that gives ten logits. The images have 28x28 pixels with one
channel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .training import Arrays, cross_entropy

__all__ = ["batch", "first_weights", "loss_and_gradients"]

_MARGIN = ((0, 0), (2, 2), (2, 2), (0, 0))


def first_weights(first: int, second: int, hidden: int = 0) -> Arrays:
    """Return the initial weights of the training, as float32.

    Args:
        first: channels of the first convolution.
        second: channels of the second one.
        hidden: units of the hidden layer; 0 for none.
    """
    sizes: dict[str, tuple[int, ...]] = {
        "f1": (5, 5, 1, first),
        "b1": (first,),
        "f2": (5, 5, first, second),
        "b2": (second,),
    }
    inputs = 7 * 7 * second
    if hidden:
        sizes |= {"w3": (inputs, hidden), "b3": (hidden,)}
    sizes |= {"w": (hidden or inputs, 10), "b": (10,)}
    random = np.random.default_rng(7)
    return {name: random.normal(0.0, 0.1, size).astype("f4") for name, size in sizes.items()}


def batch(size: int) -> Arrays:
    """Return a batch: ``x`` float32 (size, 28, 28, 1) and ``labels`` int64 (size,)."""
    random = np.random.default_rng(8)
    return {"x": random.random((size, 28, 28, 1), np.float32), "labels": random.integers(0, 10, size)}


def loss_and_gradients(now: Arrays, data: Arrays) -> tuple[float, Arrays]:
    """Return the loss of a batch, and its gradient by each weight."""
    x = data["x"].astype("f8")
    first = np.maximum(_convolved(x, now["f1"]) + now["b1"], 0.0)
    small = _pooled(first)
    second = np.maximum(_convolved(small, now["f2"]) + now["b2"], 0.0)
    pooled = _pooled(second)
    loss, grads, back = _dense(now, pooled.reshape(len(x), -1), data["labels"])
    back = _unpooled(back.reshape(pooled.shape), second) * (second > 0)
    grads |= {"f2": _filter_gradient(small, back), "b2": back.sum(axis=(0, 1, 2))}
    # The gradient of a convolution is a convolution with the rotated filter and swapped channels.
    back = _convolved(back, now["f2"][::-1, ::-1].swapaxes(2, 3))
    back = _unpooled(back, first) * (first > 0)
    grads |= {"f1": _filter_gradient(x, back), "b1": back.sum(axis=(0, 1, 2))}
    return loss, {name: grads[name] for name in now}


def _dense(now: Arrays, flat: Any, labels: Any) -> tuple[float, Arrays, Any]:
    """Return the loss, and the gradients by the weights behind the convolutions and by ``flat``."""
    hidden = np.maximum(flat @ now["w3"] + now["b3"], 0.0) if "w3" in now else flat
    loss, share = cross_entropy(hidden @ now["w"] + now["b"], labels)
    grads = {"w": hidden.T @ share, "b": share.sum(axis=0)}
    back = share @ now["w"].T
    if "w3" in now:
        back = back * (hidden > 0)
        grads |= {"w3": flat.T @ back, "b3": back.sum(axis=0)}
        back = back @ now["w3"].T
    return loss, grads, back


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
