"""Histograms as TensorFlow's ``HistogramProto``: fixed buckets whose widths grow by a tenth each."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.opsets.summaries.fields import double_field
from actorsession.protobuf.wire import length_field

__all__ = ["histogram_of"]

_MIN, _MAX, _NUM, _SUM, _SUM_SQUARES, _LIMITS, _BUCKETS = range(1, 8)
_LARGEST = sys.float_info.max


def _limits() -> Any:
    """Return the upper limits of all buckets."""
    positive, limit = [], 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(_LARGEST)
    return np.array([*(-x for x in reversed(positive)), 0.0, *positive])


_LIMITS_OF_ALL = _limits()


def histogram_of(values: Any, tag: str) -> bytes:
    """Return the histogram of numbers as the bytes of a message.

    Args:
        values: an array of numbers.
        tag: the name of the histogram, for messages.

    Raises:
        InvalidArgumentError: for a value that is not finite.
    """
    flat = np.array(values, np.float64).ravel()
    finite = np.isfinite(flat)
    if not finite.all():
        first = flat[np.argmin(finite)]
        what = "Nan in summary histogram for: " if np.isnan(first) else "Infinity in Histogram for: "
        raise InvalidArgumentError(f"{what}{tag}")
    # To sort the values and to look up the limits takes a tenth of the time of looking up each value.
    flat.sort()
    below = np.searchsorted(flat, _LIMITS_OF_ALL)
    below[-1] = flat.size
    counts = np.diff(below, prepend=0)
    # Of neighbouring empty buckets one is written, with the limit of the last.
    keep = counts > 0
    keep[:-1] |= counts[1:] > 0
    keep[-1] = True
    low, high = (flat[0], flat[-1]) if flat.size else (_LARGEST, -_LARGEST)
    sums = [
        double_field(number, float(value))
        for number, value in (
            (_MIN, low),
            (_MAX, high),
            (_NUM, flat.size),
            (_SUM, flat.sum()),
            (_SUM_SQUARES, np.einsum("i,i", flat, flat)),
        )
    ]
    return b"".join(
        [
            *sums,
            length_field(_LIMITS, _LIMITS_OF_ALL[keep].astype("<f8").tobytes()),
            length_field(_BUCKETS, counts[keep].astype("<f8").tobytes()),
        ]
    )
