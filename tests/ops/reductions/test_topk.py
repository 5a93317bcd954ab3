"""The largest entries of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import constant
from actorsession.errors import InvalidArgumentError
from tests.ops.cases import computed, expect, i32
from tests.ops.interpreter import source
from tests.rows import for_each

RNG = np.random.default_rng(0)


def _top(x: Any, k: int) -> Any:
    """By a stable sort in Python, on (descending value, index)."""
    rows = x.reshape(-1, x.shape[-1])
    order = [[i for _, i in sorted((-int(v), i) for i, v in enumerate(r))][:k] for r in rows]
    chosen = np.array(order, np.int32).reshape(*x.shape[:-1], k)
    return [np.take_along_axis(x, chosen, -1), chosen]


@for_each("dims", [(7,), (3, 7), (2, 3, 7), (3, 200), (5, 64)])
@for_each("k", [0, 1, 3, 7])
@for_each("dtype", [np.float32, np.int32, np.int64, np.float64])
@for_each("span", [4, 1000])  # with many equal entries, and with few
def test_the_largest_come_first_and_the_lower_index_among_equals(dims: Any, k: Any, dtype: Any, span: Any) -> None:
    x = RNG.integers(-span, span, dims).astype(dtype)
    expect(lambda x: list(acts.nn.top_k(x, k)), _top(x, k), x)
    expect(lambda x, k: list(acts.nn.top_k(x, k)), _top(x, k), x, i32(k))


def test_the_fields_have_names() -> None:
    found = acts.nn.top_k(constant([1.0, 2.0]))
    assert found.values.shape == [1]
    assert found.indices.dtype.name == "int32"


# -- in_top_k --------------------------------------------------------------------------------------


def test_predictions_that_can_never_work_are_refused() -> None:
    with pytest.raises(TypeError, match="float32, got float64"):
        acts.nn.in_top_k(source("float64", [2, 2]), [0, 1], 1)
    with pytest.raises(ValueError, match="not compatible"):
        acts.nn.in_top_k(source("float32", [2, 2]), [0, 1, 1], 1)
    with pytest.raises(InvalidArgumentError, match=r"got \[2, 2\] and \[3\]"):
        computed(lambda p, t: acts.nn.in_top_k(p, t, 1), np.zeros((2, 2), np.float32), i32([0, 1, 1]), known=False)
