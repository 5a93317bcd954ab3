"""Softmax and its logarithm."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph
from actorsession.ops.arrays.layout import transpose
from actorsession.ops.build import constant
from actorsession.ops.neural.softmax import log_softmax, softmax
from tests.ops.cases import computed, expect, f32, static_shape
from tests.ops.interpreter import check_gradient
from tests.rows import for_each

RNG = np.random.default_rng(0)


def _log_softmax(x: Any, axis: int = -1) -> Any:
    """In float64, shifted so that nothing overflows."""
    wide = x.astype(np.float64)
    shifted = wide - wide.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _logits(*dims: int, scale: float = 5.0) -> Any:
    return (RNG.standard_normal(dims) * scale).astype(np.float32)


# Short and long rows, few and many of them: the maximum is taken in two ways.
@for_each("dims", [(3, 4), (100, 10), (40, 64), (40, 65), (2, 1000), (7,), (2, 3, 4), (1, 1)])
def test_softmax_and_its_logarithm_of_any_shape(dims: Any) -> None:
    x = _logits(*dims)
    wanted = _log_softmax(x)
    expect(softmax, np.exp(wanted).astype(np.float32), x, exact=False)
    expect(log_softmax, wanted.astype(np.float32), x, exact=False)


@for_each("axis", [0, 1, 2, -1, -2, -3])
def test_softmax_along_any_axis(axis: Any) -> None:
    x = _logits(2, 3, 4)
    wanted = _log_softmax(x, axis)
    expect(lambda x: softmax(x, axis), np.exp(wanted).astype(np.float32), x, exact=False)
    expect(lambda x: log_softmax(x, axis), wanted.astype(np.float32), x, exact=False)


def test_softmax_of_a_view_in_another_layout() -> None:
    x = _logits(50, 40)
    wanted = np.exp(_log_softmax(x.T)).astype(np.float32)
    expect(lambda x: softmax(transpose(x)), wanted, x, exact=False)


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(np.float64, 1e-14), (np.float16, 1e-3), (ml_dtypes.bfloat16, 1e-2)],
)
def test_softmax_in_other_types(dtype: Any, tolerance: Any) -> None:
    x = _logits(4, 6).astype(dtype)
    for known in (True, False):
        found = computed(softmax, x, known=known)
        assert found.dtype == x.dtype
        np.testing.assert_allclose(
            found.astype(np.float64), np.exp(_log_softmax(x)), rtol=tolerance, atol=tolerance
        )


def test_large_logits_do_not_overflow_and_their_logarithm_is_exact() -> None:
    x = f32([[1000, 0, -1000], [-1e30, -1e30, 0]])
    expect(softmax, f32([[1, 0, 0], [0, 0, 1]]), x)
    expect(log_softmax, f32([[0, -1000, -2000], [-1e30, -1e30, 0]]), x)


def test_a_class_that_is_ruled_out_has_no_probability() -> None:
    expect(softmax, f32([[0.5, 0, 0.5]]), f32([[1, -np.inf, 1]]))


def test_nan_and_infinity_spoil_their_own_row_only() -> None:
    x = f32([[np.nan, 0], [np.inf, 0], [-np.inf, -np.inf], [0, 0]])
    for known in (True, False):
        found = computed(softmax, x, known=known)
        assert np.isnan(found[:3]).any(axis=1).all()
        np.testing.assert_array_equal(found[3], [0.5, 0.5])


@pytest.mark.parametrize("dims", [(0, 3), (3, 0), (0,)])
def test_softmax_of_nothing(dims: Any) -> None:
    empty = np.zeros(dims, np.float32)
    expect(softmax, empty, empty)
    expect(log_softmax, empty, empty)


def test_logits_that_can_never_work_are_refused() -> None:
    with Graph().as_default():
        with pytest.raises(TypeError, match="takes floating types; got int32"):
            softmax(constant([1, 2]))
        with pytest.raises(ValueError, match=r"axis -1 is not in \[0, 0\)"):
            softmax(constant(1.0))
        with pytest.raises(ValueError, match=r"axis 2 is not in \[-2, 2\)"):
            softmax(constant([[1.0]]), 2)


def test_a_scalar_fails_in_the_step() -> None:
    with pytest.raises(InvalidArgumentError, match="rank at least 1"):
        computed(softmax, f32(1), known=False)


def test_softmax_keeps_the_static_shape() -> None:
    assert static_shape(softmax, [None, 3]) == [None, 3]
    assert static_shape(lambda x: softmax(x, 0), [None, 3]) == [None, 3]


@pytest.mark.parametrize("axis", [-1, 0])
def test_the_gradient_of_softmax_and_of_its_logarithm(axis: Any) -> None:
    x = _logits(3, 4, scale=1.0)
    check_gradient(lambda x: softmax(x, axis), x)
    check_gradient(lambda x: log_softmax(x, axis), x)
