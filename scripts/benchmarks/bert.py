"""BERT's encoder in numpy: its first weights, a batch, and its gradients.

It has the sizes of the smallest that was published (two layers of 128 units with two heads), a shorter list of words,
and no dropout, so that answers compare. The words of texts of different lengths are followed by zeros, of which no
other word learns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .training import Arrays, cross_entropy

__all__ = ["EPSILON", "HEADS", "LAYERS", "MASKED", "UNITS", "batch", "first_weights", "loss_and_gradients"]

LAYERS, UNITS, HEADS, LENGTH = 2, 128, 2, 64
_INNER, _WORDS = 4 * UNITS, 1000
# What BERT adds to the variance of a layer, and to the scores of what is no word.
EPSILON, MASKED = 1e-12, -10000.0

# A value, and the function from its gradient to that of what it is made of; gradients by weights are noted on the way.
Traced = tuple[Any, Callable[[Any], Any]]


def first_weights() -> Arrays:
    """Return the initial weights of the training, as float32."""
    sizes: dict[str, tuple[int, ...]] = {"words": (_WORDS, UNITS), "places": (LENGTH, UNITS)}
    dense = {"pool": (UNITS, UNITS), "out": (UNITS, 10)}
    for layer in range(LAYERS):
        dense |= {f"{name}{layer}": (UNITS, UNITS) for name in ("query", "key", "value", "mix")}
        dense |= {f"inner{layer}": (UNITS, _INNER), f"outer{layer}": (_INNER, UNITS)}
    for name, size in dense.items():
        sizes |= {f"w_{name}": size, f"b_{name}": size[1:]}
    norms = ["text", *[f"{name}{layer}" for layer in range(LAYERS) for name in ("mixed", "layer")]]
    sizes |= {f"{kind}_{name}": (UNITS,) for name in norms for kind in ("gain", "shift")}
    random = np.random.default_rng(17)
    return {
        name: random.normal(1.0 if name.startswith("gain") else 0.0, 0.1, size).astype("f4")
        for name, size in sizes.items()
    }


def batch(size: int) -> Arrays:
    """Return a batch: ``x`` int32 (size, 64), the numbers of words, 0 for none, and ``labels`` int64 (size,)."""
    random = np.random.default_rng(18)
    x = random.integers(1, _WORDS, (size, LENGTH)).astype("i4")
    x[np.arange(LENGTH) >= random.integers(LENGTH // 2, LENGTH + 1, size)[:, None]] = 0
    return {"x": x, "labels": random.integers(0, 10, size)}


def loss_and_gradients(now: Arrays, data: Arrays) -> tuple[float, Arrays]:
    """Return the loss of a batch, and its gradient by each weight."""
    grads: Arrays = {}
    x, size = data["x"], len(data["x"])
    hidden, by_text = _normed(now, grads, "text", (now["words"][x] + now["places"]).reshape(-1, UNITS))
    backs = []
    for layer in range(LAYERS):
        hidden, back = _layer(now, grads, str(layer), hidden, x)
        backs.append(back)
    pooled, by_first = _dense(now, grads, "pool", hidden.reshape(size, LENGTH, UNITS)[:, 0])
    pooled = np.tanh(pooled)
    logits, by_pooled = _dense(now, grads, "out", pooled)
    loss, share = cross_entropy(logits, data["labels"])
    flow: Any = np.zeros((size, LENGTH, UNITS))
    flow[:, 0] = by_first(by_pooled(share) * (1 - pooled**2))
    flow = flow.reshape(-1, UNITS)
    for back in reversed(backs):
        flow = back(flow)
    flow = by_text(flow).reshape(size, LENGTH, UNITS)
    words = np.zeros_like(now["words"])
    np.add.at(words, x, flow)
    grads |= {"words": words, "places": flow.sum(axis=0)}
    return loss, {name: grads[name] for name in now}


def _layer(now: Arrays, grads: Arrays, layer: str, x: Any, words: Any) -> Traced:
    """Return what attention and two dense layers make of texts."""
    attended, by_attended = _attention(now, grads, layer, x, words)
    mixed, by_mixed = _dense(now, grads, f"mix{layer}", attended)
    middle, by_middle = _normed(now, grads, f"mixed{layer}", mixed + x)
    inner, by_inner = _dense(now, grads, f"inner{layer}", middle)
    active, slope = _gelu(inner)
    outer, by_outer = _dense(now, grads, f"outer{layer}", active)
    y, by_y = _normed(now, grads, f"layer{layer}", outer + middle)

    def back(g: Any) -> Any:
        g = by_y(g)
        g = by_middle(g + by_inner(by_outer(g) * slope))
        return g + by_attended(by_mixed(g))

    return y, back


def _attention(now: Arrays, grads: Arrays, layer: str, x: Any, words: Any) -> Traced:
    """Return the values of words of a text, weighted by how much each head looks at them."""
    (q, by_q), (k, by_k), (v, by_v) = [_dense(now, grads, f"{name}{layer}", x) for name in ("query", "key", "value")]
    q, k, v = map(_split, (q, k, v))
    scale = 1 / np.sqrt(UNITS // HEADS)
    scores = q @ k.swapaxes(2, 3) * scale + MASKED * (words == 0)[:, None, None]
    share = np.exp(scores - scores.max(axis=3, keepdims=True))
    share /= share.sum(axis=3, keepdims=True)

    def back(g: Any) -> Any:
        g = _split(g)
        by_share = g @ v.swapaxes(2, 3)
        by_scores = share * (by_share - (by_share * share).sum(axis=3, keepdims=True)) * scale
        parts = by_scores @ k, by_scores.swapaxes(2, 3) @ q, share.swapaxes(2, 3) @ g
        return sum(by(_joined(part)) for by, part in zip((by_q, by_k, by_v), parts, strict=True))

    return _joined(share @ v), back


def _split(x: Any) -> Any:
    """Return the units of each head of each text."""
    return x.reshape(-1, LENGTH, HEADS, UNITS // HEADS).swapaxes(1, 2)


def _joined(x: Any) -> Any:
    return x.swapaxes(1, 2).reshape(-1, UNITS)


def _dense(now: Arrays, grads: Arrays, name: str, x: Any) -> Traced:
    weights = now[f"w_{name}"]

    def back(g: Any) -> Any:
        grads.update({f"w_{name}": x.T @ g, f"b_{name}": g.sum(axis=0)})
        return g @ weights.T

    return x @ weights + now[f"b_{name}"], back


def _normed(now: Arrays, grads: Arrays, name: str, x: Any) -> Traced:
    """Return units of mean 0 and variance 1, times a gain and shifted."""
    gain = now[f"gain_{name}"]
    inverse = 1 / np.sqrt(x.var(axis=1, keepdims=True) + EPSILON)
    unit = (x - x.mean(axis=1, keepdims=True)) * inverse

    def back(g: Any) -> Any:
        grads.update({f"gain_{name}": (g * unit).sum(axis=0), f"shift_{name}": g.sum(axis=0)})
        g = g * gain
        return inverse * (g - g.mean(axis=1, keepdims=True) - unit * (g * unit).mean(axis=1, keepdims=True))

    return unit * gain + now[f"shift_{name}"], back


def _gelu(x: Any) -> tuple[Any, Any]:
    """Return BERT's form of the Gaussian error linear unit, and its slope."""
    factor, cubic = np.sqrt(2 / np.pi), 0.044715
    bent = np.tanh(factor * (x + cubic * x**3))
    half = 0.5 * (1 + bent)
    return x * half, half + 0.5 * x * (1 - bent**2) * factor * (1 + 3 * cubic * x**2)
