"""Rates that decay, against the numbers of TensorFlow 2.21 and their formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import (
    Variable,
    as_dtype,
    constant,
    float32,
    float64,
    global_variables_initializer,
    int32,
    int64,
    set_random_seed,
    train,
)
from tests.ops.interpreter import Variables, evaluate, source

STEPS = [0, 1, 5, 10, 12, 13, 25]
MAKERS: dict[str, Callable[[Any], Any]] = {
    "exponential": lambda s: train.exponential_decay(0.1, s, 10, 0.5),
    "exponential_staircase": lambda s: train.exponential_decay(0.1, s, 10, 0.5, staircase=True),
    "inverse_time": lambda s: train.inverse_time_decay(0.1, s, 10, 0.5),
    "inverse_time_staircase": lambda s: train.inverse_time_decay(0.1, s, 10, 0.5, True),
    "natural_exp": lambda s: train.natural_exp_decay(0.1, s, 10, 0.5),
    "natural_exp_staircase": lambda s: train.natural_exp_decay(0.1, s, 10, 0.5, True),
    "piecewise": lambda s: train.piecewise_constant(s, [5, 12], [0.1, 0.05, 0.01]),
    "polynomial": lambda s: train.polynomial_decay(0.1, s, 10, 0.01),
    "polynomial_power": lambda s: train.polynomial_decay(0.1, s, 10, 0.01, 2.0),
    "polynomial_cycle": lambda s: train.polynomial_decay(0.1, s, 10, 0.01, 0.5, cycle=True),
    "cosine": lambda s: train.cosine_decay(0.1, s, 10, 0.2),
    "cosine_restarts": lambda s: train.cosine_decay_restarts(0.1, s, 5),
    "cosine_restarts_mul": lambda s: train.cosine_decay_restarts(
        0.1, s, 5, t_mul=1.0, m_mul=0.5, alpha=0.1
    ),
    "cosine_restarts_t": lambda s: train.cosine_decay_restarts(
        0.1, s, 5, t_mul=1.5, m_mul=0.5, alpha=0.1
    ),
    "linear_cosine": lambda s: train.linear_cosine_decay(0.1, s, 10),
    "linear_cosine_periods": lambda s: train.linear_cosine_decay(
        0.1, s, 10, num_periods=2.0, alpha=0.1, beta=0.01
    ),
    "noisy": lambda s: train.noisy_linear_cosine_decay(0.1, s, 10, initial_variance=0.0),
}
FOUND = {
    "exponential": [0.1, 0.0933033, 0.070710681, 0.050000001, 0.043527525, 0.040612619, 0.01767767],
    "exponential_staircase": [0.1, 0.1, 0.1, 0.050000001, 0.050000001, 0.050000001, 0.025],
    "inverse_time": [0.1, 0.095238104, 0.079999998, 0.06666667, 0.0625, 0.060606059, 0.044444446],
    "inverse_time_staircase": [0.1, 0.1, 0.1, 0.06666667, 0.06666667, 0.06666667, 0.050000001],
    "natural_exp": [
        0.1,
        0.095122948,
        0.077880077,
        0.060653068,
        0.054881163,
        0.052204579,
        0.028650481,
    ],
    "natural_exp_staircase": [0.1, 0.1, 0.1, 0.060653068, 0.060653068, 0.060653068, 0.036787946],
    "piecewise": [0.1, 0.1, 0.1, 0.050000001, 0.050000001, 0.0099999998, 0.0099999998],
    "polynomial": [0.1, 0.090999998, 0.055, 0.0099999998, 0.0099999998, 0.0099999998, 0.0099999998],
    "polynomial_power": [
        0.1,
        0.082899995,
        0.032499999,
        0.0099999998,
        0.0099999998,
        0.0099999998,
        0.0099999998,
    ],
    "polynomial_cycle": [
        0.1,
        0.095381498,
        0.073639609,
        0.0099999998,
        0.066921003,
        0.063244723,
        0.04674235,
    ],
    "cosine": [0.1, 0.098042265, 0.059999999, 0.020000001, 0.020000001, 0.020000001, 0.020000001],
    "cosine_restarts": [0.1, 0.090450846, 0.1, 0.049999997, 0.020610729, 0.0095491409, 0.049999997],
    "cosine_restarts_mul": [
        0.1,
        0.091405764,
        0.055000003,
        0.032499999,
        0.024726436,
        0.017773554,
        0.0128125,
    ],
    "cosine_restarts_t": [
        0.1,
        0.091405764,
        0.055000003,
        0.021249998,
        0.010491678,
        0.032390516,
        0.021098379,
    ],
    "linear_cosine": [0.1001, 0.087897547, 0.025099998, 0.0001, 0.0001, 0.0001, 0.0001],
    "linear_cosine_periods": [0.111, 0.066450849, 0.061000001, 0.011, 0.011, 0.011, 0.011],
    "noisy": [0.1001, 0.087897547, 0.025099998, 0.0001, 0.0001, 0.0001, 0.0001],
}
EVERY = pytest.mark.parametrize("name", MAKERS)


@EVERY
def test_rates_are_those_of_tensorflow(name: str) -> None:
    step = source(int64, [])
    rate = MAKERS[name](step)
    assert rate.dtype is float32
    assert rate.shape.rank == 0
    found = [float(evaluate([rate], {step: value})[0]) for value in STEPS]
    np.testing.assert_allclose(found, FOUND[name], rtol=2e-5)


@EVERY
def test_a_rate_follows_the_global_step_of_training(name: str) -> None:
    w, step = Variable([1.0]), train.get_or_create_global_step()
    rate = MAKERS[name](step)
    move = train.GradientDescentOptimizer(rate).apply_gradients([([1.0], w)], step)
    state = Variables()
    evaluate([global_variables_initializer()], None, state)
    evaluate([move], None, state)
    evaluate([move], None, state)
    np.testing.assert_allclose(evaluate([w], None, state)[0], [1 - sum(FOUND[name][:2])], rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "piecewise"])
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
        ("exponential", "ExponentialDecay"), ("natural_exp", "ExponentialDecay"),
        ("inverse_time", "InverseTimeDecay"), ("polynomial", "PolynomialDecay"),
        ("cosine_restarts", "SGDRDecay"), ("linear_cosine", "LinearCosineDecay"),
        ("noisy", "NoisyLinearCosineDecay"),
    ],
)  # fmt: skip
def test_rates_are_named_as_in_tensorflow(name: str, wanted: str) -> None:
    assert MAKERS[name](1).op.name == wanted


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
    spread = [
        np.std([evaluate([rate], {step: at}, state)[0] for _ in range(150)]) for at in (0, 100)
    ]
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
