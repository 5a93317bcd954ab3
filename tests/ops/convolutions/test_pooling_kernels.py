"""The way back through pools of maxima whose windows tile the images is quick, and the same."""

from __future__ import annotations

import numpy as np

from actorsession.ops.convolutions.kernels import Sliding
from actorsession.ops.convolutions.pooling_kernels import largest, spread
from tests.rows import for_each


def tiling(window: tuple[int, ...], counts: tuple[int, ...]) -> Sliding:
    ones = (1,) * len(window)
    return Sliding(counts, window, window, ones, ((0, 0),) * len(window))


@for_each("dtype", ["f2", "f4", "f8", "i4", "i8"])
@for_each(
    "batch, window, counts, channels",
    [(3, (2, 2), (4, 5), 3), (2, (3, 2), (2, 2), 1), (50, (2, 2), (9, 9), 40), (2, (2, 1, 2), (2, 3, 2), 2)],
)
def test_all_goes_to_the_first_of_the_largest(
    dtype: str, batch: int, window: tuple[int, ...], counts: tuple[int, ...], channels: int
) -> None:
    random = np.random.default_rng(1)
    s = tiling(window, counts)
    sizes = [n * w for n, w in zip(counts, window, strict=True)]
    x = random.integers(0, 3, (batch, *sizes, channels)).astype(dtype)  # many are equal
    y = largest(x, s)
    g = random.integers(1, 9, y.shape).astype(dtype)
    # The elements of each window as the last axis, and 1 at the first of the largest.
    rank = len(window)
    order = [0, *range(1, 2 * rank, 2), 2 * rank + 1, *range(2, 2 * rank + 1, 2)]
    parts = x.reshape(batch, *[n for pair in zip(counts, window, strict=True) for n in pair], channels)
    windows = parts.transpose(order).reshape(*y.shape, -1)
    chosen = np.eye(windows.shape[-1], dtype=dtype)[windows.argmax(-1)] * g[..., None]
    back = spread(x, y, g, s).reshape(parts.shape).transpose(order)
    np.testing.assert_array_equal(back.reshape(windows.shape), chosen)


def test_what_is_not_the_largest_gets_0_of_any_gradient_and_so_does_nan() -> None:
    x = np.array([1, 2, np.nan, 3], np.float32).reshape(1, 2, 2, 1)
    s = tiling((1, 2), (2, 1))
    y = largest(x, s)
    g = np.array([np.inf, np.nan], np.float32).reshape(1, 2, 1, 1)
    np.testing.assert_array_equal(spread(x, y, g, s).ravel(), [0, np.inf, 0, np.nan])
