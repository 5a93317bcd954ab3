"""Patches of images: names of arguments, static shapes, second derivatives, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession.graph.graph import Graph
from actorsession.ops.build import constant
from actorsession.ops.derivatives.gradients import gradients
from actorsession.opsets.images.patches import extract_patches
from tests.ops.cases import computed, static_shape
from tests.ops.interpreter import check_gradient
from tests.rows import for_each

IMAGE = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
ONES, TWOS = [1, 1, 1, 1], [1, 2, 2, 1]


def test_patches_are_laid_out_by_rows_in_the_depth() -> None:
    found = computed(lambda x: extract_patches(x, TWOS, TWOS, ONES, "VALID"), IMAGE)
    assert found[0].tolist() == [
        [[0, 1, 4, 5], [2, 3, 6, 7]],
        [[8, 9, 12, 13], [10, 11, 14, 15]],
    ]


def test_shapes_are_known_as_far_as_the_image_is() -> None:
    assert static_shape(
        lambda x: extract_patches(x, TWOS, ONES, ONES, "VALID"), [None, 5, None, 3]
    ) == [None, 4, None, 12]


@for_each(
    "sizes, padding, words",
    [
        ([2, 2, 2, 1], "SAME", r"ksizes are \[1, rows, columns, 1\]"),
        ([1, 0, 2, 1], "SAME", "at least 1"),
        ([2, 2], "SAME", "ksizes"),
        (TWOS, "FULL", "SAME or VALID, got 'FULL'"),
    ],
    ids=str,
)
def test_other_sizes_and_paddings_are_refused(sizes: Any, padding: Any, words: Any) -> None:
    with Graph().as_default(), pytest.raises(ValueError, match=words):
        extract_patches(IMAGE, sizes, ONES, ONES, padding)


def test_the_gradient_can_be_differentiated_again() -> None:
    def slope(x: Any) -> Any:
        patches = extract_patches(x, TWOS, ONES, ONES, "SAME")
        return gradients(patches * patches * patches, x)[0]

    check_gradient(slope, IMAGE[:, :3, :3])
    with Graph().as_default():
        assert slope(constant(IMAGE)).shape.is_compatible_with(IMAGE.shape)
