"""Biases, L2 loss, dropout."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph.graph import Graph
from actorsession.ops.arrays.layout import transpose
from actorsession.ops.build import constant
from actorsession.ops.derivatives.gradients import gradients
from actorsession.ops.neural.biases import bias_add, bias_add_grad
from actorsession.ops.neural.dropout import dropout
from actorsession.ops.neural.l2_loss import l2_loss
from tests.ops.cases import computed, expect, f32, i64, static_shape
from tests.ops.interpreter import Variables, check_gradient, evaluate, source
from tests.rows import for_each

RNG = np.random.default_rng(0)
A = RNG.standard_normal((2, 3, 4, 5)).astype(np.float32)


# -- bias_add --------------------------------------------------------------------------------------


@for_each("dims", [(3, 5), (2, 3, 5), (2, 3, 4, 5), (0, 5)])
def test_a_bias_is_added_to_each_channel(dims: Any) -> None:
    x, b = np.resize(A, dims), np.arange(5, dtype=np.float32)
    expect(bias_add, x + b, x, b)
    expect(lambda x, b: bias_add(x, b, data_format="N...C"), x + b, x, b)


def test_channels_may_come_first() -> None:
    b = f32([10, 20, 30])
    wanted = A + b.reshape(3, 1, 1)
    expect(lambda x, b: bias_add(x, b, "NCHW"), wanted, A, b)
    expect(lambda x, b: bias_add(x, b, "NC..."), wanted, A, b)


@for_each("channels", [1, 63, 64])
def test_a_bias_of_few_channels_is_added_row_by_row_with_the_same_result(channels: int) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(2, 3, 4, channels)).astype(np.float32)
    b = random.normal(size=channels).astype(np.float32)
    expect(bias_add, x + b, x, b)
    turned = np.asfortranarray(x)
    expect(bias_add, x + b, turned, b)
    expect(bias_add, x[:0] + b, x[:0], b)


def test_a_bias_for_integers() -> None:
    expect(bias_add, i64([[11, 22]]), i64([[1, 2]]), i64([10, 20]))


def test_a_plain_bias_takes_the_type_of_the_value() -> None:
    expect(lambda x: bias_add(x, [1, 2]), f32([[1, 2]]), f32([[0, 0]]))


def test_the_static_shape_knows_what_the_bias_knows() -> None:
    assert static_shape(bias_add, [None, None], [5]) == [None, 5]
    assert static_shape(lambda x, b: bias_add(x, b, "NCHW"), [None, None, 4], [3]) == [None, 3, 4]
    assert static_shape(bias_add, None, [5]) is None


@for_each("value, bias", [([3, 4], [5]), ([3, 4], [1]), ([4], [4]), ([3, 4], [2, 4]), ([3, 4], [])])
def test_a_bias_that_can_never_fit_is_refused(value: Any, bias: Any) -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="a bias for each channel"):
        bias_add(source("float32", value), source("float32", bias))
    with pytest.raises(InvalidArgumentError, match="a bias for each channel"):
        computed(bias_add, np.zeros(value), np.zeros(bias), known=False)


def test_an_unknown_format_is_refused() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="data_format is NHWC"):
        bias_add(constant([[1.0]]), [1.0], "CHW")


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_the_gradient_of_a_bias_is_the_sum_over_all_else(data_format: Any) -> None:
    b = np.arange(5 if data_format == "NHWC" else 3, dtype=np.float32)
    check_gradient(lambda x, b: bias_add(x, b, data_format), A, b)


@for_each("dtype", [np.float32, np.float64, np.int32, np.float16, ml_dtypes.bfloat16])
def test_bias_add_grad_keeps_the_type(dtype: Any) -> None:
    x = RNG.integers(-4, 4, (6, 5)).astype(dtype)
    wanted = x.astype(np.int64).sum(axis=0).astype(dtype)
    expect(bias_add_grad, wanted, x)
    expect(lambda x: bias_add_grad(transpose(x)), wanted, x.T)


def test_bias_add_grad_of_nothing_is_zero() -> None:
    expect(bias_add_grad, np.zeros(5, np.float32), np.zeros((0, 5), np.float32))


def test_bias_add_grad_of_a_vector_is_refused() -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="rank at least 2"):
        bias_add_grad(source("float32", [3]))
    with pytest.raises(InvalidArgumentError, match="rank at least 2"):
        computed(bias_add_grad, f32([1]), known=False)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_the_gradient_of_bias_add_grad_is_repeated(data_format: Any) -> None:
    check_gradient(lambda x: bias_add_grad(x, data_format), A)


# -- l2_loss ---------------------------------------------------------------------------------------


@for_each("dims", [(), (7,), (3, 4), (0,)])
@for_each("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_l2_loss_is_half_the_sum_of_squares(dims: Any, dtype: Any) -> None:
    x = RNG.integers(-3, 3, dims).astype(dtype) if dims else np.array(3, dtype)
    expect(l2_loss, np.array((x.astype(np.float64) ** 2).sum() / 2).astype(dtype), x)


def test_l2_loss_of_half_floats_does_not_overflow_on_the_way() -> None:
    # Each square is 65,536, past the end of float16.
    expect(l2_loss, np.float16(32768), np.array([256], np.float16))


def test_l2_loss_of_integers_is_refused() -> None:
    with Graph().as_default(), pytest.raises(TypeError, match="takes floating types; got int32"):
        l2_loss(constant([1]))


def test_the_gradient_of_l2_loss_is_its_argument() -> None:
    check_gradient(l2_loss, A)


# -- dropout ---------------------------------------------------------------------------------------


def test_dropout_drops_a_share_and_scales_the_rest() -> None:
    with Graph().as_default():
        x = source("float32", [100, 100])
        (found,) = evaluate([dropout(x, rate=0.25, seed=1)], {x: np.full((100, 100), 3)})
    kept = found != 0
    np.testing.assert_allclose(found[kept], 4.0, rtol=1e-6)
    assert abs(kept.mean() - 0.75) < 0.02


def test_the_rate_may_be_fed() -> None:
    with Graph().as_default():
        x, rate = source("float32", [1000]), source("float32", [])
        dropped = dropout(x, rate, seed=1)
        (all_kept,) = evaluate([dropped], {x: np.ones(1000), rate: 0.0})
        (few,) = evaluate([dropped], {x: np.ones(1000), rate: 0.9})
    np.testing.assert_array_equal(all_kept, np.ones(1000, np.float32))
    assert abs((few != 0).mean() - 0.1) < 0.05


def test_axes_of_extent_one_in_the_noise_are_dropped_together() -> None:
    with Graph().as_default():
        x = source("float32", None)
        (found,) = evaluate(
            [dropout(x, rate=0.5, noise_shape=[50, 1], seed=1)], {x: np.ones((50, 20))}
        )
    rows = found != 0
    assert (rows.all(axis=1) | ~rows.any(axis=1)).all()
    assert 10 < rows.all(axis=1).sum() < 40


def test_another_step_drops_others() -> None:
    with Graph().as_default():
        x = source("float32", [100])
        dropped = dropout(x, rate=0.5, seed=1)
        session = Variables()
        (first,) = evaluate([dropped], {x: np.ones(100)}, session)
        (second,) = evaluate([dropped], {x: np.ones(100)}, session)
    assert (first != second).any()


def test_the_gradient_has_the_same_holes_as_the_value() -> None:
    with Graph().as_default():
        x = source("float32", [100])
        dropped = dropout(x, rate=0.5)
        (grad,) = gradients(dropped, [x])
        value, slope = evaluate([dropped, grad], {x: np.ones(100)})
    np.testing.assert_array_equal(value, slope)


def test_a_rate_of_zero_changes_nothing() -> None:
    expect(lambda x: dropout(x, rate=0), A, A)


@for_each("arguments", [{"rate": 1.0}, {"rate": -0.1}])
def test_a_rate_that_makes_no_sense_is_refused(arguments: Any) -> None:
    with Graph().as_default(), pytest.raises(ValueError, match="dropout"):
        dropout(constant([1.0]), **arguments)


def test_dropout_of_integers_is_refused() -> None:
    with Graph().as_default(), pytest.raises(TypeError, match="floating type, got int32"):
        dropout(constant([1]), rate=0.5)
