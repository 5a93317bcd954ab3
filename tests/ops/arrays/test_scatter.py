"""Values put to places by index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import constant, gradients, one_hot
from tests.ops.cases import expect, i32
from tests.ops.interpreter import source

# -- one_hot ---------------------------------------------------------------------------------------


def _one_hot(indices: Any, depth: int, axis: int = -1, on: Any = 1, off: Any = 0, dtype: Any = np.float32) -> Any:
    """One comparison per position: the closed form."""
    places = np.arange(depth).reshape([-1] + [1] * np.ndim(indices))
    hot = np.moveaxis(np.asarray(indices).astype(np.int64) == places, 0, -1)
    return np.moveaxis(np.where(hot, on, off).astype(dtype), -1, axis)


def test_one_hot_takes_other_values_and_their_type() -> None:
    index = i32([0, 1])
    expect(lambda i: one_hot(i, 2, 5, -1), _one_hot(index, 2, on=5, off=-1, dtype=np.int32), index)
    expect(lambda i: one_hot(i, 2, 0.5), _one_hot(index, 2, on=0.5), index)
    expect(lambda i: one_hot(i, 2, dtype="bool"), _one_hot(index, 2, dtype=np.bool_), index)
    expect(lambda i, on: one_hot(i, 2, on), _one_hot(index, 2, on=7, dtype=np.float64), index, np.float64(7))


def test_nothing_flows_back_through_one_hot() -> None:
    on = source("float32", [])
    assert gradients(one_hot([0], 2, on), [on]) == [None]


def test_values_of_one_hot_have_one_type() -> None:
    with pytest.raises(TypeError):
        one_hot([0], 2, constant(1), constant(1.0))
