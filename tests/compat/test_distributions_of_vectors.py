"""``contrib.distributions`` of vectors, and the further ones; values are TensorFlow 1.15's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

ds = tf.contrib.distributions


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        yield


def run(*fetches: Any) -> list[Any]:
    with tf.Session() as session:
        return list(session.run(list(fetches)))


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)


VALUES = [[0.3, 0.4], [1.0, 5.0]]


def test_independent_components_have_a_density_of_vectors() -> None:
    normal = ds.MultivariateNormalDiag([1.0, 2.0], [[0.5, 1.0], [2.0, 3.0]])
    assert (normal.batch_shape, normal.event_shape) == ([2], [2])
    assert normal.sample([2, 3]).shape == [2, 3, 2, 2]
    log_prob, entropy, covariance = run(normal.log_prob(VALUES), normal.entropy(), normal.covariance())
    densities = [
        -np.log(2 * np.pi) - np.log(0.5) - (0.7 / 0.5) ** 2 / 2 - 1.6**2 / 2,
        -np.log(2 * np.pi) - np.log(6.0) - 0.5,
    ]
    close(log_prob, densities)
    close(entropy, [1 + np.log(2 * np.pi) + np.log(0.5), 1 + np.log(2 * np.pi) + np.log(6.0)])
    close(covariance, [np.diag([0.25, 1.0]), np.diag([4.0, 9.0])])
    # A multiplier scales all components alike and the scale is one without it.
    half = ds.MultivariateNormalDiag([1.0, 2.0], scale_identity_multiplier=0.5)
    one = ds.MultivariateNormalDiag([1.0, 2.0])
    found = run(half.stddev(), one.stddev(), one.mode())
    close(found, [[0.5, 0.5], [1.0, 1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="at least one of loc and scale"):
        ds.MultivariateNormalDiag()
    # Scales may be given before their softplus.
    raw = run(ds.softplus_inverse([1.0, 2.0]))[0]
    vector = ds.MultivariateNormalDiagWithSoftplusScale([0.0, 0.0], raw)
    scalar = ds.NormalWithSoftplusScale(0.0, raw)
    close(run(vector.stddev(), scalar.stddev()), [[1.0, 2.0], [1.0, 2.0]])


def test_triangular_and_full_covariances_describe_the_same_distribution() -> None:
    root = np.array([[1.0, 0.0], [0.5, 2.0]], np.float32)
    a = ds.MultivariateNormalTriL([0.0, 1.0], root)
    b = ds.MultivariateNormalFullCovariance([0.0, 1.0], root @ root.T)
    first, second, apart, variance = run(a.log_prob(VALUES), b.log_prob(VALUES), ds.kl_divergence(a, b), a.variance())
    close(first, second)
    close(apart, 0.0)
    close(variance, [1.0, 4.25])
    drawn = run(a.sample(20000, seed=3))[0]
    assert np.abs(np.cov(drawn.T) - root @ root.T).max() < 0.2


def test_the_divergence_of_normal_distributions_does_not_depend_on_how_they_are_given() -> None:
    diagonal = ds.MultivariateNormalDiag([1.0, 2.0], [0.5, 3.0])
    same = ds.MultivariateNormalTriL([1.0, 2.0], np.diag([0.5, 3.0]).astype(np.float32))
    other = ds.MultivariateNormalTriL([0.0, 1.0], [[1.0, 0.0], [0.5, 2.0]])
    plain = ds.MultivariateNormalDiag([0.0, 1.0], [1.0, 2.0])
    found = run(
        ds.kl_divergence(diagonal, other),
        ds.kl_divergence(same, other),
        ds.kl_divergence(diagonal, plain),
        ds.kl_divergence(same, plain),
    )
    close(found[0], found[1])
    close(found[2], found[3])
    parts = 0.5 * (0.25 + 9 / 4 + 1.0 + 0.25 - 2) - np.log(0.5) - np.log(3.0 / 2.0)
    close(found[2], parts)


def test_classes_are_vectors_with_a_single_one() -> None:
    classes = ds.OneHotCategorical(logits=[[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]], dtype=tf.float32)
    even = ds.OneHotCategorical(probs=[0.2, 0.3, 0.5], dtype=tf.float32)
    drawn = classes.sample(4)
    assert drawn.shape == [4, 2, 3]
    found = run(classes.log_prob([0.0, 1.0, 0.0]), classes.entropy(), classes.mode(), ds.kl_divergence(classes, even))
    close(found[0], [-1.40761, -1.55144])
    close(found[1], [0.8324, 0.97533])
    close(found[2], [[0, 0, 1], [0, 0, 1]])
    close(found[3], [0.06826, 0.02028])
    close(run(drawn)[0].sum(-1), np.ones([4, 2]))


def test_relaxed_classes_are_points_whose_components_add_up_to_one() -> None:
    relaxed = ds.RelaxedOneHotCategorical(0.7, logits=[1.0, 2.0, 3.0])
    logs = ds.ExpRelaxedOneHotCategorical(0.7, logits=[1.0, 2.0, 3.0])
    drawn, log_prob, of_logs = run(
        relaxed.sample(5), relaxed.log_prob([0.2, 0.3, 0.5]), logs.log_prob(np.log([0.2, 0.3, 0.5]))
    )
    close(drawn.sum(-1), np.ones(5))
    close(log_prob, -0.24961948)
    close(of_logs, log_prob + np.log(0.2 * 0.3 * 0.5))
    slope = tf.gradients(relaxed.sample(seed=1)[0], [relaxed.logits])[0]
    assert np.any(run(slope)[0] != 0)


def test_poisson_has_probabilities_between_whole_numbers_unless_told_not_to() -> None:
    poisson = ds.Poisson([3.0, 0.5])
    whole = ds.Poisson([3.0, 0.5], interpolate_nondiscrete=False)
    found = run(poisson.log_prob([2.0, 3.0]), whole.log_prob([2.5, 3.0]), poisson.mode(), poisson.variance())
    close(found[0], [-1.49592, -4.3712])
    assert found[1][0] == -np.inf
    close(found[1][1], -4.3712)
    close(found[2:], [[3.0, 0.0], [3.0, 0.5]])
    assert abs(run(poisson.sample(4000, seed=5))[0].mean(0)[0] - 3.0) < 0.2
    with pytest.raises(ValueError, match="exactly one of"):
        ds.Poisson()
    # Logistic distributions.
    logistic = ds.Logistic([0.0, 1.0], [1.0, 2.0])
    below, above, entropy, deviation = run(
        logistic.cdf(0.3), logistic.survival_function(0.3), logistic.entropy(), logistic.stddev()
    )
    close(below, 1 / (1 + np.exp([-0.3, 0.35])))
    close(below + above, [1.0, 1.0])
    close(entropy, [2.0, 2.0 + np.log(2.0)])
    close(deviation, np.array([1.0, 2.0]) * np.pi / np.sqrt(3.0))
    # Independent values of a batch are one value.
    each = ds.Normal([[0.0, 1.0], [2.0, 3.0]], [1.0, 2.0])
    both = ds.Independent(each, 1)
    assert (both.batch_shape, both.event_shape) == ([2], [2])
    assert both.sample(3).shape == [3, 2, 2]
    together, apart = run(both.log_prob([1.0, 2.0]), each.log_prob([1.0, 2.0]))
    close(together, apart.sum(-1))
    with pytest.raises(ValueError, match="cannot exceed"):
        ds.Independent(each, 3)
