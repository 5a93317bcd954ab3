"""``tf.distributions``: values against scipy's, shapes, seeds, gradients, checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy

import actorsession.compat.v1 as tf
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")

ds = tf.distributions


def value(tensor: Any, feeds: Any = None) -> Any:
    with tf.Session() as sess:
        return sess.run(tensor, feeds)


class Case(NamedTuple):
    """One distribution, here and in scipy.

    Attributes:
        ours: makes ours of parameters.
        theirs: makes scipy's.
        parameters: by name; they broadcast.
        at: values to ask about.
    """

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    parameters: dict[str, Any]
    at: list[float]


# Two by three parameters of each; the values go along the last dimension.
CASES = {
    "normal": Case(
        ds.Normal, lambda loc, scale: scipy.stats.norm(loc, scale),
        {"loc": [0.0, 1.0, -2.0], "scale": [[1.0], [0.5]]}, [0.3, -7.0, 9.0],
    ),
    "laplace": Case(
        ds.Laplace, lambda loc, scale: scipy.stats.laplace(loc, scale),
        {"loc": [0.0, 1.0, -2.0], "scale": [[2.0], [0.5]]}, [0.3, -3.0, 9.0],
    ),
    "uniform": Case(
        ds.Uniform, lambda low, high: scipy.stats.uniform(low, high - low),
        {"low": [0.0, 1.0, -2.0], "high": [[2.0], [5.0]]}, [0.3, 7.0, -3.0],
    ),
    "gamma": Case(
        ds.Gamma, lambda concentration, rate: scipy.stats.gamma(concentration, scale=1 / rate),
        {"concentration": [0.5, 2.0, 3.0], "rate": [[1.0], [2.0]]}, [0.2, 1.0, 4.0],
    ),
    "exponential": Case(
        ds.Exponential, lambda rate: scipy.stats.expon(scale=1 / rate),
        {"rate": [[0.5, 2.0, 3.0], [1.0, 1.5, 4.0]]}, [0.2, 1.0, 4.0],
    ),
    "beta": Case(
        ds.Beta, lambda concentration1, concentration0: scipy.stats.beta(concentration1, concentration0),
        {"concentration1": [0.5, 2.0, 3.0], "concentration0": [[1.5], [4.0]]}, [0.1, 0.5, 0.9],
    ),
    "student_t": Case(
        ds.StudentT, lambda df, loc, scale: scipy.stats.t(df, loc, scale),
        {"df": [2.5, 4.0, 9.0], "loc": 1.0, "scale": [[1.0], [3.0]]}, [0.2, -5.0, 9.0],
    ),
    "bernoulli": Case(
        ds.Bernoulli, lambda probs: scipy.stats.bernoulli(probs),
        {"probs": [[0.1, 0.5, 0.9], [0.3, 0.6, 0.2]]}, [0.0, 1.0, 1.0],
    ),
}  # fmt: skip
DISCRETE = {"bernoulli"}
WITHOUT_CDF = {"bernoulli"}
DTYPES = [np.float32, np.float64]


def both(name: str, dtype: Any = np.float64) -> tuple[Any, Any, Any]:
    """Ours, scipy's, and where to look."""
    case = CASES[name]
    ours = {key: np.array(given, dtype) for key, given in case.parameters.items()}
    theirs = {key: np.array(given, np.float64) for key, given in case.parameters.items()}
    return case.ours(**ours), case.theirs(**theirs), np.array(case.at, dtype)


@for_each("dtype", DTYPES, ids=["float32", "float64"])
@for_each("name", CASES)
def test_probabilities_are_those_of_scipy(name: str, dtype: Any) -> None:
    ours, theirs, at = both(name, dtype)
    log_density = theirs.logpmf(at) if name in DISCRETE else theirs.logpdf(at)
    asked = {
        "log_prob": log_density,
        "prob": np.exp(log_density),
        "cdf": theirs.cdf(at),
        "log_cdf": theirs.logcdf(at),
        "survival_function": theirs.sf(at),
        "log_survival_function": theirs.logsf(at),
    }
    if name in WITHOUT_CDF:
        asked = {key: asked[key] for key in ("log_prob", "prob")}
    found = value({key: getattr(ours, key)(at) for key in asked})
    # 1 - cdf has no more digits than cdf: far out only those that have a function of their own are exact.
    far = 1e-5 if dtype is np.float32 else 1e-9
    with np.errstate(divide="ignore"):
        for key, wanted in asked.items():
            assert found[key].dtype == dtype
            np.testing.assert_allclose(found[key], wanted, 20 * far, far, err_msg=key)


