"""Recurrent networks in numpy, a step at a time, for the tests of those in graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import actorsession.compat.v1 as tf

Step = Callable[[Any, Any], tuple[Any, Any]]


def waves(shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
    """An initialiser whose values depend on the shape alone."""
    return tf.constant(wave(*[int(size) for size in shape]), dtype or tf.float32)


def wave(*shape: int) -> Any:
    return (np.sin(np.arange(np.prod(shape)) * 1.7 + len(shape)) * 0.6).reshape(shape)


def reals(*shape: int, seed: int = 0) -> Any:
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def basic(kernel: Any, bias: Any) -> Step:
    def step(x: Any, h: Any) -> Any:
        h = np.tanh(np.concatenate([x, h], 1) @ kernel + bias)
        return h, h

    return step


def gru(gate_kernel: Any, gate_bias: Any, kernel: Any, bias: Any) -> Step:
    def step(x: Any, h: Any) -> Any:
        reset, update = np.split(sigmoid(np.concatenate([x, h], 1) @ gate_kernel + gate_bias), 2, 1)
        new = np.tanh(np.concatenate([x, reset * h], 1) @ kernel + bias)
        h = update * h + (1 - update) * new
        return h, h

    return step


def lstm(
    kernel: Any,
    bias: Any,
    forget: float = 1.0,
    peepholes: Any = None,
    clip: float = np.inf,
    projection: Any = None,
    projection_clip: float = np.inf,
) -> Step:
    """``peepholes`` are those of the forget, input and output gate."""
    wf, wi, wo = (0.0, 0.0, 0.0) if peepholes is None else peepholes

    def step(x: Any, state: Any) -> Any:
        c, h = state
        i, j, f, o = np.split(np.concatenate([x, h], 1) @ kernel + bias, 4, 1)
        c = sigmoid(f + forget + wf * c) * c + sigmoid(i + wi * c) * np.tanh(j)
        c = np.clip(c, -clip, clip)
        h = sigmoid(o + wo * c) * np.tanh(c)
        if projection is not None:
            h = np.clip(h @ projection, -projection_clip, projection_clip)
        return h, (c, h)

    return step


def unrolled(step: Step, x: Any, state: Any, lengths: Any = None) -> tuple[Any, Any]:
    """A network over ``[batch, time, depth]``: outputs, and the last states."""
    outputs = []
    for time in range(x.shape[1]):
        output, after = step(x[:, time], state)
        if lengths is not None:
            over = (time >= np.asarray(lengths))[:, None]
            output = np.where(over, 0, output)
            if isinstance(state, tuple):
                after = tuple(np.where(over, old, new) for old, new in zip(state, after, strict=True))
            else:
                after = np.where(over, state, after)
        outputs.append(output)
        state = after
    return np.stack(outputs, 1), state


def names() -> list[str]:
    return [v.op.name for v in tf.global_variables()]


def value(fetches: Any, feeds: Any = None) -> Any:
    """What a run gives after the variables were initialised."""
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches, feeds)
