"""Matrices turned, and the namespace ``manip``."""

from __future__ import annotations

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops
from tests.ops.cases import expect, static_shape
from tests.ops.interpreter import check_gradient, source

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_matrix_transpose_exchanges_the_last_two_axes() -> None:
    expect(acts.linalg.matrix_transpose, CUBE.transpose(0, 2, 1), CUBE)
    check_gradient(acts.linalg.matrix_transpose, CUBE)
    assert static_shape(acts.linalg.matrix_transpose, [None, 3, 4]) == [None, 4, 3]


def test_complex_elements_are_conjugated_if_asked() -> None:
    value = CUBE[0] * np.complex64(1 + 2j)
    expect(lambda x: acts.linalg.matrix_transpose(x, conjugate=True), value.T.conj(), value)
    expect(lambda x: ops.transpose(x, conjugate=True), value.T.conj(), value)
    expect(ops.transpose, value.T, value)


def test_real_elements_are_only_turned() -> None:
    assert ops.transpose(CUBE, conjugate=True).op.type == "Transpose"
    assert ops.transpose(CUBE.astype("D"), conjugate=True).op.type == "ConjugateTranspose"


def test_a_vector_is_no_matrix() -> None:
    with pytest.raises(ValueError, match="takes matrices"):
        acts.linalg.matrix_transpose(source("float32", [3]))