@for_each("name", CASES)
def test_what_is_known_of_them_is_that_of_scipy(name: str) -> None:
    ours, theirs, _ = both(name)
    asked = {"mean": theirs.mean(), "variance": theirs.var(), "stddev": theirs.std(), "entropy": theirs.entropy()}
    found = value({key: getattr(ours, key)() for key in asked})
    for key, wanted in asked.items():
        np.testing.assert_allclose(np.broadcast_to(found[key], wanted.shape), wanted, 1e-9, 1e-12, err_msg=key)


@for_each("name", CASES)
def test_what_is_drawn_has_the_mean_and_the_spread_of_the_distribution(name: str) -> None:
    tf.set_random_seed(5)
    ours, theirs, _ = both(name)
    drawn = value(ours.sample(4000, seed=3)).astype(np.float64)
    assert drawn.shape == (4000, 2, 3)
    # Five standard errors of the mean.
    assert (np.abs(drawn.mean(0) - theirs.mean()) < 5 * theirs.std() / np.sqrt(4000)).all()
    if name not in DISCRETE:
        below = (drawn < theirs.ppf(0.25)).mean(0)
        assert (np.abs(below - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 4000)).all()


@for_each("name", CASES)
def test_shapes_are_those_of_samples_batch_and_event(name: str) -> None:
    ours, _, at = both(name)
    assert (ours.batch_shape, ours.event_shape) == (tf.TensorShape([2, 3]), tf.TensorShape([]))
    assert [value(ours.is_scalar_batch()), value(ours.is_scalar_event())] == [False, True]
    for shape, wanted in (((), [2, 3]), (4, [4, 2, 3]), ([5, 4], [5, 4, 2, 3])):
        assert ours.sample(shape).shape == wanted
    assert value(ours.sample(2)).dtype == ours.dtype.as_numpy_dtype
    assert ours.log_prob(at).shape == [2, 3]
    assert value([ours.batch_shape_tensor(), ours.event_shape_tensor()])[0].tolist() == [2, 3]


def test_shapes_may_be_known_when_it_runs() -> None:
    loc, shape = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32)
    normal = ds.Normal(loc, 1.0)
    classes = ds.Categorical(logits=tf.placeholder(tf.float32))
    assert normal.sample(2).shape == [2, None]
    assert normal.batch_shape == [None]
    assert classes.batch_shape.rank is None
    drawn = normal.sample(shape)
    for asked, wanted in ((3, (3, 2)), ([3, 4], (3, 4, 2)), ([], (2,))):
        assert value(drawn, {shape: asked, loc: [0.0, 1.0]}).shape == wanted
    feeds = {classes.logits: np.zeros([4, 5], np.float32), shape: 3, loc: [0.0]}
    found = value([classes.sample(shape), classes.batch_shape_tensor(), classes.event_size, classes.prob(2)], feeds)
    assert (found[0].shape, found[1].tolist(), found[2]) == ((3, 4), [4], 5)
    np.testing.assert_allclose(found[3], np.full(4, 0.2), rtol=1e-6)
    with pytest.raises(ValueError, match="neither scalar nor vector"):
        normal.sample([[1]])


def test_samples_follow_the_seeds_of_graph_and_call() -> None:
    def drawn(graph_seed: int | None, seed: int | None) -> Any:
        with tf.Graph().as_default():
            if graph_seed is not None:
                tf.set_random_seed(graph_seed)
            makers = [
                ds.Normal(0.0, 1.0),
                ds.Beta(1.5, 2.0),
                ds.StudentT(3.0, 0.0, 1.0),
                ds.Categorical(logits=[0.0, 0.0]),
                ds.Multinomial(9.0, logits=[0.0, 0.0]),
            ]
            return np.concatenate([v.ravel() for v in value([d.sample(8, seed=seed) for d in makers])])

    np.testing.assert_array_equal(drawn(1, 2), drawn(1, 2))
    np.testing.assert_array_equal(drawn(None, 2), drawn(None, 2))
    assert (drawn(1, 2) != drawn(1, 3)).any()
    assert (drawn(1, 2) != drawn(4, 2)).any()


def test_the_two_draws_of_a_sample_are_independent() -> None:
    """One seed for both would make a beta of equal parameters one half, always."""
    assert value(ds.Beta(2.0, 2.0).sample(50, seed=1)).std() > 0.1


# -- far out, and what does not exist --------------------------------------------------------------


