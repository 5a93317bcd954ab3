from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import bfloat16, float16, float32
from actorsession.ops.reductions.reducers import extremum, mean, product, total
from tests.rows import for_each


@for_each("order", ["C", "F", "strided", "broadcast"])
@for_each("axis", [0, 1])
def test_the_layout_of_memory_does_not_change_a_sum(order: str, axis: int) -> None:
    base = np.arange(60, dtype=np.float32).reshape(6, 10)
    layouts = {
        "C": base,
        "F": np.asfortranarray(base),
        "strided": base[::2, ::3],
        "broadcast": np.broadcast_to(base[0], (6, 10)),
    }
    given = layouts[order]
    found = total(float32)(given, (axis,), False)
    np.testing.assert_array_equal(found, given.sum(axis), strict=True)


@for_each("shape", [(2_000_000, 2), (3, 5000)], ids=str)
@for_each("axis", [0, 1])
def test_long_sums_are_as_exact_as_numpys(shape: Any, axis: int) -> None:
    given = np.random.default_rng(0).random(shape, np.float32)
    found = total(float32)(given, (axis,), False)
    np.testing.assert_allclose(found, given.sum(axis, np.float64), rtol=1e-4)


@for_each("dtype", [float16, bfloat16], ids=lambda d: d.name)
@for_each("make", [total, mean, product], ids=lambda f: f.__name__)
def test_narrow_floats_are_rounded_once(make: Any, dtype: Any) -> None:
    """4096 times 1.0 would stop growing at 2048 or 256 if it were added in the narrow type."""
    given = np.ones((4096, 2), dtype.np_dtype)
    found = make(dtype)(given, (0,), False)
    assert found.dtype == dtype.np_dtype
    expected = 4096 if make is total else 1
    np.testing.assert_array_equal(found.astype(float), [expected, expected])


@for_each("ufunc", [np.maximum, np.minimum], ids=lambda f: f.__name__)
@for_each("length", [1, 32, 33])
@for_each("keep", [True, False])
def test_extrema_of_short_and_long_rows_are_numpys(ufunc: Any, length: int, keep: bool) -> None:
    given = np.random.default_rng(0).normal(size=(2, 3, length)).astype(np.float32)
    found = extremum(float32, ufunc)(given, (2,), keep)
    np.testing.assert_array_equal(found, ufunc.reduce(given, 2, keepdims=keep), strict=True)


def test_long_sums_share_one_vector_of_ones_that_nobody_can_write_to() -> None:
    from actorsession.ops.reductions.reducers import _ones

    ones = _ones(5000, np.dtype(np.float32))
    assert ones.base is _ones(7, np.dtype(np.float32)).base
    with pytest.raises(ValueError, match="read-only"):
        ones[0] = 2
