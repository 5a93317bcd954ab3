"""Rows of running totals along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import math, ops
from tests.ops.table.row import Fault, Row

X = np.array([[1.5, -2.0, 0.5], [3.0, 1.0, -1.0]], np.float32)
SMOOTH = np.array([[1.5, -2.0, 0.5], [3.0, 1.0, -1.0]])
INTS = np.array([3, -2, 100, 100], np.int8)


def _totals(fold: np.ufunc, start: float, x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    """Element by element, in a plain loop."""
    rows = np.moveaxis(np.asarray(x), axis, -1)
    out = np.empty_like(rows)
    for place in np.ndindex(*rows.shape[:-1]):
        row = rows[place][::-1] if reverse else rows[place]
        total, made = rows.dtype.type(start), []
        for value in row:
            after = fold(total, value).astype(rows.dtype)
            made.append(total if exclusive else after)
            total = after
        out[place] = made[::-1] if reverse else made
    return np.moveaxis(out, -1, axis)


def _rows(op: str, build: Callable[..., Any], fold: np.ufunc, start: float, kinds: list[Any]) -> list[Row]:
    found = []
    for exclusive in (False, True):
        for reverse in (False, True):
            for axis in (0, -1):
                words = [f"axis{axis}", *["exclusive"] * exclusive, *["reverse"] * reverse]
                found.append(
                    Row(
                        f"{op}-{'-'.join(words)}",
                        lambda x, a=axis, e=exclusive, r=reverse: build(x, a, e, r),
                        lambda x, a=axis, e=exclusive, r=reverse: _totals(fold, start, x, a, e, r),
                    ).on(
                        [X, np.zeros([0, 2], np.float64), X[:, :1].copy(), *kinds],
                        # Of nothing a logarithm is infinite, and has no differences.
                        [] if exclusive and np.isinf(start) else [(SMOOTH,)],
                        rtol=1e-5,
                    )
                )
    return found


def _given_axis(op: str, build: Callable[..., Any]) -> Row:
    """The axis is an operand: it may be known only while a step runs."""
    fold, start = {"Cumsum": (np.add, 0), "Cumprod": (np.multiply, 1), "CumulativeLogsumexp": (np.logaddexp, -np.inf)}[
        op
    ]
    return Row(f"{op}-given-axis", build, lambda x, axis: _totals(fold, start, x, int(axis), False, False)).on(
        [(X, np.int32(1)), (X, np.int64(-2))],
        [(SMOOTH, np.int32(1))],
        [
            Fault((X, np.int32(2)), "axis 2 is not in", early=""),
            Fault((np.float32(1), np.int32(0)), "axis 0 is not in", early=""),
            Fault((X, np.array([0, 1], np.int32)), "scalar", "rank 0"),
        ],
        rtol=1e-5,
    )


NAN = (np.array([1.0, np.nan, np.inf, -np.inf], np.float32),)
ROWS = [
    *_rows("Cumsum", ops.cumsum, np.add, 0, [(INTS,), (np.array([1j, 2, -1j], np.complex64),), NAN]),
    *_rows("Cumprod", ops.cumprod, np.multiply, 1, [(INTS,), (np.array([2, 3], np.float16),), NAN]),
    *_rows(
        "CumulativeLogsumexp",
        math.cumulative_logsumexp,
        np.logaddexp,
        -np.inf,
        [(np.array([-np.inf, -np.inf, 3, 1000, 1001], np.float32),)],
    ),
    Row(
        "CumulativeLogsumexp-exclusive-but-the-first",
        lambda x: math.cumulative_logsumexp(x, 1, exclusive=True)[:, 1:],
        lambda x: np.logaddexp.accumulate(x[:, :-1], 1),
    ).on([X], [SMOOTH], rtol=1e-5),
    _given_axis("Cumsum", ops.cumsum),
    _given_axis("Cumprod", ops.cumprod),
    _given_axis("CumulativeLogsumexp", math.cumulative_logsumexp),
]
