"""What distributions refuse, what they are made with, and those of a program's own."""

from __future__ import annotations

from collections.abc import Callable
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
    "make, kind, said",
    [
        (lambda: ds.Normal(1.0, np.float64(2.0)), ValueError, "expected float32"),
        (lambda: ds.Normal(1, 2), ValueError, "Expected floating point type"),
        (lambda: ds.Normal(0.0, -2.0, validate_args=True), tf.errors.InvalidArgumentError, "> 0"),
        (lambda: ds.Uniform(1.0, 1.0, True), tf.errors.InvalidArgumentError, "low >= high"),
        (lambda: ds.Bernoulli(), ValueError, "Must pass probs or logits, but not both"),
        (lambda: ds.Bernoulli(0.1, 0.2), ValueError, "Must pass probs or logits, but not both"),
        (lambda: ds.Bernoulli(probs=1), TypeError, "probs must having floating type"),
        (lambda: ds.Categorical(1), TypeError, "logits must having floating type"),
        (lambda: ds.Categorical(1.0), ValueError, "at least 1 dimension"),
        (lambda: ds.Categorical([1.0], validate_args=True), ValueError, "at least 2 events"),
        (lambda: ds.Categorical(1.0, validate_args=True), ValueError, "at least 1 dimension"),
        (lambda: ds.Categorical([1.0, 2.0]).log_prob("a"), TypeError, "should have integer"),
        (
            lambda: ds.Normal(tf.float16.as_numpy_dtype(0), np.float16(1)).cdf(np.float16(0)),
            TypeError,
            "float32 or float64",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_is_written(make: Any, kind: Any, said: str) -> None:
    with pytest.raises(kind, match=said):
        make()


CHECKS: dict[str, tuple[Callable[[Any], Any], list[float], str]] = {
    "scale": (lambda p: ds.Normal(0.0, p, True).mean(), [-1.0], "x > 0"),
    "laplace": (lambda p: ds.Laplace(0.0, p, True).mean(), [0.0], "x > 0"),
    "rate": (lambda p: ds.Gamma(1.0, p, True).mean(), [0.0], "x > 0"),
    "df": (lambda p: ds.StudentT(p, 0.0, 1.0, True).mode(), [0.0], "x > 0"),
    "probs": (lambda p: ds.Bernoulli(probs=p, validate_args=True).mean(), [1.5], "greater than 1"),
    "outcome": (lambda p: ds.Bernoulli(0.0, validate_args=True).prob(p), [0.5], "bool-equivalent"),
    "two": (lambda p: ds.Bernoulli(0.0, validate_args=True).prob(p), [2.0], "cannot exceed 1"),
    "sum": (lambda p: ds.Categorical(probs=p, validate_args=True).mode(), [0.5, 0.4], "not sum to 1"),
    "classes": (lambda p: ds.Categorical(p, validate_args=True).mode(), [1.0], "at least 2 events"),
    "class": (lambda p: ds.Categorical([0.0, 0.0], validate_args=True).prob(p), [0.5], "int32-equivalent"),
    "gamma": (lambda p: ds.Gamma(1.0, 1.0, True).prob(p), [-1.0], "x > 0"),
    "gamma mode": (lambda p: ds.Gamma(p, 1.0, False, False).mode(), [0.5], "mode not defined"),
    "beta": (lambda p: ds.Beta(1.0, 1.0, True).prob(p), [1.5], "must be less than"),
    "beta parameter": (lambda p: ds.Beta(p, 1.0, True).mean(), [0.0], "must be positive"),
    "beta mode": (lambda p: ds.Beta(p, 2.0, False, False).mode(), [0.5], "concentration1 <= 1"),
    "mean": (lambda p: ds.StudentT(p, 0.0, 1.0, False, False).mean(), [1.0], "mean not defined"),
    "dirichlet": (lambda p: ds.Dirichlet([1.0, 1.0], True).prob(p), [0.5, 0.2], "must sum to"),
    "dirichlet parameter": (lambda p: ds.Dirichlet(p, True).mean(), [1.0], "event_size >= 2"),
    "dirichlet mode": (lambda p: ds.Dirichlet(p, False, False).mode(), [0.5, 2.0], "Mode undefined"),
    "counts": (lambda p: ds.Multinomial(3.0, [0.0, 0.0], None, True).prob(p), [1.0, 1.0], "must sum"),
    "whole": (lambda p: ds.Multinomial(3.0, [0.0, 0.0], None, True).prob(p), [1.5, 1.5], "fractional"),
    "mixed counts": (lambda p: ds.DirichletMultinomial(3.0, [1.0, 1.0], True).prob(p), [1.0, 1.0], "must sum to"),
    "mixed parameter": (lambda p: ds.DirichletMultinomial(3.0, p, True).mean(), [0.0, 1.0], "must be positive"),
    "nan": (
        lambda p: ds.Normal(p, 1.0, False, False).kl_divergence(ds.Normal(0.0, 1.0)),
        [np.nan],
        "returned NaN values",
    ),
}


@for_each("name", CHECKS)
def test_checks_fail_the_step_and_say_what_is_wrong(name: str) -> None:
    make, given, said = CHECKS[name]
    p = tf.placeholder(tf.float32, [None])
    made = make(p)
    with pytest.raises(tf.errors.InvalidArgumentError, match=said):
        value(made, {p: given})


def test_values_that_are_right_pass_their_checks() -> None:
    found = value(
        [
            ds.Bernoulli(probs=0.25, validate_args=True).prob([0.0, 1.0]),
            ds.Bernoulli(probs=0.25, validate_args=True).prob(tf.constant([False, True])),
            ds.Categorical(probs=[0.25, 0.75], validate_args=True).prob([0, 1]),
            ds.Gamma(1.0, 1.0, validate_args=True).prob([1e-9, 40.0]),
            ds.Dirichlet([1.0, 1.0], validate_args=True).prob([0.5, 0.5]),
            ds.Multinomial(2.0, probs=[0.5, 0.5], validate_args=True).prob([1.0, 1.0]),
        ]
    )
    for ours in found[:3]:
        np.testing.assert_allclose(sorted(ours), [0.25, 0.75], rtol=1e-6)
    np.testing.assert_allclose(found[4:], [1.0, 0.5], rtol=1e-5)


def test_a_copy_has_the_parameters_but_for_those_that_are_given() -> None:
    first = ds.Normal(1.0, 2.0, name="first")
    other = first.copy(scale=5.0)
    assert value([other.mean(), other.stddev(), first.stddev()]) == [1.0, 5.0, 2.0]
    assert first.parameters == {
        "loc": 1.0,
        "scale": 2.0,
        "validate_args": False,
        "allow_nan_stats": True,
        "name": "first",
    }
    made = ds.Exponential(3.0).copy(name="again")
    assert (value(made.mean()), made.name) == (np.float32(1 / 3), "again/")


def test_nodes_are_in_the_scope_of_their_distribution() -> None:
    first, second = ds.Normal(0.0, 1.0), ds.Normal(0.0, 1.0)
    assert (first.name, second.name) == ("Normal/", "Normal_1/")
    assert first.loc.op.name == "Normal/loc"
    assert second.log_prob(1.0).op.name.startswith("Normal_1/log_prob/")
    assert repr(first) == "<Normal 'Normal/' batch_shape=() event_shape=() dtype=float32>"
    assert str(first) == 'Normal("Normal/", batch_shape=(), event_shape=(), dtype=float32)'


def test_shapes_of_parameters_are_known_beforehand() -> None:
    assert ds.Normal.param_static_shapes([2]) == {"loc": tf.TensorShape([2]), "scale": tf.TensorShape([2])}
    assert list(ds.Exponential.param_shapes([2])) == ["rate"]
    assert list(ds.Bernoulli.param_static_shapes(tf.TensorShape([2, 3]))) == ["logits"]
    for unknown in (tf.TensorShape([None]), tf.placeholder(tf.int32, [1])):
        with pytest.raises(ValueError, match="fully"):
            ds.Normal.param_static_shapes(unknown)
    with pytest.raises(NotImplementedError):
        ds.Categorical.param_shapes([2])


def test_a_distribution_of_ones_own_says_what_it_can() -> None:
    class Coin(ds.Distribution):
        def __init__(self) -> None:
            half = tf.constant(0.5)
            super().__init__(tf.float32, ds.NOT_REPARAMETERIZED, False, True, {}, [half])

        def _prob(self, x: Any) -> Any:
            return x * 0.0 + 0.5

        def _cdf(self, x: Any) -> Any:
            return x * 0.0 + 0.25

        def _stddev(self) -> Any:
            return tf.constant(3.0)

    coin = Coin()
    asked = [
        coin.prob(1.0),
        coin.log_prob(1.0),
        coin.survival_function(1.0),
        coin.log_cdf(1.0),
        coin.log_survival_function(1.0),
        coin.variance(),
    ]
    wanted = [0.5, np.log(0.5), 0.75, np.log(0.25), np.log(0.75), 9.0]
    np.testing.assert_allclose(value(asked), wanted, rtol=1e-6)
    assert (coin.name, coin.batch_shape.rank, coin.reparameterization_type) == ("Coin/", None, ds.NOT_REPARAMETERIZED)
    for missing in (coin.mean, coin.entropy, coin.sample, coin.batch_shape_tensor):
        with pytest.raises(NotImplementedError, match="is not implemented: Coin"):
            missing()
    with pytest.raises(ValueError, match="Graph parent item 0 is not a Tensor"):
        ds.Distribution(tf.float32, ds.NOT_REPARAMETERIZED, False, True, {}, [3])
    assert repr(ds.FULLY_REPARAMETERIZED) == "<Reparameterization Type: FULLY_REPARAMETERIZED>"
