from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph import Graph
from actorsession.graph.dtypes import as_dtype, bool_, float32, float64, int32
from actorsession.ops.build import constant, make_one
from actorsession.ops.derivatives.gradients import gradients
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
LOGICAL: dict[Op, Op] = {reduction.reduce_all: np.all, reduction.reduce_any: np.any}

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

all_reductions = for_each("op", REDUCTIONS, ids=lambda op: op.__name__)


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def values(shape: Any, dtype: Any = np.float64) -> Any:
    numbers = np.random.default_rng(0).integers(-3, 4, size=shape)
    return np.asarray(numbers).astype(dtype)


def numpy_axis(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


@all_reductions
@for_each("keep", [True, False])
@for_each("case", CASES, ids=str)
@for_each("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_a_reduction_is_numpys_however_early_shape_and_axes_are_known(
    op: Op, keep: bool, case: Any, dtype: str
) -> None:
    shape, axis = case
    given = values(shape, as_dtype(dtype).np_dtype)
    wide = given.astype(float)
    expected = REDUCTIONS[op](wide, axis=numpy_axis(axis), keepdims=keep)
    found = _variants(op, given, axis, keep)
    for value in found:
        assert value.dtype == given.dtype
        assert value.shape == expected.shape
        tolerance = {"bfloat16": 1e-2, "float16": 1e-3}.get(dtype, 1e-6)
        np.testing.assert_allclose(value.astype(float), expected, rtol=tolerance)


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


@all_reductions
@for_each("dtype", [np.int8, np.int32, np.int64, np.uint8])
@for_each("axis", [None, 0, 1])
def test_integers_stay_integers(op: Op, dtype: Any, axis: Any) -> None:
    given = np.array([[1, 2, 4], [2, 2, 1]], dtype)
    [found] = evaluate([op(constant(given), axis)])
    expected = REDUCTIONS[op](given.astype(np.int64), axis=axis)
    np.testing.assert_array_equal(found, np.asarray(expected).astype(dtype))
    assert found.dtype == dtype


def test_an_integer_mean_is_cut_towards_zero_and_does_not_overflow() -> None:
    given = np.array([[-3, -4, 2**30, 7], [0, 0, 2**30, 0]], np.int32)
    [columns, nothing] = evaluate(
        [reduction.reduce_mean(constant(given), 0), reduction.reduce_mean(constant(given[:0]), 0)]
    )
    np.testing.assert_array_equal(columns, np.array([-1, -2, 2**30, 3], np.int32), strict=True)
    np.testing.assert_array_equal(nothing, np.zeros(4, np.int32), strict=True)


def test_a_sum_of_small_integers_wraps_in_its_own_type() -> None:
    [found] = evaluate([reduction.reduce_sum(constant(np.array([100, 100], np.int8)))])
    assert found == np.int8(-56)
    assert found.dtype == np.int8


@pytest.mark.parametrize("shape", [(0,), (0, 3)], ids=str)
def test_nothing_reduces_to_the_identity(shape: Any) -> None:
    x = constant(np.zeros(shape, np.float32))
    found = evaluate([op(x, 0) for op in REDUCTIONS])
    for value, expected in zip(found, [0, np.nan, 1, -np.inf, np.inf], strict=True):
        np.testing.assert_array_equal(value, np.full(shape[1:], expected))
    whole = constant(np.zeros(shape, np.int8))
    assert evaluate([reduction.reduce_max(whole), reduction.reduce_min(whole)]) == [-128, 127]


@all_reductions
@for_each("axis", [None, 0, 1])
def test_nan_spoils_what_it_is_reduced_with(op: Op, axis: Any) -> None:
    given = np.ones((2, 3), np.float32)
    given[1, 2] = np.nan
    [found] = evaluate([op(constant(given), axis)])
    np.testing.assert_array_equal(np.isnan(found), np.isnan(np.sum(given, axis)))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_complex_numbers_have_sums_means_and_products_but_no_extrema(axis: Any) -> None:
    given = (values((2, 3)) + 1j * values((2, 3))[::-1]).astype(np.complex64)
    x = constant(given)
    for op in (reduction.reduce_sum, reduction.reduce_mean, reduction.reduce_prod):
        [found] = evaluate([op(x, axis)])
        np.testing.assert_allclose(found, REDUCTIONS[op](given, axis), rtol=1e-6)
    with pytest.raises(TypeError, match="complex64"):
        reduction.reduce_max(x, axis)


def test_half_precision_is_summed_in_single() -> None:
    x = constant(np.ones(4096, np.float16))
    assert evaluate([reduction.reduce_sum(x), reduction.reduce_mean(x)]) == [4096, 1]


@for_each("op", LOGICAL, ids=lambda op: op.__name__)
@for_each("keep", [True, False])
@for_each("case", CASES, ids=str)
def test_all_and_any_are_numpys(op: Op, keep: bool, case: Any) -> None:
    shape, axis = case
    given = values(shape) > 0
    expected = LOGICAL[op](given, axis=numpy_axis(axis), keepdims=keep)
    for value in _variants(op, given, axis, keep):
        np.testing.assert_array_equal(value, expected)
        assert value.dtype == np.bool_


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


@all_reductions
@for_each("axis", [0, [0, 2], -1])
def test_a_gradient_follows_axes_that_the_step_gives(op: Op, axis: Any) -> None:
    points = np.random.default_rng(0).permutation(24).reshape(2, 3, 4) * 0.1 + 0.5
    check_gradient(op, points, np.array(axis, np.int32))


@for_each("shape", [[None, 4], [2, None], [None, None]], ids=str)
@for_each("axis", [None, 0, 1])
def test_a_gradient_with_some_dimensions_unknown(shape: Any, axis: Any) -> None:
    x, given = source(float64, shape), np.arange(8.0).reshape(2, 4)
    [back] = gradients(reduction.reduce_mean(x, axis), x)
    [found] = evaluate([back], {x: given})
    count = {None: 8, 0: 2, 1: 4}[axis]
    np.testing.assert_array_equal(found, np.full((2, 4), 1 / count))


def test_a_product_with_zeros_has_a_gradient() -> None:
    rows = np.array([[2.0, 3.0, 4.0], [2.0, 0.0, 4.0], [0.0, 0.0, 4.0]])
    check_gradient(lambda x: reduction.reduce_prod(x, 1), rows)


def test_equal_extrema_share_the_gradient() -> None:
    x = source(float32, (4,))
    [back] = gradients(reduction.reduce_max(x), x)
    np.testing.assert_array_equal(evaluate([back], {x: [3, 1, 3, 2]})[0], [0.5, 0, 0.5, 0])


def test_a_second_gradient_is_that_of_finite_differences() -> None:
    def slope(x: Any) -> Any:
        [first] = gradients(reduction.reduce_logsumexp(x, 1) * reduction.reduce_prod(x, 1), x)
        return first

    check_gradient(slope, np.array([[1.0, 2.0, 0.5], [0.3, 1.5, 2.5]]), rtol=1e-4, atol=1e-6)


# -- static types --------------------------------------------------------------------------------


@for_each(
    "shape, axis, keep, expected",
    [
        ([None, 3], 0, False, [3]),
        ([None, 3], 1, False, [None]),
        ([None, 3], 1, True, [None, 1]),
        ([None, 3], None, False, []),
        ([2, 3], "unknown", False, None),
        ([2, 3], "unknown", True, [None, None]),
        (None, 0, True, None),
        (None, None, False, []),
    ],
    ids=str,
)
def test_unknown_dimensions_give_what_can_be_known(
    shape: Any, axis: Any, keep: bool, expected: Any
) -> None:
    axes = source(int32) if axis == "unknown" else axis
    assert reduction.reduce_sum(source(float32, shape), axes, keep).shape == expected


@pytest.mark.parametrize("axis", [2, -3, [0, 2]], ids=str)
def test_an_axis_that_is_not_there_is_an_error_early_and_late(axis: Any) -> None:
    with pytest.raises(ValueError, match=r"axis -?\d is not in \[-2, 2\)"):
        reduction.reduce_sum(source(float32, [2, 3]), axis)
    x = source(float32)
    with pytest.raises(InvalidArgumentError, match="tensor of rank 2"):
        evaluate([reduction.reduce_sum(x, axis)], {x: np.ones((2, 3))})


def test_an_axis_named_twice_is_an_error_early_and_late() -> None:
    with pytest.raises(ValueError, match="named twice"):
        reduction.reduce_sum(source(float32, [2, 3]), [0, -2])
    x = source(float32)
    with pytest.raises(InvalidArgumentError, match="not different axes"):
        evaluate([reduction.reduce_sum(x, [0, -2])], {x: np.ones((2, 3))})


def test_wrong_dtypes_are_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"Sum takes .* got bool"):
        reduction.reduce_sum(source(bool_, [2]))
    with pytest.raises(TypeError, match="All takes bool; got float32"):
        reduction.reduce_all(source(float32, [2]))
    with pytest.raises(TypeError, match="int32, int64 as reduction_indices"):
        make_one("Sum", [source(float32, [2]), source(float32, [])])


def test_axes_of_rank_two_are_a_value_error() -> None:
    with pytest.raises(ValueError, match="scalar or vector"):
        reduction.reduce_sum(source(float32, [2]), [[0]])
