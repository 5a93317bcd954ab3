"""Biases, L2 loss, dropout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession.ops.build import constant
from actorsession.ops.derivatives.gradients import gradients
from actorsession.ops.neural.biases import bias_add
from actorsession.ops.neural.dropout import dropout
from tests.ops.cases import expect, f32
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import for_each, refusing

RNG = np.random.default_rng(0)
A = RNG.standard_normal((2, 3, 4, 5)).astype(np.float32)


# -- bias_add --------------------------------------------------------------------------------------


@for_each("channels", [1, 63, 64])
def test_a_bias_of_few_channels_is_added_row_by_row_with_the_same_result(channels: int) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(2, 3, 4, channels)).astype(np.float32)
    b = random.normal(size=channels).astype(np.float32)
    expect(bias_add, x + b, x, b)
    turned = np.asfortranarray(x)
    expect(bias_add, x + b, turned, b)
    expect(bias_add, x[:0] + b, x[:0], b)


def test_a_plain_bias_takes_the_type_of_the_value() -> None:
    expect(lambda x: bias_add(x, [1, 2]), f32([[1, 2]]), f32([[0, 0]]))


# -- dropout ---------------------------------------------------------------------------------------


def test_dropout_drops_a_share_and_scales_the_rest() -> None:
    x = source("float32", [100, 100])
    (found,) = evaluate([dropout(x, rate=0.25, seed=1)], {x: np.full((100, 100), 3)})
    kept = found != 0
    np.testing.assert_allclose(found[kept], 4.0, rtol=1e-6)
    assert abs(kept.mean() - 0.75) < 0.02


def test_the_rate_may_be_fed() -> None:
    x, rate = source("float32", [1000]), source("float32", [])
    dropped = dropout(x, rate, seed=1)
    (all_kept,) = evaluate([dropped], {x: np.ones(1000), rate: 0.0})
    (few,) = evaluate([dropped], {x: np.ones(1000), rate: 0.9})
    np.testing.assert_array_equal(all_kept, np.ones(1000, np.float32))
    assert abs((few != 0).mean() - 0.1) < 0.05


def test_axes_of_extent_one_in_the_noise_are_dropped_together() -> None:
    x = source("float32", None)
    (found,) = evaluate([dropout(x, rate=0.5, noise_shape=[50, 1], seed=1)], {x: np.ones((50, 20))})
    rows = found != 0
    assert (rows.all(axis=1) | ~rows.any(axis=1)).all()
    assert 10 < rows.all(axis=1).sum() < 40


def test_another_step_drops_others() -> None:
    x = source("float32", [100])
    dropped = dropout(x, rate=0.5, seed=1)
    session = Variables()
    (first,) = evaluate([dropped], {x: np.ones(100)}, session)
    (second,) = evaluate([dropped], {x: np.ones(100)}, session)
    assert (first != second).any()


def test_the_gradient_has_the_same_holes_as_the_value() -> None:
    x = source("float32", [100])
    dropped = dropout(x, rate=0.5)
    (grad,) = gradients(dropped, [x])
    value, slope = evaluate([dropped, grad], {x: np.ones(100)})
    np.testing.assert_array_equal(value, slope)


def test_a_rate_of_zero_changes_nothing() -> None:
    expect(lambda x: dropout(x, rate=0), A, A)


@pytest.mark.parametrize("dims", [[4, 50], [None, 50], None])
def test_an_extent_of_none_is_that_of_the_values(dims: Any) -> None:
    x = source("float32", dims)
    y = dropout(x, rate=0.5, noise_shape=[None, 1], seed=3)
    [found] = evaluate([y], {x: np.ones([4, 50])})
    assert set(found.ravel().tolist()) <= {0.0, 2.0}
    assert (found == found[:, :1]).all()


@pytest.mark.parametrize("known", [[], None], ids=["scalar", "unknown"])
def test_the_shape_stays_known_whatever_is_known_of_the_rate(known: Any) -> None:
    rate = source("float32", known)
    assert dropout(source("float32", [None, 5]), rate=rate).shape.as_list() == [None, 5]


test_what_does_not_fit_is_refused_by_the_line_that_builds = refusing(
    (lambda: bias_add(constant([[1.0]]), [1.0], "CHW"), ValueError, "data_format is NHWC"),
    (lambda: dropout(constant([1.0]), rate=1.0), ValueError, "dropout"),
    (lambda: dropout(constant([1.0]), rate=-0.1), ValueError, "dropout"),
    (lambda: dropout(constant([1]), rate=0.5), TypeError, "floating type, got int32"),
    (lambda: dropout(source("float32", [4, 5]), 0.5, noise_shape=[None, 1, 1]), ValueError, "a noise_shape of"),
)
