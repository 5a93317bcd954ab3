"""``tf.distributions``: values against scipy's, shapes, seeds, gradients, divergences, checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy

import actorsession.compat.v1 as tf
from tests.rows import for_each, refusing

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
        assert (np.abs((drawn < theirs.ppf(0.25)).mean(0) - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 4000)).all()


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
    np.testing.assert_allclose(slopes, np.exp(scipy.stats.norm.logpdf(at) - scipy.stats.norm.logcdf(at)), rtol=1e-4)
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
        np.testing.assert_allclose(np.bincount(drawn[:, row], minlength=3) / 4000, probs[row], atol=0.04)
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


test_what_makes_no_sense_is_refused_where_it_is_written = refusing(
    (lambda: ds.Normal(1.0, np.float64(2.0)), "expected float32"),
    (lambda: ds.Normal(1, 2), "Expected floating point type"),
    (lambda: ds.Normal(0.0, -2.0, validate_args=True), tf.errors.InvalidArgumentError, "> 0"),
    (lambda: ds.Uniform(1.0, 1.0, True), tf.errors.InvalidArgumentError, "low >= high"),
    (lambda: ds.Bernoulli(), "Must pass probs or logits, but not both"),
    (lambda: ds.Bernoulli(0.1, 0.2), "Must pass probs or logits, but not both"),
    (lambda: ds.Bernoulli(probs=1), TypeError, "probs must having floating type"),
    (lambda: ds.Categorical(1), TypeError, "logits must having floating type"),
    (lambda: ds.Categorical(1.0), "at least 1 dimension"),
    (lambda: ds.Categorical([1.0], validate_args=True), "at least 2 events"),
    (lambda: ds.Categorical(1.0, validate_args=True), "at least 1 dimension"),
    (lambda: ds.Categorical([1.0, 2.0]).log_prob("a"), TypeError, "should have integer"),
    (
        lambda: ds.Normal(tf.float16.as_numpy_dtype(0), np.float16(1)).cdf(np.float16(0)),
        TypeError,
        "float32 or float64",
    ),
)


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


cds = tf.contrib.distributions


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
    normal = cds.MultivariateNormalDiag([1.0, 2.0], [[0.5, 1.0], [2.0, 3.0]])
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
    half = cds.MultivariateNormalDiag([1.0, 2.0], scale_identity_multiplier=0.5)
    one = cds.MultivariateNormalDiag([1.0, 2.0])
    close(run(half.stddev(), one.stddev(), one.mode()), [[0.5, 0.5], [1.0, 1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="at least one of loc and scale"):
        cds.MultivariateNormalDiag()
    # Scales may be given before their softplus.
    raw = run(cds.softplus_inverse([1.0, 2.0]))[0]
    vector = cds.MultivariateNormalDiagWithSoftplusScale([0.0, 0.0], raw)
    scalar = cds.NormalWithSoftplusScale(0.0, raw)
    close(run(vector.stddev(), scalar.stddev()), [[1.0, 2.0], [1.0, 2.0]])


def test_triangular_and_full_covariances_describe_the_same_distribution() -> None:
    root = np.array([[1.0, 0.0], [0.5, 2.0]], np.float32)
    a = cds.MultivariateNormalTriL([0.0, 1.0], root)
    b = cds.MultivariateNormalFullCovariance([0.0, 1.0], root @ root.T)
    first, second, apart, variance = run(a.log_prob(VALUES), b.log_prob(VALUES), cds.kl_divergence(a, b), a.variance())
    close(first, second)
    close(apart, 0.0)
    close(variance, [1.0, 4.25])
    assert np.abs(np.cov(run(a.sample(20000, seed=3))[0].T) - root @ root.T).max() < 0.2


def test_the_divergence_of_normal_distributions_does_not_depend_on_how_they_are_given() -> None:
    diagonal = cds.MultivariateNormalDiag([1.0, 2.0], [0.5, 3.0])
    same = cds.MultivariateNormalTriL([1.0, 2.0], np.diag([0.5, 3.0]).astype(np.float32))
    other = cds.MultivariateNormalTriL([0.0, 1.0], [[1.0, 0.0], [0.5, 2.0]])
    plain = cds.MultivariateNormalDiag([0.0, 1.0], [1.0, 2.0])
    found = run(
        cds.kl_divergence(diagonal, other),
        cds.kl_divergence(same, other),
        cds.kl_divergence(diagonal, plain),
        cds.kl_divergence(same, plain),
    )
    close(found[0], found[1])
    close(found[2], found[3])
    parts = 0.5 * (0.25 + 9 / 4 + 1.0 + 0.25 - 2) - np.log(0.5) - np.log(3.0 / 2.0)
    close(found[2], parts)


def test_classes_are_vectors_with_a_single_one() -> None:
    classes = cds.OneHotCategorical(logits=[[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]], dtype=tf.float32)
    even = cds.OneHotCategorical(probs=[0.2, 0.3, 0.5], dtype=tf.float32)
    drawn = classes.sample(4)
    assert drawn.shape == [4, 2, 3]
    found = run(classes.log_prob([0.0, 1.0, 0.0]), classes.entropy(), classes.mode(), cds.kl_divergence(classes, even))
    close(found[0], [-1.40761, -1.55144])
    close(found[1], [0.8324, 0.97533])
    close(found[2], [[0, 0, 1], [0, 0, 1]])
    close(found[3], [0.06826, 0.02028])
    close(run(drawn)[0].sum(-1), np.ones([4, 2]))


def test_relaxed_classes_are_points_whose_components_add_up_to_one() -> None:
    relaxed = cds.RelaxedOneHotCategorical(0.7, logits=[1.0, 2.0, 3.0])
    logs = cds.ExpRelaxedOneHotCategorical(0.7, logits=[1.0, 2.0, 3.0])
    drawn, log_prob, of_logs = run(
        relaxed.sample(5), relaxed.log_prob([0.2, 0.3, 0.5]), logs.log_prob(np.log([0.2, 0.3, 0.5]))
    )
    close(drawn.sum(-1), np.ones(5))
    close(log_prob, -0.24961948)
    close(of_logs, log_prob + np.log(0.2 * 0.3 * 0.5))
    assert np.any(run(tf.gradients(relaxed.sample(seed=1)[0], [relaxed.logits])[0])[0] != 0)


def test_poisson_has_probabilities_between_whole_numbers_unless_told_not_to() -> None:
    poisson, whole = cds.Poisson([3.0, 0.5]), cds.Poisson([3.0, 0.5], interpolate_nondiscrete=False)
    found = run(poisson.log_prob([2.0, 3.0]), whole.log_prob([2.5, 3.0]), poisson.mode(), poisson.variance())
    close(found[0], [-1.49592, -4.3712])
    assert found[1][0] == -np.inf
    close(found[1][1], -4.3712)
    close(found[2:], [[3.0, 0.0], [3.0, 0.5]])
    assert abs(run(poisson.sample(4000, seed=5))[0].mean(0)[0] - 3.0) < 0.2
    with pytest.raises(ValueError, match="exactly one of"):
        cds.Poisson()
    # Logistic distributions.
    logistic = cds.Logistic([0.0, 1.0], [1.0, 2.0])
    below, above, entropy, deviation = run(
        logistic.cdf(0.3), logistic.survival_function(0.3), logistic.entropy(), logistic.stddev()
    )
    close(below, 1 / (1 + np.exp([-0.3, 0.35])))
    close(below + above, [1.0, 1.0])
    close(entropy, [2.0, 2.0 + np.log(2.0)])
    close(deviation, np.array([1.0, 2.0]) * np.pi / np.sqrt(3.0))
    # Independent values of a batch are one value.
    each = cds.Normal([[0.0, 1.0], [2.0, 3.0]], [1.0, 2.0])
    both = cds.Independent(each, 1)
    assert (both.batch_shape, both.event_shape) == ([2], [2])
    assert both.sample(3).shape == [3, 2, 2]
    together, apart = run(both.log_prob([1.0, 2.0]), each.log_prob([1.0, 2.0]))
    close(together, apart.sum(-1))
    with pytest.raises(ValueError, match="cannot exceed"):
        cds.Independent(each, 3)
