"""Rows of fake quantisation, and of places as coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorsession as acts
from tests.ops.table.row import Fault, Row

X = np.array([-0.3, -0.1, 0, 0.04, 0.1, 0.37, 1.6, 63.75, 100], np.float32)
LOW, HIGH = np.float32(-0.1), np.float32(63.65)


def _range(low: Any, high: Any, bits: int, narrow: bool) -> tuple[Any, Any, Any]:
    """The ends of a range and its step, moved so that 0 is a step."""
    least, most = int(narrow), 2**bits - 1
    step = (high - low) / (most - least)
    zero = np.clip(np.floor(least - low / step + 0.5), least, most)
    return (least - zero) * step, (most - zero) * step, step


def _near(x: Any, low: Any, high: Any, bits: int = 8, narrow: bool = False) -> Any:
    """To the nearest step, which is a multiple of it."""
    first, last, step = _range(np.float64(low), np.float64(high), bits, narrow)
    with np.errstate(invalid="ignore"):
        found = np.floor(np.clip(x.astype(np.float64), first, last) / step + 0.5) * step
    return found.astype(np.float32)


def _flow(grad: Any, x: Any, low: Any, high: Any, axes: Any = None) -> list[Any]:
    first, last, _ = _range(np.float64(low), np.float64(high), 8, False)
    inside = (x >= first) & (x <= last)
    return [
        (grad * inside).astype(np.float32),
        np.asarray((grad * (x < first)).sum(axes), np.float32),
        np.asarray((grad * (x > last)).sum(axes), np.float32),
    ]


SPREAD = np.array([-7.3, -2.1, 0.2, 1.3, 5.2, -20.0, 30.0], np.float64)
SIXTEENTHS = (-8.0, -8.0 + 255 / 16)
COLUMNS = np.stack([X, 2 * X], 1)
LOWS, HIGHS = np.array([-0.1, -6], np.float32), np.array([6, 20], np.float32)
GRADS = np.linspace(-1, 2, X.size, dtype=np.float32)


def _smooth(function: Any, *ends: Any) -> Any:
    """In float64 outside, for differences as wide as several steps."""
    return lambda x, *_: acts.cast(function(acts.cast(x, np.float32), *ends), np.float64)


QUANTISED = [
    *[
        Row(
            f"FakeQuantWithMinMaxArgs-{'-'.join(map(str, arguments))}",
            lambda x, a=arguments: acts.quantization.fake_quant_with_min_max_args(x, *a),
            lambda x, a=arguments: _near(x, *a),
        ).on([X, X[:0], X[3], np.array([np.nan, np.inf, -np.inf], np.float32)], rtol=1e-5)
        for arguments in (
            (-6, 6),
            (-0.1, 63.65),
            (1, 6),
            (-6, -1),
            (-6, 6, 4, True),
            (0, 63.75, 16),
            (-0.5, 2.5, 2),  # 0 is in the middle of two steps, and the range moves downwards
        )
    ],
    Row(
        "FakeQuantWithMinMaxArgs-smooth",
        _smooth(acts.quantization.fake_quant_with_min_max_args, *SIXTEENTHS),
        lambda x: _near(x, *SIXTEENTHS).astype(np.float64),
    ).on([SPREAD], [SPREAD], step=0.25),
    Row(
        "FakeQuantWithMinMaxArgsGradient",
        acts.quantization.fake_quant_with_min_max_args_gradient,
        lambda grad, x: _flow(grad, x, -6, 6)[0],
    ).on(
        [(GRADS, X), (GRADS[0], X[0]), (GRADS[:0], X[:0])],
        faults=[Fault((GRADS[:2], X), "gradients have shape", "gradients have")],
    ),
    Row(
        "FakeQuantWithMinMaxVars",
        acts.quantization.fake_quant_with_min_max_vars,
        lambda x, low, high: _near(x, low, high) if low or high else 0 * x,
    ).on(
        [(X, LOW, HIGH), (X, np.float32(1), np.float32(6)), (X, 0 * LOW, 0 * LOW)],
        faults=[Fault((X, LOWS, HIGHS), "min and max have", "min and max have")],
        rtol=1e-5,
    ),
    Row(
        "FakeQuantWithMinMaxVars-smooth",
        _smooth(acts.quantization.fake_quant_with_min_max_vars, *SIXTEENTHS),
        lambda x: _near(x, *SIXTEENTHS).astype(np.float64),
    ).on([SPREAD], [SPREAD], step=0.25),
    Row(
        "FakeQuantWithMinMaxVarsGradient",
        lambda *x: list(acts.quantization.fake_quant_with_min_max_vars_gradient(*x)),
        lambda grad, x, low, high: _flow(grad, x, low, high) if low or high else [grad, np.float32(0), np.float32(0)],
    ).on(
        [
            (GRADS, X, LOW, HIGH),
            (GRADS, X, np.float32(-6), np.float32(-1)),
            (GRADS, X, 0 * LOW, 0 * LOW),
            (GRADS[0], X[0], LOW, HIGH),
        ],
        faults=[
            Fault((GRADS[:2], X, LOW, HIGH), "gradients have", "gradients have"),
            Fault((GRADS, X, LOWS, HIGHS), "min and max have", "min and max have"),
        ],
        rtol=1e-5,
    ),
    Row(
        "FakeQuantWithMinMaxVarsPerChannel",
        acts.quantization.fake_quant_with_min_max_vars_per_channel,
        lambda x, low, high: _near(x, low, high),
    ).on(
        [(COLUMNS, LOWS, HIGHS), (COLUMNS[0], LOWS, HIGHS), (COLUMNS[:0], LOWS, HIGHS)],
        faults=[
            Fault((COLUMNS, LOWS[:1], HIGHS), "min and max have", "min and max"),
            Fault((X[0], LOWS, HIGHS), "min and max have", "last axis"),
        ],
        rtol=1e-5,
    ),
    Row(
        "FakeQuantWithMinMaxVarsPerChannel-smooth",
        _smooth(
            acts.quantization.fake_quant_with_min_max_vars_per_channel,
            *(np.full(7, end, np.float32) for end in SIXTEENTHS),
        ),
        lambda x: _near(x, *SIXTEENTHS).astype(np.float64),
    ).on([SPREAD], [SPREAD], step=0.25),
    Row(
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        lambda *x: list(acts.quantization.fake_quant_with_min_max_vars_per_channel_gradient(*x)),
        lambda grad, x, low, high: _flow(grad, x, low, high, tuple(range(x.ndim - 1))),
    ).on(
        [(np.stack([GRADS, 2 * GRADS], 1), COLUMNS, LOWS, HIGHS), (GRADS[:2], COLUMNS[0], LOWS, HIGHS)],
        faults=[Fault((COLUMNS[:2], COLUMNS, LOWS, HIGHS), "gradients have", "gradients have")],
        rtol=1e-5,
    ),
]

DIMS = np.array([3, 4, 2], np.int32)
UNRAVELLED = Row(
    "UnravelIndex",
    acts.arrays.unravel_index,
    lambda places, dims: np.array(np.unravel_index(places, tuple(dims)), places.dtype),
).on(
    [(np.array([0, 5, 23], np.int32), DIMS), (np.int64(7), DIMS.astype(np.int64)), (np.zeros(0, np.int32), DIMS)],
    faults=[
        Fault((np.array([24], np.int32), DIMS), "out of bound"),
        Fault((np.array([-1], np.int32), DIMS), "out of bound"),
        Fault((np.array([[1]], np.int32), DIMS), "scalar or a vector", "a vector"),
        Fault((np.array([1], np.int32), DIMS[0]), "a vector", "rank 1"),
        Fault((np.array([0], np.int32), 0 * DIMS), "dims are above 0"),
    ],
)
