"""Blocks in the depth of images."""

from __future__ import annotations

import numpy as np
import pytest

import actorsession as acts
from tests.ops.cases import expect

IMAGE = np.arange(24, dtype=np.float32).reshape(1, 4, 6, 1)


def test_depth_to_space_undoes_space_to_depth() -> None:
    expect(lambda x: acts.nn.depth_to_space(acts.nn.space_to_depth(x, 2), 2), IMAGE, IMAGE)


def test_the_depth_of_a_pixel_is_a_square_read_by_rows() -> None:
    expect(lambda x: acts.nn.space_to_depth(x, 2)[0, 0, 1], np.array([2, 3, 8, 9], np.float32), IMAGE)


def test_other_sizes_and_layouts_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 2, got 1"):
        acts.nn.space_to_depth(IMAGE, 1)
    with pytest.raises(ValueError, match="NHWC or NCHW, got 'ZZ'"):
        acts.nn.depth_to_space(IMAGE, 2, data_format="ZZ")
