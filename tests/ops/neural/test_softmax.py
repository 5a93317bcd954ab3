"""Softmax and its logarithm."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorsession as acts
from actorsession import transpose
from tests.ops.cases import expect
from tests.rows import for_each

RNG = np.random.default_rng(0)


def _log_softmax(x: Any, axis: int = -1) -> Any:
    """In float64, shifted so that nothing overflows."""
    wide = x.astype(np.float64)
    shifted = wide - wide.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _logits(*dims: int, scale: float = 5.0) -> Any:
    return (RNG.standard_normal(dims) * scale).astype(np.float32)


@for_each("axis", [0, 1, 2, -1, -2, -3])
def test_softmax_along_any_axis(axis: Any) -> None:
    x = _logits(2, 3, 4)
    wanted = _log_softmax(x, axis)
    expect(lambda x: acts.nn.softmax(x, axis), np.exp(wanted).astype(np.float32), x, exact=False)
    expect(lambda x: acts.nn.log_softmax(x, axis), wanted.astype(np.float32), x, exact=False)


def test_softmax_of_a_view_in_another_layout() -> None:
    x = _logits(50, 40)
    wanted = np.exp(_log_softmax(x.T)).astype(np.float32)
    expect(lambda x: acts.nn.softmax(transpose(x)), wanted, x, exact=False)
