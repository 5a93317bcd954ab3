"""Blocks in the batch: images, and the margins that blocks need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import constant
from actorsession.graph.graph import constant_value
from actorsession.ops.arrays.batch_blocks import batch_to_space
from tests.ops.cases import expect, i32, static_shape
from tests.ops.interpreter import evaluate, source

IMAGE = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
NO_MARGIN = [[0, 0], [0, 0]]


def test_space_to_batch_is_undone_by_batch_to_space() -> None:
    expect(lambda x: batch_to_space(acts.nn.space_to_batch(x, NO_MARGIN, 2), NO_MARGIN, 2), IMAGE, IMAGE)
    wanted = np.stack([IMAGE[0, i::2, j::2] for i in range(2) for j in range(2)])
    expect(lambda x: acts.nn.space_to_batch(x, NO_MARGIN, block_shape=2), wanted, IMAGE)


def test_images_have_rank_4() -> None:
    assert static_shape(lambda x: acts.nn.space_to_batch(x, NO_MARGIN, 2), None) == [None] * 4
    assert static_shape(lambda x: batch_to_space(x, NO_MARGIN, 2), [8, None, 3, 1]) == [2, None, 6, 1]


def test_a_block_has_one_size_under_one_name() -> None:
    with pytest.raises(TypeError, match="one of block_size and block_shape"):
        acts.nn.space_to_batch(IMAGE, NO_MARGIN)
    with pytest.raises(ValueError, match="one of block_size and block_shape"):
        batch_to_space(IMAGE, NO_MARGIN, 2, block_shape=2)


def test_strings_are_padded_with_empty_ones() -> None:
    words = np.array([[b"a", b"b", b"c"]], object)
    wanted = np.array([[b"a", b"c"], [b"b", b""]], object)
    expect(lambda x: acts.arrays.space_to_batch_nd(x, [2], [[0, 1]]), wanted, words)


@pytest.mark.parametrize("base", [None, [[1, 0], [0, 1]]], ids=str)
def test_required_paddings_make_the_least_whole_number_of_blocks(base: Any) -> None:
    wanted = [[[0, 1], [0, 2]], [[0, 1], [0, 2]]] if base is None else [[[1, 0], [0, 2]], [[0, 0], [0, 1]]]
    known = acts.arrays.required_space_to_batch_paddings([5, 6], [2, 4], base)
    values = [constant_value(t) for t in known]
    assert [v.tolist() for v in values if v is not None] == wanted
    extents = source("int32", [2])
    computed_ones = acts.arrays.required_space_to_batch_paddings(extents, [2, 4], base)
    found = evaluate(computed_ones, {extents: i32([5, 6])})
    assert [v.tolist() for v in found] == wanted


def test_required_paddings_need_a_known_number_of_axes() -> None:
    with pytest.raises(ValueError, match="one known length"):
        acts.arrays.required_space_to_batch_paddings([1, 2], source("int32", [None]))
    with pytest.raises(ValueError, match=r"shape \[2, 2\], got"):
        acts.arrays.required_space_to_batch_paddings([1, 2], [1, 2], constant([[1, 2]]))
