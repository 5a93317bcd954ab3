"""Distributions of classes, counts and their probabilities, against scipy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")

ds = tf.distributions


def value(tensor: Any, feeds: Any = None) -> Any:
    with tf.Session() as sess:
        return sess.run(tensor, feeds)


def test_classes_have_their_probabilities() -> None:
    probs = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])
    for made in (ds.Categorical(probs=probs), ds.Categorical(logits=np.log(probs) + 3.0)):
        found = value(
            [
                made.prob([2, 0]),
                made.log_prob([1.0, 1.0]),
                made.cdf([1, 2]),
                made.mode(),
                made.entropy(),
                made.probs,
                made.prob([[0], [1]]),
            ]
        )
        np.testing.assert_allclose(found[0], [0.7, 0.5], rtol=1e-12)
        np.testing.assert_allclose(found[1], np.log([0.2, 0.25]), rtol=1e-12)
        np.testing.assert_allclose(found[2], [0.1, 0.75], rtol=1e-12)
        assert (found[3].tolist(), found[3].dtype) == ([2, 0], np.int32)
        np.testing.assert_allclose(found[4], [scipy.stats.entropy(p) for p in probs], rtol=1e-12)
        np.testing.assert_allclose(found[5], probs, rtol=1e-12)
        np.testing.assert_allclose(found[6], probs[:, :2].T, rtol=1e-12)
    drawn = value(made.sample(4000, seed=1))
    for row in range(2):
        share = np.bincount(drawn[:, row], minlength=3) / 4000
        np.testing.assert_allclose(share, probs[row], atol=0.04)
    assert value(ds.Categorical(logits=[0.0, 9.0], dtype=tf.int64).sample()).dtype == np.int64


def test_counts_have_their_probabilities() -> None:
    counts, probs = np.array([4.0, 2.0]), np.array([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]])
    made = ds.Multinomial(counts, probs=probs)
    asked = np.array([[1.0, 1.0, 2.0], [0.0, 2.0, 0.0]])
    rows = [scipy.stats.multinomial(n, p) for n, p in zip(counts.astype(int), probs, strict=True)]
    found = value([made.log_prob(asked), made.mean(), made.covariance(), made.variance(), made.sample(3000)])
    np.testing.assert_allclose(found[0], [r.logpmf(x) for r, x in zip(rows, asked, strict=True)], rtol=1e-9)
    np.testing.assert_allclose(found[1], counts[:, None] * probs, rtol=1e-12)
    np.testing.assert_allclose(found[2], [r.cov() for r in rows], rtol=1e-9)
    np.testing.assert_allclose(found[3], [np.diag(r.cov()) for r in rows], rtol=1e-9)
    assert (made.batch_shape, made.event_shape) == (tf.TensorShape([2]), tf.TensorShape([3]))
    assert (found[4].sum(-1) == counts).all()
    np.testing.assert_allclose(found[4].mean(0), counts[:, None] * probs, atol=0.12)


def test_counts_of_drawn_probabilities_vary_more() -> None:
    concentration, counts = np.array([[1.5, 2.0, 3.0], [0.5, 4.0, 1.0]]), np.array([4.0, 3.0])
    made = ds.DirichletMultinomial(counts, concentration)
    asked = np.array([[1.0, 1.0, 2.0], [0.0, 2.0, 1.0]])
    rows = [scipy.stats.dirichlet_multinomial(a, n) for a, n in zip(concentration, [4, 3], strict=True)]
    found = value([made.log_prob(asked), made.mean(), made.variance(), made.covariance(), made.sample(3000, seed=2)])
    for index, wanted in enumerate(
        (
            [r.logpmf(x) for r, x in zip(rows, asked.astype(int), strict=True)],
            [r.mean() for r in rows],
            [r.var() for r in rows],
            [r.cov() for r in rows],
        )
    ):
        np.testing.assert_allclose(found[index], wanted, rtol=1e-9)
    assert (made.batch_shape, made.event_shape) == (tf.TensorShape([2]), tf.TensorShape([3]))
    assert made.sample([5, 4]).shape == [5, 4, 2, 3]
    assert (found[4].sum(-1) == counts).all()
    np.testing.assert_allclose(found[4].mean(0), found[1], atol=0.12)
    np.testing.assert_allclose(found[4].var(0), found[2], rtol=0.15)
    one = ds.DirichletMultinomial(4.0, concentration[0].astype(np.float32))
    assert (one.batch_shape, value(one.sample(3)).shape) == (tf.TensorShape([]), (3, 3))
    with pytest.raises(NotImplementedError, match="entropy is not implemented"):
        made.entropy()


def test_probabilities_of_classes_are_drawn() -> None:
    concentration = np.array([[1.5, 2.0, 3.0], [0.5, 4.0, 1.0]])
    made = ds.Dirichlet(concentration)
    asked = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    rows = [scipy.stats.dirichlet(row) for row in concentration]
    found = value(
        [
            made.log_prob(asked),
            made.mean(),
            made.variance(),
            made.entropy(),
            made.covariance(),
            made.mode(),
            made.sample(3000, seed=1),
        ]
    )
    np.testing.assert_allclose(found[0], [r.logpdf(x) for r, x in zip(rows, asked, strict=True)], rtol=1e-9)
    for found_of, wanted in zip(
        found[1:5],
        ([r.mean() for r in rows], [r.var() for r in rows], [r.entropy() for r in rows], [r.cov() for r in rows]),
        strict=True,
    ):
        np.testing.assert_allclose(found_of, wanted, rtol=1e-9)
    np.testing.assert_allclose(found[5], [[0.5 / 3.5, 1.0 / 3.5, 2.0 / 3.5], [np.nan] * 3])
    np.testing.assert_allclose(found[6].sum(-1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(found[6].mean(0), found[1], atol=0.04)
    assert (made.batch_shape, made.event_shape) == (tf.TensorShape([2]), tf.TensorShape([3]))


def test_outcomes_are_given_by_odds_too() -> None:
    made = ds.Bernoulli(logits=[-1.0, 3.0], dtype=tf.float32)
    found = value([made.probs, made.mode(), made.prob([[0.0], [1.0]]), made.log_prob(1)])
    ones = 1 / (1 + np.exp([1.0, -3.0]))
    np.testing.assert_allclose(found[0], ones, rtol=1e-6)
    assert (found[1].tolist(), found[1].dtype) == ([0.0, 1.0], np.float32)
    np.testing.assert_allclose(found[2], [1 - ones, ones], rtol=1e-5)
    np.testing.assert_allclose(found[3], np.log(ones), rtol=1e-5)
