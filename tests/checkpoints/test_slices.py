"""Slices: the two ways in which they are written, and how a whole is put together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession.checkpoints import parse_spec, write_spec
from actorsession.checkpoints.slices import Extent, assemble, slice_key
from actorsession.errors import InvalidArgumentError


def test_an_empty_spec_is_the_whole() -> None:
    assert parse_spec("") is None
    assert parse_spec(write_spec((5, 4), (2, 0), (2, 4))) == ((5, 4), Extent((2, 0), (2, 4)))
    piece = (Extent((0,), (2,)), np.ones(2))
    assert assemble((5,), np.float64, Extent((1,), (3,)), [piece])[1] == 2


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("5 4 2,2:-", ((5, 4), Extent((2, 0), (2, 4)))),
        ("7 0,7", ((7,), Extent((0,), (7,)))),
        ("2 3 4 -:-:-", ((2, 3, 4), Extent((0, 0, 0), (2, 3, 4)))),
        ("3 3,0", ((3,), Extent((3,), (0,)))),
    ],
)
def test_a_spec_has_the_shape_of_the_whole_and_the_part(spec: str, wanted: object) -> None:
    assert parse_spec(spec) == wanted


@pytest.mark.parametrize("spec", ["5", "5 4 2,2", "5 2,2:-", "a 0,1", "5 1", "5 0,x", "5 2,4", "5 -1,2", "5  0,1"])
def test_other_texts_are_refused(spec: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"shape_and_slice|exceeds the shape"):
        parse_spec(spec)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=4), st.data())
def test_a_box_of_a_whole_comes_together_from_its_rows(cuts: list[int], data: st.DataObject) -> None:
    """Whatever the rows were cut into, and whichever box is asked for."""
    bounds = sorted({0, 12, *cuts})
    whole = np.arange(36.0).reshape(12, 3)
    pieces = [(Extent((a, 0), (b - a, 3)), whole[a:b]) for a, b in itertools.pairwise(bounds)]
    start, column = data.draw(st.integers(0, 11)), data.draw(st.integers(0, 2))
    box = Extent((start, column), (data.draw(st.integers(1, 12 - start)), 3 - column))
    found, missing = assemble((12, 3), np.float64, box, pieces)
    np.testing.assert_array_equal(found, whole[start : start + box.sizes[0], column:])
    assert missing == 0


@pytest.mark.parametrize(
    ("name", "spans", "wanted"),
    [  # as TensorFlow has them in its index
        ("rows", [(2, 2), (0, -1)], b"\0rows\0\x01\x01\x02\x82\x82\x80\x7f"),
        ("a\0b\xff", [], b"\0" + "a\0b\xff".encode().replace(b"\0", b"\0\xff") + b"\0\x01\0"),
        ("x", [(100, 20000)], b"\0x\0\x01\x01\x01\xc0\x64\xe0\x4e\x20"),
    ],
    ids=["rows", "escaped", "large"],
)
def test_keys_are_those_of_tensorflow(name: str, spans: list[tuple[int, int]], wanted: bytes) -> None:
    assert slice_key(name, spans) == wanted


@given(st.integers(-(2**62), 2**62), st.integers(-(2**62), 2**62))
def test_keys_sort_as_their_numbers_do(a: int, b: int) -> None:
    assert (slice_key("x", [(a, 0)]) < slice_key("x", [(b, 0)])) == (a < b)
