from __future__ import annotations

import numpy as np

from actorsession import nn, ops
from tests.ops.interpreter import check_gradient, evaluate


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
