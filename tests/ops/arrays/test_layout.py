"""Transposing, repeating and padding."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph
from actorsession.ops.arrays.joining import stack
from actorsession.ops.arrays.layout import invert_permutation, pad, tile, transpose
from actorsession.ops.build import constant
from tests.ops.cases import computed, expect, f32, i32, i64, static_shape
from tests.ops.interpreter import check_gradient, source
from tests.rows import for_each

A = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
M = np.arange(6, dtype=np.float32).reshape(2, 3)
WORDS = np.array([[b"a", b"bc"], [b"", b"d"]], object)


# -- transpose -------------------------------------------------------------------------------------


@for_each("perm", list(itertools.permutations(range(3))), ids=str)
def test_transpose_puts_axes_in_any_order(perm: Any) -> None:
    expect(lambda x: transpose(x, perm), A.transpose(perm), A)
    expect(lambda x, p: transpose(x, p), A.transpose(perm), A, i32(perm))


@for_each("value", [A, M, f32([1, 2]), f32(1), WORDS], ids=str)
def test_transpose_reverses_all_axes_if_no_order_is_given(value: Any) -> None:
    expect(transpose, value.T, value)


def test_transpose_counts_negative_axes_from_the_end() -> None:
    expect(lambda x: transpose(x, [-1, 0, 1]), A.transpose(2, 0, 1), A)


def test_the_static_shape_of_a_transpose() -> None:
    assert static_shape(lambda x: transpose(x, [2, 0, 1]), [None, 4, 5]) == [5, None, 4]
    assert static_shape(transpose, [None, 4]) == [4, None]
    assert static_shape(lambda x: transpose(x, [1, 0]), None) == [None, None]


@pytest.mark.parametrize("perm", [[0, 0, 1], [0, 1, 3], [0, 1]], ids=str)
def test_what_is_no_order_of_the_axes_is_refused(perm: Any) -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="Transpose"):
        transpose(source("float32", [3, 4, 5]), perm)
    with pytest.raises(InvalidArgumentError, match="no order of 3 axes"):
        computed(lambda x: transpose(x, perm), A, known=False)


def test_the_gradient_of_a_transpose_is_transposed_back() -> None:
    check_gradient(lambda x: transpose(x, [1, 2, 0]), A)
    check_gradient(transpose, A)
    check_gradient(lambda x, p: transpose(x, p), A, i32([1, 2, 0]))
    check_gradient(lambda x, p: transpose(x, p), A, i32([-2, -1, 0]))


def test_invert_permutation_undoes_an_order() -> None:
    expect(invert_permutation, i32([2, 0, 1]), i32([1, 2, 0]))


def test_invert_permutation_of_something_else_fails() -> None:
    with pytest.raises(InvalidArgumentError, match=r"\[1, 1\] does not hold 0 to 1 once each"):
        computed(invert_permutation, i32([1, 1]))


# -- tile ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("multiples", [[2, 1, 3], [1, 1, 1], [0, 1, 2]], ids=str)
def test_tile_repeats_along_each_axis(multiples: Any) -> None:
    expect(lambda x: tile(x, multiples), np.tile(A, multiples), A)
    expect(lambda x, m: tile(x, m), np.tile(A, multiples), A, i32(multiples))


def test_tile_of_vectors_and_strings() -> None:
    expect(lambda x: tile(x, [3]), np.tile(M[0], 3), M[0])
    expect(lambda x: tile(x, [0]), M[0][:0], M[0])
    expect(lambda x: tile(x, [1, 2]), np.tile(WORDS, (1, 2)), WORDS)


def test_the_static_shape_of_a_tile() -> None:
    assert static_shape(lambda x: tile(x, [2, 3]), [None, 4]) == [None, 12]
    assert static_shape(lambda x: tile(x, [2, 3]), None) == [None, None]


def test_a_tile_that_can_never_fit_is_refused() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="2 multiples for the shape"):
        tile(source("float32", [3]), [1, 2])
    with Graph().as_default(), pytest.raises(ValueError, match="at least 0"):
        tile(source("float32", [3]), [-1])
    with pytest.raises(InvalidArgumentError, match=r"needs 2 multiples .* got \[1\]"):
        computed(lambda x: tile(x, [1]), M, known=False)


@pytest.mark.parametrize("multiples", [[2, 3], [1, 1]], ids=str)
def test_the_gradient_of_a_tile_is_summed_over_the_repeats(multiples: Any) -> None:
    check_gradient(lambda x: tile(x, multiples), M)
    check_gradient(lambda x, m: tile(x, m), M, i32(multiples))


# -- pad -------------------------------------------------------------------------------------------

MARGINS = [[1, 2], [0, 1]]


def test_pad_adds_a_margin_of_zeros() -> None:
    expect(lambda x: pad(x, MARGINS), np.pad(M, MARGINS), M)
    expect(lambda x, p: pad(x, p), np.pad(M, MARGINS), M, i64(MARGINS))


def test_pad_adds_a_margin_of_a_number() -> None:
    wanted = np.pad(M, MARGINS, constant_values=2.5)
    expect(lambda x: pad(x, MARGINS, constant_values=2.5), wanted, M)
    expect(lambda x, c: pad(x, MARGINS, constant_values=c), wanted, M, f32(2.5))


@pytest.mark.parametrize("mode", ["REFLECT", "symmetric"])
def test_pad_mirrors(mode: Any) -> None:
    margins = [[1, 1], [2, 0]]
    expect(lambda x: pad(x, margins, mode), np.pad(M, margins, mode=mode.lower()), M)


def test_pad_of_strings_adds_empty_ones() -> None:
    wanted = np.array([[b"a", b"bc", b""], [b"", b"d", b""]], object)
    expect(lambda x: pad(x, [[0, 0], [0, 1]]), wanted, WORDS)


def test_the_static_shape_of_a_pad() -> None:
    assert static_shape(lambda x: pad(x, MARGINS), [None, 4]) == [None, 5]
    assert static_shape(lambda x: pad(x, MARGINS), None) == [None, None]


@pytest.mark.parametrize(
    ("margins", "message"),
    [([[1, 2]], r"\[rank, 2\]"), ([[1, 2, 3]] * 2, r"\[rank, 2\]"), ([[-1, 0]] * 2, "at least 0")],
)
def test_a_margin_that_can_never_fit_is_refused(margins: Any, message: Any) -> None:
    with Graph().as_default(), pytest.raises(ValueError, match=message):
        pad(source("float32", [2, 3]), margins)


def test_a_margin_that_does_not_fit_fails_in_the_step() -> None:
    with pytest.raises(InvalidArgumentError, match=r"\[2, 3\] needs 2 pairs"):
        computed(lambda x, p: pad(x, p), M, i32([[-1, 0], [0, 0]]))
    with pytest.raises(InvalidArgumentError, match="reach over shape"):
        computed(lambda x: pad(x, [[2, 0], [0, 0]], "REFLECT"), M)


@pytest.mark.parametrize("mode", ["CONSTANT", "REFLECT"])
def test_paddings_whose_value_is_known_can_no_longer_be_fed(mode: str) -> None:
    with Graph().as_default() as graph:
        known, fed, part = constant(MARGINS), source("int32", [2, 2]), constant(1)
        rows = stack([[part, source("int32", [])], [1, 1]])
        for margins in (known, fed, rows):
            pad(constant(M), margins, mode)
        assert [graph.is_feedable(t) for t in (known, fed, rows, part)] == [
            False, True, False, False,
        ]  # fmt: skip


def test_an_unknown_mode_is_refused() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="CONSTANT, REFLECT or SYMMETRIC"):
        pad(constant(M), MARGINS, "WRAP")


def test_the_gradient_of_a_pad_is_its_inside() -> None:
    check_gradient(lambda x: pad(x, MARGINS), M)
    check_gradient(lambda x, p: pad(x, p), M, i32(MARGINS))
    check_gradient(lambda x: pad(x, MARGINS, constant_values=3.0), M)
