"""Gradient descent against its formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, IndexedSlices, Variable, constant, float32, float64, global_variables_initializer
from actorsession.train import GradientDescentOptimizer
from tests.ops.interpreter import Variables, evaluate


@pytest.mark.parametrize(
    "make_rate",
    [lambda: 0.5, lambda: constant(0.5), lambda: Variable(0.5, trainable=False)],
    ids=["number", "tensor", "variable"],
)
@pytest.mark.parametrize("dtype", [float32, float64])
def test_a_step_subtracts_rate_times_gradient(make_rate: Any, dtype: Any) -> None:
    with Graph().as_default():
        w = Variable([1.0, 2.0], dtype=dtype)
        train = GradientDescentOptimizer(make_rate()).apply_gradients([([4.0, -2.0], w)])
        state = Variables()
        evaluate([global_variables_initializer()], None, state)
        evaluate([train], None, state)
        assert evaluate([w], None, state)[0].tolist() == [-1.0, 3.0]


def test_a_function_as_rate_is_called_when_the_step_is_built() -> None:
    with Graph().as_default():
        w = Variable([1.0])
        train = GradientDescentOptimizer(lambda: 0.5).apply_gradients([([1.0], w)])
        state = Variables()
        evaluate([global_variables_initializer()], None, state)
        evaluate([train], None, state)
        assert evaluate([w], None, state)[0].tolist() == [0.5]


def test_a_step_on_rows_touches_no_other_row() -> None:
    with Graph().as_default() as graph:
        w = Variable(np.zeros((1000, 2), np.float32))
        rows = IndexedSlices(constant([[1.0, 2.0], [3.0, 4.0]]), constant([7, 7]))
        train = GradientDescentOptimizer(0.5).apply_gradients([(rows, w)])
        assert not [op for op in graph.get_operations() if op.type == "UnsortedSegmentSum"]
        state = Variables()
        evaluate([global_variables_initializer()], None, state)
        evaluate([train], None, state)
        found = evaluate([w], None, state)[0]
        assert found[7].tolist() == [-2.0, -3.0]
        assert np.count_nonzero(found) == 2
