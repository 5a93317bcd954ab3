"""Weighted cross entropy, Poisson loss, and the layers of one product, against their formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import nn
from tests.ops.cases import expect, f32
from tests.ops.interpreter import check_gradient, evaluate

LABELS = f32([[1.0, 0.0, 0.25], [0.0, 1.0, 0.5]])
LOGITS = f32([[0.5, -1.0, 2.0], [1.5, 90.0, -90.0]])
COUNTS = f32([0.0, 0.5, 1.0, 2.0, 7.5])
MEANS = f32([0.3, -1.0, 0.0, 1.5, 2.0])
X, W, B = f32([[1.0, -2.0], [0.5, 3.0]]), f32([[1.0, 2.0, -1.0], [0.5, -1.0, 1.0]]), f32([1, 2, -3])


def weighted(labels: Any, logits: Any, weight: float) -> Any:
    z, x = np.asarray(labels, float), np.asarray(logits, float)
    return (weight * z * np.logaddexp(0, -x) + (1 - z) * np.logaddexp(0, x)).astype(np.float32)


def poisson(counts: Any, means: Any) -> Any:
    return np.exp(means) - means * counts


@pytest.mark.parametrize("weight", [0.5, 1.0, 2.5])
def test_the_weighted_cross_entropy_counts_positive_labels_that_often(weight: float) -> None:
    expect(
        lambda z, x: nn.weighted_cross_entropy_with_logits(z, x, weight),
        weighted(LABELS, LOGITS, weight),
        LABELS,
        LOGITS,
        exact=False,
    )


def test_the_weighted_cross_entropy_has_its_gradient_at_zero_too() -> None:
    check_gradient(
        lambda z, x: nn.weighted_cross_entropy_with_logits(labels=z, logits=x, pos_weight=3.0),
        np.array([0.2, 0.7, 1.0]),
        np.array([0.0, 0.4, -1.3]),
    )


def test_the_poisson_loss_follows_its_formula() -> None:
    expect(nn.log_poisson_loss, poisson(COUNTS, MEANS), COUNTS, MEANS, exact=False)


def test_the_full_poisson_loss_has_stirlings_formula_for_counts_above_one() -> None:
    big = COUNTS > 1
    safe = np.where(big, COUNTS, 2)
    stirling = safe * np.log(safe) - safe + 0.5 * np.log(2 * np.pi * safe)
    wanted = poisson(COUNTS, MEANS) + np.where(big, stirling, 0)
    expect(lambda c, m: nn.log_poisson_loss(c, m, compute_full_loss=True), f32(wanted), COUNTS, MEANS, exact=False)


def test_the_gradient_of_the_poisson_loss() -> None:
    check_gradient(nn.log_poisson_loss, np.array([0.5, 2.0]), np.array([0.3, -0.7]))
    check_gradient(lambda c, m: nn.log_poisson_loss(c, m, True), np.array([1.5, 4.0]), np.array([0.3, -0.7]))


def test_cross_entropies_take_labels_before_logits_and_need_both() -> None:
    """As in TensorFlow; with names they may come in any order."""
    makers: list[tuple[Any, Any, Any]] = [
        (nn.softmax_cross_entropy_with_logits, [[0.0, 1.0]], [np.log1p(np.exp(1.0))]),
        (nn.sparse_softmax_cross_entropy_with_logits, np.array([1]), [np.log1p(np.exp(1.0))]),
        (nn.sigmoid_cross_entropy_with_logits, [[0.0, 1.0]], [[np.log1p(np.exp(1.0)), np.log(2)]]),
    ]
    for make, labels, wanted in makers:
        found = evaluate([make(labels, [[1.0, 0.0]])])[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        for given in ({"labels": labels}, {"logits": [[1.0, 0.0]]}):
            with pytest.raises(ValueError, match="labels and logits must be given"):
                make(**given)


def test_shapes_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one shape, got \(1,\) and \(2,\)"):
        nn.weighted_cross_entropy_with_logits([1.0, 2.0], [1.0], 1.0)
    with pytest.raises(ValueError, match=r"one shape, got \(1,\) and \(2,\)"):
        nn.log_poisson_loss([1.0, 2.0], [1.0])


def test_a_product_and_a_bias_are_one_function() -> None:
    expect(nn.xw_plus_b, X @ W + B, X, W, B)
    expect(nn.relu_layer, np.maximum(X @ W + B, 0), X, W, B)
    assert nn.xw_plus_b(X, W, B).op.name == "xw_plus_b"
    assert nn.relu_layer(X, W, B).op.name == "relu_layer"


def test_gradients_of_a_layer() -> None:
    arrays = [np.asarray(v, float) for v in (X, W, B)]
    check_gradient(nn.xw_plus_b, *arrays)
    check_gradient(nn.relu_layer, *arrays[:2], arrays[2] + 0.3)  # away from the kink
