"""Rows of further activation functions and of what computes their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import nn
from tests.ops.table.row import Row
from tests.ops.table.values import EMPTY

ANY = np.array([-2.5, -1.0, 0.0, 0.5, 2.0, np.nan, np.inf, -np.inf], np.float32)
GRADS = np.array([1, 2, -3, 4, 5, 6, 7, 8], np.float32)
SMOOTH = np.array([[-2.5, -0.7], [0.4, 1.3]])
INPUTS = [ANY, EMPTY, np.float32(-0.5), np.array([-1, 2], np.float64)]
PAIRS = [(GRADS, ANY), (EMPTY, EMPTY), (np.float64(2), np.float64(-0.5))]
SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772


def _of(x: Any, value: Any) -> Any:
    return np.asarray(value, np.asarray(x).dtype)


def _selu(x: Any) -> Any:
    return _of(x, SCALE * np.where(x < 0, ALPHA * np.expm1(np.minimum(x, 0)), x))


def _selu_grad(gradients: Any, outputs: Any) -> Any:
    return _of(gradients, gradients * np.where(outputs < 0, outputs + SCALE * ALPHA, SCALE))


def _leaky_relu(x: Any) -> Any:
    return _of(x, np.where(x > 0, x, 0.25 * x))


def _leaky_relu_grad(gradients: Any, x: Any) -> Any:
    return _of(gradients, gradients * np.where(x > 0, 1, 0.25))


ROWS = [
    Row("Selu", nn.selu, _selu).on(INPUTS, [SMOOTH], rtol=1e-5),
    Row("SeluGrad", {}, _selu_grad).on(PAIRS, [(SMOOTH.T, SMOOTH)], rtol=1e-5),
    Row("LeakyRelu", lambda x: nn.leaky_relu(x, 0.25), _leaky_relu).on(INPUTS, [SMOOTH], rtol=1e-5),
    Row("LeakyReluGrad", {"alpha": 0.25}, _leaky_relu_grad).on(PAIRS, [(SMOOTH.T, SMOOTH)], rtol=1e-5),
    Row("Softsign", nn.softsign, lambda x: x / (1 + np.abs(x))).on(INPUTS, [SMOOTH], rtol=1e-5),
    Row("SoftsignGrad", {}, lambda g, x: g / (1 + np.abs(x)) ** 2).on(PAIRS, rtol=1e-5),
]
