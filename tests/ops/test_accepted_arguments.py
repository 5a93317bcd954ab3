"""Arguments that programs for TensorFlow give to array ops, in every spelling that it takes."""

from __future__ import annotations

import numpy as np

from actorsession import ops
from tests.ops.cases import expect, f32, i32, i64

M = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_where_takes_numbers_for_truth_if_only_places_are_asked_for() -> None:
    expect(lambda x: ops.where(x), i64([[0, 1], [1, 0]]), f32([[0, 2], [-1, 0]]))
    expect(lambda x: ops.where(x), i64([[1]]), np.array([0j, 1j]))


def test_a_scalar_is_tiled_along_no_axes() -> None:
    expect(lambda x: ops.tile(x, []), f32(3), f32(3))


def test_the_name_of_a_strided_slice_comes_behind_its_masks() -> None:
    out = ops.strided_slice(M, [0], [1], [1], 0, 0, 0, 0, 0, "part")
    assert out.op.name == "part"


def test_zeros_and_ones_like_take_whether_to_optimise() -> None:
    expect(lambda x: ops.zeros_like(x, "int32", None), np.zeros([2, 3], np.int32), M)
    expect(lambda x: ops.ones_like(x, optimize=False), np.ones([2, 3], np.float32), M)


def test_parts_are_split_by_numbers_lists_and_tensors() -> None:
    for sizes in ([1, 2], i32([1, -1]), i64([1, 2])):
        expect(lambda x, s=sizes: ops.split(x, s, axis=-1), [M[:, :1], M[:, 1:]], M)
    expect(lambda x, s: ops.split(x, s, 1, num=2), [M[:, :1], M[:, 1:]], M, i32([1, 2]))
