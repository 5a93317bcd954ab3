from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import as_dtype, constant, float32, gradients
from actorsession.ops.neural import activations
from tests.nodes import make_one
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each

Op = Callable[..., Any]

POINTS = [-30.0, -3.0, -0.75, 0.0, 0.5, 2.0, 5.5, 6.5, 30.0]

ACTIVATIONS: dict[Op, Op] = {
    activations.tanh: np.tanh,
    activations.sigmoid: lambda x: np.where(x > 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x))),
    activations.relu: lambda x: np.maximum(x, 0),
    activations.relu6: lambda x: np.clip(x, 0, 6),
    activations.elu: lambda x: np.where(x > 0, x, np.expm1(x)),
    activations.softplus: lambda x: np.logaddexp(x, 0),
}
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "float64": 1e-14}


@for_each("dtype", TOLERANCE)
@for_each("op", [activations.relu, activations.relu6], ids=lambda op: op.__name__)
def test_large_arrays_are_rectified_as_small_ones(op: Op, dtype: str) -> None:
    given = np.resize(np.array([*POINTS, np.nan, np.inf, -np.inf]), 20_000)
    given = given.astype(as_dtype(dtype).np_dtype)
    [found] = evaluate([op(constant(given))])
    np.testing.assert_array_equal(found.astype(float), ACTIVATIONS[op](given.astype(float)))


def test_a_small_sigmoid_keeps_its_digits() -> None:
    [found] = evaluate([activations.sigmoid(constant([-80.0, -20.0]))])
    np.testing.assert_allclose(found, np.exp([-80.0, -20.0]), rtol=1e-5)


def test_a_small_softplus_keeps_its_digits() -> None:
    [found] = evaluate([activations.softplus(constant(np.array([-40.0, 1000.0])))])
    np.testing.assert_allclose(found, [np.exp(-40.0), 1000.0], rtol=1e-12)


def test_a_gradient_op_takes_inputs_of_one_shape() -> None:
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\)"):
        make_one("ReluGrad", [source(float32, (2,)), source(float32, (3,))])


@pytest.mark.parametrize("gradient", [0.0, 1.0])
def test_nothing_flows_at_the_corner_of_relu(gradient: float) -> None:
    x = source(float32, (1,))
    [found] = evaluate(gradients(activations.relu(x), x, constant([gradient])), {x: [0.0]})
    np.testing.assert_array_equal(found, [0])
