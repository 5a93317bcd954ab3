"""Rates that decay, by their formulas.

The numbers of TensorFlow are those of the family ``schedules`` of the differential programs.
"""

from __future__ import annotations

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
from tests.rows import refusing

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


@pytest.mark.parametrize("dtype", ["float64", "float16"])
@pytest.mark.parametrize("decay", ["exponential", "inverse_time", "natural_exp"])
def test_a_rate_has_the_type_of_the_first_one(decay: str, dtype: str) -> None:
    function = getattr(train, f"{decay}_decay")
    assert function(constant(0.1, dtype), 5, 10, 0.5).dtype is as_dtype(dtype)
    for other in ("polynomial", "cosine", "linear_cosine", "noisy_linear_cosine"):
        assert getattr(train, f"{other}_decay")(constant(0.1, dtype), 5, 10).dtype is as_dtype(dtype)


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
    # Its standard deviation is that of the formula; the draws are those of the seed.
    set_random_seed(3)
    step = source(int64, [])
    rate = train.noisy_linear_cosine_decay(1.0, step, 1000, num_periods=0.0, beta=0.0)
    state = Variables()
    spread = [np.std([evaluate([rate], {step: at}, state)[0] for _ in range(150)]) for at in (0, 100)]
    np.testing.assert_allclose(spread, [1.0, 101**-0.275], rtol=0.15)


NEEDED = "needs a global_step, got None"
test_a_rate_needs_a_step_and_boundaries_that_fit_its_values = refusing(
    *[(lambda make=make: make(train, None), ValueError, NEEDED) for name, make in RATES.items() if name != "piecewise"],
    (lambda: train.piecewise_constant(constant(1), [1.5], [1.0, 2.0]), ValueError, "of x, int32; got float32"),
    (lambda: train.piecewise_constant(constant(1.0), [1.5], [1.0, 2]), ValueError, "same dtype, got float32, int32"),
    (
        lambda: train.piecewise_constant_decay(constant(1.0), [1.5], [1.0, 2.0, 3.0]),
        ValueError,
        "got 3 values and 1 boundaries",
    ),
)
