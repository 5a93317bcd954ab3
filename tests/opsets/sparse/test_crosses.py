"""Crosses of features: values as TensorFlow gives them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from actorsession import SparseTensor, sparse
from actorsession.errors import InvalidArgumentError
from tests.ops.interpreter import evaluate

WORDS = np.array([[b"a", b"bb"], [b"c", b""]], object)


def numbers() -> SparseTensor:
    return SparseTensor([[0, 0], [0, 1], [1, 0]], np.array([3, -4, 5], np.int64), [2, 2])


def test_a_row_has_all_combinations_of_its_values() -> None:
    made = sparse.cross([WORDS, numbers()])
    places, values, extent = evaluate([made.indices, made.values, made.dense_shape])
    assert values.tolist() == [b"3_X_a", b"3_X_bb", b"-4_X_a", b"-4_X_bb", b"5_X_c", b"5_X_"]
    assert places.tolist() == [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]]
    assert extent.tolist() == [2, 4]


def test_buckets_are_tensorflows() -> None:
    few = sparse.cross_hashed([WORDS, numbers(), np.array([[7], [8]])], 100)
    whole = sparse.cross_hashed([WORDS, numbers()], hash_key=12)
    found = evaluate([few.values, whole.values])
    assert found[0].tolist() == [86, 24, 83, 51, 13, 42]
    assert found[1].tolist()[:2] == [8962303157893995366, 8940916926205232132]


def test_inputs_have_as_many_rows() -> None:
    with pytest.raises(InvalidArgumentError, match="as many rows"):
        evaluate([sparse.cross([WORDS, WORDS[:1]]).values])
    with pytest.raises(TypeError, match="list of matrices"):
        sparse.cross([])
