from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import math, nn, ops
from tests.ops.interpreter import check_gradient, evaluate
from tests.rows import for_each

X = np.array([[1.0, 2.0, 4.0], [3.0, -5.0, 0.5]])


@for_each("keepdims", [False, True])
@for_each("axis", [None, 0, -1, [0, 1]], ids=str)
def test_variance_and_deviation_are_those_of_numpy(axis: Any, keepdims: Any) -> None:
    axes = tuple(axis) if isinstance(axis, list) else axis
    made = [f(ops.constant(X), axis, keepdims) for f in (math.reduce_variance, math.reduce_std)]
    wanted = [X.var(axes, keepdims=keepdims), X.std(axes, keepdims=keepdims)]
    for found, value in zip(evaluate(made), wanted, strict=True):
        np.testing.assert_allclose(found, value)
        assert np.shape(found) == np.shape(value)


def test_variance_and_deviation_have_gradients() -> None:
    check_gradient(lambda x: [math.reduce_std(x, 1), math.reduce_variance(x)], X)


def test_the_variance_of_complex_numbers_is_real() -> None:
    values = np.array([1 + 2j, 3, -1j])
    [found] = evaluate([math.reduce_variance(ops.constant(values))])
    np.testing.assert_allclose(found, values.var())
    assert found.dtype == np.float64


def test_integers_have_no_variance() -> None:
    with pytest.raises(TypeError, match="int32"):
        math.reduce_variance(ops.constant([1, 2]))


def test_what_is_not_0_is_counted() -> None:
    made = [
        ops.count_nonzero(ops.constant([[0, 1], [2, 0]]), axis=1),
        ops.count_nonzero(ops.constant([True, False, True]), dtype="int32"),
        ops.count_nonzero(ops.constant(["", "a"]), keepdims=True),
        ops.count_nonzero(input=ops.constant([0.0, np.nan]), axis=[0]),
    ]
    found = evaluate(made)
    assert [v.tolist() for v in found] == [[1, 1], 2, [1], 1]
    assert [v.dtype for v in found] == [np.int64, np.int32, np.int64, np.int64]


@for_each(
    "values, rises, strictly",
    [
        ([1.0, 2.0, 3.0], True, True),
        ([[1.0, 2.0], [2.0, 3.0]], True, False),
        ([2.0, 1.0], False, False),
        ([7.0], True, True),
        (np.zeros([0], np.float32), True, True),
        ([1.0, np.nan], False, False),
    ],
    ids=range(6),
)
def test_order_is_seen_in_all_elements(values: Any, rises: bool, strictly: bool) -> None:
    x = ops.constant(values)
    found = evaluate([ops.is_non_decreasing(x), ops.is_strictly_increasing(x)])
    assert [bool(v) for v in found] == [rises, strictly]


def test_strings_have_no_order() -> None:
    with pytest.raises(TypeError, match="string"):
        ops.is_non_decreasing(ops.constant(["a"]))


def test_the_share_of_zeros_is_a_float() -> None:
    some, none = evaluate([nn.zero_fraction(ops.constant([0, 1, 0, 0])), nn.zero_fraction(ops.zeros([0]))])
    assert some == np.float32(0.75)
    assert np.isnan(none)


def test_a_tensor_is_divided_by_its_norm() -> None:
    check_gradient(lambda x: nn.l2_normalize(x, 1), X)
    made = [nn.l2_normalize(ops.constant(X), 1), nn.l2_normalize(ops.constant([3, 4j]))]
    rows, of_complex = evaluate(made)
    np.testing.assert_allclose(rows, X / np.linalg.norm(X, axis=1, keepdims=True))
    np.testing.assert_allclose(of_complex, [0.6, 0.8j])


def test_a_norm_of_0_divides_nothing() -> None:
    assert evaluate([nn.l2_normalize(ops.zeros([2]))])[0].tolist() == [0.0, 0.0]
