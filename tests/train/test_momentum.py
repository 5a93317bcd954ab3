"""Momentum against its formula over several steps."""

from __future__ import annotations

import numpy as np
import pytest

from actorsession import Graph, IndexedSlices, Variable, constant, float64, global_variables_initializer
from actorsession.train import MomentumOptimizer
from tests.ops.interpreter import Variables, evaluate, source


@pytest.mark.parametrize("nesterov", [False, True])
def test_steps_follow_the_formula(nesterov: bool) -> None:
    with Graph().as_default():
        w, grad = Variable([1.0, 2.0], dtype=float64), source(float64, [2])
        optimizer = MomentumOptimizer(0.1, 0.9, use_nesterov=nesterov)
        train = optimizer.apply_gradients([(grad, w)])
        state = Variables()
        evaluate([global_variables_initializer()], None, state)
        value, total = np.array([1.0, 2.0]), np.zeros(2)
        # The rates are float32 tensors, as in TensorFlow, whatever the variable is.
        rate, momentum = float(np.float32(0.1)), float(np.float32(0.9))
        for step in range(4):
            slope = np.array([1.0, -2.0]) * (step + 1)
            total = momentum * total + slope
            value = value - rate * (slope + momentum * total if nesterov else total)
            evaluate([train], {grad: slope}, state)
            np.testing.assert_allclose(evaluate([w], None, state)[0], value, rtol=1e-12)
        slot = optimizer.get_slot(w, "momentum")
        np.testing.assert_allclose(evaluate([slot], None, state)[0], total, rtol=1e-12)


def test_rows_without_gradient_keep_their_momentum() -> None:
    with Graph().as_default():
        w = Variable(np.zeros((3, 1)))
        optimizer = MomentumOptimizer(1.0, 0.5)
        indices = source("int32", [1])
        rows = IndexedSlices(constant([[1.0]], float64), indices, constant([3, 1]))
        train = optimizer.apply_gradients([(rows, w)])
        state = Variables()
        evaluate([global_variables_initializer()], None, state)
        for index in (0, 1, 0):
            evaluate([train], {indices: [index]}, state)
        slot = optimizer.get_slot(w, "momentum")
        assert evaluate([slot], None, state)[0].tolist() == [[1.5], [1.0], [0.0]]
        assert evaluate([w], None, state)[0].tolist() == [[-2.5], [-1.0], [0.0]]
