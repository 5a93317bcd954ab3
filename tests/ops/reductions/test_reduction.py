from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession import as_dtype, constant, float32, float64, gradients, int32
from actorsession.ops.reductions import reduction
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

Op = Callable[..., Any]

REDUCTIONS: dict[Op, Op] = {
    reduction.reduce_sum: np.sum,
    reduction.reduce_mean: np.mean,
    reduction.reduce_prod: np.prod,
    reduction.reduce_max: np.max,
    reduction.reduce_min: np.min,
}

# Shapes with axes: all, none, leading, trailing, middle, several, negative, of length 1 and 0.
CASES: list[tuple[tuple[int, ...], Any]] = [
    ((), None),
    ((), []),
    ((4,), None),
    ((4,), 0),
    ((2, 3), None),
    ((2, 3), []),
    ((2, 3), 0),
    ((2, 3), 1),
    ((2, 3), -1),
    ((2, 3), [0, 1]),
    ((2, 3), [-1, 0]),
    ((2, 3, 4), 1),
    ((2, 3, 4), [0, 1]),
    ((2, 3, 4), [2, 1]),
    ((2, 3, 4), [0, 2]),
    ((2, 3, 4), [-2]),
    ((1, 3), 0),
    ((3, 40), 1),
    ((2, 0), 0),
]


def values(shape: Any, dtype: Any = np.float64) -> Any:
    numbers = np.random.default_rng(0).integers(-3, 4, size=shape)
    return np.asarray(numbers).astype(dtype)


def numpy_axis(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _variants(op: Op, given: Any, axis: Any, keep: bool) -> list[Any]:
    """Results with the shape and the axes known, unknown, or given by the step."""
    known, hidden = source(as_dtype(given.dtype), given.shape), source(as_dtype(given.dtype))
    axes = source(int32)
    feeds = {known: given, hidden: given}
    results = [op(known, axis, keep), op(hidden, axis, keep)]
    if axis is not None:
        feeds[axes] = np.array(axis, np.int32)
        results += [op(known, axes, keep), op(hidden, axes, keep)]
    return evaluate(results, feeds)


def test_an_integer_mean_is_cut_towards_zero_and_does_not_overflow() -> None:
    given = np.array([[-3, -4, 2**30, 7], [0, 0, 2**30, 0]], np.int32)
    [columns, nothing] = evaluate(
        [reduction.reduce_mean(constant(given), 0), reduction.reduce_mean(constant(given[:0]), 0)]
    )
    np.testing.assert_array_equal(columns, np.array([-1, -2, 2**30, 3], np.int32), strict=True)
    np.testing.assert_array_equal(nothing, np.zeros(4, np.int32), strict=True)


@for_each("keep", [True, False])
@for_each("case", [c for c in CASES if 0 not in c[0]], ids=str)
def test_logsumexp_does_not_overflow(keep: bool, case: Any) -> None:
    shape, axis = case
    given = values(shape)
    numpy_sum: Any = np.sum  # newer stubs have no overload for a bool that may be either
    expected = np.log(numpy_sum(np.exp(given), axis=numpy_axis(axis), keepdims=keep))
    for shift in (0.0, 1000.0, -1000.0):
        for value in _variants(reduction.reduce_logsumexp, given + shift, axis, keep):
            assert value.shape == expected.shape
            np.testing.assert_allclose(value, expected + shift, rtol=1e-12)


def test_logsumexp_has_the_name_that_was_asked_for() -> None:
    x = constant([1.0])
    assert reduction.reduce_logsumexp(x, name="total").op.name == "total"
    assert reduction.reduce_logsumexp(x).op.name == "ReduceLogSumExp"


def test_logsumexp_of_infinities() -> None:
    rows = [[-np.inf, -np.inf], [np.inf, 0.0], [-np.inf, 3.0]]
    [found] = evaluate([reduction.reduce_logsumexp(constant(rows), 1)])
    np.testing.assert_array_equal(found, [-np.inf, np.inf, 3])


# -- gradients -----------------------------------------------------------------------------------

GRADIENT_CASES = [c for c in CASES if 0 not in c[0] and c[0] != (3, 40)]


@for_each("op", [*REDUCTIONS, reduction.reduce_logsumexp], ids=lambda op: op.__name__)
@for_each("keep", [True, False])
@for_each("case", GRADIENT_CASES, ids=str)
def test_a_gradient_is_that_of_finite_differences(op: Op, keep: bool, case: Any) -> None:
    shape, axis = case
    # All different, so that extrema are unique.
    points = np.random.default_rng(0).permutation(int(np.prod(shape))) * 0.1 + 0.5
    check_gradient(lambda x: op(x, axis, keep), points.reshape(shape))


@for_each("shape", [[None, 4], [2, None], [None, None]], ids=str)
@for_each("axis", [None, 0, 1])
def test_a_gradient_with_some_dimensions_unknown(shape: Any, axis: Any) -> None:
    x, given = source(float64, shape), np.arange(8.0).reshape(2, 4)
    [back] = gradients(reduction.reduce_mean(x, axis), x)
    [found] = evaluate([back], {x: given})
    count = {None: 8, 0: 2, 1: 4}[axis]
    np.testing.assert_array_equal(found, np.full((2, 4), 1 / count))


def test_equal_extrema_share_the_gradient() -> None:
    x = source(float32, (4,))
    [back] = gradients(reduction.reduce_max(x), x)
    np.testing.assert_array_equal(evaluate([back], {x: [3, 1, 3, 2]})[0], [0.5, 0, 0.5, 0])


def test_all_axes_may_be_kept() -> None:
    assert reduction.reduce_sum(constant(np.ones((2, 3), np.float32)), keepdims=True).shape == [1, 1]
