"""Losses over true classes and a sample, against numbers of TensorFlow 2.21."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import (
    IndexedSlices,
    Variable,
    constant,
    float64,
    global_variables_initializer,
    gradients,
    nn,
    set_random_seed,
)
from actorsession.train import AdagradOptimizer
from tests.ops.interpreter import Variables, check_gradient, evaluate
from tests.rows import for_each

RNG = np.random.RandomState(0)
TABLE = RNG.randn(7, 3).astype(np.float32)
BIASES = RNG.randn(7).astype(np.float32)
INPUTS = RNG.randn(2, 3).astype(np.float32)
SAMPLED = np.array([0, 4, 6])
ONE = (np.array([[1], [4]]), np.array([[0.5], [0.3]], np.float32))
TWO = (np.array([[1, 2], [4, 0]]), np.array([[0.5, 0.4], [0.3, 0.7]], np.float32))
COUNTS = np.array([0.7, 0.3, 0.2], np.float32)


def built(which: str, case: Any, remove: bool, tables: Any = None) -> Any:
    true, counts = case
    make: Any = nn.nce_loss if which == "nce" else nn.sampled_softmax_loss
    weights, biases = (constant(TABLE), constant(BIASES)) if tables is None else tables
    values = (constant(SAMPLED), constant(counts), constant(COUNTS))
    return make(
        weights,
        biases,
        constant(true),
        constant(INPUTS),
        3,
        7,
        true.shape[1],
        sampled_values=values,
        remove_accidental_hits=remove,
    )


@for_each(
    "which, remove, case, wanted",
    [
        ("nce", False, ONE, [6.7282, 9.392]),
        ("nce", False, TWO, [11.4387, 9.657]),
        ("nce", True, ONE, [6.7282, 9.065]),
        ("nce", True, TWO, [11.4387, 8.8983]),
        ("softmax", False, ONE, [0.0449, 8.3065]),
        ("softmax", False, TWO, [3.1434, 8.1402]),
        ("softmax", True, ONE, [0.0449, 8.3063]),
        ("softmax", True, TWO, [3.1434, 8.1396]),
    ],
)
def test_losses_are_those_of_tensorflow(which: str, remove: bool, case: Any, wanted: Any) -> None:
    np.testing.assert_allclose(evaluate([built(which, case, remove)])[0], wanted, atol=6e-5)


@pytest.mark.parametrize("which", ["nce", "softmax"])
def test_gradients_are_those_of_finite_differences(which: str) -> None:
    make: Any = nn.nce_loss if which == "nce" else nn.sampled_softmax_loss
    values = (SAMPLED, ONE[1], COUNTS)

    def f(weights: Any, biases: Any, inputs: Any) -> Any:
        given = tuple(constant(v) for v in values)
        true = constant(ONE[0])
        return make(weights, biases, true, inputs, 3, 7, 1, given, remove_accidental_hits=False)

    check_gradient(f, *(np.asarray(v, float) for v in (TABLE, BIASES, INPUTS)))


def test_tables_may_be_cut_into_parts() -> None:
    parts = [[constant(table[i::2]) for i in range(2)] for table in (TABLE, BIASES)]
    found = evaluate([built("nce", ONE, False, parts), built("nce", ONE, False)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_only_the_rows_of_the_sample_and_of_the_truth_get_a_gradient() -> None:
    w, b = Variable(TABLE), Variable(BIASES)
    slopes = gradients(built("nce", ONE, False, (w, b)), [w, b])
    assert all(isinstance(slope, IndexedSlices) for slope in slopes)
    assert evaluate([slopes[0].indices])[0].tolist() == [1, 4, 0, 4, 6]


@pytest.mark.parametrize("which", ["nce", "softmax"])
def test_a_sample_is_drawn_if_none_is_given(which: str) -> None:
    """Training with samples brings the true class up among all classes."""
    set_random_seed(1)
    make: Any = nn.nce_loss if which == "nce" else nn.sampled_softmax_loss
    w, b = Variable(np.zeros([20, 3])), Variable(np.zeros(20))
    x = constant(INPUTS.astype(float), float64)
    loss = make(w, b, constant([[5], [17]]), x, num_sampled=6, num_classes=20)
    move = AdagradOptimizer(0.5).minimize(loss)
    state = Variables()
    evaluate([global_variables_initializer()], None, state)
    for _ in range(60):
        evaluate([move], None, state)
    table, biases = evaluate([w, b], None, state)
    assert (INPUTS @ table.T + biases).argmax(1).tolist() == [5, 17]
