"""Activations: long arrays, digits of small values, and functions composed of ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import ops
from actorsession.graph.dtypes import as_dtype, float32
from actorsession.namespaces import nn
from actorsession.ops.build import constant, make_one
from actorsession.ops.derivatives.gradients import gradients
from actorsession.ops.neural import activations
from tests.ops.interpreter import check_gradient, evaluate, source
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


def test_a_leaky_relu_turns_integers_into_floats() -> None:
    made = nn.leaky_relu(ops.constant([-5, 2]), alpha=np.float32(0.5))
    assert made.op.type == "LeakyRelu"
    assert made.op.get_attr("alpha") == 0.5
    assert evaluate([made])[0].tolist() == [-2.5, 2.0]


def test_a_leaky_relu_is_leaky_by_a_fifth_and_may_be_steep() -> None:
    x = ops.constant([-5.0, 2.0])
    found = evaluate([nn.leaky_relu(x), nn.leaky_relu(x, 2.0)])
    assert [v.tolist() for v in found] == [[-1.0, 2.0], [-10.0, 2.0]]


def test_a_concatenated_relu_keeps_both_signs_apart() -> None:
    x = ops.constant([[1.0, -2.0]])
    made = [nn.crelu(x), nn.crelu(x, axis=0)]
    assert [v.tolist() for v in evaluate(made)] == [[[1, 0, 0, 2]], [[1, 0], [0, 2]]]
    assert made[0].op.name == "CRelu/Relu"


def test_swish_is_a_number_times_its_sigmoid() -> None:
    x = np.array([-3.0, -0.5, 0.0, 2.0])
    [plain, steep] = evaluate([nn.swish(x), nn.silu(features=x, beta=2.0)])
    np.testing.assert_allclose(plain, x / (1.0 + np.exp(-x)), 1e-12)
    np.testing.assert_allclose(steep, x / (1.0 + np.exp(-2.0 * x)), 1e-12)
    check_gradient(lambda t: nn.swish(t, 1.5), x)


def test_the_logarithm_of_a_sigmoid_does_not_underflow() -> None:
    x = ops.constant([-1000.0, 0.0, 1000.0])
    [found] = evaluate([ops.log_sigmoid(x)])
    np.testing.assert_allclose(found, [-1000, -np.log(2), 0], 1e-6)
