"""Windows over images, one element after the other: what convolutions and pools are by definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

__all__ = ["Ends", "back_to_filter", "back_to_images", "by_channel_last", "correlated", "pooled", "steps"]

Ends = Any


def _starts(size: int, window: int, stride: int, dilation: int, padding: Any) -> list[int]:
    """Where windows start on one axis: before 0 where something is put in front."""
    covered = (window - 1) * dilation + 1
    if padding == "SAME":
        count = -(-size // stride)
        before = max((count - 1) * stride + covered - size, 0) // 2
    else:
        before, behind = (0, 0) if padding == "VALID" else padding
        count = (size + before + behind - covered) // stride + 1
    return [i * stride - before for i in range(count)]


def steps(
    sizes: Sequence[int], window: Sequence[int], strides: Sequence[int], dilations: Sequence[int], padding: Ends
) -> tuple[tuple[int, ...], list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]]:
    """The number of windows, and (window, element of it, element of the images) that belong together."""
    ends = [padding] * len(sizes) if isinstance(padding, str) else padding
    starts = [_starts(*one) for one in zip(sizes, window, strides, dilations, ends, strict=True)]

    def met() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
        for at in product(*(range(len(s)) for s in starts)):
            for element in product(*map(range, window)):
                place = tuple(s[a] + e * d for s, a, e, d in zip(starts, at, element, dilations, strict=True))
                if all(0 <= p < size for p, size in zip(place, sizes, strict=True)):
                    yield at, element, place

    return tuple(map(len, starts)), list(met())


def correlated(x: Any, f: Any, strides: Any, padding: Ends, dilations: Any = None) -> Any:
    """``[batch, *sizes, C]`` with ``[*window, C, D]``."""
    n = f.ndim - 2
    counts, met = steps(x.shape[1:-1], f.shape[:n], strides, dilations or [1] * n, padding)
    out: Any = np.zeros((len(x), *counts, f.shape[-1]))
    for at, element, place in met:
        out[(slice(None), *at)] += x[(slice(None), *place)].astype(float) @ f[element].astype(float)
    return out.astype(x.dtype)


def back_to_images(sizes: Any, f: Any, g: Any, strides: Any, padding: Ends, dilations: Any = None) -> Any:
    """What ``correlated`` has for its images as gradient."""
    n = f.ndim - 2
    _, met = steps(sizes[1:-1], f.shape[:n], strides, dilations or [1] * n, padding)
    out: Any = np.zeros(tuple(sizes))
    for at, element, place in met:
        out[(slice(None), *place)] += g[(slice(None), *at)].astype(float) @ f[element].T.astype(float)
    return out.astype(g.dtype)


def back_to_filter(x: Any, shape: Any, g: Any, strides: Any, padding: Ends, dilations: Any = None) -> Any:
    """What ``correlated`` has for its filter as gradient."""
    n = len(shape) - 2
    _, met = steps(x.shape[1:-1], shape[:n], strides, dilations or [1] * n, padding)
    out: Any = np.zeros(tuple(shape))
    for at, element, place in met:
        out[element] += x[(slice(None), *place)].T.astype(float) @ g[(slice(None), *at)].astype(float)
    return out.astype(g.dtype)


def pooled(x: Any, window: Any, strides: Any, padding: Ends, choose: Callable[..., Any]) -> Any:
    """``choose`` of the elements of each window, given as ``[elements, batch, C]``."""
    counts, met = steps(x.shape[1:-1], window, strides, [1] * len(window), padding)
    out: Any = np.zeros((len(x), *counts, x.shape[-1]), x.dtype)
    for at in product(*map(range, counts)):
        places = [place for where, _, place in met if where == at]
        out[(slice(None), *at)] = choose(np.stack([x[(slice(None), *p)] for p in places]), axis=0)
    return out


def by_channel_last(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of images for images whose channels are axis 1; further arguments stay."""

    def turned(x: Any, *others: Any) -> Any:
        return np.moveaxis(function(np.moveaxis(x, 1, -1), *others), -1, 1)

    return turned
