"""Diagonals of many matrices: sizes that are left open, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.errors import InvalidArgumentError
from tests.ops.cases import computed, expect, f32, i32
from tests.ops.interpreter import source
from tests.rows import for_each

V = f32([1, 2])


@for_each(
    "k, sizes, wanted",
    [
        (0, (-1, -1), np.diag(V)),
        (1, (-1, -1), np.diag(V, 1)),
        (-1, (-1, -1), np.diag(V, -1)),
        (1, (2, -1), np.diag(V, 1)[:2]),
        (0, (2, 4), np.eye(2, 4) * [[1], [2]]),
        (0, (-1, 4), np.eye(2, 4) * [[1], [2]]),
        (-1, (-1, 2), np.diag(V, -1)[:, :2]),
    ],
    ids=str,
)
def test_matrices_are_as_small_as_the_diagonals_need(k: Any, sizes: Any, wanted: Any) -> None:
    expect(lambda x: acts.linalg.diag(x, k=k, num_rows=sizes[0], num_cols=sizes[1]), wanted.astype("f"), V)
    known = acts.linalg.diag(V, k=k, num_rows=sizes[0], num_cols=sizes[1])
    assert known.shape.as_list() == list(wanted.shape)


@pytest.mark.parametrize("sizes", [(3, 4), (1, -1), (-1, 1)], ids=str)
def test_sizes_that_the_diagonals_do_not_fill_are_refused(sizes: Any) -> None:
    rows, columns = sizes
    with pytest.raises(ValueError, match="are those of matrices of"):
        acts.linalg.diag(V, k=0, num_rows=rows, num_cols=columns)
    with pytest.raises(InvalidArgumentError, match="are those of matrices of"):
        computed(lambda x: acts.linalg.diag(x, "d", 0, rows, columns), V, known=False)


def test_which_diagonals_may_be_known_late() -> None:
    m = np.arange(12, dtype=np.float32).reshape(3, 4)
    expect(lambda x, k: acts.linalg.diag_part(x, k=k), np.diagonal(m, -1), m, i32(-1))
    expect(lambda x, k: acts.linalg.diag_part(x, k=k), f32([[1, 6, 11], [0, 5, 10]]), m, i32([0, 1]))
    expect(lambda x, k: acts.linalg.set_diag(x, V, k=k)[1, 0], f32(1), m[:3, :3].copy(), i32([-1]))


def test_padding_is_false_or_empty_where_there_are_no_numbers() -> None:
    yes = np.array([True, True])
    expect(acts.linalg.diag, np.eye(2, dtype=bool), yes)
    words = np.array([b"a", b"b"], object)
    expect(acts.linalg.diag, np.array([[b"a", b""], [b"", b"b"]], object), words)


def test_diagonals_are_named_lowest_first_and_exist() -> None:
    with pytest.raises(ValueError, match="lowest and the highest"):
        acts.linalg.diag_part(np.eye(3), k=[1, 0])
    with pytest.raises(ValueError, match="no diagonal -3"):
        acts.linalg.diag_part(np.eye(3), k=[-3, 0])
    with pytest.raises(ValueError, match="3 diagonals were announced, got 2"):
        acts.linalg.diag(np.ones([2, 4]), k=[-1, 1])
    with pytest.raises(ValueError, match="align is one of"):
        acts.linalg.diag_part(np.eye(3), align="UP_DOWN")
    with pytest.raises(TypeError, match="float64"):
        acts.linalg.set_diag(np.eye(2), source("float32", [2]))
