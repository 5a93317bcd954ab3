"""Choosing by truth and by row, and masks of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, IndexedSlices, boolean_mask, constant
from actorsession.errors import InvalidArgumentError
from tests.ops.cases import computed, expect, f32, i32, i64, static_shape
from tests.ops.interpreter import check_gradient, evaluate, source

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
ROWS = np.array([True, False])
CELLS = np.array([[True, False, True], [False, False, True]])


# -- boolean_mask ----------------------------------------------------------------------------------


def _masked(tensor: Any, mask: Any, shape: Any = None, axis: int | None = None) -> Any:
    """The mask's rank must be known; its dimensions may be hidden."""
    with Graph().as_default():
        value = source("float32", shape)
        chosen = source("bool", [None] * mask.ndim)
        out = boolean_mask(value, chosen, axis=axis)
        [found] = evaluate([out], {value: tensor, chosen: mask})
    return found


@pytest.mark.parametrize("shape", [None, [None, 3, None], [2, 3, 4]], ids=str)
def test_boolean_mask_takes_the_parts_that_are_true(shape: Any) -> None:
    np.testing.assert_array_equal(_masked(CUBE, ROWS, shape), CUBE[ROWS])
    np.testing.assert_array_equal(_masked(CUBE, CELLS, shape), CUBE[CELLS])
    np.testing.assert_array_equal(_masked(CUBE, CUBE > 9, shape), CUBE[CUBE > 9])


@pytest.mark.parametrize("shape", [None, [2, 3, 4]], ids=str)
def test_boolean_mask_may_begin_at_any_axis(shape: Any) -> None:
    wanted = CUBE[:, CELLS[0]]
    np.testing.assert_array_equal(_masked(CUBE, CELLS[0], shape, axis=1), wanted)
    if shape is not None:
        np.testing.assert_array_equal(_masked(CUBE, CELLS[0], shape, axis=-2), wanted)


def test_boolean_mask_of_nothing_is_empty() -> None:
    expect(lambda x: boolean_mask(x, [False, False]), CUBE[:0], CUBE)


def test_boolean_mask_knows_what_is_behind_the_mask() -> None:
    assert static_shape(lambda x: boolean_mask(x, ROWS), [2, 3, 4]) == [None, 3, 4]
    assert static_shape(lambda x: boolean_mask(x, CELLS), [2, 3, None]) == [None, None]
    assert static_shape(lambda x: boolean_mask(x, CELLS[0], axis=1), [2, 3, 4]) == [2, None, 4]


def test_boolean_mask_refuses_scalars_unknown_ranks_and_other_shapes() -> None:
    x = source("float32", [2, 3])
    for mask, words in (
        (constant(True), "known rank"),
        (source("bool"), "known rank"),
        (constant([True, False, True]), r"\(3,\) from axis 0"),
        (constant(np.ones([2, 3, 1], bool)), "does not fit"),
    ):
        with pytest.raises(ValueError, match=words):
            boolean_mask(x, mask)
    with pytest.raises(ValueError, match="unknown rank"):
        boolean_mask(source("float32"), ROWS, axis=-1)


def test_the_gradient_of_boolean_mask_is_zero_where_the_mask_is_false() -> None:
    check_gradient(lambda x: boolean_mask(x, CELLS), CUBE)
    check_gradient(lambda x: boolean_mask(x, CELLS[1], axis=1), CUBE)


def test_square_brackets_take_a_mask() -> None:
    x = constant(CUBE)
    [found] = evaluate([x[x > 5]])
    np.testing.assert_array_equal(found, CUBE[CUBE > 5])


# -- sequence_mask ---------------------------------------------------------------------------------


def test_sequence_mask_is_true_up_to_each_length() -> None:
    wanted = np.array([[True, False, False], [True, True, True], [False, False, False]])
    expect(lambda n: acts.arrays.sequence_mask(n, 3), wanted, i32([1, 3, 0]))
    expect(lambda n: acts.arrays.sequence_mask(n), wanted, i64([1, 3, 0]))
    expect(lambda n: acts.arrays.sequence_mask(n, 2), wanted[:, :2], i32([1, 5, 0]))
    expect(lambda n: acts.arrays.sequence_mask(n, 3, "float32"), wanted.astype(np.float32), i32([1, 3, 0]))


def test_sequence_mask_puts_its_axis_behind_those_of_the_lengths() -> None:
    wanted = np.arange(4) < np.array([[1, 2], [0, 4]])[..., None]
    expect(lambda n: acts.arrays.sequence_mask(n, 4), wanted, i32([[1, 2], [0, 4]]))
    expect(lambda n: acts.arrays.sequence_mask(n, i64(4)), wanted, i32([[1, 2], [0, 4]]))
    assert acts.arrays.sequence_mask(source("int32", [None, 2]), 7).shape.as_list() == [None, 2, 7]


def test_sequence_mask_of_lengths_that_are_all_negative_is_empty() -> None:
    expect(lambda n: acts.arrays.sequence_mask(n), np.zeros([1, 0], bool), i32([-2]))


def test_the_longest_of_sequences_is_a_scalar() -> None:
    with pytest.raises(ValueError, match="maxlen is a scalar"):
        acts.arrays.sequence_mask([1], [3])


# -- batch_gather, sparse_mask ---------------------------------------------------------------------


def test_batch_gather_looks_up_in_each_entry_of_the_batch() -> None:
    index = i32([[0, 2], [1, 1]])
    wanted = np.stack([CUBE[0][index[0]], CUBE[1][index[1]]])
    expect(lambda x: acts.arrays.batch_gather(x, index), wanted, CUBE)
    expect(lambda x: acts.arrays.batch_gather(x, i32([1, 0])), CUBE[[1, 0]], CUBE)
    check_gradient(lambda x: acts.arrays.batch_gather(x, index), CUBE)


def test_batch_gather_needs_to_know_the_rank_of_the_indices() -> None:
    for indices in (source("int32"), constant(1)):
        with pytest.raises(ValueError, match="known rank, at least 1"):
            acts.arrays.batch_gather(CUBE, indices)


def test_batch_gather_refuses_what_is_outside() -> None:
    with pytest.raises(InvalidArgumentError, match=r"not in \[0, 3\)"):
        computed(lambda x: acts.arrays.batch_gather(x, i32([[0], [3]])), CUBE, known=False)


def test_sparse_mask_leaves_out_slices_by_index() -> None:
    rows = IndexedSlices(constant(f32([[1], [2], [3]])), constant(i32([4, 0, 7])))
    left = acts.sparse.mask(rows, [0, 5])
    values, indices = evaluate([left.values, left.indices])
    assert values.tolist() == [[1], [3]]
    assert indices.tolist() == [4, 7]
