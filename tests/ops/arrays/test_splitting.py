"""One tensor into several along an axis that stays."""

from __future__ import annotations

import numpy as np
import pytest

from actorsession import constant, split
from tests.ops.interpreter import evaluate, source

A = np.arange(48, dtype=np.float32).reshape(3, 4, 4)


def test_a_split_by_fed_lengths_needs_their_number() -> None:
    with pytest.raises(ValueError, match="needs num"):
        split(constant(A), source("int32", [None]))


def test_one_length_of_a_split_may_be_left_open() -> None:
    x = source("float32", [2, 5])
    assert [part.shape.as_list() for part in split(x, [-1, 2], 1)] == [[2, 3], [2, 2]]
    with pytest.raises(ValueError, match="one length may be -1"):
        split(x, [-1, -1], 1)


def test_nothing_is_split_into_no_pieces() -> None:
    with pytest.raises(ValueError, match="at least one piece"):
        split(source("float32", [3, 4]), 0, 1)


def test_pieces_of_a_tensor_of_which_the_rank_alone_is_known() -> None:
    x = source("float32", [None, None])
    found = evaluate(split(x, 2, 1), {x: A[0]})
    np.testing.assert_array_equal(found, [A[0, :, :2], A[0, :, 2:]])
