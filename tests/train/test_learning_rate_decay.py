"""Rates that decay, by their formulas.

The numbers of TensorFlow are those of the family ``schedules`` of the differential programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import (
    Variable,
    as_dtype,
    constant,
    float64,
    global_variables_initializer,
    int32,
    int64,
    set_random_seed,
    train,
)
from scripts.differentials.families.training import RATES
from tests.ops.interpreter import Variables, evaluate, source

EVERY = pytest.mark.parametrize("name", RATES)


@EVERY
def test_a_rate_follows_the_global_step_of_training(name: str) -> None:
    w, step = Variable([1.0]), train.get_or_create_global_step()
    rate = RATES[name](train, step)
    move = train.GradientDescentOptimizer(rate).apply_gradients([([1.0], w)], step)
    state = Variables()
    evaluate([global_variables_initializer()], None, state)
    rates = []
    for _ in range(2):
        rates.append(evaluate([rate], None, state)[0])
        evaluate([move], None, state)
    np.testing.assert_allclose(evaluate([w], None, state)[0], [1 - sum(rates)], rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in RATES if name != "piecewise"])
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_a_rate_has_the_type_of_the_first_one(name: str, dtype: str) -> None:
    base = name.partition("_")[0]
    first = constant(0.1, dtype)
    made = {
        "exponential": lambda: train.exponential_decay(first, 5, 10, 0.5),
        "inverse": lambda: train.inverse_time_decay(first, 5, 10, 0.5),
        "natural": lambda: train.natural_exp_decay(first, 5, 10, 0.5),
        "polynomial": lambda: train.polynomial_decay(first, 5, 10),
        "cosine": lambda: train.cosine_decay(first, 5, 10),
        "linear": lambda: train.linear_cosine_decay(first, 5, 10),
        "noisy": lambda: train.noisy_linear_cosine_decay(first, 5, 10),
    }[base]()
    assert made.dtype is as_dtype(dtype)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("exponential", "ExponentialDecay"),
        ("natural_exp", "ExponentialDecay"),
        ("inverse_time", "InverseTimeDecay"),
        ("polynomial", "PolynomialDecay"),
        ("cosine_restarts", "SGDRDecay"),
        ("linear_cosine", "LinearCosineDecay"),
        ("noisy", "NoisyLinearCosineDecay"),
    ],
)
def test_rates_are_named_as_in_tensorflow(name: str, wanted: str) -> None:
    assert RATES[name](train, 1).op.name == wanted


def test_a_boundary_belongs_to_the_value_before_it() -> None:
    step = source(float64, [])
    rate = train.piecewise_constant(step, [constant(1.5, float64)], [3, 7])
    assert rate.dtype is int32
    found = [int(evaluate([rate], {step: value})[0]) for value in (1.4, 1.5, 1.6)]
    assert found == [3, 3, 7]


def test_the_noise_of_a_rate_grows_smaller() -> None:
    """Its standard deviation is that of the formula; the draws are those of the seed."""
    set_random_seed(3)
    step = source(int64, [])
    rate = train.noisy_linear_cosine_decay(1.0, step, 1000, num_periods=0.0, beta=0.0)
    state = Variables()
    spread = [np.std([evaluate([rate], {step: at}, state)[0] for _ in range(150)]) for at in (0, 100)]
    np.testing.assert_allclose(spread, [1.0, 101**-0.275], rtol=0.15)


@pytest.mark.parametrize(
    "make",
    [
        lambda: train.exponential_decay(0.1, None, 10, 0.5),
        lambda: train.natural_exp_decay(0.1, None, 10, 0.5),
        lambda: train.inverse_time_decay(0.1, None, 10, 0.5),
        lambda: train.polynomial_decay(0.1, None, 10),
        lambda: train.cosine_decay(0.1, None, 10),
        lambda: train.cosine_decay_restarts(0.1, None, 10),
        lambda: train.linear_cosine_decay(0.1, None, 10),
        lambda: train.noisy_linear_cosine_decay(0.1, None, 10),
    ],
)
def test_a_rate_needs_a_step(make: Any) -> None:
    with pytest.raises(ValueError, match="needs a global_step, got None"):
        make()


def test_boundaries_and_values_must_fit() -> None:
    with pytest.raises(ValueError, match="the dtype of x, int32; got float32"):
        train.piecewise_constant(constant(1), [1.5], [1.0, 2.0])
    with pytest.raises(ValueError, match="the same dtype, got float32, int32"):
        train.piecewise_constant(constant(1.0), [1.5], [1.0, 2])
    with pytest.raises(ValueError, match="got 3 values and 1 boundaries"):
        train.piecewise_constant_decay(constant(1.0), [1.5], [1.0, 2.0, 3.0])
