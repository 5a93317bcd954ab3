"""Adam against its formula over several steps."""

from __future__ import annotations

import numpy as np

from actorsession import Graph, Variable, constant, float64, global_variables_initializer
from actorsession.train import AdamOptimizer
from tests.ops.interpreter import Variables, evaluate, source

RATES = (0.1, 0.8, 0.95, 1e-4)


class Oracle:
    """The formula of the class's docstring in numpy."""

    def __init__(self, value: object) -> None:
        self.value = np.array(value, float)
        self.m = self.v = np.zeros_like(self.value)
        self.step = 0

    def move(self, grad: object, rate: float, b1: float, b2: float, epsilon: float) -> None:
        slope = np.asarray(grad, float)
        self.step += 1
        self.m = self.m + (1 - b1) * (slope - self.m)
        self.v = self.v + (1 - b2) * (slope**2 - self.v)
        size = rate * np.sqrt(1 - b2**self.step) / (1 - b1**self.step)
        self.value = self.value - size * self.m / (np.sqrt(self.v) + epsilon)


def test_steps_follow_the_formula() -> None:
    with Graph().as_default():
        w, grad = Variable([1.0, 2.0, 3.0], dtype=float64), source(float64, [3])
        rate, beta1, beta2, epsilon = (constant(x, float64) for x in RATES)
        optimizer = AdamOptimizer(rate, beta1, beta2, epsilon)
        train = optimizer.apply_gradients([(grad, w)])
        state = Variables()
        evaluate([global_variables_initializer()], None, state)
        oracle = Oracle([1.0, 2.0, 3.0])
        for step in range(5):
            slope = np.array([1.0, -2.0, 0.0]) * (step + 1)
            oracle.move(slope, *RATES)
            evaluate([train], {grad: slope}, state)
            np.testing.assert_allclose(evaluate([w], None, state)[0], oracle.value, rtol=1e-12)
        for name, expected in (("m", oracle.m), ("v", oracle.v)):
            slot = optimizer.get_slot(w, name)
            np.testing.assert_allclose(evaluate([slot], None, state)[0], expected, rtol=1e-12)


def test_the_defaults_are_those_of_the_paper() -> None:
    with Graph().as_default():
        w = Variable([1.0, 1.0])
        train = AdamOptimizer().apply_gradients([([0.5, -3.0], w)])
        state = Variables()
        evaluate([global_variables_initializer()], None, state)
        oracle = Oracle([1.0, 1.0])
        for _ in range(3):
            oracle.move([0.5, -3.0], 0.001, 0.9, 0.999, 1e-8)
            evaluate([train], None, state)
        np.testing.assert_allclose(evaluate([w], None, state)[0], oracle.value, rtol=1e-5)


def test_the_powers_of_the_betas_count_the_steps_once_for_all_variables() -> None:
    with Graph().as_default():
        a, b = Variable([1.0]), Variable([1.0], dtype=float64)
        optimizer = AdamOptimizer()
        train = optimizer.apply_gradients([([1.0], a), ([1.0], b)])
        state = Variables()
        evaluate([global_variables_initializer()], None, state)
        for _ in range(3):
            evaluate([train], None, state)
        powers = [v for v in optimizer.variables() if v.name.startswith("beta")]
        found = evaluate(powers, None, state)
        np.testing.assert_allclose(found, [0.9**4, 0.999**4], rtol=1e-6)


def test_all_updates_of_a_step_use_the_same_powers() -> None:
    """They are read before any update, and multiplied after all of them."""
    with Graph().as_default() as graph:
        a, b = Variable([1.0]), Variable([1.0])
        optimizer = AdamOptimizer()
        optimizer.apply_gradients([([1.0], a), ([1.0], b)])
        updates = [op for op in graph.get_operations() if op.type == "ResourceApplyAdam"]
        assert updates[0].inputs[3:5] == updates[1].inputs[3:5]
        last = [op for op in graph.get_operations() if op.type == "AssignVariableOp" and op.name.startswith("Adam/")]
        assert len(last) == 2
        for op in last:
            assert set(updates) <= set(op.control_inputs)
