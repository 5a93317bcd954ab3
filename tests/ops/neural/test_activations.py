from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from actorsession.graph import Graph
from actorsession.graph.dtypes import as_dtype, float32, int32
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
}  # fmt: skip
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "float64": 1e-14}

all_ops = for_each("op", ACTIVATIONS, ids=lambda op: op.__name__)


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


@all_ops
@for_each("dtype", TOLERANCE)
@for_each("shape", [(), (9,), (3, 3), (0, 2)], ids=str)
@for_each("known", [True, False])
def test_an_activation_is_its_closed_form(op: Op, dtype: str, shape: Any, known: bool) -> None:
    given = np.resize(np.array(POINTS[1:] + POINTS[:1]), shape).astype(as_dtype(dtype).np_dtype)
    x = source(dtype, shape if known else None)
    [found] = evaluate([op(x)], {x: given})
    wide = given.astype(np.float64)
    np.testing.assert_allclose(
        found.astype(np.float64), ACTIVATIONS[op](wide), rtol=TOLERANCE[dtype], atol=1e-7
    )


@all_ops
@for_each("shape", [(), (1,)], ids=str)
def test_infinities_are_limits_and_nan_stays_nan(op: Op, shape: Any) -> None:
    limits = {
        "tanh": (-1, 1), "sigmoid": (0, 1), "relu": (0, np.inf), "relu6": (0, 6),
        "elu": (-1, np.inf), "softplus": (0, np.inf),
    }  # fmt: skip
    x = source(float32, shape)
    result = op(x)
    found = [evaluate([result], {x: np.full(shape, v)})[0] for v in (-np.inf, np.inf, np.nan)]
    np.testing.assert_array_equal(np.reshape(found, -1), [*limits[op.__name__], np.nan])


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


@all_ops
@for_each("shape", [(), (7,), (2, 3)], ids=str)
def test_a_gradient_is_that_of_finite_differences(op: Op, shape: Any) -> None:
    points = [-3.0, -0.75, 0.5, 2.0, 5.5, 6.5, -0.1]
    check_gradient(op, np.resize(np.array(points), shape))


@for_each("name", ["TanhGrad", "SigmoidGrad", "ReluGrad", "Relu6Grad", "EluGrad", "SoftplusGrad"])
@for_each("shape", [(), (4,)], ids=str)
def test_a_gradient_op_has_gradients_by_both_inputs(name: str, shape: Any) -> None:
    first = np.resize(np.array([0.3, -0.8, 1.7, -0.2]), shape)
    second = np.resize(np.array([-0.6, 0.9, 6.4, -1.1]), shape)
    check_gradient(lambda a, b: make_one(name, [a, b]), first, second)


@all_ops
def test_a_second_gradient_is_that_of_finite_differences(op: Op) -> None:
    def slope(x: Any) -> Any:
        [first] = gradients(op(x), x)
        return x * first

    check_gradient(slope, np.array([-2.0, -0.5, 0.5, 1.5, 7.0]), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("op", [activations.relu, activations.relu6])
def test_rectified_integers_stay_integers(op: Op) -> None:
    [found] = evaluate([op(constant([-3, 0, 4]))])
    np.testing.assert_array_equal(found, np.array([0, 0, 4], np.int32), strict=True)


@pytest.mark.parametrize("op", [activations.tanh, activations.sigmoid])
def test_complex_numbers_are_taken(op: Op) -> None:
    z = np.array([0.5 + 1j, -1 + 0.25j])
    [found] = evaluate([op(constant(z))])
    expected = np.tanh(z) if op is activations.tanh else 1 / (1 + np.exp(-z))
    np.testing.assert_allclose(found, expected)


@for_each("op", [activations.tanh, activations.sigmoid, activations.elu, activations.softplus])
def test_smooth_activations_take_no_integers(op: Op) -> None:
    with pytest.raises(TypeError, match="got int32"):
        op(source(int32, ()))


@for_each("shape", [None, [], [None, 2]], ids=str)
@all_ops
def test_the_static_shape_is_kept(op: Op, shape: Any) -> None:
    assert op(source(float32, shape)).shape == shape


def test_a_gradient_op_takes_inputs_of_one_shape() -> None:
    with pytest.raises(ValueError, match=r"\(2,\), \(3,\)"):
        make_one("ReluGrad", [source(float32, (2,)), source(float32, (3,))])


@pytest.mark.parametrize("gradient", [0.0, 1.0])
def test_nothing_flows_at_the_corner_of_relu(gradient: float) -> None:
    x = source(float32, (1,))
    [found] = evaluate(gradients(activations.relu(x), x, constant([gradient])), {x: [0.0]})
    np.testing.assert_array_equal(found, [0])
