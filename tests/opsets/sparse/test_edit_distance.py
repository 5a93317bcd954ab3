"""Edit distances: what is taken, and static shapes."""

from __future__ import annotations

import numpy as np
import pytest

from actorsession import Graph, SparseTensor
from actorsession.errors import InvalidArgumentError
from actorsession.opsets.sparse.basics import SparseTensorValue
from actorsession.opsets.sparse.edit_distance import edit_distance
from tests.ops.cases import i64
from tests.ops.interpreter import evaluate, source
from tests.rows import refusing


def _word(text: str) -> SparseTensorValue:
    """The letters of a word as a row of one."""
    letters = np.array([letter.encode() for letter in text], object)
    indices = np.array([[0, i] for i in range(len(text))], np.int64).reshape(-1, 2)
    return SparseTensorValue(indices, letters, i64([1, len(text)]))


def test_the_shape_is_known_if_both_shapes_are() -> None:
    assert edit_distance(_word("a"), _word("b")).shape.as_list() == [1]
    parts = source("int64", [None, 3]), source("int32", [None]), source("int64", [3])
    hidden = SparseTensor(*parts)
    assert edit_distance(hidden, hidden).shape.as_list() == [None, None]


def test_a_sequence_may_be_longer_than_the_shape_says() -> None:
    word = SparseTensor(i64([[0, 0], [0, 1], [0, 2]]), ["a", "b", "c"], i64([1, 1]))
    assert evaluate([edit_distance(word, _word("abd"), normalize=False)])[0].tolist() == [1.0]


def test_sequences_outside_the_shape_are_refused() -> None:
    with Graph().as_default():
        bad = SparseTensor(i64([[4, 0]]), [1], i64([1, 2]))
        with pytest.raises(InvalidArgumentError, match=r"truth: \[4, 0\] does not index"):
            evaluate([edit_distance(SparseTensor(i64([[0, 0]]), [1], i64([1, 2])), bad)])


def _numbers(rank: int) -> SparseTensor:
    return SparseTensor(i64([[0] * rank]), [1], i64([1] * rank))


test_sparse_tensors_of_one_rank_and_dtype_are_taken = refusing(
    (lambda: edit_distance([1], _word("a")), TypeError, "hypothesis is a SparseTensor"),
    (lambda: edit_distance(_numbers(2), _word("a")), TypeError, "one dtype"),
    (lambda: edit_distance(_numbers(2), _numbers(3)), ValueError, "one rank"),
)
