"""Patches of images: names of arguments, static shapes, second derivatives, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from tests.rows import for_each

IMAGE = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
ONES, TWOS = [1, 1, 1, 1], [1, 2, 2, 1]


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
    with pytest.raises(ValueError, match=words):
        acts.image.extract_patches(IMAGE, sizes, ONES, ONES, padding)


@for_each("shape", [[0, 5, 5, 2], [1, 0, 5, 2], [1, 5, 0, 2], [1, 5, 5, 0], [0, 0, 0, 0]], ids=str)
def test_patches_of_no_elements_and_their_gradient_have_none(shape: list[int]) -> None:
    """TensorFlow has no gradient where the batch is empty."""
    x = np.ones(shape, np.float32)
    with acts.Graph().as_default(), acts.Session() as session:
        fed = acts.placeholder(acts.float32, [None] * 4)
        made = acts.image.extract_patches(fed, [1, 3, 3, 1], ONES, ONES, "SAME")
        patches, slope = session.run([made, acts.gradients(made, fed)[0]], {fed: x})
    assert patches.shape == (*shape[:3], 9 * shape[3])
    assert slope.shape == x.shape


def test_a_patch_far_larger_than_the_image_is_refused() -> None:
    with acts.Graph().as_default(), acts.Session() as session:
        with pytest.raises(ValueError, match="output size would be negative"):
            acts.image.extract_patches(acts.zeros([1, 0, 5, 2]), [1, 3, 3, 1], ONES, ONES, "VALID")
        fed = acts.placeholder(acts.float32, [None] * 4)
        made = acts.image.extract_patches(fed, [1, 3, 3, 1], ONES, ONES, "VALID")
        assert session.run(made, {fed: np.ones([1, 2, 2, 1])}).shape == (1, 0, 0, 9)
        with pytest.raises(acts.errors.InvalidArgumentError, match="would be negative"):
            session.run(made, {fed: np.ones([1, 0, 5, 2])})
