"""Classes, gamma and Poisson numbers, and shuffled rows; and the rule of seeds in sessions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Session, constant, gradients, random
from actorsession.errors import InvalidArgumentError
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each


def _drawn(make: Any) -> Any:
    with Graph().as_default():
        (found,) = evaluate([make()])
    return found


def _farthest(sample: Any, cumulated: Any) -> float:
    """Kolmogorov's and Smirnov's distance between a sample and a distribution."""
    wanted = cumulated(np.sort(sample))
    steps = np.arange(len(sample) + 1) / len(sample)
    return float(max(np.abs(wanted - steps[:-1]).max(), np.abs(wanted - steps[1:]).max()))


# A sample of n is farther than this from its own distribution once in ten thousand times.
def _limit(count: int) -> float:
    return 2.23 / count**0.5


# -- Multinomial ---------------------------------------------------------------------------------


def test_classes_come_as_often_as_their_weights_say() -> None:
    chances = np.array([[0.5, 0.0, 0.2, 0.3], [0.1, 0.7, 0.2, 0.0]])
    with np.errstate(divide="ignore"):
        logits = np.log(chances) + np.array([[100.0], [-100.0]])
    found = _drawn(lambda: random.multinomial(logits, 20_000, seed=1))
    assert found.dtype == np.int64
    for row, wanted in zip(found, chances, strict=True):
        counts = np.bincount(row, minlength=4) / 20_000
        np.testing.assert_allclose(counts, wanted, atol=0.015)
        assert (counts[wanted == 0] == 0).all()


def test_weights_that_are_not_finite_are_never_drawn() -> None:
    logits = [[np.nan, 0.0, np.inf, -np.inf, 0.0]]
    found = _drawn(lambda: random.multinomial(logits, 1000, seed=1))
    assert sorted(set(found[0].tolist())) == [1, 4]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_the_dtype_of_classes_is_chosen(dtype: Any) -> None:
    assert _drawn(lambda: random.categorical([[0.0]], 3, dtype)).tolist() == [[0, 0, 0]]
    assert _drawn(lambda: random.multinomial([[0.0]], 3, output_dtype=dtype)).dtype == dtype


def test_shapes_of_classes_are_known_where_they_can_be() -> None:
    open_logits, open_count = source("float32", [None, 4]), source("int32", [])
    assert random.multinomial(open_logits, 3).shape.as_list() == [None, 3]
    made = random.multinomial(open_logits, open_count)
    assert made.shape.as_list() == [None, None]
    found = evaluate([made], {open_logits: np.zeros((2, 4)), open_count: 0})[0]
    assert found.shape == (2, 0)


def test_classes_that_cannot_be_drawn_are_refused() -> None:
    logits, count = source("float32", None), source("int32", None)
    made = random.multinomial(logits, count)
    cases: list[tuple[Any, int, str]] = [
        (np.zeros(3), 1, "logits are a matrix"),
        (np.zeros((2, 0)), 1, "one class or more"),
        (np.zeros((2, 2)), -1, "at least 0, got -1"),
        (np.full((1, 2), -np.inf), 1, "a row without"),
    ]
    for values, number, match in cases:
        with pytest.raises(InvalidArgumentError, match=match):
            evaluate([made], {logits: values, count: number})
    with pytest.raises(ValueError, match="a matrix, got shape"):
        random.multinomial([1.0, 2.0], 3)
    with pytest.raises(ValueError, match="at least 0, got -2"):
        random.multinomial([[1.0]], -2)
    with pytest.raises(TypeError, match="floating types as logits; got int32"):
        random.multinomial([[1]], 2)
    with pytest.raises(TypeError, match="int32 or int64, got float32"):
        random.multinomial([[1.0]], 2, output_dtype="float32")


# -- gamma ---------------------------------------------------------------------------------------


@for_each("alpha", [0.3, 1.0, 2.5, 40.0])
def test_gamma_numbers_have_their_distribution(alpha: float) -> None:
    special = pytest.importorskip("scipy.special")
    found = _drawn(lambda: random.gamma([5000], alpha, 2.0, "float64", seed=3))
    assert _farthest(found, lambda x: special.gammainc(alpha, 2 * x)) < _limit(5000)
    assert abs(found.mean() - alpha / 2) < 5 * (alpha**0.5 / 2) / 5000**0.5


def test_the_shape_of_the_parameters_follows_that_of_the_draws() -> None:
    made = random.gamma([2], [1.0, 2.0, 3.0], beta=[[1.0], [2.0]])
    assert made.shape.as_list() == [2, 2, 3]
    assert evaluate([made])[0].shape == (2, 2, 3)


def test_gamma_numbers_are_above_0_and_none_of_a_shape_below_0() -> None:
    found = _drawn(lambda: random.gamma([3], [0.0, 1e-5, -1.0], seed=1))
    assert (found[:, :2] >= np.finfo(np.float32).tiny).all()
    assert np.isnan(found[:, 2]).all()


@for_each("alpha", [0.5, 1.0, 3.0, 20.0])
def test_the_gradient_by_the_shape_is_that_of_the_same_place_in_the_distribution(alpha: float) -> None:
    special = pytest.importorskip("scipy.special")
    with Session() as session:
        shape = constant(alpha, "float64")
        sample = random.gamma([50], shape, dtype="float64", seed=2)
        slopes = [gradients(sample[i], [shape])[0] for i in range(50)]
        drawn, found = session.run([sample, slopes])
    place = special.gammainc(alpha, drawn)
    step = 1e-4 * alpha
    above, below = (special.gammaincinv(alpha + s, place) for s in (step, -step))
    np.testing.assert_allclose(found, (above - below) / (2 * step), 1e-4, 1e-7)


def test_the_gradient_by_the_inverse_scale() -> None:
    pytest.importorskip("scipy")
    with Session() as session:
        rate = constant([1.0, 2.0], "float64")
        sample = random.gamma([3], [2.0, 3.0], rate, "float64", seed=1)
        drawn, found = session.run([sample, gradients(sample, [rate])[0]])
    np.testing.assert_allclose(found, -(drawn / [1.0, 2.0]).sum(0))


# -- Poisson -------------------------------------------------------------------------------------


@for_each("lam", [0.5, 4.0, 100.0])
@for_each("dtype", ["float32", "float64", "int32", "int64"])
def test_poisson_numbers_have_their_mean_and_variance(dtype: Any, lam: float) -> None:
    found = _drawn(lambda: random.poisson(lam, [5000], dtype, seed=1))
    assert found.dtype == np.dtype(dtype)
    assert abs(found.mean() - lam) < 5 * (lam / 5000) ** 0.5
    assert abs(found.var() / lam - 1) < 0.15
    assert (found == np.floor(found)).all()


def test_poisson_numbers_of_several_means() -> None:
    found = _drawn(lambda: random.poisson([-1.0, 0.0, 1000.0], [4], seed=1))
    assert found.shape == (4, 3)
    assert (found[:, :2] == 0).all()
    assert (found[:, 2] > 500).all()


def test_poisson_numbers_of_no_mean_are_refused() -> None:
    for bad in (np.nan, np.inf):
        with pytest.raises(InvalidArgumentError, match="below 2"):
            _drawn(lambda bad=bad: random.poisson(bad, [1]))
    with pytest.raises(TypeError, match="got int8"):
        random.poisson(1.0, [1], "int8")


def test_no_gradient_of_a_poisson_number_exists() -> None:
    mean = constant(1.0)
    with pytest.raises(LookupError, match="RandomPoissonV2"):
        gradients(random.poisson(mean, [1]), [mean])


# -- RandomShuffle -------------------------------------------------------------------------------


def test_shuffled_rows_are_the_same_rows() -> None:
    rows = np.arange(60).reshape(20, 3)
    found = _drawn(lambda: random.shuffle(rows, seed=1))
    np.testing.assert_array_equal(found[np.argsort(found[:, 0])], rows)
    assert (found != rows).any()


def test_every_order_is_as_likely() -> None:
    with Session() as session:
        drawn = random.shuffle([0, 1, 2], seed=4)
        orders = [tuple(session.run(drawn).tolist()) for _ in range(1200)]
    counts = [orders.count(order) for order in sorted(set(orders))]
    assert len(counts) == 6
    assert max(abs(count - 200) for count in counts) < 65


def test_what_has_no_rows_is_shuffled_too() -> None:
    assert _drawn(lambda: random.shuffle(3)) == 3
    assert _drawn(lambda: random.shuffle(np.zeros((0, 2)))).shape == (0, 2)
    assert sorted(_drawn(lambda: random.shuffle(["a", "b"])).tolist()) == [b"a", b"b"]
    value = constant([1.0, 2.0])
    assert gradients(random.shuffle(value), [value]) == [None]


# -- seeds ---------------------------------------------------------------------------------------


def test_dimensions_below_0_are_refused() -> None:
    dims = source("int32", [1])
    for made in (random.gamma(dims, 1.0), random.poisson(1.0, dims)):
        with pytest.raises(InvalidArgumentError, match=r"at least 0, got \[-1\]"):
            evaluate([made], {dims: [-1]})


# -- the namespace -------------------------------------------------------------------------------


def test_the_namespace_has_its_names_and_each_is_documented() -> None:
    assert len(set(random.__all__)) == len(random.__all__)
    for name in random.__all__:
        assert getattr(random, name).__doc__, name
    assert random.uniform is random.random_uniform
    assert random.normal is random.random_normal


def test_the_numbers_of_random_uniform_and_normal_have_their_distributions() -> None:
    special = pytest.importorskip("scipy.special")
    uniform = _drawn(lambda: random.uniform([5000], dtype="float64", seed=5))
    normal = _drawn(lambda: random.normal([5000], 1.0, 2.0, dtype="float64", seed=5))
    assert _farthest(uniform, lambda x: x) < _limit(5000)
    assert _farthest(normal, lambda x: special.ndtr((x - 1) / 2)) < _limit(5000)
