"""Transposing, repeating and padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, constant, pad, stack, transpose
from tests.ops.cases import expect, f32
from tests.ops.interpreter import source
from tests.rows import for_each

A = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
M = np.arange(6, dtype=np.float32).reshape(2, 3)
WORDS = np.array([[b"a", b"bc"], [b"", b"d"]], object)


# -- transpose -------------------------------------------------------------------------------------


@for_each("value", [A, M, f32([1, 2]), f32(1), WORDS], ids=str)
def test_transpose_reverses_all_axes_if_no_order_is_given(value: Any) -> None:
    expect(transpose, value.T, value)


# -- pad -------------------------------------------------------------------------------------------

MARGINS = [[1, 2], [0, 1]]


def test_pad_adds_a_margin_of_a_number() -> None:
    wanted = np.pad(M, MARGINS, constant_values=2.5)
    expect(lambda x: pad(x, MARGINS, constant_values=2.5), wanted, M)
    expect(lambda x, c: pad(x, MARGINS, constant_values=c), wanted, M, f32(2.5))


@pytest.mark.parametrize("mode", ["REFLECT", "symmetric"])
def test_pad_mirrors(mode: Any) -> None:
    margins = [[1, 1], [2, 0]]
    expect(lambda x: pad(x, margins, mode), np.pad(M, margins, mode=mode.lower()), M)


@pytest.mark.parametrize("mode", ["CONSTANT", "REFLECT"])
def test_paddings_whose_value_is_known_can_no_longer_be_fed(mode: str) -> None:
    with Graph().as_default() as graph:
        known, fed, part = constant(MARGINS), source("int32", [2, 2]), constant(1)
        rows = stack([[part, source("int32", [])], [1, 1]])
        for margins in (known, fed, rows):
            pad(constant(M), margins, mode)
        assert [graph.is_feedable(t) for t in (known, fed, rows, part)] == [False, True, False, False]


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="CONSTANT, REFLECT or SYMMETRIC"):
        pad(constant(M), MARGINS, "WRAP")
