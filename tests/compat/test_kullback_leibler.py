"""How far one distribution is from another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")

ds = tf.distributions


def value(tensor: Any, feeds: Any = None) -> Any:
    with tf.Session() as sess:
        return sess.run(tensor, feeds)


@for_each(
    "make",
    [
        lambda: (ds.Normal([0.0, 1.0], [1.0, 2.0]), ds.Normal(1.0, 3.0)),
        lambda: (ds.Gamma([2.0, 1.5], 3.0), ds.Gamma(1.0, 2.0)),
        lambda: (ds.Exponential(2.0), ds.Exponential([3.0, 0.5])),
        lambda: (ds.Beta([2.0, 1.5], 3.0), ds.Beta(1.5, 2.0)),
    ],
    ids=["normal", "gamma", "exponential", "beta"],
)
def test_the_divergence_is_the_mean_of_the_difference_of_the_logarithms(make: Any) -> None:
    a, b = make()
    points, weights = np.polynomial.legendre.leggauss(400)
    low, high = (1e-9, 1 - 1e-9) if isinstance(a, ds.Beta) else (1e-9, 60.0)
    if isinstance(a, ds.Normal):
        low = -60.0
    x = (low + (high - low) * (points + 1) / 2)[:, None]
    p, q, found, crossed, entropy = value(
        [
            a.log_prob(x.astype(np.float32)),
            b.log_prob(x.astype(np.float32)),
            ds.kl_divergence(a, b),
            a.cross_entropy(b),
            a.entropy(),
        ]
    )
    p, q = p.astype(np.float64), q.astype(np.float64)
    wanted = (weights[:, None] * np.exp(p) * (p - q)).sum(0) * (high - low) / 2
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(crossed, found + entropy, rtol=1e-5)


def test_the_divergence_of_classes_is_a_sum() -> None:
    p, q = np.array([0.2, 0.8]), np.array([0.6, 0.4])
    wanted = (p * np.log(p / q)).sum()
    pairs = [(ds.Categorical(probs=p), ds.Categorical(probs=q)), (ds.Bernoulli(probs=p[0]), ds.Bernoulli(probs=q[0]))]
    for a, b in pairs:
        np.testing.assert_allclose(value(a.kl_divergence(b)), wanted, rtol=1e-9)
    a, b = ds.Dirichlet([1.0, 1.0]), ds.Dirichlet([2.0, 1.0])
    # Of a uniform draw against 2 x: minus the mean of log(2 x).
    np.testing.assert_allclose(value(ds.kl_divergence(a, b)), 1 - np.log(2), rtol=1e-5)


def test_the_function_of_the_nearest_classes_is_taken() -> None:
    class Mine(ds.Normal):
        pass

    class Other(ds.Uniform):
        pass

    mine, other = Mine(0.0, 1.0), Other()
    np.testing.assert_allclose(value(ds.kl_divergence(mine, ds.Normal(1.0, 1.0))), 0.5)
    with pytest.raises(NotImplementedError, match="distribution_a type Mine and distribution_b"):
        ds.kl_divergence(mine, other)

    @ds.RegisterKL(Mine, ds.Uniform)
    def far(a: Any, b: Any, name: str | None = None) -> Any:
        return tf.constant(7.0)

    assert value(ds.kl_divergence(mine, other)) == 7.0
    with pytest.raises(ValueError, match=r"KL\(Mine \|\| Uniform\) has already been registered"):
        ds.RegisterKL(Mine, ds.Uniform)(far)
    with pytest.raises(TypeError, match="must be callable"):
        ds.RegisterKL(Mine, Other)(3)  # type: ignore[type-var]
