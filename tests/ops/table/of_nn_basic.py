"""Rows of biases, softmax and the cross entropies."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from actorsession import nn
from tests.nodes import make
from tests.ops.table.row import Fault, Row
from tests.ops.table.values import EMPTY

X = np.linspace(-2, 3, 24, dtype=np.float32).reshape(2, 3, 4)
SMOOTH = np.array([[0.5, -1.5, 2.0], [1.0, 0.25, -0.75]])
LOGITS = np.array([[1.0, 2.0, 3.0], [100.0, 0.0, -100.0]], np.float32)
MANY = np.linspace(-3, 3, 260, dtype=np.float32).reshape(2, 130)
NO_CLASS = np.zeros([2, 0], np.float32)
RANK = "rank at least 2"


# -- BiasAdd, BiasAddGrad, L2Loss ------------------------------------------------------------------


def _shaped(bias: Any, value: Any, axis: int) -> Any:
    """The bias with axes of extent 1 behind its channels."""
    behind = value.ndim - 2 if axis == 1 else 0
    return bias.reshape(-1, *[1] * behind)


def _channel_sums(grad: Any, axis: int) -> Any:
    others = tuple(i for i in range(grad.ndim) if i != axis % grad.ndim)
    wide = grad.astype(np.float32) if grad.dtype.itemsize == 2 else grad
    return wide.sum(axis=others, dtype=wide.dtype).astype(grad.dtype)


BIASES = [
    row
    for layout, axis, bias in (
        ("NHWC", -1, np.array([1.0, 2.0, np.nan, 4.0], np.float32)),
        ("NCHW", 1, np.array([1.0, np.inf, 3.0], np.float32)),
    )
    for row in (
        Row(
            f"BiasAdd-{layout}",
            lambda x, b, layout=layout: nn.bias_add(x, b, layout),
            lambda x, b, axis=axis: x + _shaped(b, x, axis),
        ).on(
            [
                (X, bias),
                (X.astype(np.int32), np.arange(bias.size, dtype=np.int32)),
                (X.astype(np.complex64) * 1j, np.arange(bias.size).astype(np.complex64)),
                (X[:0], bias),
                (X[..., None], bias) if axis == 1 else (X[None], bias),
                (np.ones([2, bias.size], np.float16), np.arange(bias.size, dtype=np.float16)),
                (np.ones([2, bias.size], ml_dtypes.bfloat16), np.arange(bias.size).astype(ml_dtypes.bfloat16)),
            ],
            [(SMOOTH[None], np.array([0.5, 1.0, -1.0][: 3 if axis == -1 else 2]))],
            [
                Fault((X, np.ones([5], np.float32)), "for each channel", RANK),
                Fault((X[0, 0], bias), "for each channel", RANK),
                Fault((X, bias[None]), "for each channel", RANK),
            ],
        ),
        Row(
            f"BiasAddGrad-{layout}",
            lambda grad, layout=layout: nn.bias_add_grad(grad, layout),
            lambda grad, axis=axis: _channel_sums(grad, axis),
        ).on(
            [
                X,
                X[0],
                X[:0],
                X[..., None],
                X.astype(np.int32),
                X.astype(np.float64),
                X.astype(np.float16),
                X.astype(np.complex64) * 1j,
            ],
            [SMOOTH[None], SMOOTH],
            [Fault(X[0, 0], RANK, RANK)],
            rtol=2e-3,
        ),
    )
]


def _half_square(t: Any) -> Any:
    return (np.sum(t.astype(np.float64) ** 2) / 2).astype(t.dtype)


L2 = Row("L2Loss", nn.l2_loss, _half_square).on(
    [
        X,
        EMPTY,
        np.float32(3.0),
        np.array([np.nan, 1.0]),
        np.array([1.5, 2.0], np.float16),
        np.array([256], np.float16),  # the square is no float16
        np.array([1.5, 2.0], ml_dtypes.bfloat16),
    ],
    [SMOOTH, np.float64(1.5)],
    rtol=1e-5,
)


# -- Softmax, LogSoftmax ---------------------------------------------------------------------------


def _log_softmax(x: Any) -> Any:
    wide = x.astype(np.float64)
    if not x.size:
        return x
    shifted = wide - wide.max(axis=-1, keepdims=True)
    return (shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))).astype(x.dtype)


def _softmax(x: Any) -> Any:
    return np.exp(_log_softmax(x.astype(np.float64))).astype(x.dtype)


SCORES = [
    LOGITS,
    X,
    MANY,
    np.tile(LOGITS, (20, 1)),
    np.array([5.0], np.float32),
    np.array([[-np.inf, 0.0, 1.0]], np.float32),
    np.array([[np.nan, 0.0], [np.inf, 0.0]], np.float32),
    EMPTY,
    NO_CLASS,
    LOGITS.astype(np.float64),
]
SOFTMAXES = [
    row
    for op, build, numpy in (("Softmax", nn.softmax, _softmax), ("LogSoftmax", nn.log_softmax, _log_softmax))
    for row in (
        Row(op, build, numpy).on(
            SCORES, [SMOOTH, SMOOTH[0], SMOOTH[None]], [Fault(np.float32(1.0), "rank at least 1", "axis -1")], rtol=1e-5
        ),
        Row(f"{op}-low", build, numpy).on(
            [SMOOTH.astype(np.float16), SMOOTH.astype(ml_dtypes.bfloat16)], [SMOOTH], rtol=0.02
        ),
        Row(
            f"{op}-first_axis",
            lambda x, build=build: build(x, axis=0),
            lambda x, numpy=numpy: np.swapaxes(numpy(np.swapaxes(x, 0, -1)), 0, -1),
        ).on([LOGITS, X, LOGITS[0]], [SMOOTH, SMOOTH[None]], rtol=1e-5),
    )
]


# -- cross entropies -------------------------------------------------------------------------------


def _entropy(logits: Any, labels: Any) -> list[Any]:
    """The loss and, as second output, its gradient."""
    labels = np.broadcast_to(labels, np.broadcast_shapes(logits.shape, labels.shape))
    logits = np.broadcast_to(logits, labels.shape)
    log = _log_softmax(logits.astype(np.float64))
    loss = -(labels * log).sum(axis=1)
    return [loss.astype(logits.dtype), (np.exp(log) - labels).astype(logits.dtype)]


def _sparse_entropy(logits: Any, labels: Any) -> list[Any]:
    log = _log_softmax(logits.astype(np.float64))
    rows = np.arange(len(labels))
    back = np.exp(log)
    back[rows, labels] -= 1
    return [(-log[rows, labels]).astype(logits.dtype), back.astype(logits.dtype)]


CHANCES = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]], np.float32)
MASKED = np.array([[1.0, -np.inf, 2.0], [-np.inf, 0.5, -np.inf]], np.float32)
CLASSES = "at least 1 class"
FIT = "of one shape"
DENSE, SPARSE = "SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"
ENTROPIES = [
    Row(DENSE, {}, _entropy).on(
        [
            (LOGITS, CHANCES),
            (LOGITS, CHANCES[:1]),
            (LOGITS.astype(np.float64), CHANCES.astype(np.float64)),
            (EMPTY, EMPTY),
            (NO_CLASS, NO_CLASS),
            (MANY, np.eye(130, dtype=np.float32)[:2]),
            (np.array([[np.nan, 1.0, 2.0]], np.float32), CHANCES[:1]),
        ],
        [(SMOOTH, CHANCES.astype(np.float64))],
        [Fault((LOGITS, CHANCES[:, :2]), FIT, FIT), Fault((LOGITS[0], CHANCES[0]), CLASSES, FIT)],
        rtol=1e-5,
    ),
    Row(f"{DENSE}-slope", lambda *inputs: make(DENSE, inputs).outputs[1], lambda *inputs: _entropy(*inputs)[1]).on(
        [(LOGITS, CHANCES)], [(SMOOTH, CHANCES.astype(np.float64))], rtol=1e-5
    ),
    Row(f"{DENSE}-low", {}, _entropy).on(
        [
            (SMOOTH.astype(np.float16), CHANCES.astype(np.float16)),
            (SMOOTH.astype(ml_dtypes.bfloat16), CHANCES.astype(ml_dtypes.bfloat16)),
        ],
        [(SMOOTH, CHANCES.astype(np.float64))],
        rtol=0.03,
    ),
    Row(SPARSE, {}, _sparse_entropy).on(
        [
            (LOGITS, np.array([2, 1], np.int32)),
            (LOGITS.astype(np.float64), np.array([0, 0])),
            (MANY, np.array([129, 0], np.int32)),
            (MASKED, np.array([2, 1], np.int32)),
            (EMPTY, np.zeros([0], np.int64)),
            (np.array([[np.nan, 1.0, 2.0]], np.float32), np.array([1], np.int32)),
        ],
        [(SMOOTH, np.array([2, 0], np.int32))],
        [
            Fault((LOGITS, np.array([2, 3], np.int32)), r"label 3 .* \[0, 3\)"),
            Fault((LOGITS, np.array([-1, 0])), "label -1"),
            Fault((LOGITS, np.array([1], np.int32)), "one label for each row", "a label for each row"),
            Fault((NO_CLASS, np.array([0, 0], np.int32)), CLASSES),
        ],
        rtol=1e-5,
    ),
    Row(f"{SPARSE}-low", {}, _sparse_entropy).on(
        [
            (SMOOTH.astype(np.float16), np.array([2, 0], np.int32)),
            (SMOOTH.astype(ml_dtypes.bfloat16), np.array([1, 1])),
        ],
        [(SMOOTH, np.array([1, 1]))],
        rtol=0.03,
    ),
]