def test_logarithms_stay_exact_where_probabilities_vanish() -> None:
    at = np.array([-100.0, -40.0, -25.0, -19.0, 7.9, 9.0])
    normal, laplace = ds.Normal(np.float64(0.0), np.float64(1.0)), ds.Laplace(at[0] * 0, at[5] / 9)
    logs = value([normal.log_cdf(at), normal.log_survival_function(-at), laplace.log_cdf(4 * at)])
    np.testing.assert_allclose(logs[0], scipy.stats.norm.logcdf(at), rtol=1e-7)
    np.testing.assert_allclose(logs[1], scipy.stats.norm.logcdf(at), rtol=1e-7)
    np.testing.assert_allclose(logs[2], scipy.stats.laplace.logcdf(4 * at), rtol=1e-12)
    x = tf.constant(at)
    slopes = value(tf.gradients(normal.log_cdf(x), x)[0])
    exact = np.exp(scipy.stats.norm.logpdf(at) - scipy.stats.norm.logcdf(at))
    np.testing.assert_allclose(slopes, exact, rtol=1e-4)
    single = value(ds.Normal(0.0, 1.0).log_cdf([-30.0, -10.5, -9.0, 6.0]))
    np.testing.assert_allclose(single, scipy.stats.norm.logcdf([-30.0, -10.5, -9.0, 6.0]), rtol=1e-4)


def test_a_quantile_takes_a_probability_back() -> None:
    p = np.array([1e-9, 0.1, 0.5, 0.99])
    np.testing.assert_allclose(
        value(ds.Normal(np.float64(1.0), np.float64(3.0)).quantile(p)), scipy.stats.norm(1, 3).ppf(p), rtol=1e-9
    )
    with pytest.raises(NotImplementedError, match="quantile is not implemented: Gamma"):
        ds.Gamma(1.0, 1.0).quantile(0.5)
    # Means that do not exist are nan and variances infinite.
    made = ds.StudentT([0.5, 1.0, 1.5, 2.0, 4.0], 3.0, 2.0)
    found = value([made.mean(), made.variance(), made.stddev()])
    np.testing.assert_allclose(found[0], [np.nan, np.nan, 3.0, 3.0, 3.0])
    np.testing.assert_allclose(found[1], [np.nan, np.nan, np.inf, np.inf, 8.0])
    np.testing.assert_allclose(found[2], [np.nan, np.nan, np.inf, np.inf, 8.0**0.5], rtol=1e-6)
    # The ends of a uniform distribution and nan.
    uniform = ds.Uniform(1.0, 3.0)
    at = [1.0, 3.0, 0.9, np.nan]
    found = value([uniform.prob(at), uniform.cdf(at[:3]), uniform.range()])
    np.testing.assert_array_equal(found[0], np.array([0.5, 0.0, 0.0, np.nan], np.float32))
    np.testing.assert_array_equal(found[1], [0.0, 1.0, 0.0])
    assert found[2] == 2.0


def test_modes_are_the_likeliest_values_or_nan() -> None:
    makers = [
        ds.Normal(2.0, 1.0),
        ds.Laplace(2.0, 1.0),
        ds.Gamma([3.0, 0.5], 2.0),
        ds.Beta([3.0, 1.0], 2.0),
        ds.StudentT(1.0, 2.0, 1.0),
        ds.Exponential(2.0),
    ]
    wanted: list[Any] = [2.0, 2.0, [1.0, np.nan], [2 / 3, np.nan], 2.0, np.nan]
    for made, mode in zip(makers, wanted, strict=True):
        np.testing.assert_allclose(value(made.mode()), mode, rtol=1e-6)
    with pytest.raises(NotImplementedError, match="mode is not implemented: Uniform"):
        ds.Uniform().mode()


# -- gradients ---------------------------------------------------------------------------------------


@for_each("name", sorted(set(CASES) - DISCRETE))
def test_gradients_of_probabilities_are_differences(name: str) -> None:
    case = CASES[name]
    key = next(iter(case.parameters))
    given = {k: np.array(v, np.float64) for k, v in case.parameters.items()}
    x = tf.placeholder(tf.float64, given[key].shape)
    at = np.array([0.25, 0.5, 0.75])
    total = tf.reduce_sum(case.ours(**{**given, key: x}).log_prob(at))
    slope = tf.gradients(total, x)[0]
    with tf.Session() as sess:
        found = sess.run(slope, {x: given[key]})
        for index in np.ndindex(given[key].shape):
            step = np.zeros(given[key].shape)
            step[index] = 1e-6
            ends = [sess.run(total, {x: given[key] + s}) for s in (step, -step)]
            if np.isfinite(ends).all():
                assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(found[index], 1e-4, 1e-4)


@for_each("name", CASES)
def test_gradients_go_through_samples_where_that_is_promised(name: str) -> None:
    ours, _, _ = both(name)
    promised = ours.reparameterization_type is ds.FULLY_REPARAMETERIZED
    assert promised is (name not in DISCRETE)
    parameters = [getattr(ours, key) for key in CASES[name].parameters]
    slopes = tf.gradients(tf.cast(ours.sample(3, seed=1), tf.float64), parameters)
    assert [slope is not None for slope in slopes] == [promised] * len(parameters)
    if promised:
        assert all(np.isfinite(slope).all() for slope in value(slopes))
