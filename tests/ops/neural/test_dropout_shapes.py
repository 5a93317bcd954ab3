"""The shape of the random choice of a dropout may leave extents to the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import nn
from tests.ops.interpreter import evaluate, source


@pytest.mark.parametrize("dims", [[4, 50], [None, 50], None])
def test_an_extent_of_none_is_that_of_the_values(dims: Any) -> None:
    x = source("float32", dims)
    y = nn.dropout(x, rate=0.5, noise_shape=[None, 1], seed=3)
    [found] = evaluate([y], {x: np.ones([4, 50])})
    assert set(found.ravel().tolist()) <= {0.0, 2.0}
    assert (found == found[:, :1]).all()


def test_a_shape_of_another_rank_is_refused() -> None:
    with pytest.raises(ValueError, match="a noise_shape of"):
        nn.dropout(source("float32", [4, 5]), rate=0.5, noise_shape=[None, 1, 1])


@pytest.mark.parametrize("known", [[], None], ids=["scalar", "unknown"])
def test_the_shape_stays_known_whatever_is_known_of_the_rate(known: Any) -> None:
    rate = source("float32", known)
    assert nn.dropout(source("float32", [None, 5]), rate=rate).shape.as_list() == [None, 5]
    assert nn.dropout(source("float32", [None, 5]), rate).shape.as_list() == [None, 5]
