"""Large convolutions share their blocks out among threads, with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession.ops.convolutions import kernels
from actorsession.ops.convolutions.kernels import Sliding, convolved, filter_gradient, input_gradient
from actorsession.ops.shares import in_shares
from tests.rows import for_each


def results(batch: int, size: int, channels: int, deep: int, stride: int) -> list[Any]:
    random = np.random.default_rng(3)
    count = -(-size // stride)
    reach = (count - 1) * stride + 3 - size
    pads = ((reach // 2, reach - reach // 2),) * 2
    s = Sliding((count, count), (3, 3), (stride, stride), (1, 1), pads)
    x = random.normal(size=(batch, size, size, channels))
    f = random.normal(size=(3, 3, channels, deep))
    g = random.normal(size=(batch, count, count, deep))
    return [convolved(x, f, s), filter_gradient(x, g, s), input_gradient(f, g, s, (size, size))]


@for_each(
    "batch, size, channels, deep, stride",
    [
        (5, 12, 1, 4, 1),  # few channels: laid out position by position
        (5, 12, 24, 8, 1),  # rows of the image
        (4, 13, 24, 8, 2),  # strides: one product and many additions
        (3, 90, 40, 4, 1),  # images larger than a block, whose rows overlap
        (1, 9, 3, 2, 1),  # nothing to share
    ],
)
def test_the_results_do_not_depend_on_the_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, batch: int, size: int, channels: int, deep: int, stride: int
) -> None:
    asked: list[int] = []

    def count(work: Any, items: Any, multiplications: int) -> Any:
        asked.append(multiplications)
        return in_shares(work, items, 3)

    alone = results(batch, size, channels, deep, stride)
    monkeypatch.setattr(kernels, "share_products", count)
    shared = results(batch, size, channels, deep, stride)
    assert len(asked) == 3
    for one, other in zip(alone, shared, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
