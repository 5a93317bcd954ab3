# ruff: noqa: E501 - a table
"""``tf.contrib.distributions``, by numbers that TensorFlow 1.15 gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")

D: Any = tf.contrib.distributions
B: Any = D.bijectors

COVARIANCE = np.array([[1.0, 0.2], [0.2, 0.5]], np.float32)
TRIANGLE = np.linalg.cholesky(COVARIANCE).astype(np.float32)
MIXED = [0.3, 0.7]


# What makes a distribution, a value, then functions of the value and statistics.
CASES: dict[str, Any] = {
    # Each in one line, so that they can be compared.
    "Cauchy": (lambda: D.Cauchy([0.0, 1.0], 2.0), [0.3, 4.0], {"log_prob": [-1.8601, -3.0165], "cdf": [0.5474, 0.8128]}, {"entropy": [3.2242, 3.2242], "mode": [0.0, 1.0]}),
    "Logistic": (lambda: D.Logistic([0.0, 1.0], 2.0), [0.3, 4.0], {"log_prob": [-2.0851, -2.596], "cdf": [0.5374, 0.8176]}, {"entropy": [2.6931, 2.6931], "mean": [0.0, 1.0], "variance": [13.1595, 13.1595]}),
    "HalfNormal": (lambda: D.HalfNormal([1.0, 2.0]), [0.3, 4.0], {"log_prob": [-0.2708, -2.9189], "cdf": [0.2358, 0.9545]}, {"entropy": [0.7258, 1.4189], "mean": [0.7979, 1.5958], "mode": [0.0, 0.0], "variance": [0.3634, 1.4535]}),
    "InverseGamma": (lambda: D.InverseGamma([3.0, 2.5], [1.0, 2.0]), [0.3, 4.0], {"log_prob": [0.7894, -3.9038], "cdf": [0.3528, 0.9626]}, {"entropy": [0.002, 1.0168], "mean": [0.5, 1.3333], "mode": [0.25, 0.5714], "variance": [0.25, 3.5556]}),
    "Chi2": (lambda: D.Chi2([3.0, 2.0]), [0.3, 4.0], {"log_prob": [-1.6709, -2.6931], "cdf": [0.04, 0.8647]}, {"entropy": [2.0541, 1.6931], "mean": [3.0, 2.0], "variance": [6.0, 4.0]}),
    "NormalWithSoftplusScale": (lambda: D.NormalWithSoftplusScale([0.0, 1.0], [-1.0, 2.0]), [0.3, 4.0], {"log_prob": [-0.2168, -2.6684], "cdf": [0.8309, 0.9208]}, {"entropy": [0.2582, 2.1736], "variance": [0.0981, 4.5238]}),
    "Poisson": (lambda: D.Poisson([1.5, 4.0]), [2.0, 3.0], {"log_prob": [-1.3822, -1.6329], "cdf": [0.8088, 0.4335]}, {"mean": [1.5, 4.0], "mode": [1.0, 4.0], "variance": [1.5, 4.0]}),
    "Geometric": (lambda: D.Geometric(probs=[0.3, 0.6]), [2.0, 0.0], {"log_prob": [-1.9173, -0.5108], "cdf": [0.657, 0.6]}, {"entropy": [2.0362, 1.1217], "mean": [2.3333, 0.6667], "mode": [0.0, 0.0], "variance": [7.7778, 1.1111]}),
    "Binomial": (lambda: D.Binomial([5.0, 3.0], probs=[0.3, 0.6]), [2.0, 3.0], {"log_prob": [-1.1754, -1.5325], "cdf": [0.8369, 1.0]}, {"mean": [1.5, 1.8], "mode": [1.0, 2.0], "variance": [1.05, 0.72]}),
    "NegativeBinomial": (lambda: D.NegativeBinomial([5.0, 3.0], probs=[0.3, 0.6]), [2.0, 3.0], {"log_prob": [-1.4833, -1.9788], "cdf": [0.6471, 0.4557]}, {"mean": [2.1429, 4.5], "mode": [1.0, 3.0], "variance": [3.0612, 11.25]}),
    "MultivariateNormalDiag": (lambda: D.MultivariateNormalDiag([0.0, 1.0], [1.0, 2.0]), [0.3, 0.4], {"log_prob": -2.621}, {"entropy": 3.531, "mean": [0.0, 1.0], "variance": [1.0, 4.0], "covariance": [[1.0, 0.0], [0.0, 4.0]]}),
    "without a mean": (lambda: D.MultivariateNormalDiag(scale_diag=[1.0, 3.0]), [0.3, 0.4], {"log_prob": -2.9904}, {"entropy": 3.9365, "mean": [0.0, 0.0], "stddev": [1.0, 3.0]}),
    "MultivariateNormalTriL": (lambda: D.MultivariateNormalTriL([0.0, 1.0], TRIANGLE), [0.3, 0.4], {"log_prob": -1.9681}, {"entropy": 2.4496, "mean": [0.0, 1.0], "variance": [1.0, 0.5], "covariance": COVARIANCE}),
    "MultivariateNormalFullCovariance": (lambda: D.MultivariateNormalFullCovariance([0.0, 1.0], COVARIANCE), [[0.3, 0.4], [1.0, 2.0]], {"log_prob": [-1.9681, -2.6453]}, {"entropy": 2.4496, "covariance": COVARIANCE}),
    "OneHotCategorical": (lambda: D.OneHotCategorical(probs=[0.3, 0.4, 0.3], dtype=tf.float32), [0.0, 1.0, 0.0], {"log_prob": -0.9163}, {"entropy": 1.0889, "mode": [0.0, 1.0, 0.0], "variance": [0.21, 0.24, 0.21]}),
    "RelaxedOneHotCategorical": (lambda: D.RelaxedOneHotCategorical(0.5, [[0.3, 0.4, 1.0]]), [[0.2, 0.3, 0.5]], {"log_prob": [-0.5143]}, {}),
    "RelaxedBernoulli": (lambda: D.RelaxedBernoulli(0.5, probs=[0.3, 0.6]), [0.2, 0.9], {"log_prob": [-0.2528, 0.2107], "cdf": [0.5385, 0.6667]}, {}),
    "Independent": (lambda: D.Independent(D.Normal([[0.0, 1.0], [2.0, 3.0]], 1.0)), [[0.3, 0.4], [1.0, 2.0]], {"log_prob": [-2.0629, -2.8379]}, {"entropy": [2.8379, 2.8379], "mean": [[0.0, 1.0], [2.0, 3.0]]}),
    "MixtureSameFamily": (lambda: D.MixtureSameFamily(D.Categorical(probs=MIXED), D.Normal([-1.0, 1.0], [0.1, 0.5])), [0.3, 1.2], {"log_prob": [-1.5625, -0.6625], "cdf": [0.3565, 0.7588]}, {"mean": 0.4, "variance": 1.018}),
    "Mixture": (lambda: D.Mixture(D.Categorical(probs=[MIXED, [0.5, 0.5]]), [D.Normal([-1.0, 0.0], [0.1, 1.0]), D.Normal([1.0, 2.0], [0.5, 0.5])]), [0.3, 0.1], {"log_prob": [-1.5625, -1.6156], "cdf": [0.3565, 0.27]}, {"mean": [0.4, 1.0], "variance": [1.018, 1.625]}),
    "lognormal": (lambda: D.TransformedDistribution(D.Normal([0.0, 1.0], 1.0), B.Exp()), [0.3, 0.4], {"log_prob": [-0.4397, -1.8387], "cdf": [0.1143, 0.0277]}, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_numbers_of_tensorflow(case: str) -> None:
    make, value, of_value, statistics = CASES[case]
    made = make()
    fetches = {name: getattr(made, name)(value) for name in of_value}
    fetches |= {name: getattr(made, name)() for name in statistics}
    drawn = made.sample([4, 500], seed=3)
    assert drawn.shape.as_list() == [4, 500, *made.batch_shape.as_list(), *made.event_shape.as_list()]
    with tf.Session() as session:
        found, samples = session.run([fetches, drawn])
    for name, wanted in {**of_value, **statistics}.items():
        np.testing.assert_allclose(found[name], wanted, atol=1.5e-4, err_msg=name)
    if "mean" in statistics:
        mean, spread = np.asarray(statistics["mean"]), np.asarray(statistics.get("variance", 9.0))
        assert np.all(np.abs(samples.reshape(2000, *samples.shape[2:]).mean(0) - mean) < 6 * np.sqrt(spread / 2000))


def test_samples_have_gradients_where_they_are_functions_of_parameters() -> None:
    loc = tf.constant([0.0, 1.0])
    normal = D.MultivariateNormalDiag(loc, [1.0, 2.0])
    assert normal.reparameterization_type is D.FULLY_REPARAMETERIZED
    assert tf.gradients(normal.sample(3), loc)[0] is not None
    logits = tf.constant([0.1, 0.5])
    assert tf.gradients(D.RelaxedOneHotCategorical(0.5, logits).sample(), logits)[0] is not None
    assert D.OneHotCategorical(logits).reparameterization_type is D.NOT_REPARAMETERIZED


def test_divergences_of_normal_vectors() -> None:
    diagonal = D.MultivariateNormalDiag([1.0, 1.0], [2.0, 2.0])
    triangle = D.MultivariateNormalTriL([0.0, 1.0], TRIANGLE)
    full = D.MultivariateNormalFullCovariance([[0.0, 1.0], [2.0, 0.0]], [[2.0, 0.3], [0.3, 1.0]])

    def by_hand(a: Any, b: Any) -> Any:
        (m, s), (n, t) = a, b
        inverse, apart = np.linalg.inv(t), np.asarray(n) - m
        logs = np.log(np.linalg.det(t) / np.linalg.det(s))
        return 0.5 * (np.trace(inverse @ s) + apart @ inverse @ apart - 2 + logs)

    of_diagonal, of_triangle = ([1.0, 1.0], 4 * np.eye(2)), ([0.0, 1.0], COVARIANCE)
    matrix = np.array([[2.0, 0.3], [0.3, 1.0]])
    with tf.Session() as session:
        found = session.run(
            [D.kl_divergence(triangle, diagonal), D.kl_divergence(diagonal, triangle), triangle.kl_divergence(full)]
        )
    np.testing.assert_allclose(found[0], by_hand(of_triangle, of_diagonal), rtol=1e-4)
    np.testing.assert_allclose(found[1], by_hand(of_diagonal, of_triangle), rtol=1e-4)
    wanted = [by_hand(of_triangle, (mean, matrix)) for mean in ([0.0, 1.0], [2.0, 0.0])]
    np.testing.assert_allclose(found[2], wanted, rtol=1e-4)


def test_divergences_of_what_is_made_of_others() -> None:
    a, b = D.Normal([0.0, 1.0], 1.0), D.Normal([2.0, 1.0], 2.0)
    with tf.Session() as session:
        together, apart, of_classes, plain = session.run(
            [
                D.kl_divergence(D.Independent(a, 1), D.Independent(b, 1)),
                D.kl_divergence(a, b),
                D.kl_divergence(D.OneHotCategorical([0.1, 0.2]), D.OneHotCategorical([0.5, 0.2])),
                D.kl_divergence(D.Categorical([0.1, 0.2]), D.Categorical([0.5, 0.2])),
            ]
        )
    assert together == pytest.approx(apart.sum(), rel=1e-5)
    assert of_classes == pytest.approx(plain, rel=1e-5)


def test_a_vector_that_an_affine_function_makes_is_a_normal_one() -> None:
    made = D.TransformedDistribution(
        D.Normal(0.0, 1.0), B.Affine(shift=[0.0, 1.0], scale_tril=TRIANGLE), event_shape=[2]
    )
    normal = D.MultivariateNormalTriL([0.0, 1.0], TRIANGLE)
    assert (made.batch_shape.as_list(), made.event_shape.as_list()) == ([], [2])
    with tf.Session() as session:
        for name, args in (("log_prob", [[0.3, 0.4]]), ("entropy", []), ("mean", [])):
            found, wanted = session.run([getattr(each, name)(*args) for each in (made, normal)])
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6, err_msg=name)
        assert session.run(made.sample(5, seed=1)).shape == (5, 2)
    with pytest.raises(NotImplementedError, match="mean is not implemented"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), B.Exp()).mean()


@pytest.mark.parametrize(
    "make",
    [
        lambda: B.Exp(),
        lambda: B.Sigmoid(),
        lambda: B.Softplus(),
        lambda: B.Softplus(2.0),
        lambda: B.Identity(),
        lambda: B.AffineScalar(1.0, -2.0),
        lambda: B.Invert(B.Exp()),
        lambda: B.Chain([B.Exp(), B.Softplus()]),
        lambda: B.Inline(
            forward_fn=tf.tan,
            inverse_fn=tf.atan,
            forward_min_event_ndims=0,
            inverse_log_det_jacobian_fn=lambda y: -tf.log1p(tf.square(y)),
        ),
    ],
)
def test_the_inverse_and_the_derivative_of_a_bijector(make: Any) -> None:
    bijector, x = make(), tf.constant([[0.3, 0.7]])
    y = bijector.forward(x)
    (slope,) = tf.gradients(y, x)
    with tf.Session() as session:
        back, logs, of_events, inverse, wanted = session.run(
            [
                bijector.inverse(y),
                bijector.forward_log_det_jacobian(x, 0) + tf.zeros_like(x),
                bijector.forward_log_det_jacobian(x, 1),
                bijector.inverse_log_det_jacobian(y, 0) + tf.zeros_like(x),
                tf.log(tf.abs(slope)),
            ]
        )
    np.testing.assert_allclose(back, [[0.3, 0.7]], rtol=1e-5)
    np.testing.assert_allclose(logs, wanted, atol=1e-5)
    np.testing.assert_allclose(inverse, -wanted, atol=1e-5)
    np.testing.assert_allclose(of_events, wanted.sum(-1), atol=1e-5)


def test_what_is_not_right_is_refused() -> None:
    with pytest.raises(ValueError, match="exactly one of `rate` and `log_rate`"):
        D.Poisson()
    with pytest.raises(ValueError, match="at least one of loc and scale"):
        D.MultivariateNormalDiag()
    with pytest.raises(TypeError, match="cat must be a Categorical"):
        D.Mixture(D.Normal(0.0, 1.0), [D.Normal(0.0, 1.0)])
    with pytest.raises(ValueError, match="cannot exceed"):
        D.Independent(D.Normal([0.0], 1.0), 2)
    with pytest.raises(ValueError, match="event_ndims"):
        B.Affine(shift=[1.0]).forward_log_det_jacobian([1.0], 0)
    with tf.Session() as session:
        checked = D.Cauchy(0.0, tf.placeholder_with_default(-1.0, []), validate_args=True).log_prob(0.0)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(checked)
        assert np.isnan(session.run(D.Cauchy([0.0], 1.0).mean())).all()
        assert np.isnan(session.run(D.InverseGamma([0.5], 1.0).mean())).all()
