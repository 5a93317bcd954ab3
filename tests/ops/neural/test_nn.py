"""Biases, L2 loss, dropout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import constant, gradients
from tests.ops.cases import expect, f32
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import for_each

RNG = np.random.default_rng(0)
A = RNG.standard_normal((2, 3, 4, 5)).astype(np.float32)


# -- bias_add --------------------------------------------------------------------------------------


@for_each("dims", [(3, 5), (2, 3, 5), (2, 3, 4, 5), (0, 5)])
def test_a_bias_is_added_to_each_channel(dims: Any) -> None:
    x, b = np.resize(A, dims), np.arange(5, dtype=np.float32)
    expect(acts.nn.bias_add, x + b, x, b)
    expect(lambda x, b: acts.nn.bias_add(x, b, data_format="N...C"), x + b, x, b)


def test_channels_may_come_first() -> None:
    b = f32([10, 20, 30])
    wanted = A + b.reshape(3, 1, 1)
    expect(lambda x, b: acts.nn.bias_add(x, b, "NCHW"), wanted, A, b)
    expect(lambda x, b: acts.nn.bias_add(x, b, "NC..."), wanted, A, b)


@for_each("channels", [1, 63, 64])
def test_a_bias_of_few_channels_is_added_row_by_row_with_the_same_result(channels: int) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(2, 3, 4, channels)).astype(np.float32)
    b = random.normal(size=channels).astype(np.float32)
    expect(acts.nn.bias_add, x + b, x, b)
    turned = np.asfortranarray(x)
    expect(acts.nn.bias_add, x + b, turned, b)
    expect(acts.nn.bias_add, x[:0] + b, x[:0], b)


def test_a_plain_bias_takes_the_type_of_the_value() -> None:
    expect(lambda x: acts.nn.bias_add(x, [1, 2]), f32([[1, 2]]), f32([[0, 0]]))


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="data_format is NHWC"):
        acts.nn.bias_add(constant([[1.0]]), [1.0], "CHW")


# -- dropout ---------------------------------------------------------------------------------------


def test_dropout_drops_a_share_and_scales_the_rest() -> None:
    x = source("float32", [100, 100])
    (found,) = evaluate([acts.nn.dropout(x, rate=0.25, seed=1)], {x: np.full((100, 100), 3)})
    kept = found != 0
    np.testing.assert_allclose(found[kept], 4.0, rtol=1e-6)
    assert abs(kept.mean() - 0.75) < 0.02


def test_the_rate_may_be_fed() -> None:
    x, rate = source("float32", [1000]), source("float32", [])
    dropped = acts.nn.dropout(x, rate, seed=1)
    (all_kept,) = evaluate([dropped], {x: np.ones(1000), rate: 0.0})
    (few,) = evaluate([dropped], {x: np.ones(1000), rate: 0.9})
    np.testing.assert_array_equal(all_kept, np.ones(1000, np.float32))
    assert abs((few != 0).mean() - 0.1) < 0.05


def test_axes_of_extent_one_in_the_noise_are_dropped_together() -> None:
    x = source("float32", None)
    (found,) = evaluate([acts.nn.dropout(x, rate=0.5, noise_shape=[50, 1], seed=1)], {x: np.ones((50, 20))})
    rows = found != 0
    assert (rows.all(axis=1) | ~rows.any(axis=1)).all()
    assert 10 < rows.all(axis=1).sum() < 40


def test_another_step_drops_others() -> None:
    x = source("float32", [100])
    dropped = acts.nn.dropout(x, rate=0.5, seed=1)
    session = Variables()
    (first,) = evaluate([dropped], {x: np.ones(100)}, session)
    (second,) = evaluate([dropped], {x: np.ones(100)}, session)
    assert (first != second).any()


def test_the_gradient_has_the_same_holes_as_the_value() -> None:
    x = source("float32", [100])
    dropped = acts.nn.dropout(x, rate=0.5)
    (grad,) = gradients(dropped, [x])
    value, slope = evaluate([dropped, grad], {x: np.ones(100)})
    np.testing.assert_array_equal(value, slope)


def test_a_rate_of_zero_changes_nothing() -> None:
    expect(lambda x: acts.nn.dropout(x, rate=0), A, A)


@for_each("arguments", [{"rate": 1.0}, {"rate": -0.1}])
def test_a_rate_that_makes_no_sense_is_refused(arguments: Any) -> None:
    with pytest.raises(ValueError, match="dropout"):
        acts.nn.dropout(constant([1.0]), **arguments)


def test_dropout_of_integers_is_refused() -> None:
    with pytest.raises(TypeError, match="floating type, got int32"):
        acts.nn.dropout(constant([1]), rate=0.5)
