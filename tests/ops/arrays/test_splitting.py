"""One tensor into several along an axis that stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph
from actorsession.ops.arrays.splitting import split
from actorsession.ops.build import constant
from tests.ops.cases import computed, expect, i32, static_shape
from tests.ops.interpreter import check_gradient, source
from tests.rows import for_each

A = np.arange(48, dtype=np.float32).reshape(3, 4, 4)


@for_each("num, axis", [(2, 1), (4, -1), (3, 0), (1, 0)])
def test_split_cuts_equal_pieces(num: Any, axis: Any) -> None:
    pieces = np.split(A, num, axis)
    expect(lambda x: split(x, num, axis), pieces, A)
    expect(lambda x, a: split(x, num, a), pieces, A, i32(axis))


@for_each("sizes", [[1, 3], [4], [0, 4, 0], [2, -1], [-1, 1, 1]], ids=str)
@for_each("axis", [1, -1])
def test_split_cuts_pieces_by_length(sizes: Any, axis: Any) -> None:
    rest = 4 - sum(s for s in sizes if s != -1)
    ends = np.cumsum([rest if s == -1 else s for s in sizes])
    pieces = np.split(A, ends[:-1], axis)
    expect(lambda x: split(x, sizes, axis), pieces, A)
    expect(lambda x, s: split(x, s, axis, num=len(sizes)), pieces, A, i32(sizes))


def test_split_of_strings() -> None:
    words = np.array([[b"a", b"bc"], [b"", b"d"]], object)
    expect(lambda x: split(x, 2, 1), [words[:, :1], words[:, 1:]], words)


@for_each(
    "given, sizes, expected",
    [
        ([None, 4], 2, [[None, 2]] * 2),
        ([4, None], 2, [[4, None]] * 2),
        ([4, None], [1, 3], [[4, 1], [4, 3]]),
        ([4, 7], [1, -1], [[4, 1], [4, 6]]),
        ([4, None], [1, -1], [[4, 1], [4, None]]),
        (None, [1, 3], [None, None]),
    ],
)
def test_the_static_shapes_of_pieces(given: Any, sizes: Any, expected: Any) -> None:
    for i, want in enumerate(expected):
        assert static_shape(lambda x, i=i: split(x, sizes, 1)[i], given) == want


@for_each(
    "sizes, axis, message",
    [
        (3, 1, "4 positions on axis 1 do not make 3 pieces"),
        ([1, 5], 1, "do not make 2 pieces of lengths"),
        ([1, 2], 1, "do not make 2 pieces of lengths"),
        (2, 3, r"axis 3 is not in \[-3, 3\)"),
        (0, 1, "at least one piece"),
    ],
)
def test_pieces_that_can_never_fit_are_refused(sizes: Any, axis: Any, message: Any) -> None:
    with Graph().as_default(), pytest.raises(ValueError, match=message):
        split(source("float32", [3, 4, 4]), sizes, axis)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [(3, "does not make 3 equal pieces"), ([1, 5], r"lengths \[1, 5\] do not make up axis 1")],
)
def test_pieces_that_do_not_fit_fail_in_the_step(sizes: Any, message: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        computed(lambda x: split(x, sizes, 1), A, known=False)


def test_a_split_by_fed_lengths_needs_their_number() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="needs num"):
        split(constant(A), source("int32", [None]))


@pytest.mark.parametrize("sizes", [2, [1, 3]], ids=str)
def test_the_gradient_of_pieces_is_joined_with_zeros_for_those_not_used(sizes: Any) -> None:
    check_gradient(lambda x: split(x, sizes, 1), A)
    check_gradient(lambda x: split(x, sizes, -1)[1], A)


def test_one_length_of_a_split_may_be_left_open() -> None:
    with Graph().as_default():
        x = source("float32", [2, 5])
        assert [part.shape.as_list() for part in split(x, [-1, 2], 1)] == [[2, 3], [2, 2]]
        with pytest.raises(ValueError, match="one length may be -1"):
            split(x, [-1, -1], 1)
