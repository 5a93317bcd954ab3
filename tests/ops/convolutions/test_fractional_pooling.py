"""Pools over regions that are drawn: which ones there can be; values for given regions are in the table."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from actorsession import nn
from tests.ops.interpreter import Program, Variables
from tests.rows import refusing

IMAGES = np.random.default_rng(9).normal(size=(1, 11, 17, 1)).astype(np.float32)
RATIO = [1.0, 1.5, 2.4, 1.0]


def drawn(made: Any, times: int) -> list[tuple[Any, ...]]:
    """What comes out of so many steps."""
    program = Program(list(made), variables=Variables())
    return [tuple(program.run()) for _ in range(times)]


@pytest.mark.parametrize("even", [False, True])
def test_regions_differ_in_size_by_one_and_from_step_to_step(even: bool) -> None:
    made = nn.fractional_max_pool(IMAGES, RATIO, pseudo_random=even)
    assert (made.output.shape.as_list(), made.row_pooling_sequence.shape.as_list()) == ([1, 7, 7, 1], [None])
    steps = drawn(made, 20)
    for output, rows, columns in steps:
        for starts, size in ((rows, 11), (columns, 17)):
            assert (starts[0], starts[-1]) == (0, size)
            assert set(np.diff(starts)) <= {size // 7, size // 7 + 1}
        wanted = [
            [IMAGES[0, a:b, c:d].max() for c, d in itertools.pairwise(columns)] for a, b in itertools.pairwise(rows)
        ]
        np.testing.assert_array_equal(output[0, ..., 0], wanted)
    assert len({tuple(rows.tolist()) for _, rows, _ in steps}) > 1


def test_regions_stay_on_request() -> None:
    made = nn.fractional_avg_pool(IMAGES, RATIO, deterministic=True, seed=3, seed2=4)
    again = nn.fractional_avg_pool(IMAGES, RATIO, deterministic=True, seed=3, seed2=4)
    other = nn.fractional_avg_pool(IMAGES, RATIO, deterministic=True)
    found = [drawn(each, 3) for each in (made, again, other)]
    for steps in found:
        for step in steps[1:]:
            for value, first in zip(step, steps[0], strict=True):
                np.testing.assert_array_equal(value, first)
    np.testing.assert_array_equal(found[0][0][0], found[1][0][0])


def _pool(ratio: Any, images: Any = IMAGES, **more: Any) -> Any:
    return lambda: nn.fractional_max_pool(images, ratio, **more)


test_ratios_seeds_and_numbers_that_cannot_be_are_refused = refusing(
    (_pool([1.0, 0.5, 1.0, 1.0]), ValueError, "none smaller than 1"),
    (_pool([2.0, 1.0, 1.0, 1.0]), ValueError, "pooling_ratio is"),
    (_pool([1.0, 2.0]), ValueError, "pooling_ratio is"),
    (_pool([1.0, 12.0, 1.0, 1.0]), ValueError, "is higher than the size of 11"),
    (_pool(RATIO, seed=1), ValueError, "should be 0 if deterministic is false"),
    (_pool(RATIO, IMAGES.astype(np.float16)), TypeError, "takes float32, float64, int32, int64"),
)
